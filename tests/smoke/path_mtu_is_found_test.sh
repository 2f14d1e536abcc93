#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# Routers with a narrow link behind them: their ICMP errors, fragmentation needed and packet too
# big, reach the one whose packets were too large, client or mirror, in its own terms; so transfers
# in either direction succeed, and no mirror is blamed.
. "$(dirname "$0")/_init.sh"

FAR=10.97.0.2 # a mirror behind m1

# behind NAME ROUTER NETWORK: a namespace to which its router sends at most 1280 bytes.
behind() {
	local name=$1 router=$2 net=$3
	world_namespace "$name"
	in_ns "$router" ip link add narrow type veth peer name eth0 netns "$WORLD-$name"
	in_ns "$router" ip addr add "$net.1/24" dev narrow
	in_ns "$router" ip link set narrow up
	in_ns "$router" ip route add "$net.2" dev narrow mtu lock 1280
	in_ns "$router" sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.icmp_ratelimit=0
	in_ns "$name" ip addr add "$net.2/24" dev eth0
	in_ns "$name" ip link set eth0 up
	in_ns "$name" ip route add default via "$net.1"
	# Segments are as large on the wire as in the sender.
	in_ns "$router" ethtool -K narrow tso off gso off gro off >/dev/null
	in_ns "$router" ethtool -K eth0 tso off gso off gro off >/dev/null
	in_ns "$name" ethtool -K eth0 tso off gso off gro off tx off >/dev/null
}

make_world 2
behind far m1 10.97.0
behind outside m2 10.96.0
in_ns lb ip route add 10.97.0.0/24 via 10.99.0.101
in_ns lb ip route add 10.96.0.0/24 via 10.99.0.102
mirror_configure far 0 timer
mirror_start far || fail "far did not start"
head -c 1000000 /dev/urandom >"$WORLD_DIR/content"
cp "$WORLD_DIR/content" "$WORLD_DIR/far/body/content"
cp "$WORLD_DIR/content" "$WORLD_DIR/m1/body/content"
configure "
	{ name = \"far\"; listen = [ \"$WORLD_VIP:80/tcp\" ]; ha_strategy = \"random\"; ha_ping_interval = \"0\";
	  agent_query_timeout = \"60s\"; mirrors = ( { name = \"far\"; address = \"$FAR:80\"; } ); },
	{ name = \"near\"; listen = [ \"$WORLD_VIP:81/tcp\" ]; ha_strategy = \"random\"; ha_ping_interval = \"0\";
	  agent_query_timeout = \"60s\"; mirrors = ( { name = \"near\"; address = \"10.99.0.101:80\"; } ); }
"
balancer_start || fail "the balancer did not start"

# has_path_mtu NAME DESTINATION: the kernel there has learnt it.
has_path_mtu() {
	in_ns "$1" ip route get "$2" | grep -q 'mtu 1280'
}

step "an upload to a mirror behind a narrow link"
has_path_mtu client "$WORLD_VIP" && fail "the client knows too much"
in_ns client curl -sS --max-time 60 -o "$WORLD_DIR/echoed" -H 'Expect:' \
	--data-binary @"$WORLD_DIR/content" "http://$WORLD_VIP/echo" || fail "the upload hangs"
cmp "$WORLD_DIR/content" "$WORLD_DIR/echoed" || fail "it arrived as something else"
has_path_mtu client "$WORLD_VIP" || fail "the client was not told: $(in_ns client ip route get "$WORLD_VIP")"

step "a download by a client behind a narrow link"
in_ns outside curl -sS --max-time 60 -o "$WORLD_DIR/got" "http://$WORLD_VIP:81/body/content" ||
	fail "the download hangs"
cmp "$WORLD_DIR/content" "$WORLD_DIR/got" || fail "the download brought something else"
has_logged_it() {
	grep -q ' /body/content$' "$WORLD_DIR/m1/access"
}
wait_for 20 "m1 to log it" has_logged_it || fail "m1 did not"
source=$(awk '$6 == "/body/content" { print $4; exit }' "$WORLD_DIR/m1/access")
has_path_mtu m1 "$source" || fail "the mirror was not told: $(in_ns m1 ip route get "$source")"

step "nobody is blamed for it"
expect_outcomes far far "succeeded_queries=1"
expect_outcomes near near "succeeded_queries=1"
expect_equal "drop_icmp" "$(drops drop_icmp)" 0
