# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Mirrors: one real nginx per namespace mN whose work is a sleep of the echo module.  Sourced after
# world.sh.
#
# blocking: each worker serves one request at a time and holds no other (deferred accept), so the
#           mirror has as many servers as workers and a queue in front, like a real one.
# timer:    any number of requests at a time, each for the same time: a mirror that never queues.

NGINX_ECHO=/usr/lib/nginx/modules/ngx_http_echo_module.so

# mirror_configure NAME MS blocking|timer [WORKERS]: writes its configuration; in force from the
# next start or reload on.
mirror_configure() {
	local name=$1 ms=$2 kind=$3 workers=${4:-1} sleep deferred=''
	printf -v sleep 'echo_sleep %d.%03d;' $((ms / 1000)) $((ms % 1000))
	if [ "$kind" = blocking ]; then
		sleep=${sleep/echo_sleep/echo_blocking_sleep}
		deferred=deferred
	fi
	[ "$ms" -gt 0 ] || sleep=''
	mkdir -p "$WORLD_DIR/$name/body"
	echo "$ms $kind $workers" >"$WORLD_DIR/$name/work"
	cat >"$WORLD_DIR/$name/nginx.conf.new" <<-END
		load_module $NGINX_ECHO;
		daemon off;
		user root;
		worker_processes $workers;
		pid $WORLD_DIR/$name/nginx.pid;
		error_log $WORLD_DIR/log/$name warn;
		events { worker_connections 2048; }
		http {
			log_format picks '\$msec \$request_time \$status \$remote_addr \$remote_port \$uri';
			access_log $WORLD_DIR/$name/access picks;
			keepalive_timeout 75s;
			keepalive_requests 1000000;
			default_type text/plain;
			client_body_temp_path $WORLD_DIR/$name/tmp;
			proxy_temp_path $WORLD_DIR/$name/tmp;
			fastcgi_temp_path $WORLD_DIR/$name/tmp;
			uwsgi_temp_path $WORLD_DIR/$name/tmp;
			scgi_temp_path $WORLD_DIR/$name/tmp;
			server {
				listen 80 $deferred;
				add_header X-Mirror $name;
				location = / { $sleep echo "$name"; }
				location = /echo {
					client_max_body_size 64m;
					client_body_buffer_size 64m;
					echo_read_request_body;
					echo_request_body;
				}
				location /body/ { root $WORLD_DIR/$name; }
			}
		}
	END
	mv "$WORLD_DIR/$name/nginx.conf.new" "$WORLD_DIR/$name/nginx.conf"
}

# mirror_start NAME: returns when it listens.
mirror_start() {
	spawn "$1" "$1" nginx -c "$WORLD_DIR/$1/nginx.conf" -p "$WORLD_DIR/$1" -e "$WORLD_DIR/log/$1"
	wait_for 10 "mirror $1 to listen on port 80" mirror_listens "$1" || {
		log_tail "$WORLD_DIR/log/$1"
		return 1
	}
}

mirror_listens() {
	in_ns "$1" ss -Hltn 'sport = :80' | grep . >/dev/null
}

# mirror_kill NAME: kill -9 of master and workers, as in a crash.
mirror_kill() {
	slay "$1"
	wait_for 5 "the workers of $1 to be gone" mirror_is_silent "$1"
}

mirror_is_silent() {
	! mirror_listens "$1"
}

# mirror_reload NAME: lets a new configuration take over; requests under way are finished.  Returns
# when the former workers are gone, so that no connection begins with one that is about to close
# it, or after 5 s if requests take longer.
mirror_reload() {
	local master former
	master=$(pid_of "$1")
	former=$(pgrep -P "$master" -d ' ')
	kill -HUP "$master"
	wait_for 5 "the former workers of $1 to be gone" mirror_has_none_of "$master" "$former" || true
}

# mirror_has_none_of MASTER PIDS: a new worker is there, and none of these.
mirror_has_none_of() {
	local pid now
	now=$(pgrep -P "$1" -d ' ') || return 1
	for pid in $2; do
		[[ " $now " != *" $pid "* ]] || return 1
	done
}
