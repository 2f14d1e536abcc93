/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text to value and back for everything that has a unit or a notation: durations, sizes, shares,
 * CPU lists, addresses.  Pure.  A parser takes the whole text or refuses it with a sentence and
 * -EINVAL, leaving '*value' alone; blanks at either end are not allowed.  Sentences say what was
 * expected; the caller, who knows what the text was for, puts "name = text: " before them.  What a
 * formatter writes its parser reads back as the same value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <karmalb/endpoint.h>
#include <karmalb/limits.h>

struct err;

/* Enough for any formatter below except units_format_cpus(). */
#define UNITS_TEXT_MAX 80

/* For notations built from these: the digits at '*text' as a number, '*text' moved behind them;
 * false when there are none or the number is too large, and nothing has moved. */
bool
units_take_digits(const char **text, uint64_t *value);

/* "250ms", "3s", "2m", any case, integers only: us ms s m h d w.  'bare_us' is what a number
 * without a unit counts in ("90"). */
int
units_parse_duration(const char *text, uint64_t bare_us, uint64_t *us, struct err *err);
/* In the largest unit that leaves an integer: "2m", "1500ms", "0s". */
char *
units_format_duration(uint64_t us, char *text, size_t size);

/* Bytes: "512M", "4k", "1073741824"; K M G T are powers of 1024, any case. */
int
units_parse_size(const char *text, uint64_t *bytes, struct err *err);
char *
units_format_size(uint64_t bytes, char *text, size_t size);

/* A plain decimal integer >= 0. */
int
units_parse_count(const char *text, uint64_t *count, struct err *err);

/* "0.25", "1", "1e-3": finite. */
int
units_parse_number(const char *text, double *number, struct err *err);
/* The shortest decimal text that reads back as the same number. */
char *
units_format_number(double number, char *text, size_t size);

/* A part of a whole, "1%", "1 %" or "0.01", to 0.01. */
int
units_parse_share(const char *text, double *share, struct err *err);
char *
units_format_share(double share, char *text, size_t size);

/* CPUs in rising order, none twice; none at all stands for "last": the highest one that the process
 * may use. */
struct units_cpus {
	unsigned n_cpus;
	uint16_t cpus[KARMALB_WORKERS_MAX];
};
#define UNITS_CPU_MAX       1023
#define UNITS_CPUS_TEXT_MAX (KARMALB_WORKERS_MAX * 5 + 1)

/* "2", "2-3", "2-3,6", "last". */
int
units_parse_cpus(const char *text, struct units_cpus *cpus, struct err *err);
char *
units_format_cpus(const struct units_cpus *cpus, char *text, size_t size);

/* "2026-11-30T04:30:00Z", with ".250" before the Z where there are milliseconds: UTC, us since
 * 1970, whole milliseconds, years 1970 to 9999. */
int
units_parse_time(const char *text, uint64_t *unix_us, struct err *err);
char *
units_format_time(uint64_t unix_us, char *text, size_t size);

/* "192.0.2.10", "2001:db8::10". */
int
units_parse_address(const char *text, struct karmalb_address *address, struct err *err);
char *
units_format_address(const struct karmalb_address *address, char *text, size_t size);

/* "192.0.2.10:80/tcp", "[2001:db8::10]:53/udp": all three parts required. */
int
units_parse_endpoint(const char *text, struct karmalb_endpoint *endpoint, struct err *err);
char *
units_format_endpoint(const struct karmalb_endpoint *endpoint, char *text, size_t size);

/* "10.0.0.11" (port 0), "10.0.0.11:9306", "2001:db8::11", "[2001:db8::11]:9306"; port in host
 * order. */
int
units_parse_host(
	const char *text, struct karmalb_address *address, uint16_t *port, struct err *err);
char *
units_format_host(const struct karmalb_address *address, uint16_t port, char *text, size_t size);

/* A network, its host bits zero.  All of its addresses are meant, first and last included: each is
 * used as a /32 or /128. */
struct units_cidr {
	struct karmalb_address first;
	unsigned prefix; /* 0 .. 32; of IPv6 112 .. 128 */
};

/* "10.0.0.240/28", "2001:db8::f0/124", or one address, "10.0.0.240" (a /32). */
int
units_parse_cidr(const char *text, struct units_cidr *cidr, struct err *err);
char *
units_format_cidr(const struct units_cidr *cidr, char *text, size_t size);
uint64_t
units_cidr_count(const struct units_cidr *cidr);
/* The address 'index' (0 .. count - 1) of it. */
struct karmalb_address
units_cidr_at(const struct units_cidr *cidr, uint32_t index);
bool
units_cidr_holds(const struct units_cidr *cidr, const struct karmalb_address *address);
