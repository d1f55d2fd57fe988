/* names_ours - translates numbers of entities and texts by their names. */
#include "agent/daemon/names_ours.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "db/model/metric.h"

void names_ours_done(struct names_ours *names)
{
	free(names->known);
	names->known = NULL;
	names->n_known = 0;
}

uint32_t names_ours_entity(struct names_ours *names, uint32_t id)
{
	if (id >= names->n_known) {
		const size_t n = (size_t)id * 2 + 64;
		names->known = rw_realloc(names->known, n * sizeof(*names->known));
		memset(names->known + names->n_known, 0,
			(n - names->n_known) * sizeof(*names->known));
		names->n_known = n;
	}
	if (names->known[id] == ENTITY_NONE) {
		const struct entity *e = entity_get(names->theirs, id);
		if (!e)
			return ENTITY_NONE;
		names->known[id] = entities_intern(names->ours, e->device, e->port, e->priority);
	}
	return names->known[id];
}

void names_ours_sample(struct names_ours *names, struct sample *sample)
{
	const struct metric_info *m = metric_info(sample->metric);
	sample->entity = names_ours_entity(names, sample->entity);
	if (m && m->type == TYPE_TEXT)
		sample->value =
			entities_text(names->ours, entities_text_get(names->theirs, sample->value));
}
