#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# Contents arrive whole in both directions, whether the peers' veth leave checksums unfinished
# (offload on, the default) or compute them (off).
. "$(dirname "$0")/_init.sh"

start_world 2 'ha_strategy = "random"; ha_ping_interval = "0";'
head -c 5000000 /dev/urandom >"$WORLD_DIR/content"
for m in m1 m2; do
	cp "$WORLD_DIR/content" "$WORLD_DIR/$m/body/content"
done

offload() {
	local ns
	for ns in client m1 m2; do
		in_ns $ns ethtool -K eth0 tx "$1" >/dev/null
	done
	for ns in client lb m1 m2; do
		in_ns net ethtool -K $ns tx "$1" >/dev/null
	done
}

# is_over CONNECTIONS: all of them have been counted, and nothing is on its way any more.
is_over() {
	[ "$(counter flows_closed)" -eq "$1" ] && books_are_even
}

n_connections=0
for setting in on off; do
	step "offload $setting"
	offload $setting
	before=$(counter checksum_completed)
	for ((i = 0; i < 4; i++)); do
		in_ns client curl -sS --max-time 100 -o "$WORLD_DIR/got" "http://$WORLD_VIP/body/content" ||
			fail "download $i"
		cmp "$WORLD_DIR/content" "$WORLD_DIR/got" || fail "download $i brought something else"
		in_ns client curl -sS --max-time 100 -o "$WORLD_DIR/echoed" -H 'Expect:' \
			--data-binary @"$WORLD_DIR/content" "http://$WORLD_VIP/echo" || fail "upload $i"
		cmp "$WORLD_DIR/content" "$WORLD_DIR/echoed" || fail "upload $i arrived as something else"
		n_connections=$((n_connections + 2))
	done
	wait_for 30 "all to be counted" is_over $n_connections || fail "$(ctl -e 'SHOW STATUS')"
	n=$(($(counter checksum_completed) - before))
	step "checksums completed: $n"
	case $setting in
	on) expect_between "checksums completed" "$n" 1000 10000000 ;;
	# One finished checksum in 65536 equals its pseudo-header's sum by chance; completing it anew
	# yields the same.  Some 50,000 packets make one or two of them.
	off) expect_between "checksums completed" "$n" 0 12 ;;
	esac
done
