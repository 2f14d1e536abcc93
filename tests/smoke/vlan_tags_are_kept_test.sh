#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# Clients in a VLAN, in a VLAN inside another, and in none are served side by side, each answered
# with the tags it came with; mirrors see no tags.  The clients are packets made by scapy, so that
# the kernel needs no VLAN devices.
. "$(dirname "$0")/_init.sh"

/usr/bin/python3 -c 'import scapy' 2>/dev/null || skip "python3-scapy is not installed"
N=30

make_world 2
for m in m1 m2; do
	scripted_start $m udp 5300
done
mirrors='mirrors = ( { name = "m1"; address = "10.99.0.101"; }, { name = "m2"; address = "10.99.0.102"; } );'
configure "
	{ name = \"dns\"; listen = [ \"$WORLD_VIP:5300/udp\" ]; ha_strategy = \"random\"; agent_query_timeout = \"60s\"; $mirrors },
	{ name = \"web\"; listen = [ \"$WORLD_VIP:80/tcp\" ]; ha_strategy = \"random\"; ha_ping_interval = \"0\"; $mirrors }
"
balancer_start || fail "the balancer did not start"

# veth and bridge hand tags over beside the packet where they may; on a wire they stand in it.
in_ns net ethtool -K lb txvlan off tx-vlan-stag-hw-insert off >/dev/null
in_ns net ethtool -K client txvlan off tx-vlan-stag-hw-insert off >/dev/null

# send TAGS SOURCE: so many queries and SYNs, from ports of their own, behind those tags.
send() {
	in_ns client /usr/bin/python3 - "$(in_ns lb cat /sys/class/net/eth0/address)" "$WORLD_VIP" "$N" "$@" <<-'END'
		import logging, sys
		logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
		from scapy.all import IP, TCP, UDP, Dot1AD, Dot1Q, Ether, conf, get_if_hwaddr, sendp
		conf.verb = 0
		mac, vip, number, tags, source = sys.argv[1:]
		head = eval("/".join(["Ether(dst=mac, src=get_if_hwaddr('eth0'))", *tags.split()]))
		ip = IP(src=source, dst=vip)
		for i in range(int(number)):
		    sendp([head / ip / UDP(sport=20000 + i, dport=5300) / f"query {i}".encode(),
		           head / ip / TCP(sport=20000 + i, dport=80, flags="S", seq=1)], iface="eth0")
	END
}

# packets CAPTURE FILTER
packets() {
	tcpdump -n -r "$WORLD_DIR/$1.pcap" "$2" 2>/dev/null | wc -l
}

# are_back FILTER: an answer for each query, a SYN-ACK (or more, repeated) for each SYN.
are_back() {
	[ "$(packets client "$1 and udp src port 5300")" -eq "$N" ] &&
		[ "$(packets client "$1 and tcp src port 80 and tcp[tcpflags] & tcp-syn != 0")" -ge "$N" ]
}

capture client client ""
capture wire-m1 m1 "vlan"
capture wire-m2 m2 "vlan"
while read -r source filter tags; do
	step "a client at $source: ${tags:-no tag}"
	send "$tags" "$source"
	wait_for 30 "$N answers and SYN-ACKs" are_back "${filter//_/ }" ||
		fail "$filter: $(packets client "${filter//_/ } and udp src port 5300") answers; $(ctl -e 'SHOW DROPS')"
done <<-'END'
	10.98.0.7 vlan_7_and_host_10.98.0.7 Dot1Q(vlan=7,prio=5)
	10.98.0.9 vlan_8_and_vlan_9_and_host_10.98.0.9 Dot1AD(vlan=8) Dot1Q(vlan=9)
	10.98.0.1 host_10.98.0.1
END

for capture in client wire-m1 wire-m2; do
	end_capture $capture >/dev/null
done
expect_equal "packets back with priority" "$(packets client 'vlan and ether[14] & 0xe0 != 0 and src host 10.99.0.10')" 0
expect_equal "tagged packets at the mirrors" "$(($(packets wire-m1 'vlan and net 10.99.0.240/28') + $(packets wire-m2 'vlan and net 10.99.0.240/28')))" 0
answered=$(($(scripted_requests m1 udp) + $(scripted_requests m2 udp)))
expect_equal "queries at the mirrors" "$answered" $((3 * N))
succeeded() {
	[ "$(ask_json 'SHOW MIRRORS' "sum(m['outcomes']['succeeded_queries'] for m in r if m['service'] == 'dns')")" -eq "$answered" ]
}
wait_for 20 "$answered succeeded queries" succeeded || fail "m1: $(outcomes dns m1), m2: $(outcomes dns m2)"
expect_equal "drop_vlan" "$(drops drop_vlan)" 0
expect_equal "drop_headroom" "$(drops drop_headroom)" 0
