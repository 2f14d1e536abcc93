#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# A flow can be seen, explained as its mirror tells it, and ended; and a mirror that answers, one
# that refuses and one that is silent are told apart by a SYN of our own.
. "$(dirname "$0")/_init.sh"

start_world 3 'ha_strategy = "random"; ha_ping_interval = "0"; agent_connect_timeout = "3s";'
for m in 1 2 3; do
	head -c 8000000 /dev/zero >"$WORLD_DIR/m$m/body/content"
done

# flow_field FIELD: of the one flow from the client's port 40000; nothing where there is none.
flow_field() {
	ask_json 'SHOW FLOWS FROM web LIMIT 50' \
		"[f['$1'] for f in r if f['client'].endswith(':40000')]"
}

explain_field() {
	ask_json "EXPLAIN '$client' TO '$WORLD_VIP:80/tcp'" "r['$1']"
}

flow_is_established() {
	[ "$(flow_field state)" = established ]
}

# check_of MIRROR [FIELD]: what CHECK SERVICE found.
check_of() {
	ask_json 'CHECK SERVICE web' \
		"[c['${2:-result}'] for c in r['checks'] if c['mirror'] == 'web.$1']"
}

step "a slow download"
spawn download client curl -sS --max-time 600 --limit-rate 50k --local-port 40000 \
	-o /dev/null "http://$WORLD_VIP/body/content"
wait_for 20 "the flow to be seen" flow_is_established || fail "SHOW FLOWS: $(ctl 'SHOW FLOWS')"
client=$(flow_field client)
mirror=$(flow_field mirror)
source=$(flow_field source)
step "$client goes to $mirror from $source"
expect_match "the source" "$source" '^10\.99\.0\.2[45][0-9]:[0-9]+$'

step "it is explained"
ctl "EXPLAIN '$client' TO '$WORLD_VIP:80/tcp'"
expect_equal "the flow" "$(explain_field flow)" existing
expect_equal "its mirror" "$(explain_field mirror)" "$mirror"
expect_equal "its source" "$(explain_field source)" "$source"
expect_equal "what it was drawn at" \
	"$(ask_json "EXPLAIN '$client' TO '$WORLD_VIP:80/tcp'" \
		"[round(m['drawn_share_pct']) for m in r['mirrors']]")" "33 33 33"
expect_equal "a flow that is not there" \
	"$(ask_json "EXPLAIN '192.0.2.1:1' TO '$WORLD_VIP:80/tcp'" "r['flow'], r['eligible']")" "none 3"

step "flows of the other mirrors are ended: this one is not"
for m in 1 2 3; do
	[ "web.m$m" = "$mirror" ] || ctl "RESET FLOWS FROM web.m$m"
done
flow_is_established || fail "SHOW FLOWS: $(ctl 'SHOW FLOWS')"
is_running download || fail "the download ended: $(cat "$WORLD_DIR/log/download")"

step "its own are"
expect_match "the answer" "$(ctl "RESET FLOWS FROM $mirror")" '^1 flow ended'
wait_for 20 "the download to end" is_not_running download || fail "the client was not told"
expect_match "what the client says" "$(cat "$WORLD_DIR/log/download")" 'reset by peer'
expect_equal "flows established" "$(flow_field state | grep -c established)" 0

# nginx writes the line when the request is over, hence the mirror was told, too.
logged_as() {
	awk -v source="$1" '$6 == "/body/content" { print FILENAME, $4 ":" $5 }' \
		"$WORLD_DIR"/m?/access | grep -q "/${mirror#web.}/access $1\$"
}
wait_for 20 "$mirror to log it" logged_as "$source" ||
	fail "the access logs say: $(grep -H content "$WORLD_DIR"/m?/access)"
expect_equal "failures counted" "$(ask_json 'SHOW SERVICES' 'r[0]["failed"]')" 0

step "one mirror is gone, one is silent"
mirror_kill m2
in_ns m3 ip route add blackhole "$WORLD_SOURCES"
total=$(ask_json 'SHOW SERVICES' 'r[0]["total"]')
ctl 'CHECK SERVICE web'
expect_equal "m1" "$(check_of m1)" open
expect_equal "m2" "$(check_of m2)" refused
expect_equal "m3" "$(check_of m3)" silent
expect_equal "the ping to m1" "$(check_of m1 ping_now)" answered
expect_equal "the ping to m2" "$(check_of m2 ping_now)" "connection refused"
expect_equal "its next hop" "$(ask_json 'CHECK SERVICE web' "[c['next_hop'] for c in r['checks']]")" \
	"resolved resolved resolved"
expect_equal "interfaces with the VIP" "$(ask_json 'CHECK SERVICE' "r['vips_on_interface']")" 1
connections() {
	in_ns m1 ss -Htn 'sport = :80' | wc -l
}
no_connection_is_left() {
	[ "$(connections)" = 0 ]
}
wait_for 10 "m1 to have none of these connections" no_connection_is_left || fail "$(connections) are left"
expect_equal "connections counted for the checks" \
	"$(($(ask_json 'SHOW SERVICES' 'r[0]["total"]') - total))" 0

step "a mirror that nothing leads to"
expect_match "the answer to the change" \
	"$(ctl "CREATE SERVICE far LISTEN '$WORLD_VIP:81/tcp' MIRRORS ('198.51.100.9')")" \
	'in force after .* the data plane says: mirror .* gets no flows'
if ctl 'CHECK SERVICE far'; then
	fail "a service of which no mirror answers passes its check"
fi
expect_equal "services without an answer" \
	"$(ask_json 'CHECK SERVICE' "r['services_without_answer']" || true)" 1
