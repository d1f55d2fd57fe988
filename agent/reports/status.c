/*
 * status - who answers, how old the data is and which incidents are open. Stale is not OK: a target
 * is "up" only as long as somebody asks it and it answers. The rows come from the documented views,
 * so that any tool can ask the database for the same.
 */
#include "agent/reports/status.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "config/config.h"
#include "db/series/history.h"

/* A target that missed three polls in a row is no longer known to be up. One lost answer is
 * nothing. */
enum { STALE_INTERVALS = 3 };
/* How far back a recorded case is searched for a device's newest sample. */
#define RECORDED_SEARCH_NS (15 * 60 * NS_PER_S)
#define INTERVAL_DEFAULT_NS (10 * NS_PER_S)

struct status_row {
	char *device, *protocol, *address, *state, *reason; /* NULL = unknown */
	bool up, polled;
	int64_t last_ns, interval_ns; /* last 0 = never */
	int64_t newest_ns, before_ns; /* of its samples, for recorded cases */
	double p50_s, p95_s;
	int64_t polls, timeouts, errors;
};

struct gathering {
	struct client *client;
	struct status_row *rows;
	size_t n, cap;
	json_t *incidents;
};

static void gathering_done(struct gathering *gathering)
{
	json_decref(gathering->incidents);
	for (size_t i = 0; i < gathering->n; i++) {
		free(gathering->rows[i].device);
		free(gathering->rows[i].protocol);
		free(gathering->rows[i].address);
		free(gathering->rows[i].state);
		free(gathering->rows[i].reason);
	}
	free(gathering->rows);
}

static struct status_row *status_row_add(struct gathering *gathering, const char *device)
{
	rw_grow(gathering->rows, gathering->n, gathering->cap);
	struct status_row *r = &gathering->rows[gathering->n++];
	*r = (struct status_row){.device = rw_strdup(device), .p50_s = NAN, .p95_s = NAN};
	return r;
}

/* A capture has a name of its own, which may equal that of a device. */
static bool is_capture(const struct status_row *row)
{
	return str_eq(row->protocol, "pcap");
}

static struct status_row *row_find(struct gathering *gathering, const char *device)
{
	for (size_t i = 0; i < gathering->n; i++)
		if (str_eq(gathering->rows[i].device, device) && !is_capture(&gathering->rows[i]))
			return &gathering->rows[i];
	return NULL;
}

static const struct config_capture *capture_find(const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->n_captures; i++)
		if (str_eq(config->captures[i].name, name))
			return &config->captures[i];
	return NULL;
}

static char *dup_or_null(const char *text)
{
	if (text && *text)
		return rw_strdup(text);
	return NULL;
}

static int64_t time_or_zero(const char *text)
{
	wall_t t;
	if (text && wall_parse(text, (wall_t){0}, &t) == 0)
		return t.ns;
	return 0;
}

static double status_number_or_nan(const char *text)
{
	if (text)
		return strtod(text, NULL);
	return NAN;
}

static int64_t status_count_of(const char *text)
{
	if (text)
		return strtoll(text, NULL, 10);
	return 0;
}

/* A target that was taken out of the configuration while no agent ran is still in the table. */
static bool status_is_configured(
	const struct config *config, const char *name, const char *protocol)
{
	if (str_eq(protocol, "pcap"))
		return capture_find(config, name) != NULL;
	return fabric_device(config->fabric, name) != NULL;
}

static int take_target(void *arg, int n, char *const *words, char *const *names)
{
	struct gathering *g = arg;
	if (n < 11 || !words[0] || !status_is_configured(g->client->config, words[0], words[1]))
		return 0;
	struct status_row *r = status_row_add(g, words[0]);
	r->protocol = dup_or_null(words[1]);
	r->polled = r->protocol != NULL;
	r->address = dup_or_null(words[2]);
	r->state = dup_or_null(words[3]);
	r->up = str_eq(words[4], "1");
	r->reason = dup_or_null(words[5]);
	r->last_ns = time_or_zero(words[6]);
	r->p50_s = status_number_or_nan(words[7]);
	r->p95_s = status_number_or_nan(words[8]);
	r->polls = status_count_of(words[9]);
	r->timeouts = status_count_of(words[10]);
	if (n > 11)
		r->errors = status_count_of(words[11]);
	return 0;
}

static int status_take_incident(void *arg, int n, char *const *words, char *const *names)
{
	json_t *i = json_object();
	for (int c = 0; c < n; c++)
		json_object_set_new(i, names[c], json_string_or_null(words[c]));
	json_array_append_new(arg, i);
	return 0;
}

static int status_take_sample(void *arg, const struct sample *sample)
{
	struct gathering *g = arg;
	const struct entity *e = entity_get(history_entities(g->client->history), sample->entity);
	struct status_row *r = NULL;
	if (e)
		r = row_find(g, e->device);
	if (!r || sample->t_ns <= r->newest_ns)
		return 0;
	r->before_ns = r->newest_ns;
	r->newest_ns = sample->t_ns;
	return 0;
}

/* How often the device is asked over @protocol, as configured. */
static int64_t status_interval_of(
	const struct config *config, const char *device, const char *protocol)
{
	int64_t fallback = INTERVAL_DEFAULT_NS;
	if (config->defaults.interval_ns > 0)
		fallback = config->defaults.interval_ns;

	const struct config_capture *capture = NULL;
	if (str_eq(protocol, "pcap"))
		capture = capture_find(config, device);
	if (capture) {
		if (capture->interval_ns > 0)
			return capture->interval_ns;
		return fallback;
	}
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *d = &config->devices[i];
		if (!str_eq(d->name, device))
			continue;
		const int64_t own_ns = config_device_interval(d, protocol);
		if (own_ns > 0)
			return own_ns;
	}
	return fallback;
}

/* The interval the agent really uses: a profile may limit how fast a device may be read. */
static int status_take_interval(void *arg, int n, char *const *words, char *const *names)
{
	struct gathering *g = arg;
	char key[512];
	for (size_t i = 0; n >= 2 && words[0] && words[1] && i < g->n; i++) {
		struct status_row *r = &g->rows[i];
		snprintf(key, sizeof(key), "target/%s/%s/interval_s", r->device,
			str_or(r->protocol, ""));
		int64_t used_ns = 0;
		if (str_eq(key, words[0]))
			used_ns = (int64_t)(strtod(words[1], NULL) * NS_PER_S);
		if (used_ns > r->interval_ns)
			r->interval_ns = used_ns;
	}
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct status_row *x = left, *y = right;
	int r = is_capture(x) - is_capture(y);
	if (r == 0)
		r = name_compare(x->device, y->device);
	if (r == 0)
		r = strcmp(str_or(x->protocol, ""), str_or(y->protocol, ""));
	return r;
}

static int status_gather(struct gathering *gathering, struct err *e)
{
	struct client *x = gathering->client;
	const struct fabric *f = x->config->fabric;

	int r = history_sql(x->history,
		"SELECT device, protocol, address, state, up, reason, last_success, poll_p50_s, "
		"poll_p95_s, polls, timeouts,"
		" errors FROM devices WHERE protocol IS NOT NULL ORDER BY device, protocol",
		take_target, gathering, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f->n_devices; i++)
		if (!row_find(gathering, f->devices[i]->name))
			status_row_add(gathering, f->devices[i]->name);
	for (size_t i = 0; i < gathering->n; i++)
		gathering->rows[i].interval_ns = status_interval_of(
			x->config, gathering->rows[i].device, gathering->rows[i].protocol);
	if (x->agent_alive) { /* then the database is of this version and has the table */
		r = history_sql(x->history,
			"SELECT key, value FROM health WHERE key GLOB 'target/*/interval_s'",
			status_take_interval, gathering, e);
		if (r < 0)
			return r;
	}

	if (!x->agent_alive) {
		const struct history_filter newest = {.priority = HISTORY_ANY_PRIORITY,
			.from_ns = x->now_ns - RECORDED_SEARCH_NS,
			.to_ns = x->now_ns};
		r = history_each_sample(x->history, &newest, status_take_sample, gathering, e);
		if (r < 0)
			return r;
	}
	if (gathering->n > 0)
		qsort(gathering->rows, gathering->n, sizeof(*gathering->rows), compare_rows);
	return history_sql(x->history,
		"SELECT id, cause, severity, state, opened, device, port, ecmp_group AS \"group\", "
		"host, summary, acked_by FROM incidents"
		" WHERE state IN ('open','clearing') ORDER BY CASE severity WHEN 'critical' THEN 0 "
		"WHEN 'warning' THEN 1 ELSE 2 END,"
		" usd_per_hour DESC, confidence_ratio DESC, id",
		status_take_incident, gathering->incidents, e);
}

enum known { DOWN, UP, UNKNOWN };

/* Why nobody asks a device. */
static const char *status_unasked(const struct config *config, const char *device)
{
	for (size_t i = 0; i < config->n_devices; i++)
		if (str_eq(config->devices[i].name, device) &&
			config_device_polled(&config->devices[i]))
			return "not polled yet: no agent has run with this configuration";
	for (size_t i = 0; i < config->n_captures; i++)
		if (str_eq(config->captures[i].device, device))
			return "not polled: there are captures of its ports only";
	return "no collector is configured for it";
}

/* A target that was asked at least once: it may be down, not just new. */
static bool status_was_asked(const struct status_row *row)
{
	return row->polls || row->timeouts || row->errors || str_eq(row->state, "backoff");
}

/* A recorded case has no interval: the gap between its newest two samples stands for it. */
static int64_t status_limit_ns(const struct status_row *row)
{
	int64_t interval_ns = row->interval_ns;
	int64_t gap_ns = row->newest_ns - row->before_ns;
	if (!row->polled && row->before_ns && gap_ns > interval_ns)
		interval_ns = gap_ns;
	return STALE_INTERVALS * interval_ns;
}

/* The time since its newest answer or sample; -1 = there was none. */
static int64_t status_age_ns(const struct client *client, const struct status_row *row)
{
	int64_t last_ns = row->newest_ns;
	if (row->polled)
		last_ns = row->last_ns;
	if (!last_ns)
		return -1;
	int64_t age_ns = client->now_ns - last_ns;
	if (age_ns < 0)
		return 0; /* the clocks of two hosts differ */
	return age_ns;
}

/* What may be said of a target, and why not more: the first case that holds. */
static enum known status_judge(
	const struct client *client, const struct status_row *row, int64_t age_ns, struct str *why)
{
	char age[32], limit[32], when[WALL_TEXT_MAX];

	/* 1. Polled, but nobody polls at the moment. */
	if (row->polled && !client->agent_alive) {
		str_add(why, "no agent is running");
		if (row->last_ns)
			str_addf(why, "; last answer %s",
				wall_format(when, (wall_t){row->last_ns}, 0));
		return UNKNOWN;
	}
	/* 2. It was asked and does not answer. */
	if (row->polled && !row->up && status_was_asked(row)) {
		str_add(why, str_or(row->reason, "does not answer"));
		return DOWN;
	}
	/* 3. It was not asked yet. */
	if (row->polled && !row->up) {
		str_add(why, str_or(row->reason, "not asked yet"));
		return UNKNOWN;
	}
	/* 4. It never gave a value. */
	if (age_ns < 0 && client->agent_alive) {
		str_add(why, status_unasked(client->config, row->device));
		return UNKNOWN;
	}
	if (age_ns < 0) {
		str_add(why, "no sample of it in the last 15m00s");
		return UNKNOWN;
	}
	/* 5. It has been silent too long. */
	if (age_ns > status_limit_ns(row)) {
		duration_format(age, sizeof(age), age_ns);
		duration_format(limit, sizeof(limit), status_limit_ns(row));
		str_addf(why, "silent for %s, more than %d intervals (%s)", age, STALE_INTERVALS,
			limit);
		return UNKNOWN;
	}
	return UP;
}

static json_t *status_bool_or_null(enum known known)
{
	if (known == UNKNOWN)
		return json_null();
	return json_boolean(known == UP);
}

/* Milliseconds are as fine as an age is known; NAN stays. */
static json_t *status_seconds_or_null(bool known, int64_t ns)
{
	if (!known)
		return json_null();
	return json_number_or_null((double)(ns / NS_PER_MS) / 1e3);
}

static json_t *status_device_json(
	const struct client *client, const struct status_row *row, enum known *ret_known)
{
	static const char *const words[] = {[DOWN] = "down", [UP] = "up", [UNKNOWN] = "unknown"};
	rw_cleanup(str_done) struct str why = {0};
	int64_t age_ns = status_age_ns(client, row);
	enum known known = status_judge(client, row, age_ns, &why);
	const char *protocol = NULL;
	if (row->polled)
		protocol = row->protocol;
	else if (row->newest_ns)
		protocol = "replay";

	json_t *device = json_object();
	json_object_set_new(device, "name", json_string_or_null(row->device));
	json_object_set_new(device, "up", status_bool_or_null(known));
	json_object_set_new(device, "status", json_string(words[known]));
	json_object_set_new(device, "reason", json_string_or_null(why.s));
	json_object_set_new(device, "age_s", status_seconds_or_null(age_ns >= 0, age_ns));
	json_object_set_new(device, "protocol", json_string_or_null(protocol));
	json_object_set_new(device, "address", json_string_or_null(row->address));
	if (is_capture(row)) {
		const struct config_capture *c = capture_find(client->config, row->device);
		json_object_set_new(device, "device", json_string_or_null(c ? c->device : NULL));
		json_object_set_new(device, "port", json_string_or_null(c ? c->port : NULL));
	}
	json_object_set_new(device, "state", json_string_or_null(row->state));
	json_object_set_new(
		device, "interval_s", json_number_or_null((double)row->interval_ns / 1e9));
	json_object_set_new(device, "poll_p50_s", json_number_or_null(row->p50_s));
	json_object_set_new(device, "poll_p95_s", json_number_or_null(row->p95_s));
	json_object_set_new(device, "polls", json_integer(row->polls));
	json_object_set_new(device, "timeouts", json_integer(row->timeouts));
	json_object_set_new(device, "errors", json_integer(row->errors));
	*ret_known = known;
	return device;
}

/* Sums over the rows of a status. */
struct status_counts {
	size_t devices[3], captures[3]; /* by enum known */
	int64_t polls, timeouts, errors;
	double oldest_s; /* NAN: no device has an age */
	enum known best; /* of the device counted last */
};

/* Rows of one device follow each other: it is as well known as by the best of them. */
static void status_count_device(struct status_counts *counts, const struct status_row *row,
	const struct status_row *before, enum known known)
{
	static const int rank[] = {[UNKNOWN] = 0, [DOWN] = 1, [UP] = 2};
	bool first = !before || !str_eq(before->device, row->device);
	if (!first && rank[known] <= rank[counts->best])
		return;
	if (!first)
		counts->devices[counts->best]--;
	counts->devices[known]++;
	counts->best = known;
}

static void status_count(struct status_counts *counts, const struct status_row *row,
	const struct status_row *before, enum known known, const json_t *age_s)
{
	if (json_is_number(age_s) && !(json_number_value(age_s) <= counts->oldest_s))
		counts->oldest_s = json_number_value(age_s);
	if (is_capture(row))
		counts->captures[known]++;
	else
		status_count_device(counts, row, before, known);
	counts->polls += row->polls;
	counts->timeouts += row->timeouts;
	counts->errors += row->errors;
}

static void status_put_count(json_t *object, const char *key, int64_t value)
{
	json_object_set_new(object, key, json_integer(value));
}

/* A timeout is one request without an answer, and a poll is many requests: the ratio says how lossy
 * the way to the devices is, not how much data is missing. */
static json_t *status_quality_json(const struct client *client, const struct status_counts *counts,
	bool has_samples, int64_t first_ns, int64_t last_ns)
{
	json_t *quality = json_object();
	json_object_set_new(quality, "agent_running", json_boolean(client->agent_alive));
	json_object_set_new(
		quality, "first_sample", has_samples ? json_time(first_ns) : json_null());
	json_object_set_new(
		quality, "newest_sample", has_samples ? json_time(last_ns) : json_null());
	json_object_set_new(quality, "newest_sample_age_s",
		status_seconds_or_null(has_samples, client->now_ns - last_ns));
	json_object_set_new(quality, "oldest_device_age_s", json_number_or_null(counts->oldest_s));
	status_put_count(quality, "up", (int64_t)counts->devices[UP]);
	status_put_count(quality, "down", (int64_t)counts->devices[DOWN]);
	status_put_count(quality, "unknown", (int64_t)counts->devices[UNKNOWN]);
	status_put_count(quality, "captures_up", (int64_t)counts->captures[UP]);
	status_put_count(quality, "captures_down", (int64_t)counts->captures[DOWN]);
	status_put_count(quality, "captures_unknown", (int64_t)counts->captures[UNKNOWN]);
	status_put_count(quality, "polls", counts->polls);
	status_put_count(quality, "timeouts", counts->timeouts);
	status_put_count(quality, "errors", counts->errors);
	return quality;
}

json_t *status_document(struct client *client, struct err *e)
{
	rw_cleanup(gathering_done) struct gathering gathering = {
		.client = client, .incidents = json_array()};
	struct status_counts counts = {.oldest_s = NAN, .best = DOWN};
	int64_t first_ns = 0, last_ns = 0;

	if (status_gather(&gathering, e) < 0)
		return NULL;
	int r = history_range(client->history, &first_ns, &last_ns, e);
	if (r < 0 && r != -ENODATA)
		return NULL;
	json_t *devices = json_array();
	for (size_t i = 0; i < gathering.n; i++) {
		const struct status_row *row = &gathering.rows[i];
		enum known known;
		json_t *device = status_device_json(client, row, &known);
		status_count(&counts, row, i > 0 ? row - 1 : NULL, known,
			json_object_get(device, "age_s"));
		json_array_append_new(devices, device);
	}
	json_t *doc = json_object();
	json_object_set_new(doc, "fabric", json_string_or_null(client->config->fabric->name));
	json_object_set_new(doc, "time", json_time(client->now_ns));
	json_object_set_new(doc, "devices", devices);
	status_put_count(doc, "open_incidents", (int64_t)json_array_size(gathering.incidents));
	json_object_set(doc, "incidents", gathering.incidents);
	json_object_set_new(doc, "data_quality",
		status_quality_json(client, &counts, r == 0, first_ns, last_ns));
	return doc;
}
