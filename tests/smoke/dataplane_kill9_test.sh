#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# A data plane that is killed starts again beside what it left behind; until then and while it
# starts, the kernel never answers for the VIP.  A clean stop leaves nothing.
. "$(dirname "$0")/_init.sh"

start_world 2 'ha_strategy = "random"; ha_ping_interval = "0";'

# The kernel's RST has the full time to live; one that we forwarded from a mirror has one less.
kernels_rst="src host $WORLD_VIP and tcp[tcpflags] & tcp-rst != 0 and ip[8] = 64"
capture rst client "$kernels_rst"
load_start --clients 16 --rate 200 --timeout-ms 1000

load_failed_more_than() {
	[ "$(load_failed)" -gt "$1" ]
}

for round in 1 2 3; do
	load_is_flowing
	failed=$(load_failed)
	step "round $round: the data plane is killed under load"
	slay dataplane
	wait_for 10 "all clients to have knocked in vain" load_failed_more_than $((failed + 16)) || fail "who answers?"
	dataplane_start || fail "it does not start again"
	wait_for 10 "the control plane to send everything again" fetch || fail "no traffic after the restart"
	wait_for 5 "the services to be in force" balancer_is_ready || fail "not in force"
	requests=$(load_value 'r["requests"] - r["failed"]')
	wait_for 10 "answers" eval "[ \$(load_value 'r[\"requests\"] - r[\"failed\"]') -gt $((requests + 200)) ]" ||
		fail "the load gets no answers after the restart"
done
load_stop
expect_equal "RST of the kernel for the VIP" "$(end_capture rst)" ""

step "a clean stop leaves nothing behind"
finish controlplane
finish dataplane
expect_nothing_left
[ ! -e "$WORLD_DIR/control.sock" ] || fail "control.sock is still there"

step "now the VIP is nobody's; and both start again as if nothing had been"
if fetch --max-time 2 2>/dev/null; then fail "who answers?"; fi
balancer_start || fail "no start after a clean stop"
fetch || fail "no answer after a clean stop and start"
