/*
 * pipeline - draws all the arrows: samples -> store and memory -> windows -> analyzers -> findings -> ledger -> store.
 * The same code runs live (time from the loop) and in replay (time from the samples).
 *
 * Windows are aligned to multiples of the analyzer's window in sample time (k*W, (k+1)*W] and close one interval after their end.
 * A sample older than a closed window is stored flagged late and never analysed. Findings are ordered (window, analyzer, subject).
 */
#ifndef RW_AGENT_PIPELINE_H
#define RW_AGENT_PIPELINE_H

#include "collectors/collector.h"
#include "config/config.h"

struct store;
struct ledger;
struct pipeline;

struct pipeline_counters { uint64_t samples, late, duplicates, windows, findings; };

/* @store may be NULL (replay without --db). Config, entities, store and ledger are lent. */
struct pipeline *pipeline_new(const struct config *c, struct entities *entities, struct store *store, struct ledger *ledger);
void pipeline_free(struct pipeline *p);
void pipeline_reload(struct pipeline *p, const struct config *c); /* windows under way go on with the new options */
const struct sink *pipeline_sink(struct pipeline *p); /* for collectors */
void pipeline_advance(struct pipeline *p, int64_t now_ns); /* close the windows that are due; live: each second, replay: by samples */
void pipeline_finish(struct pipeline *p); /* replay: close everything up to the newest sample */
const struct pipeline_counters *pipeline_counters(const struct pipeline *p);

#endif
