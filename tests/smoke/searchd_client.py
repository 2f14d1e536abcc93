#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: searchd_client.py api|sql HOST PORT N [TEXT]

Asks searchd N times for all documents of index 'rt' that match TEXT, each time over a new
connection, by SphinxAPI or by MySQL's protocol, and prints as JSON how many answers came from
each node (attribute 'node' of the documents), how many were wrong and how many failed:

  {"answers": {"m1": 40, "m2": 38}, "wrong": 0, "failed": {"unknown local index": 2}}

A right answer holds documents 1 to 3, all of one node.  A query is given 5 s.
"""

import json
import socket
import struct
import sys

TIMEOUT_S = 5
RIGHT_IDS = [1, 2, 3]


class Failed(Exception):
    pass


class Stream:
    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port), TIMEOUT_S)

    def send(self, data):
        self.socket.sendall(data)

    def read(self, n):
        data = b""
        while len(data) < n:
            more = self.socket.recv(n - len(data))
            if not more:
                raise Failed("closed")
            data += more
        return data

    def close(self):
        self.socket.close()


# ---- SphinxAPI, big endian ----

SEARCH, SEARCH_VERSION = 0, 0x119
EXTENDED2 = 6


def text(value):
    return struct.pack(">I", len(value)) + value.encode()


def search_request(words):
    body = struct.pack(">IIIII", 0, 20, EXTENDED2, 0, 0)  # offset, limit, mode, ranker, sort
    body += text("") + text(words) + struct.pack(">I", 0) + text("rt")  # sort by, query, weights
    body += struct.pack(">IQQI", 1, 0, 0, 0)  # 64-bit range of ids, filters
    body += struct.pack(">I", 0) + text("") + struct.pack(">I", 1000) + text("@group desc")
    body += struct.pack(">III", 0, 0, 0) + text("")  # cutoff, retries, delay, distinct
    body += struct.pack(">IIII", 0, 0, 0, 0)  # anchor, index weights, time limit, field weights
    body += text("") + struct.pack(">I", 0) + text("*")  # comment, overrides, select list
    body = struct.pack(">II", 0, 1) + body  # not a master's, one query
    return struct.pack(">HHI", SEARCH, SEARCH_VERSION, len(body)) + body


class Reply:
    def __init__(self, data):
        self.data = data
        self.at = 0

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values[0]

    def text(self):
        n = self.take("I")
        self.at += n
        return self.data[self.at - n:self.at].decode()


def read_matches(reply):
    for _ in range(reply.take("I")):  # fields
        reply.text()
    attributes = []
    for _ in range(reply.take("I")):
        name = reply.text()
        attributes.append((name, reply.take("I")))
    n_matches, is_64 = reply.take("I"), reply.take("I")
    rows = []
    for _ in range(n_matches):
        row = {"id": reply.take("Q" if is_64 else "I")}
        reply.take("I")  # weight
        for name, kind in attributes:
            row[name] = reply.text() if kind == 7 else reply.take("I")
        rows.append(row)
    return rows


def ask_api(stream, words):
    if struct.unpack(">I", stream.read(4))[0] < 1:
        raise Failed("greeting")
    stream.send(struct.pack(">I", 1))
    stream.send(search_request(words))
    status, _, size = struct.unpack(">HHI", stream.read(8))
    reply = Reply(stream.read(size))
    if status not in (0, 3):
        raise Failed(f"status {status}: {reply.text()}")
    if status == 3:
        reply.text()
    status = reply.take("I")
    if status not in (0, 3):
        raise Failed(f"query status {status}: {reply.text()}")
    if status == 3:
        reply.text()
    return [(row["id"], row["node"]) for row in read_matches(reply)]


# ---- MySQL's protocol ----

LOGIN = struct.pack("<IIB23x", 0x8201, 1 << 24, 33) + b"client\0\0"


def packet(stream):
    head = stream.read(4)
    return stream.read(head[0] | head[1] << 8 | head[2] << 16)


def say(stream, number, payload):
    stream.send(struct.pack("<I", len(payload))[:3] + bytes([number]) + payload)


def check(payload):
    if payload[0] == 0xff:
        raise Failed(payload[9:].decode())
    return payload


def ask_sql(stream, words):
    check(packet(stream))
    say(stream, 1, LOGIN)
    check(packet(stream))
    say(stream, 0, b"\x03" + f"SELECT id, node FROM rt WHERE MATCH('{words}')".encode())
    n_columns = check(packet(stream))[0]
    for _ in range(n_columns + 1):  # and their end
        packet(stream)
    rows = []
    while (row := check(packet(stream)))[0] != 0xfe:
        values = []
        while row:
            values.append(row[1:1 + row[0]].decode())
            row = row[1 + row[0]:]
        rows.append((int(values[0]), values[1]))
    say(stream, 0, b"\x01")
    return rows


def main():
    how, host, port, n = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    words = sys.argv[5] if len(sys.argv) > 5 else "same"
    ask = {"api": ask_api, "sql": ask_sql}[how]
    answers, failed, wrong = {}, {}, 0
    for _ in range(n):
        try:
            stream = Stream(host, port)
            try:
                rows = ask(stream, words)
            finally:
                stream.close()
            nodes = {node for _, node in rows}
            if sorted(i for i, _ in rows) == RIGHT_IDS and len(nodes) == 1:
                node = nodes.pop()
                answers[node] = answers.get(node, 0) + 1
            else:
                wrong += 1
        except (OSError, Failed) as why:
            failed[str(why)] = failed.get(str(why), 0) + 1
    print(json.dumps({"answers": answers, "wrong": wrong, "failed": failed}))


if __name__ == "__main__":
    main()
