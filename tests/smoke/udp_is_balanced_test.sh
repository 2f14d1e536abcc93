#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 240 s
# Several services on several ports in one configuration, TCP and UDP: datagrams go to every mirror
# and come back, all count the same, flows that fall silent are forgotten, a mirror without a server
# is left out, and a flood of datagrams that nobody answers takes nothing from the others.
. "$(dirname "$0")/_init.sh"

/usr/bin/python3 -c 'import scapy' 2>/dev/null || skip "python3-scapy is not installed"
LOG_VIP=10.99.0.11

# mirrors PREFIX: three of them, as a configuration lists them.
mirrors() {
	local i list=''
	for i in 1 2 3; do
		list+="${list:+, }{ name = \"$1$i\"; address = \"10.99.0.10$i\"; }"
	done
	printf 'mirrors = ( %s );' "$list"
}

make_world 3
for m in m1 m2 m3; do
	# However often they say that nobody listens there.
	in_ns $m sysctl -q -w net.ipv4.icmp_ratelimit=0 net.ipv4.icmp_msgs_per_sec=100000
	scripted_start $m udp 5300 5301
	scripted_start $m sink 514
done
configure "
	{ name = \"web\"; listen = [ \"$WORLD_VIP:80/tcp\" ]; $(mirrors w) },
	{ name = \"dns\"; listen = [ \"$WORLD_VIP:5300/udp\", \"$WORLD_VIP:5301/udp\" ];
	  ha_strategy = \"nodeads\"; ha_period_karma = \"1d\"; ha_ping_interval = \"500ms\"; ping_port = 80;
	  udp_idle_timeout = \"10s\"; agent_query_timeout = \"30s\"; $(mirrors d) },
	{ name = \"log\"; listen = [ \"$LOG_VIP:514/udp\" ]; ha_strategy = \"random\"; udp_answers = false;
	  udp_idle_timeout = \"10s\"; agent_query_timeout = \"100ms\"; $(mirrors l) }
" "" "max_half_open = 200;"
balancer_start || fail "the balancer did not start"

step "300 clients with 3 queries each, then 150 on the service's other port"
asked udp "$WORLD_VIP" 5300 300 3
expect_equal "answers" "$(json_value 'sum(r.values())' <"$WORLD_DIR/asked")" 900
for i in 1 2 3; do
	by_client=$(answers m$i)
	expect_equal "queries that m$i saw" "$(scripted_requests m$i udp)" "$by_client"
	expect_outcomes dns d$i "succeeded_queries=$by_client"
	# Five standard deviations of a fair draw of 300 flows.
	expect_between "flows of m$i" $((by_client / 3)) 59 141
done
asked udp "$WORLD_VIP" 5301 150 1
expect_equal "answers on the other port" "$(json_value 'sum(r.values())' <"$WORLD_DIR/asked")" 150
for i in 1 2 3; do
	expect_outcomes dns d$i "succeeded_queries=$(scripted_requests m$i udp)"
done
expect_equal "datagrams that came from elsewhere than our sources" \
	"$(cat "$WORLD_DIR"/m?/udp | grep -vc '^::ffff:10\.99\.0\.2[45][0-9] ')" 0

step "flows that fall silent are forgotten"
is_status() {
	[ "$(counter "$1")" -eq "$2" ]
}
wait_for 60 "no flow to be left" is_status flows 0 || fail "flows: $(counter flows)"
expect_equal "flows closed" "$(counter flows_closed)" "$(counter flows_opened)"

step "lines that nobody answers are no queries that nobody answered"
asked send "$LOG_VIP" 514 60 5
lines_arrived() {
	[ "$(cat "$WORLD_DIR"/m?/sink | wc -l)" -eq 300 ]
}
wait_for 20 "300 lines" lines_arrived || fail "lines: $(cat "$WORLD_DIR"/m?/sink | wc -l)"
wait_for 60 "their flows to be gone" is_status flows 0
for i in 1 2 3; do
	expect_outcomes log l$i ""
done
expect_match "web, meanwhile" "$(fetch)" '^m[123]$'

step "m2's server dies: clients are refused until m2 is called dead"
finish m2-udp
: >"$WORLD_DIR/refused"
refused_until_dead() {
	asked udp "$WORLD_VIP" 5300 10 1 >/dev/null
	answers refused >>"$WORLD_DIR/refused"
	expect_equal "queries that got neither answer nor refusal" "$(answers timeout)" 0
	[ "$(ask_json 'SHOW MIRRORS' "[m['state'] for m in r if m['mirror'] == 'd2'][0]")" != up ]
}
wait_for 60 "m2 to be called dead" refused_until_dead || fail "m2 is not ejected"
n_refused=$(awk '{ n += $1 } END { print n }' "$WORLD_DIR/refused")
expect_between "queries refused" "$n_refused" 4 200
refusals_are_counted() {
	[ "$(ask_json 'SHOW MIRRORS' "[m['outcomes']['connect_failures'] for m in r if m['mirror'] == 'd2'][0]")" -eq "$n_refused" ]
}
wait_for 20 "$n_refused connect failures of m2" refusals_are_counted || fail "m2: $(outcomes dns d2)"
step "$n_refused were refused; m2: $(outcomes dns d2)"

step "m2's server comes back"
scripted_start m2 udp 5300 5301
m2_is_up() {
	asked udp "$WORLD_VIP" 5300 20 1 >/dev/null
	[ "$(ask_json 'SHOW MIRRORS' "[m['state'] for m in r if m['mirror'] == 'd2'][0]")" = up ]
}
wait_for 90 "m2 to be up" m2_is_up || fail "m2 is not let back"

step "1000 datagrams with forged sources that nobody answers"
opened=$(counter flows_opened)
in_ns client /usr/bin/python3 - "$(in_ns lb cat /sys/class/net/eth0/address)" "$LOG_VIP" <<-'END'
	import logging, sys
	logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
	from scapy.all import IP, UDP, Ether, conf, sendp
	conf.verb = 0
	sendp([Ether(dst=sys.argv[1]) / IP(src=f"198.18.{i // 250}.{i % 250 + 1}", dst=sys.argv[2])
	       / UDP(sport=4000, dport=514) / b"forged" for i in range(1000)], iface="eth0")
END
flood_is_through() {
	[ $(($(counter flows_opened) - opened + $(drops drop_half_open_full))) -ge 1000 ]
}
wait_for 30 "the flood to be through" flood_is_through || fail "$(ctl -e 'SHOW DROPS')"
expect_between "datagrams turned down" "$(drops drop_half_open_full)" 1 1000
expect_equal "packets that found the flow table full" "$(drops drop_flow_table_full)" 0
expect_match "web, meanwhile" "$(fetch)" '^m[123]$'
wait_for 60 "the flood's flows to be gone" is_status unanswered 0
asked udp "$WORLD_VIP" 5300 20 1
expect_equal "answers after it" "$(json_value 'sum(r.values())' <"$WORLD_DIR/asked")" 20
