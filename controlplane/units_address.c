/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The other half of units.h: addresses, endpoints, networks.  Pure; any thread.  Sentences say what
 * was expected, as in units.c.
 */
#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "err.h"
#include "units.h"

int
units_parse_address(const char *text, struct karmalb_address *address, struct err *err)
{
	struct in_addr v4;
	struct in6_addr v6;

	if (inet_pton(AF_INET, text, &v4) == 1) {
		*address = karmalb_address_from_v4(v4.s_addr);
		return 0;
	}
	if (inet_pton(AF_INET6, text, &v6) == 1) {
		memcpy(address->bytes, &v6, sizeof(address->bytes));
		return 0;
	}
	return err_set(err,
		"expected an address such as 192.0.2.10 or 2001:db8::10 (names are not looked up)");
}

char *
units_format_address(const struct karmalb_address *address, char *text, size_t size)
{
	bool is_v4 = karmalb_address_is_v4(address);

	if (inet_ntop(is_v4 ? AF_INET : AF_INET6, &address->bytes[is_v4 ? 12 : 0], text,
		    (socklen_t)size) == NULL)
		text[0] = '\0';
	return text;
}

/* Copies what stands before 'end' and reads it as an address. */
static int
parse_address_before(
	const char *text, const char *end, struct karmalb_address *address, struct err *err)
{
	char part[INET6_ADDRSTRLEN];
	size_t length = (size_t)(end - text);

	if (length >= sizeof(part))
		return units_parse_address("", address, err);
	memcpy(part, text, length);
	part[length] = '\0';
	return units_parse_address(part, address, err);
}

static int
take_port(const char **text, uint16_t *port, struct err *err)
{
	uint64_t value;

	if (!units_take_digits(text, &value) || value < 1 || value > UINT16_MAX)
		return err_set(err, "expected a port from 1 to 65535 after the ':'");
	*port = (uint16_t)value;
	return 0;
}

/* An IPv6 address has more than one ':', and stands in [ ] where a port follows. */
static bool
is_bare_v6(const char *text)
{
	const char *colon = strchr(text, ':');

	return text[0] != '[' && colon != NULL && strchr(colon + 1, ':') != NULL;
}

/* The address at '*text', which moves to what follows it. */
static int
take_host(const char **text, struct karmalb_address *address, struct err *err)
{
	const char *begin = *text, *end = begin + strcspn(begin, ":/");

	if (is_bare_v6(begin))
		end = begin + strcspn(begin, "/");
	else if (begin[0] == '[')
		end = begin + strcspn(begin, "]");
	if (begin[0] == '[' && *end != ']')
		return err_set(err, "expected a ']' after the address");
	*text = begin[0] == '[' ? end + 1 : end;
	return parse_address_before(begin[0] == '[' ? begin + 1 : begin, end, address, err);
}

int
units_parse_endpoint(const char *text, struct karmalb_endpoint *endpoint, struct err *err)
{
	struct karmalb_endpoint value = {.protocol = IPPROTO_TCP};
	const char *p = text;
	uint16_t port;

	if (is_bare_v6(text))
		return err_set(err, "expected an IPv6 address in [ ], such as "
				    "\"[2001:db8::10]:80/tcp\"");
	if (strchr(text, ':') == NULL)
		return err_set(
			err, "expected address:port/protocol, such as \"192.0.2.10:80/tcp\"");
	if (take_host(&p, &value.address, err) != 0)
		return -EINVAL;
	if (*p++ != ':')
		return err_set(err, "expected a ':' and a port after the address");
	if (take_port(&p, &port, err) != 0)
		return -EINVAL;
	if (strcmp(p, "/udp") == 0)
		value.protocol = IPPROTO_UDP;
	else if (strcmp(p, "/tcp") != 0)
		return err_set(err, "expected \"/tcp\" or \"/udp\" after the port");
	value.port_be = htons(port);
	*endpoint = value;
	return 0;
}

char *
units_format_endpoint(const struct karmalb_endpoint *endpoint, char *text, size_t size)
{
	const char *protocol = endpoint->protocol == IPPROTO_UDP ? "udp" : "tcp";
	char host[UNITS_TEXT_MAX];

	units_format_host(&endpoint->address, ntohs(endpoint->port_be), host, sizeof(host));
	snprintf(text, size, "%s/%s", host, protocol);
	return text;
}

int
units_parse_host(const char *text, struct karmalb_address *address, uint16_t *port, struct err *err)
{
	const char *p = text;
	struct karmalb_address value;
	uint16_t number = 0;

	if (take_host(&p, &value, err) != 0)
		return -EINVAL;
	if (*p == ':') {
		p++;
		if (take_port(&p, &number, err) != 0)
			return -EINVAL;
		if (*p != '\0')
			return err_set(err, "expected nothing after the port");
	}
	if (*p != '\0')
		return err_set(err, "expected nothing after the address but \":port\"");
	*address = value;
	*port = number;
	return 0;
}

char *
units_format_host(const struct karmalb_address *address, uint16_t port, char *text, size_t size)
{
	char host[INET6_ADDRSTRLEN];
	bool is_v4 = karmalb_address_is_v4(address);

	units_format_address(address, host, sizeof(host));
	if (port == 0)
		snprintf(text, size, "%s", host);
	else
		snprintf(text, size, is_v4 ? "%s:%u" : "[%s]:%u", host, port);
	return text;
}

#define V6_PREFIX_MIN 112 /* beyond all that KARMALB_SOURCES_MAX allows, and within 32 bits */

static unsigned
prefix_max(const struct karmalb_address *address)
{
	return karmalb_address_is_v4(address) ? 32 : 128;
}

/* The last 32 bits of an address, in host order; hosts of a network differ in nothing else. */
static uint32_t
low_bits(const struct karmalb_address *address)
{
	return ntohl(karmalb_address_v4_be(address));
}

static void
set_low_bits(struct karmalb_address *address, uint32_t bits)
{
	bits = htonl(bits);
	memcpy(&address->bytes[12], &bits, sizeof(bits));
}

/* Of these, those that a network leaves to the hosts. */
static uint32_t
host_bits(const struct units_cidr *cidr)
{
	unsigned n = prefix_max(&cidr->first) - cidr->prefix;

	return n == 0 ? 0 : UINT32_MAX >> (32 - n);
}

static int
parse_prefix(const char *text, unsigned min, unsigned max, unsigned *prefix, struct err *err)
{
	uint64_t value;

	if (!units_take_digits(&text, &value) || *text != '\0' || value < min || value > max)
		return err_set(
			err, "expected a prefix length from %u to %u after the '/'", min, max);
	*prefix = (unsigned)value;
	return 0;
}

int
units_parse_cidr(const char *text, struct units_cidr *cidr, struct err *err)
{
	const char *slash = strchr(text, '/');
	const char *p = slash != NULL ? slash : text + strlen(text);
	struct units_cidr value = {0};
	char mended[UNITS_TEXT_MAX], alone[UNITS_TEXT_MAX];

	if (parse_address_before(text, p, &value.first, err) != 0)
		return -EINVAL;
	bool is_v4 = karmalb_address_is_v4(&value.first);

	value.prefix = prefix_max(&value.first);
	if (slash != NULL && parse_prefix(slash + 1, is_v4 ? 0 : V6_PREFIX_MIN, value.prefix,
				     &value.prefix, err) != 0)
		return -EINVAL;
	uint32_t low = low_bits(&value.first);

	if ((low & host_bits(&value)) != 0) {
		units_format_address(&value.first, alone, sizeof(alone));
		set_low_bits(&value.first, low & ~host_bits(&value));
		return err_set(err, "the network is \"%s\", the one address \"%s\"",
			units_format_cidr(&value, mended, sizeof(mended)), alone);
	}
	*cidr = value;
	return 0;
}

char *
units_format_cidr(const struct units_cidr *cidr, char *text, size_t size)
{
	char first[INET6_ADDRSTRLEN];

	units_format_address(&cidr->first, first, sizeof(first));
	if (cidr->prefix == prefix_max(&cidr->first))
		snprintf(text, size, "%s", first);
	else
		snprintf(text, size, "%s/%u", first, cidr->prefix);
	return text;
}

uint64_t
units_cidr_count(const struct units_cidr *cidr)
{
	return (uint64_t)host_bits(cidr) + 1;
}

struct karmalb_address
units_cidr_at(const struct units_cidr *cidr, uint32_t index)
{
	struct karmalb_address address = cidr->first;

	assert(index < units_cidr_count(cidr));
	set_low_bits(&address, low_bits(&cidr->first) + index);
	return address;
}

bool
units_cidr_holds(const struct units_cidr *cidr, const struct karmalb_address *address)
{
	return memcmp(address->bytes, cidr->first.bytes, 12) == 0 &&
	       (low_bits(address) & ~host_bits(cidr)) == low_bits(&cidr->first);
}
