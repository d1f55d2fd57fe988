/* traps - opens the trap receiver and finds the target that a trap's sender address belongs to. */
#include "agent/daemon/traps.h"

#include "agent/daemon/agent_state.h"
#include "agent/judge/pipeline.h"
#include "agent/sources/sources.h"
#include "collectors/snmp/snmp.h"
#include "collectors/snmp/trap_receiver.h"
#include "config/config.h"

#define RETRY_NS (30 * NS_PER_S)

/* "192.0.2.1" is the host of "192.0.2.1:161", "2001:db8::1" that of "[2001:db8::1]:161". */
static bool traps_is_host_of(const char *peer, const char *host)
{
	const size_t n = strlen(host);
	if (*peer == '[')
		return strncmp(peer + 1, host, n) == 0 && peer[1 + n] == ']';
	if (strncmp(peer, host, n) != 0)
		return false;
	return peer[n] == ':' || peer[n] == '\0';
}

/* The one target that is polled at @host; NULL when there is none or more than one. */
static struct snmp_target *traps_find_target(void *arg, const char *host, size_t *ret_n)
{
	const struct agent *agent = arg;
	struct snmp_target *found = NULL;
	*ret_n = 0;
	for (size_t k = 0; k < sources_count(agent->sources); k++) {
		const struct source_view view = sources_at(agent->sources, k);
		struct snmp_target *target = NULL;
		if (view.collector == &collector_snmp)
			target = view.instance;
		if (target && traps_is_host_of(snmp_target_peer(target), host)) {
			found = target;
			++*ret_n;
		}
	}
	if (*ret_n == 1)
		return found;
	return NULL;
}

/* Open it, or log why not and come back later: everything else works without traps. */
static void traps_open(struct agent *agent)
{
	struct err e = {0};
	const int rc = trap_receiver_new(agent->loop, agent->config->traps,
		pipeline_sink(agent->pipeline), traps_find_target, agent, &agent->traps, &e);
	if (rc == 0) {
		complaint_over(&agent->traps_down, mono_now(), "traps", "received again");
		return;
	}
	const char *reason = e.text;
	if (!*reason)
		reason = strerror(-rc);
	complain(&agent->traps_down, mono_now(), LOG_WARN_, "traps", "none are received: %s",
		reason);
	agent->traps_retry = (mono_t){mono_now().ns + RETRY_NS};
}

void traps_apply(struct agent *agent, const struct config *was)
{
	if (was && config_traps_same(was->traps, agent->config->traps))
		return;
	trap_receiver_free(agent->traps);
	agent->traps = NULL;
	agent->traps_down = (struct complaint){0};
	if (agent->config->traps)
		traps_open(agent);
}

void traps_retry(struct agent *agent, mono_t now)
{
	if (agent->config->traps && !agent->traps && now.ns >= agent->traps_retry.ns)
		traps_open(agent);
}
