#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 600 s
# The Debian package is made, installed, started as its units would, forwards a request, and a purge
# leaves nothing of it on the host.

# apt COMMAND...: waits for its turn.
apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -y "$@" \
		>>"$WORLD_DIR/log/apt" 2>&1 </dev/null
}

# The world ends before the package goes: its programs are the package's.
story_clear_own() {
	[ -e "$WORLD_DIR/installed" ] || return 0
	apt purge karmalb || complain "the package karmalb is still installed: apt-get purge karmalb"
}

. "$(dirname "$0")/_init.sh"

UNITS=/usr/lib/systemd/system
DATAPLANE_RUN=/run/karmalb-dataplane

# unit_values UNIT KEY: what stands behind "KEY=" in it, one a line.
unit_values() {
	sed -n "s/^$2=//p" "$UNITS/$1.service"
}

# unit_identities: what a command begins with to run with the identity, powers and limits of the
# units, in as_dataplane and as_controlplane; the latter may write where its unit says and nowhere
# else (ProtectSystem=strict).
unit_identities() {
	local powers
	powers=$(unit_values karmalb-dataplane CapabilityBoundingSet | tr 'A-Z ' 'a-z,' |
		sed 's/cap_/+/g')
	as_dataplane=(env "RUNTIME_DIRECTORY=$DATAPLANE_RUN"
		setpriv --regid "$(unit_values karmalb-dataplane Group)" --clear-groups
		--inh-caps=-all "--bounding-set=-all,$powers" --no-new-privs)
	# shellcheck disable=SC2016 # the inner shell's variables
	as_controlplane=(unshare --mount --propagation private sh -c '
		for folder in $1; do mount --bind "$folder" "$folder"; done
		mount -o remount,bind,ro / && shift && exec "$@"' sandbox
		"$(unit_values karmalb-controlplane ReadWritePaths) /var/lib/$(unit_values \
			karmalb-controlplane StateDirectory)"
		setpriv --reuid "$(unit_values karmalb-controlplane User)"
		--regid "$(unit_values karmalb-controlplane Group)"
		--groups "$(unit_values karmalb-controlplane SupplementaryGroups)"
		--inh-caps=-all --bounding-set=-all --no-new-privs)
}

# karmactl_as GROUPS STATEMENT: as a person who is nobody else.
karmactl_as() {
	setpriv --reuid nobody --regid nogroup --groups "$1" karmactl -e "$2"
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
fi

step "its example is good, and so is our configuration"
karmalb-controlplane --check /etc/karmalb/karmalb.conf.example >/dev/null || fail "it is not"
install -o root -g karmalb -m 640 "$WORLD_DIR/karmalb.conf" /etc/karmalb/karmalb.conf
in_ns lb karmalb-doctor eth0 || fail "karmalb-doctor does not think so"

step "the data plane starts as its unit says"
install -d -m "$(unit_values karmalb-dataplane RuntimeDirectoryMode)" $DATAPLANE_RUN
before=$(unit_values karmalb-dataplane ExecStartPre | sed "s#^/bin/sh -c '\(.*\)'\$#\1#")
unit_identities
"${as_dataplane[@]}" /bin/sh -c "$before" || fail "ExecStartPre"
# shellcheck disable=SC2046 # an ExecStart line is words
spawn dataplane lb "${as_dataplane[@]}" $(unit_values karmalb-dataplane ExecStart)
socket_is() {
	[ -S /run/karmalb/dataplane.sock ]
}
wait_for 20 "the data plane's socket" socket_is || fail "no data plane"
expect_equal "owner of dataplane.sock" "$(stat -c '%U:%G %a' /run/karmalb/dataplane.sock)" \
	"root:karmalb-dataplane 660"

step "the control plane starts as its unit says, without any power"
# shellcheck disable=SC2046
spawn controlplane lb "${as_controlplane[@]}" $(unit_values karmalb-controlplane ExecStart)
is_in_force() {
	[ "$(karmactl --json -e 'SHOW SERVICES' | json_value 'r[0]["epoch"] or 0')" -gt 0 ]
}
wait_for 15 "the services to be in force" is_in_force || fail "no control plane"
expect_match "answer" "$(fetch)" '^m[12]$'

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
if "${as_controlplane[@]}" touch /etc/karmalb/x /var/lib/x 2>/dev/null; then
	fail "the control plane may write elsewhere, too"
fi
karmactl_as karmalb,karmalb-admin RELOAD >/dev/null || fail "RELOAD"
expect_equal "strategy after a reload" \
	"$(karmactl --json -e 'SHOW SERVICES' | json_value 'r[0]["ha_strategy"]')" random

step "anybody else does nothing"
if karmactl_as nogroup 'SHOW SERVICES' 2>/dev/null; then
	fail "anybody may read"
fi

step "a configuration that became bad does not keep the data plane from coming back"
echo 'nonsense' >>/etc/karmalb/karmalb.conf
"${as_dataplane[@]}" /bin/sh -c "$before" 2>/dev/null || fail "ExecStartPre"
[ -s $DATAPLANE_RUN/arguments ] || fail "the arguments are gone"

step "it is removed, then purged"
finish controlplane 8
finish dataplane 8
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
