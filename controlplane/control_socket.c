/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * HTTP in front of commands.h.  Reads who asks from the socket, hands the body over, sends the
 * answer whenever it comes; a client that left meanwhile costs nothing.  Knows no statement.
 * Loop's thread only.
 */
#include "control_socket.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "command_request.h"
#include "config.h"
#include "control_group.h"
#include "control_seats.h"
#include "err.h"
#include "log.h"
#include "render.h"
#include "unix_listener.h"

#define HEADERS_SIZE_MAX 8192
#define BODY_SIZE_MAX    65536 /* statements are shorter; beyond this evhttp says so, not we */
#define PATH_SIZE_MAX    256

struct control_socket {
	void (*run)(void *arg, const struct command_request *request);
	void *arg;
	struct evhttp *http;
	struct control_seats *seats;
	int fd;
	const struct config_controlplane *(*settings)(void *arg);
	struct control_group readers, admins;
	bool has_readers; /* the socket is given to a group, or it was tried in vain: */
	gid_t readers_gid;
	struct event *look; /* for the readers' group */
	char path[PATH_SIZE_MAX];
};

/* What the answer is to look like, by the request's Accept. */
enum form {
	FORM_TEXT,
	FORM_JSON,
	FORM_TSV,
};

/* A statement on its way. */
struct control_request {
	struct control_socket *socket;
	struct evhttp_request *http;
	enum form form;
	bool is_streaming; /* the head and something of the answer are out */
};

/* The other end of the socket, as it was when it connected. */
struct peer {
	uid_t uid;
	bool may_change;
};

static int
serve(struct control_socket *s, struct event_base *base);
static void
admit_readers(struct control_socket *s, const char *name);
static void
on_look(evutil_socket_t fd, short what, void *arg);
static void
on_request(struct evhttp_request *http, void *arg);
static bool
is_refused(struct evhttp_request *http, bool is_json);
static void
read_peer(struct control_socket *s, struct evhttp_request *http, struct peer *peer);
static void
on_answer(void *arg, enum command_result result, const char *body, size_t size);
static void
on_progress(void *arg, const char *text, size_t size);
static void
end_stream(struct control_request *rq, const char *body, size_t size);
static const char *
content_type(enum form form);
static const char *
reason(int code);
static void
send_answer(struct evhttp_request *http, int code, enum form form, const char *body, size_t size);

struct control_socket *
control_socket_open(const char *run_dir, const struct config_controlplane *conf, struct err *err)
{
	struct control_socket *s = calloc(1, sizeof(*s));

	if (s == NULL) {
		err_set(err, "out of memory");
		return NULL;
	}
	if (snprintf(s->path, sizeof(s->path), "%s/%s", run_dir, CONTROL_SOCKET_NAME) >=
		(int)sizeof(s->path)) {
		err_set(err, "the run directory's name is too long");
		goto free_socket;
	}
	s->fd = unix_listener_open(s->path, err);
	if (s->fd < 0)
		goto free_socket;
	s->readers.without = "only its owner may connect to control.sock";
	s->admins.without = "changes are for root and our own user";
	admit_readers(s, conf->control_group);
	control_group_find(&s->admins, conf->admin_group);
	return s;

free_socket:
	free(s);
	return NULL;
}

int
control_socket_serve(struct control_socket *s, struct event_base *base,
	const struct control_options *options, struct err *err)
{
	s->run = options->run;
	s->arg = options->arg;
	s->settings = options->settings;
	if (serve(s, base) == 0)
		return 0;
	err_set(err, "cannot serve %s: out of memory", s->path);
	return -ENOMEM;
}

void
control_socket_close(struct control_socket *s)
{
	if (s == NULL)
		return;
	if (s->http != NULL)
		evhttp_free(s->http); /* and the listener, once bound */
	control_seats_free(s->seats);
	if (s->look != NULL)
		event_free(s->look);
	unix_listener_close(s->fd, s->path);
	free(s);
}

/* The listener does not own the descriptor: whoever opened it closes it. */
static int
serve(struct control_socket *s, struct event_base *base)
{
	struct evconnlistener *listener;

	s->http = evhttp_new(base);
	if (s->http == NULL)
		return -ENOMEM;
	listener = evconnlistener_new(base, NULL, NULL, LEV_OPT_CLOSE_ON_EXEC, 0, s->fd);
	if (listener == NULL)
		return -ENOMEM;
	if (evhttp_bind_listener(s->http, listener) == NULL) {
		evconnlistener_free(listener);
		return -ENOMEM;
	}
	s->seats = control_seats_create(
		base, s->http, listener, CONTROL_SOCKET_CLIENTS_MAX, CONTROL_SOCKET_TIMEOUT_S);
	if (s->seats == NULL)
		return -ENOMEM;
	s->look = event_new(base, -1, EV_PERSIST, on_look, s);
	if (s->look == NULL ||
		event_add(s->look, &(struct timeval){.tv_sec = CONTROL_SOCKET_LOOK_S}) < 0)
		return -ENOMEM;
	/* All methods come to on_request(), which answers with a sentence. */
	evhttp_set_allowed_methods(s->http, UINT16_MAX);
	evhttp_set_max_headers_size(s->http, HEADERS_SIZE_MAX);
	evhttp_set_max_body_size(s->http, BODY_SIZE_MAX);
	evhttp_set_timeout(s->http, CONTROL_SOCKET_TIMEOUT_S);
	evhttp_set_gencb(s->http, on_request, s);
	return 0;
}

int
control_socket_check(const struct config *wanted, struct err *err)
{
	return control_group_check(wanted->controlplane.control_group, err);
}

/* A failure is told once: as long as the group is the same one, so is the answer. */
static void
admit_readers(struct control_socket *s, const char *name)
{
	bool exists = control_group_find(&s->readers, name);
	int rc;

	if (exists == s->has_readers && (!exists || s->readers.gid == s->readers_gid))
		return;
	s->has_readers = exists;
	s->readers_gid = s->readers.gid;
	rc = exists ? unix_listener_admit(s->path, s->readers.gid)
		    : unix_listener_admit_nobody(s->path);
	if (rc == 0)
		return;
	log_warning("%s: cannot admit group %s: %s", s->path, name, strerror(-rc));
	unix_listener_admit_nobody(s->path);
}

static void
on_look(evutil_socket_t fd, short what, void *arg)
{
	struct control_socket *s = arg;

	(void)fd;
	(void)what;
	admit_readers(s, s->settings(s->arg)->control_group);
}

static enum form
form_of(struct evhttp_request *http)
{
	const char *accept = evhttp_find_header(evhttp_request_get_input_headers(http), "Accept");

	if (accept != NULL && strstr(accept, "application/json") != NULL)
		return FORM_JSON;
	if (accept != NULL && strstr(accept, "text/tab-separated-values") != NULL)
		return FORM_TSV;
	return FORM_TEXT;
}

static void
on_request(struct evhttp_request *http, void *arg)
{
	struct control_socket *s = arg;
	struct evbuffer *body = evhttp_request_get_input_buffer(http);
	bool is_json = form_of(http) == FORM_JSON;
	size_t size = evbuffer_get_length(body);
	const unsigned char *text = evbuffer_pullup(body, -1);
	struct control_request *rq;
	struct peer peer;

	if (is_refused(http, is_json))
		return;
	rq = malloc(sizeof(*rq));
	if (rq == NULL || (text == NULL && size > 0)) {
		free(rq);
		send_answer(http, HTTP_SERVUNAVAIL, FORM_TEXT, "out of memory\n", 14);
		return;
	}
	*rq = (struct control_request){.socket = s, .http = http, .form = form_of(http)};
	read_peer(s, http, &peer);
	struct command_request request = {
		.text = size > 0 ? (const char *)text : "",
		.size = size,
		.is_json = rq->form == FORM_JSON,
		.is_tsv = rq->form == FORM_TSV,
		.may_change = peer.may_change,
		.uid = peer.uid,
		.answer = on_answer,
		.progress = on_progress,
		.arg = rq,
	};

	s->run(s->arg, &request);
}

static void
send_error(struct evhttp_request *http, int code, bool is_json, const char *sentence)
{
	char *body = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&body, &size);

	if (out != NULL) {
		(is_json ? &render_json : &render_text)->error(out, sentence);
		fclose(out);
	}
	send_answer(http, code, is_json ? FORM_JSON : FORM_TEXT, body, size);
	free(body);
}

static bool
is_refused(struct evhttp_request *http, bool is_json)
{
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(http));

	if (path == NULL || strcmp(path, "/cli") != 0) {
		send_error(http, HTTP_NOTFOUND, is_json,
			"there is nothing here but /cli: POST a statement to it");
		return true;
	}
	if (evhttp_request_get_command(http) != EVHTTP_REQ_POST) {
		evhttp_add_header(evhttp_request_get_output_headers(http), "Allow", "POST");
		send_error(http, HTTP_BADMETHOD, is_json, "POST a statement to /cli");
		return true;
	}
	return false;
}

static void
read_peer(struct control_socket *s, struct evhttp_request *http, struct peer *peer)
{
	struct evhttp_connection *connection = evhttp_request_get_connection(http);
	int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
	struct ucred cred;
	socklen_t size = sizeof(cred);

	*peer = (struct peer){.uid = (uid_t)-1};
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return;
	peer->uid = cred.uid;
	peer->may_change = cred.uid == 0 || cred.uid == geteuid();
	if (peer->may_change)
		return;
	control_group_find(&s->admins, s->settings(s->arg)->admin_group);
	peer->may_change = control_group_has(&s->admins, fd, &cred);
}

static void
on_answer(void *arg, enum command_result result, const char *body, size_t size)
{
	static const int codes[COMMAND_N_RESULTS] = {
		[COMMAND_DONE] = HTTP_OK,
		[COMMAND_WRONG] = HTTP_BADREQUEST,
		[COMMAND_DENIED] = 403,
		[COMMAND_NOT_NOW] = HTTP_SERVUNAVAIL,
		[COMMAND_NOBODY] = 424,
		[COMMAND_UNCONFIRMED] = 202,
	};
	struct control_request *rq = arg;

	if (rq->is_streaming)
		end_stream(rq, body, size);
	else
		send_answer(rq->http, codes[result], rq->form, body, size);
	/* It may have been a reload; before the client reads the answer. */
	event_active(rq->socket->look, EV_TIMEOUT, 0);
	free(rq);
}

static void
send_piece(struct control_request *rq, const char *text, size_t size)
{
	struct evbuffer *out = evbuffer_new();

	if (out == NULL)
		return;
	evbuffer_add(out, text, size);
	evhttp_send_reply_chunk(rq->http, out);
	evbuffer_free(out);
}

/* A client that is gone by then has been noticed by evhttp, which drops what we give it. */
static void
on_progress(void *arg, const char *text, size_t size)
{
	struct control_request *rq = arg;

	if (!rq->is_streaming) {
		evhttp_add_header(evhttp_request_get_output_headers(rq->http), "Content-Type",
			content_type(rq->form));
		evhttp_send_reply_start(rq->http, HTTP_OK, reason(HTTP_OK));
	}
	rq->is_streaming = true;
	send_piece(rq, text, size);
}

static void
end_stream(struct control_request *rq, const char *body, size_t size)
{
	send_piece(rq, body, size);
	evhttp_send_reply_end(rq->http);
}

static const char *
content_type(enum form form)
{
	switch (form) {
	case FORM_JSON:
		return "application/json";
	case FORM_TSV:
		return "text/tab-separated-values; charset=utf-8";
	case FORM_TEXT:
		break;
	}
	return "text/plain; charset=utf-8";
}

static const char *
reason(int code)
{
	switch (code) {
	case HTTP_OK:
		return "OK";
	case 202:
		return "Accepted";
	case HTTP_BADREQUEST:
		return "Bad Request";
	case 403:
		return "Forbidden";
	case 424:
		return "Failed Dependency";
	case HTTP_NOTFOUND:
		return "Not Found";
	case HTTP_BADMETHOD:
		return "Method Not Allowed";
	}
	return "Service Unavailable";
}

static void
send_answer(struct evhttp_request *http, int code, enum form form, const char *body, size_t size)
{
	struct evbuffer *out = evbuffer_new();

	if (out != NULL)
		evbuffer_add(out, body, size);
	evhttp_add_header(
		evhttp_request_get_output_headers(http), "Content-Type", content_type(form));
	evhttp_send_reply(http, code, reason(code), out);
	if (out != NULL)
		evbuffer_free(out);
}
