/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading and finding of neighbours that a person names.  No I/O. */
#include "static_neighbour.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PORT_KEY ",port="

static bool
read_address(const char *text, struct static_neighbour *neighbour)
{
	struct in_addr v4;

	neighbour->is_default = strcmp(text, "default") == 0;
	if (neighbour->is_default)
		return true;
	if (inet_pton(AF_INET, text, &v4) == 1) {
		neighbour->address = karmalb_address_from_v4(v4.s_addr);
		return true;
	}
	return inet_pton(AF_INET6, text, neighbour->address.bytes) == 1;
}

/* One that a single host can have. */
static bool
read_mac(const char *text, uint8_t mac[6])
{
	static const uint8_t none[6];
	int size = 0;

	return sscanf(text, "%2hhx:%2hhx:%2hhx:%2hhx:%2hhx:%2hhx%n", &mac[0], &mac[1], &mac[2],
		       &mac[3], &mac[4], &mac[5], &size) == 6 &&
	       size == 17 && text[size] == '\0' && (mac[0] & 1) == 0 && memcmp(mac, none, 6) != 0;
}

int
static_neighbour_parse(const char *value, struct static_neighbour *neighbour, struct err *err)
{
	char text[INET6_ADDRSTRLEN + sizeof("=00:00:00:00:00:00" PORT_KEY) + KARMALB_NAME_MAX];
	char *port, *mac;

	*neighbour = (struct static_neighbour){0};
	if (snprintf(text, sizeof(text), "%s", value) >= (int)sizeof(text))
		return err_set(err, -EINVAL, "--neighbour: more than %zu bytes", sizeof(text) - 1);
	port = strstr(text, PORT_KEY);
	if (port != NULL) {
		*port = '\0';
		port += strlen(PORT_KEY);
		if (port[0] == '\0' || strlen(port) >= sizeof(neighbour->port_name))
			return err_set(err, -EINVAL, "--neighbour %s: port '%s', expected a name",
				value, port);
		strcpy(neighbour->port_name, port);
	}
	mac = strchr(text, '=');
	if (mac == NULL)
		return err_set(err, -EINVAL,
			"--neighbour %s: expected ADDRESS|default=MAC[,port=NAME]", value);
	*mac++ = '\0';
	if (!read_address(text, neighbour))
		return err_set(err, -EINVAL,
			"--neighbour %s: '%s', expected an address or 'default'", value, text);
	if (!read_mac(mac, neighbour->mac))
		return err_set(err, -EINVAL,
			"--neighbour %s: '%s', expected a host's MAC as in 02:00:00:00:00:01",
			value, mac);
	return 0;
}

bool
static_neighbour_equal(const struct static_neighbour *a, const struct static_neighbour *b)
{
	if (a->is_default || b->is_default)
		return a->is_default && b->is_default && a->port == b->port &&
		       strcmp(a->port_name, b->port_name) == 0;
	return karmalb_address_equal(&a->address, &b->address);
}

const struct static_neighbour *
static_neighbour_find(
	const struct static_neighbour *list, unsigned n, const struct karmalb_address *address)
{
	for (unsigned i = 0; i < n; i++) {
		if (!list[i].is_default && karmalb_address_equal(&list[i].address, address))
			return &list[i];
	}
	return NULL;
}

const struct static_neighbour *
static_neighbour_default(const struct static_neighbour *list, unsigned n, int port)
{
	for (unsigned i = 0; i < n; i++) {
		if (list[i].is_default && (port < 0 || list[i].port == port))
			return &list[i];
	}
	return NULL;
}
