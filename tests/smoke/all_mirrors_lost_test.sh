#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 90 s
# 3,200 mirrors that nobody answers for, all found dead at once: the control plane goes on answering
# and taking changes meanwhile.
. "$(dirname "$0")/_init.sh"

N_SERVICES=64 N_MIRRORS=50

# many_services: a list of services on one VIP, mirrors 10.99.11.1, .2, ...
many_services() {
	local s m comma=
	for ((s = 1; s <= N_SERVICES; s++)); do
		printf '%s{ name = "s%d"; listen = [ "%s:%d/tcp" ]; mirrors = (\n' \
			"$comma" "$s" "$WORLD_VIP" $((1000 + s))
		comma=
		for ((m = 1; m <= N_MIRRORS; m++)); do
			printf '%s{ name = "m%d"; address = "10.99.%d.%d"; }' "$comma" "$m" $((10 + s)) "$m"
			comma=,
		done
		printf '); }\n'
		comma=,
	done
}

count_dead() { ask_json 'SHOW MIRRORS' 'sum(m["state"] == "dead" for m in r)'; }
all_are_dead() { [ "$(count_dead)" = $((N_SERVICES * N_MIRRORS)) ]; }

make_world 1
balancer_configure 1 '' 'huge_pages = "0"; max_flows = 65536;'
sed -i -n '1,/^services/p' "$WORLD_DIR/karmalb.conf"
{
	many_services
	echo ');'
	echo 'defaults = { ha_strategy = "nodeads"; ping = "tcp"; ha_ping_interval = "1s"; };'
} >>"$WORLD_DIR/karmalb.conf"
in_ns lb ip route add 10.99.0.0/16 dev eth0
balancer_start

step "changes until all are dead"
n=0
until all_are_dead; do
	n=$((n + 1))
	[ "$n" -lt 500 ] || fail "dead are only $(count_dead)"
	ctl "SET SERVICE s1 dead_after = $((4 + n % 2))" >"$WORLD_DIR/log/set" || fail "change $n is not taken"
	ctl RELOAD >"$WORLD_DIR/log/reload" || fail "reload $n is not done"
done
echo "          there were $n"
