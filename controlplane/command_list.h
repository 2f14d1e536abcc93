/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The one list of statements, in the order in which help shows them.  Grammar, dispatch, HELP,
 * completion and karmactl --help all come from these rows.  A row is
 *
 *     X(name, kind, syntax, help, example)
 *
 * name: command_NAME() in commands*.c serves it.  kind: READ, or CHANGE, which needs the right to
 * change.  syntax: as statement.h describes it; where two fit, the earlier row is meant.  help: one
 * line, no full stop.  example: matches its own row.
 */
#pragma once

#define COMMANDS(X)                                                                                \
	X(show_services, READ, "SHOW SERVICES",                                                    \
		"Services: where they listen, strategy, karma period, traffic", "SHOW SERVICES")   \
	X(show_mirrors, READ, "SHOW MIRRORS [FROM|OF service]",                                    \
		"Mirrors by service: state, share, connections, answer times, errors, and why",    \
		"SHOW MIRRORS FROM web")                                                           \
	X(show_agents, READ, "SHOW AGENT STATUS [LIKE 'pattern']",                                 \
		"Counters of all mirrors over the last 1, 5 and 15 karma periods",                 \
		"SHOW AGENT STATUS LIKE 'ag_0_1periods_%'")                                        \
	X(show_agent, READ, "SHOW AGENT 'host:port'|service STATUS [LIKE 'pattern']",              \
		"The same of one mirror; or a service's mirrors with their shares",                \
		"SHOW AGENT '10.0.0.11:9312' STATUS")                                              \
	X(show_drops, READ, "SHOW DROPS",                                                          \
		"Packets dropped, by reason, per worker; and those lost before a worker saw them", \
		"SHOW DROPS")                                                                      \
	X(show_status, READ, "SHOW STATUS [LIKE 'pattern']",                                       \
		"Both programs: link, snapshot in force, workers, ports, flows",                   \
		"SHOW STATUS LIKE 'flows%'")                                                       \
	X(set_service, CHANGE, "SET SERVICE service setting = 'value'",                            \
		"Change a setting at once; the answer comes when every worker has it",             \
		"SET SERVICE web ha_strategy = 'nodeads'")                                         \
	X(strategy, CHANGE, "STRATEGY service strategy",                                           \
		"Short for SET SERVICE service ha_strategy = 'strategy'", "STRATEGY web random")   \
	X(help, READ, "HELP [statement...]",                                                       \
		"These lines; or all about the statements that have the given words",              \
		"HELP SHOW MIRRORS")
