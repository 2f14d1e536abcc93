/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The client of scripts/bench endtoend, and its UDP server: a closed loop over a number of
 * connections, as cheap as can be, since it shares its CPUs with what is measured.  One thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "http_response.h"

#define SOURCES_MAX     64
#define CONNECTIONS_MAX 1024
#define EVENTS_MAX      64
#define SECOND_NS       UINT64_C(1000000000)
#define LOST_NS         (SECOND_NS / 2) /* a datagram's answer that takes longer never comes */
#define TIMEOUT_NS      (5 * SECOND_NS)
#define DATAGRAM_SIZE   64

static const char usage[] =
	"usage: endtoend_load requests|connections|udp SECONDS CONNECTIONS ADDRESS:PORT SOURCE...\n"
	"       endtoend_load download PATH ADDRESS:PORT SOURCE\n"
	"       endtoend_load serve PORT\n"
	"Requests over as many kept connections, each over a new one, or by datagrams; or one whole\n"
	"download.  Sources are own addresses, taken in turn.  Prints what, how many a second (or\n"
	"bytes), the 99th percentile in us, and failures.  'serve' answers datagrams until SIGTERM.\n";

enum mode {
	MODE_REQUESTS,
	MODE_CONNECTIONS,
	MODE_UDP,
	MODE_DOWNLOAD
};

struct connection {
	int fd;
	bool is_connecting;
	uint64_t began_ns;
	uint32_t number; /* of the datagram under way */
	struct http_response response;
};

static enum mode mode;
static struct sockaddr_in server, sources[SOURCES_MAX];
static unsigned n_sources, next_source, n_connections;
static struct connection connections[CONNECTIONS_MAX];
static char request[512];
static size_t request_size;
static int epoll_fd;
static uint32_t *times_ns; /* of all that succeeded */
static size_t n_times, n_times_max, n_failed;
static uint64_t n_bytes;

static uint64_t
now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

static _Noreturn void
die(const char *what)
{
	perror(what);
	exit(2);
}

static void
note_success(uint64_t took_ns)
{
	if (n_times == n_times_max) {
		n_times_max = n_times_max * 2 + 65536;
		times_ns = realloc(times_ns, n_times_max * sizeof(*times_ns));
		if (times_ns == NULL)
			die("realloc");
	}
	times_ns[n_times++] = took_ns < UINT32_MAX ? (uint32_t)took_ns : UINT32_MAX;
}

static void
watch(struct connection *c, int operation, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.ptr = c};

	if (epoll_ctl(epoll_fd, operation, c->fd, &event) < 0)
		die("epoll_ctl");
}

static void
open_connection(struct connection *c)
{
	int type = mode == MODE_UDP ? SOCK_DGRAM : SOCK_STREAM, one = 1;

	c->fd = socket(AF_INET, type | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		die("socket");
	if (type == SOCK_STREAM) {
		setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
		setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	}
	if (n_sources > 0 && bind(c->fd, (struct sockaddr *)&sources[next_source++ % n_sources],
				     sizeof(sources[0])) < 0)
		die("bind");
	c->is_connecting = connect(c->fd, (struct sockaddr *)&server, sizeof(server)) < 0;
	if (c->is_connecting && errno != EINPROGRESS)
		die("connect");
	watch(c, EPOLL_CTL_ADD, c->is_connecting ? EPOLLOUT : EPOLLIN);
}

static void
send_request(struct connection *c)
{
	if (mode == MODE_UDP) {
		char datagram[DATAGRAM_SIZE] = {0};

		c->number++;
		memcpy(datagram, &c->number, sizeof(c->number));
		c->began_ns = now_ns();
		if (send(c->fd, datagram, sizeof(datagram), 0) < 0)
			n_failed++;
		return;
	}
	http_response_init(&c->response);
	if (mode != MODE_CONNECTIONS) /* those began with their SYN */
		c->began_ns = now_ns();
	if (send(c->fd, request, request_size, MSG_NOSIGNAL) != (ssize_t)request_size)
		n_failed++;
}

/* The next thing for a connection to do, on itself or on a new one. */
static void
begin(struct connection *c)
{
	if (mode == MODE_CONNECTIONS || c->fd < 0) {
		if (c->fd >= 0)
			close(c->fd);
		c->began_ns = now_ns();
		open_connection(c);
	}
	if (!c->is_connecting)
		send_request(c);
}

static void
fail(struct connection *c)
{
	n_failed++;
	close(c->fd);
	c->fd = -1;
	begin(c);
}

static void
read_datagram(struct connection *c)
{
	char datagram[DATAGRAM_SIZE];
	uint32_t number;

	if (recv(c->fd, datagram, sizeof(datagram), 0) != sizeof(datagram))
		return;
	memcpy(&number, datagram, sizeof(number));
	if (number != c->number)
		return; /* of one that was given up */
	note_success(now_ns() - c->began_ns);
	begin(c);
}

/* Returns false once there is nothing more to read. */
static bool
read_response(struct connection *c)
{
	static char buffer[256 * 1024];
	ssize_t n = recv(c->fd, buffer, sizeof(buffer), 0);

	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		fail(c);
		return false;
	}
	n_bytes += (uint64_t)n;
	size_t used = http_response_feed(&c->response, buffer, (size_t)n);

	if (c->response.state == HTTP_RESPONSE_COMPLETE && used == (size_t)n &&
		c->response.status == 200) {
		note_success(now_ns() - c->began_ns);
		if (mode != MODE_DOWNLOAD)
			begin(c);
		return false;
	}
	if (c->response.state >= HTTP_RESPONSE_COMPLETE) {
		fail(c);
		return false;
	}
	return n == sizeof(buffer);
}

static void
serve_event(struct connection *c, uint32_t events)
{
	if (mode == MODE_UDP) {
		read_datagram(c);
		return;
	}
	if (events & (EPOLLERR | EPOLLHUP) && c->is_connecting) {
		fail(c);
		return;
	}
	if (c->is_connecting) {
		c->is_connecting = false;
		watch(c, EPOLL_CTL_MOD, EPOLLIN);
		send_request(c);
		return;
	}
	while (read_response(c))
		;
}

/* What has waited too long, is given up and begun anew. */
static void
give_up_late(uint64_t at_ns)
{
	uint64_t limit_ns = mode == MODE_UDP ? LOST_NS : TIMEOUT_NS;

	for (unsigned i = 0; i < n_connections; i++) {
		struct connection *c = &connections[i];

		if (at_ns < c->began_ns + limit_ns)
			continue;
		if (mode == MODE_UDP) {
			n_failed++;
			begin(c);
		} else
			fail(c);
	}
}

/* Until 'end_ns'; a download until it is there. */
static void
run(uint64_t end_ns)
{
	struct epoll_event events[EVENTS_MAX];
	uint64_t at_ns = now_ns(), checked_ns = at_ns;

	while (mode == MODE_DOWNLOAD ? n_times + n_failed == 0 : at_ns < end_ns) {
		int n = epoll_wait(epoll_fd, events, EVENTS_MAX, 100);

		for (int i = 0; i < n; i++)
			serve_event(events[i].data.ptr, events[i].events);
		at_ns = now_ns();
		if (mode != MODE_DOWNLOAD && at_ns > checked_ns + SECOND_NS / 10) {
			give_up_late(at_ns);
			checked_ns = at_ns;
		}
	}
}

static int
compare_times(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void
report(double seconds)
{
	qsort(times_ns, n_times, sizeof(*times_ns), compare_times);
	double p99_us = n_times > 0 ? times_ns[n_times * 99 / 100] / 1e3 : 0;
	double rate = (mode == MODE_DOWNLOAD ? (double)n_bytes : (double)n_times) / seconds;

	printf("%.1f %.1f %zu\n", rate, p99_us, n_failed);
}

static _Noreturn void
serve(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)}, peer;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	char datagram[2048];

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		die("bind");
	for (;;) {
		socklen_t size = sizeof(peer);
		ssize_t n = recvfrom(
			fd, datagram, sizeof(datagram), 0, (struct sockaddr *)&peer, &size);

		if (n >= 0)
			sendto(fd, datagram, (size_t)n, 0, (struct sockaddr *)&peer, size);
	}
}

/* "ADDRESS" or "ADDRESS:PORT". */
static struct sockaddr_in
read_address(const char *text)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	char host[64];
	unsigned port = 0;

	if (sscanf(text, "%63[0-9.]:%u", host, &port) < 1 || port > UINT16_MAX ||
		inet_pton(AF_INET, host, &address.sin_addr) != 1) {
		fprintf(stderr, "not an address: %s\n", text);
		exit(2);
	}
	address.sin_port = htons((uint16_t)port);
	return address;
}

static bool
read_mode(const char *word)
{
	static const char *const words[] = {"requests", "connections", "udp", "download"};

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(word, words[i]) == 0) {
			mode = (enum mode)i;
			return true;
		}
	}
	return false;
}

static void
make_request(const char *path)
{
	request_size = (size_t)snprintf(request, sizeof(request),
		"GET %s HTTP/1.1\r\nHost: bench\r\nConnection: %s\r\n\r\n", path,
		mode == MODE_REQUESTS ? "keep-alive" : "close");
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "serve") == 0)
		serve((uint16_t)atoi(argv[2]));
	if (argc < 5 || !read_mode(argv[1]) || (mode != MODE_DOWNLOAD && argc < 6)) {
		fputs(usage, stderr);
		return 2;
	}
	bool is_download = mode == MODE_DOWNLOAD;
	double seconds = is_download ? 0 : atof(argv[2]);
	int at = is_download ? 3 : 4;

	n_connections = is_download ? 1 : (unsigned)atoi(argv[3]);
	if (n_connections == 0 || n_connections > CONNECTIONS_MAX) {
		fputs(usage, stderr);
		return 2;
	}
	make_request(is_download ? argv[2] : "/");
	server = read_address(argv[at]);
	for (int i = at + 1; i < argc && n_sources < SOURCES_MAX; i++)
		sources[n_sources++] = read_address(argv[i]);
	epoll_fd = epoll_create1(0);
	uint64_t began_ns = now_ns();

	for (unsigned i = 0; i < n_connections; i++) {
		connections[i].fd = -1;
		begin(&connections[i]);
	}
	run(began_ns + (uint64_t)(seconds * 1e9));
	report((double)(now_ns() - began_ns) / 1e9);
	return n_times > 0 ? 0 : 1;
}
