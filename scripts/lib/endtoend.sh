# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What scripts/bench endtoend measures, and between whom.  Sourced after world.sh and balancer.sh.
#
#   client 10.99.0.2 .. 5     direct: mirror m1 10.99.0.101, nginx and a UDP server
#                             karmalb: lb,  VIP 10.99.0.10, sources 10.99.0.240/28
#                             nftables: nft, VIP 10.99.0.20, sources 10.99.0.64 .. 67
#                             haproxy: hap, VIP 10.99.0.30, sources 10.99.0.80 .. 83
#
# All four stand side by side, and each measure takes them in turn, so that what else the machine
# does meets all of them.

ENDTOEND_SETUPS=(direct nftables haproxy karmalb)
ENDTOEND_MEASURES=(requests_1 requests_32 connections_32 udp_1 udp_32 download download_mtu)
ENDTOEND_CLIENTS=(10.99.0.2 10.99.0.3 10.99.0.4 10.99.0.5)
declare -A ENDTOEND_TARGETS=([direct]=10.99.0.101 [nftables]=10.99.0.20 [haproxy]=10.99.0.30
	[karmalb]=10.99.0.10)

# endtoend_start DOWNLOAD_BYTES: everything up and answering.
endtoend_start() {
	local address
	world_create 1
	for address in "${ENDTOEND_CLIENTS[@]:1}"; do
		in_ns client ip addr add "$address/24" dev eth0
	done
	endtoend_namespace client
	endtoend_start_mirror "$1"
	endtoend_start_nftables
	endtoend_start_haproxy
	endtoend_configure_karmalb
	balancer_start
	endtoend_await
}

# No balancer is to run out of ports before another does.
endtoend_namespace() {
	in_ns "$1" sysctl -q -w net.ipv4.ip_local_port_range='1024 65535' net.ipv4.tcp_tw_reuse=1
}

endtoend_start_mirror() {
	local size=$1 dir=$WORLD_DIR/m1
	mkdir -p "$dir/tmp"
	truncate -s "$size" "$dir/big"
	cat >"$dir/nginx.conf" <<-END
		daemon off;
		user root;
		worker_processes 1;
		pid $dir/nginx.pid;
		error_log $WORLD_DIR/log/m1 warn;
		events { worker_connections 4096; }
		http {
			access_log off;
			sendfile on;
			tcp_nopush on;
			keepalive_requests 1000000000;
			client_body_temp_path $dir/tmp;
			proxy_temp_path $dir/tmp;
			fastcgi_temp_path $dir/tmp;
			uwsgi_temp_path $dir/tmp;
			scgi_temp_path $dir/tmp;
			server {
				listen 80 backlog=4096;
				root $dir;
				location = / { return 200 "an answer\n"; }
			}
		}
	END
	mirror_start m1
	spawn udp m1 "$BUILD/tests/bench/endtoend_load" serve 53
}

# In both directions through the balancer, as karmalb and HAProxy do it: DNAT and SNAT.
endtoend_start_nftables() {
	local address
	world_namespace nft
	world_link nft 10.99.0.32
	endtoend_namespace nft
	in_ns nft sysctl -q -w net.ipv4.ip_forward=1 net.ipv4.conf.all.send_redirects=0 \
		net.ipv4.conf.eth0.send_redirects=0
	for address in 10.99.0.20 10.99.0.64 10.99.0.65 10.99.0.66 10.99.0.67; do
		in_ns nft ip addr add "$address/32" dev eth0
	done
	in_ns nft nft -f - <<-END
		table ip bench {
			chain in {
				type nat hook prerouting priority dstnat;
				ip daddr 10.99.0.20 tcp dport 80 dnat to 10.99.0.101
				ip daddr 10.99.0.20 udp dport 53 dnat to 10.99.0.101
			}
			chain out {
				type nat hook postrouting priority srcnat;
				ip daddr 10.99.0.101 snat to 10.99.0.64-10.99.0.67
			}
		}
	END
}

endtoend_start_haproxy() {
	local n
	world_namespace hap
	world_link hap 10.99.0.33
	endtoend_namespace hap
	for n in 30 80 81 82 83; do
		in_ns hap ip addr add "10.99.0.$n/32" dev eth0
	done
	cat >"$WORLD_DIR/haproxy.cfg" <<-END
		global
			nbthread 1
			maxconn 2000
		defaults
			mode tcp
			option splice-auto
			timeout connect 5s
			timeout client 60s
			timeout server 60s
		frontend web
			bind 10.99.0.30:80 backlog 4096
			default_backend mirrors
		backend mirrors
			server m1a 10.99.0.101:80 source 10.99.0.80
			server m1b 10.99.0.101:80 source 10.99.0.81
			server m1c 10.99.0.101:80 source 10.99.0.82
			server m1d 10.99.0.101:80 source 10.99.0.83
	END
	spawn haproxy hap haproxy -db -f "$WORLD_DIR/haproxy.cfg"
}

endtoend_configure_karmalb() {
	cat >"$WORLD_DIR/karmalb.conf" <<-END
		config_version = 1;
		dataplane = {
		  ports      = ( { name = "front"; device = "af_xdp:eth0"; } );
		  sources    = [ "10.99.0.240/28" ];
		  idle       = "sleep";
		  huge_pages = "0";
		};
		services = (
		  { name    = "web";
		    listen  = [ "10.99.0.10:80/tcp" ];
		    mirrors = ( { name = "m1"; address = "10.99.0.101"; } ); },
		  { name    = "dns";
		    listen  = [ "10.99.0.10:53/udp" ];
		    mirrors = ( { name = "m1"; address = "10.99.0.101"; } ); }
		);
	END
}

# endtoend_offload on|off: whether kernels hand each other frames of up to 64 KiB, as over a veth, or
# of the MTU's size, as over a wire.  What AF_XDP takes is always of the latter.
endtoend_offload() {
	local ns
	for ns in m1 nft hap; do
		in_ns "$ns" ethtool -K eth0 tso "$1" gso "$1" >/dev/null 2>&1 ||
			die "ethtool cannot switch offloads of $ns $1"
	done
}

# endtoend_has SETUP MEASURE: HAProxy forwards no UDP.
endtoend_has() {
	[ "$1" != haproxy ] || [[ $2 != udp_* ]]
}

# endtoend_measure SETUP MEASURE SECONDS: prints rate, p99 in us, failures.
endtoend_measure() {
	local target=${ENDTOEND_TARGETS[$1]} seconds=$3 words
	case $2 in
	download*) words=(download /big "$target:80" "${ENDTOEND_CLIENTS[0]}") ;;
	udp_*) words=(udp "$seconds" "${2#*_}" "$target:53" "${ENDTOEND_CLIENTS[@]}") ;;
	*) words=("${2%_*}" "$seconds" "${2#*_}" "$target:80" "${ENDTOEND_CLIENTS[@]}") ;;
	esac
	in_ns client timeout --foreground 120 "$BUILD/tests/bench/endtoend_load" "${words[@]}"
}

endtoend_answers() {
	local failed
	failed=$(endtoend_measure "$1" "$2" 0.2 | cut -d ' ' -f 3) && [ "$failed" = 0 ]
}

endtoend_await() {
	local setup
	for setup in "${ENDTOEND_SETUPS[@]}"; do
		wait_for 20 "an answer by $setup" endtoend_answers "$setup" requests_1 || return 1
		! endtoend_has "$setup" udp_1 ||
			wait_for 20 "a datagram by $setup" endtoend_answers "$setup" udp_1 || return 1
	done
}

# endtoend_rounds ROUNDS SECONDS RESULTS: each round in another order; lines "measure setup rate p99
# failed" in RESULTS, and on the screen as it goes.
endtoend_rounds() {
	local n_rounds=$1 seconds=$2 results=$3 round measure setup n line i
	n=${#ENDTOEND_SETUPS[@]}
	: >"$results"
	for ((round = 0; round < n_rounds; round++)); do
		for measure in "${ENDTOEND_MEASURES[@]}"; do
			printf 'round %d of %d  %-14s' $((round + 1)) "$n_rounds" "$measure"
			[ "$measure" != download_mtu ] || endtoend_offload off
			for ((i = 0; i < n; i++)); do
				setup=${ENDTOEND_SETUPS[$(((i + round) % n))]}
				endtoend_has "$setup" "$measure" || continue
				line=$(endtoend_measure "$setup" "$measure" "$seconds") ||
					die "no answer from $setup in $measure"
				echo "$measure $setup $line" >>"$results"
				printf '  %s %.0f' "$setup" "${line%% *}"
			done
			printf '\n'
			[ "$measure" != download_mtu ] || endtoend_offload on
		done
	done
}
