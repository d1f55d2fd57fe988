/*
 * golden - the golden signals of a fabric and which causes show in them, printed from golden.def.
 * A noun: measured by analyzers/measure/golden_measure, shown by the reports.
 */
#ifndef RW_DB_GOLDEN_H
#define RW_DB_GOLDEN_H

#include <stdbool.h>

#include "db/model/cause.h"
#include "db/model/finding.h"

enum golden {
#define GOLDEN(symbol, ...) GOLDEN_##symbol,
#include "db/model/golden.def"
	GOLDEN_COUNT
};

enum { GOLDEN_CAUSES_MAX = 20 };

struct golden_info {
	const char *name, *title, *unit, *meaning;
	enum cause causes[GOLDEN_CAUSES_MAX]; /* CAUSE_NONE: no more */
};

/* golden_info - static; NULL when @signal is out of range. */
const struct golden_info *golden_info(unsigned signal);
/* golden_shows - does an open incident of @cause show in @signal? */
bool golden_shows(enum golden signal, enum cause cause);
/* golden_shows_nowhere - does golden.def say that @cause shows in no signal? */
bool golden_shows_nowhere(enum cause cause);

/* What may be said of a signal. IDLE: nothing to judge, such as a fabric without load. */
enum golden_state { GOLDEN_UNKNOWN, GOLDEN_IDLE, GOLDEN_OK, GOLDEN_WARNING, GOLDEN_CRITICAL };
/* "unknown" "idle" "ok" "warning" "critical" */
const char *golden_state_name(enum golden_state state);
/* golden_state_of - the state of a signal that shows an incident of @severity; never OK. */
enum golden_state golden_state_of(enum severity severity);

#endif
