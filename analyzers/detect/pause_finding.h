/* pause_finding - pause in words: shares of time with their quality, and who waits, as roles. Texts
 * live in the arena of the finding. */
#pragma once

#include "analyzers/measure/pause/pause_graph.h"
#include "analyzers/finding_build.h"

enum { ROLES_MAX = 128 }; /* roles of a finding; its summary counts all */

/* "64.0 % of the time", "at most 7.1 % of the time (upper bound from PFC frames)". */
const char *pause_share_text(double lo, double hi, bool measured, struct arena *a);

/* Who waits: switches by name and by port, hosts by name, each once. */
void pause_add_roles(
	struct draft *draft, const char *role, const struct pause_edge *const *edges, size_t n);

/* "; 3 other switches and 8 hosts wait behind it (L3)", "" when nobody else does. */
const char *pause_spread_text(const struct pause_root *root, struct arena *a);
