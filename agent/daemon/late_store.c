/* late_store - what happens when the database can be opened at last. */
#include "agent/daemon/late_store.h"

#include <stdio.h>

#include "agent/alert/alert.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/resume.h"
#include "agent/daemon/tune_agent.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"
#include "db/store/store_state.h"

static void late_notify(struct agent *agent, const struct store_state *state)
{
	char text[sizeof(state->reason) + 64];
	if (agent->store_stage == (int)state->stage)
		return;
	agent->store_stage = (int)state->stage;
	if (state->stage == STAGE_WAITING)
		snprintf(text, sizeof(text), "STATUS=watching from memory: %s", state->reason);
	else
		snprintf(text, sizeof(text), "STATUS=collecting");
	notify_send(&agent->notify, text);
}

/* What a start reads, without samples: memory has had its own since. What is known already stays.
 */
static int late_read(struct agent *agent, struct err *e)
{
	const char *path = agent->config->store.path;
	struct history *history = NULL;
	int rc = tune_agent_resume(agent->tuning, path, e);
	if (rc == 0)
		rc = db_history_open(path, &history, e);
	if (rc == 0)
		rc = resume_incidents(history, agent->ledger, agent->store, wall_now().ns, e);
	if (rc == 0)
		rc = alert_load_silences(agent->alert, history, e);
	history_close(history);
	return rc;
}

static void late_opened(struct agent *agent)
{
	char lasted[32], text[256];
	struct err e = {0};
	const int64_t now_ns = wall_now().ns;
	duration_format(lasted, sizeof(lasted), mono_now().ns - agent->late_since.ns);
	snprintf(text, sizeof(text),
		"the database could be opened %s after the start; until then the agent watched "
		"from memory",
		lasted);
	log_info("store", "%s", text);
	store_event(agent->store, now_ns, "store_late", NULL, NULL, text);
	if (agent->past_unread && late_read(agent, &e) != 0)
		log_warn("agent", "the earlier state cannot be read from the database: %s", e.text);
	agent->past_unread = false;
}

void late_store_begin(struct agent *agent, bool past_unread)
{
	struct store_state state;
	store_state_now(agent->store, &state);
	agent->store_stage = STAGE_WRITING; /* what READY says */
	agent->late = store_is_waiting(agent->store);
	agent->late_since = mono_now();
	agent->past_unread = agent->late && past_unread;
	late_notify(agent, &state);
}

void late_store_tick(struct agent *agent)
{
	struct store_state state;
	store_state_now(agent->store, &state);
	late_notify(agent, &state);
	if (!agent->late || store_is_waiting(agent->store))
		return;
	agent->late = false;
	late_opened(agent);
}
