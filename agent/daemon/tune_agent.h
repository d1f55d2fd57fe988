/*
 * tune_live - the recommendations of a running agent: kept through restarts, acted on through its
 * socket, moved on by what switches say, and watched once they are applied: a lossless drop on the
 * switch that was changed, or steps that surely take longer than before, is a reason to take the
 * change back, told at once as incident tuning_regression (tuning facts, d.2 rule 10). Loop thread;
 * the commands use tune_record_store() alone.
 */
#ifndef RW_AGENT_TUNE_LIVE_H
#define RW_AGENT_TUNE_LIVE_H

#include <jansson.h>
#include "agent/incident/ledger.h"
#include "agent/daemon/pipeline.h"
#include "agent/tuning/tune_ledger.h"
#include "config/config.h"

struct err;
struct history;
struct store;
struct tune_live;

struct tune_live *tune_live_new(struct store *store, struct pipeline *pipeline,
	struct ledger *incidents, const struct config *config);
void tune_live_free(struct tune_live *live); /* NULL is fine */
/* tune_live_resume - what the database holds goes on. Before history is fed: what was agreed to is
 * then no drift. 0 or negative errno, @e. */
int tune_live_resume(struct tune_live *live, const char *path, struct err *e);
void tune_live_reload(struct tune_live *live, const struct config *config);
/* each second; looks every TUNE_LOOK_NS */
void tune_live_tick(struct tune_live *live, int64_t now_ns);
#define TUNE_LOOK_NS (5 * NS_PER_S)
/* tune_live_request - the reply, a new reference; NULL: the request is none of ours
 * ("tune_propose", and the words of tune_act_parse). */
json_t *tune_live_request(
	struct tune_live *live, const char *who, const json_t *request, int64_t now_ns);

/* tune_record_store - a tune_ledger_fn; @store is a struct store. */
void tune_record_store(void *store, const struct tune_record *record, enum tune_state from);
/* tune_records_load - all that @db holds into @ledger. 0 or negative errno, @e. */
int tune_records_load(struct history *history, struct tune_ledger *ledger, struct err *e);
/* tune_records_expect - what was agreed to in @db, told to @pipeline: for a replay of that
 * database. */
int tune_records_expect(struct history *history, struct pipeline *pipeline, struct err *e);

#endif
