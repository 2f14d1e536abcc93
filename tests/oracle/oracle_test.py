#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: oracle_test.py PIPELINE_DRIVER [UNITTEST-ARGUMENT...]

Packets in all modes go through the pipeline; scapy builds them and says what is to come out: it
takes each packet sent apart, builds it anew with checksums of its own, and compares.  SEED=n in the
environment repeats a run.
"""

import json
import os
import random
import subprocess
import sys
import unittest
from collections import Counter

from scapy.layers.inet import (ICMP, IP, TCP, UDP, ICMPerror, IPerror, IPOption_NOP, IPOption_RR,
                               TCPerror, UDPerror)
from scapy.layers.inet6 import (ICMPv6DestUnreach, ICMPv6PacketTooBig, ICMPv6TimeExceeded, IPv6,
                                IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
                                IPv6ExtHdrRouting)
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.packet import Raw

CLIENT_MAC = "02:00:00:00:09:07"
FRONT, BACK = 0, 1


class Family:
    """Addresses of one IP version, as modes.h has them."""

    def __init__(self, ip, client, router, vip, mirrors, source):
        self.ip, self.client, self.router = ip, client, router
        self.vip, self.mirrors, self.source = vip, mirrors, source


V4 = Family(IP, "192.168.0.9", "172.16.5.5", "10.0.0.1", ("10.1.0.1", "10.1.0.2"), "10.2.0.1")
V6 = Family(IPv6, "2001:db8:9::9", "2001:db8:5::5", "2001:db8::1",
            ("2001:db8:1::1", "2001:db8:1::2"), "2001:db8:2::1")
PORTS = {TCP: (80, 8080), UDP: (53, 5353)}


class Driver:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError(f"the pipeline died of: {line}")
        return answer.strip()

    def send(self, port, packet):
        """The port and packet sent, or None and the name of the drop."""
        answer = self.ask(f"packet {port} {bytes(packet).hex()}").split()
        if answer[0] == "drop":
            return None, " ".join(answer[1:])
        return int(answer[1]), Ether(bytes.fromhex(answer[2]))

    def counts(self):
        return json.loads(self.ask("counts"))

    def end(self):
        self.process.stdin.close()
        status = self.process.wait(10)
        self.process.stdout.close()
        if status != 0:
            raise AssertionError(f"the pipeline ended with status {status}")


def rebuilt(packet):
    """The packet with all checksums and lengths made anew by scapy, embedded packets left."""
    copy = Ether(bytes(packet))
    layer = copy
    while layer and not isinstance(layer, (IPerror, Raw)):
        for field in ("chksum", "cksum", "len", "plen", "ihl", "dataofs"):
            is_none = field == "chksum" and isinstance(layer, UDP) and layer.chksum == 0
            if field in layer.fields and not (is_none and IP in copy):
                delattr(layer, field)  # not from layer.fields: what was read would be kept
        layer = layer.payload
    return bytes(copy)


def outcomes(counts, name):
    return sum(slot[name] for slot in counts["slots"])


class Talk:
    """A flow between a client and its mirror."""

    def __init__(self, driver, family, l4, sport=40000, tags=()):
        self.driver, self.family, self.l4, self.sport, self.tags = driver, family, l4, sport, tags
        self.vport, self.mport = PORTS[l4]
        self.mirror = self.source_port = None

    def segment(self, sport, dport, payload, fields):
        if self.l4 is UDP:
            fields = {k: v for k, v in fields.items() if k == "chksum"}
        return self.l4(sport=sport, dport=dport, **fields) / Raw(payload)

    def from_client(self, payload=b"", options=None, **fields):
        packet = Ether(src=CLIENT_MAC, dst="02:00:00:00:00:00")
        for tag in self.tags:
            packet /= tag
        packet /= self.family.ip(src=self.family.client, dst=self.family.vip)
        if options is not None:
            packet /= options
        return packet / self.segment(self.sport, self.vport, payload, fields)

    def client(self, payload=b"", options=None, **fields):
        sent = self.from_client(payload, options, **fields)
        port, out = self.driver.send(FRONT, sent)
        if port is not None and self.mirror is None:
            self.mirror = out[self.family.ip].dst
            self.source_port = out[self.l4].sport
        return port, out

    def from_mirror(self, payload=b"", **fields):
        return (Ether(src="06:00:00:00:00:00", dst="02:00:00:00:00:01")
                / self.family.ip(src=self.mirror, dst=self.family.source)
                / self.segment(self.mport, self.source_port, payload, fields))

    def mirror_sends(self, payload=b"", **fields):
        return self.driver.send(BACK, self.from_mirror(payload, **fields))

    def connect(self):
        self.client(flags="S", seq=999)
        self.mirror_sends(flags="SA", seq=4999, ack=1000)
        return self.client(flags="A", seq=1000, ack=5000)

    def start(self):
        """Opens the flow: a handshake, or a request."""
        return self.connect() if self.l4 is TCP else self.client(b"request")


class PipelineTest(unittest.TestCase):
    program = None
    seed = 0

    def setUp(self):
        self.driver = Driver(self.program)
        self.addCleanup(self.driver.end)

    def talks(self):
        for family in (V4, V6):
            for l4 in (TCP, UDP):
                with self.subTest(ip=family.ip.__name__, l4=l4.__name__):
                    yield Talk(self.driver, family, l4)

    def assert_right(self, packet):
        self.assertEqual(bytes(packet).hex(), rebuilt(packet).hex())

    def assert_ends(self, packet, talk, to_mirror):
        """Who the packet is from and to, on either side of us."""
        ip, l4 = packet[talk.family.ip], packet[talk.l4]
        is_from = (ip.src, l4.sport), (ip.dst, l4.dport)
        mirror = (talk.family.source, talk.source_port), (talk.mirror, talk.mport)
        client = (talk.family.vip, talk.vport), (talk.family.client, talk.sport)
        self.assertEqual(is_from, mirror if to_mirror else client)
        self.assertIn(talk.mirror, talk.family.mirrors)

    def test_both_directions_in_both_families_and_protocols(self):
        for talk in self.talks():
            port, out = talk.start()
            self.assertEqual(port, BACK)
            self.assert_ends(out, talk, True)
            self.assert_right(out)
            port, out = talk.mirror_sends(b"answer", flags="PA", seq=5000, ack=1000)
            self.assertEqual(port, FRONT)
            self.assertEqual(out.dst, CLIENT_MAC)
            self.assertEqual(bytes(out[talk.l4].payload), b"answer")
            self.assert_ends(out, talk, False)
            self.assert_right(out)

    def test_datagrams_are_queries(self):
        for family in (V4, V6):
            talk = Talk(self.driver, family, UDP)
            before = self.driver.counts()
            talk.client(b"one")
            self.driver.ask("pass 7000")
            talk.mirror_sends(b"1")
            talk.mirror_sends(b"1, continued")
            talk.client(b"two, never answered")
            self.driver.ask("pass 4000000")
            talk.client(b"three")
            talk.mirror_sends(b"3")
            after = self.driver.counts()
            for name, n in (("succeeded_queries", 2), ("query_timeouts", 1), ("n_waiting", 0),
                            ("opened", 1), ("closed", 0), ("connect_timeouts", 0)):
                self.assertEqual(outcomes(after, name) - outcomes(before, name), n, name)
            self.assertEqual(after["query_samples"] - before["query_samples"], 2)

    def test_silent_datagram_flow_is_forgotten(self):
        talk = Talk(self.driver, V4, UDP)
        talk.client(b"one")
        talk.mirror_sends(b"1")
        self.driver.ask("pass 61000000")
        self.assertEqual(outcomes(self.driver.counts(), "closed"), 1)
        self.assertEqual(talk.mirror_sends(b"late"), (None, "drop_no_flow"))

    def test_no_checksum_stays_none_over_ipv4_and_is_refused_over_ipv6(self):
        talk = Talk(self.driver, V4, UDP)
        _, out = talk.client(b"x", chksum=0)
        self.assertEqual(out[UDP].chksum, 0)
        _, out = talk.mirror_sends(b"y", chksum=0)
        self.assertEqual(out[UDP].chksum, 0)
        self.assertEqual(Talk(self.driver, V6, UDP).client(b"x", chksum=0),
                         (None, "drop_malformed"))

    def test_sum_that_comes_to_0_is_sent_as_ffff(self):
        for family in (V4, V6):
            talk = Talk(self.driver, family, UDP)
            _, out = talk.client(b"\0\0")
            payload = (int.from_bytes(b"\0\0", "big") + out[UDP].chksum) % 0xffff
            _, out = talk.client(payload.to_bytes(2, "big"))
            self.assertEqual(out[UDP].chksum, 0xffff)

    def test_unfinished_checksums_are_completed(self):
        self.driver.ask("partial 0")
        for family in (V4, V6):
            for l4 in (TCP, UDP):
                talk = Talk(self.driver, family, l4)
                packet = Ether(bytes(talk.from_client(b"" if l4 is TCP else b"abc", flags="S")))
                ip = packet[family.ip]
                size = len(bytes(packet[l4]))
                if family is V4:
                    pseudo = ip.src, ip.dst
                    words = b"".join(bytes(map(int, a.split("."))) for a in pseudo)
                else:
                    words = bytes(ip)[8:40]
                words += size.to_bytes(2, "big") + (6 if l4 is TCP else 17).to_bytes(2, "big")
                total = sum(int.from_bytes(words[i:i + 2], "big") for i in range(0, len(words), 2))
                while total > 0xffff:
                    total = (total & 0xffff) + (total >> 16)
                packet[l4].chksum = total
                port, out = self.driver.send(FRONT, packet)
                self.assertEqual(port, BACK)
                self.assert_right(out)
        self.assertEqual(self.driver.counts()["counters"]["checksum_completed"], 4)

    # ---- the eight outcomes ----

    HTTP, SPHINXAPI, MYSQL = 1, 2, 3

    def outcome_of(self, check, *answers, greeting=None):
        """What one exchange on a flow of its own adds to the outcomes."""
        self.driver.ask(f"check {check}")
        self.n_flows = getattr(self, "n_flows", 0) + 1
        talk = Talk(self.driver, V4, TCP, 43000 + self.n_flows)
        before = self.driver.counts()
        talk.connect()
        seq = 5000
        if greeting:
            talk.mirror_sends(greeting, flags="PA", seq=seq, ack=1000)
            seq += len(greeting)
        talk.client(b"query", flags="PA", seq=1000, ack=seq)
        for answer in answers:
            self.assertEqual(talk.mirror_sends(answer, flags="PA", seq=seq, ack=1005)[0], FRONT)
            seq += len(answer)
        after = self.driver.counts()
        names = [n for n in after["slots"][0] if n not in ("opened", "closed", "n_waiting")]
        self.assertEqual(outcomes(after, "n_waiting"), 0)
        return {n: outcomes(after, n) - outcomes(before, n) for n in names
                if outcomes(after, n) != outcomes(before, n)}

    GOOD = {"succeeded_queries": 1}
    WRONG = {"wrong_replies": 1}
    WARNED = {"succeeded_queries": 1, "warnings": 1}

    def test_http_status_of_500_and_above_is_wrong(self):
        for status, expected in ((200, self.GOOD), (404, self.GOOD), (499, self.GOOD),
                                 (500, self.WRONG), (503, self.WRONG)):
            head = f"HTTP/1.1 {status} x\r\n".encode()
            self.assertEqual(self.outcome_of(self.HTTP, head), expected, status)
            self.assertEqual(self.outcome_of(0, head), self.GOOD, "not asked for")
        self.assertEqual(self.outcome_of(self.HTTP, b"\x16\x03\x03 as TLS has it"), self.GOOD)
        self.assertEqual(self.outcome_of(self.HTTP, b"HTTP/1.1 5"), self.GOOD)
        # Only the head of an answer is one.
        self.assertEqual(self.outcome_of(self.HTTP, b"HTTP/1.1 200 OK\r\n\r\n",
                                         b"HTTP/1.1 500 in a body"), self.GOOD)

    def test_sphinxapi_status_word(self):
        for status, expected in ((0, self.GOOD), (1, self.WRONG), (2, self.WRONG),
                                 (3, self.WARNED)):
            answer = status.to_bytes(2, "big") + b"\x01\x19" + b"\0\0\0\4" + b"data"
            self.assertEqual(self.outcome_of(self.SPHINXAPI, answer), expected, status)
            self.assertEqual(self.outcome_of(self.SPHINXAPI, b"\0\0\0\1" + answer), expected)
            self.assertEqual(self.outcome_of(self.SPHINXAPI, answer, greeting=b"\0\0\0\1"),
                             expected)

    def test_mysql_packets(self):
        hello = b"\x4a\0\0\0\x0a8.0.30\0"
        ok = b"\x07\0\0\1\0\0\0\2\0\0\0"
        warned = b"\x07\0\0\1\0\1\0\2\0\1\0"
        rows = b"\x01\0\0\1\x02\x2a\0\0\2\3def"
        failed = b"\x1f\0\0\1\xff\xfd\x03#HY000disk full"
        mistaken = b"\x1f\0\0\1\xff\x28\x04#42000no such syntax"
        for answer, expected in ((ok, self.GOOD), (rows, self.GOOD), (warned, self.WARNED),
                                 (failed, self.WRONG), (mistaken, self.GOOD)):
            self.assertEqual(self.outcome_of(self.MYSQL, answer, greeting=hello), expected)
        before = self.driver.counts()["greetings"]
        self.outcome_of(self.MYSQL, ok, greeting=hello)
        self.assertEqual(self.driver.counts()["greetings"], before, "proves nothing")
        refusal = b"\x17\0\0\0\xff\x10\x04Too many connections"
        self.assertEqual(self.outcome_of(self.MYSQL, ok, greeting=refusal)["wrong_replies"], 1)

    def story_of(self, check, *steps):
        """What a connection adds to the outcomes: (client's or mirror's bytes, or microseconds)."""
        self.driver.ask(f"check {check}")
        self.n_flows = getattr(self, "n_flows", 0) + 1
        talk = Talk(self.driver, V4, TCP, 43000 + self.n_flows)
        before = self.driver.counts()
        talk.connect()
        ends = {"client": 1000, "mirror": 5000}
        for who, what in steps:
            if who == "pass":
                self.driver.ask(f"pass {what}")
            elif who == "mirror":
                talk.mirror_sends(what, flags="PA", seq=ends["mirror"], ack=ends["client"])
                ends["mirror"] += len(what)
            else:
                talk.client(what, flags="PA", seq=ends["client"], ack=ends["mirror"])
                ends["client"] += len(what)
        after = self.driver.counts()
        names = [n for n in after["slots"][0] if n not in ("opened", "closed")]
        return {n: outcomes(after, n) - outcomes(before, n) for n in names
                if outcomes(after, n) != outcomes(before, n)}

    def test_handshake_of_sphinxapi_is_no_query(self):
        version, query = b"\0\0\0\1", b"\0\0\1\x19\0\0\0\4data"
        good, bad = b"\0\0\1\x19\0\0\0\4data", b"\0\1\1\x19\0\0\0\4data"
        ours, theirs = ("client", version), ("mirror", version)
        for opening in ((ours, theirs), (theirs, ours), (theirs,), (ours,)):
            self.assertEqual(self.story_of(self.SPHINXAPI, *opening),
                             {"n_waiting": 1} if opening == (ours,) else {}, opening)
            self.driver.ask("pass 61000000")
            for answer, expected in ((good, self.GOOD), (bad, self.WRONG)):
                self.assertEqual(self.story_of(self.SPHINXAPI, *opening, ("client", query),
                                               ("mirror", answer)), expected, opening)
        # A connection held in reserve is no query that nobody answers ...
        for opening in ((ours, theirs), (theirs, ours)):
            self.assertEqual(self.story_of(self.SPHINXAPI, *opening, ("pass", 9000000)), {})
        # ... but a server that does not even greet is late.
        self.assertEqual(self.story_of(self.SPHINXAPI, ours, ("pass", 9000000)),
                         {"query_timeouts": 1})
        # Both at once, the version alone first: the answer is still due.
        together = ("client", version + query)
        self.assertEqual(self.story_of(self.SPHINXAPI, together, theirs, ("mirror", bad)),
                         self.WRONG)
        self.assertEqual(self.story_of(self.SPHINXAPI, together, theirs, ("pass", 9000000)),
                         {"query_timeouts": 1})

    def test_login_of_mysql_is_no_query(self):
        greeting = ("mirror", b"\x0c\0\0\0\x0a8.0.30\0abcd")
        login = ("client", b"\x08\0\0\1\x85\xa6\xff\1user")
        switch = ("mirror", b"\x05\0\0\2\xfeabcd")
        more = ("client", b"\x04\0\0\3pass")
        ok = b"\x07\0\0%c\0\0\0\2\0\0\0"
        denied = ("mirror", b"\x0b\0\0\2\xff\x15\x04#28000n")
        query, answer = ("client", b"\x09\0\0\0\x03SELECT 1"), ("mirror", ok % 1)
        quit_, close = ("client", b"\1\0\0\0\1"), ("client", b"\5\0\0\0\x19\1\0\0\0")
        short = (greeting, login, ("mirror", ok % 2))
        long = (greeting, login, switch, more, ("mirror", ok % 4))
        for opening in (short, long):
            self.assertEqual(self.story_of(self.MYSQL, *opening), {})
            self.assertEqual(self.story_of(self.MYSQL, *opening, query, answer), self.GOOD)
            self.assertEqual(self.story_of(self.MYSQL, *opening, query, answer, close,
                                           ("pass", 9000000), query, answer, quit_),
                             {"succeeded_queries": 2})
        self.assertEqual(self.story_of(self.MYSQL, greeting, login, denied), {})
        self.assertEqual(self.story_of(self.MYSQL, greeting, login, ("pass", 9000000)),
                         {"query_timeouts": 1})

    def test_interim_answer_of_http_is_not_counted(self):
        head, body = ("client", b"POST / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n"), ("client", b"x")
        interim = ("mirror", b"HTTP/1.1 100 Continue\r\n\r\n")
        for status, expected in ((200, self.GOOD), (503, self.WRONG)):
            answer = ("mirror", b"HTTP/1.1 %d x\r\n\r\n" % status)
            self.assertEqual(self.story_of(self.HTTP, head, interim, body, answer), expected)
            # Several at once, and one that two segments share; the next query begins anew.
            early = b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
            both = ("mirror", interim[1] + early + answer[1])
            self.assertEqual(self.story_of(self.HTTP, head, both), expected)
            for cut in range(1, len(early)):
                parts = ("mirror", interim[1] + early[:cut]), ("mirror", early[cut:] + answer[1])
                wanted = expected if cut >= 12 else self.GOOD  # so little tells nothing
                self.assertEqual(self.story_of(self.HTTP, head, *parts), wanted, cut)
            parts = ("mirror", early[:30]), ("mirror", early[30:]), answer
            self.assertEqual(self.story_of(self.HTTP, head, *parts, body, answer),
                             {n: 2 * v for n, v in expected.items()})

    def test_client_goes_on_with_whichever_syn_ack_it_has(self):
        for n, (family, chosen) in enumerate((f, c) for f in (V4, V6) for c in (5000, 900000)):
            talk = Talk(self.driver, family, TCP, 44000 + n)
            before = self.driver.counts()
            talk.client(flags="S", seq=999)
            for seq in (5000, 900000):
                port, out = talk.mirror_sends(flags="SA", seq=seq - 1, ack=1000)
                self.assertEqual(port, FRONT)
                self.assert_right(out)
            self.assertEqual(talk.client(flags="A", seq=1000, ack=chosen)[0], BACK)
            talk.client(b"query", flags="PA", seq=1000, ack=chosen)
            talk.mirror_sends(b"answer", flags="PA", seq=chosen, ack=1005)
            after = self.driver.counts()
            self.assertEqual(after["connect_samples"] - before["connect_samples"], 1)
            self.assertEqual(outcomes(after, "succeeded_queries")
                             - outcomes(before, "succeeded_queries"), 1)

    def test_each_failure_has_its_name(self):
        def flow():
            self.n_flows = getattr(self, "n_flows", 0) + 1
            return Talk(self.driver, V6, TCP, 43000 + self.n_flows)

        def asked():
            talk = flow()
            talk.connect()
            talk.client(b"query", flags="PA", seq=1000, ack=5000)
            return talk

        def connect_timeout():
            flow().client(flags="S", seq=999)
            self.driver.ask("pass 1100000")

        def refused():
            talk = flow()
            talk.client(flags="S", seq=999)
            talk.mirror_sends(flags="RA", seq=0, ack=1000)

        def unanswered():
            asked()
            self.driver.ask("pass 4100000")

        stories = {
            "connect_timeouts": connect_timeout,
            "connect_failures": refused,
            "query_timeouts": unanswered,
            "network_errors": lambda: asked().mirror_sends(flags="R", seq=5000),
            "unexpected_closings": lambda: asked().mirror_sends(flags="FA", seq=5000, ack=1005),
            "succeeded_queries": lambda: asked().mirror_sends(b"a", flags="A", seq=5000, ack=1005),
        }
        names = [n for n in self.driver.counts()["slots"][0]
                 if n not in ("opened", "closed", "n_waiting")]
        for name, story in stories.items():
            before = self.driver.counts()
            story()
            after = self.driver.counts()
            changed = {n: outcomes(after, n) - outcomes(before, n) for n in names}
            self.assertEqual({n: v for n, v in changed.items() if v}, {name: 1}, name)

    # ---- IPv6 ----

    def test_extension_headers_are_walked_and_kept(self):
        talk = Talk(self.driver, V6, TCP)
        options = IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / IPv6ExtHdrRouting(segleft=0)
        port, out = talk.client(options=options, flags="S")
        self.assertEqual(port, BACK)
        self.assert_right(out)
        self.assertIn(IPv6ExtHdrRouting, out)
        many = options / IPv6ExtHdrDestOpt() / IPv6ExtHdrDestOpt()
        self.assertEqual(talk.client(options=many, flags="S"), (None, "drop_protocol"))
        self.assertEqual(talk.client(options=IPv6ExtHdrRouting(segleft=1, addresses=["::2"]),
                                     flags="S"), (None, "drop_malformed"))
        self.assertEqual(talk.client(options=IPv6ExtHdrFragment(m=1), flags="S"),
                         (None, "drop_fragment"))

    def test_addresses_that_no_client_has(self):
        for address in ("::1", "::", "ff02::1", "::ffff:1.2.3.4"):
            talk = Talk(self.driver, V6, TCP)
            packet = talk.from_client(flags="S")
            packet[IPv6].src = address
            self.assertEqual(self.driver.send(FRONT, packet), (None, "drop_malformed"), address)

    def test_addresses_of_our_own_are_no_clients(self):
        for family in (V4, V6):
            for address in (family.vip, family.source):
                for l4 in (TCP, UDP):
                    packet = Talk(self.driver, family, l4, sport=PORTS[l4][0]).from_client(flags="S")
                    packet[family.ip].src = address
                    del packet[l4].chksum
                    self.assertEqual(self.driver.send(FRONT, packet), (None, "drop_malformed"),
                                     (address, l4))

    # ---- VLAN ----

    def test_replies_carry_the_clients_tags(self):
        one, two = (Dot1Q(vlan=100, prio=5),), (Dot1AD(vlan=7), Dot1Q(vlan=4094))
        for n, tags in enumerate((one, two)):
            for talk in self.talks():
                talk.tags, talk.sport = tags, 41000 + n
                _, out = talk.start()
                self.assertNotIn(Dot1Q, out)
                self.assert_right(out)
                _, out = talk.mirror_sends(b"answer", flags="PA", seq=5000, ack=1000)
                layer = out.payload
                for tag in tags:
                    self.assertEqual((type(layer), layer.vlan, layer.prio), (type(tag), tag.vlan, 0))
                    layer = layer.payload
                self.assertIsInstance(layer, talk.family.ip)
                self.assert_right(out)

    def test_tags_follow_the_client(self):
        talk = Talk(self.driver, V4, TCP, tags=(Dot1Q(vlan=100),))
        talk.connect()
        talk.tags = (Dot1Q(vlan=200),)
        talk.client(flags="A", seq=1000, ack=5000)
        self.assertEqual(talk.mirror_sends(flags="A", seq=5000, ack=1000)[1][Dot1Q].vlan, 200)
        talk.tags = ()
        talk.client(flags="A", seq=1000, ack=5000)
        self.assertNotIn(Dot1Q, talk.mirror_sends(flags="A", seq=5000, ack=1000)[1])
        talk.tags = (Dot1Q(vlan=1),) * 3
        self.assertEqual(talk.client(flags="A", seq=1000, ack=5000), (None, "drop_vlan"))

    # ---- ICMP ----

    ERRORS = {
        V4: {"unreachable": ICMP(type=3, code=1), "refused": ICMP(type=3, code=3),
             "too big": ICMP(type=3, code=4, nexthopmtu=1400),
             "exceeded": ICMP(type=11, code=0), "parameter": ICMP(type=12, code=0, ptr=9)},
        V6: {"unreachable": ICMPv6DestUnreach(code=0), "refused": ICMPv6DestUnreach(code=4),
             "too big": ICMPv6PacketTooBig(mtu=1400), "exceeded": ICMPv6TimeExceeded()},
    }

    def error(self, talk, kind, subject, to, by=None):
        """An ICMP error, of a router unless it says by whom, about a packet that we sent."""
        inner = bytes(subject[talk.family.ip])
        if talk.family is V4:
            inner = inner[:subject[IP].ihl * 4 + 8] if kind != "too big" else inner
        return (Ether(src="06:00:00:00:00:07", dst="02:00:00:00:00:01")
                / talk.family.ip(src=by or talk.family.router, dst=to)
                / self.ERRORS[talk.family][kind] / Raw(inner))

    def assert_error_about(self, out, talk, sent, source, destination):
        """'out' embeds the packet that its receiver sent."""
        ip = out[talk.family.ip]
        self.assertEqual((ip.src, ip.dst), (source, destination))
        self.assert_right(out)
        size = 40 if talk.family is V6 else 20
        inner = bytes(ip)[size + 8:]
        expected = bytearray(bytes(sent[talk.family.ip]))
        expected[7 if talk.family is V6 else 8] -= 1  # the hop through us
        wanted = talk.family.ip(bytes(expected))
        if talk.family is V4:
            del wanted.chksum
        wanted = bytes(wanted)
        self.assertEqual(inner.hex(), wanted[:len(inner)].hex())

    def test_errors_about_what_went_to_a_mirror_reach_the_client(self):
        for talk in self.talks():
            talk.start()
            for kind in self.ERRORS[talk.family]:
                if talk.l4 is UDP and kind in ("unreachable", "refused"):
                    continue
                sent = Ether(bytes(talk.from_client(b"data" * 20, flags="PA", seq=1000, ack=5000)))
                _, subject = self.driver.send(FRONT, sent)
                port, out = self.driver.send(
                    BACK, self.error(talk, kind, subject, talk.family.source))
                self.assertEqual(port, FRONT, (kind, out))
                self.assert_error_about(out, talk, sent, talk.family.vip, talk.family.client)

    def test_errors_about_what_went_to_a_client_reach_the_mirror(self):
        for talk in self.talks():
            talk.start()
            for kind in self.ERRORS[talk.family]:
                sent = Ether(bytes(talk.from_mirror(b"data" * 20, flags="PA", seq=5000, ack=1000)))
                _, subject = self.driver.send(BACK, sent)
                port, out = self.driver.send(
                    FRONT, self.error(talk, kind, subject, talk.family.vip))
                self.assertEqual(port, BACK, (kind, out))
                self.assert_error_about(out, talk, sent, talk.family.source, talk.mirror)

    def test_path_mtu_arrives(self):
        for family in (V4, V6):
            talk = Talk(self.driver, family, TCP)
            talk.connect()
            _, subject = talk.client(b"x" * 1000, flags="PA", seq=1000, ack=5000)
            _, out = self.driver.send(BACK, self.error(talk, "too big", subject, family.source))
            mtu = out[ICMP].nexthopmtu if family is V4 else out[ICMPv6PacketTooBig].mtu
            self.assertEqual(mtu, 1400)
            self.assertEqual(outcomes(self.driver.counts(), "connect_failures"), 0)

    def test_unreachable_in_answer_to_a_syn_is_a_connect_failure(self):
        for n, family in enumerate((V4, V6)):
            talk = Talk(self.driver, family, TCP)
            _, subject = talk.client(flags="S", seq=999)
            error = self.error(talk, "unreachable", subject, family.source)
            self.assertEqual(self.driver.send(BACK, error)[0], FRONT)
            self.driver.send(BACK, error)  # repeated: counted once
            counts = self.driver.counts()
            self.assertEqual(outcomes(counts, "connect_failures"), n + 1)
            self.assertEqual(outcomes(counts, "closed"), n + 1)
            talk.mirror = None
            self.assertEqual(talk.client(flags="S", seq=999)[0], BACK)  # another try

    def test_refused_datagram_is_a_failure_and_the_next_finds_a_mirror_anew(self):
        for n, family in enumerate((V4, V6)):
            talk = Talk(self.driver, family, UDP)
            _, subject = talk.client(b"hello")
            hint = self.error(talk, "refused", subject, family.source)
            self.assertEqual(self.driver.send(BACK, hint)[0], FRONT)  # a router cannot know
            self.assertEqual(outcomes(self.driver.counts(), "connect_failures"), n)
            error = self.error(talk, "refused", subject, family.source, by=talk.mirror)
            self.assertEqual(self.driver.send(BACK, error)[0], FRONT)
            counts = self.driver.counts()
            self.assertEqual(outcomes(counts, "connect_failures"), n + 1)
            self.assertEqual(outcomes(counts, "n_waiting"), n)  # "again" of the one before
            talk.client(b"again")
            self.assertEqual(outcomes(self.driver.counts(), "opened"), 2 * n + 2)

    def test_errors_that_nobody_caused_are_dropped(self):
        for family in (V4, V6):
            talk = Talk(self.driver, family, TCP)
            talk.connect()
            _, subject = talk.client(b"data", flags="PA", seq=1000, ack=5000)
            subject[TCP].seq += 1 << 24
            error = self.error(talk, "unreachable", subject, family.source)
            self.assertEqual(self.driver.send(BACK, error), (None, "drop_icmp"))
            subject[TCP].sport ^= 1
            error = self.error(talk, "unreachable", subject, family.source)
            self.assertEqual(self.driver.send(BACK, error), (None, "drop_icmp"))
            error = Ether(bytes(error))
            error = Ether(bytes(error)[:-1] + bytes([bytes(error)[-1] ^ 1]))
            self.assertEqual(self.driver.send(BACK, error), (None, "drop_l4_checksum"))

    # ---- the oracle itself ----

    def test_a_wrong_sum_is_seen(self):
        for talk in self.talks():
            talk.start()
            _, out = talk.mirror_sends(b"answer", flags="PA", seq=5000, ack=1000)
            self.assert_right(out)
            out[talk.l4].chksum ^= 0x0101
            self.assertNotEqual(bytes(out), rebuilt(out))
            sent = Ether(bytes(talk.from_client(b"data" * 20, flags="PA", seq=1000, ack=5000)))
            _, subject = self.driver.send(FRONT, sent)
            _, out = self.driver.send(BACK, self.error(talk, "exceeded", subject,
                                                       talk.family.source))
            self.assertEqual(bytes(out), rebuilt(out))
            wrong = bytearray(bytes(out))
            wrong[14 + (20 if talk.family is V4 else 40) + 2] ^= 1
            self.assertNotEqual(bytes(wrong), rebuilt(wrong))

    # ---- anything ----

    OPTIONS = {
        V4: (None, IPOption_NOP(), IPOption_RR(length=15)),
        V6: (None, IPv6ExtHdrHopByHop(), IPv6ExtHdrDestOpt() / IPv6ExtHdrRouting(segleft=0)),
    }

    def random_packet(self, rng, talk):
        """The port where it comes in, and the packet."""
        payload = rng.randbytes(rng.choice((0, 1, 2, 13, 100, 1000)))
        fields = {"flags": rng.choice(("S", "A", "PA", "FA", "R", "SA", "")),
                  "seq": rng.choice((999, 1000, 5000, rng.getrandbits(32))),
                  "ack": rng.choice((1000, 5000, rng.getrandbits(32))),
                  "window": rng.getrandbits(16), "urgptr": rng.choice((0, 0, 7))}
        is_client = talk.mirror is None or rng.random() < 0.5
        talk.tags = rng.choice(((), (), (Dot1Q(vlan=rng.randrange(1, 20)),),
                                (Dot1AD(vlan=3), Dot1Q(vlan=rng.randrange(1, 20)))))
        packet = (talk.from_client if is_client else talk.from_mirror)(payload, **fields)
        if talk.l4 is TCP:
            packet[TCP].options = rng.choice(
                ([], [("MSS", 1460), ("WScale", 7)], [("NOP", None)] * 9))
        ip, options = packet[talk.family.ip], rng.choice(self.OPTIONS[talk.family])
        if talk.family is V4:
            ip.tos, ip.ttl, ip.id = rng.getrandbits(8), rng.randrange(1, 256), rng.getrandbits(16)
            ip.options = [] if options is None else [options]
        else:
            ip.tc, ip.hlim, ip.fl = rng.getrandbits(8), rng.randrange(1, 256), rng.getrandbits(20)
            if options is not None:
                ip.payload = options / ip.payload
        if talk.family is V4 and talk.l4 is UDP and rng.random() < 0.2:
            packet[UDP].chksum = 0
        return FRONT if is_client else BACK, packet

    def assert_all_else_kept(self, talk, sent, out, to_mirror):
        """'out' is 'sent' with other addresses, ports, MACs, tags and one hop less."""
        copy = Ether(bytes(sent))
        ip, l4 = copy[talk.family.ip], copy[talk.l4]
        if to_mirror:
            ip.src, l4.sport = talk.family.source, out[talk.l4].sport
            ip.dst, l4.dport = out[talk.family.ip].dst, talk.mport
            self.assertIn(ip.dst, talk.family.mirrors)
            tags = ()
        else:
            ip.src, l4.sport = talk.family.vip, talk.vport
            ip.dst, l4.dport = talk.family.client, talk.sport
            tags = talk.seen_tags
        if tags is None:  # a bent packet may have brought others
            tags = ()
            layer = out.payload
            while isinstance(layer, (Dot1Q, Dot1AD)):
                tags += (type(layer)(vlan=layer.vlan),)
                layer = layer.payload
        if talk.family is V4:
            ip.ttl -= 1
        else:
            ip.hlim -= 1
        port_mac = f"02:00:00:00:00:0{BACK if to_mirror else FRONT}"
        service = (V4, V6).index(talk.family) * 2 + (TCP, UDP).index(talk.l4)
        mirror = talk.family.mirrors.index(ip.dst) if to_mirror else 0
        expected = Ether(src=port_mac, dst=f"06:00:00:00:0{service}:0{mirror}" if to_mirror
                         else CLIENT_MAC)
        for tag in tags:
            expected /= type(tag)(vlan=tag.vlan)
        expected = rebuilt(Ether(bytes(expected / talk.family.ip(bytes(ip)))))
        self.assertEqual(bytes(out).hex(), expected.hex(), bytes(sent).hex())

    def bend(self, rng, packet):
        data = bytearray(bytes(packet))
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(12, len(data))] ^= 1 << rng.randrange(8)
        return data[:rng.randrange(len(data))] if rng.random() < 0.3 else data

    def send_random_packet(self, rng, talk, recent):
        """Whether it went on; 'recent' remembers it."""
        port, packet = self.random_packet(rng, talk)
        if rng.random() < 0.2:
            self.driver.send(port, self.bend(rng, packet))
            if port == FRONT:  # it may have had other tags, and may have opened another flow
                talk.seen_tags = None
                recent.pop(talk, None)
            return False
        packet = Ether(bytes(packet))
        port_out, out = self.driver.send(port, packet)
        if port_out is None:
            return False
        self.assertEqual(port_out, 1 - port)
        self.assert_all_else_kept(talk, packet, out, port_out == BACK)
        if port == FRONT:  # the flow may be another now
            talk.mirror, talk.source_port = out[talk.family.ip].dst, out[talk.l4].sport
            talk.seen_tags = talk.tags
        recent[talk] = port_out, packet, out
        return True

    def send_random_error(self, rng, talk, recent):
        """About what was sent last; whether it went on."""
        port, sent, subject = recent[talk]
        family = talk.family
        kind = rng.choice(list(self.ERRORS[family]))
        error = self.error(talk, kind, subject, family.source if port == BACK else family.vip)
        if rng.random() < 0.2:
            self.driver.send(port, self.bend(rng, error))
            return False
        port_out, out = self.driver.send(port, error)
        if port_out is None:
            return False
        ends = (family.vip, family.client) if port_out == FRONT else (family.source, talk.mirror)
        self.assertEqual(port_out, 1 - port)
        self.assert_error_about(out, talk, sent, *ends)
        return True

    def test_whatever_is_sent_is_right(self):
        rng = random.Random(self.seed)
        print(f"SEED={self.seed}", file=sys.stderr)
        # Ports so far apart that no bent packet is another's.
        talks = [Talk(self.driver, family, l4, 42000 ^ bits)
                 for family in (V4, V6) for l4 in (TCP, UDP) for bits in (0, 0x0f, 0x33, 0x3c)]
        for talk in talks:
            talk.start()
            talk.seen_tags = ()
        recent = {}
        n_sent, n_errors = Counter(), Counter()
        for _ in range(2000):
            talk = rng.choice(talks)
            mode = talk.family.ip.__name__, talk.l4.__name__
            if talk in recent and rng.random() < 0.2:
                port = recent[talk][0]
                n_errors[mode + (port,)] += self.send_random_error(rng, talk, recent)
            elif self.send_random_packet(rng, talk, recent):
                n_sent[mode + (recent[talk][0],)] += 1
            if rng.random() < 0.1:
                self.driver.ask(f"pass {rng.randrange(1, 300000)}")
        # Each mode was met, both ways.
        for counter in n_sent, n_errors:
            self.assertEqual(len(counter), 8, counter)
            self.assertGreater(min(counter.values()), 0, counter)
        counts = self.driver.counts()
        self.assertEqual(counts["counters"]["flows_opened"], outcomes(counts, "opened"))


if __name__ == "__main__":
    PipelineTest.program = sys.argv.pop(1)
    PipelineTest.seed = int(os.environ.get("SEED") or random.SystemRandom().getrandbits(32))
    unittest.main()
