/* SPDX-License-Identifier: BSD-3-Clause */
/* Pings and the mirrors they are about.  Mirrors may move in memory, so each pinger is told anew
 * where its mirror is. */
#include "pingers.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>

#include <karmalb/clock.h>

#include "model.h"
#include "ping.h"

struct pinger {
	struct pinger *next;
	struct pingers *pingers;
	struct model_mirror *mirror; /* NULL: nobody's */
	struct ping *ping;
};

/* One ping that somebody asked for. */
struct check {
	struct check *next;
	struct pingers *pingers;
	struct ping *ping;
	struct pinger_author author;
};

struct pingers {
	struct event_base *base;
	void (*done)(void *arg, struct model_mirror *mirror, const struct ping_result *result);
	void *arg;
	struct pinger *first;
	struct check *checks;
	bool is_ending;
};

static void
check_end(struct check *c, const struct ping_result *result);

struct pingers *
pingers_create(struct event_base *base,
	void (*done)(void *arg, struct model_mirror *mirror, const struct ping_result *result),
	void *arg)
{
	struct pingers *pingers = calloc(1, sizeof(*pingers));

	if (pingers != NULL)
		*pingers = (struct pingers){.base = base, .done = done, .arg = arg};
	return pingers;
}

/* Frees those that are nobody's. */
static void
sweep(struct pingers *pingers)
{
	struct pinger **at = &pingers->first;

	while (*at != NULL) {
		struct pinger *p = *at;

		if (p->mirror != NULL) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		ping_free(p->ping);
		free(p);
	}
}

static void
forget_mirrors(struct pingers *pingers)
{
	for (struct pinger *p = pingers->first; p != NULL; p = p->next)
		p->mirror = NULL;
}

void
pingers_free(struct pingers *pingers)
{
	if (pingers == NULL)
		return;
	pingers->is_ending = true;
	while (pingers->checks != NULL)
		check_end(pingers->checks, NULL);
	forget_mirrors(pingers);
	sweep(pingers);
	free(pingers);
}

static void
on_ping(void *arg, const struct ping_result *result)
{
	struct pinger *p = arg;

	p->pingers->done(p->pingers->arg, p->mirror, result);
}

static struct pinger *
add(struct pingers *pingers)
{
	struct pinger *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->ping = ping_create(pingers->base, on_ping, p);
	if (p->ping == NULL) {
		free(p);
		return NULL;
	}
	p->pingers = pingers;
	p->next = pingers->first;
	pingers->first = p;
	return p;
}

/* The place that a TCP ping goes to; NULL: none, the service is UDP and names no ping_port. */
static const struct karmalb_endpoint *
pinged_address(const struct model_service *s, const struct model_mirror *m)
{
	for (unsigned i = 0; i < s->n_listens; i++) {
		if (s->settings.ping_port != 0 || m->slots[i].address.protocol == IPPROTO_TCP)
			return &m->slots[i].address;
	}
	return NULL;
}

/* Whom to ping and how, after the settings; false: nobody. */
static bool
find_target(const struct model_service *s, const struct model_mirror *m, struct ping_target *target)
{
	const struct karmalb_endpoint *address = pinged_address(s, m);

	*target = (struct ping_target){
		.to = address != NULL ? *address : m->slots[0].address,
		.kind = (enum ping_kind)s->settings.ping,
		.interval_us = s->settings.ha_ping_interval_ms * KARMALB_MILLISECOND,
	};
	if (s->settings.ping_port != 0)
		target->to.port_be = htons((uint16_t)s->settings.ping_port);
	snprintf(target->path, sizeof(target->path), "%s", s->settings.ping_path);
	return address != NULL && target->kind != PING_NONE;
}

static void
set(const struct model_service *s, const struct model_mirror *m)
{
	struct ping_target target;

	if (!find_target(s, m, &target) || m->conf.state == SETTINGS_MIRROR_MAINTENANCE)
		target.interval_us = 0;
	ping_set(m->pinger->ping, &target);
}

int
pingers_set(struct pingers *pingers, struct model *model)
{
	int rc = 0;

	forget_mirrors(pingers);
	for (unsigned i = 0; i < model->n_services; i++) {
		struct model_service *s = &model->services[i];

		for (unsigned k = 0; k < s->n_mirrors; k++) {
			struct model_mirror *m = &s->mirrors[k];

			if (m->pinger == NULL)
				m->pinger = add(pingers);
			if (m->pinger == NULL) {
				rc = -ENOMEM;
				continue;
			}
			m->pinger->mirror = m;
			set(s, m);
		}
	}
	sweep(pingers);
	return rc;
}

void
pinger_observe(struct pinger *pinger, uint64_t query_us, bool is_dead)
{
	if (pinger != NULL)
		ping_observe(pinger->ping, query_us, is_dead);
}

/* ---- pings that somebody asked for ---- */

static void
check_end(struct check *c, const struct ping_result *result)
{
	struct check **at = &c->pingers->checks;
	struct pinger_author author = c->author;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	ping_free(c->ping);
	free(c);
	author.told(author.arg, result);
}

static void
on_check(void *arg, const struct ping_result *result)
{
	check_end(arg, result);
}

int
pingers_check(struct pingers *pingers, const struct model_service *service,
	const struct model_mirror *mirror, uint64_t limit_us, const struct pinger_author *author)
{
	struct ping_target target;
	struct check *c;

	if (pingers->is_ending)
		return -ECANCELED;
	if (!find_target(service, mirror, &target))
		return -EOPNOTSUPP;
	c = calloc(1, sizeof(*c));
	if (c == NULL)
		return -ENOMEM;
	c->ping = ping_create(pingers->base, on_check, c);
	if (c->ping == NULL) {
		free(c);
		return -ENOMEM;
	}
	c->pingers = pingers;
	c->author = *author;
	c->next = pingers->checks;
	pingers->checks = c;
	ping_once(c->ping, &target, limit_us);
	return 0;
}
