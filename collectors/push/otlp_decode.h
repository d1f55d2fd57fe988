/*
 * otlp_decode - reads an ExportMetricsServiceRequest in one walk over its bytes, without making
 * objects of it, and tells what it holds. Source: opentelemetry-proto v1,
 * collector/metrics/v1/metrics_service.proto, metrics/v1/metrics.proto, common/v1/common.proto.
 *
 * Order: resource, then its metrics, then the points of each metric; also when the bytes have
 * another order. Everything that is told is lent for the call. Pure.
 */
#pragma once

#include "base/base.h"

#include "base/bytes.h"
#include "collectors/push/push_map.h"

enum otlp_kind {
	OTLP_GAUGE,
	OTLP_SUM, /* cumulative */
	OTLP_DELTA_SUM, /* or of no known temporality */
	OTLP_HISTOGRAM,
	OTLP_EXPONENTIAL_HISTOGRAM,
	OTLP_SUMMARY,
	OTLP_KINDS
};

struct otlp_metric {
	struct bytes name;
	enum otlp_kind kind;
};

struct otlp_point {
	int64_t t_ns, start_ns; /* 0 = not said; beyond year 2262 = INT64_MAX */
	bool has_value; /* else it says that there was none */
	struct push_number number;
	struct bytes labels; /* for otlp_labels_of() */
};

struct otlp_events {
	void *arg;
	void (*resource)(void *arg, struct bytes labels); /* for otlp_labels_of() */
	/* False: its points are not read, only counted. Histograms and summaries never are. */
	bool (*metric)(void *arg, const struct otlp_metric *metric);
	void (*point)(void *arg, const struct otlp_point *point);
	/* of the metric that was told last: its points that were not read */
	void (*unread)(void *arg, const struct otlp_metric *metric, uint64_t points);
};

/* otlp_decode - 0, or -EBADMSG when the bytes are no such message; what was told until then holds.
 */
int otlp_decode(const uint8_t *data, size_t n, const struct otlp_events *events);

enum { OTLP_LABELS_MAX = 64 };
struct otlp_labels {
	struct push_label v[OTLP_LABELS_MAX];
	size_t n;
	size_t beyond; /* labels that had no room */
	char text[OTLP_LABELS_MAX][32]; /* of values that are numbers */
};

enum otlp_labels_in { OTLP_IN_RESOURCE = 1, OTLP_IN_POINT = 7 }; /* field numbers */

/* otlp_labels_of - the attributes among @bytes. Lists and maps as values are left out. */
void otlp_labels_of(struct bytes bytes, enum otlp_labels_in where, struct otlp_labels *ret);

/* otlp_answer - ExportMetricsServiceResponse: how many points were refused and why (@message may be
 * "": then nothing is said). Returns the bytes written into @buf. */
enum { OTLP_ANSWER_MAX = 320, OTLP_MESSAGE_MAX = 256 };
size_t otlp_answer(uint8_t buf[OTLP_ANSWER_MAX], uint64_t refused, const char *message);
