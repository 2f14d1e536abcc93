# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A private world: network namespaces around one bridge, and processes in them, each started, found
# and ended by its own pid.  Demo and smoke tests live in one each.  Sourced after common.sh.
#
#   client 10.99.0.2   balancer 10.99.0.1, VIP 10.99.0.10   mirror mN 10.99.0.10N
#          \______________________|__________________________/   all in 10.99.0.0/24
#
# In WORLD_DIR: pid/NAME ("pid birth"), log/NAME, netns (names), conf files.

# shellcheck disable=SC2034 # used by those who source this
WORLD_VIP=10.99.0.10
# shellcheck disable=SC2034
WORLD_SOURCES=10.99.0.240/28

# world_choose NAME: says which world the functions below are about.
world_choose() {
	WORLD=$1
	WORLD_DIR=/run/$WORLD
}

# world_create MIRRORS: the namespaces with all links up.
world_create() {
	local n_mirrors=$1 i
	mkdir -p "$WORLD_DIR/pid" "$WORLD_DIR/log"
	world_namespace net
	in_ns net ip link add bridge type bridge
	in_ns net ip link set bridge up
	# A bridge is a wire here: no firewall between its ends, which would sort out odd packets.
	in_ns net sysctl -q -w net.bridge.bridge-nf-call-iptables=0 2>/dev/null || true
	world_namespace client
	world_link client 10.99.0.2
	world_namespace lb
	world_link lb 10.99.0.1
	for ((i = 1; i <= n_mirrors; i++)); do
		world_namespace "m$i"
		world_link "m$i" "10.99.0.10$i"
	done
}

world_namespace() {
	echo "$WORLD-$1" >>"$WORLD_DIR/netns"
	ip netns add "$WORLD-$1" || die "cannot make the network namespace $WORLD-$1"
	in_ns "$1" sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 \
		2>/dev/null || true
	in_ns "$1" ip link set lo up
}

# world_link NAME ADDRESS: eth0 of that namespace, its other end plugged into the bridge.
world_link() {
	in_ns net ip link add "$1" type veth peer name eth0 netns "$WORLD-$1"
	in_ns net ip link set "$1" master bridge up
	in_ns "$1" ip addr add "$2/24" dev eth0
	in_ns "$1" ip link set eth0 up
}

# in_ns NAME COMMAND...: runs it there.
in_ns() {
	local ns=$1
	shift
	ip netns exec "$WORLD-$ns" "$@"
}

# spawn NAME NAMESPACE COMMAND...: starts it in the background, out of reach of the terminal's
# Ctrl-C, with its output in log/NAME.
spawn() {
	local name=$1 ns=$2 pid
	shift 2
	# Its pid would be forgotten, and it would outlive the world.
	! is_running "$name" || die "$name runs already"
	setsid ip netns exec "$WORLD-$ns" "$@" >>"$WORLD_DIR/log/$name" 2>&1 </dev/null 8>&- 9>&- &
	pid=$!
	disown "$pid"
	echo "$pid $(process_birth "$pid")" >"$WORLD_DIR/pid/$name"
}

# pid_of NAME: its pid if it runs.
pid_of() {
	local pid birth
	{ read -r pid birth <"$WORLD_DIR/pid/$1"; } 2>/dev/null || return 1
	[ -n "$birth" ] && [ "$(process_birth "$pid")" = "$birth" ] || return 1
	echo "$pid"
}

is_running() {
	pid_of "$1" >/dev/null
}

# finish NAME [SECONDS]: asks it to end, and insists after that time, which KARMALB_PATIENCE multiplies.
finish() {
	local name=$1 limit_s=$((${2:-5} * ${KARMALB_PATIENCE:-1})) pid tick
	pid=$(pid_of "$name") || return 0
	kill -TERM "$pid" 2>/dev/null || true
	for ((tick = 0; tick < limit_s * 20; tick++)); do
		is_running "$name" || break
		sleep 0.05
	done
	if is_running "$name"; then
		complain "$name did not end within $limit_s s; killed"
		slay "$name"
	fi
	rm -f "$WORLD_DIR/pid/$name"
}

# slay NAME: kill -9, with its children if it has any.
slay() {
	local pid children
	pid=$(pid_of "$1") || return 0
	children=$(pgrep -P "$pid" || true)
	# shellcheck disable=SC2086 # a list of pids
	kill -KILL "$pid" $children 2>/dev/null || true
	while is_running "$1"; do sleep 0.02; done
	rm -f "$WORLD_DIR/pid/$1"
}

# world_destroy: ends all processes in the order given here, then the namespaces.  Idempotent, and
# good for the remains of a world whose maker died.
world_destroy() {
	local name ns
	[ -d "$WORLD_DIR" ] || return 0
	for name in load controlplane dataplane; do
		finish "$name" 8
	done
	for name in "$WORLD_DIR"/pid/*; do
		[ -e "$name" ] && slay "${name##*/}"
	done
	if [ -f "$WORLD_DIR/netns" ]; then
		while read -r ns; do
			ip netns del "$ns" 2>/dev/null || true
		done <"$WORLD_DIR/netns"
	fi
}
