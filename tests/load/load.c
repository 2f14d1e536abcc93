/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bounded HTTP load that trusts nothing: a request has failed unless a 200 with its complete body
 * came back in time.  Each client is one connection at a time, by default a new one per request;
 * the server closes first.  One thread, one epoll; for demo and tests, not a benchmark.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <karmalb/clock.h>

#include "http_response.h"
#include "report.h"

#define CLIENTS_MAX 4096
#define EVENTS_MAX  256

static const char usage[] =
	"usage: karmalb-load [options] ADDRESS:PORT[/PATH]\n"
	"  --clients N       connections at a time (64)\n"
	"  --seconds S       how long, then requests under way are finished; 0: until SIGTERM (10)\n"
	"  --rate R          requests a second at most, all clients together; 0: no limit (0)\n"
	"  --keep-alive      one connection per client for all its requests\n"
	"  --timeout-ms N    a request that takes longer has failed (5000)\n"
	"  --status FILE     write the counts there every second, too\n"
	"Prints one line of JSON at the end; exit status 1 if a request failed or none was made.\n";

enum client_state {
	CLIENT_IDLE,
	CLIENT_CONNECTING,
	CLIENT_READING,
	CLIENT_READY,
	CLIENT_ENDING
};

struct client {
	int fd;
	enum client_state state;
	uint16_t port; /* our own port, for messages */
	uint64_t started_us;
	struct http_response response;
};

struct options {
	unsigned n_clients;
	unsigned seconds;
	double rate;
	bool is_keep_alive;
	uint64_t timeout_us;
	const char *status_path;
	struct sockaddr_in server;
	char request[512];
	size_t request_size;
};

static struct options options = {.n_clients = 64, .seconds = 10, .timeout_us = 5 * KARMALB_SECOND};
static struct client clients[CLIENTS_MAX];
static struct report report;
static int epoll_fd;
static volatile sig_atomic_t is_stopping;

static void
on_signal(int signal_number)
{
	(void)signal_number;
	is_stopping = 1;
}

static void
client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->state = CLIENT_IDLE;
}

static void
client_fail(struct client *c, enum report_failure why, uint64_t now_us)
{
	report_failed(&report, why, c->port, now_us - c->started_us);
	client_close(c);
}

static void
client_watch(struct client *c, int operation, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = c};

	if (epoll_ctl(epoll_fd, operation, c->fd, &event) < 0) {
		perror("epoll_ctl");
		exit(2);
	}
}

static void
client_send(struct client *c, uint64_t now_us)
{
	http_response_init(&c->response);
	if (send(c->fd, options.request, options.request_size, MSG_NOSIGNAL) !=
		(ssize_t)options.request_size) {
		client_fail(c, REPORT_RESET, now_us);
		return;
	}
	c->state = CLIENT_READING;
	client_watch(c, EPOLL_CTL_MOD, EPOLLIN);
}

/* Begins one request, over a new connection unless there is one. */
static void
client_start(struct client *c, uint64_t now_us)
{
	struct sockaddr_in own;
	socklen_t own_size = sizeof(own);

	c->started_us = now_us;
	if (c->state == CLIENT_READY) {
		client_send(c, now_us);
		return;
	}
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0) {
		perror("socket");
		exit(2);
	}
	c->state = CLIENT_CONNECTING;
	if (connect(c->fd, (struct sockaddr *)&options.server, sizeof(options.server)) < 0 &&
		errno != EINPROGRESS) {
		client_fail(c, REPORT_CONNECT, now_us);
		return;
	}
	if (getsockname(c->fd, (struct sockaddr *)&own, &own_size) == 0)
		c->port = ntohs(own.sin_port);
	client_watch(c, EPOLL_CTL_ADD, EPOLLOUT);
}

/* The response is whole: count it, and wait for the server's close unless it keeps the line. */
static void
client_finish(struct client *c, uint64_t now_us)
{
	struct http_response *r = &c->response;

	if (r->status != 200) {
		client_fail(c, REPORT_STATUS, now_us);
		return;
	}
	report_succeeded(&report, r->mirror, r->body_size, now_us - c->started_us);
	if (options.is_keep_alive && !r->is_closing)
		c->state = CLIENT_READY;
	else
		c->state = CLIENT_ENDING;
}

static void
client_closed(struct client *c, bool is_reset, uint64_t now_us)
{
	if (c->state == CLIENT_READING)
		client_fail(c, is_reset ? REPORT_RESET : REPORT_CUT, now_us);
	else
		client_close(c);
}

static void
client_readable(struct client *c, uint64_t now_us)
{
	static char buffer[65536];
	ssize_t n = recv(c->fd, buffer, sizeof(buffer), 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		client_closed(c, n < 0, now_us);
		return;
	}
	if (c->state != CLIENT_READING) { /* bytes after a complete answer */
		client_close(c);
		return;
	}
	http_response_feed(&c->response, buffer, (size_t)n);
	if (c->response.state == HTTP_RESPONSE_COMPLETE)
		client_finish(c, now_us);
	else if (c->response.state == HTTP_RESPONSE_BROKEN)
		client_fail(c, REPORT_BROKEN, now_us);
}

static void
client_connected(struct client *c, uint64_t now_us)
{
	int error = 0;
	socklen_t size = sizeof(error);

	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size);
	if (error != 0)
		client_fail(c, REPORT_CONNECT, now_us);
	else
		client_send(c, now_us);
}

/* Starts what is due, each client in its turn, and ends what took too long.  Returns how many
 * clients are under way. */
static unsigned
clients_tick(uint64_t now_us, double *budget, bool may_start)
{
	static unsigned first;
	unsigned n_busy = 0, begin = first;

	for (unsigned i = 0; i < options.n_clients; i++) {
		unsigned turn = (begin + i) % options.n_clients;
		struct client *c = &clients[turn];
		bool is_free = c->state == CLIENT_IDLE || c->state == CLIENT_READY;

		if (!is_free && now_us - c->started_us > options.timeout_us) {
			if (c->state == CLIENT_ENDING)
				client_close(c);
			else
				client_fail(c,
					c->state == CLIENT_CONNECTING ? REPORT_CONNECT
								      : REPORT_TIMEOUT,
					now_us);
		} else if (is_free && may_start && *budget >= 1) {
			*budget -= 1;
			first = turn + 1;
			client_start(c, now_us);
		}
		n_busy += c->state != CLIENT_IDLE && c->state != CLIENT_READY &&
			  c->state != CLIENT_ENDING;
	}
	return n_busy;
}

static void
clients_serve(int timeout_ms)
{
	struct epoll_event events[EVENTS_MAX];
	int n = epoll_wait(epoll_fd, events, EVENTS_MAX, timeout_ms);
	uint64_t now_us = karmalb_now_us();

	for (int i = 0; i < n; i++) {
		struct client *c = events[i].data.ptr;

		if (c->state == CLIENT_CONNECTING)
			client_connected(c, now_us);
		else
			client_readable(c, now_us);
	}
}

static void
run(void)
{
	uint64_t began_us = karmalb_now_us(), last_us = began_us, told_us = began_us;
	uint64_t end_us =
		options.seconds > 0 ? began_us + options.seconds * KARMALB_SECOND : UINT64_MAX;
	double burst = options.n_clients, budget = options.rate > 0 ? 1 : burst;
	unsigned n_busy = 0;

	do {
		uint64_t now_us = karmalb_now_us();
		bool may_start = !is_stopping && now_us < end_us;

		if (options.rate > 0)
			budget += options.rate * (double)(now_us - last_us) / KARMALB_SECOND;
		if (options.rate <= 0 || budget > burst)
			budget = burst;
		last_us = now_us;
		n_busy = clients_tick(now_us, &budget, may_start);
		if (!may_start && n_busy == 0)
			break;
		report.duration_us = now_us - began_us;
		if (options.status_path != NULL && now_us - told_us >= KARMALB_SECOND) {
			told_us = now_us;
			report_write(&report, options.status_path);
		}
		clients_serve(options.rate > 0 ? 1 : 10);
	} while (true);
}

static bool
target_parse(const char *target)
{
	char host[64];
	unsigned port;
	int used = 0;

	if (sscanf(target, "%63[0-9.]:%u%n", host, &port, &used) != 2 || port > 65535 ||
		(target[used] != '\0' && target[used] != '/'))
		return false;
	options.server.sin_family = AF_INET;
	options.server.sin_port = htons((uint16_t)port);
	if (inet_pton(AF_INET, host, &options.server.sin_addr) != 1)
		return false;
	int n = snprintf(options.request, sizeof(options.request),
		"GET %s HTTP/1.1\r\nHost: karmalb\r\nConnection: %s\r\n\r\n",
		target[used] == '/' ? target + used : "/",
		options.is_keep_alive ? "keep-alive" : "close");

	options.request_size = (size_t)n;
	return n > 0 && (size_t)n < sizeof(options.request);
}

static bool
options_parse(int argc, char **argv)
{
	static const struct option long_options[] = {{"clients", 1, NULL, 'c'},
		{"seconds", 1, NULL, 's'}, {"rate", 1, NULL, 'r'}, {"keep-alive", 0, NULL, 'k'},
		{"timeout-ms", 1, NULL, 't'}, {"status", 1, NULL, 'f'}, {NULL, 0, NULL, 0}};
	int o;

	while ((o = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (o == 'c')
			options.n_clients = (unsigned)strtoul(optarg, NULL, 10);
		else if (o == 's')
			options.seconds = (unsigned)strtoul(optarg, NULL, 10);
		else if (o == 'r')
			options.rate = strtod(optarg, NULL);
		else if (o == 'k')
			options.is_keep_alive = true;
		else if (o == 't')
			options.timeout_us = strtoull(optarg, NULL, 10) * KARMALB_MILLISECOND;
		else if (o == 'f')
			options.status_path = optarg;
		else
			return false;
	}
	return optind == argc - 1 && options.n_clients >= 1 && options.n_clients <= CLIENTS_MAX &&
	       options.timeout_us > 0 && target_parse(argv[optind]);
}

int
main(int argc, char **argv)
{
	struct sigaction action = {.sa_handler = on_signal};

	if (!options_parse(argc, argv)) {
		fputs(usage, stderr);
		return 2;
	}
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0) {
		perror("epoll_create1");
		return 2;
	}
	for (unsigned i = 0; i < options.n_clients; i++)
		clients[i].fd = -1;
	run();
	if (options.status_path != NULL)
		report_write(&report, options.status_path);
	report_print(&report, stdout);
	return report.n_failed > 0 || report.n_requests == 0;
}
