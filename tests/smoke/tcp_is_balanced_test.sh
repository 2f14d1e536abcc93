#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# Connections go to every mirror in the configured shares, and client, mirrors and balancer count
# the same.
. "$(dirname "$0")/_init.sh"

start_world 3 'ha_strategy = "random"; ha_ping_interval = "0";'

step "a single request"
expect_match "answer" "$(fetch)" '^m[123]$'
is_logged() {
	[ "$(cat "$WORLD_DIR"/m?/access | wc -l)" -eq 1 ]
}
wait_for 20 "it to be logged" is_logged || fail "no mirror has it"

step "up to 3000 requests, each over a connection of its own"
: >"$WORLD_DIR/m1/access" && : >"$WORLD_DIR/m2/access" && : >"$WORLD_DIR/m3/access"
in_ns client "$BUILD/tests/load/karmalb-load" --clients 16 --rate 600 --seconds 5 "$WORLD_VIP:80" \
	>"$WORLD_DIR/load.json" || fail "requests failed: $(cat "$WORLD_DIR/load.json")"
cat "$WORLD_DIR/load.json"
n_requests=$(load_value 'r["requests"]')
expect_between "requests" "$n_requests" 500 3020
# Five standard deviations of a fair draw.
read -r lowest highest <<<"$(awk -v n="$n_requests" \
	'BEGIN { d = 500 * sqrt(2 / 9 / n); print 100 / 3 - d, 100 / 3 + d }')"

for m in m1 m2 m3; do
	by_client=$(load_value "r['mirrors']['$m']")
	expect_answers $m "$by_client"
	expect_between "share of $m in %" \
		"$(awk -v a="$by_client" -v n="$n_requests" 'BEGIN { print 100 * a / n }')" "$lowest" "$highest"
done

step "the balancer counted them, too"
wait_for 2 "$((n_requests + 1)) connections" service_field_is total "$((n_requests + 1))" ||
	fail "connections: $(ask_json 'SHOW SERVICES' 'r[0]["total"]')"
service_field_is failed 0 || fail "failures counted: $(ask_json 'SHOW SERVICES' 'r[0]["failed"]')"

step "the mirrors saw our source addresses, not the client"
expect_equal "foreign addresses in their logs" \
	"$(cat "$WORLD_DIR"/m?/access | awk '$4 !~ /^10\.99\.0\.2[45][0-9]$/' | wc -l)" 0
