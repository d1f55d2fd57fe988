/*
 * tune_agent - the recommendations of a running agent: they survive restarts, people decide on them
 * through its socket, and read-back moves them on. Once a change is applied it is watched: a
 * lossless drop on the changed switch, or steps that surely take longer than before, opens the
 * incident tuning_regression at once (docs/tuning.md, rule 10). Loop thread.
 */
#pragma once

#include <jansson.h>
#include "agent/judge/pipeline.h"
#include "agent/incident/ledger.h"
#include "config/config.h"
#include "base/base.h"

struct history;
struct tune_agent;

struct tune_agent *tune_agent_new(struct store *store, struct pipeline *pipeline,
	struct ledger *incidents, const struct config *config);
void tune_agent_free(struct tune_agent *agent); /* NULL is fine */
/* tune_agent_resume - go on with what the database at @path holds. To be called before history is
 * fed to the pipeline: changes that were agreed to are then not reported as drift. 0 or negative
 * errno, @e. */
int tune_agent_resume(struct tune_agent *agent, const char *path, struct err *e);
void tune_agent_reload(struct tune_agent *agent, const struct config *config);
void tune_agent_doubt(struct tune_agent *agent, bool doubt); /* as tune_ledger_doubt() */
/* tune_agent_tick - each second; it works every TUNE_AGENT_PERIOD_NS. */
void tune_agent_tick(struct tune_agent *agent, int64_t now_ns);
#define TUNE_AGENT_PERIOD_NS (5 * NS_PER_S)
/* tune_agent_request - the reply to a request of the control socket, a new reference; NULL: it is
 * none of "tune_propose" and tune_decision_word(). */
json_t *tune_agent_request(
	struct tune_agent *agent, const char *who, const json_t *request, int64_t now_ns);

/* tune_agent_expect_from - tells @pipeline what was agreed to in @history: for a replay of that
 * database. */
int tune_agent_expect_from(struct history *history, struct pipeline *pipeline, struct err *e);
