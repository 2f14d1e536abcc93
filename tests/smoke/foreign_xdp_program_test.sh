#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 120 s
# An XDP program that is not ours keeps us from starting; one that takes our program's place while
# we run keeps us from traffic, in silence towards clients, and outlives our clean stop.
. "$(dirname "$0")/_init.sh"

# program FIELD: of the XDP program on the balancer's interface, 'id' or 'name'; empty: there is none.
program() {
	in_ns lb ip -j -d link show dev eth0 | json_value "r[0].get('xdp', {}).get('prog', {}).get('$1', '')"
}

# attach MODE: the foreign program in place of whatever is there.
attach() {
	in_ns lb ip -force link set dev eth0 "$1" obj "$WORLD_DIR/firewall.o" sec xdp
	expect_equal "the program" "$(program name)" firewall
	foreign=$(program id)
}

# refused MODE_OFF: the data plane does not start, names the program and how it is taken off, and
# leaves it as it is, as all else.
refused() {
	local said status=0
	said=$(in_ns lb timeout $((30 * ${KARMALB_PATIENCE:-1})) "$BUILD/karmalb-dataplane" \
		--run-dir "$WORLD_DIR" --arguments "$WORLD_DIR/dataplane.arguments" 2>&1) || status=$?
	expect_equal "exit status" "$status" 1
	said=$(tail -n 1 <<<"$said")
	step "$said"
	expect_match "the last line" "$said" \
		"interface eth0 has a foreign XDP program, firewall \(id $foreign\); remove it with: ip link set dev eth0 $1\$"
	expect_equal "the program's id" "$(program id)" "$foreign"
	expect_no_traces
	in_ns lb bash -c "${said##*remove it with: }" || fail "what it says does not work"
	expect_equal "the program" "$(program id)" ''
}

guard_drops_more_than() {
	[ "$(counter port_0_guard_drops)" -gt "$1" ]
}

# no_answer: neither from a mirror nor from the kernel, whose guard stands in.
no_answer() {
	local before status=0
	before=$(counter port_0_guard_drops)
	fetch --max-time 2 2>"$WORLD_DIR/said" || status=$?
	expect_equal "curl's exit status (28: time-out): $(cat "$WORLD_DIR/said")" "$status" 28
	wait_for 20 "the guard to count" guard_drops_more_than "$before" || fail "who dropped the packets?"
}

# told PATTERN: the log says so, once, while we run.
told() {
	local pattern="error: port front: .*$1; nothing comes in there until karmalb-dataplane is started again"
	wait_for 20 "the log to tell" grep -q "$pattern" "$WORLD_DIR/log/dataplane" ||
		fail "the log does not tell"
	step "$(grep "$pattern" "$WORLD_DIR/log/dataplane")"
	expect_equal "times that it is told" "$(grep -c "$pattern" "$WORLD_DIR/log/dataplane")" 1
}

# stop_says PATTERN: a clean stop warns so, and leaves nothing of ours.
stop_says() {
	finish controlplane
	finish dataplane
	expect_match "the log's end" "$(tail -n 3 "$WORLD_DIR/log/dataplane")" "$1"
	grep -q 'stopped$' <(tail -n 1 "$WORLD_DIR/log/dataplane") || fail "no clean stop"
	step "$(grep 'leaving it' "$WORLD_DIR/log/dataplane" | tail -n 1)"
	expect_no_traces
}

make_world 1
cat >"$WORLD_DIR/firewall.c" <<'END_OF_C'
__attribute__((section("xdp"), used)) int firewall(void *context)
{
	(void)context;
	return 2; /* XDP_PASS */
}
char _license[] __attribute__((section("license"), used)) = "GPL";
END_OF_C
clang -O2 -target bpf -c -o "$WORLD_DIR/firewall.o" "$WORLD_DIR/firewall.c"
balancer_configure 1 'ha_ping_interval = "0";' 'huge_pages = "0"; max_flows = 4096;'
"$BUILD/karmalb-controlplane" --dataplane-arguments "$WORLD_DIR/karmalb.conf" >"$WORLD_DIR/dataplane.arguments"

step "a foreign program is there before us"
attach xdpgeneric
refused "xdpgeneric off"
attach xdpdrv
refused "xdp off"

step "one comes while we run"
balancer_start || fail "no start after it was removed as we said"
fetch || fail "no answer"
expect_equal "the program" "$(program name)" karmalb_steer
capture rst client "src host $WORLD_VIP and tcp[tcpflags] & tcp-rst != 0"
attach xdpdrv
no_answer
told 'foreign XDP program, firewall.*'
stop_says 'has a foreign XDP program, firewall .*; leaving it as it is'
expect_equal "the program's id" "$(program id)" "$foreign"
refused "xdp off"

step "ours is taken off while we run"
balancer_start || fail "no start"
fetch || fail "no answer"
in_ns lb ip -force link set dev eth0 xdpdrv off
no_answer
told 'was detached by somebody'
stop_says 'was detached by somebody; leaving it as it is'
expect_equal "the program" "$(program id)" ''

step "and nothing of that keeps us from the next start"
balancer_start || fail "no start"
fetch || fail "no answer"
expect_equal "RST for the VIP" "$(end_capture rst)" ""
finish controlplane
finish dataplane
expect_nothing_left
