#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 150 s
# Ports that are no interfaces: a tap, whose other end the kernel bridges to a client and real mirrors;
# and shared memory (memif) between two balancers, one of which is the other's mirror.
. "$(dirname "$0")/_init.sh"

SETTINGS='ha_strategy = "roundrobin"; ping = "none";'

mac_of() {
	in_ns "$1" cat /sys/class/net/eth0/address
}

# port_mac NAME: what its peers need to know, as the log says it.
port_mac() {
	sed -n "s/.*port $1: .* peers need to know \([0-9A-Fa-f:]*\);.*/\1/p" "$WORLD_DIR/log/dataplane" | tail -n 1
}

port_is_up() {
	[ "$(grep -cE "port $1: (down -> up|.*, up)\$" "$WORLD_DIR/log/dataplane")" -gt 0 ]
}

step "a tap"
make_world 2
balancer_configure 2 "$SETTINGS" 'huge_pages = "0"; max_flows = 4096;'
neighbours="{ address = \"10.99.0.101\"; mac = \"$(mac_of m1)\"; }, { address = \"10.99.0.102\"; mac = \"$(mac_of m2)\"; }"
sed -i "s#ports = .*#ports = ( { name = \"tap\"; device = \"net_tap0,iface=kbtap\"; } ); neighbours = ( $neighbours );#
	s#sources = .*#sources = [ \"10.99.0.240/30\" ];#" "$WORLD_DIR/karmalb.conf"
dataplane_start || fail "no data plane on a tap"
mac=$(port_mac tap)
# The bridge would keep for itself what is sent to an address of its own ports.
in_ns lb ip link set kbtap address 02:00:00:00:00:77
in_ns lb ip link add bridge type bridge
in_ns lb ip addr flush dev eth0
in_ns lb ip link set eth0 master bridge
in_ns lb ip link set kbtap master bridge up
in_ns lb ip link set bridge up
in_ns client ip neigh replace "$WORLD_VIP" lladdr "$mac" nud permanent dev eth0
for i in 0 1 2 3; do
	in_ns m1 ip neigh replace "10.99.0.24$i" lladdr "$mac" nud permanent dev eth0
	in_ns m2 ip neigh replace "10.99.0.24$i" lladdr "$mac" nud permanent dev eth0
done
controlplane_start || fail "the services are not in force"
wait_for 20 "the tap to be up" port_is_up tap || fail "$(cat "$WORLD_DIR/log/dataplane")"
wait_for 30 "an answer over the tap" fetch || fail "$(ctl -e 'SHOW DROPS')"
load_start --clients 4 --rate 100
wait_for 60 "many answers" load_requests_more_than 300 || fail "$(ctl -e 'SHOW DROPS')"
load_stop
expect_equal "failed requests" "$(load_failed)" 0
for i in 1 2; do
	[ "$(mirror_answers "m$i")" -gt 100 ] || fail "m$i got $(mirror_answers "m$i") requests"
done
finish controlplane
finish dataplane

step "memif: one balancer is the mirror of another"
# memif_configure FILE PORTS LISTEN_ADDRESS SOURCE MIRROR
memif_configure() {
	cat >"$1" <<-END
		config_version = 1;
		dataplane = {
		  ports = ( $2 );
		  neighbours = ( { address = "default"; mac = "02:00:00:00:00:0b"; port = "back"; } );
		  sources = [ "$4" ];
		  max_flows = 4096;
		};
		controlplane = { metrics = ""; };
		defaults = { ping = "none"; reply_check = "none"; };
		services = ( { name = "s"; listen = [ "$3:80/tcp", "$3:53/udp" ];
		               mirrors = ( { name = "m"; address = "$5"; } ); } );
	END
}

# The one behind, in a run directory of its own.
behind=$WORLD_DIR/behind
mkdir -p "$behind/state"
memif_configure "$behind/karmalb.conf" "
	{ name = \"front\"; device = \"net_memif0,role=server,socket-abstract=no,socket=$behind/memif.sock\"; },
	{ name = \"back\"; device = \"net_pcap0,tx_pcap=$behind/out.pcap\"; }" 10.7.0.11 10.6.0.1 10.6.0.21
"$BUILD/karmalb-controlplane" --dataplane-arguments "$behind/karmalb.conf" >"$behind/arguments"
spawn behind-dataplane lb "$BUILD/karmalb-dataplane" --run-dir "$behind" --arguments "$behind/arguments"
wait_for 20 "the data plane behind to start" grep -q 'ready: ' "$WORLD_DIR/log/behind-dataplane" ||
	fail "$(cat "$WORLD_DIR/log/behind-dataplane")"
spawn behind-controlplane lb "$BUILD/karmalb-controlplane" --run-dir "$behind" --state-dir "$behind/state" \
	"$behind/karmalb.conf"

behind_status() {
	"$BUILD/karmactl" --socket "$behind/control.sock" --json -e 'SHOW STATUS' | json_value "r['$1']"
}

behind_has() {
	[ "$(behind_status "$1")" = "$2" ]
}

wait_for 20 "the services behind to be in force" behind_has epoch_in_force 1 ||
	fail "$("$BUILD/karmactl" --socket "$behind/control.sock" -e 'SHOW STATUS')"

/usr/bin/python3 "$TOP/tests/smoke/pcap_files.py" write "$WORLD_DIR/in.pcap" >/dev/null
memif_configure "$WORLD_DIR/karmalb.conf" "
	{ name = \"front\"; device = \"net_pcap0,rx_pcap=$WORLD_DIR/in.pcap,tx_pcap=$WORLD_DIR/out.pcap\"; },
	{ name = \"back\"; device = \"net_memif0,role=client,socket-abstract=no,socket=$behind/memif.sock\"; }" \
	10.7.0.10 10.8.0.1 10.7.0.11
dataplane_start || fail "no data plane on memif"
wait_for 20 "the two to be connected" port_is_up back || fail "$(cat "$WORLD_DIR/log/dataplane")"
controlplane_start || fail "the services are not in force"
# IPv4's SYN and two datagrams; of TCP only that, for here nobody answers it.
wait_for 20 "the packets to have passed both" behind_has tx_packets 3 ||
	fail "$("$BUILD/karmactl" --socket "$behind/control.sock" -e 'SHOW DROPS')"
finish behind-controlplane
finish behind-dataplane
said=$(tcpdump -nv -r "$behind/out.pcap" 2>/dev/null)
expect_match "what came out" "$said" '10\.6\.0\.1\.[0-9]+ > 10\.6\.0\.21\.80: Flags \[S\], cksum .*\(correct\)'
expect_match "what came out" "$said" '10\.6\.0\.1\.[0-9]+ > 10\.6\.0\.21\.53: '
expect_match "what came out" "$said" 'ttl 62'
