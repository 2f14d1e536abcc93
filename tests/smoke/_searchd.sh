# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Real searchd as mirrors, for stories.  Sourced after _init.sh.

# searchd_configure NAME ADDRESS INDEX: an index of that name for real-time documents.
searchd_configure() {
	local dir=$WORLD_DIR/$1
	mkdir -p "$dir"
	cat >"$dir/sphinx.conf" <<-END
		index $3
		{
			type = rt
			path = $dir/$3
			rt_field = title
			rt_attr_uint = gid
			rt_attr_string = node
		}
		searchd
		{
			listen = $2:9312
			listen = $2:9306:mysql41
			log = $dir/searchd.log
			query_log = $dir/query.log
			pid_file = $dir/searchd.pid
			binlog_path =
			workers = threads
			read_timeout = 5
			client_timeout = 300
			max_children = 300
		}
	END
}

# searchd_start NAME ADDRESS: returns when it answers statements.
searchd_start() {
	spawn "$1" "$1" searchd -c "$WORLD_DIR/$1/sphinx.conf" --nodetach
	wait_for 20 "searchd $1 to answer" searchd_sql "$1" "$2" 'SHOW TABLES' || {
		log_tail "$WORLD_DIR/log/$1"
		fail "searchd $1 did not start"
	}
}

# searchd_sql NAME ADDRESS STATEMENT: asks that mirror itself, not by way of the balancer.
searchd_sql() {
	in_ns "$1" mariadb -h "$2" -P 9306 --connect-timeout=5 --skip-column-names --batch -e "$3"
}

# searchd_fill NAME ADDRESS: what searchd_client.py expects, kept over a crash.
searchd_fill() {
	searchd_sql "$1" "$2" "INSERT INTO rt (id, title, gid, node) VALUES
		(1, 'same title', 1, '$1'), (2, 'same title', 1, '$1'), (3, 'the same', 2, '$1');
		FLUSH RTINDEX rt"
}

# searchd_queries NAME ADDRESS: how many it has answered since it began.
searchd_queries() {
	searchd_sql "$1" "$2" "SHOW STATUS LIKE 'queries'" | cut -f 2
}
