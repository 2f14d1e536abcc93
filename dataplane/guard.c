/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One filter, at a priority and handle of our own, on clsact's ingress.  Attaching with "replace"
 * swaps the program in one step, so that a restart has no moment without a guard.
 */
#include "guard.h"

#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "bpf_object.h"
#include "log.h"
#include "netlink.h"

#define GUARD_OBJECT   "guard.bpf.o"
#define GUARD_HANDLE   0x6b61 /* "ka" */
#define GUARD_PRIORITY 1      /* before filters that accept what they know */

static struct bpf_tc_hook
hook_of(unsigned ifindex)
{
	return (struct bpf_tc_hook){
		.sz = sizeof(struct bpf_tc_hook),
		.ifindex = (int)ifindex,
		.attach_point = BPF_TC_INGRESS,
	};
}

static struct bpf_tc_opts
filter_of(void)
{
	return (struct bpf_tc_opts){
		.sz = sizeof(struct bpf_tc_opts),
		.handle = GUARD_HANDLE,
		.priority = GUARD_PRIORITY,
	};
}

/* The guard that an instance before us left; 0: none. */
static uint32_t
program_left_behind(unsigned ifindex)
{
	struct bpf_tc_hook hook = hook_of(ifindex);
	struct bpf_tc_opts filter = filter_of();
	char name[BPF_OBJECT_NAME_MAX];

	if (bpf_tc_query(&hook, &filter) != 0 || !bpf_object_program_name(filter.prog_id, name))
		return 0;
	return strcmp(name, GUARD_PROGRAM) == 0 ? filter.prog_id : 0;
}

static bool
read_clsact_is_ours(uint32_t program_id)
{
	struct guard_state state = {0};
	uint32_t key = 0;
	int map = bpf_object_map(program_id, GUARD_MAP_STATE);

	if (map < 0)
		return false;
	bpf_map_lookup_elem(map, &key, &state);
	close(map);
	return state.is_clsact_ours != 0;
}

/* The program does not read the map, so it must be bound to it to be found by its id. */
static void
write_clsact_is_ours(const struct bpf_object *object, bool is_ours)
{
	struct guard_state state = {.is_clsact_ours = is_ours};
	uint32_t key = 0;
	int map = bpf_object__find_map_fd_by_name(object, GUARD_MAP_STATE);
	int program = bpf_program__fd(bpf_object__find_program_by_name(object, GUARD_PROGRAM));

	if (map < 0 || bpf_map_update_elem(map, &key, &state, BPF_ANY) != 0 ||
		bpf_prog_bind_map(program, map, NULL) != 0)
		log_warning("cannot note who made the clsact qdisc: it may stay after a stop");
}

/* Loads the program; the caller closes the object, which keeps what is attached alive. */
static int
load(struct bpf_object **object, uint32_t *program_id, struct err *err)
{
	char path[PATH_MAX];
	struct bpf_prog_info info = {0};
	uint32_t size = sizeof(info);
	int error = bpf_object_path(GUARD_OBJECT, path, err);

	if (error != 0)
		return error;
	*object = bpf_object__open_file(path, NULL);
	if (*object == NULL)
		return err_set(err, -errno, "cannot read %s: %s", path, strerror(errno));
	error = bpf_object__load(*object);
	if (error == 0) {
		struct bpf_program *program =
			bpf_object__find_program_by_name(*object, GUARD_PROGRAM);

		error = program == NULL ? -ENOENT
			: bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size) != 0
				? -errno
				: 0;
		*program_id = info.id;
	}
	if (error == 0)
		return 0;
	bpf_object__close(*object);
	return err_set(err, error, "the kernel does not take the guard program: %s%s",
		strerror(-error), error == -EPERM ? " (needs CAP_BPF and CAP_NET_ADMIN)" : "");
}

/* Fills the loaded program's lists from the former guard, if any. */
static int
take_over(struct guard *guard, uint32_t former, struct err *err)
{
	struct steer_maps maps;

	if (former == 0)
		return 0;
	int error = steer_maps_open(&maps, former, err);

	if (error != 0)
		return error;
	error = steer_maps_copy(&guard->maps, &maps, err);
	steer_maps_close(&maps);
	return error;
}

static int
attach(struct guard *guard, const struct bpf_object *object, struct err *err)
{
	struct bpf_tc_hook hook = hook_of(guard->ifindex);
	struct bpf_tc_opts filter = filter_of();
	char name[IF_NAMESIZE] = "?";
	int error = bpf_tc_hook_create(&hook);

	if (error == 0)
		guard->is_clsact_ours = true;
	if (error == -EEXIST)
		error = 0;
	write_clsact_is_ours(object, guard->is_clsact_ours);
	if (error == 0) {
		filter.flags = BPF_TC_F_REPLACE;
		filter.prog_fd =
			bpf_program__fd(bpf_object__find_program_by_name(object, GUARD_PROGRAM));
		error = bpf_tc_attach(&hook, &filter);
	}
	if (error == 0)
		return 0;
	if_indextoname(guard->ifindex, name);
	return err_set(err, error,
		"cannot attach the guard to interface %s (tc ingress, priority %d): %s. %s", name,
		GUARD_PRIORITY, strerror(-error), bpf_object_kernel_words());
}

int
guard_open(struct guard *guard, unsigned ifindex, struct err *err)
{
	struct bpf_object *object;
	uint32_t program_id, former = program_left_behind(ifindex);

	*guard = (struct guard){
		.ifindex = ifindex, .is_taken_over = former != 0, .maps = STEER_MAPS_CLOSED};
	int error = load(&object, &program_id, err);

	if (error != 0)
		return error;
	if (former != 0)
		guard->is_clsact_ours = read_clsact_is_ours(former);
	error = steer_maps_open(&guard->maps, program_id, err);
	if (error == 0)
		error = take_over(guard, former, err);
	if (error == 0)
		error = attach(guard, object, err);
	bpf_object__close(object);
	if (error != 0)
		guard_close(guard, !guard->is_taken_over);
	return error;
}

uint64_t
guard_drops(const struct guard *guard)
{
	return steer_maps_count(&guard->maps, STEER_COUNTER_TAKEN);
}

static bool
take_filter(const struct nlmsghdr *message, void *context)
{
	if (message->nlmsg_type == RTM_NEWTFILTER)
		*(bool *)context = true;
	return true;
}

/* Whether clsact has filters at one of its two points; if in doubt it has. */
static bool
has_filters(unsigned ifindex, uint32_t point)
{
	struct netlink nl = {0};
	struct netlink_request request;
	struct tcmsg *tc = netlink_begin(&request, RTM_GETTFILTER, NLM_F_DUMP, sizeof(*tc));
	bool is_found = false;

	tc->tcm_family = AF_UNSPEC;
	tc->tcm_ifindex = (int)ifindex;
	tc->tcm_parent = TC_H_MAKE(TC_H_CLSACT, point);
	if (netlink_open(&nl) != 0 || netlink_ask(&nl, &request, take_filter, &is_found) != 0)
		is_found = true;
	netlink_close(&nl);
	return is_found;
}

static void
detach(const struct guard *guard)
{
	struct bpf_tc_hook hook = hook_of(guard->ifindex);
	struct bpf_tc_opts filter = filter_of();

	bpf_tc_detach(&hook, &filter);
	if (!guard->is_clsact_ours || has_filters(guard->ifindex, TC_H_MIN_INGRESS) ||
		has_filters(guard->ifindex, TC_H_MIN_EGRESS))
		return;
	/* Naming both points is how libbpf is told to remove the qdisc itself. */
	hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS;
	bpf_tc_hook_destroy(&hook);
}

void
guard_close(struct guard *guard, bool remove)
{
	char name[IF_NAMESIZE];

	if (remove && if_indextoname(guard->ifindex, name) != NULL)
		detach(guard);
	steer_maps_close(&guard->maps);
}
