#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 450 s
# A hundred reloads under load: no packet is dropped, no request fails and no established flow moves,
# while mirrors come, go, and change weight; a file that is wrong changes nothing, and one that
# nobody confirms goes by itself.
#
# Everything that can tell of a lost packet is compared: all reasons to drop, what the device lost
# before a worker saw it (rx_missed) and what the steering program missed (guard_drops).  Four of them
# also move for reasons that have nothing to do with reloads: where the machine lets a worker or the
# kernel's side of a device wait too long, rx_missed and drop_tx_full count full rings, and what is
# then sent again may come after its connection is over (drop_no_flow, drop_tcp_state).  These may move
# in one hundred reloads, not in each of three: a loss that reloads cause comes with all of them.
. "$(dirname "$0")/_init.sh"

start_world 4 'ha_strategy = "nodeads"; ha_period_karma = "1s"; ha_ping_interval = "1s";'
cp "$WORLD_DIR/karmalb.conf" "$WORLD_DIR/whole.conf"
# Without its last mirror, and with other weights.
sed '/"m4"/d; s/\("m3";.*"\);/\1; weight = 3;/; s/\(name = "m3".*}\),/\1/' \
	"$WORLD_DIR/whole.conf" >"$WORLD_DIR/less.conf"
"$BUILD/karmalb-controlplane" --check "$WORLD_DIR/less.conf" >/dev/null || fail "less.conf is wrong"

OF_THE_MACHINE="('rx_missed', 'drop_tx_full', 'drop_no_flow', 'drop_tcp_state')"

# lost IN|NOT\ IN: the counters that are, or are not, the machine's, with their totals.
lost() {
	ask_json 'SHOW DROPS' "' '.join(d['counter'] + '=' + str(d['total']) for d in r
		if d['counter'] $1 $OF_THE_MACHINE)"
}

# Totals come up every 100 ms: those of now have when more packets have been counted, twice.
totals_come_up() {
	local i before
	for i in 1 2; do
		before=$(counter rx_packets)
		wait_for 20 "totals to come up" counter_is_between rx_packets $((before + 1)) 999999999999 ||
			fail "no packets are counted"
	done
}

# Flows that are established: client, mirror's address, our source, a line each.
established() {
	ask_json 'SHOW FLOWS LIMIT 10000' "chr(10).join(sorted(' '.join((f['client'], f['address'], f['source']))
		for f in r if f['state'] == 'established' and f['age_s'] > $1))"
}

# The download and eight connections that are kept; the load's own do not get that old.
LASTING=9
are_kept_open() {
	established 5 >"$WORLD_DIR/flows"
	[ "$(wc -l <"$WORLD_DIR/flows")" -eq $LASTING ]
}

# expect_none_moved: those of $WORLD_DIR/flows are there, as they were.
expect_none_moved() {
	established 5 >"$WORLD_DIR/flows-now"
	expect_equal "established flows that have moved or ended" \
		"$(comm -23 "$WORLD_DIR/flows" "$WORLD_DIR/flows-now")" ""
}

step "a download that is read a piece with each reload, connections that are kept"
head -c 60000000 /dev/urandom >"$WORLD_DIR/content"
mkfifo "$WORLD_DIR/slow"
exec 6<>"$WORLD_DIR/slow"
exec 7<"$WORLD_DIR/slow"
for m in m1 m2 m3 m4; do
	cp "$WORLD_DIR/content" "$WORLD_DIR/$m/body/content"
done
spawn download client curl -sS --max-time 600 -o "$WORLD_DIR/slow" "http://$WORLD_VIP/body/content"
timeout 30 head -c 1 <&7 >"$WORLD_DIR/got" || fail "no download: $(cat "$WORLD_DIR/log/download")"
exec 6>&-
load_start --clients 8 --rate 200
load_is_flowing
spawn kept client "$BUILD/tests/load/karmalb-load" --clients 8 --rate 100 --keep-alive \
	--seconds 0 "$WORLD_VIP:80"
wait_for 30 "the kept connections to be open" are_kept_open ||
	fail "established: $(cat "$WORLD_DIR/flows")"
lost_before=$(lost 'not in')
expect_equal "reasons to lose a packet" "$(wc -w <<<"$lost_before")" \
	"$(ask_json 'SHOW DROPS' "len(r) - 4")"
instance=$(ask_json 'SHOW STATUS' "r['dataplane_instance']")

# read_on: a piece of the download, so that it goes on; more than sockets hold in a hundred.
read_on() {
	head -c 150000 <&7 >>"$WORLD_DIR/got"
}

# a_hundred_reloads: each of the two files fifty times.
a_hundred_reloads() {
	local i
	for ((i = 1; i <= 50; i++)); do
		cp "$WORLD_DIR/less.conf" "$WORLD_DIR/karmalb.conf"
		ctl RELOAD >"$WORLD_DIR/said" || fail "reload: $(cat "$WORLD_DIR/said")"
		[ "$i" -gt 1 ] || cat "$WORLD_DIR/said"
		read_on
		cp "$WORLD_DIR/whole.conf" "$WORLD_DIR/karmalb.conf"
		ctl RELOAD >"$WORLD_DIR/said" || fail "reload: $(cat "$WORLD_DIR/said")"
		[ "$i" -gt 1 ] || cat "$WORLD_DIR/said"
		read_on
	done
	expect_match "the last one" "$(cat "$WORLD_DIR/said")" 'in force after'
}

for ((round = 1; round <= 3; round++)); do
	step "100 reloads"
	machine_before=$(lost in)
	a_hundred_reloads
	totals_come_up
	expect_equal "reloads that went well" "$(ask_json 'SHOW STATUS' 'r["reloads_ok"]')" $((100 * round))
	expect_equal "the data plane" "$(ask_json 'SHOW STATUS' "r['dataplane_instance']")" "$instance"
	expect_equal "packets lost" "$(lost 'not in')" "$lost_before"
	expect_none_moved
	machine=$(lost in)
	[ "$machine" != "$machine_before" ] || break
	step "lost, perhaps by the machine: $machine_before before, $machine now"
done
[ "$round" -le 3 ] || fail "packets are lost with each hundred of reloads"

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
totals_come_up
expect_equal "packets lost" "$(lost 'not in')" "$lost_before"
expect_none_moved

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
is_running download || fail "the download ended early"
cat <&7 >>"$WORLD_DIR/got"
wait_for 30 "the download to end" is_not_running download || fail "the download hangs"
cmp "$WORLD_DIR/content" "$WORLD_DIR/got" || fail "the download is not what the mirrors have"
finish kept 30
cat "$WORLD_DIR/log/kept"
expect_match "requests over kept connections" "$(cat "$WORLD_DIR/log/kept")" '"failed": 0,'
load_stop
load_value 'r'
expect_equal "failed requests" "$(load_failed)" 0
