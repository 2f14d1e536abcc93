#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 600 s
# The Debian package is made and installed, a systemd of its own runs the units, a request is
# forwarded, each program comes back after a crash, and a purge leaves nothing of it on the host.

# apt COMMAND...: waits for its turn.
apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -y "$@" \
		>>"$WORLD_DIR/log/apt" 2>&1 </dev/null
}

# The world ends before the package goes: its programs are the package's.
story_clear_own() {
	unshare --mount "$SMOKE/boot_systemd.sh" "$WORLD" --clear
	[ -e "$WORLD_DIR/installed" ] || return 0
	apt purge karmalb || complain "the package karmalb is still installed: apt-get purge karmalb"
}

. "$(dirname "$0")/_init.sh"

UNITS=/usr/lib/systemd/system

# on_host COMMAND...: where systemd runs.
on_host() {
	nsenter --target "$(pgrep -P "$(pid_of systemd)")" --mount --pid --net --cgroup --uts --ipc \
		--wd=/ "$@"
}

systemd_is_up() {
	on_host systemctl is-active basic.target | grep -qx active
} 2>/dev/null

main_pid() {
	on_host systemctl show --value --property MainPID "karmalb-$1"
}

# karmactl_as GROUPS STATEMENT: as a person who is nobody else.
karmactl_as() {
	on_host setpriv --reuid nobody --regid nogroup --groups "$1" karmactl -e "$2"
}

is_in_force() {
	[ "$(on_host karmactl --json -e 'SHOW SERVICES' | json_value 'r[0]["epoch"] or 0')" -gt 0 ]
} 2>/dev/null

answers_again() {
	fetch 2>/dev/null | grep -qx 'm[12]'
}

# is_another PROGRAM PID: it runs, and not as that.
is_another() {
	local pid
	pid=$(main_pid "$1")
	[ "$pid" -gt 0 ] && [ "$pid" != "$2" ]
}

# comes_back PROGRAM: after a kill -9.
comes_back() {
	local pid
	pid=$(main_pid "$1")
	on_host kill -KILL "$pid"
	wait_for 20 "the $1 to come back" is_another "$1" "$pid" || fail "$1 stays away: $(state_of "$1")"
	wait_for 20 "the services to be in force" is_in_force || fail "$1: $(state_of "$1")"
	wait_for 20 "an answer" answers_again || fail "no answer after the $1 came back"
}

state_of() {
	on_host systemctl status --no-pager "karmalb-$1" || true
	on_host journalctl --no-pager --lines 20 || true
}

! dpkg-query -W karmalb >/dev/null 2>&1 || skip "a package karmalb is installed on this host"

make_world 2
balancer_configure 2 'ha_strategy = "nodeads";' 'huge_pages = "0"; max_flows = 65536;'

step "the package is made"
deb=$("$TOP/scripts/package" "$WORLD_DIR" | tail -n 1)
[ -s "$deb" ] || fail "no package"
dpkg-deb --contents "$deb" >"$WORLD_DIR/contents"
for page in man8/karmalb.8 man5/karmalb.conf.5 man1/karmactl.1; do
	grep -q "/usr/share/man/$page.gz$" "$WORLD_DIR/contents" || fail "it lacks $page"
done

step "it is installed"
touch "$WORLD_DIR/installed"
apt install --no-install-recommends "$deb" || fail "apt-get install: $(tail -n 5 "$WORLD_DIR/log/apt")"
expect_equal "owner of /etc/karmalb" "$(stat -c '%U:%G %a' /etc/karmalb)" "root:karmalb 750"
expect_equal "owner of /run/karmalb" "$(stat -c '%U:%G %a' /run/karmalb)" \
	"root:karmalb-dataplane 1775"
expect_match "the user's groups" "$(id -Gn karmalb)" '^karmalb karmalb-dataplane$'

if command -v systemd-analyze >/dev/null; then
	step "systemd has nothing to say about its units"
	expect_equal "systemd-analyze" "$(systemd-analyze verify --man=no "$UNITS"/karmalb*.service \
		2>&1 | grep karmalb || true)" ""
	# Of 100; "OK" ends at 49.
	systemd-analyze security --offline=yes --threshold=40 --no-pager \
		"$UNITS"/karmalb-{dataplane,controlplane}.service >"$WORLD_DIR/log/exposure" 2>&1 ||
		fail "a unit is exposed: $(grep Overall "$WORLD_DIR/log/exposure")"
fi

step "its example is good, and so is our configuration"
karmalb-controlplane --check /etc/karmalb/karmalb.conf.example >/dev/null || fail "it is not"
install -o root -g karmalb -m 640 "$WORLD_DIR/karmalb.conf" /etc/karmalb/karmalb.conf
in_ns lb karmalb-doctor eth0 || fail "karmalb-doctor does not think so"

step "systemd starts what is wanted"
spawn systemd lb unshare --mount "$SMOKE/boot_systemd.sh" "$WORLD" "$UNITS"/karmalb*.service
wait_for 20 "systemd" systemd_is_up || fail "no systemd: $(cat "$WORLD_DIR/log/systemd")"
on_host systemd-tmpfiles --create karmalb.conf || fail "systemd-tmpfiles"
on_host systemctl start karmalb || fail "no start: $(state_of dataplane; state_of controlplane)"
wait_for 20 "the services to be in force" is_in_force || fail "$(state_of dataplane; state_of controlplane)"
expect_match "answer" "$(fetch)" '^m[12]$'
expect_equal "owner of dataplane.sock" "$(on_host stat -c '%U:%G %a' /run/karmalb/dataplane.sock)" \
	"root:karmalb-dataplane 660"
on_host journalctl --no-pager --unit karmalb-dataplane --priority info | grep -q 'ready:' ||
	fail "the journal has no line of the data plane: $(state_of dataplane)"

step "group karmalb reads, karmalb-admin changes"
karmactl_as karmalb 'SHOW SERVICES' >/dev/null || fail "a reader may not read"
if karmactl_as karmalb "SET SERVICE web ha_strategy = 'random'" 2>/dev/null; then
	fail "a reader may change"
fi
karmactl_as karmalb,karmalb-admin "SET SERVICE web ha_strategy = 'random'" ||
	fail "an admin may not change"
step "what an admin saves is kept where the unit may write, and nowhere else"
karmactl_as karmalb,karmalb-admin 'SAVE CONFIG' || fail "SAVE CONFIG"
expect_equal "owner of what was saved" "$(stat -c '%U:%G %a' /var/lib/karmalb/saved.statements)" \
	"karmalb:karmalb 640"
expect_match "what was saved" "$(cat /var/lib/karmalb/saved.statements)" "ha_strategy = .random"
for program in dataplane controlplane; do
	for file in /etc/karmalb/x /var/lib/x; do
		if on_host nsenter --target "$(main_pid "$program")" --mount touch $file 2>/dev/null; then
			fail "the $program may write $file"
		fi
	done
done
karmactl_as karmalb,karmalb-admin RELOAD >/dev/null || fail "RELOAD"
expect_equal "strategy after a reload" \
	"$(on_host karmactl --json -e 'SHOW SERVICES' | json_value 'r[0]["ha_strategy"]')" random

step "anybody else does nothing"
if karmactl_as nogroup 'SHOW SERVICES' 2>/dev/null; then
	fail "anybody may read"
fi

step "systemctl reload has it read its configuration again"
on_host systemctl reload karmalb || fail "systemctl reload: $(state_of controlplane)"
reloads_are() {
	[ "$(on_host karmactl --json -e 'SHOW STATUS' | json_value 'r["reloads_ok"]')" -ge "$1" ]
}
wait_for 10 "the reload" reloads_are 2 || fail "reloads: $(on_host karmactl -e 'SHOW STATUS')"

step "both come back after a crash"
comes_back controlplane
comes_back dataplane

step "a configuration that became bad does not keep the data plane from coming back"
good=$(cat /etc/karmalb/karmalb.conf)
echo 'nonsense' >>/etc/karmalb/karmalb.conf
comes_back dataplane
echo "$good" >/etc/karmalb/karmalb.conf

step "a stop ends both, and the interface is as it was"
on_host systemctl stop karmalb || fail "systemctl stop"
expect_nothing_left
slay systemd

step "it is removed, then purged"
dpkg-query -L karmalb | sort >"$WORLD_DIR/files"
apt remove karmalb
[ -s /etc/karmalb/karmalb.conf ] || fail "a mere removal took the configuration"
apt purge karmalb
rm -f "$WORLD_DIR/installed"
while read -r file; do
	[ -d "$file" ] && [[ $file != *karmalb* ]] || [ ! -e "$file" ] || fail "$file stayed"
done <"$WORLD_DIR/files"
for name in /etc/karmalb /var/lib/karmalb /run/karmalb /run/karmalb-dataplane; do
	[ ! -e "$name" ] || fail "$name stayed"
done
expect_equal "users and groups that stayed" \
	"$(getent passwd karmalb; getent group karmalb karmalb-admin karmalb-dataplane)" ""
