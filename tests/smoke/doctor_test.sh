#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 60 s
# karmalb-doctor says what is wrong with an interface, refuses the default route's, changes nothing.
. "$(dirname "$0")/_init.sh"

# doctor STATUS PATTERN OPTION...: its exit status, and what it says.
doctor() {
	local expected=$1 pattern=$2 status=0
	shift 2
	in_ns lb "$TOP/scripts/karmalb-doctor" "$@" >"$WORLD_DIR/said" 2>&1 || status=$?
	expect_equal "exit status of karmalb-doctor $*" "$status" "$expected"
	expect_match "karmalb-doctor $*" "$(cat "$WORLD_DIR/said")" "$pattern"
}

# All that it could have changed.
snapshot() {
	in_ns lb sh -c 'ip -d addr; ip route; ip neigh show nud permanent; ethtool -k eth0;
		ethtool -l eth0; tc qdisc show; sysctl -a 2>/dev/null | grep -E "hugepages|bpf_jit"' |
		grep -v 'valid_lft'
}

make_world 1
balancer_configure 1 '' 'huge_pages = "0"; max_flows = 65536;'
snapshot >"$WORLD_DIR/before"

step "its limits are the data plane's"
expect_equal "largest MTU" "$(sed -n 's/^MTU_MAX=\([0-9]*\).*/\1/p' "$TOP/scripts/karmalb-doctor")" \
	"$(sed -n 's/^#define PORT_MTU_MAX *\([0-9]*\).*/\1/p' "$TOP"/dataplane/*.h)"

step "a fit interface"
doctor 0 '^eth0 is fit' eth0
ln -sf "$BUILD/karmalb-controlplane" "$WORLD_DIR/karmalb-controlplane"
PATH=$WORLD_DIR:$PATH doctor 0 'karmalb.conf is good' --config "$WORLD_DIR/karmalb.conf" eth0

step "an interface with IPv6 alone"
in_ns lb ip link add six0 type veth peer name six1
in_ns lb ip link set six1 up
in_ns lb ip link set six0 up
doctor 1 'has no address of its own' six0
in_ns lb sysctl -q -w net.ipv6.conf.six0.disable_ipv6=0
in_ns lb ip -6 addr add 2001:db8:1::1/64 dev six0 nodad
doctor 0 'addresses, IPv6: 2001:db8:1::1/64' six0
in_ns lb ip link del six0

step "words that make no sense"
doctor 2 'which interface' --yes
doctor 2 'there is no interface eth7' eth7
doctor 2 'is not an option' --force eth0

step "what is wrong with it"
doctor 1 'not an Ethernet' lo
in_ns lb ip link set eth0 mtu 9000
doctor 1 'ip link set eth0 mtu' eth0
in_ns lb ip link set eth0 mtu 1500
sed 's#10.99.0.240/28#10.99.0.0/30#' "$WORLD_DIR/karmalb.conf" >"$WORLD_DIR/own.conf"
PATH=$WORLD_DIR:$PATH doctor 1 "10.99.0.1/24, this host's own" --config "$WORLD_DIR/own.conf" eth0
in_ns lb sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=0
in_ns lb ip -6 addr add 2001:db8::f5/64 dev eth0 nodad
sed 's#"10.99.0.240/28"#"10.99.0.240/28", "2001:db8::f0/124"#' "$WORLD_DIR/karmalb.conf" >"$WORLD_DIR/own.conf"
PATH=$WORLD_DIR:$PATH doctor 1 "2001:db8::f5/64, this host's own" --config "$WORLD_DIR/own.conf" eth0
in_ns lb ip -6 addr del 2001:db8::f5/64 dev eth0
PATH=$WORLD_DIR:$PATH doctor 1 'no IPv6 address of its own' --config "$WORLD_DIR/own.conf" eth0
in_ns lb sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=1
in_ns lb ip link add bridge0 type bridge
in_ns lb ip link add port0 type veth peer name port1
in_ns lb ip link set port0 master bridge0 up
doctor 1 'belongs to bridge0' port0
in_ns lb ip link del port0
in_ns lb ip link del bridge0

step "the interface of the default route"
in_ns lb ip route add default via 10.99.0.2
doctor 3 'carries the default route' eth0
doctor 0 'as agreed' --yes eth0
in_ns lb ip link add other0 type veth peer name other1
in_ns lb ip link set other0 up
in_ns lb ip route del default
in_ns lb ip route add default via 10.99.0.2 metric 50
in_ns lb ip route add default dev other0 metric 10
doctor 0 'does not leave by eth0' eth0
in_ns lb ip link del other0

step "nor does the data plane take it without a word"
if dataplane_start 2>/dev/null; then
	fail "it takes the interface of the default route"
fi
expect_match "the sentence" "$(cat "$WORLD_DIR/log/dataplane")" 'default route leaves by eth0'
sed -i 's/device = "af_xdp:eth0";/& default_route = "take";/' "$WORLD_DIR/karmalb.conf"
dataplane_start || fail "it does not take what it may"
finish dataplane 8
in_ns lb ip route flush exact default

step "nothing has changed"
snapshot >"$WORLD_DIR/after"
diff "$WORLD_DIR/before" "$WORLD_DIR/after" || fail "something has"

step "beside a running balancer it sees our own program"
balancer_start || fail "the balancer did not start"
doctor 0 "karmalb's own XDP program" eth0
