#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: _mirror.py udp|sink|http|sphinxapi NAME LOG PORT...

A mirror that does what it is told, on IPv4 and IPv6; LOG gets one line per request.

udp        answers each datagram with its own name
sink       takes datagrams and never answers
http       one request a connection, by its path: /ok and /STATUS answer; /close, /reset and /hang do that instead
sphinxapi  searchd's handshake, then answers each command with the status that the command's number says
"""

import select
import socket
import struct
import sys
import threading

kind, name, log_path = sys.argv[1:4]
ports = [int(p) for p in sys.argv[4:]]
log_file = open(log_path, "a", buffering=1)
log_lock = threading.Lock()


def log(line):
    with log_lock:
        log_file.write(line + "\n")


def bound(port, socket_type):
    s = socket.socket(socket.AF_INET6, socket_type)
    s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(("::", port))
    return s


def serve_datagrams():
    sockets = [bound(p, socket.SOCK_DGRAM) for p in ports]
    while True:
        for s in select.select(sockets, [], [])[0]:
            data, sender = s.recvfrom(65536)
            log(f"{sender[0]} {data[:60]!r}")
            if kind == "udp":
                s.sendto(name.encode() + b" " + data, sender)


def receive(line, size):
    data = b""
    while len(data) < size:
        more = line.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def wait_for_end(line):
    while line.recv(65536):
        pass


def http(line):
    head = b""
    while b"\r\n\r\n" not in head:
        more = line.recv(65536)
        if not more:
            return
        head += more
    path = head.split()[1].decode()
    log(path)
    if path == "/hang":
        wait_for_end(line)
    elif path == "/reset":
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    elif path != "/close":
        status = "200 OK" if path == "/ok" else path[1:] + " x"
        body = name + "\n"
        line.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        line.shutdown(socket.SHUT_WR)
        wait_for_end(line)


def sphinxapi(line):
    line.sendall(b"\0\0\0\1")
    receive(line, 4)
    while True:
        command, version, size = struct.unpack(">HHI", receive(line, 8))
        log(f"status {command}")
        body = receive(line, size)
        line.sendall(struct.pack(">HHI", command, version, len(body)) + body)


def serve(line):
    with line:
        try:
            {"http": http, "sphinxapi": sphinxapi}[kind](line)
        except (EOFError, OSError):
            pass


def serve_connections():
    sockets = [bound(p, socket.SOCK_STREAM) for p in ports]
    for s in sockets:
        s.listen(512)
    while True:
        for s in select.select(sockets, [], [])[0]:
            threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()


if kind in ("udp", "sink"):
    serve_datagrams()
else:
    serve_connections()
