# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What every script here needs: sentences, waiting with a limit, processes ended by their own pid.
# Sourced; sets TOP (the clone) and BUILD (where the programs are).

# shellcheck disable=SC2034 # used by those who source this
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck disable=SC2034
BUILD=${KARMALB_BUILD:-$TOP/build}

say() {
	printf '%s\n' "$*"
}

complain() {
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

die() {
	complain "$*"
	exit 1
}

# What was asked cannot be meant: before anything is done.
misuse() {
	complain "$*"
	exit 2
}

need_root() {
	[ "$(id -u)" -eq 0 ] ||
		die "$1 needs root (namespaces, XDP, packages): run it with sudo or in a root shell"
}

# wait_for SECONDS WHAT COMMAND...: polls until COMMAND succeeds; else says that WHAT did not come.
# KARMALB_PATIENCE multiplies all limits: tests judge whether something comes, not how busy the
# machine is meanwhile.
wait_for() {
	local limit_s=$(($1 * ${KARMALB_PATIENCE:-1})) what=$2 end
	shift 2
	end=$((SECONDS + limit_s))
	until "$@" >/dev/null 2>&1; do
		if [ "$SECONDS" -ge "$end" ]; then
			complain "waited $limit_s s in vain: $what"
			return 1
		fi
		sleep 0.1
	done
}

# When a process began, in clock ticks since boot; empty if there is none.  With its pid this names
# a process for good, as a pid alone does not.
process_birth() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
	stat=${stat##*) }
	# shellcheck disable=SC2086 # the fields are words
	set -- $stat
	# While other threads (18) are there its sockets are, too, though the first one has ended.
	[ "$1" != Z ] || [ "${18}" -gt 1 ] || return 1
	echo "${20}"
}

# The last lines of a log, indented, for a message about what failed.
log_tail() {
	[ -s "$1" ] || return 0
	printf '  last lines of %s:\n' "$1" >&2
	tail -n "${2:-12}" "$1" | sed 's/^/    /' >&2
}
