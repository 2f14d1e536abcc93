#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 240 s
# Two real MariaDB behind the balancer: the server speaks first, logins are no queries, bad SQL is
# the client's own mistake, warnings are counted, and a server that turns clients away has failed.
. "$(dirname "$0")/_init.sh"

command -v mariadbd mariadb-install-db >/dev/null || skip "mariadb-server-core is not installed"
/usr/bin/python3 -c 'import pymysql' 2>/dev/null || skip "python3-pymysql is not installed"

# database_start NAME
database_start() {
	local dir=$WORLD_DIR/$1/mysql
	mkdir -p "$dir"
	mariadb-install-db --no-defaults --user=root --datadir="$dir" --auth-root-authentication-method=normal \
		--skip-test-db --skip-name-resolve >>"$WORLD_DIR/log/$1-db" 2>&1 || fail "mariadb-install-db: $(tail -n 3 "$WORLD_DIR/log/$1-db")"
	spawn "$1-db" "$1" mariadbd --no-defaults --user=root --datadir="$dir" --socket="$dir/socket" \
		--pid-file="$dir/pid" --bind-address=0.0.0.0 --skip-name-resolve --innodb-buffer-pool-size=8M \
		--performance-schema=OFF --init-file="$WORLD_DIR/init.sql"
	wait_for 60 "MariaDB of $1 to listen" is_port_open "$1" 3306 || {
		log_tail "$WORLD_DIR/log/$1-db"
		fail "no MariaDB in $1"
	}
}

# Asks PASSES times on a connection of its own: SELECT 1, bad SQL, a DROP that warns, each once.
# Prints how often what came.
sql() {
	in_ns client /usr/bin/python3 - "$WORLD_VIP" "$1" >"$WORLD_DIR/asked" <<-'END' || fail "the client"
		import collections, json, sys, pymysql
		counts = collections.Counter()
		for _ in range(int(sys.argv[2])):
		    try:
		        line = pymysql.connect(host=sys.argv[1], user="app", password="", autocommit=None,
		                               connect_timeout=30, read_timeout=30)
		    except pymysql.err.OperationalError as error:
		        counts[str(error.args[0])] += 1
		        continue
		    with line.cursor() as cursor:
		        cursor.execute("SELECT @@hostname, @@port")
		        counts["rows"] += 1
		        try:
		            cursor.execute("SELEKT 1")
		        except pymysql.err.ProgrammingError as error:
		            counts[str(error.args[0])] += 1
		        cursor.execute("DROP TABLE IF EXISTS app.nothing")
		        counts["warned"] += 1
		    line.close()
		print(json.dumps(counts))
	END
	step "$1 connections: $(cat "$WORLD_DIR/asked")"
}

sum_of() {
	ask_json 'SHOW MIRRORS' "sum(m['outcomes']['$1'] for m in r)"
}

sum_is() {
	[ "$(sum_of "$1")" -eq "$2" ]
}

# statements NAME: how many DROP TABLE the server itself has counted, one for each connection.
statements() {
	in_ns "$1" /usr/bin/python3 - "$WORLD_DIR/$1/mysql/socket" <<-'END'
		import sys, pymysql
		with pymysql.connect(unix_socket=sys.argv[1], user="root", autocommit=None) as line:
		    with line.cursor() as cursor:
		        cursor.execute("SHOW GLOBAL STATUS LIKE 'Com_drop_table'")
		        print(cursor.fetchone()[1])
	END
}

world_create 2
cat >"$WORLD_DIR/init.sql" <<-END
	CREATE DATABASE app;
	CREATE USER app@'10.99.0.%';
	GRANT ALL ON app.* TO app@'10.99.0.%';
END
for m in m1 m2; do
	database_start $m
done
configure "{ name = \"db\"; listen = [ \"$WORLD_VIP:3306/tcp\" ]; ha_strategy = \"nodeads\";
	ha_period_karma = \"1d\"; ha_ping_interval = \"0\"; agent_query_timeout = \"60s\";
	agent_connect_timeout = \"60s\";
	mirrors = ( { name = \"m1\"; address = \"10.99.0.101\"; }, { name = \"m2\"; address = \"10.99.0.102\"; } ); }"
balancer_start || fail "the balancer did not start"

sql 30
expect_equal "answers with rows" "$(answers rows)" 30
expect_equal "errors 1064, bad SQL" "$(answers 1064)" 30
expect_equal "answers with a warning" "$(answers warned)" 30
wait_for 20 "90 succeeded queries" sum_is succeeded_queries 90 ||
	fail "m1: $(outcomes db m1), m2: $(outcomes db m2)"
expect_equal "warnings" "$(sum_of warnings)" 30
for i in 1 2; do
	n=$(statements m$i)
	expect_between "connections that m$i had" "$n" 1 29
	expect_outcomes db m$i "succeeded_queries=$((3 * n)) warnings=$n"
done

step "m2 turns everybody away: too many connections, in place of its greeting"
spawn hog m2 /usr/bin/python3 -c '
import sys, time, pymysql
held = [pymysql.connect(unix_socket=sys.argv[1], user="root", autocommit=None)]
held[0].cursor().execute("SET GLOBAL max_connections = 10")
try:
    while True:
        held.append(pymysql.connect(unix_socket=sys.argv[1], user="root", autocommit=None))
except pymysql.err.OperationalError:
    print("full", flush=True)
time.sleep(3600)
' "$WORLD_DIR/m2/mysql/socket"
wait_for 20 "m2 to be full" grep -q full "$WORLD_DIR/log/hog"
is_turned_away() {
	sql 6 >/dev/null
	answers 1040 >>"$WORLD_DIR/turned_away"
	mirror_state_is m2 dead
}
wait_for 60 "m2 to be called dead" is_turned_away || fail "m2 is not ejected: $(outcomes db m2)"
n_turned_away=$(awk '{ n += $1 } END { print n }' "$WORLD_DIR/turned_away")
expect_between "clients turned away" "$n_turned_away" 4 300
wait_for 20 "$n_turned_away wrong replies" sum_is wrong_replies "$n_turned_away" ||
	fail "m2: $(outcomes db m2)"
step "m2: $(mirror_field m2 why); $(outcomes db m2)"
sql 10
expect_equal "answers with rows" "$(answers rows)" 10
