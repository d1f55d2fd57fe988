/* pulse - sends agent.canary and agent.moved. */
#include "agent/daemon/pulse.h"

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "collectors/target/collector.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/model/sample.h"

#define EARLY_NS (NS_PER_S / 10) /* the tick that is due comes some milliseconds early or late */

void pulse_beat(struct pulse *pulse, struct entities *entities, const struct sink *sink,
	const char *name, int64_t now_ns, int64_t boot_ns, int64_t interval_ns, uint64_t moved)
{
	if (boot_ns < pulse->next_ns - EARLY_NS)
		return;
	pulse->next_ns = boot_ns + interval_ns;
	const uint32_t self = entities_intern(entities, ENTITY_AGENT, name, PRIO_NONE);
	const struct sample samples[] = {
		{.t_ns = now_ns,
			.value = sample_of_f64((double)boot_ns / 1e9),
			.entity = self,
			.metric = M_AGENT_CANARY,
			.source = SOURCE_AGENT},
		{.t_ns = now_ns,
			.value = moved,
			.entity = self,
			.metric = M_AGENT_MOVED,
			.source = SOURCE_AGENT},
	};
	sink->samples(sink->arg, samples, rw_countof(samples));
}
