/* alert_agent - gives agent/alert what it needs of the agent. */
#include "agent/daemon/alert_agent.h"

#include <math.h>

#include "agent/alert/alert.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/health.h"
#include "config/config.h"
#include "db/open.h"
#include "db/series/history.h"

void alert_agent_start(struct agent *agent)
{
	struct err e = {0};
	struct history *history = NULL;
	agent->alert = alert_new(agent->loop, agent->store, agent->config);
	int rc = db_history_open(agent->config->store.path, &history, &e);
	if (rc == 0)
		rc = alert_load(agent->alert, history, wall_now(), mono_now(), &e);
	if (rc != 0)
		log_warn("alert",
			"what receivers got before cannot be read; they get again "
			"what is open: %s",
			e.text);
	history_close(history);
}

void alert_agent_health(const struct agent *agent, struct health *health)
{
	for (size_t i = 0; i < alert_count(agent->alert); i++) {
		const struct alert_view view = alert_at(agent->alert, i);
		double last_success_s = NAN;
		if (view.last_success_ns)
			last_success_s = (double)view.last_success_ns / 1e9;
		const struct {
			const char *key, *unit;
			double value;
		} figures[] = {
			{"sent", "", (double)view.sent},
			{"failed", "", (double)view.failed},
			{"dropped", "", (double)view.dropped},
			{"queued", "", (double)view.queued},
			{"failing", "", view.failing},
			{"last_success_s", "s", last_success_s},
		};
		for (size_t k = 0; k < rw_countof(figures); k++)
			health_figure(health, "alert", view.name, figures[k].key, figures[k].unit,
				figures[k].value);
	}
}
