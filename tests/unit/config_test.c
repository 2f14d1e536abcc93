/* SPDX-License-Identifier: BSD-3-Clause */
/* Odd files, full houses, and files that chance has mangled.  What good and bad files are answered
 * with word by word: tests/golden. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <check.h>

#include "config.h"

static struct config_errors errors;

static const char small[] =
	"config_version = 1;\n"
	"dataplane = {\n"
	"  ports = ( { name = \"p\"; device = \"af_xdp:eth0\"; } );\n"
	"  sources = [ \"10.255.0.0/28\" ];\n"
	"  max_flows = 5000;\n"
	"};\n"
	"defaults = { ha_strategy = \"nodeads\"; karma_floor = \"2 %\"; };\n"
	"services = ( { name = \"web\"; listen = [ \"192.0.2.1:80/tcp\", \"192.0.2.1:81/tcp\" ];\n"
	"  ha_period_karma = 90; karma_gain = 0.5; /* c */\n"
	"  mirrors = ( { name = \"m1\"; address = \"10.0.0.1\"; weight = 2; },\n"
	"              { name = \"m2\"; address = \"10.0.0.2:8080\"; } ); } ); # end\n";

static const struct config *
parse(const char *text)
{
	return config_parse("t.conf", text, strlen(text), &errors);
}

static bool
says(const char *words)
{
	for (unsigned i = 0; i < errors.n_errors; i++) {
		if (strstr(errors.errors[i].sentence, words) != NULL)
			return true;
	}
	return false;
}

START_TEST(a_value_holds_what_the_file_says)
{
	const struct config *c = parse(small);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->dataplane.n_ports, 1);
	ck_assert_str_eq(c->dataplane.ports[0].device, "af_xdp:eth0");
	ck_assert_uint_eq(c->dataplane.n_sources, 1);
	ck_assert_uint_eq(units_cidr_count(&c->dataplane.sources[0]), 16);
	ck_assert_uint_eq(c->dataplane.max_flows, 5000);
	ck_assert_uint_eq(c->dataplane.max_half_open, 5000); /* the default is larger */
	ck_assert_uint_eq(c->n_services, 1);

	const struct config_service *s = &c->services[0];

	ck_assert_uint_eq(s->n_listens, 2);
	ck_assert_uint_eq(s->n_mirrors, 2);
	ck_assert_uint_eq(s->settings.ha_strategy, c->defaults.ha_strategy);
	ck_assert_uint_eq(s->settings.ha_period_karma_s, 90);
	ck_assert_uint_eq(c->defaults.ha_period_karma_s, 60);
	ck_assert_double_eq(s->settings.karma_gain, 0.5);
	ck_assert_double_eq(s->settings.karma_floor, 0.02);
	ck_assert_uint_eq(s->mirrors[0].weight, 2);
	ck_assert_uint_eq(s->mirrors[1].weight, 1);
	config_free(c);
	config_free(NULL);
}
END_TEST

START_TEST(a_mirror_without_a_port_takes_that_of_each_listen)
{
	const struct config *c = parse(small);
	const struct config_service *s = &c->services[0];

	for (unsigned i = 0; i < s->n_listens; i++) {
		struct karmalb_endpoint to = config_mirror_endpoint(&s->mirrors[0], &s->listens[i]);

		ck_assert_uint_eq(to.port_be, s->listens[i].port_be);
		ck_assert_uint_eq(to.protocol, IPPROTO_TCP);
		to = config_mirror_endpoint(&s->mirrors[1], &s->listens[i]);
		ck_assert_uint_eq(to.port_be, htons(8080));
	}
	config_free(c);
}
END_TEST

START_TEST(what_is_no_file_is_answered_with_a_sentence)
{
	char path[] = "/tmp/karmalb_config_test.XXXXXX";
	int fd = mkstemp(path);

	ck_assert_int_ge(fd, 0);
	ck_assert_ptr_null(config_load("/nonexistent/karmalb.conf", &errors));
	ck_assert(says("cannot be read: No such file or directory"));
	ck_assert_str_eq(errors.errors[0].file, "/nonexistent/karmalb.conf");
	ck_assert_uint_eq(errors.errors[0].line, 0);
	ck_assert_ptr_null(config_load("/tmp", &errors));
	ck_assert(says("cannot be read: Is a directory"));
	ck_assert_ptr_null(config_load(path, &errors)); /* empty */
	ck_assert(says("config_version is missing"));
	ck_assert_int_eq(ftruncate(fd, CONFIG_SIZE_MAX + 1), 0);
	ck_assert_ptr_null(config_load(path, &errors));
	ck_assert(says("is larger than"));
	ck_assert_ptr_null(config_load("/dev/zero", &errors));
	ck_assert(says("is larger than"));
	ck_assert_int_eq(ftruncate(fd, 100), 0);
	ck_assert_ptr_null(config_load(path, &errors));
	ck_assert(says("byte 0"));
	ck_assert_int_eq(fchmod(fd, 0), 0);
	if (geteuid() != 0) {
		ck_assert_ptr_null(config_load(path, &errors));
		ck_assert(says("cannot be read: Permission denied"));
	}
	close(fd);
	unlink(path);
}
END_TEST

/* A file that is being written. */
static char *file_text;
static size_t file_size;
static FILE *file;

static void
begin_file(void)
{
	file = open_memstream(&file_text, &file_size);
	fputs("config_version = 1; dataplane = { ports = ( { name = \"p\"; device = \"d\"; } ); "
	      "sources = [ \"10.255.0.0/24\" ]; };\nservices = (\n",
		file);
}

/* Services with one listen each at 192.0.2.1, from port 1 on. */
static void
add_service(unsigned index, unsigned n_mirrors)
{
	fprintf(file, "%s{ name = \"s%u\"; listen = [ \"192.0.2.1:%u/tcp\" ]; mirrors = (",
		index > 0 ? "," : "", index, index + 1);
	for (unsigned i = 0; i < n_mirrors; i++)
		fprintf(file, "%s{ name = \"m%u\"; address = \"10.0.%u.%u\"; }\n", i > 0 ? "," : "",
			i, i / 250, i % 250 + 1);
	fputs("); }\n", file);
}

static const struct config *
end_file(void)
{
	fputs(");\n", file);
	fclose(file);
	const struct config *c = parse(file_text);

	free(file_text);
	return c;
}

START_TEST(a_full_house_fits)
{
	begin_file();
	for (unsigned i = 0; i < KARMALB_SERVICES_MAX; i++)
		add_service(i, KARMALB_SLOTS_MAX / KARMALB_SERVICES_MAX);
	const struct config *c = end_file();

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->n_services, KARMALB_SERVICES_MAX);
	config_free(c);
	begin_file();
	add_service(0, KARMALB_MIRRORS_MAX);
	c = end_file();
	ck_assert_ptr_nonnull(c);
	config_free(c);
}
END_TEST

START_TEST(one_too_many_is_refused_with_the_limit)
{
	begin_file();
	for (unsigned i = 0; i < KARMALB_SERVICES_MAX + 1; i++)
		add_service(i, 1);
	ck_assert_ptr_null(end_file());
	ck_assert(says("services: found 257 elements, expected 1 to 256"));
	begin_file();
	for (unsigned i = 0; i < KARMALB_SERVICES_MAX; i++)
		add_service(i, KARMALB_SLOTS_MAX / KARMALB_SERVICES_MAX + (i == 7));
	ck_assert_ptr_null(end_file());
	ck_assert(says("are 4097 together, expected at most 4096"));
	begin_file();
	add_service(0, KARMALB_MIRRORS_MAX + 1);
	ck_assert_ptr_null(end_file());
	ck_assert(says("mirrors: found 129 elements, expected 1 to 128"));
}
END_TEST

START_TEST(listens_of_all_services_together_are_bounded)
{
	begin_file();
	for (unsigned i = 0; i < 2; i++) {
		fprintf(file,
			"%s{ name = \"s%u\"; mirrors = ( { name = \"m\"; "
			"address = \"10.0.0.1\"; } ); listen = [",
			i > 0 ? "," : "", i);
		for (unsigned j = 0; j < KARMALB_SERVICES_MAX / 2 + 1; j++)
			fprintf(file, "%s\"192.0.2.%u:%u/tcp\"", j > 0 ? "," : "", i, j + 1);
		fputs("]; }\n", file);
	}
	ck_assert_ptr_null(end_file());
	ck_assert(says("services listen at 258 endpoints together, expected at most 256"));
}
END_TEST

START_TEST(depth_and_width_are_bounded)
{
	begin_file();
	for (unsigned i = 0; i < 100000; i++)
		fputc('(', file);
	ck_assert_ptr_null(end_file());
	ck_assert(says("brackets within brackets"));
	begin_file();
	fputs("); defaults = {", file);
	for (unsigned i = 0; i < 100000; i++)
		fprintf(file, "a%u=1;", i);
	fputs("}; x = (", file);
	ck_assert_ptr_null(end_file());
	ck_assert(says("found more than 1000 settings in one group"));
}
END_TEST

START_TEST(what_a_file_quotes_cannot_speak_to_the_terminal)
{
	ck_assert_ptr_null(parse("a = \x1b[2J;"));
	ck_assert_ptr_null(strchr(errors.source_lines[0], '\x1b'));
	ck_assert_ptr_null(parse("config_version = \"\x1b[2J\";"));
	ck_assert_ptr_null(strchr(errors.errors[2].sentence, '\x1b'));
}
END_TEST

/* Some bytes that mean something to the parser, so that chance gets further. */
static char
random_byte(void)
{
	static const char often[] = "={}()[];:,\"#/*\\ \n0129.-+eLx%am_@";

	return rand() % 4 == 0 ? (char)(rand() % 255 + 1) : often[rand() % (sizeof(often) - 1)];
}

static void
mangle(char *text, size_t *size)
{
	size_t at = (size_t)rand() % *size, n = (size_t)(rand() % 12) + 1;

	switch (rand() % 4) {
	case 0: /* change */
		text[at] = random_byte();
		break;
	case 1: /* remove */
		n = n < *size - at ? n : *size - at - 1;
		memmove(text + at, text + at + n, *size - at - n);
		*size -= n;
		break;
	case 2: /* insert */
		memmove(text + at + 1, text + at, *size - at);
		text[at] = random_byte();
		*size += 1;
		break;
	default: /* repeat */
		n = n < *size - at ? n : *size - at;
		memmove(text + at + n, text + at, *size - at);
		*size += n;
	}
}

static char *
normal_form(const struct config *config)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	config_print(config, out);
	fclose(out);
	return text;
}

/* A value's normal form is its own; a refusal has sentences, and none that is libconfig's. */
static void
check_answer(const struct config *c, const char *text, size_t size)
{
	if (c == NULL) {
		ck_assert_uint_gt(errors.n_errors, 0);
		for (unsigned i = 0; i < errors.n_errors; i++) {
			ck_assert_uint_gt(strlen(errors.errors[i].sentence), 10);
			ck_assert_msg(strstr(errors.errors[i].sentence, "syntax error") == NULL,
				"%.*s", (int)size, text);
		}
		return;
	}
	char *first = normal_form(c);
	const struct config *again = parse(first);

	ck_assert_msg(again != NULL, "%s", first);
	char *second = normal_form(again);

	ck_assert_str_eq(first, second);
	free(second);
	config_free(again);
	free(first);
}

START_TEST(mangled_files_are_read_or_refused_in_words)
{
	unsigned n_good = 0;

	srand(20240229);
	for (unsigned i = 0; i < 20000; i++) {
		char text[2 * sizeof(small)];
		size_t size = sizeof(small) - 1;

		memcpy(text, small, size);
		for (int n = rand() % 2 + 1; n > 0; n--)
			mangle(text, &size);
		text[size] = '\0';
		const struct config *c = config_parse("t.conf", text, size, &errors);

		check_answer(c, text, size);
		n_good += c != NULL;
		config_free(c);
	}
	/* Both ways have been gone often enough to mean something. */
	ck_assert_uint_gt(n_good, 500);
	ck_assert_uint_lt(n_good, 19500);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("config");
	TCase *tc = tcase_create("config");
	SRunner *runner = srunner_create(suite);

	suite_add_tcase(suite, tc);
	tcase_set_timeout(tc, 60);
	tcase_add_test(tc, a_value_holds_what_the_file_says);
	tcase_add_test(tc, a_mirror_without_a_port_takes_that_of_each_listen);
	tcase_add_test(tc, what_is_no_file_is_answered_with_a_sentence);
	tcase_add_test(tc, a_full_house_fits);
	tcase_add_test(tc, one_too_many_is_refused_with_the_limit);
	tcase_add_test(tc, listens_of_all_services_together_are_bounded);
	tcase_add_test(tc, depth_and_width_are_bounded);
	tcase_add_test(tc, what_a_file_quotes_cannot_speak_to_the_terminal);
	tcase_add_test(tc, mangled_files_are_read_or_refused_in_words);
	srunner_run_all(runner, CK_NORMAL);
	int n_failed = srunner_ntests_failed(runner);

	srunner_free(runner);
	return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
