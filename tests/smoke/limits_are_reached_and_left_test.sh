#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 150 s
# The budget of half-open connections, the flow table and the source ports are used up by real packets,
# one after the other: each is counted under its name, connections that are there go on undisturbed,
# and when the many are gone there is room again.
. "$(dirname "$0")/_init.sh"

MAX_FLOWS=1000
MAX_HALF_OPEN=64

# service NAME LISTEN MIRROR SETTINGS
service() {
	printf '{ name = "%s"; listen = [ "%s:%s" ]; ha_strategy = "random"; ha_ping_interval = "0";
		%s mirrors = ( { name = "m"; address = "%s"; } ); }' "$1" "$WORLD_VIP" "$2" "$4" "$3"
}

# flood PROTOCOL PORT NUMBER: a SYN or datagram from each of so many forged clients, and again when a
# second has gone by, until it is slain.
flood() {
	spawn flood client /usr/bin/python3 -c '
import socket, struct, sys, time
mac, vip, protocol, port, number = sys.argv[1:]
def checksum(data):
    n = sum(struct.unpack(f">{len(data) // 2}H", data))
    n = (n & 0xffff) + (n >> 16)
    return ~(n + (n >> 16)) & 0xffff
line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
line.bind(("eth0", 0))
ether = bytes.fromhex(mac.replace(":", "")) + line.getsockname()[4] + b"\x08\x00"
vip = socket.inet_aton(vip)
def frame(i):
    client = socket.inet_aton(f"198.18.{i >> 8 & 255}.{i & 255}")
    from_port = 4000 + (i >> 16)
    if protocol == "tcp":
        head = struct.pack(">HHIIHHHH", from_port, int(port), 1, 0, 0x5002, 65535, 0, 0)
        pseudo = client + vip + struct.pack(">HH", 6, len(head))
        head = head[:16] + struct.pack(">H", checksum(pseudo + head)) + head[18:]
    else:  # the sum 0 says that there is none
        head = struct.pack(">HHHH", from_port, int(port), 12, 0) + b"line"
    ip = struct.pack(">HHHHBBH", 0x4500, 20 + len(head), 0, 0, 64, 6 if protocol == "tcp" else 17, 0) + client + vip
    return ether + ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:] + head
frames = [frame(i) for i in range(int(number))]
while True:
    for i, f in enumerate(frames):
        line.send(f)
        if i % 100 == 99:
            time.sleep(0.001)
    print("sent", flush=True)
    time.sleep(1)
' "$(in_ns lb cat /sys/class/net/eth0/address)" "$WORLD_VIP" "$@"
}

# expect_drops REASON NUMBER: at least, by SHOW STATUS' and SHOW DROPS' count and by the metric.
expect_drops() {
	wait_for 30 "$2 packets under $1" drops_are_at_least "drop_$1" "$2" || fail "$(ctl -e 'SHOW DROPS')"
	expect_between "dropped packets in SHOW STATUS" "$(counter dropped)" "$2" 100000000
	expect_between "the metric of $1" "$(metric lb karmalb_worker_drops_total "reason=\"$1\"")" "$2" 100000000
	step "$1: $(drops "drop_$1") packets dropped; flows: $(counter flows), half-open: $(counter half_open)"
}

# expect_undisturbed: kept connections are answered meanwhile.
expect_undisturbed() {
	local requests
	requests=$(load_value 'r["requests"]')
	wait_for 10 "answers over kept connections" load_requests_more_than $((requests + 100)) || fail "they stall"
	expect_equal "failed requests of kept connections" "$(load_failed)" 0
}

# expect_room REASON: new connections are answered, and none is dropped for it any more.
expect_room() {
	local before i
	before=$(drops "drop_$1")
	for ((i = 0; i < 20; i++)); do
		fetch >/dev/null || fail "no answer to a new connection"
	done
	expect_equal "packets dropped for $1 by then" "$(drops "drop_$1")" "$before"
}

# keep_connections: as many as may be lost, none of them to be.
keep_connections() {
	load_start --clients 8 --rate 100 --keep-alive --timeout-ms 10000
	load_is_flowing
}

# start_with SOURCES DATAPLANE_LINES
start_with() {
	configure "
		$(service web 80/tcp 10.99.0.101 'agent_connect_timeout = "20s";'),
		$(service mute 81/tcp 10.99.0.102 'agent_connect_timeout = "2s";'),
		$(service log 514/udp 10.99.0.101 'udp_answers = false; udp_idle_timeout = "10s";')
	" "\"$1\"" "$2"
	sed -i 's/max_flows = 65536; //' "$WORLD_DIR/karmalb.conf"
	balancer_start || fail "the balancer did not start"
	keep_connections
}

make_world 2
scripted_start m1 sink 514
# What m2 sends to our sources goes nowhere.
in_ns m2 ip route add blackhole "$WORLD_SOURCES"

step "half-open connections: $MAX_HALF_OPEN may be there"
start_with "$WORLD_SOURCES" "max_flows = $MAX_FLOWS; max_half_open = $MAX_HALF_OPEN;"
flood tcp 81 300
expect_drops half_open_full 200
expect_between "half-open connections" "$(counter half_open)" 1 $MAX_HALF_OPEN
expect_undisturbed
slay flood
wait_for 20 "none to be half-open" counter_is_between half_open 0 0 || fail "half-open: $(counter half_open)"
expect_room half_open_full
expect_equal "packets that found the flow table full" "$(drops drop_flow_table_full)" 0

step "connections: $MAX_FLOWS may be there"
spawn crowd client /usr/bin/python3 -c '
import socket, sys, time
held = []
try:
    while True:
        held.append(socket.create_connection((sys.argv[1], 80), 3))
except TimeoutError:
    print("held", len(held), flush=True)
while True:
    time.sleep(60)
' "$WORLD_VIP"
wait_for 30 "one to find no room" grep -q held "$WORLD_DIR/log/crowd" || fail "$(cat "$WORLD_DIR/log/crowd")"
step "$(cat "$WORLD_DIR/log/crowd")"
if fetch --max-time 2 2>/dev/null; then fail "who answers?"; fi
expect_drops flow_table_full 3
expect_between "flows" "$(counter flows)" $((MAX_FLOWS - 20)) $MAX_FLOWS
expect_undisturbed
slay crowd
wait_for 20 "the crowd to be gone" counter_is_between flows 0 $((MAX_FLOWS / 2)) || fail "flows: $(counter flows)"
expect_room flow_table_full
load_stop
expect_equal "failed requests of kept connections" "$(load_failed)" 0
finish controlplane
finish dataplane

step "ports of a single source address towards one mirror"
start_with 10.99.0.240 "max_flows = 131072; max_half_open = 131072;"
flood udp 514 66000
expect_drops no_source_port 100
expect_between "flows" "$(counter flows)" 60000 64600
expect_undisturbed
step "towards another mirror's port there are enough"
expect_room flow_table_full
slay flood
wait_for 30 "its flows to be gone" counter_is_between flows 0 100 || fail "flows: $(counter flows)"
n_lines=$(scripted_requests m1 sink)
before=$(drops drop_no_source_port)
asked send "$WORLD_VIP" 514 20 1
lines_arrived() {
	[ "$(scripted_requests m1 sink)" -ge $((n_lines + 20)) ]
}
wait_for 20 "20 datagrams to arrive" lines_arrived || fail "$(ctl -e 'SHOW DROPS')"
expect_equal "packets that found no source port by then" "$(drops drop_no_source_port)" "$before"
load_stop
expect_equal "failed requests of kept connections" "$(load_failed)" 0
