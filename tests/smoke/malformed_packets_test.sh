#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# Packets that no honest sender makes are dropped under their reason's name, and traffic goes on.
. "$(dirname "$0")/_init.sh"

/usr/bin/python3 -c 'import scapy' 2>/dev/null || skip "python3-scapy is not installed"
start_world 2 'ha_strategy = "random"; ha_ping_interval = "0";'
load_start --clients 8 --rate 100
load_is_flowing

# send NUMBER PACKET: sends a scapy expression so many times from the client to the balancer.
# Names: vip, mac (the balancer's), tcp (a SYN to the service), rng (seeded).
send() {
	in_ns client /usr/bin/python3 - "$(in_ns lb cat /sys/class/net/eth0/address)" "$WORLD_VIP" "$@" <<-'END'
		import logging, random, sys
		logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
		from scapy.all import ICMP, IP, TCP, UDP, Dot1Q, Ether, Raw, conf, sendp
		mac, vip, number, expression = sys.argv[1:]
		rng = random.Random(4711)
		names = {k: v for k, v in globals().items()}
		packets = []
		for i in range(int(number)):
		    tcp = TCP(sport=20000 + i, dport=80, flags="S", seq=rng.getrandbits(32))
		    ether = Ether(dst=mac)
		    packets.append(eval(expression, names | locals()))
		conf.verb = 0
		sendp(packets, iface="eth0")
	END
}

all_drops() {
	ask_json 'SHOW DROPS' "sum(d['total'] for d in r if d['counter'].startswith('drop_'))"
}

all_drops_are_at_least() {
	[ "$(all_drops)" -ge "$1" ]
}

# drops_by REASON NUMBER PACKET: all of them are counted under that name.
drops_by() {
	local reason=$1 number=$2 packet=$3 before
	before=$(drops "$reason")
	send "$number" "$packet"
	wait_for 5 "$number packets under $reason" drops_are_at_least "$reason" $((before + number)) ||
		fail "$packet: $reason rose by $(($(drops "$reason") - before)), not $number: $(ctl -e 'SHOW DROPS')"
	step "$reason: $number of '$packet'"
}

drops_by drop_ip_checksum 20 'ether/IP(dst=vip, src="10.99.0.2", chksum=0x1234)/tcp'
drops_by drop_truncated 20 'ether/IP(dst=vip, src="10.99.0.2", len=400)/tcp'
drops_by drop_malformed 20 'ether/IP(dst=vip, src="10.99.0.2")/TCP(sport=2000, dport=80, flags="S", dataofs=3)'
drops_by drop_truncated 20 'ether/IP(dst=vip, src="10.99.0.2")/TCP(sport=2000, dport=80, flags="S", dataofs=15)'
drops_by drop_fragment 20 'ether/IP(dst=vip, src="10.99.0.2", flags="MF", frag=0)/tcp'
drops_by drop_fragment 20 'ether/IP(dst=vip, src="10.99.0.2", frag=100, proto=6)/Raw(b"x" * 64)'
drops_by drop_ttl 20 'ether/IP(dst=vip, src="10.99.0.2", ttl=1)/tcp'
drops_by drop_no_flow 20 'ether/IP(dst=vip, src="10.99.0.2")/TCP(sport=3000 + i, dport=80, flags="A")'
drops_by drop_no_flow 20 'ether/IP(dst="10.99.0.241", src="10.99.0.2")/TCP(sport=3000 + i, dport=4000, flags="A")'

step "3000 packets of random bytes: frames, TCP to the service's port, TCP to a source address"
send 1000 'ether/Raw(bytes(rng.choices(range(256), k=rng.randint(1, 200))))'
send 1000 'ether/IP(dst=vip, src="10.99.0.2", proto=6)/Raw(bytes([9, i % 256, 0, 80]) + rng.randbytes(rng.randint(16, 60)))'
before=$(all_drops)
send 1000 'ether/IP(dst="10.99.0.241", src="10.99.0.2", proto=6)/Raw(rng.randbytes(rng.randint(20, 60)))'
wait_for 5 "1000 drops" all_drops_are_at_least $((before + 1000)) ||
	fail "drops rose by $(($(all_drops) - before)), not 1000"

is_running dataplane || fail "the data plane died of it"
fetch >/dev/null || fail "no traffic any more"
load_stop
expect_equal "requests of the honest client that failed" "$(load_failed)" 0
