/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * /proc/net/{tcp,udp}{,6}: a line per socket, "  0: 0100007F:0016 00000000:0000 0A ...", the
 * address as 32-bit words in host order, the port as a number, then the peer and the state.
 */
#include "sockets.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>

enum proc_state {
	PROC_STATE_TIME_WAIT = 6,
	PROC_STATE_LISTEN = 10,
};

/* 8 or 32 hexadecimal digits into an address. */
static bool
parse_address(const char *text, struct karmalb_address *address)
{
	size_t n_digits = strspn(text, "0123456789ABCDEFabcdef");
	uint32_t words[4];

	if (n_digits != 8 && n_digits != 32)
		return false;
	for (size_t i = 0; i < n_digits / 8; i++) {
		if (sscanf(text + 8 * i, "%8" SCNx32, &words[i]) != 1)
			return false;
	}
	if (n_digits == 8)
		*address = karmalb_address_from_v4(words[0]);
	else
		memcpy(address->bytes, words, sizeof(address->bytes));
	return true;
}

bool
socket_find_in(FILE *file, const struct karmalb_address *address, struct socket_use *use)
{
	char line[512], local[33];
	unsigned port, state;
	struct karmalb_address found;

	while (fgets(line, sizeof(line), file) != NULL) {
		/* The title line has no such shape. */
		if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x", local, &port,
			    &state) != 3 ||
			!parse_address(local, &found))
			continue;
		if (!karmalb_address_equal(&found, address) || state == PROC_STATE_TIME_WAIT)
			continue;
		use->port = (uint16_t)port;
		use->is_listening = state == PROC_STATE_LISTEN;
		return true;
	}
	return false;
}

bool
socket_find(const struct karmalb_address *address, struct socket_use *use)
{
	static const struct {
		const char *path;
		uint8_t protocol;
	} files[] = {
		{"/proc/net/tcp", IPPROTO_TCP},
		{"/proc/net/tcp6", IPPROTO_TCP},
		{"/proc/net/udp", IPPROTO_UDP},
		{"/proc/net/udp6", IPPROTO_UDP},
	};
	bool is_found = false;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]) && !is_found; i++) {
		FILE *file = fopen(files[i].path, "re");

		if (file == NULL)
			continue; /* no IPv6, or no /proc: nothing known, nothing refused */
		use->protocol = files[i].protocol;
		is_found = socket_find_in(file, address, use);
		fclose(file);
	}
	return is_found;
}
