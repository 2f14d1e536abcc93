#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# limit: 180 s
# A real Prometheus scrapes the balancer and answers with the shares that karmactl shows.
. "$(dirname "$0")/_init.sh"

METRICS=http://127.0.0.1:9464
PROMETHEUS=http://127.0.0.1:9090

# query EXPRESSION PYTHON: asks Prometheus; 'r' is the list of results.
query() {
	in_ns lb curl -sS --max-time 5 --get --data-urlencode "query=$1" \
		"$PROMETHEUS/api/v1/query" |
		json_value "(lambda r: $2)(r['data']['result'])"
}

has_result() {
	[ "$(query "$1" 'len(r)')" -gt 0 ]
}

http_status() {
	in_ns lb curl -sS --max-time 30 -o "$WORLD_DIR/body" -w '%{http_code}' "$@"
}

command -v prometheus >/dev/null || skip "prometheus is not installed"
start_world 3 'ha_strategy = "random"; ha_ping_interval = "0";'

step "only /metrics is there, and only to be read"
expect_equal "status of /metrics" "$(http_status "$METRICS/metrics")" 200
expect_equal "status of /" "$(http_status "$METRICS/")" 404
expect_match "the sentence" "$(cat "$WORLD_DIR/body")" 'only /metrics'
expect_equal "status of a POST" "$(http_status -d x "$METRICS/metrics")" 405

step "promtool has nothing to say about what the balancer serves"
expect_equal "promtool's words" \
	"$(in_ns lb curl -sS "$METRICS/metrics" | promtool check metrics 2>&1)" ""

step "Prometheus starts"
cat >"$WORLD_DIR/prometheus.yml" <<-END
	global: {scrape_interval: 1s, evaluation_interval: 1s}
	scrape_configs:
	  - job_name: karmalb
	    static_configs: [{targets: ["127.0.0.1:9464"]}]
	rule_files: ["$TOP/docs/prometheus/karmalb.rules.yml"]
END
spawn prometheus lb prometheus --config.file="$WORLD_DIR/prometheus.yml" \
	--storage.tsdb.path="$WORLD_DIR/prometheus" --web.listen-address=127.0.0.1:9090
load_start --clients 8 --rate 200
load_is_flowing
wait_for 30 "Prometheus to have scraped" has_result 'karmalb_build_info'
wait_for 15 "the first connections to be scraped" has_result 'karmalb_service_connections_total > 100'

step "its shares are ours"
expect_equal "shares" \
	"$(query 'karmalb_mirror_share_ratio' "[round(float(x['value'][1]), 6) for x in r]")" \
	"$(ask_json 'SHOW MIRRORS' "[round(m['share'], 6) for m in r]")"
expect_equal "up" "$(query 'up{job="karmalb"}' "r[0]['value'][1]")" 1

step "the load ends, and the counts agree"
load_stop
n_requests=$(load_value 'r["requests"]')
prometheus_has_all() {
	[ "$(query 'karmalb_service_connections_total' "r[0]['value'][1]")" = "$n_requests" ]
}
wait_for 10 "Prometheus to have counted $n_requests connections" prometheus_has_all ||
	fail "it has $(query 'karmalb_service_connections_total' "r[0]['value'][1]")"
prometheus_has_answers() {
	[ "$(query 'sum(karmalb_mirror_query_seconds_count)' "r[0]['value'][1]")" = "$n_requests" ]
}
wait_for 10 "the $n_requests answers in the histograms" prometheus_has_answers ||
	fail "answers: $(query 'sum(karmalb_mirror_query_seconds_count)' "r[0]['value'][1]")"

step "the port, the source ports and a reload are there, too"
prometheus_has_ports_back() {
	[ "$(query 'sum(karmalb_mirror_source_ports)' "r[0]['value'][1]")" -gt 0 ]
}
wait_for 10 "source ports that rest to be scraped" prometheus_has_ports_back ||
	fail "no source port rests"
# Each mirror has all 64512 ports of each source; those in use are not left.
expect_equal "source ports, used and left" \
	"$(query 'karmalb_mirror_source_ports + karmalb_mirror_source_ports_left' \
		"sorted({int(x['value'][1]) % 64512 for x in r})")" 0
n_packets=$(ask_json 'SHOW STATUS' "r['rx_packets']")
expect_equal "packets of the port" \
	"$(query 'karmalb_port_rx_packets_total' "int(r[0]['value'][1]) > 0")" True
expect_between "packets that workers count" "$n_packets" 1 100000000
# Ports are read once a second and scraped later still.
prometheus_has_packets() {
	[ "$(query 'sum(karmalb_port_rx_packets_total)' "r[0]['value'][1]")" -ge "$n_packets" ]
}
wait_for 10 "the port's $n_packets packets to be scraped" prometheus_has_packets ||
	fail "packets of the port: $(query 'sum(karmalb_port_rx_packets_total)' "r[0]['value'][1]")"
ctl RELOAD >/dev/null || fail "no reload"
wait_for 10 "the reload to be scraped" has_result 'karmalb_reload_last_ok == 1'
expect_equal "reloads" "$(query 'karmalb_reloads_total{result="ok"}' "r[0]['value'][1]")" 1

step "a data plane that is gone is seen"
finish dataplane 8
wait_for 10 "the metric to say so" has_result 'karmalb_dataplane_connected == 0'
