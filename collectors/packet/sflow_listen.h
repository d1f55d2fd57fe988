/*
 * sflow_listen - receives sFlow: a capture of the configuration with 'listen'. Its flow samples
 * become flow rows of the ports of the fabric, its drop notifications events, its counter samples
 * samples of metrics where a device has nothing else that asks it.
 *
 * Datagrams from addresses that are not allowed are counted and not read (sflow_agents). sFlow has
 * no time of its own: a sample's time is when it came. Intervals end at wall-clock multiples of the
 * interval, as those of other captures. A listener that cannot bind is tried again. Loop thread.
 */
#ifndef RW_COLLECTORS_SFLOW_LISTEN_H
#define RW_COLLECTORS_SFLOW_LISTEN_H

#include "collectors/target/collector.h"
#include "config/config.h"

struct sflow_listen;

/* What came since the listener was opened. */
struct sflow_listen_counts {
	uint64_t datagrams; /* from allowed addresses */
	uint64_t strangers; /* from others: not read */
	uint64_t bad, other_versions; /* datagrams that are no sFlow version 5, or damaged */
	uint64_t flow_samples, headers, roce, unreadable;
	uint64_t counter_samples, counters_stored, discards, discards_roce;
	uint32_t unmapped_agents, unmapped_ports; /* in the last interval */
};

int sflow_listen_open(const struct collector_env *env, const struct config_capture *capture,
	struct sflow_listen **ret, struct err *e);
void sflow_listen_free(struct sflow_listen *listen); /* NULL is fine; hands the interval over */
const struct sflow_listen_counts *sflow_listen_counts(const struct sflow_listen *listen);

#endif
