/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * argv to struct options.  One table drives parsing, defaults and --help: a default is the text in
 * its row, put through the row's own setter, so none of the three can disagree.  Runs once, before
 * anything else.
 */
#include "options.h"

#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <karmalb/clock.h>

#include "arguments.h"
#include "number.h"

#define MIN_FLOWS 1000
#define MAX_FLOWS 1000000000

typedef int
setter(struct options *o, const char *value, struct err *err);

struct row {
	const char *name;
	const char *argument; /* NULL: takes none */
	const char *fallback; /* default; NULL: none */
	const char *help;
	setter *set;
};

static setter set_run_dir, add_port, add_source, add_neighbour, set_workers, set_idle,
	set_idle_spin_us, set_huge_pages, set_max_flows, set_max_half_open, set_assign,
	refuse_arguments, set_help, set_version;

static const struct row rows[] = {
	{"run-dir", "DIR", "/run/karmalb", "directory of dataplane.sock; made if missing",
		set_run_dir},
	{"port", "NAME=DEVICE[,KEY=VALUE...]", NULL,
		"a port: af_xdp:INTERFACE, or any DPDK device string; repeatable, at least one.\n"
		"rx_checksum=auto|wire|partial: whether received TCP and UDP checksums are\n"
		"finished (auto: partial on veth, else wire).  reply_via=learned|route: replies go\n"
		"to the MAC that the client's packets last came from, or to the default gateway.\n"
		"default_route=refuse|take: whether the interface may be the one of the host's\n"
		"default route",
		add_port},
	{"source", "ADDRESS[/BITS]", NULL,
		"our addresses towards the mirrors, every address of the prefix; repeatable, at\n"
		"least one, at most 256 in all.  They serve nothing else",
		add_source},
	{"neighbour", "ADDRESS|default=MAC[,port=NAME]", NULL,
		"who is behind a port without a kernel interface (memif, ring, pcap, tap), where\n"
		"ARP and ND are neither asked nor answered; default: all others, by a router.\n"
		"port=NAME may be left out where there is one such port; repeatable, at most 256",
		add_neighbour},
	{"workers", "CPULIST", "last",
		"CPUs of the workers, one worker each, as in 3 or 2-3,5; 'last' is the highest CPU\n"
		"that this process may use.  A CPU that is named twice serves two workers",
		set_workers},
	{"idle", "sleep|spin", "sleep",
		"what a worker without packets does; spin takes all of its CPU", set_idle},
	{"idle-spin-us", "N", "20",
		"microseconds to go on polling after the last packet before sleeping; 0 .. 1000000",
		set_idle_spin_us},
	{"huge-pages", "SIZE", "0",
		"bytes of huge pages that may be used, with suffix K, M, G or T; 0: do without",
		set_huge_pages},
	{"max-flows", "N", "1000000", "flows at a time, all workers together; suffix K or M",
		set_max_flows},
	{"max-half-open", "N", "65536",
		"of these, flows without SYN-ACK; more than max-flows means max-flows",
		set_max_half_open},
	{"assign", "yes|no", "yes",
		"put VIPs and sources on the ports' interfaces, for ARP; no: keepalived or BIRD do",
		set_assign},
	{"arguments", "FILE", NULL,
		"more arguments from FILE, one a line; '#' begins a comment line",
		refuse_arguments},
	{"help", NULL, NULL, "print this and exit", set_help},
	{"version", NULL, NULL, "print the version and exit", set_version},
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static int
parse_arguments(struct options *o, struct arguments *a, struct err *err);
static int
check_whole(struct options *o, struct err *err);

int
options_parse(struct options *o, int argc, char **argv, struct err *err)
{
	struct arguments a = {0};

	*o = (struct options){.action = OPTIONS_RUN};
	for (unsigned i = 0; i < N_ROWS; i++)
		if (rows[i].fallback != NULL) {
			int rc = rows[i].set(o, rows[i].fallback, err);

			if (rc < 0)
				return rc;
		}
	int rc = arguments_gather(&a, argc, argv, err);

	if (rc == 0)
		rc = parse_arguments(o, &a, err);
	if (rc == 0 && o->action == OPTIONS_RUN)
		rc = check_whole(o, err);
	arguments_forget(&a);
	return rc;
}

/* Prints 'text' with all lines after the first moved in. */
static void
print_moved_in(const char *text)
{
	for (const char *c = text; *c != '\0'; c++) {
		putchar(*c);
		if (*c == '\n')
			printf("      ");
	}
}

void
options_print_help(void)
{
	printf("usage: karmalb-dataplane --port NAME=DEVICE --source ADDRESS/BITS [OPTION...]\n\n"
	       "The packet process of karmalb: forwards on its last snapshot, takes new ones on\n"
	       "DIR/dataplane.sock.  karmalb-controlplane --dataplane-arguments FILE prints these\n"
	       "arguments from a configuration file.\n\n");
	for (unsigned i = 0; i < N_ROWS; i++) {
		printf("  --%s%s%s\n      ", rows[i].name, rows[i].argument ? " " : "",
			rows[i].argument ? rows[i].argument : "");
		print_moved_in(rows[i].help);
		if (rows[i].fallback != NULL)
			printf(" (default: %s)", rows[i].fallback);
		printf("\n");
	}
}

static int
check_whole(struct options *o, struct err *err)
{
	if (o->n_ports == 0)
		return err_set(err, -EINVAL, "no port given, expected --port NAME=DEVICE");
	if (o->n_sources == 0)
		return err_set(err, -EINVAL, "no source address given, expected --source CIDR");
	if (o->max_half_open > o->max_flows)
		o->max_half_open = o->max_flows;
	return 0;
}

static int
parse_arguments(struct options *o, struct arguments *a, struct err *err)
{
	struct option longs[N_ROWS + 1] = {0};
	int c, row, rc = 0;

	for (unsigned i = 0; i < N_ROWS; i++)
		longs[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].argument ? required_argument : no_argument,
		};
	opterr = 0;
	optind = 0; /* glibc: begin anew, even after an earlier parse */
	while (rc == 0 && (c = getopt_long(a->n, a->list, ":", longs, &row)) != -1) {
		const char *given = a->list[optind - 1];

		if (c == ':')
			rc = err_set(err, -EINVAL, "%s needs a value", given);
		else if (c != 0)
			rc = err_set(err, -EINVAL, "%s is not an option, see --help", given);
		else
			rc = rows[row].set(o, optarg, err);
	}
	if (rc == 0 && optind < a->n)
		rc = err_set(err, -EINVAL, "'%s' is not an option, see --help", a->list[optind]);
	return rc;
}

static int
set_run_dir(struct options *o, const char *value, struct err *err)
{
	if (value[0] != '/')
		return err_set(err, -EINVAL, "--run-dir %s: expected an absolute path", value);
	if (strlen(value) >= sizeof(o->run_dir))
		return err_set(err, -EINVAL, "--run-dir %s: expected at most %zu bytes", value,
			sizeof(o->run_dir) - 1);
	strcpy(o->run_dir, value);
	return 0;
}

static int
set_port_key(struct port_conf *p, const char *key, struct err *err)
{
	if (strcmp(key, "rx_checksum=auto") == 0)
		p->rx_checksum = PORT_CHECKSUM_AUTO;
	else if (strcmp(key, "rx_checksum=wire") == 0)
		p->rx_checksum = PORT_CHECKSUM_WIRE;
	else if (strcmp(key, "rx_checksum=partial") == 0)
		p->rx_checksum = PORT_CHECKSUM_PARTIAL;
	else if (strcmp(key, "reply_via=learned") == 0)
		p->is_reply_by_route = false;
	else if (strcmp(key, "reply_via=route") == 0)
		p->is_reply_by_route = true;
	else if (strcmp(key, "default_route=refuse") == 0)
		p->may_take_default_route = false;
	else if (strcmp(key, "default_route=take") == 0)
		p->may_take_default_route = true;
	else
		return err_set(err, -EINVAL,
			"--port %s: '%s', expected rx_checksum=auto|wire|partial, "
			"reply_via=learned|route or default_route=refuse|take",
			p->name, key);
	return 0;
}

/*
 * A DPDK device string has commas of its own (net_null0,size=64): a part whose key is not one of
 * ours belongs to it, as long as none of ours came before.
 */
static bool
is_port_key(const char *part)
{
	return strncmp(part, "rx_checksum", 11) == 0 || strncmp(part, "reply_via", 9) == 0 ||
	       strncmp(part, "default_route", 13) == 0;
}

static int
set_port_device(struct port_conf *p, char *device, struct err *err)
{
	char *rest = device;

	for (;;) {
		char *comma = strchr(rest, ',');

		if (comma == NULL || is_port_key(comma + 1)) {
			rest = comma;
			break;
		}
		rest = comma + 1;
	}
	if (rest != NULL)
		*rest++ = '\0';
	if (device[0] == '\0' || strlen(device) >= sizeof(p->device))
		return err_set(err, -EINVAL, "--port %s: device '%s', expected 1 to %zu bytes",
			p->name, device, sizeof(p->device) - 1);
	strcpy(p->device, device);

	while (rest != NULL) {
		int rc = set_port_key(p, strsep(&rest, ","), err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int
add_port(struct options *o, const char *value, struct err *err)
{
	char text[ARGUMENT_LINE_MAX];
	struct port_conf p = {0};

	if (o->n_ports == KARMALB_PORTS_MAX)
		return err_set(err, -EINVAL, "more than %u ports", KARMALB_PORTS_MAX);
	if (strlen(value) >= sizeof(text))
		return err_set(err, -EINVAL, "--port: more than %zu bytes", sizeof(text) - 1);
	strcpy(text, value);

	char *device = strchr(text, '=');

	if (device == NULL || device == text || device - text >= KARMALB_NAME_MAX)
		return err_set(err, -EINVAL, "--port %s: expected NAME=DEVICE", value);
	*device++ = '\0';
	strcpy(p.name, text);
	for (unsigned i = 0; i < o->n_ports; i++)
		if (strcmp(o->ports[i].name, p.name) == 0)
			return err_set(err, -EINVAL, "--port %s: name given twice", p.name);
	int rc = set_port_device(&p, device, err);

	if (rc == 0)
		o->ports[o->n_ports++] = p;
	return rc;
}

/* ADDRESS[/BITS] of either version; '*n_hosts' is how many addresses it stands for. */
static int
read_source(const char *value, struct karmalb_address *first, uint64_t *n_hosts, struct err *err)
{
	char text[INET6_ADDRSTRLEN];
	size_t length = strcspn(value, "/");
	struct in_addr v4;

	snprintf(text, sizeof(text), "%.*s", (int)length, value);
	bool is_v4 = length < sizeof(text) && inet_pton(AF_INET, text, &v4) == 1;
	int64_t max = is_v4 ? 32 : 128, bits = max;

	if (is_v4)
		*first = karmalb_address_from_v4(v4.s_addr);
	else if (length >= sizeof(text) || inet_pton(AF_INET6, text, first->bytes) != 1)
		bits = -1;
	if (bits > 0 && value[length] == '/')
		bits = number_read(value + length + 1, value + strlen(value), (uint64_t)max);
	if (bits < 1)
		return err_set(
			err, -EINVAL, "--source %s: expected ADDRESS or ADDRESS/BITS", value);
	if (bits < max - 31)
		return err_set(err, -EINVAL, "--source %s: more than %u source addresses", value,
			KARMALB_SOURCES_MAX);
	*n_hosts = UINT64_C(1) << (max - bits);
	if ((ntohl(karmalb_address_v4_be(first)) & (*n_hosts - 1)) != 0)
		return err_set(
			err, -EINVAL, "--source %s: bits beyond /%d are set", value, (int)bits);
	return 0;
}

static int
add_source(struct options *o, const char *value, struct err *err)
{
	struct karmalb_address first;
	uint64_t n = 0;
	int rc = read_source(value, &first, &n, err);

	if (rc < 0)
		return rc;
	if (o->n_sources + n > KARMALB_SOURCES_MAX)
		return err_set(err, -EINVAL, "--source %s: more than %u source addresses", value,
			KARMALB_SOURCES_MAX);
	for (uint32_t i = 0; i < n; i++) {
		struct karmalb_address a = first;
		uint32_t low_be = htonl(ntohl(karmalb_address_v4_be(&first)) + i);

		memcpy(&a.bytes[12], &low_be, 4);
		for (unsigned k = 0; k < o->n_sources; k++)
			if (karmalb_address_equal(&o->sources[k], &a))
				return err_set(err, -EINVAL, "--source %s: given twice", value);
		o->sources[o->n_sources++] = a;
	}
	return 0;
}

static int
add_neighbour(struct options *o, const char *value, struct err *err)
{
	if (o->n_neighbours == KARMALB_NEIGHBOURS_MAX)
		return err_set(err, -EINVAL, "more than %u neighbours", KARMALB_NEIGHBOURS_MAX);
	int rc = static_neighbour_parse(value, &o->neighbours[o->n_neighbours], err);

	if (rc == 0)
		o->n_neighbours++;
	return rc;
}

static int
last_cpu(void)
{
	cpu_set_t set;
	int last = 0;

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		for (int i = 0; i < CPU_SETSIZE; i++)
			if (CPU_ISSET(i, &set))
				last = i;
	return last;
}

/* Adds the CPUs of one item of the list, "3" or "2-3"; false: it is neither. */
static bool
add_cpus(struct options *o, const char *item, const char *stop)
{
	const char *dash = memchr(item, '-', (size_t)(stop - item));
	int64_t first = number_read(item, dash ? dash : stop, CPU_SETSIZE - 1);
	int64_t last = dash ? number_read(dash + 1, stop, CPU_SETSIZE - 1) : first;

	if (first < 0 || last < first || o->n_workers + (last - first) >= KARMALB_WORKERS_MAX)
		return false;
	for (int64_t cpu = first; cpu <= last; cpu++)
		o->worker_cpus[o->n_workers++] = (uint16_t)cpu;
	return true;
}

static int
set_workers(struct options *o, const char *value, struct err *err)
{
	o->n_workers = 0;
	if (strcmp(value, "last") == 0) {
		o->worker_cpus[o->n_workers++] = (uint16_t)last_cpu();
		return 0;
	}
	for (const char *item = value;;) {
		const char *stop = item + strcspn(item, ",");

		if (!add_cpus(o, item, stop))
			return err_set(err, -EINVAL,
				"--workers %s: expected CPUs as in 3 or 2-3,5, "
				"or 'last'",
				value);
		if (*stop == '\0')
			break;
		item = stop + 1;
	}
	return 0;
}

static int
set_idle(struct options *o, const char *value, struct err *err)
{
	o->is_sleeping = strcmp(value, "sleep") == 0;
	if (!o->is_sleeping && strcmp(value, "spin") != 0)
		return err_set(err, -EINVAL, "--idle %s: expected sleep or spin", value);
	return 0;
}

static int
set_idle_spin_us(struct options *o, const char *value, struct err *err)
{
	int64_t n = number_read(value, value + strlen(value), KARMALB_SECOND);

	if (n < 0)
		return err_set(err, -EINVAL, "--idle-spin-us %s: expected 0 .. 1000000", value);
	o->idle_spin_us = (uint32_t)n;
	return 0;
}

static int
set_huge_pages(struct options *o, const char *value, struct err *err)
{
	int64_t n = number_read_size(value, UINT64_C(1) << 40);

	if (n < 0)
		return err_set(err, -EINVAL,
			"--huge-pages %s: expected bytes as in 512M, at most "
			"1024G",
			value);
	o->huge_pages_size = (uint64_t)n;
	return 0;
}

static int
set_max_flows(struct options *o, const char *value, struct err *err)
{
	int64_t n = number_read_count(value, MAX_FLOWS);

	if (n < MIN_FLOWS)
		return err_set(err, -EINVAL, "--max-flows %s: expected %d .. %d", value, MIN_FLOWS,
			MAX_FLOWS);
	o->max_flows = (uint64_t)n;
	return 0;
}

static int
set_max_half_open(struct options *o, const char *value, struct err *err)
{
	int64_t n = number_read_count(value, MAX_FLOWS);

	if (n < 1)
		return err_set(
			err, -EINVAL, "--max-half-open %s: expected 1 .. %d", value, MAX_FLOWS);
	o->max_half_open = (uint64_t)n;
	return 0;
}

static int
set_assign(struct options *o, const char *value, struct err *err)
{
	o->assign = strcmp(value, "yes") == 0;
	if (!o->assign && strcmp(value, "no") != 0)
		return err_set(err, -EINVAL, "--assign %s: expected yes or no", value);
	return 0;
}

/* Named files were put in place before; this row is there for --help. */
static int
refuse_arguments(struct options *o, const char *value, struct err *err)
{
	(void)o;
	return err_set(err, -EINVAL, "--arguments %s: not inside an arguments file", value);
}

static int
set_help(struct options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->action = OPTIONS_SHOW_HELP;
	return 0;
}

static int
set_version(struct options *o, const char *value, struct err *err)
{
	(void)value;
	(void)err;
	o->action = OPTIONS_SHOW_VERSION;
	return 0;
}
