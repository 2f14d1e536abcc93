#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 120 s
# Capture files instead of interfaces: every packet that goes in comes out as it should, whole frames
# compared; what is nobody's is dropped by name.  Nothing is read before there are services.
. "$(dirname "$0")/_init.sh"

FILES=$(dirname "$0")/pcap_files.py

# configure PORTS NEIGHBOURS: writes karmalb.conf with one service for each conversation.
configure() {
	cat >"$WORLD_DIR/karmalb.conf" <<-END
		config_version = 1;
		dataplane = {
		  ports = ( $1 );
		  neighbours = ( $2 );
		  sources = [ "10.8.0.1", "2001:db8:8::1" ];
		  max_flows = 4096;
		};
		controlplane = { metrics = ""; };
		defaults = { ping = "none"; reply_check = "none"; };
		services = (
		  { name = "v4"; listen = [ "10.7.0.10:80/tcp", "10.7.0.10:53/udp" ];
		    mirrors = ( { name = "m"; address = "10.7.0.11"; } ); },
		  { name = "v6"; listen = [ "[2001:db8:7::10]:80/tcp", "[2001:db8:7::10]:53/udp" ];
		    mirrors = ( { name = "m"; address = "2001:db8:7::11"; } ); }
		);
	END
}

counter_is() {
	[ "$(counter "$1")" = "$2" ]
}

drops_are() {
	[ "$(drops "$1")" = "$2" ]
}

# expect_drops COUNTER=TOTAL...: these, and no others.
expect_drops() {
	expect_equal "drops" \
		"$(ask_json 'SHOW DROPS' "[d['counter'] + '=' + str(d['total']) for d in r if d['total']]")" "$*"
}

world_create 0
read -r n_good n_bad n_from_clients <<<"$(/usr/bin/python3 "$FILES" write "$WORLD_DIR/in.pcap")"

step "a file of $n_good packets of conversations and $n_bad others"
configure "{ name = \"file\"; device = \"net_pcap0,rx_pcap=$WORLD_DIR/in.pcap,tx_pcap=$WORLD_DIR/out.pcap\"; }" \
	'{ address = "10.7.0.11"; mac = "02:00:00:00:00:0b"; }, { address = "2001:db8:7::11"; mac = "02:00:00:00:00:0c"; }'
dataplane_start || fail "the data plane does not start"
said=$(cat "$WORLD_DIR/log/dataplane")
expect_match "the log" "$said" 'port file: no kernel interface'
mac=$(sed -n 's/.*port file: .* peers need to know \([0-9A-Fa-f:]*\);.*/\1/p' <<<"$said")
controlplane_start || fail "the services are not in force"
wait_for 20 "all packets to be read" counter_is rx_packets $((n_good + n_bad)) || fail "not all were read"
wait_for 20 "those that are ours to be sent" counter_is tx_packets "$n_good" || fail "$(ctl -e 'SHOW DROPS')"
expect_drops drop_protocol=1 drop_icmp=1 drop_ttl=1 drop_no_service=2 drop_no_flow=1 drop_too_big=1
expect_equal "failures" "$(ask_json 'SHOW SERVICES' "sum(s['failed'] for s in r)")" 0
expect_equal "addresses" "$(in_ns lb ip -4 -o addr show dev eth0 | awk '{ print $4 }')" 10.99.0.1/24
finish controlplane
finish dataplane
/usr/bin/python3 "$FILES" judge "$WORLD_DIR/out.pcap" "$mac" || fail "not the packets that should be"

step "the mirrors behind a ring, whose other end is its own"
configure "{ name = \"file\"; device = \"net_pcap0,rx_pcap=$WORLD_DIR/in.pcap,tx_pcap=$WORLD_DIR/none.pcap\"; },
	{ name = \"ring\"; device = \"net_ring0\"; }" \
	'{ address = "default"; mac = "02:00:00:00:00:0b"; port = "ring"; }'
balancer_start || fail "the balancer did not start"
wait_for 20 "what was sent to the mirrors to come back" drops_are drop_no_service $((2 + n_from_clients)) ||
	fail "$(ctl -e 'SHOW DROPS')"
expect_drops drop_protocol=1 drop_icmp=1 drop_ttl=1 drop_no_service=$((2 + n_from_clients)) drop_no_flow=1 drop_too_big=1
expect_equal "packets received" "$(counter rx_packets)" $((n_good + n_bad + n_from_clients))
expect_equal "packets sent" "$(counter tx_packets)" "$n_good"
finish controlplane
finish dataplane
