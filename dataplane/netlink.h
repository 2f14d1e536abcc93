/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Talking rtnetlink: one request and its answer at a time, or a stream of events.  Control thread
 * only.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <libmnl/libmnl.h>

#include <karmalb/endpoint.h>

#define NETLINK_REQUEST_MAX 512 /* bytes of any request of ours */

struct netlink {
	struct mnl_socket *socket; /* NULL: not open */
	uint32_t sequence;
};

/* One request being built; netlink_begin() hands out its header. */
struct netlink_request {
	char bytes[NETLINK_REQUEST_MAX] __attribute__((aligned(NLMSG_ALIGNTO)));
};

/* For requests.  0 or a negative errno. */
int
netlink_open(struct netlink *nl);

/* For events of 'groups' (a mask of RTMGRP_*, of the first 32 groups); reads do not block. */
int
netlink_open_events(struct netlink *nl, uint32_t groups);

/* Not open is fine. */
void
netlink_close(struct netlink *nl);

/*
 * Begins a request of 'type' with 'flags' beside NLM_F_REQUEST and a zeroed family header of
 * 'size' bytes, which is returned: (struct nlmsghdr *)request is the message.
 */
void *
netlink_begin(struct netlink_request *request, uint16_t type, uint16_t flags, size_t size);

/* Appends an address in its family's own form. */
void
netlink_put_address(
	struct netlink_request *request, uint16_t attribute, const struct karmalb_address *address);

uint8_t
netlink_family(const struct karmalb_address *address);

/* Reads an attribute of 4 or 16 bytes.  False: another size. */
bool
netlink_get_address(const struct nlattr *attribute, struct karmalb_address *address);

/*
 * Sends it and reads the answer: an acknowledgement (NLM_F_ACK), one message, or a dump
 * (NLM_F_DUMP).  'take' is called per message; it returns false to have no more of them (that of a
 * dump's socket is then closed and opened again).  0, or the kernel's negative errno.
 */
typedef bool
netlink_take(const struct nlmsghdr *message, void *context);

int
netlink_ask(struct netlink *nl, struct netlink_request *request, netlink_take *take, void *context);

/*
 * Reads at most one batch of events.  1: some were taken, 0: none waiting, -ENOBUFS: some were
 * lost, or another negative errno.
 */
int
netlink_read_events(struct netlink *nl, netlink_take *take, void *context);
