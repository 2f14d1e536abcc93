/* SPDX-License-Identifier: BSD-3-Clause */
/* A status made by hand, every figure of it chosen, so that what is shown can be compared. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <karmalb/endpoint.h>

struct epochs;
struct event_base;
struct inquiry_author;
struct pinger_author;
struct karmalb_question;
struct status;

/* TCP at an IPv4 address in text; the port in host order. */
struct karmalb_endpoint
fake_endpoint(const char *address, uint16_t port);

/* Two services, six mirrors, two workers, one port; the same storage each time. */
struct status *
fake_status(void);

/* A copy of it for status_free(). */
struct status *
fake_status_take(void);

/* A data plane that answers questions after 4 ms; -ENOTCONN while it is said to be away. */
void
fake_questions_open(struct event_base *base);
void
fake_questions_close(void);
int
fake_ask(const struct karmalb_question *question, const struct inquiry_author *author);

/* All mirrors are silent. */
extern bool fake_is_dark;

const struct epochs *
fake_epochs(void);

/* balance_ping() as such a balance has it. */
int
fake_ping(const char *mirror, const struct pinger_author *author);
