/* sample - one value of one metric of one entity, at the instant the device took it. 32 bytes, no
 * pointers. */
#ifndef RW_DB_SAMPLE_H
#define RW_DB_SAMPLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What the value is worth. Stored as a set; samples.tsv writes the names joined by ','. */
enum sample_flag {
	/* no delta to the sample before: device restart, reset, source change */
	SF_RESTART = 1 << 0,
	SF_WRAP32 = 1 << 1, /* the device counts in 32 bits: a decrease may be one wrap */
	SF_ESTIMATED = 1 << 2, /* computed from something else (a bound, a conversion) */
	SF_SUSPECT = 1 << 3, /* failed a plausibility gate */
	SF_LATE = 1 << 4, /* came after its window had been analysed: kept, never analysed */
	SF_DECLARED = 1 << 5, /* from the configuration file, not read from a device */
};

enum sample_source {
	SOURCE_UNKNOWN,
	SOURCE_SNMP,
	SOURCE_GNMI,
	SOURCE_PCAP,
	SOURCE_REPLAY,
	SOURCE_CONFIG,
	SOURCE_AGENT, /* the agent about itself */
	SOURCE_SFLOW,
	SOURCE_PUSH, /* sent by the device itself: OpenTelemetry, IPFIX */
};

struct sample {
	int64_t t_ns; /* UTC, when the device sampled */
	uint64_t value; /* bits: u64, double or text id, as the metric's type says */
	uint32_t entity;
	uint32_t window_ms; /* watermarks: the window the device kept the maximum over; else 0 */
	uint16_t metric;
	uint16_t flags;
	uint16_t source;
	uint16_t pad;
};

static inline uint64_t sample_of_f64(double value)
{
	uint64_t u;
	memcpy(&u, &value, sizeof(u));
	return u;
}
static inline double sample_f64(uint64_t bits)
{
	double d;
	memcpy(&d, &bits, sizeof(d));
	return d;
}

/* sample_order - by time, entity, metric; for qsort of struct sample. */
int sample_order(const void *left, const void *right);

/* "snmp", "gnmi", ...; "" for SOURCE_UNKNOWN, NULL when there is no such source. */
const char *sample_source_name(unsigned source);

/* "restart,wrap32" <-> set. flags_parse: 0 or -EINVAL. */
#define SAMPLE_FLAGS_TEXT_MAX 64
char *sample_flags_text(char buf[SAMPLE_FLAGS_TEXT_MAX], unsigned flags);
int sample_flags_parse(const char *text, unsigned *ret);

/* The number as a double, for arithmetic that tolerates it (not for counters' deltas). */
double sample_number(unsigned metric, uint64_t value);

struct sample_list {
	struct sample *v;
	size_t n, cap;
};

#endif
