/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A control plane for the tests, one message at a time.  What does not come within 5 s fails the
 * running test.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <karmalb/wire.h>

#include "process.h"

union peer_message {
	struct karmalb_header header;
	struct karmalb_welcome welcome;
	struct karmalb_applied applied;
	struct karmalb_slot slot;
	struct karmalb_slot_totals slot_totals;
	struct karmalb_worker_totals worker_totals;
	struct karmalb_port_status port_status;
	struct karmalb_refused refused;
};

struct peer {
	int fd;
	int received_fd; /* rode along with the newest message; -1: none */
	union peer_message message;
};

void
peer_connect(struct peer *p, const struct process *process);

void
peer_close(struct peer *p);

/* Sends 'size' bytes as one datagram; a link that is closed already is fine. */
void
peer_send_bytes(struct peer *p, const void *bytes, size_t size);

/* Sends a message, its header filled in here. */
#define peer_send(p, number, m)                                                                    \
	((m)->header = (struct karmalb_header){KARMALB_MESSAGE_##number, KARMALB_PROTOCOL_VERSION, \
		 sizeof(*(m))},                                                                    \
		peer_send_bytes(p, m, sizeof(*(m))))

/* The next message into p->message.  False: the link was closed. */
bool
peer_receive(struct peer *p);

/* Receives until message number 'number' comes. */
void
peer_expect(struct peer *p, uint16_t number);

/* Expects REFUSED with a sentence that has 'words', then the end of the link. */
void
peer_expect_refused(struct peer *p, const char *words);

/* Connects and says HELLO; returns the epoch of WELCOME, which is left in p->message. */
uint32_t
peer_greet(struct peer *p, const struct process *process);

/* A sound transaction: one service 192.0.2.10:80 with 'n_mirrors' equal mirrors 10.0.0.1... */
struct karmalb_begin
peer_begin(uint32_t epoch);
struct karmalb_service
peer_service(uint16_t n_mirrors);
struct karmalb_mirror
peer_mirror(uint16_t mirror, double share);
struct karmalb_commit
peer_commit(uint32_t epoch);

/* All four, in order. */
void
peer_send_transaction(struct peer *p, uint32_t epoch, uint16_t n_mirrors);

/* Expects APPLIED for 'epoch'; returns its error. */
int
peer_expect_applied(struct peer *p, uint32_t epoch);
