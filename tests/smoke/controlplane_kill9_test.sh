#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# Without a control plane traffic goes on as before; a new one begins from the shares in force.
. "$(dirname "$0")/_init.sh"

start_world 4 'ha_strategy = "nodeads"; ha_period_karma = "10s"; karma_rule = "documented";
    ha_ping_interval = "0";'
for m in 1 2 3 4; do
	mirror_configure m$m $((m * 5)) timer
	mirror_reload m$m
done
load_start --clients 16 --rate 300
load_is_flowing

shares() {
	ask_json 'SHOW MIRRORS' '[round(100 * m["share"], 2) for m in r]'
}

shares_are_unequal() {
	ask_json 'SHOW MIRRORS' 'max(m["share"] for m in r) / min(m["share"] for m in r)' |
		awk '{ exit !($1 > 2) }'
}

# The next re-weighting is far enough away that shares stay as they are read here.
is_calm() {
	[ "$(ask_json 'SHOW SERVICES' \
		'int(r[0]["next_reweight_at"] - __import__("time").time() > 7)')" = 1 ]
}

wait_for 60 "shares to differ" shares_are_unequal || fail "no re-weighting"
wait_for 25 "a while without re-weighting" is_calm || fail "no such moment"
before=$(shares)
step "shares in force: $before"

step "the control plane is killed"
slay controlplane
now=$(shares 2>/dev/null) && fail "who answered? $now"
requests=$(load_value 'r["requests"]')
# As many as come in three seconds, so that whoever needs it every second has missed it.
wait_for 10 "traffic to go on" load_requests_more_than $((requests + 900)) || fail "traffic stopped"
is_running dataplane || fail "the data plane went along"
expect_equal "requests that failed without it" "$(load_failed)" 0

step "a new one starts"
controlplane_start || fail "it does not start again"
after=$(shares)
step "shares in force: $after"
# shellcheck disable=SC2086 # the shares are words
set -- $before $after
for i in 1 2 3 4; do
	j=$((i + 4))
	expect_between "share of m$i in % after the restart" "${!j}" \
		"$(awk -v s="${!i}" 'BEGIN { print s - 1 }')" "$(awk -v s="${!i}" 'BEGIN { print s + 1 }')"
done
load_stop
expect_equal "failed requests, all told" "$(load_failed)" 0
