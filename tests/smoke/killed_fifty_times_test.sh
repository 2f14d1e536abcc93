#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 420 s
# Fifty times the data plane is killed at a random moment, of its work under load or of its start.
# Each time it starts again and forwards, over both IP versions and two ports, and never does the
# kernel answer for a VIP to the client, nor for a source address to the mirrors.  After a clean stop
# nothing is left.
. "$(dirname "$0")/_init.sh"

KILLS=${KILLS:-50}
# SEED=n tries other moments.
SEED=${SEED:-4711}

fetch6() {
	in_ns client curl -gsS --max-time 3 "http://[$WORLD_VIP6]/"
}

fetch4() {
	fetch --max-time 3
}

nap_ms() {
	sleep "$(awk -v ms="$1" 'BEGIN { printf "%.3f", ms / 1000 }')"
}

make_world_of_two_ports 2
configure_two_ports 2 "ha_strategy = \"random\"; ping = \"none\";"
balancer_start || fail "the balancer did not start"
wait_for 20 "an answer over IPv4" fetch4 || fail "no answer"
wait_for 20 "an answer over IPv6" fetch6 || fail "no answer"

# The kernel's own RST has the full hop limit; one that we forwarded has one less.
capture rst client "(src host $WORLD_VIP and tcp[tcpflags] & tcp-rst != 0 and ip[8] = 64) or
	(src host $WORLD_VIP6 and ip6[6] = 6 and ip6[53] & 4 != 0 and ip6[7] = 64)"
for m in m1 m2; do
	capture rst-$m $m "(src net 10.98.0.240/29 and tcp[tcpflags] & tcp-rst != 0 and ip[8] = 64) or
		(src net fd00:98::f0/126 and ip6[6] = 6 and ip6[53] & 4 != 0 and ip6[7] = 64)"
done
load_start --clients 8 --rate 200 --timeout-ms 1000
load_is_flowing
RANDOM=$SEED
n_starting=0
step "seed $SEED: $KILLS kills"
for ((i = 1; i <= KILLS; i++)); do
	nap_ms $((RANDOM % 400))
	slay dataplane
	# One of four dies again in the midst of its start.
	if ((RANDOM % 4 == 0)); then
		spawn dataplane lb "$BUILD/karmalb-dataplane" --run-dir "$WORLD_DIR" --arguments "$WORLD_DIR/dataplane.arguments"
		nap_ms $((RANDOM % 900))
		slay dataplane
		n_starting=$((n_starting + 1))
	fi
	dataplane_start || fail "seed $SEED: no start after kill $i"
	wait_for 20 "answers over IPv4 after kill $i" fetch4 || fail "seed $SEED: no answer after kill $i"
	wait_for 20 "answers over IPv6 after kill $i" fetch6 || fail "seed $SEED: no answer over IPv6 after kill $i"
done
step "all $KILLS survived, $n_starting of them with another one during the start"
load_stop
expect_equal "RST of the kernel for a VIP" "$(end_capture rst)" ""
for m in m1 m2; do
	expect_equal "RST of the kernel for a source, at $m" "$(end_capture rst-$m)" ""
done

step "a clean stop leaves nothing behind"
finish controlplane
finish dataplane
for i in 0 1; do
	expect_equal "addresses of ours on eth$i" \
		"$(in_ns lb ip -o addr show dev "eth$i" | grep -cE "inet (10.98.0.24|$WORLD_VIP)|inet6 (fd00:98::f|$WORLD_VIP6)" || true)" 0
	expect_equal "XDP programs on eth$i" "$(in_ns lb ip link show dev "eth$i" | grep -c xdp || true)" 0
	expect_equal "qdiscs on eth$i" "$(in_ns lb tc qdisc show dev "eth$i" | grep -c clsact || true)" 0
	expect_equal "neighbours that the kernel keeps for us on eth$i" \
		"$(in_ns lb ip neigh show dev "eth$i" | grep -c managed || true)" 0
done
[ ! -e "$WORLD_DIR/dataplane.sock" ] || fail "dataplane.sock is still there"
