#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 240 s
# A port loses its link, its MTU shrinks, the sample ring and the flow table run full: each is counted
# under its name and told, and what is not concerned goes on.  A port without link from the start is no
# mirror's failure, and one whose interface is deleted is told.
. "$(dirname "$0")/_init.sh"

fetch6() {
	in_ns client curl -gsS --max-time 3 "http://[$WORLD_VIP6]/"
}

status_is() {
	[ "$(counter "$1")" = "$2" ]
}

has_events() {
	[ "$(ask_json 'SHOW EVENTS' "sum('port back' in str(e) and '$1' in str(e) for e in r)")" -ge 1 ]
}

# upload BYTES: through the balancer and back, compared.
upload() {
	head -c "$1" /dev/urandom >"$WORLD_DIR/sent"
	in_ns client curl -sS --max-time 5 --data-binary "@$WORLD_DIR/sent" -o "$WORLD_DIR/got" "http://$WORLD_VIP/echo" &&
		cmp -s "$WORLD_DIR/sent" "$WORLD_DIR/got"
}

# upload_is_too_big: one more attempt, and see whether something was dropped for its size.
upload_is_too_big() {
	upload 20000 || true
	drops_are_at_least drop_too_big 1
}

# load_answers_more_than N: of the load, answered so far.
load_answers_more_than() {
	[ "$(load_value 'r["requests"] - r["failed"]')" -gt "$1" ]
}

make_world_of_two_ports 2
configure_two_ports 2 'ha_strategy = "random"; ping = "none";'
balancer_start || fail "the balancer did not start"
wait_for 20 "an answer over IPv4" fetch || fail "no answer"
wait_for 20 "an answer over IPv6" fetch6 || fail "no answer"

step "the mirrors' port loses its link"
load_start --clients 8 --rate 50 --keep-alive --timeout-ms 1000
load_is_flowing
in_ns net ip link set lb1 down
wait_for 20 "the port to be down" status_is port_1_link down || fail "$(ctl -e 'SHOW STATUS')"
expect_match "the log" "$(cat "$WORLD_DIR/log/dataplane")" 'port back: up -> down'
wait_for 20 "packets of old connections to be dropped for it" drops_are_at_least drop_port_down 1 ||
	fail "$(ctl -e 'SHOW DROPS')"
wait_for 20 "new connections to find no mirror" drops_are_at_least drop_no_mirror 1 || fail "$(ctl -e 'SHOW DROPS')"
expect_equal "the other port" "$(counter port_0_link)" up
wait_for 20 "the event" has_events 'up -> down' || fail "$(ctl -e 'SHOW EVENTS')"
in_ns net ip link set lb1 up
wait_for 20 "the port to be up again" status_is port_1_link up || fail "$(ctl -e 'SHOW STATUS')"
expect_equal "times that it lost its link" "$(counter port_1_link_losses)" 1
wait_for 20 "an answer over IPv4" fetch || fail "no answer after the link came back"
wait_for 20 "an answer over IPv6" fetch6 || fail "no answer over IPv6 after the link came back"
load_stop

step "the mirrors' port has a smaller MTU than the client's"
wait_for 20 "an upload to arrive" upload 20000 || fail "no upload"
expect_equal "packets too big so far" "$(drops drop_too_big)" 0
in_ns lb ip link set eth1 mtu 1300
wait_for 20 "the MTU to be known" status_is port_1_mtu 1300 || fail "$(ctl -e 'SHOW STATUS')"
wait_for 30 "packets to be dropped for their size" upload_is_too_big || fail "$(ctl -e 'SHOW DROPS')"
fetch || fail "small packets do not pass any more"
in_ns lb ip link set eth1 mtu 1500
wait_for 20 "the MTU to be known" status_is port_1_mtu 1500 || fail "$(ctl -e 'SHOW STATUS')"
wait_for 30 "an upload to arrive" upload 20000 || fail "no upload with the MTU as it was"

step "the control thread stands still, and samples fill their ring"
expect_equal "samples lost so far" "$(counter samples_lost)" 0
load_start --clients 32 --keep-alive --timeout-ms 30000
load_is_flowing
pid=$(pid_of dataplane)
spawn holder lb /usr/bin/python3 "$TOP/tests/smoke/hold_thread.py" "$pid"
wait_for 10 "the control thread to be held" grep -q held "$WORLD_DIR/log/holder" || fail "$(cat "$WORLD_DIR/log/holder")"
requests=$(load_value 'r["requests"]')
# The ring has room for 32,767; every answer is one.
wait_for 60 "more answers than the ring has room for" load_requests_more_than $((requests + 40000)) ||
	fail "the worker does not go on by itself"
slay holder
wait_for 20 "the loss to be counted" counter_is_between samples_lost 1 1000000000 || fail "$(ctl -e 'SHOW STATUS')"
load_stop
expect_equal "failed requests" "$(load_failed)" 0
finish controlplane
finish dataplane

step "a flow table is full of what is over"
configure_two_ports 2 'ha_strategy = "random"; ping = "none";' 'max_flows = 1000;'
balancer_start || fail "the balancer did not start with few flows"
load_start --clients 8 --rate 300
wait_for 60 "old flows to make room" counter_is_between flows_reclaimed 500 1000000000 || fail "$(ctl -e 'SHOW STATUS')"
answered=$(load_value 'r["requests"] - r["failed"]')
wait_for 60 "answers to go on" load_answers_more_than $((answered + 500)) || fail "$(cat "$WORLD_DIR/load.json")"
load_stop
finish controlplane
finish dataplane

# failures_to_connect: of all mirrors.
failures_to_connect() {
	ask_json 'SHOW MIRRORS' "sum(m['outcomes']['connect_failures'] for m in r)"
}

# has_been_up SECONDS: the control plane.
has_been_up() {
	ask_json 'SHOW STATUS' "r['uptime_seconds'] >= $1" | grep -qx True
}

logged() {
	grep -q "$1" "$WORLD_DIR/log/dataplane"
}

step "the mirrors' port has no link from the start: no failure of theirs"
in_ns net ip link set lb1 down
configure_two_ports 2 'ha_strategy = "random"; ping = "none";'
dataplane_start || fail "the data plane did not start without a link"
controlplane_start || fail "the control plane did not start"
wait_for 20 "the port to be down" status_is port_1_link down || fail "$(ctl -e 'SHOW STATUS')"
wait_for 20 "some seconds to pass" has_been_up 5 || fail "$(ctl -e 'SHOW STATUS')"
expect_equal "connect failures" "$(failures_to_connect)" 0
in_ns net ip link set lb1 up
wait_for 20 "an answer" fetch || fail "no answer once there is a link"

step "the mirrors' interface is deleted and made again"
in_ns lb ip link del eth1
wait_for 20 "the log to say so" logged 'port back: interface eth1 is gone; ' || fail "the log does not say so"
in_ns net ip link add lb1 type veth peer name eth1 netns "$WORLD-lb"
wait_for 20 "the log to say what to do" logged 'port back: interface eth1 is there again, .* started again' ||
	fail "the log does not say what to do"
