/* known_names - all names of a kind, and the one that is nearest to what somebody typed. */
#include "agent/client/known_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "db/series/history.h"

struct name_list {
	const char **v; /* borrowed */
	size_t n, cap;
};

static void name_list_free(struct name_list *names)
{
	free(names->v);
}

static void name_list_add(struct name_list *names, const char *name)
{
	if (!name || !*name)
		return;
	if (names->n > 0 && str_eq(names->v[names->n - 1], name))
		return;
	rw_grow(names->v, names->n, names->cap);
	names->v[names->n++] = name;
}

static bool name_list_has(const struct name_list *names, const char *glob)
{
	for (size_t i = 0; i < names->n; i++)
		if (str_glob(glob, names->v[i]))
			return true;
	return false;
}

/* Did anything that matches both ever deliver a value? Only for a device that is named in full: of
 * globs the history would read all names. */
static bool name_delivered(struct client *client, const char *device, const char *port)
{
	const struct history_filter filter = {
		.device = device, .port = port, .priority = HISTORY_ANY_PRIORITY};
	rw_cleanup(freep) uint32_t *ids = NULL;
	size_t n = 0;

	if (!device || strpbrk(device, "*?[]\\"))
		return false;
	return history_match(client->history, &filter, &ids, &n, NULL) == 0 && n > 0;
}

/* 0 when one of @names matches, else the error. @where: what lists them. */
static int name_list_check(const struct name_list *names, const char *kind, const char *glob,
	const char *where, struct err *e)
{
	rw_cleanup(freep) char *plain = rw_strdup(glob);
	size_t n = 0;
	if (name_list_has(names, glob))
		return 0;
	/* "leef*" is near to "leaf1" as "leef" is. */
	for (const char *c = glob; *c; c++)
		if (!strchr("*?[]", *c))
			plain[n++] = *c;
	plain[n] = '\0';
	const char *near = str_nearest(plain, names->v, names->n);
	if (near)
		return err_set(e, -EINVAL, "no %s matches '%.64s'; did you mean '%.64s'? %s", kind,
			glob, near, where);
	return err_set(e, -EINVAL, "no %s matches '%.64s'; %s", kind, glob, where);
}

static void name_list_add_fabric(struct name_list *names, const struct fabric *fabric)
{
	for (size_t i = 0; i < fabric->n_devices; i++)
		name_list_add(names, fabric->devices[i]->name);
}

int known_device(struct client *client, const char *glob, struct err *e)
{
	rw_cleanup(name_list_free) struct name_list names = {0};
	if (!glob)
		return 0;
	if (client->config)
		name_list_add_fabric(&names, client->config->fabric);
	if (name_list_has(&names, glob) || name_delivered(client, glob, NULL))
		return 0;
	const struct entities *entities = history_entities(client->history);
	for (uint32_t id = 1; id <= entities_count(entities); id++) {
		const struct entity *entity = entity_get(entities, id);
		if (entity && !*entity->port && entity->priority == PRIO_NONE)
			name_list_add(&names, entity->device);
	}
	return name_list_check(&names, "device", glob, "'rocewatch topology show' lists them", e);
}

int known_stored_device(struct client *client, const char *glob, struct err *e)
{
	const struct history_filter filter = {.device = glob, .priority = HISTORY_ANY_PRIORITY};
	rw_cleanup(freep) uint32_t *ids = NULL;
	size_t n = 0;
	if (!glob)
		return 0;
	const int r = history_match(client->history, &filter, &ids, &n, e);
	if (r < 0)
		return r;
	return known_device(client, glob, e);
}

static void name_list_add_ports(
	struct name_list *names, const struct fabric *fabric, const char *device)
{
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *of = fabric->devices[i];
		for (size_t k = 0; k < of->n_ports && str_glob(device, of->name); k++) {
			name_list_add(names, of->ports[k]->name);
			name_list_add(names, of->ports[k]->alias);
		}
	}
}

/* Aliases that the devices tell stand in the view of ports. */
struct alias_search {
	const char *device, *glob;
	bool found;
};

static int alias_row(void *arg, int n, char *const *values, char *const *names)
{
	struct alias_search *search = arg;
	if (n == 2 && values[0] && values[1] && str_glob(search->device, values[0]) &&
		str_glob(search->glob, values[1]))
		search->found = true;
	return 0;
}

static bool known_alias(struct client *client, const char *device, const char *glob)
{
	struct alias_search search = {.device = device, .glob = glob};
	history_sql(client->history, "SELECT DISTINCT device, alias FROM ports WHERE alias <> ''",
		alias_row, &search, NULL);
	return search.found;
}

int known_port(struct client *client, const char *device, const char *glob, struct err *e)
{
	rw_cleanup(name_list_free) struct name_list names = {0};
	if (!glob)
		return 0;
	if (client->config)
		name_list_add_ports(&names, client->config->fabric, device);
	if (name_list_has(&names, glob) || name_delivered(client, device, glob))
		return 0;
	const struct entities *entities = history_entities(client->history);
	for (uint32_t id = 1; id <= entities_count(entities); id++) {
		const struct entity *entity = entity_get(entities, id);
		if (entity && str_glob(device, entity->device))
			name_list_add(&names, entity->port);
	}
	const int rc = name_list_check(
		&names, "port", glob, "'rocewatch topology show --format json' lists them", e);
	if (rc < 0 && known_alias(client, device, glob))
		return 0;
	return rc;
}

int known_job(struct client *client, const char *glob, struct err *e)
{
	rw_cleanup(name_list_free) struct name_list names = {0};
	if (!glob)
		return 0;
	if (client->config)
		for (size_t i = 0; i < client->config->fabric->n_jobs; i++)
			name_list_add(&names, client->config->fabric->jobs[i].name);
	return name_list_check(&names, "job", glob,
		"jobs: of the configuration, or the scheduler's files, name them", e);
}
