#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 120 s
# What keeps the data plane from starting is told in a sentence and leaves nothing behind; what need
# not keep it from starting does not.
. "$(dirname "$0")/_init.sh"

UNDER=(env) # what starts the data plane that is to be refused

# refused PATTERN OPTION...: the data plane ends by itself, unsuccessfully, and says why.
refused() {
	local pattern=$1 said status=0
	shift
	said=$(in_ns lb "${UNDER[@]}" timeout $((30 * ${KARMALB_PATIENCE:-1})) "$BUILD/karmalb-dataplane" --run-dir "$WORLD_DIR" \
		--source=10.99.0.240/28 --max-flows=1000 "$@" 2>&1) || status=$?
	expect_equal "exit status of $*" "$status" 1
	expect_match "$*" "$(tail -n 1 <<<"$said")" "$pattern"
	step "$(tail -n 1 <<<"$said")"
	expect_nothing_left
}

is_not_applied() {
	grep -q 'epoch 1 is not applied, 0 stays in force: cannot put address' "$WORLD_DIR/log/dataplane"
}

# has ADDRESS: the balancer's interface bears it.
has() {
	[ "$(in_ns lb ip -o addr show dev eth0 | grep -cF " $1/" || true)" -gt 0 ]
}

vip_is_gone() {
	! has "$WORLD_VIP"
}

make_world 1

refused 'port front: there is no interface eth7' --port=front=af_xdp:eth7
in_ns lb ip link set eth0 down
refused 'interface eth0 is down; bring it up first: ip link set eth0 up' --port=front=af_xdp:eth0
in_ns lb ip link set eth0 up
in_ns lb ip link set eth0 mtu 9000
refused 'has MTU 9000, but .* run: ip link set eth0 mtu' --port=front=af_xdp:eth0
in_ns lb ip link set eth0 mtu 1500
refused 'max_flows = 1000000000 needs [0-9]+ MiB of memory, and [0-9]+ MiB can be had' \
	--port=front=af_xdp:eth0 --max-flows=1000000000
mkdir "$WORLD_DIR/group"
echo $((24 << 20)) >"$WORLD_DIR/group/memory.max"
echo 0 >"$WORLD_DIR/group/memory.current"
# shellcheck disable=SC2016 # for that shell
UNDER=(unshare --mount sh -c 'mount --bind "$0" /sys/fs/cgroup && exec "$@"' "$WORLD_DIR/group")
refused 'packets need [0-9]+ MiB of memory, and 24 MiB can be had: free some' --port=front=af_xdp:eth0
UNDER=(prlimit --memlock=8388608 setpriv --bounding-set=-ipc_lock)
refused 'AF_XDP locks [0-9]+ MiB of memory, the limit is 8 MiB: raise it' --port=front=af_xdp:eth0
UNDER=(env)
refused "its neighbours are the kernel's; .* ip neigh replace" \
	--port=front=af_xdp:eth0 --neighbour=10.99.0.101=02:00:00:00:00:01,port=front
refused 'no port without a kernel interface' --port=front=af_xdp:eth0 --neighbour=10.99.0.101=02:00:00:00:00:01
refused 'could be behind a or b; say which' --port=a=net_ring0 --port=b=net_ring1 \
	--neighbour=10.99.0.101=02:00:00:00:00:01
refused 'no port has this name' --port=a=net_ring0 --neighbour=10.99.0.101=02:00:00:00:00:01,port=c
refused 'name the neighbour "default"' --port=a=net_ring0,reply_via=route
refused 'cannot open device net_pcap0' "--port=a=net_pcap0,rx_pcap=$WORLD_DIR/no.pcap"
refused 'cannot open device net_nothing0' --port=a=net_nothing0

step "too few huge pages are a line in the log"
balancer_configure 1 '' 'huge_pages = "1T"; max_flows = 4096;'
balancer_start || fail "it does not start without huge pages"
expect_match "the log" "$(cat "$WORLD_DIR/log/dataplane")" 'huge pages: 1048576 MiB asked for, [0-9]+ MiB free; going on without'
fetch || fail "no answer"
finish controlplane
finish dataplane
expect_nothing_left

step "a first list of services that cannot be served is taken back whole"
in_ns lb sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=0
balancer_configure 1 '' 'huge_pages = "0"; max_flows = 4096;'
sed -i "s#listen = .*#listen = [ \"$WORLD_VIP:80/tcp\" ];#; s#sources = .*#sources = [ \"$WORLD_SOURCES\", \"fd00:99::f0\" ];#" \
	"$WORLD_DIR/karmalb.conf"
sed -i '$d' "$WORLD_DIR/karmalb.conf"
cat >>"$WORLD_DIR/karmalb.conf" <<'END'
  , { name = "web6"; listen = [ "[fd00:99::10]:80/tcp" ]; mirrors = ( { name = "m1"; address = "fd00:99::101"; } ); }
);
END
dataplane_start || fail "no start with IPv6"
in_ns lb sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=1
spawn controlplane lb "$BUILD/karmalb-controlplane" --run-dir "$WORLD_DIR" "$WORLD_DIR/karmalb.conf"
wait_for 20 "the data plane to turn it down" is_not_applied || fail "$(cat "$WORLD_DIR/log/dataplane")"
wait_for 20 "the VIP to be given back" vip_is_gone || fail "$(in_ns lb ip addr show dev eth0)"
has 10.99.0.240 || fail "the sources are gone, too"
in_ns lb sysctl -q -w net.ipv6.conf.eth0.disable_ipv6=0
finish controlplane
controlplane_start || fail "not in force when it can be served"
fetch || fail "no answer"
