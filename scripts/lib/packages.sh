# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Debian packages by purpose: the only place that names them.  Sourced.

# shellcheck disable=SC2034 # used by name
{
	# Compilers, libraries and headers of the programs and their unit tests.
	PACKAGES_build="gcc libc6-dev meson ninja-build pkgconf clang llvm bpftool
		libdpdk-dev libbpf-dev libxdp-dev libconfig-dev libevent-dev libmnl-dev
		libedit-dev libjson-c-dev libcurl4-openssl-dev check"
	# Namespaces, mirrors and the check's arithmetic.
	PACKAGES_demo="iproute2 procps util-linux nginx libnginx-mod-http-echo python3"
	# Smoke tests and lint on top of the demo.
	PACKAGES_test="curl mariadb-client sphinxsearch tcpdump ethtool iputils-ping python3-scapy clang-format shellcheck prometheus
		libclang-rt-14-dev mariadb-server-core python3-pymysql systemd"
	# scripts/package on top of the build.
	PACKAGES_package="dpkg-dev python3"
	# scripts/bench on top of the build.
	PACKAGES_bench="python3"
	# What scripts/bench endtoend compares with, on top of build and demo.
	PACKAGES_endtoend="nftables haproxy ethtool"
}

package_is_installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# packages_install PURPOSE...: installs what these lists name and the machine lacks; silent if that
# is nothing.
packages_install() {
	local purpose list name missing=() log
	for purpose in "$@"; do
		list=PACKAGES_$purpose
		for name in ${!list}; do
			[[ " ${missing[*]} " == *" $name "* ]] || package_is_installed "$name" ||
				missing+=("$name")
		done
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	need_root "installing packages (${missing[*]})"
	command -v apt-get >/dev/null || die "no apt-get here; karmalb is made for Debian 12"
	log=$(mktemp /tmp/karmalb-packages.XXXXXX)
	say "installing ${#missing[@]} packages: ${missing[*]}"
	packages_try "$log" "${missing[@]}" ||
		die "apt-get could not install them; the whole story is in $log"
	rm -f "$log"
}

# Lists that are missing are fetched first; lists too old to install from, after that failed.
packages_try() {
	local log=$1
	shift
	if compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; then
		packages_apt "$log" install -y --no-install-recommends "$@" && return 0
		say "with these package lists it does not work; fetching new ones"
	fi
	packages_apt "$log" update
	packages_apt "$log" install -y --no-install-recommends "$@" || {
		log_tail "$log" 8
		return 1
	}
}

# apt-get with a dot every few seconds.  A server that comes with the packages for the sake of demo
# or benchmark must neither start now nor at the next boot.
packages_apt() (
	log=$1
	policy=/usr/sbin/policy-rc.d
	strangers=()
	shift
	for server in nginx haproxy; do
		package_is_installed "$server" || strangers+=("$server")
	done
	if [ ! -e "$policy" ]; then
		trap 'rm -f "$policy"' EXIT
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
	fi
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
		"$@" >>"$log" 2>&1 </dev/null &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		sleep 2
		printf '.'
	done
	printf '\n'
	wait "$pid" || exit 1
	[ -d /run/systemd/system ] || exit 0
	for server in "${strangers[@]}"; do
		package_is_installed "$server" || continue
		systemctl --quiet disable "$server.service" >>"$log" 2>&1 || true
		say "$server came along; its own service stays off"
	done
)
