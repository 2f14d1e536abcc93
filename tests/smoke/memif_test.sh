#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 150 s
# Shared memory (memif) with a queue for each of two workers at both of its ends: a balancer is the
# mirror of another.  Real clients before the one and real mirrors behind the other see no difference,
# each queue carries its half, and what one end sends is what the other gets.
. "$(dirname "$0")/_init.sh"

# The one behind, in a namespace and a run directory of its own.
behind=$WORLD_DIR/behind
MIDDLE=10.7.0.11 # its VIP, which is the first one's mirror

# memif_configure FILE PORTS SOURCES VIP MORE MIRROR_LINES
memif_configure() {
	cat >"$1" <<-END
		config_version = 1;
		dataplane = { ports = ( $2 ); sources = [ "$3" ]; max_flows = 65536; $5 };
		defaults = { ha_strategy = "random"; ping = "none"; agent_connect_timeout = "20s"; agent_query_timeout = "60s"; };
		services = (
		  { name = "web"; listen = [ "$4:80/tcp" ]; mirrors = ( $6 ); },
		  { name = "dns"; listen = [ "$4:5300/udp" ]; mirrors = ( $6 ); }
		);
	END
}

memif() {
	printf 'net_memif0,role=%s,socket-abstract=no,socket=%s' "$1" "$behind/memif.sock"
}

# of_behind COMMAND...: the same of the one behind.
of_behind() {
	CONTROL_SOCKET=$behind/control.sock "$@"
}

behind_is_in_force() {
	[ "$(of_behind counter epoch_in_force)" -ge 1 ]
}

behind_start() {
	mkdir -p "$behind/state"
	memif_configure "$behind/karmalb.conf" "
		{ name = \"shared\"; device = \"$(memif server)\"; },
		{ name = \"mirrors\"; device = \"af_xdp:eth0\"; }" "$WORLD_SOURCES" "$MIDDLE" "" \
		'{ name = "m1"; address = "10.99.0.101"; }, { name = "m2"; address = "10.99.0.102"; }'
	"$BUILD/karmalb-controlplane" --dataplane-arguments "$behind/karmalb.conf" >"$behind/arguments"
	spawn behind-dataplane behind "$BUILD/karmalb-dataplane" --run-dir "$behind" \
		--arguments "$behind/arguments" --workers "$(worker_cpus 2)"
	wait_for 20 "the data plane behind to start" grep -q 'ready: ' "$WORLD_DIR/log/behind-dataplane" ||
		fail "$(cat "$WORLD_DIR/log/behind-dataplane")"
	spawn behind-controlplane behind "$BUILD/karmalb-controlplane" --run-dir "$behind" \
		--state-dir "$behind/state" "$behind/karmalb.conf"
	wait_for 20 "the services behind to be in force" behind_is_in_force || fail "$(of_behind ctl -e 'SHOW STATUS')"
}

# port_packets NAMESPACE PORT rx|tx: that its device counted.
port_packets() {
	metric "$1" "karmalb_port_$3_packets_total" "port=\"$2\""
}

# nothing_is_lost NAMESPACE PORT...: all that its ports took was handled, and left by them.
nothing_is_lost() {
	local ns=$1 port rx=0 tx=0
	shift
	for port in "$@"; do
		rx=$((rx + $(port_packets "$ns" "$port" rx)))
		tx=$((tx + $(port_packets "$ns" "$port" tx)))
	done
	[ "$(counter dropped)" -eq 0 ] && [ "$(counter rx_packets) $(counter tx_packets) $tx" = "$rx $rx $rx" ]
}

both_ends_agree() {
	[ "$(port_packets behind shared rx)" -eq "$(port_packets lb shared tx)" ] &&
		[ "$(port_packets lb shared rx)" -eq "$(port_packets behind shared tx)" ]
}

# expect_nothing_lost: once all has been counted.
expect_nothing_lost() {
	wait_for 20 "the books of the first" nothing_is_lost lb clients shared || fail "$(ctl -e 'SHOW STATUS')"
	wait_for 20 "the books of the one behind" of_behind nothing_is_lost behind shared mirrors ||
		fail "$(of_behind ctl -e 'SHOW STATUS')"
	wait_for 20 "both ends of the memif to agree" both_ends_agree ||
		fail "$(port_packets lb shared tx) packets went in, $(port_packets behind shared rx) came out," \
			"$(port_packets behind shared tx) went back, $(port_packets lb shared rx) came back"
}

# expect_even_queues WHO NAMESPACE: what came in by each queue of 'shared'.  Worker 1 has one of them
# and no other queue, so what came in by that one it handled itself or handed over to worker 0.
expect_even_queues() {
	local all one
	all=$(port_packets "$2" shared rx)
	one=$(($(of_worker 1 rx_packets) + $(of_worker 1 handed_over) - $(of_worker 0 handed_over)))
	step "$1 got $one packets by one queue of the memif and $((all - one)) by the other"
	expect_between "packets that $1 got by one queue, in % of an even share" \
		"$(awk -v one="$one" -v all="$all" 'BEGIN { print 200 * one / all }')" 90 110
}

make_world 2
world_namespace behind
world_link behind 10.99.0.3
for m in m1 m2; do
	scripted_start $m udp 5300
done
behind_start
memif_configure "$WORLD_DIR/karmalb.conf" "
	{ name = \"clients\"; device = \"af_xdp:eth0\"; }, { name = \"shared\"; device = \"$(memif client)\"; }" \
	10.6.0.0/29 "$WORLD_VIP" \
	"neighbours = ( { address = \"$MIDDLE\"; mac = \"$(port_mac behind-dataplane shared)\"; port = \"shared\"; } );" \
	"{ name = \"behind\"; address = \"$MIDDLE\"; }"
DATAPLANE_OPTIONS=(--workers "$(worker_cpus 2)")
dataplane_start || fail "no data plane on memif"
for log in dataplane behind-dataplane; do
	expect_match "$log" "$(cat "$WORLD_DIR/log/$log")" 'port shared: net_memif0,.*, 2 queues'
	wait_for 20 "the two to be connected" port_is_up $log shared || fail "$(cat "$WORLD_DIR/log/$log")"
done
controlplane_start || fail "the services are not in force"
wait_for 20 "a first answer" fetch || fail "no answer through both"

for m in m1 m2; do : >"$WORLD_DIR/$m/access"; done
load_through 5000 64 1000
for m in m1 m2; do
	expect_answers $m "$(load_value "r['mirrors']['$m']")"
done

step "300 clients with 3 queries each, by UDP"
asked udp "$WORLD_VIP" 5300 300 3
for m in m1 m2; do
	expect_equal "queries that $m saw" "$(scripted_requests $m udp)" "$(answers $m)"
done
expect_equal "answers of the mirrors" "$(($(answers m1) + $(answers m2)))" 900

# The first answers came by up to 30 more.
expect_flows $((n_requests + 301)) $((n_requests + 330))
of_behind expect_flows $((n_requests + 301)) $((n_requests + 330))
expect_nothing_lost
expect_even_spread 2 flows_opened
of_behind expect_even_spread 2 flows_opened
expect_even_queues "the first" lb
of_behind expect_even_queues "the one behind" behind

step "a file of 4 MB in both directions"
expect_download 4000000 m1 m2
in_ns client curl -sS --max-time 60 -H 'Expect:' --data-binary "@$WORLD_DIR/sent" -o "$WORLD_DIR/got" \
	"http://$WORLD_VIP/echo" || fail "the upload failed"
cmp "$WORLD_DIR/sent" "$WORLD_DIR/got" || fail "the upload arrived as something else"
expect_nothing_lost
finish behind-controlplane
finish behind-dataplane
