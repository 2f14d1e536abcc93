/* SPDX-License-Identifier: BSD-3-Clause */
/* A control plane for the tests. */
#include "peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <check.h>

#define LIMIT_MS 5000

void
peer_connect(struct peer *p, const struct process *process)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	strcpy(a.sun_path, process->socket);
	p->received_fd = -1;
	p->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(p->fd, 0);
	ck_assert_int_eq(connect(p->fd, (struct sockaddr *)&a, sizeof(a)), 0);
}

void
peer_close(struct peer *p)
{
	close(p->fd);
}

void
peer_send_bytes(struct peer *p, const void *bytes, size_t size)
{
	(void)!send(p->fd, bytes, size, MSG_NOSIGNAL);
}

bool
peer_receive(struct peer *p)
{
	struct pollfd poller = {.fd = p->fd, .events = POLLIN};
	struct iovec iov = {.iov_base = &p->message, .iov_len = sizeof(p->message)};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};

	ck_assert_msg(poll(&poller, 1, LIMIT_MS) == 1, "nothing came within %d ms", LIMIT_MS);
	ssize_t size = recvmsg(p->fd, &m, MSG_CMSG_CLOEXEC);

	ck_assert_int_ge(size, 0);
	if (size == 0)
		return false;
	ck_assert_uint_eq((size_t)size, p->message.header.size);
	ck_assert_uint_eq((size_t)size, karmalb_message_size(p->message.header.message));
	ck_assert_uint_eq(p->message.header.version, KARMALB_PROTOCOL_VERSION);
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	p->received_fd = -1;
	if (c != NULL)
		memcpy(&p->received_fd, CMSG_DATA(c), sizeof(int));
	return true;
}

void
peer_expect(struct peer *p, uint16_t number)
{
	do {
		ck_assert_msg(peer_receive(p), "link closed while waiting for %u", number);
		ck_assert_msg(number == KARMALB_MESSAGE_REFUSED ||
				      p->message.header.message != KARMALB_MESSAGE_REFUSED,
			"refused: %s", p->message.refused.sentence);
	} while (p->message.header.message != number);
}

void
peer_expect_refused(struct peer *p, const char *words)
{
	peer_expect(p, KARMALB_MESSAGE_REFUSED);
	ck_assert_msg(strstr(p->message.refused.sentence, words) != NULL, "'%s' lacks '%s'",
		p->message.refused.sentence, words);
	ck_assert(!peer_receive(p));
	peer_close(p);
}

uint32_t
peer_greet(struct peer *p, const struct process *process)
{
	struct karmalb_hello hello = {.started_us = 1};

	peer_connect(p, process);
	peer_send(p, HELLO, &hello);
	peer_expect(p, KARMALB_MESSAGE_WELCOME);
	return p->message.welcome.epoch;
}

static struct karmalb_endpoint
endpoint(const char *address, uint16_t port)
{
	return (struct karmalb_endpoint){
		.address = karmalb_address_from_v4(inet_addr(address)),
		.port_be = htons(port),
		.protocol = IPPROTO_TCP,
	};
}

struct karmalb_begin
peer_begin(uint32_t epoch)
{
	return (struct karmalb_begin){.epoch = epoch, .n_services = 1};
}

struct karmalb_service
peer_service(uint16_t n_mirrors)
{
	return (struct karmalb_service){
		.listen = endpoint("192.0.2.10", 80),
		.n_mirrors = n_mirrors,
		.connect_timeout_ms = 250,
		.query_timeout_ms = 3000,
		.idle_timeout_ms = 60000,
		.name = "web",
	};
}

struct karmalb_mirror
peer_mirror(uint16_t mirror, double share)
{
	struct karmalb_mirror m = {.mirror = mirror, .share = share};
	char address[INET_ADDRSTRLEN];

	snprintf(address, sizeof(address), "10.0.0.%u", mirror + 1u);
	snprintf(m.name, sizeof(m.name), "m%u", mirror + 1u);
	m.address = endpoint(address, 80);
	return m;
}

struct karmalb_commit
peer_commit(uint32_t epoch)
{
	return (struct karmalb_commit){.epoch = epoch};
}

void
peer_send_transaction(struct peer *p, uint32_t epoch, uint16_t n_mirrors)
{
	struct karmalb_begin b = peer_begin(epoch);
	struct karmalb_service s = peer_service(n_mirrors);
	struct karmalb_commit c = peer_commit(epoch);

	peer_send(p, BEGIN, &b);
	peer_send(p, SERVICE, &s);
	for (uint16_t i = 0; i < n_mirrors; i++) {
		struct karmalb_mirror m = peer_mirror(i, 1.0 / n_mirrors);

		peer_send(p, MIRROR, &m);
	}
	peer_send(p, COMMIT, &c);
}

int
peer_expect_applied(struct peer *p, uint32_t epoch)
{
	peer_expect(p, KARMALB_MESSAGE_APPLIED);
	ck_assert_uint_eq(p->message.applied.epoch, epoch);
	return p->message.applied.error;
}
