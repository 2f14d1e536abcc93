#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: boot_systemd.sh NAME UNIT_FILE...
#
# In a mount namespace of its own: becomes a host that systemd has booted with these units and
# nothing of the host's own, with empty /run, /tmp and /var/log, and the control group /NAME.
#        boot_systemd.sh NAME --clear
# removes the control group after systemd's end.
set -euo pipefail
name=$1
shift

# Control groups are not where they were: 'ip netns exec' mounts another /sys.
mount_groups() {
	mount -t tmpfs tmpfs /run
	mkdir /run/cgroup
	mount -t cgroup2 cgroup2 /run/cgroup
}

if [ "${1:-}" = --clear ]; then
	mount_groups
	[ ! -d "/run/cgroup/$name" ] || find "/run/cgroup/$name" -depth -type d -exec rmdir {} +
	exit 0
fi
if [ $$ -ne 1 ]; then
	mount_groups
	mkdir -p "/run/cgroup/$name"
	echo $$ >"/run/cgroup/$name/cgroup.procs"
	exec unshare --pid --fork --kill-child --cgroup --ipc --uts "$0" "$name" "$@"
fi

mount -t proc proc /proc
for folder in /run /tmp /var/log; do
	mount -t tmpfs tmpfs "$folder"
done
umount --lazy /sys/fs/cgroup 2>/dev/null || true
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /run/lock /run/log/journal /run/units/sysinit.target.wants
cp "$@" /run/units
cd /usr/lib/systemd/system
cp sysinit.target basic.target shutdown.target network-online.target systemd-journald.service \
	systemd-journald.socket systemd-journald-dev-log.socket /run/units
ln -s ../systemd-journald.service /run/units/sysinit.target.wants
exec env -i container=smoke SYSTEMD_UNIT_PATH=/run/units PATH="$PATH" \
	/lib/systemd/systemd --system --unit=basic.target --show-status=no
