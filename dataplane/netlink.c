/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtnetlink over libmnl.  The kernel answers a request within the call that reads it, so nothing
 * here waits for longer than the kernel takes.
 */
#include "netlink.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include <linux/rtnetlink.h>

#define NETLINK_BUFFER_SIZE  (32 * 1024) /* the largest piece in which the kernel dumps */
#define NETLINK_EVENTS_QUEUE (4 * 1024 * 1024)

static int
socket_open(struct netlink *nl, int flags, uint32_t groups)
{
	int one = 1;

	nl->socket = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | flags);
	if (nl->socket == NULL)
		return -errno;
	/* Lets a dump be narrowed to a table or an interface (Linux 4.20). */
	setsockopt(mnl_socket_get_fd(nl->socket), SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one,
		sizeof(one));
	if (mnl_socket_bind(nl->socket, groups, MNL_SOCKET_AUTOPID) < 0) {
		int error = -errno;

		netlink_close(nl);
		return error;
	}
	return 0;
}

int
netlink_open(struct netlink *nl)
{
	return socket_open(nl, 0, 0);
}

int
netlink_open_events(struct netlink *nl, uint32_t groups)
{
	int size = NETLINK_EVENTS_QUEUE;
	int error = socket_open(nl, SOCK_NONBLOCK, groups);

	if (error == 0)
		setsockopt(mnl_socket_get_fd(nl->socket), SOL_SOCKET, SO_RCVBUFFORCE, &size,
			sizeof(size));
	return error;
}

void
netlink_close(struct netlink *nl)
{
	if (nl->socket != NULL)
		mnl_socket_close(nl->socket);
	nl->socket = NULL;
}

void *
netlink_begin(struct netlink_request *request, uint16_t type, uint16_t flags, size_t size)
{
	struct nlmsghdr *message = mnl_nlmsg_put_header(request->bytes);

	message->nlmsg_type = type;
	message->nlmsg_flags = NLM_F_REQUEST | flags;
	return mnl_nlmsg_put_extra_header(message, size);
}

uint8_t
netlink_family(const struct karmalb_address *address)
{
	return karmalb_address_is_v4(address) ? AF_INET : AF_INET6;
}

void
netlink_put_address(
	struct netlink_request *request, uint16_t attribute, const struct karmalb_address *address)
{
	struct nlmsghdr *message = (struct nlmsghdr *)request->bytes;

	if (karmalb_address_is_v4(address))
		mnl_attr_put(message, attribute, 4, &address->bytes[12]);
	else
		mnl_attr_put(message, attribute, 16, address->bytes);
}

bool
netlink_get_address(const struct nlattr *attribute, struct karmalb_address *address)
{
	uint32_t v4_be;

	switch (mnl_attr_get_payload_len(attribute)) {
	case 4:
		memcpy(&v4_be, mnl_attr_get_payload(attribute), 4);
		*address = karmalb_address_from_v4(v4_be);
		return true;
	case 16:
		memcpy(address->bytes, mnl_attr_get_payload(attribute), 16);
		return true;
	default:
		return false;
	}
}

struct answer {
	uint32_t sequence; /* 0: events, all are wanted */
	netlink_take *take;
	void *context;
	bool is_complete;
	bool is_enough; /* 'take' wants no more */
	int error;
};

/* Walks the messages of one datagram. */
static void
answer_read(struct answer *answer, const char *bytes, int size)
{
	const struct nlmsghdr *m = (const struct nlmsghdr *)bytes;

	for (; mnl_nlmsg_ok(m, size) && !answer->is_complete; m = mnl_nlmsg_next(m, &size)) {
		if (answer->sequence != 0 && m->nlmsg_seq != answer->sequence)
			continue; /* the rest of an earlier, abandoned dump */
		if (m->nlmsg_type == NLMSG_ERROR || m->nlmsg_type == NLMSG_DONE) {
			/* Both begin with an int that is 0 or a negative errno. */
			if (mnl_nlmsg_get_payload_len(m) >= sizeof(int))
				memcpy(&answer->error, mnl_nlmsg_get_payload(m), sizeof(int));
			answer->is_complete = true;
			continue;
		}
		if (m->nlmsg_type >= NLMSG_MIN_TYPE && answer->take != NULL && !answer->is_enough)
			answer->is_enough = !answer->take(m, answer->context);
	}
}

int
netlink_ask(struct netlink *nl, struct netlink_request *request, netlink_take *take, void *context)
{
	struct nlmsghdr *message = (struct nlmsghdr *)request->bytes;
	struct answer answer = {.take = take, .context = context};
	char buffer[NETLINK_BUFFER_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));

	answer.sequence = ++nl->sequence != 0 ? nl->sequence : ++nl->sequence;
	message->nlmsg_seq = answer.sequence;
	/* A single answer is followed by an acknowledgement, so that all three kinds end alike. */
	if ((message->nlmsg_flags & NLM_F_DUMP) != NLM_F_DUMP)
		message->nlmsg_flags |= NLM_F_ACK;
	if (mnl_socket_sendto(nl->socket, message, message->nlmsg_len) < 0)
		return -errno;
	/* Bounded by the dump's length: the kernel ends each answer. */
	while (!answer.is_complete) {
		ssize_t size = mnl_socket_recvfrom(nl->socket, buffer, sizeof(buffer));

		if (size < 0 && errno == EINTR)
			continue;
		if (size < 0)
			return -errno;
		answer_read(&answer, buffer, (int)size);
		if (answer.is_enough && (message->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP) {
			netlink_close(nl); /* the only way to stop a dump */
			return netlink_open(nl);
		}
	}
	return answer.error;
}

int
netlink_read_events(struct netlink *nl, netlink_take *take, void *context)
{
	struct answer answer = {.take = take, .context = context};
	char buffer[NETLINK_BUFFER_SIZE] __attribute__((aligned(NLMSG_ALIGNTO)));
	ssize_t size = mnl_socket_recvfrom(nl->socket, buffer, sizeof(buffer));

	if (size < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	answer_read(&answer, buffer, (int)size);
	return 1;
}
