/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ownership is an abstract UNIX socket, "@karmalb/<ifindex>": scoped to the network namespace as
 * the interface is, and gone with the process.  So a program of our name under a free socket is a
 * dead instance's.
 */
#include "steer.h"

#include <errno.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "bpf_object.h"

static socklen_t
owner_address(unsigned ifindex, struct sockaddr_un *address)
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	int size = snprintf(
		address->sun_path + 1, sizeof(address->sun_path) - 1, "karmalb/%u", ifindex);

	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)size);
}

/* Whether somebody owns the interface, and who: '*pid' is 0 where the owner cannot be asked. */
static bool
is_owned(unsigned ifindex, pid_t *pid)
{
	struct sockaddr_un address;
	socklen_t size = owner_address(ifindex, &address);
	struct ucred peer = {0};
	socklen_t peer_size = sizeof(peer);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = fd < 0                                                ? errno
		    : connect(fd, (struct sockaddr *)&address, size) == 0 ? 0
									  : errno;

	if (error == 0)
		getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size);
	if (fd >= 0)
		close(fd);
	*pid = peer.pid;
	/* Nobody is ever accepted, so the queue of those who ask may be full. */
	return error == 0 || error == EAGAIN;
}

static int
refuse_owner(unsigned ifindex, struct err *err)
{
	char name[IF_NAMESIZE] = "?", owner[32] = "";
	pid_t pid;

	if_indextoname(ifindex, name);
	if (is_owned(ifindex, &pid) && pid != 0)
		snprintf(owner, sizeof(owner), " (pid %d)", (int)pid);
	return err_set(err, -EBUSY,
		"interface %s belongs to another karmalb-dataplane%s; stop it first, or use "
		"another interface",
		name, owner);
}

/*
 * Which XDP program is attached, and is it of our name?  0: none or ours; -EBUSY: a foreign one,
 * with a sentence.
 */
static int
attached_program(unsigned ifindex, struct bpf_xdp_query_opts *found, struct err *err)
{
	char interface[IF_NAMESIZE] = "?", program[BPF_OBJECT_NAME_MAX] = "?";

	*found = (struct bpf_xdp_query_opts){.sz = sizeof(*found)};
	int error = bpf_xdp_query((int)ifindex, 0, found);

	if_indextoname(ifindex, interface);
	if (error != 0)
		return err_set(err, error, "cannot ask for the XDP program of interface %s: %s",
			interface, strerror(-error));
	if (found->attach_mode == XDP_ATTACHED_NONE)
		return 0;
	uint32_t id = found->prog_id != 0       ? found->prog_id
		      : found->drv_prog_id != 0 ? found->drv_prog_id
						: found->skb_prog_id;

	if (found->attach_mode != XDP_ATTACHED_MULTI && bpf_object_program_name(id, program) &&
		strcmp(program, STEER_PROGRAM) == 0)
		return 0;
	bpf_object_program_name(id, program);
	return err_set(err, -EBUSY,
		"interface %s has a foreign XDP program, %s (id %u); remove it with: ip link set "
		"dev %s %s off",
		interface, program, id, interface,
		found->attach_mode == XDP_ATTACHED_SKB ? "xdpgeneric" : "xdp");
}

int
steer_check(unsigned ifindex, struct err *err)
{
	struct bpf_xdp_query_opts found;
	pid_t pid;

	return is_owned(ifindex, &pid) ? refuse_owner(ifindex, err)
				       : attached_program(ifindex, &found, err);
}

int
steer_own(struct steer *steer, unsigned ifindex, struct err *err)
{
	struct bpf_xdp_query_opts found;
	struct sockaddr_un address;
	socklen_t size = owner_address(ifindex, &address);

	*steer = (struct steer){.ifindex = ifindex, .maps = STEER_MAPS_CLOSED};
	steer->owner = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (steer->owner < 0)
		return err_set(err, -errno, "cannot make a socket: %s", strerror(errno));
	/* Listening is for is_owned() of others. */
	if (bind(steer->owner, (struct sockaddr *)&address, size) != 0 ||
		listen(steer->owner, SOMAXCONN) != 0) {
		int error = errno == EADDRINUSE
				    ? refuse_owner(ifindex, err)
				    : err_set(err, -errno, "cannot own interface %u: %s", ifindex,
					      strerror(errno));

		steer_close(steer);
		return error;
	}
	int error = attached_program(ifindex, &found, err);

	if (error != 0)
		steer_close(steer);
	return error;
}

int
steer_detach_stale(const struct steer *steer, struct err *err)
{
	struct bpf_xdp_query_opts found;
	int error = attached_program(steer->ifindex, &found, err);

	if (error != 0 || found.attach_mode == XDP_ATTACHED_NONE)
		return error;
	uint32_t mode =
		found.attach_mode == XDP_ATTACHED_SKB ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;

	error = bpf_xdp_detach((int)steer->ifindex, mode, NULL);
	return error == 0 ? 0
			  : err_set(err, error, "cannot detach a dead instance's XDP program: %s",
				    strerror(-error));
}

int
steer_attached(struct steer *steer, struct err *err)
{
	struct bpf_xdp_query_opts found;
	int error = attached_program(steer->ifindex, &found, err);

	if (error != 0)
		return error;
	if (found.prog_id == 0)
		return err_set(err, -ENOENT, "the AF_XDP driver attached no XDP program");
	steer->program_id = found.prog_id;
	steer->is_native = found.attach_mode == XDP_ATTACHED_DRV;
	return steer_maps_open(&steer->maps, steer->program_id, err);
}

bool
steer_is_ours(const struct steer *steer, struct err *err)
{
	char name[IF_NAMESIZE] = "?";
	struct bpf_xdp_query_opts found;

	if (if_indextoname(steer->ifindex, name) == NULL)
		return true; /* the interface is gone, and nobody's program with it */
	if (attached_program(steer->ifindex, &found, err) != 0)
		return false;
	if (found.prog_id == steer->program_id)
		return true;
	err_set(err, -ENOENT,
		found.prog_id == 0
			? "the XDP program of interface %s was detached by somebody"
			: "the XDP program of interface %s was replaced by another karmalb's",
		name);
	return false;
}

void
steer_close(struct steer *steer)
{
	steer_maps_close(&steer->maps);
	if (steer->owner >= 0)
		close(steer->owner);
	steer->owner = -1;
}
