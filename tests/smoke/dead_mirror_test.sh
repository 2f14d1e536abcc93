#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# A mirror that crashes under load gets no new connections soon after, and has its share again
# when it is back.
. "$(dirname "$0")/_init.sh"

start_world 4 'ha_strategy = "nodeads"; ha_period_karma = "1s"; ha_ping_interval = "500ms";
    ping = "tcp"; agent_connect_timeout = "250ms";'
load_start --clients 32 --rate 400 --timeout-ms 20000
load_is_flowing

# load_goes_on: waits for what the load does in two seconds, so that its counts are new ones.
load_goes_on() {
	wait_for 20 "the load to go on" load_requests_more_than $(($(load_value 'r["requests"]') + 800)) ||
		fail "the load stalls"
}

step "m2 crashes"
mirror_kill m2
wait_for 5 "m2 to be called dead" mirror_state_is m2 dead || fail "m2 is not ejected"
step "m2 is dead: $(mirror_field m2 why)"
load_goes_on
failed_before=$(load_failed)
# One in four connections until four failures in a row were seen and the rest told: less.
expect_between "requests that failed until then" "$failed_before" 1 400

step "no new connection goes to it"
capture syns m2 'tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn and src net 10.99.0.240/28'
load_goes_on
expect_equal "connections begun to a dead mirror" "$(end_capture syns | wc -l)" 0
expect_equal "requests that failed meanwhile" "$(($(load_failed) - failed_before))" 0

step "m2 comes back"
answers=$(mirror_answers m2)
mirror_start m2
wait_for 15 "m2 to be up" mirror_state_is m2 up || fail "m2 is not let back"
wait_for 5 "m2 to answer again" mirror_answers_more_than m2 $((answers + 50)) || fail "m2 gets no traffic"
step "m2 is up again: $(mirror_field m2 why)"
load_stop
expect_equal "requests that failed since" "$(($(load_failed) - failed_before))" 0
