/* push_hub - a table of devices. */
#include "collectors/push/push_hub.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"

struct hub_member {
	char *device;
	push_hub_fn *fn; /* NULL: left */
	void *arg;
};

struct push_hub {
	struct smap *index;
	struct hub_member *v;
	size_t n, cap;
};

struct push_hub *push_hub_new(void)
{
	struct push_hub *hub = rw_calloc(1, sizeof(*hub));
	hub->index = smap_new();
	return hub;
}

void push_hub_free(struct push_hub *hub)
{
	if (!hub)
		return;
	for (size_t i = 0; i < hub->n; i++)
		free(hub->v[i].device);
	free(hub->v);
	smap_free(hub->index);
	free(hub);
}

static struct hub_member *hub_member(const struct push_hub *hub, const char *device)
{
	uint64_t at;
	if (!smap_get(hub->index, device, strlen(device), &at))
		return NULL;
	return &hub->v[at];
}

void push_hub_join(struct push_hub *hub, const char *device, push_hub_fn *fn, void *arg)
{
	struct hub_member *member = hub_member(hub, device);
	if (!member) {
		rw_grow(hub->v, hub->n, hub->cap);
		smap_put(hub->index, device, strlen(device), hub->n);
		member = &hub->v[hub->n++];
		*member = (struct hub_member){.device = rw_strdup(device)};
	}
	member->fn = fn;
	member->arg = arg;
}

void push_hub_leave(struct push_hub *hub, const char *device)
{
	struct hub_member *member = hub_member(hub, device);
	if (member)
		member->fn = NULL;
}

bool push_hub_deliver(
	struct push_hub *hub, const char *device, const struct sample *samples, size_t n)
{
	const struct hub_member *member = hub_member(hub, device);
	if (!member || !member->fn)
		return false;
	member->fn(member->arg, samples, n);
	return true;
}
