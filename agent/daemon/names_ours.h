/*
 * names_ours - samples of a history in the numbers of this program: the database and the running
 * program may number entities and texts differently, so both are translated by name.
 */
#ifndef RW_AGENT_NAMES_OURS_H
#define RW_AGENT_NAMES_OURS_H

#include <stddef.h>
#include <stdint.h>
#include "db/model/entity.h"
#include "db/model/sample.h"

struct names_ours { /* zeroed, with .theirs and .ours set, to start */
	const struct entities *theirs;
	struct entities *ours;
	uint32_t *known; /* their entity id -> ours; ENTITY_NONE = not looked up yet */
	size_t n_known;
};

void names_ours_done(struct names_ours *names);
/* names_ours_entity - ENTITY_NONE when they do not know it, or no more names are taken. */
uint32_t names_ours_entity(struct names_ours *names, uint32_t id);
/* names_ours_sample - @sample, as it came from them, in our numbers. */
void names_ours_sample(struct names_ours *names, struct sample *sample);

#endif
