#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: _ask.py udp ADDRESS PORT CLIENTS QUERIES [dstopts]
       _ask.py send ADDRESS PORT CLIENTS DATAGRAMS
       _ask.py http ADDRESS PORT PATH REQUESTS
       _ask.py sphinxapi ADDRESS PORT STATUS QUERIES

Asks one question after the other and prints as JSON how often each answer came: names of mirrors,
statuses of HTTP or searchd; "refused", "unreachable", "reset", "closed", "timeout".

udp   so many clients, each a socket of its own, ask so many queries each; dstopts: behind an
      IPv6 header of destination options
send  the same without waiting for answers
"""

import collections
import contextlib
import errno
import json
import socket
import struct
import sys

kind, address, port = sys.argv[1:4]
rest = sys.argv[4:]
LIMIT_S = 14 if "/hang" in rest else 40  # none of these worlds is so slow
counts = collections.Counter()
FAMILY = socket.AF_INET6 if ":" in address else socket.AF_INET


def called(error):
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    if isinstance(error, ConnectionResetError):
        return "reset"
    if error.errno in (errno.EHOSTUNREACH, errno.ENETUNREACH):
        return "unreachable"
    raise error


def ask_datagrams(n_clients, n_queries, with_options):
    # All stay open, else two clients would have the same port, and one flow, now and then.
    with contextlib.ExitStack() as stack:
        for i in range(n_clients):
            s = stack.enter_context(socket.socket(FAMILY, socket.SOCK_DGRAM))
            s.settimeout(LIMIT_S)
            if with_options:
                # Next header and size are the kernel's; then 6 bytes of padding.
                s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_DSTOPTS, b"\0\0\1\4\0\0\0\0")
            s.connect((address, int(port)))
            for k in range(n_queries):
                ask_datagram(s, f"{i} {k}".encode())


def ask_datagram(s, query):
    try:
        s.send(query)
        if kind == "send":
            counts["sent"] += 1
            return
        name, answer = s.recv(65536).split(b" ", 1)
        assert answer == query, (answer, query)
        counts[name.decode()] += 1
    except OSError as error:
        counts[called(error)] += 1


def connect():
    s = socket.create_connection((address, int(port)), LIMIT_S)
    s.settimeout(LIMIT_S)
    return s


def ask_http(path, n):
    for _ in range(n):
        try:
            with connect() as s:
                s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
                answer = b""
                while more := s.recv(65536):
                    answer += more
                counts[answer.split()[1].decode() if answer else "closed"] += 1
        except OSError as error:
            counts[called(error)] += 1


def receive(s, size):
    data = b""
    while len(data) < size:
        more = s.recv(size - len(data))
        assert more, "closed"
        data += more
    return data


def ask_sphinxapi(status, n):
    """As the PHP and Python clients of searchd do: our version, theirs, then the command."""
    with connect() as s:
        s.sendall(b"\0\0\0\1")
        assert receive(s, 4) == b"\0\0\0\1"
        for _ in range(n):
            s.sendall(struct.pack(">HHI", status, 0x119, 4) + b"data")
            answer = struct.unpack(">HHI", receive(s, 8))
            assert receive(s, answer[2]) == b"data"
            counts[str(answer[0])] += 1


if kind in ("udp", "send"):
    ask_datagrams(int(rest[0]), int(rest[1]), "dstopts" in rest)
elif kind == "http":
    ask_http(rest[0], int(rest[1]))
else:
    ask_sphinxapi(int(rest[0]), int(rest[1]))
print(json.dumps(counts))
