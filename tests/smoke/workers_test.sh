#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 300 s
# Two and three workers behind the one queue of a veth: every worker has its share of the flows,
# clients notice nothing, all count the same, mirrors that take turns do so over all workers, and
# a balancer that was killed comes back, with another number of workers, too.
. "$(dirname "$0")/_init.sh"

# run_with CPUS: one worker on each.
run_with() {
	local list n lowest highest m by_client
	IFS=, read -ra list <<<"$1"
	n=${#list[@]}
	step "$n workers on CPUs $1"
	DATAPLANE_OPTIONS=(--workers "$1")
	dataplane_start || fail "the data plane did not start"
	controlplane_start || fail "the control plane did not start"
	expect_equal "workers" "$(counter workers)" "$n"

	for m in m1 m2 m3; do : >"$WORLD_DIR/$m/access"; done
	load_through 6000 96 1500
	expect_flows "$n_requests" "$n_requests"

	expect_even_spread "$n" flows_opened
	read -r lowest highest <<<"$(spread "$n" rx_packets)"
	step "packets of a worker: $lowest to $highest %"
	expect_between "packets of the worker that has fewest" "$lowest" 1 100

	step "the mirrors took turns"
	for m in m1 m2 m3; do
		by_client=$(load_value "r['mirrors']['$m']")
		expect_between "answers of $m" "$by_client" $((n_requests / 3)) $((n_requests / 3 + 1))
		expect_answers "$m" "$by_client"
	done

	step "16 downloads of 4 MB from 16 addresses at a time"
	download_all
	expect_even_books
	step "handed over: $(counter handed_over) received and $(counter tx_handed_over) finished packets, lost $(drops drop_handover_full) and $(drops drop_tx_handover_full)"
	expect_between "packets handed over" "$(counter handed_over)" 1000 100000000
}

download_all() {
	local i jobs=()
	for ((i = 0; i < 16; i++)); do
		in_ns client curl -sS --max-time 60 --interface "10.99.0.$((32 + i))" -o "$WORLD_DIR/got.$i" \
			"http://$WORLD_VIP/body/file" &
		jobs+=($!)
	done
	for i in "${jobs[@]}"; do
		wait "$i" || fail "a download failed"
	done
	for ((i = 0; i < 16; i++)); do
		cmp "$WORLD_DIR/got.$i" "$WORLD_DIR/m1/body/file" || fail "download $i is not what was sent"
	done
}

make_world 3
head -c 4000000 /dev/urandom >"$WORLD_DIR/m1/body/file"
for m in m2 m3; do
	cp "$WORLD_DIR/m1/body/file" "$WORLD_DIR/$m/body/file"
done
for ((i = 0; i < 16; i++)); do
	in_ns client ip addr add "10.99.0.$((32 + i))/24" dev eth0
done
balancer_configure 3 'ha_strategy = "roundrobin"; ha_ping_interval = "0"; agent_connect_timeout = "20s";' \
	'huge_pages = "0"; max_flows = 65536;'

run_with "$(worker_cpus 2)"

step "the data plane is killed, and comes back with three workers"
slay dataplane
finish controlplane
run_with "$(worker_cpus 3)"

step "a clean stop leaves nothing behind"
finish controlplane
finish dataplane
grep -q stopped "$WORLD_DIR/log/dataplane" || fail "the data plane did not stop by itself"
expect_nothing_left
