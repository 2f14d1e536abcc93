#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 120 s
# A hundred reloads under load: no request fails and no established flow moves, while mirrors come,
# go, and change weight; a file that is wrong changes nothing.
. "$(dirname "$0")/_init.sh"

start_world 4 'ha_strategy = "nodeads"; ha_period_karma = "1s"; ha_ping_interval = "1s";'
cp "$WORLD_DIR/karmalb.conf" "$WORLD_DIR/whole.conf"
# Without its last mirror, and with other weights.
sed '/"m4"/d; s/\("m3";.*"\);/\1; weight = 3;/; s/\(name = "m3".*}\),/\1/' \
	"$WORLD_DIR/whole.conf" >"$WORLD_DIR/less.conf"
"$BUILD/karmalb-controlplane" --check "$WORLD_DIR/less.conf" >/dev/null || fail "less.conf is wrong"

mirror_address_of() {
	ask_json 'SHOW MIRRORS' "[m['address'] for m in r if m['mirror'] == '$1'][0]"
}

step "a download that lasts through all of it"
head -c 3000000 /dev/urandom >"$WORLD_DIR/content"
for m in m1 m2 m3 m4; do
	cp "$WORLD_DIR/content" "$WORLD_DIR/$m/body/content"
done
spawn download client curl -sS --max-time 100 --limit-rate 60k -o "$WORLD_DIR/got" \
	"http://$WORLD_VIP/body/content"
load_start --clients 8 --rate 200
load_is_flowing
spawn kept client "$BUILD/tests/load/karmalb-load" --clients 8 --rate 100 --keep-alive \
	--seconds 60 "$WORLD_VIP:80"
sleep 1
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

step "a wrong file"
echo 'nonsense = 1;' >>"$WORLD_DIR/karmalb.conf"
said=$(ctl RELOAD 2>&1) && fail "it was taken: $said"
expect_match "the refusal" "$said" 'karmalb.conf:[0-9]+: .*nonsense'
expect_equal "mirrors" "$(ask_json 'SHOW MIRRORS' 'len(r)')" 4
expect_equal "reloads refused" "$(ask_json 'SHOW STATUS' 'r["reloads_failed"]')" 1

step "the kept connections and the download go to their end"
cp "$WORLD_DIR/whole.conf" "$WORLD_DIR/karmalb.conf"
wait_for 60 "the download to end" is_not_running download || fail "the download hangs"
cmp "$WORLD_DIR/content" "$WORLD_DIR/got" || fail "the download is not what the mirrors have"
wait_for 60 "the kept connections to end" is_not_running kept || fail "they hang"
cat "$WORLD_DIR/log/kept"
expect_match "requests over kept connections" "$(cat "$WORLD_DIR/log/kept")" '"failed": 0,'
load_stop
load_value 'r'
expect_equal "failed requests" "$(load_failed)" 0
