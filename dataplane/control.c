/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The control thread's loop.  Whatever wakes it, one turn looks at everything that is due: samples,
 * totals, the machine that applies intent, the network, what is to be sent.
 */
#include "control.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include <event2/event.h>

#include <karmalb/clock.h>

#include "apply.h"
#include "collect.h"
#include "instance.h"
#include "intent.h"
#include "link.h"
#include "log.h"
#include "next_hop.h"
#include "question.h"
#include "totals.h"
#include "upload.h"

#define ROUND_US  (100 * KARMALB_MILLISECOND) /* totals go up this often */
#define SAMPLE_US (5 * KARMALB_MILLISECOND)   /* rings are emptied this often under traffic */
#define QUIET_US  (50 * KARMALB_MILLISECOND)  /* without samples for so long: no traffic */
#define N_EVENTS  7

struct control {
	struct event_base *loop;
	struct link *link;
	struct instance *instance;
	struct apply *apply;
	struct upload *upload;
	struct questions *questions;
	struct intent_draft draft;
	bool was_up[KARMALB_PORTS_MAX]; /* ports, when last looked at */
	bool has_said_hello;            /* the control plane, first thing */
	struct event *turn;             /* timer of the next turn */
	struct event *events[N_EVENTS];
	unsigned n_events;
	uint64_t sampled_us;  /* when there last were samples */
	uint64_t round_us;    /* when the next round of totals is due */
	uint64_t second_us;   /* when what is done once a second is due */
	uint64_t apply_us;    /* when apply_step() wants to be called */
	uint64_t question_us; /* when questions_step() does */
};

static void
greet_opened(void *context);
static int
take_message(void *context, const struct karmalb_header *message, struct err *err);
static void
resume_upload(void *context);
static void
forget_peer(void *context);
static void
note_done(void *context, const struct karmalb_applied *applied);
static void
note_slots(void *context);
static int
add_events(struct control *c, struct err *err);
static void
take_turn(evutil_socket_t fd, short what, void *context);
static bool
note_ports(struct control *c);
static void
turn_soon(struct control *c, uint64_t delay_us);

int
control_open(struct control **control, const char *run_dir, struct err *err)
{
	struct control *c = calloc(1, sizeof(*c));
	const struct link_handler handler = {
		.opened = greet_opened,
		.message = take_message,
		.writable = resume_upload,
		.closed = forget_peer,
		.context = c,
	};
	int rc;

	if (c == NULL || (c->loop = event_base_new()) == NULL) {
		free(c);
		return err_set(err, -ENOMEM, "no memory for the event loop");
	}
	rc = link_open(&c->link, c->loop, run_dir, &handler, err);
	if (rc < 0) {
		event_base_free(c->loop);
		free(c);
		return rc;
	}
	*control = c;
	return 0;
}

int
control_run(struct control *c, struct instance *instance, struct err *err)
{
	const struct apply_events events = {
		.done = note_done, .slots_changed = note_slots, .context = c};
	int rc = apply_open(&c->apply, instance, &events, err);

	if (rc < 0)
		return rc;
	c->instance = instance;
	c->upload = upload_create(instance, c->apply, c->link);
	c->questions = questions_create(instance, c->link);
	rc = c->upload && c->questions ? add_events(c, err)
				       : err_set(err, -ENOMEM, "no memory for uploads");
	if (rc == 0)
		event_base_dispatch(c->loop);
	for (unsigned i = 0; i < c->n_events; i++)
		event_free(c->events[i]);
	c->n_events = 0;
	link_close(c->link); /* its callbacks need what follows */
	c->link = NULL;
	questions_free(c->questions);
	upload_free(c->upload);
	apply_close(c->apply);
	return rc;
}

void
control_close(struct control *c)
{
	if (c == NULL)
		return;
	link_close(c->link);
	event_base_free(c->loop);
	free(c);
}

static void
greet_opened(void *context)
{
	struct control *c = context;

	c->has_said_hello = false;
}

static int
take_commit(struct control *c, const struct karmalb_commit *m, struct err *err)
{
	struct intent *intent;
	int rc = intent_draft_commit(&c->draft, m, &intent, err);

	if (rc < 0)
		return rc;
	apply_commit(c->apply, intent);
	c->apply_us = 0;
	turn_soon(c, 0);
	return 0;
}

static int
take_hello(struct control *c, struct err *err)
{
	if (c->has_said_hello)
		return err_set(err, -EPROTO, "HELLO twice");
	c->has_said_hello = true;
	turn_soon(c, 0);
	return 0;
}

static int
take_question(struct control *c, const struct karmalb_header *message, struct err *err)
{
	c->question_us = 0;
	turn_soon(c, 0);
	return questions_take(c->questions, message, err);
}

static int
take_message(void *context, const struct karmalb_header *message, struct err *err)
{
	struct control *c = context;

	if (!c->has_said_hello && message->message != KARMALB_MESSAGE_HELLO)
		return err_set(err, -EPROTO, "message %u before HELLO", message->message);
	switch (message->message) {
	case KARMALB_MESSAGE_HELLO:
		return take_hello(c, err);
	case KARMALB_MESSAGE_BEGIN:
		return intent_draft_begin(&c->draft, (const struct karmalb_begin *)message,
			apply_newest_epoch(c->apply), err);
	case KARMALB_MESSAGE_SERVICE:
		return intent_draft_service(
			&c->draft, (const struct karmalb_service *)message, err);
	case KARMALB_MESSAGE_MIRROR:
		return intent_draft_mirror(&c->draft, (const struct karmalb_mirror *)message, err);
	case KARMALB_MESSAGE_COMMIT:
		return take_commit(c, (const struct karmalb_commit *)message, err);
	case KARMALB_MESSAGE_LIST_FLOWS:
	case KARMALB_MESSAGE_FIND_FLOW:
	case KARMALB_MESSAGE_RESET_FLOWS:
	case KARMALB_MESSAGE_CHECK_SLOT:
		return take_question(c, message, err);
	}
	return err_set(err, -EPROTO, "message %u is none of a control plane's", message->message);
}

static void
resume_upload(void *context)
{
	struct control *c = context;

	upload_flush(c->upload);
	c->question_us = 0;
	turn_soon(c, 0);
}

static void
forget_peer(void *context)
{
	struct control *c = context;

	intent_draft_abort(&c->draft);
	if (c->upload == NULL)
		return;
	upload_end(c->upload);
	questions_forget(c->questions);
	log_info("control plane: gone; epoch %u stays in force", apply_newest_epoch(c->apply));
}

static void
note_done(void *context, const struct karmalb_applied *applied)
{
	struct control *c = context;

	if (!upload_note_applied(c->upload, applied))
		link_refuse(c->link, "too many COMMITs whose APPLIED was not read");
}

static void
note_slots(void *context)
{
	struct control *c = context;

	upload_note_slots(c->upload);
}

static void
turn_soon(struct control *c, uint64_t delay_us)
{
	const struct timeval delay = {
		.tv_sec = (time_t)(delay_us / KARMALB_SECOND),
		.tv_usec = (suseconds_t)(delay_us % KARMALB_SECOND),
	};

	if (c->turn != NULL)
		evtimer_add(c->turn, &delay);
}

static void
look_at_totals(struct control *c, uint64_t now_us)
{
	unsigned n_slots = apply_n_slots(c->apply);

	if (collect_samples(c->instance, now_us) > 0)
		c->sampled_us = now_us;
	if (now_us >= c->round_us) {
		collect_counters(c->instance, n_slots);
		upload_note_totals(c->upload, false);
		c->round_us = now_us + ROUND_US;
	} else if (totals_take_urgent(c->instance->totals)) {
		collect_urgent(c->instance, n_slots);
		upload_note_totals(c->upload, true);
	}
}

static void
look_each_second(struct control *c, uint64_t now_us)
{
	if (now_us < c->second_us)
		return;
	c->second_us = now_us + KARMALB_SECOND;
	if (next_hops_tick(c->instance->next_hops, now_us)) {
		note_ports(c);
		apply_network_changed(c->apply);
		c->apply_us = 0;
	}
	ports_look_at_programs(&c->instance->ports);
	upload_note_counters(c->upload);
}

static uint64_t
earlier(uint64_t a_us, uint64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

/* Under traffic look again soon; else let the workers ring. */
static void
schedule(struct control *c, uint64_t now_us)
{
	struct doorbell *bell = &c->instance->sample_bell;
	uint64_t at_us =
		earlier(earlier(c->round_us, c->second_us), earlier(c->apply_us, c->question_us));
	bool is_quiet = now_us - c->sampled_us >= QUIET_US;

	if (is_quiet) {
		doorbell_arm(bell);
		is_quiet = collect_samples(c->instance, now_us) == 0;
	}
	if (!is_quiet)
		at_us = earlier(at_us, now_us + SAMPLE_US);
	turn_soon(c, at_us > now_us ? at_us - now_us : 0);
}

static void
take_turn(evutil_socket_t fd, short what, void *context)
{
	struct control *c = context;
	uint64_t now_us = karmalb_now_us();

	(void)fd;
	(void)what;
	look_at_totals(c, now_us);
	look_each_second(c, now_us);
	if (now_us >= c->apply_us)
		c->apply_us = apply_step(c->apply, now_us);
	/* WELCOME names the epoch in force, so it waits until nothing rises. */
	if (c->has_said_hello && link_is_up(c->link) && !upload_is_begun(c->upload) &&
		apply_is_idle(c->apply))
		upload_begin(c->upload);
	upload_flush(c->upload);
	/* After the greeting, and after what is due anyway. */
	if (now_us >= c->question_us)
		c->question_us = questions_step(c->questions, now_us);
	schedule(c, now_us);
}

static void
hear_bell(evutil_socket_t fd, short what, void *context)
{
	struct control *c = context;

	doorbell_disarm(&c->instance->sample_bell);
	c->sampled_us = karmalb_now_us();
	take_turn(fd, what, context);
}

/* Says which ports went up or down; true: some did. */
static bool
note_ports(struct control *c)
{
	bool is_changed = false;

	for (unsigned i = 0; i < c->instance->ports.n; i++) {
		const struct port *p = &c->instance->ports.port[i];

		if (p->is_up == c->was_up[i])
			continue;
		log_warning("port %s: %s -> %s", p->conf.name, p->is_up ? "down" : "up",
			p->is_up ? "up" : "down");
		c->was_up[i] = p->is_up;
		is_changed = true;
	}
	return is_changed;
}

static void
follow_network(evutil_socket_t fd, short what, void *context)
{
	struct control *c = context;

	if (!next_hops_process(c->instance->next_hops, karmalb_now_us()))
		return;
	if (note_ports(c))
		c->second_us = 0; /* its status is not to wait */
	apply_network_changed(c->apply);
	c->apply_us = 0;
	take_turn(fd, what, context);
}

static void
stop(evutil_socket_t signal, short what, void *context)
{
	struct control *c = context;

	(void)what;
	log_info("stopping: signal %d", (int)signal);
	event_base_loopbreak(c->loop);
}

static void
change_log_level(evutil_socket_t signal, short what, void *context)
{
	(void)what;
	(void)context;
	log_warning("log level: now %s", log_change_level(signal == SIGUSR1));
}

static void
add_event(struct control *c, evutil_socket_t fd, short what, event_callback_fn callback)
{
	struct event *e = event_new(c->loop, fd, what, callback, c);

	if (e != NULL && (fd < 0 || event_add(e, NULL) == 0))
		c->events[c->n_events++] = e;
	else if (e != NULL)
		event_free(e);
}

static int
add_events(struct control *c, struct err *err)
{
	sigset_t signals;

	for (unsigned i = 0; i < c->instance->ports.n; i++)
		c->was_up[i] = c->instance->ports.port[i].is_up;
	add_event(c, -1, 0, take_turn);
	add_event(c, c->instance->sample_bell.fd, EV_READ | EV_PERSIST, hear_bell);
	add_event(c, next_hops_fd(c->instance->next_hops), EV_READ | EV_PERSIST, follow_network);
	add_event(c, SIGTERM, EV_SIGNAL | EV_PERSIST, stop);
	add_event(c, SIGINT, EV_SIGNAL | EV_PERSIST, stop);
	add_event(c, SIGUSR1, EV_SIGNAL | EV_PERSIST, change_log_level);
	add_event(c, SIGUSR2, EV_SIGNAL | EV_PERSIST, change_log_level);
	if (c->n_events != N_EVENTS)
		return err_set(err, -ENOMEM, "no memory for events");
	c->turn = c->events[0];

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGUSR2);
	pthread_sigmask(SIG_UNBLOCK, &signals, NULL);
	turn_soon(c, 0);
	return 0;
}
