/*
 * tune_read - reads a time range of the database for threshold tuning: windows, measured as the
 * detectors measure them, folded into evidence; and single windows for the comparison before and
 * after a change. Some windows are read at a time, so that a week need not be in memory. The same
 * history gives the same answer, whether an agent wrote it or a replay.
 *
 * Windows are max(5 s, 3 intervals) long as the detectors' are, longer where the stretch would have
 * more than TUNE_WINDOWS_MAX of them; those of a comparison are as short as the polls allow (an
 * interval, at least 1 s): it needs many, and blocks of them take care of what they share. Memory:
 * the arena.
 */
#pragma once

#include "agent/tuning/tune_ledger.h"
#include "agent/tuning/tune_record.h"
#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_verify.h"
#include "base/base.h"

struct client;
struct profile;

#define TUNE_WINDOWS_MAX 4096

struct tune_history {
	const struct tune_evidence *evidence;
	struct tune_platform *platforms; /* [fabric_device.index] */
	const struct profile **profiles; /* the same; NULL: not known */
	const char **descriptions; /* what each says it is; NULL */
	struct tune_incident *incidents;
	size_t n_incidents;
	struct tune_past *past;
	size_t n_past;
	int64_t from_ns, to_ns, window_ns, interval_ns;
};

/* tune_read_history - [from, to] as far as there are samples, all of it but .past, which is the
 * ledger's. -ENODATA: there are none. */
int tune_read_history(struct client *client, const struct profiles *profiles, int64_t from_ns,
	int64_t to_ns, struct arena *a, struct tune_history *ret, struct err *e);

/* tune_read_past - sheets of @ledger that were applied, for the rules. */
void tune_read_past(
	const struct tune_ledger *ledger, struct arena *a, struct tune_history *history);

struct tune_comparison {
	struct verify_window *windows;
	size_t n_windows; /* in order of time */
	/* "leaf1:Ethernet0": what .ports of each window counts */
	const char **ports;
	size_t n_ports;
	int64_t window_ns;
};
/*
 * tune_read_comparison - windows of [from, to] as they concern the sheet: pause, marks and drops of
 * its switch at its priority, load and senders of the fabric. Spoiled: restarts, a silent switch,
 * and incidents but those the sheet is about (its diagnosis, symptoms of congestion, the change
 * itself).
 */
int tune_read_comparison(struct client *client, const struct tune_record *record, int64_t from_ns,
	int64_t to_ns, int64_t window_ns, struct arena *a, struct tune_comparison *ret,
	struct err *e);

/* tune_read_settings - when the sheet's values came into force, by what was read in its
 * evidence's end .. @to_ns. */
int tune_read_settings(struct client *client, const struct tune_record *record, int64_t to_ns,
	struct arena *a, struct tune_readback *ret, struct err *e);
/* tune_read_settings_in - the same of (from, to]. */
int tune_read_settings_in(struct client *client, const struct tune_record *record, int64_t from_ns,
	int64_t to_ns, struct arena *a, struct tune_readback *ret, struct err *e);
