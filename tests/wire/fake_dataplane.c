/* SPDX-License-Identifier: BSD-3-Clause */
#include "fake_dataplane.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <check.h>

#include <karmalb/clock.h>

#include "err.h"

union message {
	struct karmalb_header header;
	struct karmalb_hello hello;
	struct karmalb_begin begin;
	struct karmalb_service service;
	struct karmalb_mirror mirror;
	struct karmalb_commit commit;
	struct karmalb_check_slot check;
	uint8_t bytes[KARMALB_MESSAGE_SIZE_MAX];
};

static const char *
path_in(const struct fake *f, const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", f->dir, name);
	return path;
}

void
fake_configure(const struct fake *f, const char *services)
{
	FILE *file = fopen(path_in(f, "karmalb.conf"), "w");

	ck_assert_ptr_nonnull(file);
	fprintf(file,
		"config_version = 1;\n"
		"dataplane = { workers = \"0\"; sources = [ \"10.255.0.1\" ];\n"
		"  ports = ( { name = \"p\"; device = \"af_xdp:none\"; } ); };\n"
		"services = (\n%s\n);\n%s\n",
		services, f->more);
	fclose(file);
}

static void
listen_in(struct fake *f)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	strcpy(address.sun_path, path_in(f, "dataplane.sock"));
	unlink(address.sun_path);
	f->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	ck_assert_int_ge(f->listener, 0);
	ck_assert_int_eq(bind(f->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	ck_assert_int_eq(listen(f->listener, 4), 0);
}

void
fake_run(struct fake *f)
{
	const char *program = getenv("KARMALB_CONTROLPLANE");

	ck_assert_msg(program != NULL, "KARMALB_CONTROLPLANE names the program to test");
	f->pid = fork();
	ck_assert_int_ge(f->pid, 0);
	if (f->pid > 0)
		return;

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */

	int log = open(path_in(f, "log"), O_WRONLY | O_CREAT | O_APPEND, 0600);

	dup2(log, STDERR_FILENO);
	execl(program, program, "--run-dir", f->dir, "--state-dir", f->dir,
		path_in(f, "karmalb.conf"), (char *)NULL);
	_exit(127);
}

void
fake_start(struct fake *f, const char *services)
{
	*f = (struct fake){.fd = -1, .dir = "/tmp/karmalb-wire-XXXXXX"};
	ck_assert_ptr_nonnull(mkdtemp(f->dir));
	fake_configure(f, services);
	listen_in(f);
	fake_run(f);
}

void
fake_kill(struct fake *f)
{
	kill(f->pid, SIGKILL);
	waitpid(f->pid, NULL, 0);
	fake_close(f);
}

void
fake_stop(struct fake *f)
{
	static const char *const names[] = {
		"karmalb.conf", "log", "dataplane.sock", "saved.statements"};
	int status;

	kill(f->pid, SIGTERM);
	ck_assert_int_eq(waitpid(f->pid, &status, 0), f->pid);
	ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ended with status %#x",
		(unsigned)status);
	fake_close(f);
	close(f->listener);
	intent_draft_abort(&f->draft);
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unlink(path_in(f, names[i]));
	ck_assert_int_eq(rmdir(f->dir), 0);
}

static bool
is_readable(int fd, unsigned limit_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	return poll(&p, 1, (int)limit_ms) == 1;
}

/* Returns the size, 0 when the link is closed, -1 after 'limit_ms' without a message. */
static ssize_t
receive(struct fake *f, union message *m, unsigned limit_ms)
{
	ssize_t size;

	if (!is_readable(f->fd, limit_ms))
		return -1;
	size = recv(f->fd, m, sizeof(*m), 0);
	return size >= 0 ? size : 0;
}

void
fake_accept(struct fake *f, unsigned limit_ms)
{
	union message m;

	ck_assert_msg(is_readable(f->listener, limit_ms), "it does not connect");
	f->fd = accept(f->listener, NULL, NULL);
	ck_assert_int_ge(f->fd, 0);
	ck_assert_int_eq(receive(f, &m, limit_ms), sizeof(m.hello));
	ck_assert_uint_eq(m.header.message, KARMALB_MESSAGE_HELLO);
	ck_assert_uint_eq(m.header.version, KARMALB_PROTOCOL_VERSION);
	ck_assert_uint_eq(m.header.size, sizeof(m.hello));
	ck_assert_uint_le(m.hello.started_us, karmalb_now_us());
}

void
fake_close(struct fake *f)
{
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

void
fake_send_raw(struct fake *f, const void *bytes, size_t size)
{
	ck_assert_int_eq(send(f->fd, bytes, size, MSG_NOSIGNAL), size);
}

void
fake_send(struct fake *f, uint16_t message, void *bytes)
{
	struct karmalb_header *header = bytes;

	if (header->size == 0)
		*header = (struct karmalb_header){
			message, KARMALB_PROTOCOL_VERSION, karmalb_message_size(message)};
	fake_send_raw(f, bytes, header->size);
}

void
fake_welcome(struct fake *f, uint64_t instance, uint32_t epoch, unsigned n_slots, int memory)
{
	struct karmalb_welcome m = {
		.header = {KARMALB_MESSAGE_WELCOME, KARMALB_PROTOCOL_VERSION, sizeof(m)},
		.instance = instance,
		.started_us = karmalb_now_us(),
		.epoch = epoch,
		.n_workers = 1,
		.n_slots = n_slots,
	};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} ancillary = {0};
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (memory >= 0) {
		ancillary.header.cmsg_level = SOL_SOCKET;
		ancillary.header.cmsg_type = SCM_RIGHTS;
		ancillary.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&ancillary.header), &memory, sizeof(int));
		msg.msg_control = &ancillary;
		msg.msg_controllen = sizeof(ancillary);
	}
	f->epoch = epoch;
	ck_assert_int_eq(sendmsg(f->fd, &msg, MSG_NOSIGNAL), sizeof(m));
}

void
fake_apply(struct fake *f, const struct intent *intent)
{
	struct karmalb_applied applied = {.epoch = intent->epoch, .applied_us = karmalb_now_us()};

	for (unsigned s = 0; s < intent->n_services; s++) {
		const struct intent_service *service = &intent->services[s];

		for (unsigned i = 0; i < service->n_mirrors; i++) {
			unsigned number = service->first_mirror + i;
			struct karmalb_slot slot = {
				.listen = service->listen,
				.address = intent->mirrors[number].address,
				.slot = (uint16_t)number,
				.next_hop = KARMALB_NEXT_HOP_RESOLVED,
				.is_selected = 1,
				.epoch = intent->epoch,
				.share = intent->mirrors[number].share,
			};

			fake_send(f, KARMALB_MESSAGE_SLOT, &slot);
		}
	}
	fake_send(f, KARMALB_MESSAGE_APPLIED, &applied);
}

void
fake_refuse(struct fake *f, const struct intent *intent, int error, const char *sentence)
{
	struct karmalb_applied applied = {.epoch = intent->epoch, .error = error};

	snprintf(applied.sentence, sizeof(applied.sentence), "%s", sentence);
	fake_send(f, KARMALB_MESSAGE_APPLIED, &applied);
}

/* Takes one message into the draft; a committed transaction comes out. */
static struct intent *
take(struct fake *f, const union message *m, size_t size)
{
	struct intent *intent = NULL;
	struct err err = {{0}};
	int error = -EPROTO;

	ck_assert_uint_eq(m->header.size, size);
	ck_assert_uint_eq(karmalb_message_size(m->header.message), size);
	switch (m->header.message) {
	case KARMALB_MESSAGE_BEGIN:
		f->was_superseded |= f->draft.intent != NULL;
		error = intent_draft_begin(&f->draft, &m->begin, f->epoch, &err);
		break;
	case KARMALB_MESSAGE_SERVICE:
		error = intent_draft_service(&f->draft, &m->service, &err);
		break;
	case KARMALB_MESSAGE_MIRROR:
		error = intent_draft_mirror(&f->draft, &m->mirror, &err);
		break;
	case KARMALB_MESSAGE_COMMIT:
		error = intent_draft_commit(&f->draft, &m->commit, &intent, &err);
		break;
	}
	ck_assert_msg(error == 0, "message %u: %s", m->header.message, err.text);
	return intent;
}

struct intent *
fake_next_intent(struct fake *f, unsigned limit_ms)
{
	uint64_t end_us = karmalb_now_us() + limit_ms * KARMALB_MILLISECOND;
	/* As the configuration has it. */
	struct karmalb_address source = karmalb_address_from_v4(htonl(0x0aff0001));
	struct intent *intent = NULL;
	struct err err = {{0}};

	while (intent == NULL) {
		uint64_t now_us = karmalb_now_us();
		unsigned left_ms = now_us < end_us ? (unsigned)((end_us - now_us) / 1000) : 0;
		union message m;
		ssize_t size = receive(f, &m, left_ms);

		if (size < 0)
			return NULL;
		ck_assert_msg(size > 0, "it closed the link");
		intent = take(f, &m, (size_t)size);
	}
	f->epoch = intent->epoch;
	ck_assert_msg(
		f->is_on_loopback || intent_check(intent, &source, 1, &err) == 0, "%s", err.text);
	return intent;
}

struct intent *
fake_expect_intent(struct fake *f, unsigned limit_ms)
{
	struct intent *intent = fake_next_intent(f, limit_ms);

	ck_assert_msg(intent != NULL, "no transaction within %u ms", limit_ms);
	return intent;
}

void
fake_answer_check(struct fake *f, unsigned result, unsigned limit_ms)
{
	union message m;
	ssize_t size = receive(f, &m, limit_ms);

	ck_assert_int_eq(size, sizeof(m.check));
	ck_assert_uint_eq(m.header.message, KARMALB_MESSAGE_CHECK_SLOT);

	struct karmalb_checked checked = {
		.request = m.check.request, .slot = m.check.slot, .result = (uint8_t)result};
	struct karmalb_answered end = {.request = m.check.request};

	fake_send(f, KARMALB_MESSAGE_CHECKED, &checked);
	fake_send(f, KARMALB_MESSAGE_ANSWERED, &end);
}

void
fake_expect_closed(struct fake *f, unsigned limit_ms)
{
	union message m;
	ssize_t size;

	while ((size = receive(f, &m, limit_ms)) > 0) {
	}
	ck_assert_msg(size == 0, "the link is still open after %u ms", limit_ms);
	fake_close(f);
}

unsigned
fake_count_in_log(const struct fake *f, const char *text)
{
	FILE *file = fopen(path_in(f, "log"), "r");
	char line[1024];
	unsigned n = 0;

	ck_assert_ptr_nonnull(file);
	while (fgets(line, sizeof(line), file) != NULL)
		n += strstr(line, text) != NULL;
	fclose(file);
	return n;
}
