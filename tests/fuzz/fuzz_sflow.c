/* Any bytes as datagrams of sFlow: no crash, nothing read beyond them, nothing counted that was not
 * there, and bounded tables. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/packet/sflow/sflow_counters.h"
#include "collectors/packet/sflow/sflow_decode.h"
#include "collectors/packet/sflow/sflow_summary.h"
#include "db/model/metric.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void on_packet(
	void *arg, const struct sflow_sample *sample, const struct roce_packet *packet)
{
	uint64_t *packets = arg;
	if (!packet->sampled || !sample->header)
		abort();
	++*packets;
}

/* What counter samples say, as samples of metrics. */
static void sflow_count(const uint8_t *data, size_t n)
{
	struct sflow_reader reader;
	struct sflow_datagram datagram;
	struct sflow_sample sample;
	if (sflow_open(&reader, data, n, &datagram) < 0)
		return;
	while (sflow_next(&reader, &sample) == 1) {
		struct sample counted[SFLOW_COUNTERS_MAX];
		const size_t got = sflow_counters(&sample, 1, 1, counted);
		if (got > SFLOW_COUNTERS_MAX)
			abort();
		for (size_t i = 0; i < got; i++)
			if (counted[i].metric >= METRIC_COUNT || counted[i].entity != 1)
				abort();
	}
}

/* Input: datagrams, each after two bytes with its length. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sflow_summary *summary = sflow_summary_new(1);
	uint64_t packets = 0;
	while (size > 2) {
		size_t n = (size_t)data[0] << 8 | data[1];
		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, data, n);
		sflow_summary_datagram(summary, exact, n, false, on_packet, &packets);
		sflow_count(exact, n);
		free(exact);
		data += n;
		size -= n;
	}
	const struct sflow_totals *totals = sflow_summary_totals(summary);
	size_t n_sources;
	const struct sflow_source *sources = sflow_summary_sources(summary, &n_sources);
	for (size_t i = 0; i < n_sources; i++) {
		struct sflow_estimate e = sflow_estimate_packets(&sources[i].roce, &sources[i]);
		if (!(e.low <= e.value && e.value <= e.high))
			abort();
		if (sources[i].samples && sources[i].generated < sources[i].samples)
			abort();
	}
	if (packets > totals->flow_samples || totals->roce > totals->headers)
		abort();
	sflow_summary_free(summary);
	return 0;
}
