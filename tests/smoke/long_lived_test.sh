#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# What is open stays where it is: keep-alive connections and a slow download survive that shares
# change every second.
. "$(dirname "$0")/_init.sh"

start_world 3 'ha_strategy = "nodeads"; ha_period_karma = "1s"; karma_rule = "documented";
    ha_ping_interval = "0";'
for m in 1 2 3; do
	mirror_configure m$m $((m * m * 4)) timer
	mirror_reload m$m
	head -c 3000000 /dev/urandom >"$WORLD_DIR/content"
	cp "$WORLD_DIR/content" "$WORLD_DIR/m$m/body/content"
	sha256sum <"$WORLD_DIR/content" >>"$WORLD_DIR/sums"
done

load_start --clients 24 --rate 300 --keep-alive
load_is_flowing
step "a download that waits for its reader"
mkfifo "$WORLD_DIR/slow"
spawn download client curl -sS --max-time 200 -o "$WORLD_DIR/slow" "http://$WORLD_VIP/body/content"
seconds_of_reweighting_are() {
	awk -v a="$first" -v b="$(ask_json 'SHOW SERVICES' 'r[0]["reweighted_at"] or 0')" -v n="$1" \
		'BEGIN { exit !(a > 0 && b - a >= n) }'
}
reweighting_has_begun() {
	first=$(ask_json 'SHOW SERVICES' 'r[0]["reweighted_at"] or 0')
	[ "${first%.*}" -gt 0 ]
}
wait_for 20 "a first re-weighting" reweighting_has_begun || fail "no re-weighting"
wait_for 30 "three seconds of re-weighting" seconds_of_reweighting_are 3 || fail "no re-weighting"
is_running download || fail "the download ended early"
cat "$WORLD_DIR/slow" >"$WORLD_DIR/got"
wait_for 30 "the download to end" is_not_running download || fail "the download hangs"
step "$(ask_json 'SHOW MIRRORS' '[round(100 * m["share"], 2) for m in r]') % after it"
grep -q "$(sha256sum <"$WORLD_DIR/got")" "$WORLD_DIR/sums" || fail "the download is not what the mirrors have"

load_stop
load_value 'r'
expect_equal "requests over kept connections that failed" "$(load_failed)" 0
# 24 clients, 24 connections and the download's.
wait_for 2 "25 connections" service_field_is total 25 ||
	fail "connections opened: $(ask_json 'SHOW SERVICES' 'r[0]["total"]')"
