#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 90 s
# A port that is no interface: a tap, whose other end the kernel bridges to a client and real mirrors.
. "$(dirname "$0")/_init.sh"

SETTINGS='ha_strategy = "roundrobin"; ping = "none";'

mac_of() {
	in_ns "$1" cat /sys/class/net/eth0/address
}

step "a tap"
make_world 2
balancer_configure 2 "$SETTINGS" 'huge_pages = "0"; max_flows = 4096;'
neighbours="{ address = \"10.99.0.101\"; mac = \"$(mac_of m1)\"; }, { address = \"10.99.0.102\"; mac = \"$(mac_of m2)\"; }"
sed -i "s#ports = .*#ports = ( { name = \"tap\"; device = \"net_tap0,iface=kbtap\"; } ); neighbours = ( $neighbours );#
	s#sources = .*#sources = [ \"10.99.0.240/30\" ];#" "$WORLD_DIR/karmalb.conf"
dataplane_start || fail "no data plane on a tap"
mac=$(port_mac dataplane tap)
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
wait_for 20 "the tap to be up" port_is_up dataplane tap || fail "$(cat "$WORLD_DIR/log/dataplane")"
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
