#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 240 s
# How long it takes to find out that a mirror is gone, for each way of being gone: by pings while
# nobody asks anything, and by queries under load.  The times are shown; judged is that it is found
# out, how, and that no worker picks it soon after.
. "$(dirname "$0")/_init.sh"

# Settings in which the times below are 4 pings' and 4 queries'.
start_world 2 'ha_strategy = "nodeads"; ha_period_karma = "1s"; slow_start = "0"; karma_floor = "20%";
    ping = "http"; ha_ping_interval = "200ms"; agent_connect_timeout = "200ms";
    agent_query_timeout = "400ms";'

: >"$WORLD_DIR/reactions"

# For each way: what does it to m2, and what undoes it.
refused() { mirror_kill m2; }
undo_refused() { mirror_start m2; }
unreachable() { in_ns lb ip route add unreachable 10.99.0.102/32; }
undo_unreachable() { in_ns lb ip route del unreachable 10.99.0.102/32; }
silent() { in_ns net ip link set m2 down; }
undo_silent() { in_ns net ip link set m2 up; }
hung() { m2_signal STOP; }
undo_hung() { m2_signal CONT; }

# m2_signal NAME: to its master and workers.
m2_signal() {
	local pid
	pid=$(pid_of m2) || return 0
	pkill "-$1" -P "$pid" || true
	kill "-$1" "$pid"
}

# detect HOW WAY PATTERN: times WAY from the fault to the verdict.
detect() {
	local how=$1 way=$2 pattern=$3 before began
	wait_for 20 "m2 to be up" mirror_state_is m2 up || fail "m2 is not up before: $way"
	before=$(ask_json "SHOW EVENTS" "len(r)")
	began=$(date +%s.%N)
	"$way"
	wait_for 20 "m2 to be called dead" mirror_state_is m2 dead || fail "$how, $way: m2 is not called dead"
	step "$how, $way: $(ask_json 'SHOW EVENTS' "['%.0f ms: %s' % (1000 * (e['at'] - $began), e['event'])
		for e in r[$before:] if 'm2: up -> dead' in e['event']][0]")"
	expect_match "$how, $way" "$(mirror_field m2 why)" "$pattern"
	wait_for 10 "the workers to know" told_after "$before" || fail "$how, $way: the workers are not told"
	"undo_$way"
}

# told_after EVENTS: whether a later event says when the workers had it; adds it to reactions.
told_after() {
	ask_json 'SHOW EVENTS' "[e['event'].split('no new connections, ')[1] for e in r[$1:]
		if 'no new connections' in e['event']][0]" >"$WORLD_DIR/reaction" || return 1
	cat "$WORLD_DIR/reaction" >>"$WORLD_DIR/reactions"
}

# A trial ends with an answered query: 30 of them, over a connection each.
ask_until_up() {
	in_ns client curl -sS --max-time 10 -H 'Connection: close' -o /dev/null \
		"http://$WORLD_VIP/?[1-30]" || true
	mirror_state_is m2 up
}

for case in 'refused|connection refused 4 times' 'unreachable|no route 4 times' \
	'silent|no answer in 200 ms 4 times' 'hung|connected, but no answer in 200 ms 4 times'; do
	detect "pings" "${case%|*}" "ping: ${case#*|}"
	wait_for 30 "m2 to be up again" ask_until_up || fail "m2 does not come back"
done

load_start --clients 16 --rate 200 --timeout-ms 2000
load_is_flowing
for case in 'refused|refused' 'silent|connects? timed out|no route|unreachable|no answer' \
	'hung|unanswered|no answer'; do
	detect "queries" "${case%%|*}" "${case#*|}"
done
load_stop

# Nobody answers for a new mirror's address, which is waited for 300 ms; not so what comes after it.
knows_mirror() { [ -n "$(mirror_field "$1" state)" ]; }
step "a change beside one that has to wait for a next hop"
fastest=1000
for n in 1 2 3 4 5; do
	[ $((n % 2)) -eq 1 ] && state=drain || state=active
	ctl "ALTER SERVICE web ADD MIRROR nobody$n '10.99.0.22$n'" >"$WORLD_DIR/log/added" &
	wait_for 5 "the new mirror to be known" knows_mirror "nobody$n" || fail "it is not added"
	took=$(ctl "SET MIRROR web.m1 STATE = $state" | sed -n 's/.*in force after \([0-9]*\) ms.*/\1/p')
	wait $!
	echo "          in force after ${took:-0} ms, the mirror:$(sed -n 's/.*in force\( after [0-9]* ms\).*/\1/p' "$WORLD_DIR/log/added")"
	[ "${took:-0}" -ge "$fastest" ] || fastest=${took:-0}
done
expect_between "ms of the fastest" "$fastest" 0 50

step "from the last failure until no worker picked it: $(cut -d ' ' -f 1,2 "$WORLD_DIR/reactions" | paste -sd ,)"
# A change that waited for the next period of a second would take half of one at the median.
median=$(sort -n "$WORLD_DIR/reactions" | cut -d ' ' -f 1 | awk '{ ms[NR] = $1 } END { print ms[int((NR + 1) / 2)] }')
expect_between "ms at the median" "$median" 0 $((50 * ${KARMALB_PATIENCE:-1}))
