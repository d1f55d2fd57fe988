/* waiting - two lists that judging.c empties. */
#include "agent/daemon/waiting.h"

#include "agent/base/cleanup.h"
#include "agent/daemon/pipeline_state.h"

bool waiting_samples(struct pipeline *pipeline, const struct sample *samples, size_t n)
{
	struct judging *j = &pipeline->judging;
	if (!j->waits)
		return false;
	for (size_t i = 0; i < n; i++) {
		rw_grow(j->samples, j->n_samples, j->cap_samples);
		j->samples[j->n_samples++] = samples[i];
	}
	return true;
}

bool waiting_flows(struct pipeline *pipeline, const struct flow_sample *flows, size_t n)
{
	struct judging *j = &pipeline->judging;
	if (!j->waits)
		return false;
	for (size_t i = 0; i < n; i++) {
		rw_grow(j->flows, j->n_flows, j->cap_flows);
		j->flows[j->n_flows++] = flows[i];
	}
	return true;
}
