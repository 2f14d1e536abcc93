#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 240 s
# Three real searchd behind SphinxAPI and behind MySQL's protocol: right answers, counted alike by
# client, mirrors and SHOW AGENT STATUS; a crash, a hang and a mirror without its index.
. "$(dirname "$0")/_init.sh"
. "$(dirname "$0")/_searchd.sh"
command -v searchd >/dev/null || skip "no searchd here (package sphinxsearch)"

mirrors() {
	local port=$1 i
	for i in 1 2 3; do
		printf '      { name = "m%d"; address = "10.99.0.10%d:%d"; }%s\n' "$i" "$i" "$port" \
			"$([ "$i" = 3 ] || echo ,)"
	done
}

configure() {
	cat >"$WORLD_DIR/karmalb.conf" <<-END
		config_version = 1;
		dataplane = {
		  ports = ( { name = "front"; device = "af_xdp:eth0"; } );
		  sources = [ "$WORLD_SOURCES" ]; huge_pages = "0"; max_flows = 65536;
		};
		defaults = { ha_strategy = "nodeads"; ha_period_karma = "600s"; ha_ping_interval = "300ms";
		  agent_connect_timeout = "10s"; agent_query_timeout = "30s"; slow_start = "0"; karma_floor = "10%"; };
		services = (
		  { name = "api"; listen = [ "$WORLD_VIP:9312/tcp" ]; ping = "sphinxapi";
		    mirrors = (
		$(mirrors 9312) ); },
		  { name = "sql"; listen = [ "$WORLD_VIP:9306/tcp" ]; ping = "mysql";
		    mirrors = (
		$(mirrors 9306) ); }
		);
	END
}

# queries api|sql N: asks through the balancer; the answer stays in last.json.
queries() {
	local port=9312
	[ "$1" = api ] || port=9306
	in_ns client "$TOP/tests/smoke/searchd_client.py" "$1" "$WORLD_VIP" "$port" "$2" \
		>"$WORLD_DIR/last.json" || fail "the client failed"
	cat "$WORLD_DIR/last.json" >>"$WORLD_DIR/asked.$1"
}

# asked_so_far api|sql EXPRESSION: of all 'r' that the client has printed; their sum.
asked_so_far() {
	/usr/bin/python3 -c '
import json, sys
print(sum(eval(sys.argv[1], {"r": json.loads(line)}) for line in sys.stdin))' "$2" <"$WORLD_DIR/asked.$1"
}

last() {
	json_value "$1" <"$WORLD_DIR/last.json"
}

expect_all_right() {
	expect_equal "$1: failed and wrong" "$(last '[len(r["failed"]), r["wrong"]]')" "0 0"
}

# mirror_is SERVICE NAME STATE
mirror_is() {
	[ "$(ask_json "SHOW MIRRORS FROM $1" "[m['state'] for m in r if m['mirror'] == '$2'][0]")" = "$3" ]
}

why() {
	ask_json "SHOW MIRRORS FROM $1" "[m['why'] for m in r if m['mirror'] == '$2'][0]"
}

# agent HOST VARIABLE
agent() {
	ctl --tsv -e "SHOW AGENT '$1' STATUS LIKE 'agent_$2'" | tail -n 1 | cut -f 2
}

# succeeded_is HOST N: as SHOW AGENT STATUS has it.
succeeded_is() {
	[ "$(agent "$1" 15periods_succeeded_queries)" = "$2" ]
}

# failures_are api|sql PORT N: of all three mirrors, as SHOW AGENT STATUS has them.
failures_are() {
	local kind n=0 i
	for i in 1 2 3; do
		for kind in query_timeouts connect_timeouts connect_failures network_errors wrong_replies \
			unexpected_closings; do
			n=$((n + $(agent "10.99.0.10$i:$2" "15periods_$kind")))
		done
	done
	echo "$n" >"$WORLD_DIR/failures.$1"
	[ "$n" = "$3" ]
}

# expect_same_books: the client's answers and failures so far, and what was counted of the mirrors.
expect_same_books() {
	local how port i n
	for how in api sql; do
		[ "$how" = api ] && port=9312 || port=9306
		for i in 1 2 3; do
			n=$(asked_so_far "$how" "r['answers'].get('m$i', 0)")
			wait_for 10 "answers of m$i by $how" succeeded_is "10.99.0.10$i:$port" "$n" ||
				fail "$how: the client had $n answers of m$i, SHOW AGENT STATUS says $(agent "10.99.0.10$i:$port" 15periods_succeeded_queries)"
		done
		n=$(asked_so_far "$how" "sum(r['failed'].values()) + r['wrong']")
		wait_for 10 "failures of $how" failures_are "$how" "$port" "$n" ||
			fail "$how: $n queries of the client failed, SHOW AGENT STATUS says $(cat "$WORLD_DIR/failures.$how")"
		echo "          $how: $(asked_so_far "$how" "sum(r['answers'].values())") answers, $n failures, counted alike"
	done
}

periods() {
	ask_json 'SHOW SERVICES' "[s['period'] for s in r]"
}

# pings_wait DURATION: for an answer, in both services.
pings_wait() {
	ctl -e "SET SERVICE api agent_connect_timeout = '$1'" \
		-e "SET SERVICE sql agent_connect_timeout = '$1'" >/dev/null || fail "SET SERVICE"
}

# asked_without SERVICE NAME: all was right, and nothing came from there.
asked_without() {
	queries "$1" 20
	[ "$(last "[len(r['failed']), r['wrong'], r['answers'].get('$2', 0)]")" = "0 0 0" ]
}

# asked_with SERVICE NAME: something came from there.
asked_with() {
	queries "$1" 20
	[ "$(last "r['answers'].get('$2', 0)")" -gt 0 ]
}

# asked_until_out SERVICE NAME: whether its share is 0, after some more queries.
asked_until_out() {
	queries "$1" 20
	[ "$(ask_json "SHOW MIRRORS FROM $1" "[m['share'] == 0 for m in r if m['mirror'] == '$2'][0]")" = True ]
}

# A trial ends with an answered query.
answers_until_up() {
	queries "$1" 20
	mirror_is "$1" "$2" up
}

world_create 3
for i in 1 2 3; do
	searchd_configure "m$i" "10.99.0.10$i" rt
	searchd_start "m$i" "10.99.0.10$i"
	searchd_fill "m$i" "10.99.0.10$i"
done
configure
balancer_start || fail "the balancer did not start"

step "right answers, from all"
began_in=$(periods)
for how in api sql; do
	queries "$how" 150
	expect_all_right "$how"
	step "$how: $(last 'r["answers"]')"
	for i in 1 2 3; do
		n=$(last "r['answers'].get('m$i', 0)")
		expect_between "answers of m$i by $how" "$n" 20 90
		echo "$n" >"$WORLD_DIR/$how.m$i"
	done
done

step "SHOW AGENT STATUS says what client and mirrors counted"
for i in 1 2 3; do
	host=10.99.0.10$i
	api=$(cat "$WORLD_DIR/api.m$i") sql=$(cat "$WORLD_DIR/sql.m$i")
	wait_for 10 "queries of m$i by SphinxAPI" succeeded_is "$host:9312" "$api" ||
		fail "m$i answered $api, SHOW AGENT STATUS says $(agent "$host:9312" 15periods_succeeded_queries)"
	wait_for 10 "queries of m$i by MySQL's protocol" succeeded_is "$host:9306" "$sql" ||
		fail "m$i answered $sql, SHOW AGENT STATUS says $(agent "$host:9306" 15periods_succeeded_queries)"
	# Over 1 and 5 blocks of ten minutes it is the same, unless one of them ended meanwhile.
	figures="$(agent "$host:9312" 1periods_succeeded_queries) $(agent "$host:9312" 5periods_succeeded_queries)"
	if [ "$(periods)" = "$began_in" ]; then
		expect_equal "queries of m$i by SphinxAPI over 1 and 5 periods" "$figures" "$api $api"
	fi
	expect_equal "queries that m$i itself counted" "$(searchd_queries "m$i" "$host")" $((api + sql))
	expect_equal "errors of m$i" "$(agent "$host:9312" errorsarow) $(agent "$host:9306" errorsarow)" "0 0"
	expect_match "time per query of m$i" "$(agent "$host:9312" 5periods_msecsperquery)" '^[0-9]+\.[0-9]{2}$'
	expect_match "ping of m$i" "$(agent "$host:9306" pingtripmsec)" '^[0-9]+\.[0-9]{3}$'
done
expect_match "header for all agents" "$(ctl -e 'SHOW AGENT STATUS' | head -n 1)" '^Key +Value$'
expect_match "header for one agent" \
	"$(ctl -e "SHOW AGENT '10.99.0.101:9306' STATUS" | head -n 1)" '^Variable_name +Value$'
expect_equal "rows of LIKE in another case" \
	"$(ctl --tsv -e "SHOW AGENT STATUS LIKE 'AG_0_%'" | tail -n +2 | wc -l)" 0
expect_equal "rows of LIKE" \
	"$(ctl --tsv -e "SHOW AGENT STATUS LIKE 'ag_0_%periods_connect_max'" | tail -n +2 | wc -l)" 3
expect_equal "hosts" "$(ctl --tsv -e "SHOW AGENT STATUS LIKE 'ag_%_hostname'" | tail -n +2 | wc -l)" 6

step "m2 crashes"
slay m2
for how in api sql; do
	queries "$how" 60
	step "$how, 60 queries: $(last 'r["answers"]') failed $(last 'r["failed"]')"
	wait_for 10 "m2 to be dead" mirror_is "$how" m2 dead || fail "m2 is not dead for $how"
	step "$how: $(why "$how" m2)"
	wait_for 20 "no query to go to m2" asked_without "$how" m2 || fail "$how: $(cat "$WORLD_DIR/last.json")"
	queries "$how" 60
	expect_all_right "$how without m2"
	expect_equal "answers of m2 by $how" "$(last 'r["answers"].get("m2", 0)')" 0
done
searchd_start m2 10.99.0.102
for how in api sql; do
	wait_for 60 "m2 to be back" answers_until_up "$how" m2 || fail "m2 is not back for $how"
	queries "$how" 60
	expect_all_right "$how with m2 back"
	wait_for 60 "an answer of m2" asked_with "$how" m2 || fail "$how: m2 answers nothing"
done

expect_same_books

step "m3 hangs: its kernel accepts, it says nothing"
pings_wait 500ms
kill -STOP "$(pid_of m3)"
for how in api sql; do
	wait_for 20 "m3 to be dead" mirror_is "$how" m3 dead || fail "m3 is not dead for $how"
	step "$how: $(why "$how" m3)"
	expect_match "$how: m3" "$(why "$how" m3)" 'connected, but no answer in [0-9]+ ms'
	wait_for 60 "no query to go to m3" asked_without "$how" m3 || fail "$how: $(cat "$WORLD_DIR/last.json")"
	queries "$how" 60
	expect_all_right "$how without m3"
done
kill -CONT "$(pid_of m3)"
for how in api sql; do
	wait_for 60 "m3 to be back" answers_until_up "$how" m3 || fail "m3 is not back for $how"
done
pings_wait 10s

step "m1 comes back without its index and answers fast; nobody pings it, so it counts as up"
ctl -e 'SET SERVICE api ping = none' -e 'SET SERVICE sql ping = none' \
	-e 'SET SERVICE sql ha_strategy = noerrors' -e 'SET SERVICE sql dead_after = 1000' >/dev/null
finish m1
searchd_configure m1 10.99.0.101 another
searchd_start m1 10.99.0.101
for how in api sql; do
	wait_for 60 "m1 to be taken out for its errors" asked_until_out "$how" m1 ||
		fail "$how: m1's errors are not seen: $(why "$how" m1)"
	step "$how: $(why "$how" m1)"
	queries "$how" 60
	expect_all_right "$how without m1"
done
expect_match "api, nodeads: m1" "$(why api m1)" 'wrong repl'
expect_match "sql, noerrors: m1" "$(why sql m1)" '^avoided: '
expect_same_books
