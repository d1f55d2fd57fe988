/* pause_tell - pause in words: shares of time with their worth, and who waits, as roles. Texts live
 * in the arena of the finding. */
#ifndef RW_ANALYZERS_PAUSE_TELL_H
#define RW_ANALYZERS_PAUSE_TELL_H

#include "analyzers/measure/pause_graph.h"
#include "analyzers/finding_build.h"

enum { TOLD_ROLES = 128 }; /* of each kind; the summary counts them all */

/* "64.0 % of the time", "at most 7.1 % of the time (from frames)". */
const char *pause_share_text(double lo, double hi, bool measured, struct arena *a);

/* Who waits: switches by name and by port, hosts by name, each once. */
void pause_add_roles(
	struct draft *draft, const char *role, const struct pause_edge *const *edges, size_t n);

/* How far a tree has come: L1 the port alone, L2 its switch makes others wait, L3 at least three
 * switches wait. */
int pause_ladder(const struct pause_root *root);

/* "; because of it 3 switches and 8 hosts wait (L3)", "" when nobody else does. */
const char *pause_spread_text(const struct pause_root *root, struct arena *a);

#endif
