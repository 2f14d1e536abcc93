#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 200 s
# Clients on one port, mirrors on another, and two workers, each with the queue of one port: every
# packet comes in by one worker's and leaves by the other's.  A worker that is not let run fills the
# rings to it; what has no room is dropped and counted, and nothing else is lost.
. "$(dirname "$0")/_init.sh"

# thread_of WORKER: its id.
thread_of() {
	local task
	for task in "/proc/$(pid_of dataplane)"/task/*; do
		grep -qx ".*worker-$(($1 + 1))" "$task/comm" && basename "$task" && return 0
	done
	return 1
}

# hold_worker WORKER: until the holder is slain.
hold_worker() {
	local thread
	thread=$(thread_of "$1") || fail "no thread of worker $1: $(cat "/proc/$(pid_of dataplane)"/task/*/comm)"
	: >"$WORLD_DIR/log/holder"
	spawn holder lb /usr/bin/python3 "$TOP/tests/smoke/hold_thread.py" "$thread"
	wait_for 10 "the worker to be held" grep -q held "$WORLD_DIR/log/holder" || fail "$(cat "$WORLD_DIR/log/holder")"
}

# send_datagrams FIRST LAST: to the log, from 64 ports in turn, not faster than a veth takes them.
send_datagrams() {
	in_ns client /usr/bin/python3 - "$WORLD_VIP" "$@" <<-'END'
		import socket, sys, time
		sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(64)]
		for s in sockets:
		    s.connect((sys.argv[1], 514))
		for i in range(int(sys.argv[2]), int(sys.argv[3]) + 1):
		    sockets[i % 64].send(f"of {i % 64} number {i}".encode())
		    if i % 100 == 99:
		        time.sleep(0.01)
	END
}

# lines_arrived: how many, if those of each client's port came in the order in which they were sent.
lines_arrived() {
	tr -d "'" <"$WORLD_DIR/m1/sink" | awk '
		$3 in last && $5 <= last[$3] { print "number " $5 " after " last[$3]; is_wrong = 1; exit 1 }
		{ last[$3] = $5 + 0; n++ }
		END { if (!is_wrong) print n + 0 }'
}

lines_are_at_least() {
	[ "$(lines_arrived)" -ge "$1" ]
}

make_world_of_two_ports 2
scripted_start m1 sink 514
configure_two_ports 2 'ha_strategy = "random"; ha_ping_interval = "0"; agent_connect_timeout = "20s";' \
	'huge_pages = "0"; max_flows = 65536;' \
	"{ name = \"log\"; listen = [ \"$WORLD_VIP:514/udp\" ]; udp_answers = false;
	   mirrors = ( { name = \"m1\"; address = \"10.98.0.101\"; } ); }"
DATAPLANE_OPTIONS=(--workers "$(worker_cpus 2)")
dataplane_start || fail "the data plane did not start"
controlplane_start || fail "the control plane did not start"

load_through 5000 64 1500
expect_flows "$n_requests" "$n_requests"
expect_even_spread 2 flows_opened
for w in 0 1; do
	expect_between "packets that worker $w sent itself" "$(of_worker "$w" tx_packets)" 5000 1000000
	expect_between "packets that worker $w handed over" "$(of_worker "$w" handed_over)" 1000 1000000
	expect_between "finished packets that worker $w handed over" \
		"$(of_worker "$w" tx_handed_over)" 1000 1000000
done

expect_download 8000000 m1 m2
expect_even_books

step "8000 datagrams of 64 flows keep their order"
send_datagrams 1 8000
# A veth whose other end gets no CPU loses some.
wait_for 20 "most of them to arrive" lines_are_at_least 6000 || fail "lines: $(lines_arrived)"

step "the worker with the mirrors' port is held"
hold_worker 1
send_datagrams 8001 24000
for reason in drop_handover_full drop_tx_handover_full; do
	wait_for 20 "$reason" drops_are_at_least "$reason" 1000 || fail "$reason: $(drops "$reason")"
	step "$reason: $(drops "$reason")"
done
slay holder

step "the worker with the clients' port is held: what finds no buffer is missed, and counted once"
hold_worker 0
send_datagrams 24001 28000
wait_for 20 "packets to be missed" counter_is_between port_0_rx_missed 1000 4000 ||
	fail "missed: $(counter port_0_rx_missed)"
step "missed: $(counter port_0_rx_missed)"
slay holder

step "it goes on"
for ((i = 0; i < 20; i++)); do
	fetch >/dev/null || fail "no answer after the worker was let go"
done
arrived=$(lines_arrived) || fail "datagrams out of order: $arrived"
step "lines: $arrived"
expect_even_books
