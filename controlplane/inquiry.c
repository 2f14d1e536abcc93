/* SPDX-License-Identifier: BSD-3-Clause */
/* A list; people ask, so it is short. */
#include "inquiry.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "dplink.h"

struct inquiry {
	struct inquiry *next;
	struct inquiries *all;
	uint32_t request;
	struct event *timer;
	struct inquiry_author author;
};

struct inquiries {
	struct event_base *base;
	struct inquiry *first;
	unsigned n;
	uint32_t last_request;
};

static void
end(struct inquiry *inquiry, const struct karmalb_question *part);

struct inquiries *
inquiries_create(struct event_base *base)
{
	struct inquiries *q = calloc(1, sizeof(*q));

	if (q != NULL)
		q->base = base;
	return q;
}

void
inquiries_free(struct inquiries *q)
{
	if (q == NULL)
		return;
	inquiries_lost(q);
	free(q);
}

static void
on_time(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	end(arg, NULL);
}

int
inquiries_ask(struct inquiries *q, struct dplink *link, struct karmalb_question *question,
	uint64_t timeout_us, const struct inquiry_author *author)
{
	struct timeval timeout = {.tv_sec = (time_t)(timeout_us / KARMALB_SECOND),
		.tv_usec = (suseconds_t)(timeout_us % KARMALB_SECOND)};
	struct inquiry *i;
	int rc = -ENOMEM;

	if (q->n == INQUIRIES_MAX)
		return -EBUSY;
	i = calloc(1, sizeof(*i));
	if (i == NULL)
		return -ENOMEM;
	*i = (struct inquiry){.all = q, .request = ++q->last_request, .author = *author};
	i->timer = evtimer_new(q->base, on_time, i);
	question->request = i->request;
	question->header.version = KARMALB_PROTOCOL_VERSION;
	question->header.size = karmalb_message_size(question->header.message);
	if (i->timer != NULL)
		rc = dplink_ask(link, &question->header);
	if (rc < 0) {
		if (i->timer != NULL)
			event_free(i->timer);
		free(i);
		return rc;
	}
	event_add(i->timer, &timeout);
	i->next = q->first;
	q->first = i;
	q->n++;
	return 0;
}

/* Tells the last of it, after it is forgotten: the author may ask again. */
static void
end(struct inquiry *inquiry, const struct karmalb_question *part)
{
	struct inquiry **at = &inquiry->all->first;
	struct inquiry_author author = inquiry->author;

	while (*at != inquiry)
		at = &(*at)->next;
	*at = inquiry->next;
	inquiry->all->n--;
	event_free(inquiry->timer);
	free(inquiry);
	author.part(author.arg, part);
}

void
inquiries_part(struct inquiries *q, const struct karmalb_question *part)
{
	for (struct inquiry *i = q->first; i != NULL; i = i->next) {
		if (i->request != part->request)
			continue;
		if (part->header.message == KARMALB_MESSAGE_ANSWERED)
			end(i, part);
		else
			i->author.part(i->author.arg, part);
		return;
	}
	/* Of one whose time was up. */
}

void
inquiries_lost(struct inquiries *q)
{
	/* Those that are asked meanwhile have no link, and are refused. */
	while (q->first != NULL)
		end(q->first, NULL);
}
