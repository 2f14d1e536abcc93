/* SPDX-License-Identifier: BSD-3-Clause */
/* Editing a copy of a configuration.  Arrays that grow are taken anew; the old ones stay with the
 * copy until it is freed.  Pure. */
#include "config_edit.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "config_reader.h"
#include "nearest.h"

/* Copies are ours to change, though everyone else sees them as constant. */
static struct config_service *
service_of(struct config *config, const char *name, struct err *err)
{
	return (struct config_service *)(uintptr_t)config_edit_find(config, name, err);
}

static int
no_memory(struct err *err)
{
	err_set(err, "out of memory");
	return -ENOMEM;
}

/* A copy of 'n' elements with room for 'more'; NULL: out of memory. */
static void *
copy_array(struct config *config, const void *from, size_t n, size_t more, size_t size)
{
	void *to = config_take(config, n + more + 1, size);

	if (to != NULL && n > 0)
		memcpy(to, from, n * size);
	return to;
}

static int
copy_service(struct config *config, struct config_service *to, const struct config_service *from)
{
	*to = *from;
	to->listens = copy_array(config, from->listens, from->n_listens, 0, sizeof(*to->listens));
	to->mirrors = copy_array(config, from->mirrors, from->n_mirrors, 0, sizeof(*to->mirrors));
	return to->listens != NULL && to->mirrors != NULL ? 0 : -ENOMEM;
}

/* One setting from one struct of its scope into another. */
static void
copy_setting(void *to, const void *from, const struct setting *s)
{
	char text[SETTING_TEXT_MAX];
	struct err err;

	setting_parse(s, to, setting_format(s, from, text, sizeof(text)), &err);
}

static void
copy_live(struct config_controlplane *to, const struct config_controlplane *from)
{
	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope == SETTING_SCOPE_CONTROLPLANE && s->is_live)
			copy_setting(to, from, s);
	}
}

int
config_edit_programs(struct config *to, const struct config *from)
{
	const struct config_controlplane wanted = to->controlplane;

	to->controlplane = from->controlplane;
	copy_live(&to->controlplane, &wanted);
	to->dataplane = from->dataplane;
	to->dataplane.ports = copy_array(to, from->dataplane.ports, from->dataplane.n_ports, 0,
		sizeof(from->dataplane.ports[0]));
	to->dataplane.sources = copy_array(to, from->dataplane.sources, from->dataplane.n_sources,
		0, sizeof(from->dataplane.sources[0]));
	to->dataplane.neighbours = copy_array(to, from->dataplane.neighbours,
		from->dataplane.n_neighbours, 0, sizeof(from->dataplane.neighbours[0]));
	return to->dataplane.ports != NULL && to->dataplane.sources != NULL &&
			       to->dataplane.neighbours != NULL
		       ? 0
		       : -ENOMEM;
}

/* Everything of 'from' into 'to', which has its own memory already. */
static int
copy_all(struct config *to, const struct config *from)
{
	struct config_service *services;

	*to = *from;
	services = config_take(to, from->n_services + 1, sizeof(*services));
	to->services = services;
	if (services == NULL || config_edit_programs(to, from) < 0)
		return -ENOMEM;
	for (unsigned i = 0; i < from->n_services; i++) {
		if (copy_service(to, &services[i], &from->services[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

struct config *
config_copy(const struct config *config)
{
	struct config *copy = config_create();

	if (copy == NULL || copy_all(copy, config) == 0)
		return copy;
	config_free(copy);
	return NULL;
}

int
config_edit_check(struct config *config, struct err *err)
{
	struct config_errors errors = {0};
	struct config_reader reader = {.file = "", .config = config, .errors = &errors};

	config_init(&reader.tree); /* no file, hence no lines */
	config_reader_check(&reader);
	config_destroy(&reader.tree);
	for (unsigned i = 0; i < config->n_services; i++) {
		const struct config_service *s = &config->services[i];

		if (s->n_mirrors == 0 || s->n_listens == 0)
			return err_set(err, "service %s has no %s, expected at least one", s->name,
				s->n_mirrors == 0 ? "mirror" : "listen");
	}
	if (errors.n_errors == 0)
		return 0;
	return err_set(err, "%s", errors.errors[0].sentence);
}

const struct config_service *
config_edit_find(const struct config *config, const char *service, struct err *err)
{
	struct nearest nearest = nearest_to(service);

	for (unsigned i = 0; i < config->n_services; i++) {
		if (strcmp(config->services[i].name, service) == 0)
			return &config->services[i];
		nearest_offer(&nearest, config->services[i].name);
	}
	if (nearest.name != NULL)
		err_set(err, "there is no service \"%.64s\"; did you mean %s?", service,
			nearest.name);
	else
		err_set(err, "there is no service \"%.64s\"", service);
	return NULL;
}

const struct config_mirror *
config_edit_find_mirror(const struct config_service *service, const char *mirror, struct err *err)
{
	struct nearest nearest = nearest_to(mirror);

	for (unsigned i = 0; i < service->n_mirrors; i++) {
		if (strcmp(service->mirrors[i].name, mirror) == 0)
			return &service->mirrors[i];
		nearest_offer(&nearest, service->mirrors[i].name);
	}
	if (nearest.name != NULL)
		err_set(err, "service %s has no mirror \"%.64s\"; did you mean %s?", service->name,
			mirror, nearest.name);
	else
		err_set(err, "service %s has no mirror \"%.64s\"", service->name, mirror);
	return NULL;
}

int
config_edit_default(struct config *config, const char *name, const char *text,
	struct setting_change *change, struct err *err)
{
	if (settings_set(&config->defaults, name, text, change, err) < 0)
		return -EINVAL;
	for (unsigned i = 0; i < config->n_services; i++) {
		struct config_service *s = (struct config_service *)(uintptr_t)&config->services[i];

		if ((s->own & setting_bit(change->setting)) == 0)
			copy_setting(&s->settings, &config->defaults, change->setting);
	}
	return 0;
}

int
config_edit_setting(struct config *config, const char *service, const char *name, const char *text,
	struct setting_change *change, struct err *err)
{
	struct config_service *s = service_of(config, service, err);

	if (s == NULL)
		return -ENOENT;
	if (settings_set(&s->settings, name, text, change, err) < 0)
		return -EINVAL;
	change->is_pinned = (s->own & setting_bit(change->setting)) == 0;
	s->own |= setting_bit(change->setting);
	return 0;
}

int
config_edit_inherit(struct config *config, const char *service, const char *name, struct err *err)
{
	struct config_service *s = service_of(config, service, err);
	const struct setting *setting;

	if (s == NULL)
		return -ENOENT;
	setting = setting_find_live(name, err);
	if (setting == NULL)
		return -EINVAL;
	copy_setting(&s->settings, &config->defaults, setting);
	s->own &= ~setting_bit(setting);
	return 0;
}

static void
inherit_all(struct config_service *to, const struct service_settings *defaults)
{
	for (const struct setting *s = settings; s->name != NULL; s++) {
		if (s->scope == SETTING_SCOPE_SERVICE && s->type <= SETTING_CPUS &&
			(to->own & setting_bit(s)) == 0)
			copy_setting(&to->settings, defaults, s);
	}
}

int
config_edit_add(struct config *config, const struct config_service *service, struct err *err)
{
	struct config_service *services;
	struct err unused;

	if (config_edit_find(config, service->name, &unused) != NULL)
		return err_set(err, "there is a service %s already", service->name);
	services = copy_array(config, config->services, config->n_services, 1, sizeof(*services));
	if (services == NULL || copy_service(config, &services[config->n_services], service) < 0)
		return no_memory(err);
	inherit_all(&services[config->n_services], &config->defaults);
	config->services = services;
	config->n_services++;
	return 0;
}

int
config_edit_replace(struct config *config, const struct config_service *service, struct err *err)
{
	struct config_service *s = service_of(config, service->name, err), copy;

	if (s == NULL)
		return -ENOENT;
	if (copy_service(config, &copy, service) < 0)
		return no_memory(err);
	inherit_all(&copy, &config->defaults);
	*s = copy;
	return 0;
}

int
config_edit_drop(struct config *config, const char *service, struct err *err)
{
	struct config_service *s = service_of(config, service, err);

	if (s == NULL)
		return -ENOENT;
	config->n_services--;
	memmove(s, s + 1, (size_t)(&config->services[config->n_services] - s) * sizeof(*s));
	return 0;
}

int
config_edit_listens(struct config *config, const char *service,
	const struct karmalb_endpoint *listens, unsigned n_listens, struct err *err)
{
	struct config_service *s = service_of(config, service, err);
	struct karmalb_endpoint *copy;

	if (s == NULL)
		return -ENOENT;
	copy = copy_array(config, listens, n_listens, 0, sizeof(*copy));
	if (copy == NULL)
		return no_memory(err);
	s->listens = copy;
	s->n_listens = n_listens;
	return 0;
}

int
config_edit_add_mirror(struct config *config, const char *service,
	const struct config_mirror *mirror, struct err *err)
{
	struct config_service *s = service_of(config, service, err);
	struct config_mirror *mirrors;

	if (s == NULL)
		return -ENOENT;
	if (s->n_mirrors == KARMALB_MIRRORS_MAX)
		return err_set(err, "service %s has %u mirrors already, which is the most", s->name,
			s->n_mirrors);
	mirrors = copy_array(config, s->mirrors, s->n_mirrors, 1, sizeof(*mirrors));
	if (mirrors == NULL)
		return no_memory(err);
	mirrors[s->n_mirrors++] = *mirror;
	s->mirrors = mirrors;
	return 0;
}

int
config_edit_drop_mirror(
	struct config *config, const char *service, const char *mirror, struct err *err)
{
	struct config_service *s = service_of(config, service, err);
	struct config_mirror *m;

	if (s == NULL)
		return -ENOENT;
	m = (struct config_mirror *)(uintptr_t)config_edit_find_mirror(s, mirror, err);
	if (m == NULL)
		return -ENOENT;
	s->n_mirrors--;
	memmove(m, m + 1, (size_t)(&s->mirrors[s->n_mirrors] - m) * sizeof(*m));
	return 0;
}

static struct config_mirror *
mirror_of(struct config *config, const char *service, const char *mirror, struct err *err)
{
	struct config_service *s = service_of(config, service, err);

	if (s == NULL)
		return NULL;
	return (struct config_mirror *)(uintptr_t)config_edit_find_mirror(s, mirror, err);
}

int
config_edit_mirror(struct config *config, const char *service, const char *mirror,
	const struct config_value *value, struct err *err)
{
	const struct setting *setting = setting_find(SETTING_SCOPE_MIRROR, value->name);
	struct config_mirror *m = mirror_of(config, service, mirror, err);
	int rc;

	if (m == NULL)
		return -ENOENT;
	if (setting == NULL || setting->type > SETTING_CPUS)
		return err_set(err, "no setting of a mirror is called %.64s", value->name);
	rc = setting_parse(setting, m, value->text, err);
	if (rc == 0 && strcmp(setting->name, "state") == 0)
		m->drain_until_us = 0;
	return rc;
}

int
config_edit_drain(struct config *config, const char *service, const char *mirror, uint64_t until_us,
	struct err *err)
{
	struct config_mirror *m = mirror_of(config, service, mirror, err);

	if (m == NULL)
		return -ENOENT;
	m->state = SETTINGS_MIRROR_DRAIN;
	m->drain_until_us = until_us;
	return 0;
}
