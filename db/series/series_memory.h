/*
 * series_memory - recent samples in memory: what the live pipeline judges. Bounded by @keep_ns per
 * series, plus one older sample (the anchor of a window that begins there). One thread.
 */
#pragma once

#include "db/series/history.h"

struct series_memory;
struct series_memory *series_memory_new(const struct entities *entities, int64_t keep_ns);
void series_memory_free(struct series_memory *memory);
void series_memory_keep(struct series_memory *memory, int64_t keep_ns); /* after a reload */
/* A metric that is kept longer than the others; 0 = as long as they are. */
void series_memory_keep_metric(struct series_memory *memory, unsigned metric, int64_t keep_ns);
/* -EALREADY: not newer than the newest of its series */
int series_memory_add(struct series_memory *memory, const struct sample *sample);
/* series_memory_place - where a series is; stays so until series_memory_forget().
 * series_memory_add_at - the same as series_memory_add() for a series whose place is known.
 * series_memory_value - the newest value that is kept of it; 0: none. */
struct series_place {
	uint32_t column, lane;
};
struct series_place series_memory_place(
	struct series_memory *memory, uint32_t entity, uint16_t metric);
int series_memory_add_at(
	struct series_memory *memory, struct series_place place, const struct sample *sample);
uint64_t series_memory_value(const struct series_memory *memory, struct series_place place);
/* series_memory_said - what was said of a series last, as series_memory_say() was told; nothing
 * yet: INT64_MIN, SOURCE_UNKNOWN. @kept: the sample was added. series_memory_tear - all
 * of it is torn. series_memory_unsay - what was said since @since_ns was said just before. */
struct series_said {
	int64_t t_ns;
	uint16_t source;
	bool torn; /* the clock was set since: no difference to it */
};
struct series_said series_memory_said(
	const struct series_memory *memory, struct series_place place);
void series_memory_say(struct series_memory *memory, struct series_place place,
	const struct series_said *said, bool kept);
void series_memory_tear(struct series_memory *memory);
void series_memory_unsay(struct series_memory *memory, int64_t since_ns);
void series_memory_add_flow(struct series_memory *memory, const struct flow_sample *flow);
void series_memory_trim(struct series_memory *memory, int64_t now_ns);
/* series_memory_next - when the next sample or flow after @t_ns is; INT64_MAX: there is none. Looks
 * at every series. */
int64_t series_memory_next(const struct series_memory *memory, int64_t t_ns);
/* series_memory_pausing - @pause is called now and then while a window is cut or old samples are
 * forgotten; NULL: nobody waits. */
void series_memory_pausing(struct series_memory *memory, void (*pause)(void *arg), void *pause_arg);
/* series_memory_forget - these entities were released: their samples go. */
void series_memory_forget(struct series_memory *memory, const struct entities *released);
/* series_memory_tracks - how many series are kept; for tests that nothing is kept of what is gone.
 */
size_t series_memory_tracks(const struct series_memory *memory);
/* series_memory_rewind - forget what is newer than @t_ns: the clock was set back. */
void series_memory_rewind(struct series_memory *memory, int64_t t_ns);
/* window_from_memory - the window as it is now; it stays as it is when samples are added later. Its
 * columns are in @a. window_lent_from_memory - the same without a copy of the columns: valid until
 * the next call that changes @memory. */
int window_from_memory(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct window *ret);
int window_lent_from_memory(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct window *ret);

/* series_memory_history - the same as a reader of the past; lent. It knows no stored configuration
 * (-ENODATA) and no records (-ENOTSUP), and closing it does nothing. For tests: a past without a
 * file. */
struct history *series_memory_history(struct series_memory *memory);
