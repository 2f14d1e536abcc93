#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 120 s
# Real nginx with TLS behind services that check for HTTP, for MySQL and for nothing.  Of what is
# encrypted only that it is answered can be seen: each answer is a success with its latency, whatever
# it says, as often as the client's own TLS counts; and no kind of farewell is held against a mirror.
. "$(dirname "$0")/_init.sh"

/usr/bin/python3 -c 'import ssl' 2>/dev/null || skip "python3 has no ssl"
command -v openssl >/dev/null || skip "openssl is not installed"

# service NAME PORT CHECK
service() {
	printf '{ name = "%s"; listen = [ "%s:%s/tcp" ]; ha_strategy = "random"; ha_ping_interval = "0"; reply_check = "%s";
		agent_query_timeout = "60s"; agent_connect_timeout = "60s";
		mirrors = ( { name = "m"; address = "10.99.0.101"; } ); }' "$1" "$WORLD_VIP" "$2" "$3"
}

# tls PORT ARGUMENT...: _tls.py from the client.
tls() {
	in_ns client /usr/bin/python3 "$SMOKE/_tls.py" "$WORLD_VIP" "$@" >"$WORLD_DIR/asked" || fail "_tls.py $*"
	step "_tls.py $*: $(cat "$WORLD_DIR/asked")"
}

# latencies SERVICE: how many there are of its mirror.
latencies() {
	metric lb karmalb_mirror_query_seconds_count "service=\"$1\""
}

latencies_are() {
	[ "$(latencies "$1")" -eq "$2" ]
}

answers_are() {
	[ "$(mirror_answers m1)" -eq "$1" ]
}

world_create 1
mirror_configure m1 0 timer
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=mirror -keyout "$WORLD_DIR/key" -out "$WORLD_DIR/certificate" \
	2>"$WORLD_DIR/log/openssl" || fail "$(cat "$WORLD_DIR/log/openssl")"
sed -i "s,listen 80 ;,listen 80; listen 443 ssl; listen 3306 ssl; listen 8443 ssl; include $WORLD_DIR/m1/tls.conf;," \
	"$WORLD_DIR/m1/nginx.conf"
cat >"$WORLD_DIR/m1/tls.conf" <<-END
	ssl_certificate $WORLD_DIR/certificate;
	ssl_certificate_key $WORLD_DIR/key;
	ssl_protocols TLSv1.2 TLSv1.3;
	location /200 { return 200 "good\\n"; }
	location /500 { return 500 "bad\\n"; }
END
mirror_start m1 || fail "m1 did not start"
configure "$(service http 443 http), $(service mysql 3306 mysql), $(service none 8443 none)"
balancer_start || fail "the balancer did not start"

declare -A flights=([http]=0 [mysql]=0 [none]=0)
n_asked=0
for way in "http 443" "mysql 3306" "none 8443"; do
	read -r name port <<<"$way"
	for version in 1.2 1.3; do
		for mode in silent farewell waiting server; do
			for status in 200 500; do
				tls "$port" $version /$status 5 3 $mode
				expect_equal "answers of status $status" "$(answers $status)" 15
				n_asked=$((n_asked + 15))
				flights[$name]=$((flights[$name] + $(answers flights)))
			done
		done
	done
	expect_outcomes "$name" m "succeeded_queries=${flights[$name]}"
	wait_for 20 "as many latencies" latencies_are "$name" "${flights[$name]}" ||
		fail "latencies of $name: $(latencies "$name"), expected ${flights[$name]}"
done
wait_for 20 "nginx to have logged all answers" answers_are "$n_asked" || fail "nginx: $(mirror_answers m1), not $n_asked"

step "curl and openssl, as they come"
for ((i = 0; i < 10; i++)); do
	expect_equal "curl's answer" "$(in_ns client curl -sSk --max-time 30 "https://$WORLD_VIP/200")" good
	in_ns client timeout 30 openssl s_client -quiet -connect "$WORLD_VIP:8443" \
		< <(printf 'GET /200 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n') 2>/dev/null | grep -q good || fail "openssl s_client"
done
n_asked=$((n_asked + 20))
wait_for 20 "nginx to have logged all answers" answers_are "$n_asked" || fail "nginx: $(mirror_answers m1), not $n_asked"
# At least two answers each: of the handshake and of the request.
more_succeeded() {
	[[ "$(outcomes "$1" m)" =~ ^succeeded_queries=([0-9]+)$ ]] && [ "${BASH_REMATCH[1]}" -ge $((${flights[$1]} + 20)) ]
}
for name in http none; do
	wait_for 20 "successes, and nothing else" more_succeeded $name || fail "$name: $(outcomes $name m)"
	step "$name: $(outcomes $name m)"
done
