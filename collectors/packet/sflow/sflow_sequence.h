/*
 * sflow_sequence - how many datagrams of sFlow agents got lost on the way, by their sequence
 * numbers. Pure; single-threaded. An agent is an agent address with a sub-agent number; each counts
 * its datagrams, modulo 2^32 ("sFlow Version 5", sample_datagram_v5).
 *
 * A number further ahead than SFLOW_AHEAD_MAX, or back by SFLOW_BACK_MAX or more, or an uptime that
 * went back by more than SFLOW_LATE_MS, is a restart of the agent: nothing is known of what lies
 * between. A datagram that comes late was counted as lost before and is taken back.
 */
#pragma once

#include "collectors/packet/sflow/sflow_decode.h"

#define SFLOW_AGENTS_MAX 4096u /* further ones are counted together and not followed */
#define SFLOW_AHEAD_MAX 65536
#define SFLOW_BACK_MAX 64
#define SFLOW_LATE_MS 10000 /* no datagram is on its way for longer */

struct sflow_sequence_counts {
	uint64_t datagrams, lost, restarts, duplicates;
	uint64_t unfollowed; /* datagrams of agents beyond SFLOW_AGENTS_MAX */
	uint32_t agents; /* agent and sub-agent */
};

struct sflow_sequence;
struct sflow_sequence *sflow_sequence_new(void);
void sflow_sequence_free(struct sflow_sequence *sequence); /* NULL is fine */

/* sflow_sequence_add - one datagram. Returns a number for its agent and sub-agent, dense from 0;
 * SFLOW_AGENTS_MAX for those that are not followed. */
uint32_t sflow_sequence_add(struct sflow_sequence *sequence, const struct sflow_datagram *datagram);
const struct sflow_sequence_counts *sflow_sequence_counts(const struct sflow_sequence *sequence);
