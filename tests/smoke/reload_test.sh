#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 300 s
# A hundred reloads under load: no packet is dropped, no request fails and no established flow moves,
# while mirrors come, go, and change weight; a file that is wrong changes nothing, and one that
# nobody confirms goes by itself.
. "$(dirname "$0")/_init.sh"

start_world 4 'ha_strategy = "nodeads"; ha_period_karma = "1s"; ha_ping_interval = "1s";'
cp "$WORLD_DIR/karmalb.conf" "$WORLD_DIR/whole.conf"
# Without its last mirror, and with other weights.
sed '/"m4"/d; s/\("m3";.*"\);/\1; weight = 3;/; s/\(name = "m3".*}\),/\1/' \
	"$WORLD_DIR/whole.conf" >"$WORLD_DIR/less.conf"
"$BUILD/karmalb-controlplane" --check "$WORLD_DIR/less.conf" >/dev/null || fail "less.conf is wrong"

# What a change could lose: packets of a service or a mirror that is not there for a moment.  A flow
# that moved would be reset by the mirror that does not know it, so its requests would fail.
lost() {
	ask_json 'SHOW DROPS' "' '.join(d['counter'] + '=' + str(d['total']) for d in r if d['counter'] in
		('drop_no_service', 'drop_no_mirror', 'drop_no_next_hop', 'drop_no_source_port'))"
}

are_kept_open() {
	[ "$(ask_json 'SHOW STATUS' "r['flows_opened'] - r['flows_closed']")" -gt 8 ]
}

step "a download of 50 seconds, connections that last through all of it"
head -c 3000000 /dev/urandom >"$WORLD_DIR/content"
for m in m1 m2 m3 m4; do
	cp "$WORLD_DIR/content" "$WORLD_DIR/$m/body/content"
done
spawn download client curl -sS --max-time 600 --limit-rate 60k -o "$WORLD_DIR/got" \
	"http://$WORLD_VIP/body/content"
load_start --clients 8 --rate 200
load_is_flowing
spawn kept client "$BUILD/tests/load/karmalb-load" --clients 8 --rate 100 --keep-alive \
	--seconds 0 "$WORLD_VIP:80"
wait_for 20 "the kept connections to be open" are_kept_open
lost_before=$(lost)
expect_match "reasons to lose a packet" "$lost_before" 'drop_no_mirror=[0-9]+'
instance=$(ask_json 'SHOW STATUS' "r['dataplane_instance']")

step "100 reloads"
for ((i = 1; i <= 50; i++)); do
	cp "$WORLD_DIR/less.conf" "$WORLD_DIR/karmalb.conf"
	ctl RELOAD >"$WORLD_DIR/said" || fail "reload: $(cat "$WORLD_DIR/said")"
	[ "$i" -gt 1 ] || cat "$WORLD_DIR/said"
	cp "$WORLD_DIR/whole.conf" "$WORLD_DIR/karmalb.conf"
	ctl RELOAD >"$WORLD_DIR/said" || fail "reload: $(cat "$WORLD_DIR/said")"
	[ "$i" -gt 1 ] || cat "$WORLD_DIR/said"
done
expect_match "the last one" "$(cat "$WORLD_DIR/said")" 'in force after'
expect_equal "reloads that went well" "$(ask_json 'SHOW STATUS' 'r["reloads_ok"]')" 100
expect_equal "the data plane" "$(ask_json 'SHOW STATUS' "r['dataplane_instance']")" "$instance"

expect_equal "packets lost" "$(lost)" "$lost_before"

step "one that nobody confirms"
has_mirrors() {
	[ "$(ask_json 'SHOW MIRRORS' 'len(r)')" = "$1" ]
}
cp "$WORLD_DIR/less.conf" "$WORLD_DIR/karmalb.conf"
ctl 'RELOAD CONFIRM WITHIN 10s' || fail "it was not taken"
has_mirrors 3 || fail "it is not in force"
wait_for 30 "m4 to come back by itself" has_mirrors 4
expect_match "what is in force" "$(ctl 'SHOW DIFF')" 'In force is what the configuration file says'
expect_match "the event" "$(ctl 'SHOW EVENTS')" 'not confirmed in time'
expect_equal "packets lost" "$(lost)" "$lost_before"

step "one that is confirmed"
ctl 'RELOAD CONFIRM WITHIN 5m' || fail "it was not taken"
ctl 'CONFIRM RELOAD' || fail "it cannot be confirmed"
expect_equal "time left to confirm" "$(ask_json 'SHOW STATUS' "r['reload_confirm_left_seconds']")" 0.0
has_mirrors 3 || fail "it did not stay"

step "a wrong file"
cp "$WORLD_DIR/whole.conf" "$WORLD_DIR/karmalb.conf"
ctl RELOAD >/dev/null || fail "reload"
echo 'nonsense = 1;' >>"$WORLD_DIR/karmalb.conf"
said=$(ctl RELOAD 2>&1) && fail "it was taken: $said"
expect_match "the refusal" "$said" 'karmalb.conf:[0-9]+: .*nonsense'
expect_equal "mirrors" "$(ask_json 'SHOW MIRRORS' 'len(r)')" 4
expect_equal "reloads refused or gone back" "$(ask_json 'SHOW STATUS' 'r["reloads_failed"]')" 2

step "the kept connections and the download go to their end"
cp "$WORLD_DIR/whole.conf" "$WORLD_DIR/karmalb.conf"
wait_for 110 "the download to end" is_not_running download || fail "the download hangs"
cmp "$WORLD_DIR/content" "$WORLD_DIR/got" || fail "the download is not what the mirrors have"
finish kept 30
cat "$WORLD_DIR/log/kept"
expect_match "requests over kept connections" "$(cat "$WORLD_DIR/log/kept")" '"failed": 0,'
load_stop
load_value 'r'
expect_equal "failed requests" "$(load_failed)" 0
