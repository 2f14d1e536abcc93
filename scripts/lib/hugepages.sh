# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Huge pages on loan.  What was added is remembered in a file and taken away again by that amount,
# so that two borrowers on one host do not disturb each other.  Sourced after common.sh.

HUGEPAGES_COUNT=/proc/sys/vm/nr_hugepages

# hugepages_borrow MIB FILE: tries to have that much free; FILE then holds the number of pages added.
# Returns 1, with nothing changed, where the kernel has none to give.
hugepages_borrow() {
	local mib=$1 file=$2 page_kib free before want after
	page_kib=$(awk '/^Hugepagesize:/ { print $2 }' /proc/meminfo)
	[ -n "$page_kib" ] && [ -w "$HUGEPAGES_COUNT" ] || return 1
	want=$(((mib * 1024 + page_kib - 1) / page_kib))
	free=$(awk '/^HugePages_Free:/ { f = $2 } /^HugePages_Rsvd:/ { r = $2 } END { print f - r }' \
		/proc/meminfo)
	[ "$free" -lt "$want" ] || return 0
	before=$(cat "$HUGEPAGES_COUNT")
	echo $((before + want - free)) >"$HUGEPAGES_COUNT" 2>/dev/null
	after=$(cat "$HUGEPAGES_COUNT")
	echo $((after - before)) >"$file"
	if [ "$after" -lt $((before + want - free)) ]; then
		hugepages_return "$file"
		return 1
	fi
}

# hugepages_return FILE: gives back what hugepages_borrow noted there.  Idempotent.
hugepages_return() {
	local added now
	[ -s "$1" ] || return 0
	added=$(cat "$1")
	now=$(cat "$HUGEPAGES_COUNT")
	rm -f "$1"
	echo $((now > added ? now - added : 0)) >"$HUGEPAGES_COUNT" 2>/dev/null || true
}
