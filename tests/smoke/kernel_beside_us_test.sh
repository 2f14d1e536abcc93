#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# On the interface that DPDK uses, the kernel goes on answering what is not ours: ARP, ping, and TCP
# on its own address; and what is ours never reaches it.
. "$(dirname "$0")/_init.sh"

start_world 2 'ha_strategy = "random";'
load_start --clients 8 --rate 200
load_is_flowing

step "ARP for the VIP and a source address is answered by the kernel"
mac=$(in_ns lb cat /sys/class/net/eth0/address)
for address in $WORLD_VIP 10.99.0.1 10.99.0.241; do
	in_ns client ip neigh flush all
	in_ns client ping -c 1 -W 20 "$address" >/dev/null || true
	expect_match "neighbour $address" "$(in_ns client ip neigh show "$address")" "$mac"
done

step "ping"
for address in $WORLD_VIP 10.99.0.1; do
	in_ns client ping -q -c 20 -i 0.01 -W 20 "$address" | tee "$WORLD_DIR/ping"
	expect_match "ping $address" "$(cat "$WORLD_DIR/ping")" '20 received'
done

step "a TCP server of the host on the same interface, like sshd"
spawn sshd lb /usr/bin/python3 -c '
import socket
server = socket.create_server(("10.99.0.1", 22))
while True:
    line, _ = server.accept()
    line.sendall(b"SSH-2.0-like\r\n")
    while data := line.recv(65536):
        line.sendall(data)
    line.close()
'
in_ns client /usr/bin/python3 - <<'END' || fail "TCP to the host's own address does not work"
import os, socket, threading, time
for attempt in range(50):
    try:
        line = socket.create_connection(("10.99.0.1", 22), 30)
        break
    except ConnectionRefusedError:
        time.sleep(0.1)
assert line.recv(14) == b"SSH-2.0-like\r\n"
sent = os.urandom(2_000_000)
threading.Thread(target=line.sendall, args=(sent,), daemon=True).start()
got = b""
while len(got) < len(sent):
    got += line.recv(65536)
assert got == sent
END

step "a port of the VIP that has no service is the kernel's: refused at once"
said=$(in_ns client timeout 30 bash -c "exec 3<>/dev/tcp/$WORLD_VIP/81" 2>&1 || true)
expect_match "port 81" "$said" 'refused'

load_stop
expect_equal "failed requests" "$(load_failed)" 0
