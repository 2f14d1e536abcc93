#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# A client that uses the same port again at once, the mirror having closed first, is served at once:
# no second of silence until a SYN is repeated.
. "$(dirname "$0")/_init.sh"

start_world 2 'ha_strategy = "random"; ha_ping_interval = "0";'
in_ns client /usr/bin/python3 - "$WORLD_VIP" <<'END' || fail "see above"
import errno, socket, sys, time
REQUEST = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
def connection():
    while True:
        s = socket.socket()
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("", 40000))
        s.settimeout(30)
        try:
            s.connect((sys.argv[1], 80))
            return s
        except OSError as error:
            # The acknowledgement of our own FIN is still under way.
            assert error.errno == errno.EADDRNOTAVAIL, error
            s.close()
            time.sleep(0.0005)
longest = 0
slow = 0
for i in range(200):
    began = time.monotonic()
    s = connection()
    s.sendall(REQUEST)
    got = b""
    while part := s.recv(65536):  # until the mirror has closed
        got += part
    s.close()
    took = time.monotonic() - began
    longest = max(longest, took)
    assert got.startswith(b"HTTP/1.1 200") and got.endswith(b"0\r\n\r\n"), (i, got)
    slow += took > 0.5
# Each one would be slow, while a busy machine delays a few.
assert slow <= 10, f"{slow} of 200 connections from one port took more than 0.5 s"
print(f"200 connections from one port, the longest took {1000 * longest:.1f} ms")
END
wait_for 2 "150 to 200 flows replaced" counter_is_between flows_replaced 150 200 ||
	fail "flows replaced: $(counter flows_replaced)"
