/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes maps equal to a wanted list: additions by the list, removals by walking the map. */
#include "steer_maps.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf_object.h"
#include "ports.h"

static_assert(sizeof(struct steer_address) == sizeof(struct karmalb_address), "one layout");
static_assert(sizeof(struct steer_service) == sizeof(struct karmalb_endpoint), "one layout");
static_assert(
	offsetof(struct steer_service, protocol) == offsetof(struct karmalb_endpoint, protocol),
	"one layout");
static_assert(STEER_SERVICES_MAX >= 2 * KARMALB_SERVICES_MAX, "room for the old and the new");
static_assert(STEER_SOURCES_MAX >= 2 * KARMALB_SOURCES_MAX, "room for the old and the new");

#define STEER_CPUS_MAX 1024

/* A key of either kind. */
union key {
	struct karmalb_endpoint service;
	struct karmalb_address source;
};

int
steer_maps_open(struct steer_maps *maps, uint32_t program_id, struct err *err)
{
	*maps = (struct steer_maps){
		.services = bpf_object_map(program_id, STEER_MAP_SERVICES),
		.vips = bpf_object_map(program_id, STEER_MAP_VIPS),
		.sources = bpf_object_map(program_id, STEER_MAP_SOURCES),
		.counters = bpf_object_map(program_id, STEER_MAP_COUNTERS),
	};
	if (maps->services >= 0 && maps->vips >= 0 && maps->sources >= 0 && maps->counters >= 0)
		return 0;
	int error = maps->services < 0 ? maps->services : -ENOENT;

	steer_maps_close(maps);
	return err_set(err, error, "cannot open the maps of BPF program %u: %s", program_id,
		strerror(-error));
}

static void
close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void
steer_maps_close(struct steer_maps *maps)
{
	close_one(&maps->services);
	close_one(&maps->vips);
	close_one(&maps->sources);
	close_one(&maps->counters);
}

static int
put(int map, const void *key, struct err *err)
{
	uint8_t present = 1;

	if (bpf_map_update_elem(map, key, &present, BPF_ANY) == 0)
		return 0;
	return err_set(err, -errno, "cannot add to a steering list: %s", strerror(errno));
}

static struct karmalb_endpoint
vip_of(const struct karmalb_endpoint *service)
{
	struct karmalb_endpoint vip = *service;

	vip.port_be = 0;
	return vip;
}

int
steer_maps_add(const struct steer_maps *maps, const struct port_intent *intent, struct err *err)
{
	int error = 0;

	for (unsigned i = 0; i < intent->n_services && error == 0; i++) {
		struct karmalb_endpoint vip = vip_of(&intent->services[i]);

		error = put(maps->vips, &vip, err);
		if (error == 0)
			error = put(maps->services, &intent->services[i], err);
	}
	for (unsigned i = 0; i < intent->n_sources && error == 0; i++)
		error = put(maps->sources, &intent->sources[i], err);
	return error;
}

static bool
wants_service(const struct port_intent *intent, const union key *key)
{
	for (unsigned i = 0; i < intent->n_services; i++) {
		if (karmalb_endpoint_equal(&intent->services[i], &key->service))
			return true;
	}
	return false;
}

static bool
wants_vip(const struct port_intent *intent, const union key *key)
{
	for (unsigned i = 0; i < intent->n_services; i++) {
		struct karmalb_endpoint vip = vip_of(&intent->services[i]);

		if (karmalb_endpoint_equal(&vip, &key->service))
			return true;
	}
	return false;
}

static bool
wants_source(const struct port_intent *intent, const union key *key)
{
	for (unsigned i = 0; i < intent->n_sources; i++) {
		if (karmalb_address_equal(&intent->sources[i], &key->source))
			return true;
	}
	return false;
}

/* Reads all keys first: a key removed under a walk would send it back to the start. */
static unsigned
read_keys(int map, union key keys[STEER_SERVICES_MAX])
{
	union key key;
	unsigned n = 0;

	for (void *from = NULL; n < STEER_SERVICES_MAX; from = &key) {
		if (bpf_map_get_next_key(map, from, &key) != 0)
			break;
		keys[n++] = key;
	}
	return n;
}
static_assert(STEER_SOURCES_MAX <= STEER_SERVICES_MAX, "one room for the keys of each map");

static int
remove_others(int map, bool (*wants)(const struct port_intent *, const union key *),
	const struct port_intent *intent, struct err *err)
{
	union key keys[STEER_SERVICES_MAX];
	unsigned n = read_keys(map, keys);
	int error = 0;

	for (unsigned i = 0; i < n; i++) {
		if (!wants(intent, &keys[i]) && bpf_map_delete_elem(map, &keys[i]) != 0 &&
			errno != ENOENT)
			error = err_set(err, -errno, "cannot remove from a steering list: %s",
				strerror(errno));
	}
	return error;
}

int
steer_maps_remove_others(
	const struct steer_maps *maps, const struct port_intent *intent, struct err *err)
{
	int error = remove_others(maps->services, wants_service, intent, err);

	if (error == 0)
		error = remove_others(maps->vips, wants_vip, intent, err);
	if (error == 0)
		error = remove_others(maps->sources, wants_source, intent, err);
	return error;
}

static int
copy_map(int to, int from, struct err *err)
{
	union key keys[STEER_SERVICES_MAX];
	unsigned n = read_keys(from, keys);
	int error = 0;

	for (unsigned i = 0; i < n && error == 0; i++)
		error = put(to, &keys[i], err);
	return error;
}

int
steer_maps_copy(const struct steer_maps *to, const struct steer_maps *from, struct err *err)
{
	int error = copy_map(to->vips, from->vips, err);

	if (error == 0)
		error = copy_map(to->services, from->services, err);
	if (error == 0)
		error = copy_map(to->sources, from->sources, err);
	return error;
}

uint64_t
steer_maps_count(const struct steer_maps *maps, enum steer_counter counter)
{
	uint64_t per_cpu[STEER_CPUS_MAX] = {0}, sum = 0;
	int n_cpus = libbpf_num_possible_cpus();
	uint32_t key = counter;

	if (n_cpus <= 0 || n_cpus > STEER_CPUS_MAX ||
		bpf_map_lookup_elem(maps->counters, &key, per_cpu) != 0)
		return 0;
	for (int i = 0; i < n_cpus; i++)
		sum += per_cpu[i];
	return sum;
}
