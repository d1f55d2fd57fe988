/*
 * vendor_parts - a sheet whose changes are for different ports, as one sheet for each set of ports,
 * in the order in which they are applied (headroom before what is for all ports). A plan
 * (vendor_plan.h) has one value of a knob; a pool whose cables differ needs several.
 *
 * Memory: the arena. Documents are the caller's.
 */
#ifndef RW_AGENT_VENDOR_PARTS_H
#define RW_AGENT_VENDOR_PARTS_H

#include <jansson.h>

#include "analyzers/tune/tune.h"

struct arena;

/* How many; at least one: the sheet itself. */
size_t vendor_parts(const struct tune_sheet *sheet, struct arena *a, struct tune_sheet **ret);

/* vendor_parts_join - joins what render_apply(), render_undo() or render_notes() made of one more
 * part to @into, and drops @part: texts and lists one after the other, JSON documents as one. NULL
 * @into: there was none before. */
json_t *vendor_parts_join(json_t *into, json_t *part);

#endif
