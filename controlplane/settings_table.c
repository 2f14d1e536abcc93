/* SPDX-License-Identifier: BSD-3-Clause */
/* The rows of settings.h, in the order in which the normal form prints them.  Data only. */
#include "config.h"
#include "strategy.h"

#define DAY_S   86400
#define HOUR_MS 3600000
#define DAY_MS  (24 * HOUR_MS)

static const char *const idle_choices[] = {"sleep", "spin", NULL};
static const char *const rx_checksum_choices[] = {"auto", "wire", "partial", NULL};
static const char *const default_route_choices[] = {"refuse", "take", NULL};
static const char *const reply_via_choices[] = {"learned", "route", NULL};
static const char *const karma_rule_choices[] = {"damped", "documented", NULL};
static const char *const mirror_state_choices[] = {"active", "drain", "maintenance", NULL};
static const char *const reply_check_choices[] = {
	"auto", "none", "http", "sphinxapi", "mysql", NULL};
static const char *const ping_choices[] = {"none", "tcp", "http", "sphinxapi", "mysql", NULL};
static const char *const karma_window_choices[] = {"half-full", "smooth", NULL};

const char *
settings_mirror_state_name(unsigned state)
{
	return mirror_state_choices[state];
}

static const char *
strategy_name_at(unsigned index)
{
	return strategies[index].name;
}

/* What every row begins with: what it is, where it stands, where its value goes. */
#define HEAD(title, where, kind) \
	.name = title, .scope = SETTING_SCOPE_##where, .type = SETTING_##kind
#define IN_FILE(kind, title) HEAD(title, FILE, kind)
#define IN_DATAPLANE(kind, title, member) \
	HEAD(title, DATAPLANE, kind), .offset = offsetof(struct config_dataplane, member)
#define IN_PORT(kind, member) \
	HEAD(#member, PORT, kind), .offset = offsetof(struct config_port, member)
#define IN_NEIGHBOUR(kind, member) \
	HEAD(#member, NEIGHBOUR, kind), .offset = offsetof(struct config_neighbour, member)
#define IN_CONTROLPLANE(kind, member) \
	HEAD(#member, CONTROLPLANE, kind), .offset = offsetof(struct config_controlplane, member)
#define IN_SERVICE(kind, title, member)              \
	HEAD(title, SERVICE, kind), .is_live = true, \
				    .offset = offsetof(struct service_settings, member)
#define IN_SERVICE_ONLY(kind, title) HEAD(title, SERVICE_ONLY, kind)
#define IN_MIRROR(kind, member) \
	HEAD(#member, MIRROR, kind), .offset = offsetof(struct config_mirror, member)

const struct setting settings[] = {
	{IN_FILE(COUNT, "config_version"), .offset = offsetof(struct config, version), .min = 1,
		.max = 1, .help = "Form of this file; 1 is the only one so far"},
	{IN_FILE(GROUP, "dataplane"), .help = "The packet process: CPUs, memory, ports, sources"},
	{IN_FILE(GROUP, "controlplane"), .default_text = "",
		.help = "The process that decides: its name, who may ask it"},
	{IN_FILE(GROUP, "defaults"), .default_text = "",
		.help = "Settings of every service that does not say otherwise"},
	{IN_FILE(GROUPS, "services"), .help = "What is balanced over what; () for nothing yet"},
	{IN_FILE(LATER, "clusters")},
	{IN_FILE(LATER, "notify")},

	{IN_DATAPLANE(CPUS, "workers", workers), .default_text = "last",
		.help = "CPUs that forward packets, one worker each"},
	{IN_DATAPLANE(CHOICE, "idle", idle), .default_text = "sleep", .choices = idle_choices,
		.help = "What a worker without packets does; spin takes all of its CPU"},
	{IN_DATAPLANE(COUNT, "idle_spin_us", idle_spin_us), .default_text = "20", .max = 1000000,
		.help = "Microseconds to poll on after the last packet before sleeping"},
	{IN_DATAPLANE(SIZE, "huge_pages", huge_pages_size), .default_text = "0", .min = 16 << 20,
		.max = 1ULL << 40, .zero = "do without",
		.help = "Memory in huge pages that may be used"},
	{IN_DATAPLANE(COUNT, "max_flows", max_flows), .default_text = "1000000", .min = 1000,
		.max = 1000000000, .help = "Connections at a time"},
	{IN_DATAPLANE(COUNT, "max_half_open", max_half_open), .default_text = "65536", .min = 1,
		.max = 1000000000,
		.help = "Of these, connections not established yet; as many UDP flows not answered"},
	{IN_DATAPLANE(GROUPS, "ports", ports), .help = "Devices that packets come from and go to"},
	{IN_DATAPLANE(STRINGS, "sources", sources),
		.help = "Our addresses towards the mirrors, networks with all their addresses; "
			"they serve nothing else"},
	{IN_DATAPLANE(BOOL, "assign", assign), .default_text = "true",
		.help = "Put the services' addresses and the sources on the ports' interfaces"},
	{IN_DATAPLANE(GROUPS, "neighbours", neighbours), .default_text = "",
		.help = "Who is behind ports without a kernel interface (memif, ring, pcap, tap), "
			"where ARP and ND are not spoken"},

	{IN_PORT(NAME, name), .help = "What to call it"},
	{IN_PORT(DEVICE, device), .help = "af_xdp:INTERFACE, or any DPDK device string"},
	{IN_PORT(CHOICE, rx_checksum), .default_text = "auto", .choices = rx_checksum_choices,
		.help = "Whether received checksums are finished; auto: partial on veth, else wire"},
	{IN_PORT(CHOICE, reply_via), .default_text = "learned", .choices = reply_via_choices,
		.help = "Replies go to the MAC that the client came from, or to the default "
			"route's gateway"},
	{IN_PORT(CHOICE, default_route), .default_text = "refuse", .choices = default_route_choices,
		.help = "Whether the interface may be the one of the host's default route"},

	{IN_NEIGHBOUR(TEXT, address),
		.help = "A mirror's address, or \"default\": all others, by a router"},
	{IN_NEIGHBOUR(TEXT, mac), .help = "Its MAC address, as in \"02:00:00:00:00:01\""},
	{IN_NEIGHBOUR(NAME, port), .default_text = "", .zero = "the one without kernel interface",
		.help = "The port that it is behind"},

	{IN_CONTROLPLANE(NAME, local_name), .default_text = "", .zero = "the host's name",
		.help = "What this balancer is called"},
	{IN_CONTROLPLANE(NAME, control_group), .default_text = "karmalb", .is_live = true,
		.help = "Group whose members may read with karmactl"},
	{IN_CONTROLPLANE(NAME, admin_group), .default_text = "karmalb-admin", .is_live = true,
		.help = "Group whose members may change as well, if control_group lets them in"},
	{IN_CONTROLPLANE(TEXT, metrics), .default_text = "127.0.0.1:9464", .zero = "off",
		.help = "Address and port where Prometheus finds /metrics"},

	{IN_SERVICE_ONLY(NAME, "name"), .offset = offsetof(struct config_service, name),
		.instead = "a service keeps its name; CREATE SERVICE makes one of another name",
		.help = "What to call it"},
	{IN_SERVICE_ONLY(STRINGS, "listen"),
		.instead = "listen is changed by ALTER SERVICE ... LISTEN",
		.help = "Where clients come: \"address:port/tcp\" or \"/udp\", one or more"},
	{IN_SERVICE_ONLY(GROUPS, "mirrors"),
		.instead = "mirrors are changed by ALTER SERVICE ... ADD MIRROR and DROP MIRROR",
		.help = "Who answers"},

	{IN_SERVICE(CHOICE, "ha_strategy", ha_strategy), .default_text = "random",
		.choice_at = strategy_name_at, .later = "least_request adaptive",
		.help = "How a mirror is chosen for a connection"},
	{IN_SERVICE(DURATION, "ha_period_karma", ha_period_karma_s), .default_text = "60s",
		.unit = "s", .min = 1, .max = DAY_S, .help = "How often shares follow karma"},
	{IN_SERVICE(CHOICE, "karma_rule", karma_rule), .default_text = "damped",
		.choices = karma_rule_choices,
		.help = "How karma makes shares; documented: in proportion to 1/latency, undamped"},
	{IN_SERVICE(NUMBER, "karma_gain", karma_gain), .default_text = "0.25", .max = 1,
		.word = "auto",
		.help = "How strongly latency moves a share; 1: in proportion; auto: finds it"},
	{IN_SERVICE(NUMBER, "karma_forget", karma_forget), .default_text = "0.1", .max = 1,
		.help = "How much of what was learnt is forgotten each period"},
	{IN_SERVICE(SHARE, "karma_floor", karma_floor), .default_text = "1%", .max = 0.5,
		.help = "Lowest share of a mirror that is up; at most half its configured one"},
	{IN_SERVICE(DURATION, "slow_start", slow_start_ms), .default_text = "10s", .unit = "ms",
		.min = 100, .max = HOUR_MS, .zero = "off",
		.help = "A mirror that is new or back rises to its share over so long"},
	{IN_SERVICE(NUMBER, "noerrors_tolerance_pct", noerrors_tolerance_pct), .default_text = "3",
		.max = 100, .help = "noerrors: up to so many errors in 100 queries count as none"},
	{IN_SERVICE(CHOICE, "karma_window", karma_window), .default_text = "half-full",
		.choices = karma_window_choices,
		.help = "noerrors: queries of 0.5 to 1.5 periods; smooth: of one, fading evenly"},
	{IN_SERVICE(NUMBER, "max_avoided_pct", max_avoided_pct), .default_text = "50", .max = 100,
		.help = "noerrors: at most so many in 100 mirrors are avoided for their errors"},
	{IN_SERVICE(NUMBER, "max_dead_pct", max_dead_pct), .default_text = "100", .max = 100,
		.help = "At most so many in 100 mirrors go without for being dead"},
	{IN_SERVICE(BOOL, "roundrobin_skip_dead", roundrobin_skip_dead), .default_text = "false",
		.help = "roundrobin: a dead mirror loses its turn"},
	{IN_SERVICE(COUNT, "dead_after", dead_after), .default_text = "4", .min = 1, .max = 1000,
		.help = "Failures in a row after which a mirror is dead"},
	{IN_SERVICE(DURATION, "agent_connect_timeout", agent_connect_timeout_ms),
		.default_text = "1s", .unit = "ms", .min = 1, .max = HOUR_MS,
		.help = "A mirror that has not accepted by then has failed"},
	{IN_SERVICE(DURATION, "agent_query_timeout", agent_query_timeout_ms), .default_text = "3s",
		.unit = "ms", .min = 1, .max = HOUR_MS,
		.help = "A mirror that has not begun to answer by then has failed"},
	{IN_SERVICE(DURATION, "idle_timeout", idle_timeout_ms), .default_text = "1h", .unit = "ms",
		.min = 1000, .max = 7 * DAY_MS,
		.help = "A connection without a packet for so long is forgotten"},
	{IN_SERVICE(DURATION, "udp_idle_timeout", udp_idle_timeout_ms), .default_text = "30s",
		.unit = "ms", .min = 1000, .max = 7 * DAY_MS,
		.help = "The same for UDP, whose conversations have no other end"},
	{IN_SERVICE(CHOICE, "reply_check", reply_check), .default_text = "auto",
		.choices = reply_check_choices, .later = "redis clickhouse",
		.help = "How an answer is told from an error; auto: by the port of each listen"},
	{IN_SERVICE(BOOL, "udp_answers", udp_answers), .default_text = "true",
		.help = "Whether mirrors answer datagrams; false, as for syslog: none is missed"},
	{IN_SERVICE(CHOICE, "ping", ping), .default_text = "tcp", .choices = ping_choices,
		.later = "redis clickhouse influx galera",
		.help = "How an idle mirror is asked whether it lives"},
	{IN_SERVICE(DURATION, "ha_ping_interval", ha_ping_interval_ms), .default_text = "1s",
		.unit = "ms", .min = 10, .max = HOUR_MS, .zero = "off",
		.help = "A mirror without an outcome for so long is pinged"},
	{IN_SERVICE(COUNT, "ping_port", ping_port), .default_text = "0", .min = 1, .max = 65535,
		.zero = "the mirror's own port", .help = "Port that pings go to"},
	{IN_SERVICE(TEXT, "ping_path", ping_path), .default_text = "/",
		.help = "What ping = \"http\" asks for; a status from 200 to 399 is a sign of life"},
	{HEAD("agent_retry_count", SERVICE, LATER)},
	{HEAD("agent_retry_delay", SERVICE, LATER)},
	{HEAD("mirror_retry_count", SERVICE, LATER)},
	{HEAD("load_balancing", SERVICE, LATER)},
	{HEAD("load_balancing_first_offset", SERVICE, LATER)},
	{HEAD("distributed_replica_error_half_life", SERVICE, LATER)},
	{HEAD("distributed_replica_error_cap", SERVICE, LATER)},
	{HEAD("distributed_replica_max_ignored_errors", SERVICE, LATER)},
	{HEAD("mode", SERVICE, LATER)},
	{HEAD("proxy_protocol", SERVICE, LATER)},
	{HEAD("single_writer", SERVICE, LATER)},
	{HEAD("failback", SERVICE, LATER)},
	{HEAD("on_mirror_down", SERVICE, LATER)},
	{HEAD("ping_user", SERVICE, LATER)},
	{HEAD("ping_password_file", SERVICE, LATER)},
	{HEAD("ping_password", SERVICE, LATER),
		.help = "a password does not stand in this file; ping_password_file will name a file, "
			"but is not available in this version"},

	{IN_MIRROR(NAME, name), .help = "What to call it"},
	{IN_MIRROR(ADDRESS, address),
		.help = "\"address\" or \"address:port\"; without a port, that of each listen"},
	{IN_MIRROR(COUNT, weight), .default_text = "1", .min = 1, .max = 1000,
		.help = "Its part of the traffic while karma knows nothing better"},
	{IN_MIRROR(CHOICE, state), .default_text = "active", .choices = mirror_state_choices,
		.help = "drain: no new connections; maintenance: nor pings, and not called dead"},
	{HEAD("priority", MIRROR, LATER)},
	{HEAD("backup", MIRROR, LATER)},
	{HEAD("max_connections", MIRROR, LATER)},

	{.name = NULL},
};
