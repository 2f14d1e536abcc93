/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collects and checks what the control plane wants.  Runs on the control thread; touches neither
 * socket nor tables, so that whatever it refuses has left no trace.
 */
#include "intent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "endpoint_text.h"
#include "err.h"

#define TIMEOUT_MS_MAX      3600000
#define IDLE_TIMEOUT_MS_MIN 1000
#define IDLE_TIMEOUT_MS_MAX 604800000

/* What intent_check() was given, for its helpers. */
struct check {
	const struct intent *intent;
	const struct karmalb_address *sources;
	unsigned n_sources;
	struct err *err;
};

static int
check_service_message(
	const struct intent_draft *d, const struct karmalb_service *m, struct err *err);
static int
check_mirror_message(const struct intent_draft *d, const struct karmalb_mirror *m, struct err *err);
static int
check_listen(const struct check *c, const struct intent_service *s);
static int
check_mirror(const struct check *c, const struct intent_service *s, const struct intent_mirror *m);

int
intent_draft_begin(struct intent_draft *d, const struct karmalb_begin *message, uint32_t last_epoch,
	struct err *err)
{
	intent_draft_abort(d);
	if (message->epoch <= last_epoch)
		return err_set(err, -EPROTO, "BEGIN with epoch %u, expected one above %u",
			message->epoch, last_epoch);
	if (message->n_services > KARMALB_SERVICES_MAX)
		return err_set(err, -EPROTO, "BEGIN announces %u services, expected at most %u",
			message->n_services, KARMALB_SERVICES_MAX);

	d->intent = calloc(1, sizeof(*d->intent));
	if (d->intent == NULL)
		return err_set(err, -ENOMEM, "no memory for a transaction");
	d->intent->epoch = message->epoch;
	d->services_due = message->n_services;
	d->mirrors_due = 0;
	return 0;
}

int
intent_draft_service(struct intent_draft *d, const struct karmalb_service *message, struct err *err)
{
	int rc = check_service_message(d, message, err);

	if (rc < 0)
		return rc;
	struct intent *intent = d->intent;

	intent->services[intent->n_services++] = (struct intent_service){
		.listen = message->listen,
		.connect_timeout_ms = message->connect_timeout_ms,
		.query_timeout_ms = message->query_timeout_ms,
		.idle_timeout_ms = message->idle_timeout_ms,
		.first_mirror = intent->n_mirrors,
		.selector = message->selector,
		.reply_check = message->reply_check,
		.is_one_way = message->is_one_way,
	};
	memcpy(intent->services[intent->n_services - 1].name, message->name, sizeof(message->name));
	d->services_due--;
	d->mirrors_due = message->n_mirrors;
	return 0;
}

int
intent_draft_mirror(struct intent_draft *d, const struct karmalb_mirror *message, struct err *err)
{
	int rc = check_mirror_message(d, message, err);

	if (rc < 0)
		return rc;
	struct intent *intent = d->intent;
	struct intent_mirror *mirror = &intent->mirrors[intent->n_mirrors++];

	mirror->address = message->address;
	mirror->share = message->share;
	memcpy(mirror->name, message->name, sizeof(mirror->name));
	intent->services[intent->n_services - 1].n_mirrors++;
	d->mirrors_due--;
	return 0;
}

int
intent_draft_commit(struct intent_draft *d, const struct karmalb_commit *message,
	struct intent **intent, struct err *err)
{
	if (d->intent == NULL)
		return err_set(err, -EPROTO, "COMMIT without BEGIN");
	if (message->epoch != d->intent->epoch)
		return err_set(err, -EPROTO, "COMMIT of epoch %u, expected %u as in BEGIN",
			message->epoch, d->intent->epoch);
	if (d->mirrors_due > 0)
		return err_set(err, -EPROTO, "COMMIT while %u mirrors of service %u are due",
			d->mirrors_due, d->intent->n_services - 1u);
	if (d->services_due > 0)
		return err_set(err, -EPROTO, "COMMIT while %u services are due", d->services_due);

	*intent = d->intent;
	d->intent = NULL;
	return 0;
}

void
intent_draft_abort(struct intent_draft *d)
{
	intent_free(d->intent);
	*d = (struct intent_draft){0};
}

int
intent_check(const struct intent *intent, const struct karmalb_address *sources, unsigned n_sources,
	struct err *err)
{
	const struct check c = {
		.intent = intent, .sources = sources, .n_sources = n_sources, .err = err};

	for (unsigned i = 0; i < intent->n_services; i++) {
		const struct intent_service *s = &intent->services[i];
		int rc = check_listen(&c, s);

		for (unsigned k = 0; rc == 0 && k < s->n_mirrors; k++)
			rc = check_mirror(&c, s, &intent->mirrors[s->first_mirror + k]);
		if (rc < 0)
			return rc;
	}
	return 0;
}

bool
intent_has_listen(const struct intent *intent, const struct karmalb_endpoint *listen)
{
	for (unsigned i = 0; i < intent->n_services; i++)
		if (karmalb_endpoint_equal(&intent->services[i].listen, listen))
			return true;
	return false;
}

bool
intent_is_part_of(const struct intent *part, const struct intent *whole)
{
	for (unsigned i = 0; i < part->n_services; i++)
		if (!intent_has_listen(whole, &part->services[i].listen))
			return false;
	return true;
}

bool
intent_has_same_mirrors(const struct intent *a, const struct intent *b)
{
	if (a->n_services != b->n_services || a->n_mirrors != b->n_mirrors)
		return false;
	for (unsigned i = 0; i < a->n_services; i++)
		if (!karmalb_endpoint_equal(&a->services[i].listen, &b->services[i].listen) ||
			a->services[i].n_mirrors != b->services[i].n_mirrors)
			return false;
	for (unsigned i = 0; i < a->n_mirrors; i++)
		if (!karmalb_endpoint_equal(&a->mirrors[i].address, &b->mirrors[i].address))
			return false;
	return true;
}

void
intent_free(struct intent *intent)
{
	free(intent);
}

/* A name goes into sentences and log lines: it ends, and it holds no control characters. */
static bool
is_name_sound(const char name[KARMALB_NAME_MAX])
{
	for (unsigned i = 0; i < KARMALB_NAME_MAX; i++) {
		unsigned char c = (unsigned char)name[i];

		if (c == '\0')
			return true;
		if (c < ' ' || c == 0x7f)
			return false;
	}
	return false;
}

static bool
is_endpoint_sound(const struct karmalb_endpoint *e)
{
	return e->port_be != 0 && e->pad == 0 &&
	       (e->protocol == IPPROTO_TCP || e->protocol == IPPROTO_UDP);
}

static bool
are_timeouts_in_range(const struct karmalb_service *m)
{
	return m->connect_timeout_ms >= 1 && m->connect_timeout_ms <= TIMEOUT_MS_MAX &&
	       m->query_timeout_ms >= 1 && m->query_timeout_ms <= TIMEOUT_MS_MAX &&
	       m->idle_timeout_ms >= IDLE_TIMEOUT_MS_MIN &&
	       m->idle_timeout_ms <= IDLE_TIMEOUT_MS_MAX;
}

static int
check_service_message(
	const struct intent_draft *d, const struct karmalb_service *m, struct err *err)
{
	if (d->intent == NULL)
		return err_set(err, -EPROTO, "SERVICE without BEGIN");
	if (d->mirrors_due > 0)
		return err_set(err, -EPROTO, "SERVICE while %u mirrors of service %u are due",
			d->mirrors_due, d->intent->n_services - 1u);
	if (d->services_due == 0)
		return err_set(err, -EPROTO, "SERVICE beyond the number that BEGIN announced");
	if (m->service != d->intent->n_services)
		return err_set(err, -EPROTO, "SERVICE number %u, expected %u", m->service,
			d->intent->n_services);
	if (!is_name_sound(m->name))
		return err_set(err, -EPROTO,
			"SERVICE %u has a name without end or with control characters", m->service);
	if (m->n_mirrors > KARMALB_MIRRORS_MAX)
		return err_set(err, -EPROTO,
			"SERVICE %u (%s) announces %u mirrors, expected at "
			"most %u",
			m->service, m->name, m->n_mirrors, KARMALB_MIRRORS_MAX);
	if (!is_endpoint_sound(&m->listen) || m->pad != 0)
		return err_set(err, -EPROTO,
			"SERVICE %u (%s): listen needs a port, TCP or UDP, and "
			"zero padding",
			m->service, m->name);
	if (m->selector >= KARMALB_N_SELECTORS)
		return err_set(err, -EPROTO, "SERVICE %u (%s): selector %u, expected below %u",
			m->service, m->name, m->selector, KARMALB_N_SELECTORS);
	if (m->reply_check >= KARMALB_N_REPLY_CHECKS)
		return err_set(err, -EPROTO, "SERVICE %u (%s): reply_check %u, expected below %u",
			m->service, m->name, m->reply_check, KARMALB_N_REPLY_CHECKS);
	if (m->is_one_way > (m->listen.protocol == IPPROTO_UDP))
		return err_set(err, -EPROTO,
			"SERVICE %u (%s): is_one_way %u, expected 0 or, with UDP, 1", m->service,
			m->name, m->is_one_way);
	if (!are_timeouts_in_range(m))
		return err_set(err, -EPROTO,
			"SERVICE %u (%s): connect %u, query %u, idle %u ms, "
			"expected 1..%u, 1..%u, %u..%u",
			m->service, m->name, m->connect_timeout_ms, m->query_timeout_ms,
			m->idle_timeout_ms, TIMEOUT_MS_MAX, TIMEOUT_MS_MAX, IDLE_TIMEOUT_MS_MIN,
			IDLE_TIMEOUT_MS_MAX);
	return 0;
}

static int
check_mirror_message(const struct intent_draft *d, const struct karmalb_mirror *m, struct err *err)
{
	if (d->intent == NULL)
		return err_set(err, -EPROTO, "MIRROR without BEGIN");
	if (d->mirrors_due == 0)
		return err_set(err, -EPROTO, "MIRROR beyond the number that its SERVICE announced");
	const struct intent_service *s = &d->intent->services[d->intent->n_services - 1];

	if (m->service != d->intent->n_services - 1 || m->mirror != s->n_mirrors)
		return err_set(err, -EPROTO, "MIRROR number %u of service %u, expected %u of %u",
			m->mirror, m->service, s->n_mirrors, d->intent->n_services - 1u);
	if (!is_name_sound(m->name))
		return err_set(err, -EPROTO,
			"MIRROR %u of %s has a name without end or with control characters",
			m->mirror, s->name);
	if (!is_endpoint_sound(&m->address) || m->address.protocol != s->listen.protocol)
		return err_set(err, -EPROTO,
			"MIRROR %u (%s) of %s: address needs a port, the "
			"service's protocol, and zero padding",
			m->mirror, m->name, s->name);
	if (!isfinite(m->share) || m->share < 0 || m->share > 1)
		return err_set(err, -EPROTO, "MIRROR %u (%s) of %s: share %g, expected 0..1",
			m->mirror, m->name, s->name, m->share);
	if (d->intent->n_mirrors == KARMALB_SLOTS_MAX)
		return err_set(err, -ENOSPC, "more than %u mirrors in all", KARMALB_SLOTS_MAX);
	return 0;
}

/* An address that a host can have and a packet can be routed to. */
static bool
is_unicast(const struct karmalb_address *a)
{
	static const uint8_t zeros[15];

	if (!karmalb_address_is_v4(a))
		return a->bytes[0] != 0xff &&
		       (memcmp(a->bytes, zeros, 15) != 0 || a->bytes[15] > 1);
	uint32_t v4 = ntohl(karmalb_address_v4_be(a));

	return (v4 >> 24) != 0 && (v4 >> 24) != 127 && (v4 >> 28) < 14;
}

static bool
is_source(const struct check *c, const struct karmalb_address *a)
{
	for (unsigned i = 0; i < c->n_sources; i++)
		if (karmalb_address_equal(a, &c->sources[i]))
			return true;
	return false;
}

static bool
is_same_version(const struct karmalb_address *a, const struct karmalb_address *b)
{
	return karmalb_address_is_v4(a) == karmalb_address_is_v4(b);
}

static bool
has_source_like(const struct check *c, const struct karmalb_address *a)
{
	for (unsigned i = 0; i < c->n_sources; i++)
		if (is_same_version(a, &c->sources[i]))
			return true;
	return false;
}

/* 'what' names the endpoint in the sentence: "service web: listen". */
static int
check_endpoint(const struct check *c, const struct karmalb_endpoint *e, const char *what)
{
	char text[ENDPOINT_TEXT_MAX];

	endpoint_text(e, text);
	if (!is_unicast(&e->address))
		return err_set(c->err, -EINVAL, "%s %s is not a unicast address", what, text);
	if (is_source(c, &e->address))
		return err_set(c->err, -EINVAL,
			"%s %s is one of our source addresses, which serve nothing else", what,
			text);
	return 0;
}

static int
check_listen(const struct check *c, const struct intent_service *s)
{
	char what[KARMALB_NAME_MAX + 32], text[ENDPOINT_TEXT_MAX];

	snprintf(what, sizeof(what), "service %s: listen", s->name);
	int rc = check_endpoint(c, &s->listen, what);

	if (rc == 0 && s->n_mirrors > 0 && !has_source_like(c, &s->listen.address))
		return err_set(c->err, -EINVAL,
			"%s %s: there is no source address of its version of IP", what,
			endpoint_text(&s->listen, text));
	for (const struct intent_service *o = c->intent->services; rc == 0 && o < s; o++)
		if (karmalb_endpoint_equal(&s->listen, &o->listen))
			rc = err_set(c->err, -EINVAL, "%s %s is taken by service %s already", what,
				endpoint_text(&s->listen, text), o->name);
	return rc;
}

static int
check_mirror(const struct check *c, const struct intent_service *s, const struct intent_mirror *m)
{
	const struct intent *in = c->intent;
	char what[2 * KARMALB_NAME_MAX + 32], text[ENDPOINT_TEXT_MAX];

	snprintf(what, sizeof(what), "service %s: mirror %s", s->name, m->name);
	int rc = check_endpoint(c, &m->address, what);

	if (rc < 0)
		return rc;
	if (!is_same_version(&m->address.address, &s->listen.address))
		return err_set(c->err, -EPROTONOSUPPORT,
			"%s %s: IPv4 in front of IPv6 or the reverse is not balanced so far", what,
			endpoint_text(&m->address, text));
	for (const struct intent_mirror *o = &in->mirrors[s->first_mirror]; o < m; o++)
		if (karmalb_endpoint_equal(&o->address, &m->address))
			return err_set(c->err, -EINVAL, "%s %s is mirror %s already", what,
				endpoint_text(&m->address, text), o->name);
	for (unsigned i = 0; i < in->n_services; i++)
		if (karmalb_address_equal(&in->services[i].listen.address, &m->address.address))
			return err_set(c->err, -EINVAL,
				"%s %s is the address of service %s: a loop", what,
				endpoint_text(&m->address, text), in->services[i].name);
	return 0;
}
