/* SPDX-License-Identifier: BSD-3-Clause */
/* An evhttp with one page.  Knows no metric. */
#include "metrics.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "control_seats.h"
#include "err.h"
#include "intent.h"
#include "render_prometheus.h"
#include "status.h"

#define HEADERS_SIZE_MAX 8192
#define BODY_SIZE_MAX    1024 /* none is expected */

struct metrics {
	const struct intent *intent;
	struct evhttp *http;
	struct control_seats *seats;
};

static void
on_request(struct evhttp_request *request, void *arg);
static void
send_metrics(struct evhttp_request *request, const struct status *status);
static void
send_sentence(struct evhttp_request *request, int code, const char *sentence);

/* A listener of our own rather than evhttp's, for the seats. */
static int
listen_at(struct metrics *m, struct event_base *base, const char *address, struct err *err)
{
	struct sockaddr_storage to;
	int size = sizeof(to);
	struct evconnlistener *listener;

	if (evutil_parse_sockaddr_port(address, (struct sockaddr *)&to, &size) < 0)
		return err_set(err, "%s is not an address with a port", address);
	listener = evconnlistener_new_bind(base, NULL, NULL,
		LEV_OPT_CLOSE_ON_EXEC | LEV_OPT_CLOSE_ON_FREE | LEV_OPT_REUSEABLE, -1,
		(struct sockaddr *)&to, size);
	if (listener == NULL)
		return err_set(err, "cannot listen on %s: %s", address, strerror(errno));
	if (evhttp_bind_listener(m->http, listener) == NULL) {
		evconnlistener_free(listener);
		return err_set(err, "out of memory");
	}
	m->seats = control_seats_create(
		base, m->http, listener, METRICS_CLIENTS_MAX, METRICS_TIMEOUT_S);
	return m->seats != NULL ? 0 : err_set(err, "out of memory");
}

struct metrics *
metrics_open(
	struct event_base *base, const struct intent *intent, const char *address, struct err *err)
{
	struct metrics *m = calloc(1, sizeof(*m));

	if (m == NULL || (m->http = evhttp_new(base)) == NULL) {
		err_set(err, "out of memory");
		free(m);
		return NULL;
	}
	m->intent = intent;
	if (listen_at(m, base, address, err) < 0) {
		metrics_close(m);
		return NULL;
	}
	/* All methods come to on_request(), which answers with a sentence. */
	evhttp_set_allowed_methods(m->http, UINT16_MAX);
	evhttp_set_max_headers_size(m->http, HEADERS_SIZE_MAX);
	evhttp_set_max_body_size(m->http, BODY_SIZE_MAX);
	evhttp_set_timeout(m->http, METRICS_TIMEOUT_S);
	evhttp_set_gencb(m->http, on_request, m);
	return m;
}

void
metrics_close(struct metrics *m)
{
	if (m == NULL)
		return;
	evhttp_free(m->http); /* and the listener, once bound */
	control_seats_free(m->seats);
	free(m);
}

static void
on_request(struct evhttp_request *request, void *arg)
{
	const struct metrics *m = arg;
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
	enum evhttp_cmd_type method = evhttp_request_get_command(request);
	struct status *status;

	if (path == NULL || strcmp(path, "/metrics") != 0) {
		send_sentence(request, HTTP_NOTFOUND, "there is only /metrics here");
		return;
	}
	if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
		evhttp_add_header(evhttp_request_get_output_headers(request), "Allow", "GET, HEAD");
		send_sentence(request, HTTP_BADMETHOD, "/metrics is there to be read: GET it");
		return;
	}
	status = intent_status(m->intent);
	if (status == NULL)
		send_sentence(request, HTTP_SERVUNAVAIL, "out of memory");
	else
		send_metrics(request, status);
	status_free(status);
}

/* evbuffer's way to give memory back. */
static void
free_text(const void *text, size_t size, void *arg)
{
	(void)text;
	(void)size;
	free(arg);
}

static void
send_metrics(struct evhttp_request *request, const struct status *status)
{
	struct evbuffer *body = evbuffer_new();
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out != NULL) {
		render_prometheus(out, status);
		if (fclose(out) != 0)
			size = 0;
	}
	if (body == NULL || size == 0 ||
		evbuffer_add_reference(body, text, size, free_text, text) < 0) {
		free(text);
		send_sentence(request, HTTP_SERVUNAVAIL, "out of memory");
	} else {
		evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
			RENDER_PROMETHEUS_CONTENT_TYPE);
		evhttp_send_reply(request, HTTP_OK, "OK", body);
	}
	if (body != NULL)
		evbuffer_free(body);
}

static void
send_sentence(struct evhttp_request *request, int code, const char *sentence)
{
	struct evbuffer *body = evbuffer_new();

	if (body != NULL)
		evbuffer_add_printf(body, "%s\n", sentence);
	evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type",
		"text/plain; charset=utf-8");
	evhttp_send_reply(request, code, NULL, body);
	if (body != NULL)
		evbuffer_free(body);
}
