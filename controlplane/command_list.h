/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one list of statements, in the order in which help shows them.  Grammar, dispatch, HELP,
 * completion and karmactl --help all come from these rows.  A row is
 *
 *     X(name, kind, syntax, help, example)
 *
 * name: command_NAME() in commands*.c serves it.  kind: READ; or CHANGE, which needs the right to
 * change; or EDIT, a change that edit_NAME() makes to the configuration in force.  syntax: as
 * statement.h describes it; where two fit, the earlier row is meant.  help: one line, no full stop.
 * example: matches its own row.
 */
#pragma once

#define COMMANDS(X)                                                                                                  \
	X(show_services, READ, "SHOW SERVICES",                                                                      \
		"Services: where they listen, strategy, karma period, traffic", "SHOW SERVICES")                     \
	X(show_mirrors, READ, "SHOW MIRRORS [FROM|OF service]",                                                      \
		"Mirrors by service: state, share, connections, answer times, errors, and why",                      \
		"SHOW MIRRORS FROM web")                                                                             \
	X(show_agents, READ, "SHOW AGENT STATUS [LIKE 'pattern']",                                                   \
		"Counters of all mirrors over the last 1, 5 and 15 karma periods",                                   \
		"SHOW AGENT STATUS LIKE 'ag_0_1periods_%'")                                                          \
	X(show_agent, READ, "SHOW AGENT 'host:port'|service STATUS [LIKE 'pattern']",                                \
		"The same of one mirror; or a service's mirrors with their shares",                                  \
		"SHOW AGENT '10.0.0.11:9312' STATUS")                                                                \
	X(show_karma, READ, "SHOW KARMA [FROM|OF service]",                                                          \
		"The 15 karma blocks of each mirror: connections, answer times, errors, period by period",           \
		"SHOW KARMA FROM web")                                                                               \
	X(show_flows, READ, "SHOW FLOWS [FROM mirror|service] [LIMIT count]",                                        \
		"Flows at present, in no order, 100 unless told: client, mirror, our source, state, age",            \
		"SHOW FLOWS FROM web LIMIT 20")                                                                      \
	X(explain, READ, "EXPLAIN 'src:port' TO 'vip:port/proto'|service",                                           \
		"A flow: its mirror, since when, drawn at which shares; or where a new one could go and why",        \
		"EXPLAIN '192.0.2.77:40000' TO '192.0.2.10:80/tcp'")                                                 \
	X(check_service, READ, "CHECK SERVICE [service]",                                                            \
		"A SYN to each mirror from our own source, answered with RST; and a ping to each; with their times", \
		"CHECK SERVICE web")                                                                                 \
	X(show_drops, READ, "SHOW DROPS",                                                                            \
		"Packets dropped, by reason, per worker; and those lost before a worker saw them",                   \
		"SHOW DROPS")                                                                                        \
	X(show_status, READ, "SHOW STATUS [LIKE 'pattern']",                                                         \
		"Both programs: link, snapshot in force, workers, ports, flows",                                     \
		"SHOW STATUS LIKE 'flows%'")                                                                         \
	X(set_service, CHANGE, "SET SERVICE service setting = 'value'",                                              \
		"Change a setting at once; the answer comes when every worker has it",                               \
		"SET SERVICE web ha_strategy = 'nodeads'")                                                           \
	X(strategy, CHANGE, "STRATEGY service strategy",                                                             \
		"Short for SET SERVICE service ha_strategy = 'strategy'", "STRATEGY web random")                     \
	X(set_global, EDIT, "SET GLOBAL setting = 'value'",                                                          \
		"Change a default, and with it all services that have no value of their own",                        \
		"SET GLOBAL ha_strategy = 'nodeads'")                                                                \
	X(create_service, EDIT, "CREATE SERVICE name LISTEN definition...",                                          \
		"Add a service: endpoints, MIRRORS ([name] 'address' [WEIGHT n] [, ...]) [setting = 'value' ...]",   \
		"CREATE SERVICE web LISTEN '192.0.2.10:80/tcp' MIRRORS ('10.0.0.11', '10.0.0.12')")                  \
	X(add_mirror, EDIT, "ALTER SERVICE service ADD MIRROR name 'address' [WEIGHT weight]",                       \
		"Add a mirror; in a pool at work it begins on trial",                                                \
		"ALTER SERVICE web ADD MIRROR m5 '10.0.0.15' WEIGHT 2")                                              \
	X(drop_mirror, EDIT, "ALTER SERVICE service DROP MIRROR mirror",                                             \
		"Drop a mirror; its open connections go on", "ALTER SERVICE web DROP MIRROR m5")                     \
	X(alter_listen, EDIT, "ALTER SERVICE service LISTEN endpoints...",                                           \
		"Change where a service listens",                                                                    \
		"ALTER SERVICE web LISTEN '192.0.2.10:80/tcp', '192.0.2.10:8080/tcp'")                               \
	X(alter_default, EDIT, "ALTER SERVICE service DEFAULT setting",                                              \
		"Give up the service's own value of a setting",                                                      \
		"ALTER SERVICE web DEFAULT ha_strategy")                                                             \
	X(drop_service, EDIT, "DROP SERVICE service", "Drop a service", "DROP SERVICE web")                          \
	X(set_mirror_state, EDIT,                                                                                    \
		"SET MIRROR mirror STATE = state [WITHIN duration] [UNTIL time]",                                    \
		"drain: no new connections, and maintenance at the end; maintenance: no pings either; active",       \
		"SET MIRROR web.m1 STATE = drain WITHIN 5m")                                                         \
	X(set_mirror_weight, EDIT, "SET MIRROR mirror WEIGHT = weight",                                              \
		"Change a mirror's configured weight", "SET MIRROR web.m1 WEIGHT = 3")                               \
	X(reset_service, EDIT, "RESET SERVICE service",                                                              \
		"Back to what the configuration file says of a service", "RESET SERVICE web")                        \
	X(reset_flows, CHANGE, "RESET FLOWS [FROM mirror|service]",                                                  \
		"End the flows there are: RST to client and mirror; new ones open as ever, no failure is counted",   \
		"RESET FLOWS FROM web.m1")                                                                           \
	X(reload, CHANGE, "RELOAD [CONFIRM WITHIN duration]",                                                        \
		"Read the configuration file and what was saved anew; with CONFIRM, back again by itself",           \
		"RELOAD CONFIRM WITHIN 60s")                                                                         \
	X(confirm_reload, CHANGE, "CONFIRM RELOAD",                                                                  \
		"Keep what RELOAD CONFIRM WITHIN has taken into force", "CONFIRM RELOAD")                            \
	X(save_config, CHANGE, "SAVE [CONFIG]",                                                                      \
		"Keep what statements have changed, for the next start; never writes the configuration file",        \
		"SAVE CONFIG")                                                                                       \
	X(show_diff, READ, "SHOW DIFF",                                                                              \
		"What is in force otherwise than the configuration file says", "SHOW DIFF")                          \
	X(show_events, READ, "SHOW EVENTS [SINCE time...]",                                                          \
		"Changes of state of late: mirrors, data plane, reloads, statements; since 10m or 2026-11-30 09:00", \
		"SHOW EVENTS SINCE 10m")                                                                             \
	X(why, READ, "WHY [mirror|service]", "Why each mirror has the share it has", "WHY web.m1")                   \
	X(show_settings, READ, "SHOW SETTINGS [LIKE 'pattern']",                                                     \
		"All settings: value, default, unit, and where the value comes from",                                \
		"SHOW SETTINGS LIKE '%karma%'")                                                                      \
	X(help, READ, "HELP [statement...]",                                                                         \
		"These lines; or all about the statements that have the given words",                                \
		"HELP SHOW MIRRORS")
