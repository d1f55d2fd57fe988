/*
 * check_source - what a check judges: documents of one database, made for one scope, each once. One
 * thread.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/check/check.h"
#include "db/model/cause.h"
#include "db/model/golden.h"

struct counters_answer;
struct counters_row;
struct pause_pair;
struct pause_ports_answer;
struct verdict;
struct watch_answer;

/* Globs; NULL: all. Borrowed. */
struct check_scope {
	const char *device, *port, *group, *job;
	const char *priority; /* as given */
};

struct check_source {
	struct client *client;
	struct check_scope scope;
	struct check_ranges given; /* by the user */
	bool named_range; /* the user named a time range: no document's own one is taken */
	bool count_silenced; /* a silenced incident counts like any other one */
	json_t *docs; /* by path */
	struct arena *arena; /* of what follows */
	/* NULL: not asked for yet */
	struct watch_answer *watch;
	struct counters_answer *counters;
	struct pause_ports_answer *pause;
	bool measured; /* .watch has signals and jobs, too */
};

/* check_source_init - borrows all; check_source_done() it. */
void check_source_init(struct check_source *source, struct client *client,
	const struct check_scope *scope, const struct check_ranges *given, bool named_range);
void check_source_done(struct check_source *source);

/* check_source_span - the time range that ends now, unless the user named one. */
void check_source_span(struct check_source *source, int64_t span_ns);

/* check_source_doc - the served document @path with those parts of the scope that it takes. Lent
 * until check_source_done(). 0, or negative errno with @e. */
int check_source_doc(
	struct check_source *source, const char *path, const json_t **ret, struct err *e);

/* check_source_counters, check_source_pause - what served documents "counters" (of queues only the
 * lossless ones, unless one priority is asked for) and "pause/ports" (.origin is not known) tell,
 * as structs. */
int check_source_counters(
	struct check_source *source, const struct counters_answer **ret, struct err *e);
int check_source_pause(
	struct check_source *source, const struct pause_ports_answer **ret, struct err *e);

/* check_source_open - the status and the open incidents: nothing is measured for them.
 * check_source_watch - and signals and jobs, which are measured of all ports. As
 * check_source_doc(). */
int check_source_open(struct check_source *source, const struct watch_answer **ret, struct err *e);
int check_source_watch(struct check_source *source, const struct watch_answer **ret, struct err *e);

/* check_ranges_of - the user's ranges, else @otherwise. */
struct check_ranges check_ranges_of(
	const struct check_source *source, const struct check_ranges *otherwise);

/* Whom something concerns, as far as it is known; the rest are NULL or "". */
struct check_subject {
	const char *device, *port, *host, *job, *group;
	uint64_t priority; /* COUNT_UNKNOWN */
};
/* check_subject_in_scope - is it asked for? A host belongs to a job by the configuration. */
bool check_subject_in_scope(const struct check_source *source, const struct check_subject *of);
/* check_counters_in_scope, check_pause_in_scope - the same of a row of these answers. */
bool check_counters_in_scope(const struct check_source *source, const struct counters_row *row);
bool check_pause_in_scope(const struct check_source *source, const struct pause_pair *row);
/* check_device_in_scope - of a job: the devices that its hosts are connected to. */
bool check_device_in_scope(const struct check_source *source, const char *device);

/*
 * check_incidents - raises @line by the open incidents of the frame @watch whose cause is in
 * @causes (ended by CAUSE_NONE; NULL: all) and that are in scope: critical and warning as they are;
 * info is only printed. Returns how many there are.
 *
 * A silenced incident does not raise @line and is not counted, the line says how many there are;
 * unless @source->count_silenced. An acknowledged one counts: somebody knows of it, and it is still
 * there.
 */
size_t check_incidents(const struct check_source *source, const struct watch_answer *watch,
	const enum cause *causes, struct check_line *line);

/* What check_incidents() found for a check. */
struct check_open {
	const struct watch_answer *watch;
	const enum cause *causes;
	size_t n; /* in scope */
};

/* Where it was measured; NULL: not known. Borrowed. */
struct check_place {
	const char *device, *port;
};

/*
 * check_measured - says what is measured, of which a limit of the configuration makes @state.
 *
 * Detectors compare with the same limits, and open an incident when it lasts: so what is measured
 * raises the line by the incidents alone, see agent/answers/status/verdict.h: those in scope, or
 * else the worst one of a place that was not asked for, which is felt here; without one the line
 * says why. Ranges that a user gave
 * are a judgement of his own, and decide.
 */
void check_measured(const struct check_source *source, struct check_line *line,
	enum check_state state, const struct check_open *open, struct check_place place,
	const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* check_verdict - says what the fabric is like, by the incidents that are in scope, and keeps those
 * that are not silenced. Returns how many these are. */
size_t check_verdict(const struct check_source *source, const struct watch_answer *watch,
	struct verdict *ret, struct check_line *line);
