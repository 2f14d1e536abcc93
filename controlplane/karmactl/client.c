/* SPDX-License-Identifier: BSD-3-Clause */
/* HTTP over a UNIX socket with libcurl.  Blocks, at most CLIENT_TIMEOUT_MS a statement. */
#include "client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "err.h"
#include "statement.h"

#define BODY_SIZE_MAX (64 * 1024 * 1024)

struct client {
	CURL *curl;
	struct curl_slist *headers[CLIENT_N_FORMS];
	FILE *stream; /* NULL: none */
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
};

static int
find_socket(struct client *client, const char *path, struct err *err);
static int
setup(struct client *client);
static size_t
on_body(char *data, size_t size, size_t n, void *arg);
static int
explain(const struct client *client, CURLcode code, struct err *err);

struct client *
client_open(const char *path, struct err *err)
{
	struct client *client = calloc(1, sizeof(*client));

	if (client == NULL) {
		err_set(err, "out of memory");
		return NULL;
	}
	if (find_socket(client, path, err) < 0)
		goto close;
	if (setup(client) < 0) {
		err_set(err, "cannot set up libcurl");
		goto close;
	}
	return client;

close:
	client_close(client);
	return NULL;
}

void
client_close(struct client *client)
{
	if (client == NULL)
		return;
	for (unsigned i = 0; i < CLIENT_N_FORMS; i++)
		curl_slist_free_all(client->headers[i]);
	curl_easy_cleanup(client->curl);
	free(client);
}

/* An answer while it comes in. */
struct body {
	struct client *client;
	char *text;
	size_t size;
	bool is_in_line; /* of what is streamed: behind the first byte of a line */
	bool is_bad;     /* whose last line begins with '!' */
};

int
client_ask(struct client *client, const char *statement, enum client_form form,
	struct client_answer *answer, struct err *err)
{
	size_t size = strlen(statement);
	struct body body = {.client = client};
	long status = 0;
	CURLcode code;

	if (size > STATEMENT_SIZE_MAX) {
		err_set(err, "the statement is %zu bytes long, more than %d are not taken", size,
			STATEMENT_SIZE_MAX);
		return -E2BIG;
	}
	curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, statement);
	curl_easy_setopt(client->curl, CURLOPT_POSTFIELDSIZE, (long)size);
	curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, client->headers[form]);
	curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &body);
	code = curl_easy_perform(client->curl);
	if (code != CURLE_OK) {
		free(body.text);
		return explain(client, code, err);
	}
	curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
	*answer = (struct client_answer){
		.is_done = status == 200 || status == 202 || status == 424,
		.is_bad = status == 424 || body.is_bad,
		.is_unconfirmed = status == 202,
		.body = body.text,
		.size = body.size,
	};
	return 0;
}

void
client_stream(struct client *client, FILE *out)
{
	client->stream = out;
}

void
client_answer_free(struct client_answer *answer)
{
	free(answer->body);
}

/* 0, or the errno that says why nobody answers at 'path'. */
static int
try_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd, error = 0;

	if (strlen(path) >= sizeof(address.sun_path))
		return ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return errno;
	/* EAGAIN: its queue is full, so somebody listens. */
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 && errno != EAGAIN)
		error = errno;
	close(fd);
	return error;
}

/* Why, and what to do. */
static int
explain_socket(const char *path, int error, struct err *err)
{
	switch (error) {
	case ENOENT:
		err_set(err,
			"there is no control plane at %s: start karmalb-controlplane, or name its "
			"socket with --socket",
			path);
		break;
	case ECONNREFUSED:
		err_set(err,
			"nobody answers at %s, its control plane was killed: start "
			"karmalb-controlplane",
			path);
		break;
	case EACCES:
		err_set(err, "you may not open %s: use sudo, or join the group that it belongs to",
			path);
		break;
	default:
		err_set(err, "cannot connect to %s: %s", path, strerror(error));
	}
	return -error;
}

/* The first that answers; if none does, what is said is about the one that came nearest. */
static int
search(struct client *client, struct err *err)
{
	static const char *const paths[] = {CLIENT_PATHS};
	const char *nearest = NULL;
	int nearest_error = ENOENT;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		int error = try_socket(paths[i]);

		if (error == 0) {
			strcpy(client->path, paths[i]);
			return 0;
		}
		if (error != ENOENT && nearest == NULL) {
			nearest = paths[i];
			nearest_error = error;
		}
	}
	if (nearest != NULL)
		return explain_socket(nearest, nearest_error, err);
	err_set(err,
		"there is no control plane at %s, nor at %s: start karmalb-controlplane or "
		"scripts/demo, or name the socket with --socket",
		paths[0], paths[1]);
	return -ENOENT;
}

/* A socket that was named is meant, whether or not it answers. */
static int
find_socket(struct client *client, const char *path, struct err *err)
{
	int error;

	if (path == NULL)
		path = getenv(CLIENT_ENVIRONMENT);
	if (path == NULL || path[0] == '\0')
		return search(client, err);
	error = try_socket(path);
	if (error != 0)
		return explain_socket(path, error, err);
	strcpy(client->path, path);
	return 0;
}

static int
setup(struct client *client)
{
	static const char *const accepts[CLIENT_N_FORMS] = {
		[CLIENT_TEXT] = "Accept: text/plain",
		[CLIENT_JSON] = "Accept: application/json",
		[CLIENT_TSV] = "Accept: text/tab-separated-values",
	};

	client->curl = curl_easy_init();
	if (client->curl == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < CLIENT_N_FORMS; i++) {
		struct curl_slist *first = curl_slist_append(NULL, accepts[i]);

		client->headers[i] = curl_slist_append(first, "Content-Type: text/plain");
		if (client->headers[i] == NULL)
			return -ENOMEM;
	}
	curl_easy_setopt(client->curl, CURLOPT_UNIX_SOCKET_PATH, client->path);
	curl_easy_setopt(client->curl, CURLOPT_URL, "http://localhost/cli");
	curl_easy_setopt(client->curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(client->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(client->curl, CURLOPT_TIMEOUT_MS, (long)CLIENT_TIMEOUT_MS);
	curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, on_body);
	return 0;
}

/* Only what comes in pieces, hence without a length; and what is refused goes elsewhere. */
static bool
is_streamed(const struct client *client)
{
	long status = 0;
	curl_off_t length = 0;

	if (client->stream == NULL)
		return false;
	curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(client->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	return status == 200 && length < 0;
}

/* The status of what is streamed was sent before anything was known: its last line says the rest.
 */
static void
read_along(struct body *body, const char *data, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!body->is_in_line)
			body->is_bad = data[i] == '!';
		body->is_in_line = data[i] != '\n';
	}
}

static size_t
on_body(char *data, size_t size, size_t n, void *arg)
{
	struct body *body = arg;
	char *text;

	n *= size;
	if (is_streamed(body->client)) {
		size_t written = fwrite(data, 1, n, body->client->stream);

		fflush(body->client->stream);
		read_along(body, data, n);
		return written;
	}
	if (n > BODY_SIZE_MAX - body->size)
		return 0;
	text = realloc(body->text, body->size + n + 1);
	if (text == NULL)
		return 0;
	memcpy(text + body->size, data, n);
	body->text = text;
	body->size += n;
	text[body->size] = '\0';
	return n;
}

static int
explain(const struct client *client, CURLcode code, struct err *err)
{
	/* One that closes at once is no connection either to libcurl. */
	int error = code == CURLE_COULDNT_CONNECT ? try_socket(client->path) : 0;

	if (error != 0)
		return explain_socket(client->path, error, err);
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		err_set(err, "no answer from %s within %d s: its control plane hangs or is stopped",
			client->path, CLIENT_TIMEOUT_MS / 1000);
		return -ETIMEDOUT;
	case CURLE_COULDNT_CONNECT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
	case CURLE_PARTIAL_FILE:
		err_set(err,
			"the connection to %s broke before the answer: its control plane has ended "
			"or is restarting",
			client->path);
		return -ECONNRESET;
	default:
		err_set(err, "%s: %s", client->path, curl_easy_strerror(code));
		return -EPROTO;
	}
}
