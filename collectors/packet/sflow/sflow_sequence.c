/* sflow_sequence - the newest sequence number of each agent, and which of the last 64 came. */
#include "collectors/packet/sflow/sflow_sequence.h"

struct sflow_agent_sequence {
	uint32_t newest, uptime_ms;
	uint64_t seen; /* bit i: newest - i came */
};

struct sflow_sequence {
	struct smap *index; /* address and sub-agent -> into v */
	struct sflow_agent_sequence *v;
	size_t n, cap;
	struct sflow_sequence_counts counts;
};

struct sflow_sequence *sflow_sequence_new(void)
{
	struct sflow_sequence *sequence = rw_calloc(1, sizeof(*sequence));
	sequence->index = smap_new();
	return sequence;
}

void sflow_sequence_free(struct sflow_sequence *sequence)
{
	if (!sequence)
		return;
	smap_free(sequence->index);
	free(sequence->v);
	free(sequence);
}

const struct sflow_sequence_counts *sflow_sequence_counts(const struct sflow_sequence *sequence)
{
	return &sequence->counts;
}

static void agent_sequence_begin(
	struct sflow_agent_sequence *agent, const struct sflow_datagram *datagram)
{
	agent->newest = datagram->sequence;
	agent->seen = UINT64_MAX; /* none before the first one is missed */
}

static void agent_sequence_forward(
	struct sflow_agent_sequence *agent, uint32_t steps, struct sflow_sequence_counts *counts)
{
	counts->lost += steps - 1;
	agent->newest += steps;
	if (steps < 64)
		agent->seen = agent->seen << steps | 1;
	else
		agent->seen = 1;
}

static void agent_sequence_back(
	struct sflow_agent_sequence *agent, uint32_t steps, struct sflow_sequence_counts *counts)
{
	const uint64_t bit = (uint64_t)1 << steps;
	if (agent->seen & bit) {
		counts->duplicates++;
		return;
	}
	agent->seen |= bit;
	if (counts->lost > 0)
		counts->lost--;
}

static void agent_sequence_step(struct sflow_agent_sequence *agent,
	const struct sflow_datagram *datagram, struct sflow_sequence_counts *counts)
{
	const int32_t steps = (int32_t)(datagram->sequence - agent->newest);
	const bool younger = (int32_t)(datagram->uptime_ms - agent->uptime_ms) < -SFLOW_LATE_MS;
	if (steps > SFLOW_AHEAD_MAX || steps <= -SFLOW_BACK_MAX || younger) {
		counts->restarts++;
		agent_sequence_begin(agent, datagram);
	} else if (steps > 0) {
		agent_sequence_forward(agent, (uint32_t)steps, counts);
	} else {
		agent_sequence_back(agent, (uint32_t)-steps, counts);
		return; /* an older datagram has an older uptime */
	}
	agent->uptime_ms = datagram->uptime_ms;
}

uint32_t sflow_sequence_add(struct sflow_sequence *sequence, const struct sflow_datagram *datagram)
{
	uint8_t key[21];
	uint64_t at;
	key[0] = datagram->agent.family;
	memcpy(key + 1, datagram->agent.bytes, 16);
	memcpy(key + 17, &datagram->sub_agent, 4);
	sequence->counts.datagrams++;
	if (smap_get(sequence->index, key, sizeof(key), &at)) {
		agent_sequence_step(&sequence->v[at], datagram, &sequence->counts);
		return (uint32_t)at;
	}
	if (sequence->n >= SFLOW_AGENTS_MAX) {
		sequence->counts.unfollowed++;
		return SFLOW_AGENTS_MAX;
	}
	at = sequence->n;
	rw_grow(sequence->v, sequence->n, sequence->cap);
	struct sflow_agent_sequence *agent = &sequence->v[sequence->n++];
	*agent = (struct sflow_agent_sequence){.uptime_ms = datagram->uptime_ms};
	agent_sequence_begin(agent, datagram);
	smap_put(sequence->index, key, sizeof(key), at);
	sequence->counts.agents++;
	return (uint32_t)at;
}
