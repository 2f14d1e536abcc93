#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: _tls.py ADDRESS PORT VERSION PATH CONNECTIONS REQUESTS MODE

So many TLS connections, one after the other, with so many requests each, whose certificate is not
looked at.  Prints as JSON how often each HTTP status came, and as "flights" how often the server
answered something that the client had sent, handshakes included and farewells not: what can be seen
from outside.

VERSION  1.2 or 1.3
MODE     how a connection ends: "silent": the client closes; "farewell": it says so in TLS and closes;
         "waiting": it says so and waits until the server has closed, too; "server": the server closes
         first, because it was asked to, and the client says farewell to nobody
"""

import collections
import json
import socket
import ssl
import sys

LIMIT_S = 60
counts = collections.Counter()


class Line:
    """TLS over a socket whose every sending and receiving is seen."""

    def __init__(self, address, port, version):
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.minimum_version = context.maximum_version = version
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self.incoming, self.outgoing)
        self.socket = socket.create_connection((address, port), LIMIT_S)
        self.is_asked = False

    def send(self, is_question=True):
        data = self.outgoing.read()
        if data:
            self.socket.sendall(data)
            self.is_asked = is_question

    def receive(self):
        """False: the server has closed."""
        data = self.socket.recv(65536)
        if not data:
            return False
        counts["flights"] += self.is_asked
        self.is_asked = False
        self.incoming.write(data)
        return True

    def shake_hands(self):
        # What TLS 1.3's client says last goes with its first request.
        while True:
            try:
                return self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self.send()
                assert self.receive(), "closed during the handshake"

    def read(self):
        while True:
            try:
                return self.tls.read(65536)
            except ssl.SSLWantReadError:
                assert self.receive(), "closed before the answer"

    def ask(self, path, is_last):
        end = "Connection: close\r\n" if is_last else ""
        self.tls.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n{end}\r\n".encode())
        self.send()
        answer = b""
        while b"\r\n\r\n" not in answer:
            answer += self.read()
        head, body = answer.split(b"\r\n\r\n", 1)
        size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        while len(body) < size:
            body += self.read()
        counts[head.split()[1].decode()] += 1

    def say_farewell(self):
        try:
            self.tls.unwrap()
        except ssl.SSLError:
            pass
        try:
            self.send(False)
        except OSError:
            pass  # the server is gone

    def wait_for_end(self):
        while self.receive():
            pass

    def end(self, mode):
        if mode == "server":
            self.wait_for_end()
        if mode != "silent":
            self.say_farewell()
        if mode == "waiting":
            self.wait_for_end()
        self.socket.close()


def main(argv):
    if len(argv) != 8:
        sys.exit(__doc__)
    address, port, version, path, n_connections, n_requests, mode = argv[1:]
    version = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}[version]
    for _ in range(int(n_connections)):
        line = Line(address, int(port), version)
        line.shake_hands()
        for i in range(int(n_requests)):
            line.ask(path, mode == "server" and i + 1 == int(n_requests))
        line.end(mode)
    print(json.dumps(counts))


if __name__ == "__main__":
    main(sys.argv)
