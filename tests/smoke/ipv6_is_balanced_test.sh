#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# IPv6 as a whole: neighbours found by the kernel, VIP, sources and mirrors, TCP and UDP, extension
# headers, ICMPv6 errors, ping; beside an IPv4 service in the same configuration.
. "$(dirname "$0")/_init.sh"

VIP6=fd00:99::10
SOURCES6=fd00:99::f0/124
FAR6=fd00:97::9

world_create 2
for ns in client lb m1 m2; do
	in_ns $ns sysctl -q -w net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0 \
		net.ipv6.conf.eth0.disable_ipv6=0 2>/dev/null || skip "this kernel has no IPv6"
	in_ns $ns sysctl -q -w net.ipv6.icmp.ratelimit=0 net.ipv6.conf.eth0.accept_dad=0
done
in_ns client ip addr add fd00:99::2/64 dev eth0 nodad
in_ns lb ip addr add fd00:99::1/64 dev eth0 nodad
for i in 1 2; do
	in_ns m$i ip addr add "fd00:99::10$i/64" dev eth0 nodad
	mirror_configure m$i 0 timer
	sed -i 's/listen 80 ;/listen 80; listen [::]:80;/' "$WORLD_DIR/m$i/nginx.conf"
	mirror_start m$i || fail "m$i did not start"
	scripted_start m$i udp 5300
done
# What is for FAR6 ends at m1, who says so.
in_ns m1 sysctl -q -w net.ipv6.conf.all.forwarding=1
in_ns m1 ip route add unreachable $FAR6
in_ns lb ip route add $FAR6 via fd00:99::101
mirrors6='mirrors = ( { name = "m1"; address = "fd00:99::101"; }, { name = "m2"; address = "fd00:99::102"; } );'
configure "
	{ name = \"web6\"; listen = [ \"[$VIP6]:80/tcp\" ]; ha_strategy = \"random\"; ha_ping_interval = \"500ms\"; agent_query_timeout = \"60s\"; $mirrors6 },
	{ name = \"dns6\"; listen = [ \"[$VIP6]:5300/udp\" ]; ha_strategy = \"random\"; agent_query_timeout = \"60s\"; $mirrors6 },
	{ name = \"far6\"; listen = [ \"[$VIP6]:81/tcp\" ]; ha_strategy = \"random\"; ha_ping_interval = \"0\";
	  agent_connect_timeout = \"60s\"; mirrors = ( { name = \"far\"; address = \"$FAR6\"; } ); },
	{ name = \"web4\"; listen = [ \"$WORLD_VIP:80/tcp\" ]; ha_strategy = \"random\"; ha_ping_interval = \"0\";
	  mirrors = ( { name = \"m1\"; address = \"10.99.0.101\"; } ); }
" "\"$WORLD_SOURCES\", \"$SOURCES6\""
balancer_start || fail "the balancer did not start"

step "the kernel answers neighbour discovery and ping for VIP and sources"
mac=$(in_ns lb cat /sys/class/net/eth0/address)
for address in $VIP6 fd00:99::1; do
	in_ns client ip -6 neigh flush all
	in_ns client ping -6 -c 3 -i 0.2 -W 10 "$address" >"$WORLD_DIR/ping" || true
	expect_match "ping $address" "$(cat "$WORLD_DIR/ping")" ' 3 received'
	expect_match "neighbour $address" "$(in_ns client ip -6 neigh show "$address")" "$mac"
done

fetch6() {
	in_ns client curl -gsS --max-time 60 "$@"
}
resolved() {
	[ "$(ask_json 'SHOW MIRRORS' "sum(m['next_hop'] == 'resolved' for m in r if m['service'] == 'web6')")" -eq 2 ]
}
wait_for 20 "the mirrors' neighbours to be resolved" resolved || fail "$(ctl -e 'SHOW MIRRORS')"

step "200 requests, each over a connection of its own"
urls=()
for ((i = 0; i < 200; i++)); do
	urls+=("http://[$VIP6]/")
done
fetch6 -H 'Connection: close' "${urls[@]}" >"$WORLD_DIR/answers" || fail "a request failed"
expect_equal "answers" "$(grep -c '^m[12]$' "$WORLD_DIR/answers")" 200
for i in 1 2; do
	n=$(grep -c "^m$i$" "$WORLD_DIR/answers")
	# Five standard deviations.
	expect_between "answers of m$i" "$n" 64 136
	expect_answers m$i "$n"
	expect_outcomes web6 m$i "succeeded_queries=$n"
done
expect_equal "requests from elsewhere than our sources" \
	"$(cat "$WORLD_DIR"/m?/access | awk '$4 !~ /^fd00:99::f[0-9a-f]$/' | wc -l)" 0

step "contents arrive whole"
head -c 2000000 /dev/urandom >"$WORLD_DIR/content"
fetch6 -o "$WORLD_DIR/echoed" -H 'Expect:' --data-binary @"$WORLD_DIR/content" "http://[$VIP6]/echo" ||
	fail "upload and download"
cmp "$WORLD_DIR/content" "$WORLD_DIR/echoed" || fail "something else came back"

step "datagrams, with and without extension headers"
asked udp $VIP6 5300 40 2
expect_equal "answers" "$(json_value 'sum(r.values())' <"$WORLD_DIR/asked")" 80
expect_equal "of mirrors" "$(($(answers m1) + $(answers m2)))" 80
asked udp $VIP6 5300 10 2 dstopts
expect_equal "of mirrors" "$(($(answers m1) + $(answers m2)))" 20
expect_equal "datagrams that the mirrors saw" "$(cat "$WORLD_DIR"/m?/udp | wc -l)" 100

step "a router says that a mirror cannot be reached: the client hears it at once"
asked http $VIP6 81 / 3
expect_equal "unreachable" "$(answers unreachable)" 3
expect_outcomes far6 far "connect_failures=3"

step "a mirror without a server refuses datagrams: the client hears that, too"
finish m1-udp
finish m2-udp
asked udp $VIP6 5300 5 1
expect_equal "refused" "$(answers refused)" 5
failures6() {
	[ "$(ask_json 'SHOW MIRRORS' "sum(m['outcomes']['connect_failures'] for m in r if m['service'] == 'dns6')")" -eq 5 ]
}
wait_for 20 "5 connect failures" failures6 || fail "m1: $(outcomes dns6 m1), m2: $(outcomes dns6 m2)"

step "IPv4 beside it"
expect_match "answer" "$(fetch)" '^m1$'

# forwarded NAMESPACE COUNTER: packets that it has forwarded as a router.
forwarded() {
	in_ns "$1" cat /proc/net/snmp6 /proc/net/snmp | awk -v name="$2" '
		$1 == name { print $2 }
		$1 == "Ip:" && $2 == "Forwarding" { for (i = 2; i <= NF; i++) if ($i == name) place = i }
		$1 == "Ip:" && $2 != "Forwarding" && place { print $place }'
}
both_gateways_known() {
	fetch6 --max-time 1 -o "$WORLD_DIR/answer" "http://[$VIP6]/" && fetch >"$WORLD_DIR/answer"
}

step "replies by the default routes of either family: m1 and m2 are the routers"
finish controlplane
finish dataplane
sed -i 's/device = "af_xdp:eth0";/& reply_via = "route"; default_route = "take";/' "$WORLD_DIR/karmalb.conf"
in_ns m2 sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.eth0.send_redirects=0
in_ns lb ip route add default via 10.99.0.102
in_ns lb ip -6 route add default via fd00:99::101
balancer_start || fail "the balancer did not start"
wait_for 20 "answers by both routers" both_gateways_known || fail "no answer"
before6=$(forwarded m1 Ip6OutForwDatagrams) before4=$(forwarded m2 ForwDatagrams)
fetch6 -o "$WORLD_DIR/echoed" -H 'Expect:' --data-binary @"$WORLD_DIR/content" "http://[$VIP6]/echo" ||
	fail "upload and download over IPv6"
cmp "$WORLD_DIR/content" "$WORLD_DIR/echoed" || fail "something else came back"
for ((i = 0; i < 20; i++)); do
	expect_match "answer over IPv4" "$(fetch)" '^m1$'
done
# At least the packets with the content, resp. a SYN-ACK, an answer and a FIN each.
expect_between "IPv6 packets by m1" $(($(forwarded m1 Ip6OutForwDatagrams) - before6)) 1000 1000000
expect_between "IPv4 packets by m2" $(($(forwarded m2 ForwDatagrams) - before4)) 60 1000000
