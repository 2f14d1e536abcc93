#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# Clients in a VLAN, in a VLAN inside another, and in none are served side by side, each answered
# with the tags it came with; mirrors see no tags.  The clients are packets made by scapy, so that
# the kernel needs no VLAN devices; they ask again where a busy machine has lost something.
. "$(dirname "$0")/_init.sh"

/usr/bin/python3 -c 'import scapy' 2>/dev/null || skip "python3-scapy is not installed"
N=30
TRIES=10
CLIENTS='10.98.0.7 vlan_7_and_host_10.98.0.7 Dot1Q(vlan=7,prio=5)
10.98.0.9 vlan_8_and_vlan_9_and_host_10.98.0.9 Dot1AD(vlan=8) Dot1Q(vlan=9)
10.98.0.1 host_10.98.0.1'

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

# send TAGS SOURCE PORT...: a query and a SYN from each of these ports, behind those tags.
send() {
	in_ns client /usr/bin/python3 - "$(in_ns lb cat /sys/class/net/eth0/address)" "$WORLD_VIP" "$@" <<-'END'
		import logging, sys
		logging.getLogger("scapy.runtime").setLevel(logging.ERROR)
		from scapy.all import IP, TCP, UDP, Dot1AD, Dot1Q, Ether, conf, get_if_hwaddr, sendp
		conf.verb = 0
		mac, vip, tags, source, *ports = sys.argv[1:]
		head = eval("/".join(["Ether(dst=mac, src=get_if_hwaddr('eth0'))", *tags.split()]))
		ip = IP(src=source, dst=vip)
		for port in map(int, ports):
		    sendp([head / ip / UDP(sport=port, dport=5300) / f"query {port}".encode(),
		           head / ip / TCP(sport=port, dport=80, flags="S", seq=1)], iface="eth0")
	END
}

# packets CAPTURE FILTER
packets() {
	tcpdump -n -r "$WORLD_DIR/$1.pcap" "$2" 2>/dev/null | wc -l
}

# ports_answered FILTER: ports whose packets of that kind have come back, each once.
ports_answered() {
	tcpdump -n -r "$WORLD_DIR/client.pcap" "$1" 2>/dev/null | sed -n 's/.* > [0-9.]*\.\([0-9]*\): .*/\1/p' | sort -u
}

# ports_unanswered FILTER: those of the N that miss their answer or their SYN-ACK.
ports_unanswered() {
	comm -23 <(seq 20000 $((20000 + N - 1))) <(comm -12 <(ports_answered "$1 and udp src port 5300") \
		<(ports_answered "$1 and tcp src port 80 and tcp[tcpflags] & tcp-syn != 0"))
}

are_back() {
	[ -z "$(ports_unanswered "$1")" ]
}

# ask TAGS SOURCE FILTER: until all have been answered.
ask() {
	local tags=$1 source=$2 filter=$3 try ports
	for ((try = 1; try <= TRIES; try++)); do
		mapfile -t ports < <(ports_unanswered "$filter")
		[ ${#ports[@]} -gt 0 ] || return 0
		send "$tags" "$source" "${ports[@]}"
		n_sent=$((n_sent + ${#ports[@]}))
		# Where some are missing for good the next try begins.
		wait_for 2 "answers to ${#ports[@]} queries and SYNs" are_back "$filter" || true
	done
	are_back "$filter"
}

capture client client ""
capture wire-m1 m1 "vlan"
capture wire-m2 m2 "vlan"
n_sent=0
while read -r source filter tags; do
	step "a client at $source: ${tags:-no tag}"
	ask "$tags" "$source" "${filter//_/ }" ||
		fail "without answer: $(ports_unanswered "${filter//_/ }"); $(ctl -e 'SHOW DROPS')"
done <<<"$CLIENTS"

for capture in client wire-m1 wire-m2; do
	end_capture $capture >/dev/null
done
while read -r source filter _; do
	any="ip host $source or (vlan and ip host $source) or (vlan and ip host $source)"
	expect_equal "packets of $source with its own tags, of those with any" \
		"$(packets client "${filter//_/ }")" "$(packets client "$any")"
done <<<"$CLIENTS"
expect_equal "packets back with priority" "$(packets client 'vlan and ether[14] & 0xe0 != 0 and src host 10.99.0.10')" 0
expect_equal "tagged packets at the mirrors" "$(($(packets wire-m1 'vlan and net 10.99.0.240/28') + $(packets wire-m2 'vlan and net 10.99.0.240/28')))" 0
answered=$(($(scripted_requests m1 udp) + $(scripted_requests m2 udp)))
step "$n_sent queries sent, $answered seen by the mirrors"
expect_between "queries at the mirrors" "$answered" $((3 * N)) "$n_sent"
# Each of the N flows was answered at least once; of what was asked twice not all need have come back.
succeeded() {
	local n
	n=$(ask_json 'SHOW MIRRORS' "sum(m['outcomes']['succeeded_queries'] for m in r if m['service'] == 'dns')")
	[ "$n" -ge $((3 * N)) ] && [ "$n" -le "$answered" ]
}
wait_for 20 "$((3 * N)) to $answered succeeded queries" succeeded || fail "m1: $(outcomes dns m1), m2: $(outcomes dns m2)"
expect_equal "drop_vlan" "$(drops drop_vlan)" 0
expect_equal "drop_headroom" "$(drops drop_headroom)" 0
