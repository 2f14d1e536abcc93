#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: pcap_files.py write FILE      prints how many packets are ours, others', ours from clients
       pcap_files.py judge FILE PORTS_MAC

The packets of pcap_files_test.sh: conversations over TCP and UDP, IPv4 and IPv6, both sides of them in
one file, and packets that are nobody's.  'judge' builds each expected packet anew with scapy, which
computes the checksums from the bytes, and compares whole frames, in order.  The balancer's source
port is known beforehand: with one source of each IP version and one mirror it is the first one.
"""

import sys

from scapy.all import (
    ARP, ICMP, IP, TCP, UDP, Ether, IPv6, Raw, rdpcap, wrpcap,
)

CLIENT_MAC, VIP_MAC, MIRROR4_MAC, MIRROR6_MAC = (
    "02:00:00:00:00:c1", "02:00:00:00:00:99", "02:00:00:00:00:0b", "02:00:00:00:00:0c")
FIRST_PORT = 1024


class Side:
    """Addresses of one IP version."""

    def __init__(self, ip, client, vip, source, mirror, mirror_mac):
        self.ip, self.client, self.vip = ip, client, vip
        self.source, self.mirror, self.mirror_mac = source, mirror, mirror_mac

    def packet(self, macs, ends, hops, upper):
        hop_limit = {"ttl": hops} if self.ip is IP else {"hlim": hops}
        return Ether(src=macs[0], dst=macs[1]) / self.ip(src=ends[0], dst=ends[1], **hop_limit) / upper


V4 = Side(IP, "10.9.0.7", "10.7.0.10", "10.8.0.1", "10.7.0.11", MIRROR4_MAC)
V6 = Side(IPv6, "2001:db8:9::7", "2001:db8:7::10", "2001:db8:8::1", "2001:db8:7::11", MIRROR6_MAC)


def upper(kind, sport, dport, flags, seq, ack, payload):
    header = UDP(sport=sport, dport=dport) if kind is UDP else TCP(
        sport=sport, dport=dport, flags=flags, seq=seq, ack=ack, window=4000)
    return header / Raw(payload) if payload else header


class Talk:
    """A conversation: what each side sends, and what is to come out of it at the port's MAC."""

    def __init__(self, side, kind, port, service_port):
        self.side, self.kind, self.port, self.service_port = side, kind, port, service_port
        self.steps = []

    def client(self, flags="", seq=0, ack=0, payload=b""):
        self.steps.append((True, (self.kind, flags, seq, ack, payload)))
        return self

    def mirror(self, flags="", seq=0, ack=0, payload=b""):
        self.steps.append((False, (self.kind, flags, seq, ack, payload)))
        return self

    def build(self, is_input, port_mac):
        s = self.side
        for is_client, (kind, flags, seq, ack, payload) in self.steps:
            near = is_client == is_input  # on the client's side of the balancer
            ports = (self.port if near else FIRST_PORT, self.service_port)
            if not is_client:
                ports = ports[::-1]
            if near:
                ends, macs = (s.client, s.vip), (CLIENT_MAC, VIP_MAC if is_input else port_mac)
            else:
                ends, macs = (s.source, s.mirror), (port_mac if not is_input else VIP_MAC, s.mirror_mac)
            if not is_client:
                ends = ends[::-1]
            if is_input:
                macs = (CLIENT_MAC, VIP_MAC) if is_client else (s.mirror_mac, VIP_MAC)
            else:
                macs = (port_mac, s.mirror_mac) if is_client else (port_mac, CLIENT_MAC)
            yield s.packet(macs, ends, 64 if is_input else 63,
                           upper(kind, *ports, flags, seq, ack, payload))


def talks():
    query, answer = b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
    q, a = len(query), len(answer)
    for side, port in ((V4, 40001), (V6, 40002)):
        yield (Talk(side, TCP, port, 80).client("S", 1000)
               .mirror("SA", 5000, 1001).client("A", 1001, 5001)
               .client("PA", 1001, 5001, query).mirror("PA", 5001, 1001 + q, answer)
               .client("FA", 1001 + q, 5001 + a).mirror("FA", 5001 + a, 1002 + q)
               .client("A", 1002 + q, 5002 + a))
    for side, port in ((V4, 40003), (V6, 40004)):
        yield (Talk(side, UDP, port, 53).client(payload=b"question")
               .mirror(payload=b"the answer to it").client(payload=b"?" * 1400))


def strangers():
    """Dropped by name, in this order: see pcap_files_test.sh."""
    ether = Ether(src=CLIENT_MAC, dst=VIP_MAC)
    yield Ether(src=CLIENT_MAC, dst="ff:ff:ff:ff:ff:ff") / ARP(pdst=V4.vip, psrc=V4.client)
    yield ether / IP(src=V4.client, dst=V4.vip) / ICMP()
    yield ether / IP(src=V4.client, dst=V4.vip) / TCP(sport=1, dport=81, flags="S")
    yield ether / IP(src=V4.client, dst="10.7.0.77") / UDP(sport=1, dport=53) / b"not for us"
    yield ether / IP(src=V4.mirror, dst=V4.source) / TCP(sport=80, dport=9, flags="A")
    yield ether / IP(src=V4.client, dst=V4.vip, ttl=1) / TCP(sport=5, dport=80, flags="S")
    # Of the first UDP conversation, but more than the way to the mirror takes.
    yield ether / IP(src=V4.client, dst=V4.vip) / UDP(sport=40003, dport=53) / (b"!" * 1480)


def write(path):
    packets = [p for t in talks() for p in t.build(True, None)]
    wrpcap(path, packets + list(strangers()))
    n_from_clients = sum(is_client for t in talks() for is_client, _ in t.steps)
    print(len(packets), len(list(strangers())), n_from_clients)


def judge(path, port_mac):
    expected = [p for t in talks() for p in t.build(False, port_mac)]
    got = rdpcap(path)
    for number, (is_, should) in enumerate(zip(got, expected), 1):
        if bytes(is_) != bytes(should):
            sys.exit(f"packet {number} of {path}:\n{is_.show(dump=True)}\nexpected\n"
                     f"{Ether(bytes(should)).show(dump=True)}")
    if len(got) != len(expected):
        sys.exit(f"{path} has {len(got)} packets, expected {len(expected)}")


def main(argv):
    if argv[1:2] == ["write"] and len(argv) == 3:
        write(argv[2])
    elif argv[1:2] == ["judge"] and len(argv) == 4:
        judge(argv[2], argv[3])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv)
