/*
 * tune_record - a threshold recommendation with its life: the review sheet, what became of it, and
 * what the agent's watch keeps with it. A struct in memory; as a document it is tune_json.h.
 *
 * Units: ns of wall time (0: not yet), else those of struct tune_sheet.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_verify.h"
#include "db/series/series.h"

enum tune_state {
	TUNE_PROPOSED,
	TUNE_ACCEPTED,
	TUNE_REJECTED,
	TUNE_APPLIED,
	TUNE_VERIFIED,
	TUNE_EXPIRED,
	TUNE_UNDONE,
	TUNE_STATES,
	TUNE_UNRECORDED = TUNE_STATES /* a sheet that no ledger holds */
};
extern const char *const tune_state_names[TUNE_STATES];
const char *tune_state_name(enum tune_state state); /* "proposed" ... "unknown" */
int tune_state_parse(const char *word, enum tune_state *ret); /* 0 or -EINVAL */

enum { TUNE_HISTORY_MAX = 64 };
struct tune_event { /* one line of the history; texts never NULL */
	int64_t t_ns;
	const char *event, *who, *text; /* who "": rocewatch saw it by itself */
};

struct tune_rate { /* how fast a job moved bytes before the change */
	const char *job; /* "": the only one */
	double mean, se; /* bytes per second; standard error of the mean */
	size_t n; /* blocks */
};

struct tune_verified { /* what was compared with what, and what came out */
	const char *id;
	enum verify_match match;
	int64_t before_from_ns, before_to_ns, after_from_ns, after_to_ns, window_ns;
	struct verify_result result; /* without its port lists: these are the names below */
	const char **worse, **better; /* "leaf1:Ethernet0" */
	size_t n_worse, n_better;
};

/*
 * What vendors would type, as vendor_text.h makes it: carried along, never looked into. NULL: null.
 */
struct tune_vendor_texts {
	json_t *apply, *undo, *notes; /* owned by whoever owns the record */
};

struct tune_said { /* what a switch says it is; NULL: it does not say */
	const char *name, *version, *syntax;
};

struct tune_record {
	struct arena
		*arena; /* owns all that is below when the record came from tune_record_new() */
	struct tune_sheet sheet;
	struct tune_said *platform; /* the canary; NULL unknown */
	struct tune_vendor_texts vendor;

	enum tune_state state;
	struct tune_event *history;
	size_t n_history;
	int64_t accepted_ns, rejected_ns, applied_ns, verified_ns, updated_ns;
	const char *accepted_by, *rejected_by, *applied_by,
		*verified_by; /* NULL: rocewatch itself */
	const char *rejected_why;
	const struct tune_verified *verified; /* the newest result; NULL none */
	int64_t roll_back_ns; /* since when it is to be taken back; 0 never */
	const char *roll_back_why;

	/* kept by the watch of a running agent (agent/daemon/tune_agent.h) */
	int64_t watched_ns; /* drops were counted until then */
	struct tune_rate *rates; /* before the change */
	size_t n_rates;
	bool roll_back_open; /* its incident is open */

	/* during tune_ledger_fn: who did it, and the line added to the history; NULL when only
	 * numbers moved */
	const char *who, *note;
	int64_t note_ns;
};

struct tune_record *tune_record_new(void);
void tune_record_free(struct tune_record *record); /* NULL is fine */
void tune_record_freep(struct tune_record **record); /* for rw_cleanup() */

/* tune_record_complete - does it say what a ledger needs: an id, a switch, and values to set? */
bool tune_record_complete(const struct tune_record *record);

/*
 * tune_readback - what the switches say about a sheet: are its values in force, the previous ones,
 * or others? Pure: what was read comes as a window of samples.
 */

/* tune_metrics - the metrics of all knobs: what a window for read-back has to hold. Lent, static.
 */
size_t tune_metrics(const uint16_t **ret);
/* tune_knob_metric - the metric that @knob is read back as. */
unsigned tune_knob_metric(enum tune_knob knob);
/* tune_value - a stored configuration value in the knob's unit (alpha from its exponent). */
double tune_value(enum tune_knob knob, uint64_t stored);
/* tune_same - is @value what was written as @wanted? Switches round to cells and steps, so 2 % off
 * counts as the same, but never half the way to @other (NAN: none). */
bool tune_same(double value, double wanted, double other);

enum tune_reading {
	TUNE_READ_NOTHING,
	TUNE_READ_CURRENT, /* the previous values */
	TUNE_READ_PROPOSED,
	TUNE_READ_MIXED, /* some ports or some values are as proposed, the rest as before */
	TUNE_READ_OTHER
};
struct tune_readback { /* as it stands at the end of the window */
	enum tune_reading reading;
	int64_t since_ns; /* PROPOSED, CURRENT: first instant at which all values were so */
	int64_t before_ns; /* the last reading before it that was not; INT64_MIN: none in the window
			    */
	const char *text; /* OTHER: what was read, in the arena */
};
/* tune_readback - values declared in the configuration do not count as read. */
void tune_readback(const struct tune_record *record, const struct window *window, struct arena *a,
	struct tune_readback *ret);
