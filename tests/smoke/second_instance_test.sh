#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# A second data plane or control plane is refused with a sentence, and the first does not notice.
. "$(dirname "$0")/_init.sh"

start_world 2 'ha_strategy = "random";'
load_start --clients 4 --rate 100
load_is_flowing

# refused WHAT PATTERN COMMAND...: ends by itself, unsuccessfully, and says why.
refused() {
	local what=$1 pattern=$2 said status=0
	shift 2
	said=$(in_ns lb timeout $((15 * ${KARMALB_PATIENCE:-1})) "$@" 2>&1) || status=$?
	case $status in
	0 | 124) fail "$what: exit status $status" ;;
	esac
	expect_match "$what" "$said" "$pattern"
	step "$what: $(tail -n 1 <<<"$said")"
}

refused "a data plane with the same run directory" "$WORLD_DIR/dataplane.sock: another data plane serves it\$" \
	"$BUILD/karmalb-dataplane" --run-dir "$WORLD_DIR" --arguments "$WORLD_DIR/dataplane.arguments"
mkdir "$WORLD_DIR/other"
refused "a data plane on the same interface" "interface eth0 belongs to another karmalb-dataplane \(pid $(pid_of dataplane)\); stop it first, or use another interface\$" \
	"$BUILD/karmalb-dataplane" --run-dir "$WORLD_DIR/other" --arguments "$WORLD_DIR/dataplane.arguments"
refused "a control plane with the same run directory" "another control plane answers at $WORLD_DIR/control.sock; stop it first or choose another --run-dir" \
	"$BUILD/karmalb-controlplane" --run-dir "$WORLD_DIR" "$WORLD_DIR/karmalb.conf"

ctl -e 'SHOW MIRRORS' || fail "the first control plane does not answer any more"
requests=$(load_value 'r["requests"]')
wait_for 10 "traffic to go on" load_requests_more_than $((requests + 100)) || fail "traffic stopped"
load_stop
expect_equal "failed requests" "$(load_failed)" 0
