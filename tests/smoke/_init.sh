# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Each *_test.sh here is a short story in a private world: client - balancer - real mirrors, in
# network namespaces of its own.  This file makes the world, waits, compares and clears away, so
# that a story tells only what happens.  A story that comes to its end has passed; 'skip' and 'fail'
# end it early.  "# limit: N s" in a story is its time limit for scripts/test.
#
#   . "$(dirname "$0")/_init.sh"
#   start_world 3 'ha_strategy = "nodeads"; ha_period_karma = "1s";'
#   load_start --clients 8 --rate 200
#   step "m2 crashes"
#   mirror_kill m2
#   wait_for 3 "m2 to be called dead" mirror_state_is m2 dead
set -euo pipefail

# shellcheck source=scripts/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"
# shellcheck source=scripts/lib/world.sh
. "$TOP/scripts/lib/world.sh"
# shellcheck source=scripts/lib/mirrors.sh
. "$TOP/scripts/lib/mirrors.sh"
# shellcheck source=scripts/lib/balancer.sh
. "$TOP/scripts/lib/balancer.sh"

SMOKE=$TOP/tests/smoke
STORY=$(basename "$0" _test.sh)
# Two clones on one host do not meet.
world_choose "kb-smoke-$STORY-$(printf '%s' "$TOP" | cksum | cut -d ' ' -f 1)"
STORY_LOGS=$BUILD/test-log/$STORY.d

# A story that leaves something outside its world defines story_clear_own before it sources this, so
# that what a killed run left is cleared, too; WORLD_DIR is still there then, and nothing runs in it.
story_clear() {
	world_destroy
	if declare -F story_clear_own >/dev/null; then
		story_clear_own
	fi
	rm -rf "$WORLD_DIR"
}

story_end() {
	local status=$?
	trap '' INT TERM HUP
	if [ "$status" -ne 0 ] && [ "$status" -ne 77 ]; then
		log_tail "$WORLD_DIR/log/controlplane" 15
		log_tail "$WORLD_DIR/log/dataplane" 15
		rm -rf "$STORY_LOGS"
		mkdir -p "$STORY_LOGS"
		cp -r "$WORLD_DIR/log" "$WORLD_DIR"/karmalb.conf "$WORLD_DIR"/load.json "$STORY_LOGS" 2>/dev/null || true
		printf 'all logs: %s\n' "$STORY_LOGS" >&2
	fi
	story_clear
	exit "$status"
}

# What a run that was killed left behind is cleared first.
story_clear
[ "${1:-}" != --clean ] || exit 0
need_root "$STORY"
trap story_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

step() {
	printf '%s  %s\n' "$(date +%T.%3N)" "$*"
}

fail() {
	printf '%s  FAILED: %s\n' "$(date +%T.%3N)" "$*" >&2
	exit 1
}

skip() {
	printf '%s\n' "$*"
	exit 77
}

# start_world MIRRORS [SERVICE_LINES [DATAPLANE_LINES]]: mirrors without work, both programs, no
# huge pages.
start_world() {
	make_world "$1"
	balancer_configure "$1" "${2:-}" "huge_pages = \"0\"; max_flows = 65536; ${3:-}"
	balancer_start || fail "the balancer did not start"
	step "the balancer runs with $1 mirrors"
}

# make_world MIRRORS: all but the balancer.
make_world() {
	local i
	world_create "$1"
	for ((i = 1; i <= $1; i++)); do
		mirror_configure "m$i" 0 timer
		mirror_start "m$i" || fail "m$i did not start"
	done
}

# configure SERVICES [SOURCES [DATAPLANE_LINES]]: karmalb.conf of its own, from the text of its
# services and a quoted list of sources.
configure() {
	cat >"$WORLD_DIR/karmalb.conf" <<-END
		config_version = 1;
		dataplane = {
		  ports = ( { name = "front"; device = "af_xdp:eth0"; } );
		  sources = [ ${2:-\"$WORLD_SOURCES\"} ];
		  huge_pages = "0"; max_flows = 65536; ${3:-}
		};
		services = ( $1 );
	END
}

# scripted_start NAME KIND PORT...: a mirror of _mirror.py beside what else runs in NAME, as the
# process NAME-KIND; requests are lines of NAME/KIND.
scripted_start() {
	local name=$1 kind=$2 port
	shift 2
	mkdir -p "$WORLD_DIR/$name"
	spawn "$name-$kind" "$name" /usr/bin/python3 "$SMOKE/_mirror.py" "$kind" "$name" \
		"$WORLD_DIR/$name/$kind" "$@"
	for port in "$@"; do
		wait_for 20 "$name to serve $kind on port $port" is_port_open "$name" "$port" ||
			fail "no $kind in $name"
	done
}

is_port_open() {
	in_ns "$1" ss -Hltun "sport = :$2" | grep -q .
}

# scripted_requests NAME KIND [PATTERN]: how many it got.
scripted_requests() {
	grep -c -e "${3:-}" "$WORLD_DIR/$1/$2" || true
}

# asked ARGUMENT...: _ask.py from the client; keeps what it printed in $WORLD_DIR/asked.
asked() {
	in_ns client /usr/bin/python3 "$SMOKE/_ask.py" "$@" >"$WORLD_DIR/asked" || fail "_ask.py $*"
	step "_ask.py $*: $(cat "$WORLD_DIR/asked")"
}

# answers WORD: how often that was the answer.
answers() {
	json_value "r.get('$1', 0)" <"$WORLD_DIR/asked"
}

# outcomes SERVICE MIRROR: those that are not 0, "name=number ..." in the order of their names.
outcomes() {
	ask_json 'SHOW MIRRORS' "' '.join(f'{k}={v}' for m in r for k, v in sorted(m['outcomes'].items())
		if (m['service'], m['mirror']) == ('$1', '$2') and v)"
}

outcomes_are() {
	[ "$(outcomes "$1" "$2")" = "$3" ]
}

# expect_outcomes SERVICE MIRROR EXPECTED: once what was seen has come up.
expect_outcomes() {
	wait_for 20 "the outcomes of $1/$2" outcomes_are "$1" "$2" "$3" ||
		fail "outcomes of $1/$2: $(outcomes "$1" "$2"), expected $3"
	step "outcomes of $1/$2: $3"
}

# make_world_of_two_ports MIRRORS: all but the balancer, whose eth0 leads to the client and eth1 to
# the mirrors, with IPv6 beside IPv4: fd00:99::2 the client, fd00:98::10N mirror mN (10.98.0.10N).
# shellcheck disable=SC2034 # used by stories
WORLD_VIP6=fd00:99::10
make_world_of_two_ports() {
	local i
	world_create "$1"
	in_ns net ip link add back type bridge
	in_ns net ip link set back up
	in_ns net ip link add lb1 type veth peer name eth1 netns "$WORLD-lb"
	in_ns net ip link set lb1 master back up
	in_ns lb ip link set eth1 up
	in_ns lb ip addr add 10.98.0.1/24 dev eth1
	world_ipv6 lb eth1 fd00:98::1
	world_ipv6 lb eth0 fd00:99::1
	world_ipv6 client eth0 fd00:99::2
	for ((i = 1; i <= $1; i++)); do
		in_ns net ip link set "m$i" master back
		in_ns "m$i" ip addr flush dev eth0
		in_ns "m$i" ip addr add "10.98.0.10$i/24" dev eth0
		world_ipv6 "m$i" eth0 "fd00:98::10$i"
		mirror_configure "m$i" 0 timer
		sed -i 's/listen 80 ;/listen 80; listen [::]:80;/' "$WORLD_DIR/m$i/nginx.conf"
		mirror_start "m$i" || fail "m$i did not start"
	done
}

# world_ipv6 NAMESPACE INTERFACE ADDRESS
world_ipv6() {
	in_ns "$1" sysctl -q -w "net.ipv6.conf.$2.disable_ipv6=0" "net.ipv6.conf.$2.accept_dad=0"
	in_ns "$1" ip addr add "$3/64" dev "$2" nodad
}

# configure_two_ports MIRRORS [SETTINGS_OF_SERVICES [DATAPLANE_LINES [SERVICE]]]: services web and
# web6, and one more.
configure_two_ports() {
	local i mirrors='' mirrors6=''
	for ((i = 1; i <= $1; i++)); do
		mirrors+="${mirrors:+, }{ name = \"m$i\"; address = \"10.98.0.10$i\"; }"
		mirrors6+="${mirrors6:+, }{ name = \"m$i\"; address = \"fd00:98::10$i\"; }"
	done
	cat >"$WORLD_DIR/karmalb.conf" <<-END
		config_version = 1;
		dataplane = {
		  ports = ( { name = "front"; device = "af_xdp:eth0"; }, { name = "back"; device = "af_xdp:eth1"; } );
		  sources = [ "10.98.0.240/29", "fd00:98::f0/126" ];
		  ${3:-max_flows = 65536;}
		};
		defaults = { ${2:-} };
		services = (
		  { name = "web"; listen = [ "$WORLD_VIP:80/tcp" ]; mirrors = ( $mirrors ); },
		  { name = "web6"; listen = [ "[$WORLD_VIP6]:80/tcp" ]; mirrors = ( $mirrors6 ); }
		  ${4:+, $4}
		);
	END
}

# port_mac LOG PORT: what the peers of a port without kernel interface need to know, as the log says it.
port_mac() {
	sed -n "s/.*port $2: .* peers need to know \([0-9A-Fa-f:]*\);.*/\1/p" "$WORLD_DIR/log/$1" | tail -n 1
}

port_is_up() {
	[ "$(grep -cE "port $2: (down -> up|.*, up)\$" "$WORLD_DIR/log/$1")" -gt 0 ]
}

# expect_equal WHAT GOT EXPECTED
expect_equal() {
	[ "$2" = "$3" ] || fail "$1: $2, expected $3"
}

# expect_between WHAT GOT LOW HIGH: numbers, borders included.
expect_between() {
	awk -v v="$2" -v l="$3" -v h="$4" 'BEGIN { exit !(v >= l && v <= h) }' </dev/null ||
		fail "$1: $2, expected $3 to $4"
}

# expect_match WHAT TEXT PATTERN: an extended regular expression, in any case.
expect_match() {
	grep -qiE -e "$3" <<<"$2" || fail "$1: '$2' does not say '$3'"
}

# mirror_field NAME FIELD: of SHOW MIRRORS.
mirror_field() {
	ask_json 'SHOW MIRRORS' "[m['$2'] for m in r if m['mirror'] == '$1'][0]"
}

mirror_state_is() {
	[ "$(mirror_field "$1" state)" = "$2" ]
}

# mirror_answers NAME: lines in its access log so far.
mirror_answers() {
	wc -l <"$WORLD_DIR/$1/access"
}

mirror_answers_more_than() {
	[ "$(mirror_answers "$1")" -gt "$2" ]
}

mirror_answers_are() {
	[ "$(mirror_answers "$1")" -eq "$2" ]
}

# expect_answers NAME NUMBER: nginx writes the line after the answer.
expect_answers() {
	wait_for 20 "$1 to have logged $2 answers" mirror_answers_are "$1" "$2" ||
		fail "answers of $1: $(mirror_answers "$1"), expected $2"
}

# drops NAME: that drop counter, all workers together.
drops() {
	ask_json 'SHOW DROPS' "sum(d['total'] for d in r if d['counter'] == '$1')"
}

# counter NAME: any other, all workers together.
counter() {
	ask_json 'SHOW STATUS' "r['$1']"
}

# metric NAMESPACE NAME LABEL: the sum of those with that label, as Prometheus would read them there.
metric() {
	in_ns "$1" curl -sS --max-time 10 http://127.0.0.1:9464/metrics |
		awk -v name="$2{" -v label="$3" 'index($0, name) == 1 && index($0, label) { n += $NF } END { print n + 0 }'
}

# of_worker NUMBER NAME: that counter of one worker.
of_worker() {
	counter "worker_$1_$2"
}

drops_are_at_least() {
	[ "$(drops "$1")" -ge "$2" ]
}

# Totals come up every 100 ms, so what is compared with them is waited for.
counter_is_between() {
	local value
	value=$(counter "$1")
	[ "$value" -ge "$2" ] && [ "$value" -le "$3" ]
}

service_field_is() {
	[ "$(ask_json 'SHOW SERVICES' "r[0]['$1']")" = "$2" ]
}

# fetch [CURL OPTION...]: one request from the client to the VIP's /.
fetch() {
	in_ns client curl -sS --max-time 10 "$@" "http://$WORLD_VIP/"
}

# Requests that the client's load counts as failed, up to now.
load_failed() {
	load_value 'r["failed"]'
}

load_requests_more_than() {
	[ -s "$WORLD_DIR/load.json" ] && [ "$(load_value 'r["requests"]')" -gt "$1" ]
}

# load_is_flowing: the load runs and gets answers.
load_is_flowing() {
	wait_for 10 "the load to get answers" load_requests_more_than 50 || fail "no traffic"
}

# load_through CONNECTIONS CLIENTS RATE: the load until it has had more answers than that, and not one
# failure; sets 'n_requests'.
load_through() {
	step "more than $1 connections, $2 at a time"
	load_start --clients "$2" --rate "$3" --timeout-ms 20000
	wait_for 60 "$1 requests" load_requests_more_than "$1" || fail "the load stalls: $(cat "$WORLD_DIR/load.json")"
	load_stop
	cat "$WORLD_DIR/load.json"
	expect_equal "failed requests" "$(load_failed)" 0
	# shellcheck disable=SC2034 # for the story
	n_requests=$(load_value 'r["requests"]')
}

# expect_flows LOW HIGH: opened so far, once they have been counted.
expect_flows() {
	wait_for 10 "$1 flows to be counted" counter_is_between flows_opened "$1" "$2" ||
		fail "flows: $(counter flows_opened), expected $1 to $2"
}

# expect_download BYTES MIRROR...: a file of that size from any of them arrives as it was sent.
expect_download() {
	local size=$1 m
	shift
	step "a download of $size bytes"
	head -c "$size" /dev/urandom >"$WORLD_DIR/sent"
	for m in "$@"; do
		cp "$WORLD_DIR/sent" "$WORLD_DIR/$m/body/file"
	done
	in_ns client curl -sS --max-time 60 -o "$WORLD_DIR/got" "http://$WORLD_VIP/body/file" ||
		fail "the download failed"
	cmp "$WORLD_DIR/got" "$WORLD_DIR/sent" || fail "the download is not what was sent"
}

# spread WORKERS FIELD: the lowest and highest of that field of a worker, in % of an even share.
spread() {
	ask_json 'SHOW STATUS' "(lambda n: [round(100 * x * len(n) / max(sum(n), 1), 2)
		for x in (min(n), max(n))])([r[f'worker_{w}_$2'] for w in range($1)])"
}

# expect_even_spread WORKERS FIELD: within 10 %.  One standard deviation of a fair draw of N over two
# is 1 / sqrt(N) of the even share, of one over three 1.4 times as much: count at least 3000.
expect_even_spread() {
	local lowest highest
	read -r lowest highest <<<"$(spread "$1" "$2")"
	step "$2 of a worker: $lowest to $highest % of an even share"
	expect_between "$2 of the worker that has fewest, in % of an even share" "$lowest" 90 100
	expect_between "$2 of the worker that has most" "$highest" 100 110
}

# All that the ports took was handled, and all that was handled left or was dropped for a reason.
books_are_even() {
	ask_json 'SHOW STATUS' "(lambda taken: int(r['rx_packets'] == taken('steered') - taken('rx_missed') and
		r['tx_packets'] == r['rx_packets'] - r['dropped'] and
		r['flows_opened'] == sum(r[f'worker_{w}_flows_opened'] for w in range(r['workers']))))(
		lambda what: sum(v for k, v in r.items() if k.startswith('port_') and k.endswith('_' + what)))" |
		grep -qx 1
}

expect_even_books() {
	wait_for 10 "the books to be even" books_are_even ||
		fail "books: $(ask_json 'SHOW STATUS' "{k: v for k, v in r.items() if 'packets' in k or 'drop' in k or 'steered' in k or 'missed' in k or 'flows_opened' in k}")"
}

# expect_no_traces: a world of one port is as it was before the data plane, but for the XDP program,
# which may be somebody else's.
expect_no_traces() {
	expect_equal "addresses" "$(in_ns lb ip -4 -o addr show dev eth0 | awk '{ print $4 }')" 10.99.0.1/24
	expect_equal "qdiscs" "$(in_ns lb tc qdisc show dev eth0 | grep -c clsact || true)" 0
	[ ! -e "$WORLD_DIR/dataplane.sock" ] || fail "dataplane.sock is still there"
}

# "xdp" alone may stand in the name of the namespace.
expect_nothing_left() {
	expect_no_traces
	expect_equal "XDP programs" "$(in_ns lb ip link show dev eth0 | grep -c prog/xdp || true)" 0
}

# capture NAME NAMESPACE FILTER: tcpdump into that file; end_capture NAME prints the packets.
capture() {
	spawn "$1" "$2" tcpdump -n -l -i eth0 -w "$WORLD_DIR/$1.pcap" -U --immediate-mode "$3"
	wait_for 10 "tcpdump to listen" grep -q 'listening on' "$WORLD_DIR/log/$1"
}

end_capture() {
	kill -INT "$(pid_of "$1")"
	wait_for 5 "tcpdump to end" is_not_running "$1"
	tcpdump -n -r "$WORLD_DIR/$1.pcap" 2>/dev/null || echo "the capture $1 cannot be read"
}

is_not_running() {
	! is_running "$1"
}
