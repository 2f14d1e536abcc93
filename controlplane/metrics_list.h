/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one list of metrics that have one value per thing they are about.  What has more labels
 * (outcomes, drops, states, histograms, information) stands in render_prometheus.c.  A row is
 *
 *     X(name, type, help, value)        karmalb_<noun of the list>_<name>
 *
 * type: COUNTER (its name ends in _total) or GAUGE.  value: an expression over 'it', the thing, and
 * 'st', the status; a NaN is not shown.  Base units only: seconds, bytes, ratios.
 */
#pragma once

/* it: the status. */
#define METRICS_PROGRAM(X)                                                                               \
	X(controlplane_start_time_seconds, GAUGE, "When the control plane started, Unix time",           \
		metric_unix_s(st, it->started_us))                                                       \
	X(dataplane_connected, GAUGE, "1 while the control plane is connected to the data plane",        \
		it->dataplane.is_connected)                                                              \
	X(dataplane_start_time_seconds, GAUGE,                                                           \
		"When the data plane started, Unix time; totals count from then on",                     \
		metric_unix_s(st, it->dataplane.started_us))                                             \
	X(dataplane_epoch_sent, GAUGE, "Number of the newest snapshot sent to the data plane",           \
		it->dataplane.epoch_sent)                                                                \
	X(dataplane_epoch_in_force, GAUGE,                                                               \
		"Number of the snapshot that every worker has, 0: none",                                 \
		it->dataplane.epoch_in_force)                                                            \
	X(dataplane_flows_max, GAUGE, "Flows that fit, all workers together",                            \
		it->dataplane.max_flows)                                                                 \
	X(dataplane_half_open_flows_max, GAUGE,                                                          \
		"Flows without SYN-ACK that fit, all workers together",                                  \
		it->dataplane.max_half_open)                                                             \
	X(dataplane_source_addresses, GAUGE, "Source addresses towards the mirrors",                     \
		it->dataplane.n_sources)                                                                 \
	X(reload_last_ok, GAUGE,                                                                         \
		"1 when the last reload went well, 0 when it was refused, turned down or not confirmed", \
		it->reload.at_unix_us > 0 ? it->reload.is_ok : NAN)                                      \
	X(reload_timestamp_seconds, GAUGE, "When the last reload ended, Unix time",                      \
		metric_stamp_s(it->reload.at_unix_us))                                                   \
	X(reload_duration_seconds, GAUGE,                                                                \
		"How long the last reload took, from reading the file until it was in force or refused", \
		it->reload.at_unix_us > 0 ? it->reload.took_us / 1e6 : NAN)                              \
	X(reload_confirm_left_seconds, GAUGE,                                                            \
		"Time until the last reload goes back by itself, 0: none waits for CONFIRM RELOAD",      \
		it->reload.confirm_left_us / 1e6)

/* it: a status_service.  Labels: service. */
#define METRICS_SERVICE(X)                                                                    \
	X(connections_total, COUNTER, "Connections given to a mirror", it->total)             \
	X(failures_total, COUNTER, "Outcomes that are failures, all mirrors and kinds",       \
		it->failed)                                                                   \
	X(open_connections, GAUGE, "Connections now", it->n_open)                             \
	X(waiting_queries, GAUGE, "Queries without answer now", it->n_waiting)                \
	X(karma_period_seconds, GAUGE, "Length of a block of karma",                          \
		it->settings.ha_period_karma_s)                                               \
	X(karma_gain_ratio, GAUGE,                                                            \
		"Gain of the last re-weighting; karma_gain = auto finds its own",             \
		it->has_gain ? it->karma_gain : NAN)                                          \
	X(reweight_timestamp_seconds, GAUGE, "When karma last changed the shares, Unix time", \
		metric_stamp_s(it->reweighted_at_unix_us))

/* it: a status_mirror.  Labels: service, mirror.  Sums over the service's listens. */
#define METRICS_MIRROR(X)                                                                         \
	X(share_ratio, GAUGE, "Share of new connections, 0 .. 1", it->share)                      \
	X(configured_share_ratio, GAUGE, "Share as the configured weights would have it, 0 .. 1", \
		it->configured_share)                                                             \
	X(connections_total, COUNTER, "Connections given to the mirror", it->life.opened)         \
	X(open_connections, GAUGE, "Connections now", it->n_open)                                 \
	X(waiting_queries, GAUGE, "Queries without answer now", it->n_waiting)                    \
	X(source_ports, GAUGE, "Source ports towards the mirror in use, resting ones included",   \
		it->source_ports)                                                                 \
	X(source_ports_left, GAUGE, "Source ports left, of the listen that has fewest",           \
		it->source_ports_left)                                                            \
	X(errors_in_row, GAUGE, "Failures since the last success", it->errors_in_row)             \
	X(pings_failed_in_row, GAUGE, "Pings without answer since the last answered one",         \
		it->pings_failed)                                                                 \
	X(ping_seconds, GAUGE, "How long the last answered ping took", metric_ping_s(it))         \
	X(avoided, GAUGE, "1 while noerrors avoids it for erring more than others",               \
		it->is_avoided)                                                                   \
	X(next_hop_resolved, GAUGE, "1 when packets know their way to the mirror",                \
		it->next_hop == KARMALB_NEXT_HOP_RESOLVED)

/* it: a karmalb_worker_totals.  Labels: worker. */
#define METRICS_WORKER(X)                                                                     \
	X(busy_seconds_total, COUNTER, "Time with packets in hand", it->busy_us / 1e6)        \
	X(flows, GAUGE, "Flow records in use, resting ones included", it->n_flows)            \
	X(half_open_flows, GAUGE, "Of these, TCP flows not established yet", it->n_half_open) \
	X(unanswered_flows, GAUGE, "Of these, UDP flows that no mirror answered yet",         \
		it->n_unanswered)

/* it: a karmalb_port_status.  Labels: port. */
#define METRICS_PORT(X)                                                                            \
	X(up, GAUGE, "1 when the port has link and is not switched off", it->is_up)                \
	X(link_losses_total, COUNTER, "Times that the port went from up to down", it->link_losses) \
	X(mtu_bytes, GAUGE, "Largest packet without Ethernet header", it->mtu)                     \
	X(zero_copy, GAUGE, "1 when packets reach us without a copy", it->is_zero_copy)            \
	X(steered_packets_total, COUNTER, "Packets that the steering program gave to us",          \
		it->steered)                                                                       \
	X(passed_packets_total, COUNTER, "Packets that it left to the kernel", it->passed)         \
	X(rx_packets_total, COUNTER, "Packets that the device gave to the workers",                \
		it->rx_packets)                                                                    \
	X(rx_bytes_total, COUNTER, "Bytes of these, Ethernet header included", it->rx_bytes)       \
	X(tx_packets_total, COUNTER, "Packets that the device took from the workers",              \
		it->tx_packets)                                                                    \
	X(tx_bytes_total, COUNTER, "Bytes of these, Ethernet header included", it->tx_bytes)       \
	X(missed_packets_total, COUNTER, "Packets that the device lost before a worker saw them",  \
		it->rx_missed)                                                                     \
	X(guard_drops_total, COUNTER,                                                              \
		"Packets of ours that slipped past steering and were kept from the kernel",        \
		it->guard_drops)
