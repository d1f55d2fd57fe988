/* metric - the canonical metrics, printed from metric.def. Ids are for memory only; names are what
 * is stored. */
#pragma once

#include "base/base.h"

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_STATE, METRIC_WATERMARK };
enum metric_scope { SCOPE_PORT, SCOPE_PRIO, SCOPE_DEVICE };
enum metric_type { TYPE_U64, TYPE_F64, TYPE_TEXT };

enum metric {
#define METRIC(sym, name, unit, kind, scope, type, help) M_##sym,
#include "db/model/metric.def"
#undef METRIC
	METRIC_COUNT
};

struct metric_info {
	const char *name, *unit;
	enum metric_kind kind;
	enum metric_scope scope;
	enum metric_type type;
	const char *help;
};

/* metric_info - static; NULL when @metric is out of range. metric_by_name - id or -1. */
const struct metric_info *metric_info(unsigned metric);
int metric_by_name(const char *name);
const char *metric_kind_name(enum metric_kind kind);
const char *metric_scope_name(enum metric_scope scope);

/* sample - one value of one metric of one entity, at the instant the device took it. 32 bytes, no
 * pointers. */

/* What the value is worth. Stored as a set; samples.tsv writes the names joined by ','. */
enum sample_flag {
	/* no delta to the sample before: device restart, reset, source change */
	SF_RESTART = 1 << 0,
	/* the device counts in 32 bits: a decrease may be a wrap, also of one part of a sum */
	SF_WRAP32 = 1 << 1,
	SF_ESTIMATED = 1 << 2, /* computed from something else (a bound, a conversion) */
	SF_SUSPECT = 1 << 3, /* failed a plausibility gate */
	SF_LATE = 1 << 4, /* came after its window had been analysed: kept, never analysed */
	SF_DECLARED = 1 << 5, /* from the configuration file, not read from a device */
};
#define SAMPLE_WRAP32_MAX (4ull * UINT32_MAX) /* the largest sum of such counters */

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
	SOURCE_SCRAPE, /* read from an exporter of Prometheus text */
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
