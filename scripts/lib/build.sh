# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Configures and compiles with meson and ninja.  Sourced after common.sh.

# build_programs DIRECTORY [MESON OPTION...]: silent while all goes well, but for one line when
# there is something to do.  The options are put in force on an existing directory, too.  Builds
# BUILD_TARGET, by default all.
build_programs() {
	local directory=$1 log=$1/karmalb-build.log target=${BUILD_TARGET:-all}
	shift
	mkdir -p "$directory"
	if [ ! -f "$directory/build.ninja" ]; then
		say "configuring ${directory#"$TOP"/}"
		meson setup "$directory" "$TOP" "$@" >"$log" 2>&1 || build_failed "$log"
	elif [ $# -gt 0 ]; then
		meson configure "$directory" "$@" >"$log" 2>&1 || build_failed "$log"
	fi
	if ! ninja -C "$directory" -n "$target" 2>/dev/null | grep 'no work to do' >/dev/null; then
		say "building ${directory#"$TOP"/}"
		ninja -C "$directory" "$target" >"$log" 2>&1 || build_failed "$log"
	fi
}

build_failed() {
	log_tail "$1" 40
	die "the build failed"
}
