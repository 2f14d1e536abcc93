# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The balancer in namespace 'lb': configuration, start, questions.  Sourced after world.sh.

# Options of the data plane beyond those that the configuration yields.
DATAPLANE_OPTIONS=()

# worker_cpus N: a list of N of the CPUs that we may use, again from the first where they do not
# suffice; for the data plane's option --workers.
worker_cpus() {
	/usr/bin/python3 -c '
import os, sys
cpus = sorted(os.sched_getaffinity(0))
print(*(cpus[i % len(cpus)] for i in range(int(sys.argv[1]))), sep=",")' "$1"
}

# balancer_configure MIRRORS SERVICE_LINES [DATAPLANE_LINES]: writes karmalb.conf with one service
# 'web' at the VIP; the lines are settings of these groups.
balancer_configure() {
	local n_mirrors=$1 i comma=,
	{
		cat <<-END
			config_version = 1;
			dataplane = {
			  ports = ( { name = "front"; device = "af_xdp:eth0"; } );
			  sources = [ "$WORLD_SOURCES" ];
			  $3
			};
			services = (
			  { name = "web";
			    listen = [ "$WORLD_VIP:80/tcp" ];
			    $2
			    mirrors = (
		END
		for ((i = 1; i <= n_mirrors; i++)); do
			[ "$i" -lt "$n_mirrors" ] || comma=
			printf '      { name = "m%d"; address = "10.99.0.10%d"; }%s\n' "$i" "$i" "$comma"
		done
		printf '    );\n  }\n);\n'
	} >"$WORLD_DIR/karmalb.conf"
}

# balancer_start: both programs; returns when the services are in force in the data plane.
balancer_start() {
	dataplane_start && controlplane_start
}

dataplane_start() {
	"$BUILD/karmalb-controlplane" --dataplane-arguments "$WORLD_DIR/karmalb.conf" \
		>"$WORLD_DIR/dataplane.arguments" 2>>"$WORLD_DIR/log/dataplane" || {
		complain "the configuration yields no arguments for the data plane"
		log_tail "$WORLD_DIR/log/dataplane"
		return 1
	}
	DATAPLANE_LOG_BEFORE=$(stat -c %s "$WORLD_DIR/log/dataplane")
	spawn dataplane lb "$BUILD/karmalb-dataplane" --run-dir "$WORLD_DIR" \
		--arguments "$WORLD_DIR/dataplane.arguments" "${DATAPLANE_OPTIONS[@]}"
	wait_for_start 20 dataplane dataplane_is_there || {
		log_tail "$WORLD_DIR/log/dataplane"
		return 1
	}
}

# wait_for_start SECONDS PROGRAM COMMAND: until it is so, or the program has ended, which is a
# failure at once.
wait_for_start() {
	wait_for "$1" "the $2 to be ready" is_so_or_ended "$2" "$3" && "$3"
}

is_so_or_ended() {
	"$2" || ! is_running "$1"
}

# It listens before it has its ports, and a killed one leaves its socket's file: its log tells, to
# which all of them append.
dataplane_is_there() {
	is_running dataplane &&
		tail -c "+$((DATAPLANE_LOG_BEFORE + 1))" "$WORLD_DIR/log/dataplane" | grep 'ready: ' >/dev/null
}

controlplane_start() {
	mkdir -p "$WORLD_DIR/state"
	CONTROLPLANE_LOG_BEFORE=$(stat -c %s "$WORLD_DIR/log/controlplane" 2>/dev/null || echo 0)
	spawn controlplane lb "$BUILD/karmalb-controlplane" --run-dir "$WORLD_DIR" \
		--state-dir "$WORLD_DIR/state" "$WORLD_DIR/karmalb.conf"
	wait_for_start 15 controlplane balancer_is_ready || {
		log_tail "$WORLD_DIR/log/controlplane"
		log_tail "$WORLD_DIR/log/dataplane"
		return 1
	}
}

# A statement to the control plane, be it the one at CONTROL_SOCKET.
ctl() {
	"$BUILD/karmactl" --socket "${CONTROL_SOCKET:-$WORLD_DIR/control.sock}" "$@"
}

# ask_json STATEMENT EXPRESSION: evaluates a Python expression on the reply, named 'r'.
ask_json() {
	ctl --json -e "$1" | json_value "$2"
}

# json_value EXPRESSION: the same, of what stands on its input.
json_value() {
	/usr/bin/python3 -c '
import json, sys
r = json.load(sys.stdin)
v = eval(sys.argv[1])
print(*v if isinstance(v, (list, tuple)) else [v])
' "$1"
}

# What a former control plane left in force is not yet what this one was told to serve; its log says
# which epoch it found.
balancer_is_ready() {
	local found
	found=$(tail -c "+$((CONTROLPLANE_LOG_BEFORE + 1))" "$WORLD_DIR/log/controlplane" |
		sed -n 's/.*data plane connected: .*, epoch \([0-9]*\) in force.*/\1/p' | tail -n 1)
	[ -n "$found" ] && [ "$(ask_json 'SHOW SERVICES' 'r[0]["epoch"] or 0')" -gt "$found" ]
}

# load_start OPTION...: the client's load in the background until load_stop.
load_start() {
	rm -f "$WORLD_DIR/load.json"
	spawn load client "$BUILD/tests/load/karmalb-load" --seconds 0 --status "$WORLD_DIR/load.json" \
		"$@" "$WORLD_VIP:80"
}

# load_stop: lets it finish what is under way; then load.json holds the final counts.
load_stop() {
	finish load 10
}

# load_value EXPRESSION: of its counts, at most a second old while it runs.
load_value() {
	json_value "$1" <"$WORLD_DIR/load.json"
}
