#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 200 s
# A device with a queue for each of two workers, and no XDP: a tap, plugged into a bridge in the
# balancer's namespace.  Each worker receives and transmits on its own queue; what the kernel puts
# into the wrong one changes workers.
. "$(dirname "$0")/_init.sh"

[ -c /dev/net/tun ] || skip "there is no /dev/net/tun here"

mac_of() {
	in_ns "$1" cat /sys/class/net/eth0/address
}

configure_tap() {
	cat >"$WORLD_DIR/karmalb.conf" <<-END
		config_version = 1;
		dataplane = {
		  ports = ( { name = "front"; device = "net_tap0,iface=kbtap0"; } );
		  neighbours = ( { address = "10.99.0.101"; mac = "$(mac_of m1)"; },
		                 { address = "10.99.0.102"; mac = "$(mac_of m2)"; } );
		  sources = [ "$WORLD_SOURCES" ];
		  huge_pages = "0"; max_flows = 65536;
		};
		services = (
		  { name = "web"; listen = [ "$WORLD_VIP:80/tcp" ];
		    ha_strategy = "random"; ha_ping_interval = "0"; agent_connect_timeout = "20s";
		    mirrors = ( { name = "m1"; address = "10.99.0.101"; },
		                { name = "m2"; address = "10.99.0.102"; } );
		  }
		);
	END
}

# The kernel's end gets a MAC of its own, or the bridge would keep for itself what is for ours.
# Nobody answers ARP for VIP and sources, so the others are told.
plug_in() {
	local mac m i
	mac=$(port_mac dataplane front)
	[ -n "$mac" ] || fail "the log does not name the port's MAC"
	in_ns lb ip link set kbtap0 address 02:00:00:00:00:99
	in_ns lb ip link add inside type bridge
	in_ns lb ip link set eth0 master inside
	in_ns lb ip link set kbtap0 master inside up
	in_ns lb ip link set inside up
	in_ns client ip neigh replace "$WORLD_VIP" lladdr "$mac" nud permanent dev eth0
	for m in m1 m2; do
		for ((i = 240; i < 256; i++)); do
			in_ns "$m" ip neigh replace "10.99.0.$i" lladdr "$mac" nud permanent dev eth0
		done
	done
}

make_world 2
configure_tap
DATAPLANE_OPTIONS=(--workers "$(worker_cpus 2)")
dataplane_start || fail "the data plane did not start"
expect_match "log" "$(cat "$WORLD_DIR/log/dataplane")" 'port front: net_tap0,iface=kbtap0, 2 queues'
plug_in
controlplane_start || fail "the control plane did not start"
wait_for 20 "a first answer" fetch || fail "no answer through the tap"

load_through 5000 64 1000
expect_flows "$((n_requests + 1))" "$((n_requests + 30))"
expect_even_spread 2 flows_opened
for w in 0 1; do
	expect_between "packets that worker $w sent" "$(of_worker "$w" tx_packets)" 3000 1000000
done
expect_equal "finished packets that had to change workers" "$(counter tx_handed_over)" 0
step "received packets that changed workers: $(counter handed_over) of $(counter rx_packets)"
expect_between "received packets that changed workers" "$(counter handed_over)" 1 "$(counter rx_packets)"

expect_download 4000000 m1 m2
