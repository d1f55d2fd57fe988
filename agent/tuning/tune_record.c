/* tune_record - names of the states, and the life of the struct. */
#include "agent/tuning/tune_record.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

static const char *const state_names[TUNE_STATES] = {
	[TUNE_PROPOSED] = "proposed",
	[TUNE_ACCEPTED] = "accepted",
	[TUNE_REJECTED] = "rejected",
	[TUNE_APPLIED] = "applied",
	[TUNE_VERIFIED] = "verified",
	[TUNE_EXPIRED] = "expired",
	[TUNE_UNDONE] = "undone",
};

const char *tune_state_name(enum tune_state state)
{
	if ((unsigned)state < TUNE_STATES)
		return state_names[state];
	return "unknown";
}

int tune_state_parse(const char *word, enum tune_state *ret)
{
	for (int i = 0; i < TUNE_STATES; i++) {
		if (str_eq(state_names[i], word)) {
			*ret = (enum tune_state)i;
			return 0;
		}
	}
	return -EINVAL;
}

struct tune_record *tune_record_new(void)
{
	struct tune_record *record = rw_calloc(1, sizeof(*record));
	record->arena = arena_new();
	record->state = TUNE_UNRECORDED;
	return record;
}

void tune_record_free(struct tune_record *record)
{
	if (!record)
		return;
	json_decref(record->vendor.apply);
	json_decref(record->vendor.undo);
	json_decref(record->vendor.notes);
	arena_free(record->arena);
	free(record);
}

void tune_record_freep(struct tune_record **record)
{
	tune_record_free(*record);
}

bool tune_record_complete(const struct tune_record *record)
{
	const struct tune_sheet *sheet = &record->sheet;
	if (strlen(sheet->id) != sizeof(sheet->id) - 1 || !sheet->device || !sheet->n_changes)
		return false;
	for (size_t i = 0; i < sheet->n_changes; i++)
		if (!isfinite(sheet->changes[i].proposed))
			return false;
	return true;
}
