/* SPDX-License-Identifier: BSD-3-Clause */
/* Renders addresses for people.  Never on the packet path. */
#include "endpoint_text.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>

const char *
address_text(const struct karmalb_address *a, char *text)
{
	bool is_v4 = karmalb_address_is_v4(a);

	inet_ntop(is_v4 ? AF_INET : AF_INET6, &a->bytes[is_v4 ? 12 : 0], text, ADDRESS_TEXT_MAX);
	return text;
}

const char *
endpoint_text(const struct karmalb_endpoint *e, char *text)
{
	bool is_v4 = karmalb_address_is_v4(&e->address);
	char address[ADDRESS_TEXT_MAX];

	snprintf(text, ENDPOINT_TEXT_MAX, is_v4 ? "%s:%u/%s" : "[%s]:%u/%s",
		address_text(&e->address, address), ntohs(e->port_be),
		e->protocol == IPPROTO_TCP ? "tcp" : "udp");
	return text;
}
