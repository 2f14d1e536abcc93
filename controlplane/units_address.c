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
	if (inet_pton(AF_INET6, text, &v6) == 1 || text[0] == '[')
		return err_set(err, "IPv6 is not available in this version");
	return err_set(
		err, "expected an IPv4 address such as 192.0.2.10 (names are not looked up)");
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

/* One ':' parts address and port; more of them, or a '[', mean IPv6. */
static bool
looks_like_v6(const char *text)
{
	const char *colon = strchr(text, ':');

	return text[0] == '[' || (colon != NULL && strchr(colon + 1, ':') != NULL);
}

int
units_parse_endpoint(const char *text, struct karmalb_endpoint *endpoint, struct err *err)
{
	struct karmalb_endpoint value = {.protocol = IPPROTO_TCP};
	const char *p = strchr(text, ':');
	uint16_t port;

	if (looks_like_v6(text))
		return err_set(err, "IPv6 is not available in this version");
	if (p == NULL)
		return err_set(
			err, "expected address:port/protocol, such as \"192.0.2.10:80/tcp\"");
	if (parse_address_before(text, p++, &value.address, err) != 0 ||
		take_port(&p, &port, err) != 0)
		return -EINVAL;
	if (strcmp(p, "/udp") == 0)
		return err_set(err, "UDP is not available in this version, only /tcp");
	if (strcmp(p, "/tcp") != 0)
		return err_set(err, "expected \"/tcp\" after the port");
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
	const char *p = strchr(text, ':');
	struct karmalb_address value;
	uint16_t number = 0;

	if (looks_like_v6(text))
		return err_set(err, "IPv6 is not available in this version");
	if (p == NULL)
		p = text + strlen(text);
	if (parse_address_before(text, p, &value, err) != 0)
		return -EINVAL;
	if (*p == ':') {
		p++;
		if (take_port(&p, &number, err) != 0)
			return -EINVAL;
		if (*p != '\0')
			return err_set(err, "expected nothing after the port");
	}
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

/* The bits of an IPv4 address that a prefix leaves to the hosts, in host order. */
static uint32_t
host_bits(unsigned prefix)
{
	return prefix >= 32 ? 0 : UINT32_MAX >> prefix;
}

int
units_parse_cidr(const char *text, struct units_cidr *cidr, struct err *err)
{
	const char *slash = strchr(text, '/');
	const char *p = slash != NULL ? slash : text + strlen(text);
	struct units_cidr value = {.prefix = 32};
	uint64_t prefix = 32;
	char mended[UNITS_TEXT_MAX], alone[UNITS_TEXT_MAX];

	if (looks_like_v6(text))
		return err_set(err, "IPv6 is not available in this version");
	if (parse_address_before(text, p, &value.first, err) != 0)
		return -EINVAL;
	if (slash != NULL) {
		p++;
		if (!units_take_digits(&p, &prefix) || *p != '\0' || prefix > 32)
			return err_set(err, "expected a prefix length from 0 to 32 after the '/'");
	}
	uint32_t v4 = ntohl(karmalb_address_v4_be(&value.first));

	value.prefix = (unsigned)prefix;
	if ((v4 & host_bits(value.prefix)) != 0) {
		units_format_address(&value.first, alone, sizeof(alone));
		value.first = karmalb_address_from_v4(htonl(v4 & ~host_bits(value.prefix)));
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
	if (cidr->prefix == 32)
		snprintf(text, size, "%s", first);
	else
		snprintf(text, size, "%s/%u", first, cidr->prefix);
	return text;
}

uint64_t
units_cidr_count(const struct units_cidr *cidr)
{
	return (uint64_t)host_bits(cidr->prefix) + 1;
}

struct karmalb_address
units_cidr_at(const struct units_cidr *cidr, uint32_t index)
{
	assert(index < units_cidr_count(cidr));
	return karmalb_address_from_v4(htonl(ntohl(karmalb_address_v4_be(&cidr->first)) + index));
}

bool
units_cidr_holds(const struct units_cidr *cidr, const struct karmalb_address *address)
{
	if (!karmalb_address_is_v4(address))
		return false;
	uint32_t first = ntohl(karmalb_address_v4_be(&cidr->first));

	return (ntohl(karmalb_address_v4_be(address)) & ~host_bits(cidr->prefix)) == first;
}
