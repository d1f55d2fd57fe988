/*
 * past - history that a site already has in Prometheus, VictoriaMetrics or InfluxDB, as a recorded
 * case that `rocewatch replay` reads.
 *
 *	profile -> names        which series are asked for, and what each means
 *	request by request      raw samples of a stretch of time: true times, so that gaps stay
 *	samples.tsv, past.json  what came, and how far: a second start goes on there
 *
 * What a series does not tell is not made up: a counter that is absent has no sample, and the
 * document says which causes stay unknown for it.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/document/writer.h"
#include "base/curl_io.h"

struct config;

enum past_api {
	PAST_PROMETHEUS, /* /api/v1/query with a range selector: Prometheus, Thanos, Mimir */
	PAST_VICTORIA, /* /api/v1/export */
	PAST_INFLUX, /* /query in InfluxQL: InfluxDB 1, and 2 where a bucket is mapped */
	PAST_APIS
};

#define PAST_ANSWER_MAX ((size_t)8 << 20) /* bytes of one answer */
#define PAST_RATE_DEFAULT 2.0 /* requests a second */
#define PAST_TIMEOUT_DEFAULT_NS (60 * 1000000000LL)

struct past_ask {
	enum past_api api;
	const char *url; /* of the server, without a log-in in it; of InfluxDB with the database */
	const char *profile; /* a name of past_profiles(), of a built-in profile, or a FILE.yaml */
	const char *prefix; /* what stands before the names there; "" */
	const char *match; /* more matchers, such as job="snmp"; "" */
	const char *out; /* directory: new, or one that past_import() has begun */
	const char *fabric_text; /* of fabric.yaml, as read */
	const struct config *config; /* the same, understood */
	int64_t from_ns, to_ns; /* of a new directory; one that was begun keeps its own */
	const char *username, *password, *token; /* NULL: none */
	const char *ca; /* file; NULL: the system's authorities */
	int64_t timeout_ns; /* of a request */
	double per_s; /* requests a second */
};

/* past_import - asks and writes until all is there. *@ret is then a document (kind, rows, notes,
 * flagged, as those of import_host.h), the caller's. -EINVAL for what was asked for, -ENODATA when
 * the server has nothing of it, else a negative errno; @e names the server and the remedy, and
 * never a secret. What was fetched stands in .out all the same. Waits; any thread but the loop. */
int past_import(const struct past_ask *ask, json_t **ret, struct err *e);

/* past_api_of - by its word in `rocewatch import`. */
enum past_api past_api_of(const char *name);

extern const struct view past_view;
