/* SPDX-License-Identifier: BSD-3-Clause */
#include "web.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <check.h>

#include <karmalb/clock.h>

/* Four mirrors behind one listen, documented rule, no pings. */
const char web_services[] =
	"{ name = \"web\"; listen = [ \"192.0.2.10:80/tcp\" ]; ha_strategy = \"nodeads\";\n"
	"  karma_rule = \"documented\"; ha_period_karma = \"1s\"; ping = \"none\"; slow_start = 0;\n"
	"  mirrors = ( { name = \"m1\"; address = \"10.0.0.1\"; },\n"
	"              { name = \"m2\"; address = \"10.0.0.2\"; },\n"
	"              { name = \"m3\"; address = \"10.0.0.3\"; },\n"
	"              { name = \"m4\"; address = \"10.0.0.4\"; } ); }";

const double web_equal[4] = {0.25, 0.25, 0.25, 0.25};
const double web_w1[4] = {0.15, 0.30, 0.05, 0.50};
struct web web;

void
web_set_up(void)
{
	memset(&web.totals, 0, sizeof(web.totals));
	fake_start(&web.fake, web_services);
	fake_accept(&web.fake, WEB_PROMPT_MS);
}

void
web_tear_down(void)
{
	fake_stop(&web.fake);
}

void
web_assert_shares(const struct intent *intent, const double *expected, double tolerance)
{
	for (unsigned i = 0; i < 4; i++)
		ck_assert_double_eq_tol(intent->mirrors[i].share, expected[i], tolerance);
}

void
web_send_pairs(const double *shares)
{
	for (unsigned i = 0; i < 4; i++) {
		struct karmalb_slot slot = {
			.listen = {karmalb_address_from_v4(inet_addr("192.0.2.10")), htons(80),
				IPPROTO_TCP},
			.address = {karmalb_address_from_v4(htonl(0x0a000001 + i)), htons(80),
				IPPROTO_TCP},
			.slot = (uint16_t)i,
			.is_selected = 1,
			.share = shares[i],
		};

		fake_send(&web.fake, KARMALB_MESSAGE_SLOT, &slot);
		web.totals[i].slot = (uint16_t)i;
		web.totals[i].stamp_us = karmalb_now_us();
		fake_send(&web.fake, KARMALB_MESSAGE_SLOT_TOTALS, &web.totals[i]);
	}
}

void
web_send_answers(unsigned n)
{
	static const uint64_t latencies_us[4] = {10000, 5000, 30000, 3000};

	for (unsigned i = 0; i < 4; i++) {
		struct karmalb_slot_totals *t = &web.totals[i];

		t->slot = (uint16_t)i;
		t->opened += n;
		t->outcomes[KARMALB_OUTCOME_SUCCEEDED_QUERIES] += n;
		t->query.count += n;
		t->query.sum_us += n * latencies_us[i];
		t->query.histogram[karmalb_histogram_bucket(latencies_us[i])] += n;
		t->query.max_us = latencies_us[i];
		t->stamp_us = t->last_success_us = karmalb_now_us();
		fake_send(&web.fake, KARMALB_MESSAGE_SLOT_TOTALS, t);
	}
}

void
web_apply_and_free(struct intent *intent)
{
	fake_apply(&web.fake, intent);
	intent_free(intent);
}

/* 'header' is a line of its own, or nothing. */
static int
ask(const char *statement, const char *header)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	unsigned n_tries = 0;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/control.sock", web.fake.dir);
	while (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		ck_assert_uint_lt(
			n_tries++, WEB_PROMPT_MS / 10); /* opened shortly after the start */
		usleep(10000);
	}
	dprintf(fd,
		"POST /cli HTTP/1.1\r\nHost: karmalb\r\nConnection: close\r\n%s"
		"Content-Length: %zu\r\n\r\n%s",
		header, strlen(statement), statement);
	return fd;
}

int
web_ask(const char *statement)
{
	return ask(statement, "");
}

int
web_ask_json(const char *statement)
{
	return ask(statement, "Accept: application/json\r\n");
}

const char *
web_read_answer(int fd)
{
	static char answer[65536];
	size_t at = 0;
	ssize_t size;

	while ((size = read(fd, answer + at, sizeof(answer) - 1 - at)) > 0)
		at += (size_t)size;
	answer[at] = '\0';
	close(fd);
	return answer;
}
