#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 60 s
# Both programs write more or less while they run, and go on with their work.
. "$(dirname "$0")/_init.sh"

start_world 1
for program in dataplane controlplane; do
	step "$program"
	kill -USR1 "$(pid_of $program)"
	wait_for 5 "$program to write all" grep -q 'log level: now debug' "$WORLD_DIR/log/$program" ||
		fail "it does not"
	kill -USR2 "$(pid_of $program)"
	wait_for 5 "$program to write less" grep -q 'log level: now info' "$WORLD_DIR/log/$program" ||
		fail "it does not"
done
expect_equal "answer" "$(fetch)" m1
