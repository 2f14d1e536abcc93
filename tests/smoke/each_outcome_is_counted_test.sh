#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 240 s
# Each outcome of an exchange, produced by real nginx and by mirrors that do as they are told: what
# client and mirrors counted is what the balancer counted.
. "$(dirname "$0")/_init.sh"

# 'web' is a real nginx that fails for some paths; 'odd' answers as the path says; 'dead' has no
# server, 'mute' no way back, 'lost' no host behind its router; 'api' speaks SphinxAPI.
world_create 3
for m in m1 m2 m3; do
	mirror_configure $m 0 timer
done
sed -i 's,location = / {,location = /500 { return 500; } location = /404 { return 404; } &,' \
	"$WORLD_DIR/m1/nginx.conf"
mirror_start m1 || fail "m1 did not start"
scripted_start m2 http 8080
scripted_start m2 sphinxapi 9312
# What m3 sends to our sources goes nowhere; what is for 10.97.0.9 ends at m1.
in_ns m3 ip route add blackhole "$WORLD_SOURCES"
in_ns m1 sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.icmp_ratelimit=0
in_ns m1 ip route add unreachable 10.97.0.9
in_ns lb ip route add 10.97.0.9 via 10.99.0.101
one() {
	printf '{ name = "%s"; listen = [ "%s:%s/tcp" ]; ha_strategy = "random"; ha_ping_interval = "0";
		%s mirrors = ( { name = "m"; address = "%s"; } ); }' "$1" "$WORLD_VIP" "$2" "$4" "$3"
}
configure "
	$(one web 80 10.99.0.101 'agent_query_timeout = "60s"; agent_connect_timeout = "60s";'),
	$(one odd 8080 10.99.0.102 'agent_query_timeout = "10s"; agent_connect_timeout = "60s";'),
	$(one dead 81 10.99.0.102 'agent_connect_timeout = "60s";'),
	$(one mute 82 10.99.0.103 'agent_connect_timeout = "300ms";'),
	$(one lost 83 10.97.0.9 'agent_connect_timeout = "60s";'),
	$(one api 9312 10.99.0.102 'agent_query_timeout = "60s";')
"
balancer_start || fail "the balancer did not start"

step "real nginx: 500 is a wrong reply, 404 is the client's own mistake"
asked http "$WORLD_VIP" 80 / 20
expect_equal "status 200" "$(answers 200)" 20
asked http "$WORLD_VIP" 80 /404 7
expect_equal "status 404" "$(answers 404)" 7
asked http "$WORLD_VIP" 80 /500 9
expect_equal "status 500" "$(answers 500)" 9
has_logged_500() {
	[ "$(awk '$3 == 500' "$WORLD_DIR/m1/access" | wc -l)" -eq "$1" ]
}
wait_for 20 "9 answers of 500 in nginx's log" has_logged_500 9 || fail "$(cat "$WORLD_DIR/m1/access")"
expect_outcomes web m "succeeded_queries=27 wrong_replies=9"

step "a mirror that answers, fails, closes and resets instead of answering"
asked http "$WORLD_VIP" 8080 /ok 11
expect_equal "status 200" "$(answers 200)" 11
asked http "$WORLD_VIP" 8080 /503 4
expect_equal "status 503" "$(answers 503)" 4
asked http "$WORLD_VIP" 8080 /close 5
expect_equal "closed connections" "$(answers closed)" 5
asked http "$WORLD_VIP" 8080 /reset 6
expect_equal "reset connections" "$(answers reset)" 6
expect_outcomes odd m "network_errors=6 succeeded_queries=11 unexpected_closings=5 wrong_replies=4"

step "a mirror that hangs"
asked http "$WORLD_VIP" 8080 /hang 1
expect_equal "requests without an answer" "$(answers timeout)" 1
expect_outcomes odd m \
	"network_errors=6 query_timeouts=1 succeeded_queries=11 unexpected_closings=5 wrong_replies=4"
for path in ok:11 503:4 close:5 reset:6 hang:1; do
	expect_equal "requests for ${path%:*} that the mirror saw" \
		"$(scripted_requests m2 http "^/${path%:*}$")" "${path#*:}"
done

step "a mirror without a server: each connection is refused"
asked http "$WORLD_VIP" 81 /ok 8
expect_equal "refused connections" "$(answers refused)" 8
expect_outcomes dead m "connect_failures=8"

step "a mirror that a router cannot reach: the client is told so, and at once"
asked http "$WORLD_VIP" 83 /ok 3
expect_equal "unreachable" "$(answers unreachable)" 3
expect_outcomes lost m "connect_failures=3"

step "a mirror whose SYN-ACK never comes"
# The client's kernel repeats its SYN by itself, each time as a new connection to us.
spawn client-mute client /usr/bin/python3 "$SMOKE/_ask.py" http "$WORLD_VIP" 82 /ok 1
syns_counted() {
	[[ "$(outcomes mute m)" == connect_timeouts=* ]]
}
wait_for 30 "a connect time-out" syns_counted || fail "mute: $(outcomes mute m)"
slay client-mute
mute_is_over() {
	[ "$(ask_json 'SHOW MIRRORS' "[m['open'] for m in r if m['service'] == 'mute'][0]")" -eq 0 ]
}
wait_for 30 "its connections to be over" mute_is_over
n_opened=$(ask_json 'SHOW MIRRORS' "[m['opened'] for m in r if m['service'] == 'mute'][0]")
expect_outcomes mute m "connect_timeouts=$n_opened"

step "SphinxAPI: good answers, errors, warnings; the exchange of versions is none of them"
asked sphinxapi "$WORLD_VIP" 9312 0 10
expect_equal "status 0" "$(answers 0)" 10
asked sphinxapi "$WORLD_VIP" 9312 1 4
asked sphinxapi "$WORLD_VIP" 9312 2 2
asked sphinxapi "$WORLD_VIP" 9312 3 5
expect_equal "status 3" "$(answers 3)" 5
asked sphinxapi "$WORLD_VIP" 9312 0 0 # connects, and asks nothing
expect_equal "commands that the mirror saw" "$(scripted_requests m2 sphinxapi)" 21
expect_outcomes api m "succeeded_queries=15 warnings=5 wrong_replies=6"
