/*
 * status - see status.h. Stale is not OK: a target says "up" only as long as somebody asks it and
 * it answers. The rows come from the documented views, so that what is shown here can be asked of
 * the database with any tool.
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

/* A target that missed three polls in a row is no longer known to be up; one lost answer is no
 * news. */
enum { STALE_INTERVALS = 3 };
/* How far back a recorded case is searched for a device's newest sample. */
#define RECORDED_SEARCH_NS (15 * 60 * NS_PER_S)
#define INTERVAL_DEFAULT_NS (10 * NS_PER_S)

struct row {
	char *device, *protocol, *address, *state, *reason; /* NULL = unknown */
	bool up, polled;
	int64_t last_ns, interval_ns; /* last 0 = never */
	int64_t newest_ns, before_ns; /* of its samples, for recorded cases */
	double p50_s, p95_s;
	int64_t polls, timeouts, errors;
};

struct gathering {
	struct client *x;
	struct row *v;
	size_t n, cap;
	json_t *incidents;
};

static void rows_done(struct gathering *gathering)
{
	for (size_t i = 0; i < gathering->n; i++) {
		free(gathering->v[i].device);
		free(gathering->v[i].protocol);
		free(gathering->v[i].address);
		free(gathering->v[i].state);
		free(gathering->v[i].reason);
	}
	free(gathering->v);
	gathering->v = NULL;
	gathering->n = gathering->cap = 0;
}

static struct row *status_row_add(struct gathering *gathering, const char *device)
{
	rw_grow(gathering->v, gathering->n, gathering->cap);
	struct row *r = &gathering->v[gathering->n++];
	*r = (struct row){.device = rw_strdup(device), .p50_s = NAN, .p95_s = NAN};
	return r;
}

/* A capture goes by its own name, which may be a device's too. */
static bool is_capture(const struct row *row)
{
	return str_eq(row->protocol, "pcap");
}

static struct row *row_find(struct gathering *gathering, const char *device)
{
	for (size_t i = 0; i < gathering->n; i++)
		if (str_eq(gathering->v[i].device, device) && !is_capture(&gathering->v[i]))
			return &gathering->v[i];
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

static double number_or_nan(const char *text)
{
	if (text)
		return strtod(text, NULL);
	return NAN;
}

static int take_target(void *arg, int n, char *const *words, char *const *names)
{
	struct gathering *g = arg;
	const struct config *c = g->x->config;
	if (n < 11 || !words[0])
		return 0;
	/* What was taken out of the configuration while no agent ran is still in the table. */
	if (str_eq(words[1], "pcap") ? !capture_find(c, words[0])
				     : !fabric_device(c->fabric, words[0]))
		return 0;
	struct row *r = status_row_add(g, words[0]);
	r->protocol = dup_or_null(words[1]);
	r->polled = r->protocol != NULL;
	r->address = dup_or_null(words[2]);
	r->state = dup_or_null(words[3]);
	r->up = str_eq(words[4], "1");
	r->reason = dup_or_null(words[5]);
	r->last_ns = time_or_zero(words[6]);
	r->p50_s = number_or_nan(words[7]);
	r->p95_s = number_or_nan(words[8]);
	if (words[9])
		r->polls = strtoll(words[9], NULL, 10);
	else
		r->polls = 0;
	if (words[10])
		r->timeouts = strtoll(words[10], NULL, 10);
	else
		r->timeouts = 0;
	if (n > 11 && words[11])
		r->errors = strtoll(words[11], NULL, 10);
	else
		r->errors = 0;
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
	const struct entity *e = entity_get(history_entities(g->x->history), sample->entity);
	struct row *r = NULL;
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
		if (str_eq(protocol, "gnmi") && d->gnmi && d->gnmi->interval_ns > 0)
			return d->gnmi->interval_ns;
		if (d->snmp && d->snmp->interval_ns > 0)
			return d->snmp->interval_ns;
	}
	return fallback;
}

/* The agent's own word on it: a profile may allow no faster reading than its least cadence. */
static int take_interval(void *arg, int n, char *const *words, char *const *names)
{
	struct gathering *g = arg;
	char key[512];
	for (size_t i = 0; n >= 2 && words[0] && words[1] && i < g->n; i++) {
		struct row *r = &g->v[i];
		snprintf(key, sizeof(key), "target/%s/%s/interval_s", r->device,
			str_or(r->protocol, ""));
		int64_t told_ns = 0;
		if (str_eq(key, words[0]))
			told_ns = (int64_t)(strtod(words[1], NULL) * NS_PER_S);
		if (told_ns > r->interval_ns)
			r->interval_ns = told_ns;
	}
	return 0;
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *x = left, *y = right;
	int r = is_capture(x) - is_capture(y);
	if (r == 0)
		r = name_compare(x->device, y->device);
	if (r == 0)
		r = strcmp(str_or(x->protocol, ""), str_or(y->protocol, ""));
	return r;
}

static int status_gather(struct gathering *gathering, struct err *e)
{
	struct client *x = gathering->x;
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
		gathering->v[i].interval_ns = status_interval_of(
			x->config, gathering->v[i].device, gathering->v[i].protocol);
	if (x->agent_alive) { /* then the database is of this version and has the table */
		r = history_sql(x->history,
			"SELECT key, value FROM health WHERE key GLOB 'target/*/interval_s'",
			take_interval, gathering, e);
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
		qsort(gathering->v, gathering->n, sizeof(*gathering->v), compare_rows);
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
		if (str_eq(config->devices[i].name, device) && config->devices[i].gnmi)
			return "not asked over gNMI yet: no agent has run with this configuration";
	for (size_t i = 0; i < config->n_captures; i++)
		if (str_eq(config->captures[i].device, device))
			return "not polled: there are captures of its ports only";
	return "no collector is configured for it";
}

/* What may be said of a target, and why not more; *ret_age_ns -1 = it never answered. */
static enum known status_judge(
	const struct client *client, const struct row *row, struct str *why, int64_t *ret_age_ns)
{
	char age[32], limit[32], when[WALL_TEXT_MAX];
	int64_t last;
	if (row->polled)
		last = row->last_ns;
	else
		last = row->newest_ns;
	int64_t interval = row->interval_ns;

	/* A recorded case knows no interval: what lies between its newest two samples is the best
	 * there is. */
	if (!row->polled && row->before_ns && row->newest_ns - row->before_ns > interval)
		interval = row->newest_ns - row->before_ns;
	if (last)
		*ret_age_ns = client->now_ns - last;
	else
		*ret_age_ns = -1;
	if (*ret_age_ns < 0 && last)
		*ret_age_ns = 0; /* clocks of two hosts */
	duration_format(age, sizeof(age), *ret_age_ns);
	duration_format(limit, sizeof(limit), STALE_INTERVALS * interval);

	if (row->polled && !client->agent_alive) {
		str_add(why, "no agent is running");
		if (last)
			str_addf(why, "; last answer %s", wall_format(when, (wall_t){last}, 0));
		return UNKNOWN;
	}
	if (row->polled && !row->up &&
		(row->polls || row->timeouts || row->errors || str_eq(row->state, "backoff"))) {
		str_add(why, str_or(row->reason, "does not answer"));
		return DOWN;
	}
	if (row->polled && !row->up) {
		str_add(why, str_or(row->reason, "not asked yet"));
		return UNKNOWN;
	}
	if (!last) {
		str_add(why,
			client->agent_alive ? status_unasked(client->config, row->device)
					    : "no sample of it in the last 15m00s");
		return UNKNOWN;
	}
	if (*ret_age_ns > STALE_INTERVALS * interval) {
		str_addf(why, "silent for %s, more than %d intervals (%s)", age, STALE_INTERVALS,
			limit);
		return UNKNOWN;
	}
	return UP;
}

static json_t *status_device_json(
	const struct client *client, const struct row *row, enum known *ret_known)
{
	static const char *const words[] = {[DOWN] = "down", [UP] = "up", [UNKNOWN] = "unknown"};
	rw_cleanup(str_done) struct str why = {0};
	int64_t age_ns;
	enum known k = status_judge(client, row, &why, &age_ns);
	json_t *d = json_object();

	json_object_set_new(d, "name", json_string_or_null(row->device));
	json_object_set_new(d, "up", k == UNKNOWN ? json_null() : json_boolean(k == UP));
	json_object_set_new(d, "status", json_string(words[k]));
	json_object_set_new(d, "reason", json_string_or_null(why.s));
	json_object_set_new(d, "age_s",
		json_number_or_null(age_ns < 0 ? NAN : (double)(age_ns / NS_PER_MS) / 1e3));
	json_object_set_new(d, "protocol",
		json_string_or_null(row->polled  ? row->protocol
				: row->newest_ns ? "replay"
						 : NULL));
	json_object_set_new(d, "address", json_string_or_null(row->address));
	if (is_capture(row)) {
		const struct config_capture *c = capture_find(client->config, row->device);
		json_object_set_new(d, "device", json_string_or_null(c ? c->device : NULL));
		json_object_set_new(d, "port", json_string_or_null(c ? c->port : NULL));
	}
	json_object_set_new(d, "state", json_string_or_null(row->state));
	json_object_set_new(d, "interval_s", json_number_or_null((double)row->interval_ns / 1e9));
	json_object_set_new(d, "poll_p50_s", json_number_or_null(row->p50_s));
	json_object_set_new(d, "poll_p95_s", json_number_or_null(row->p95_s));
	json_object_set_new(d, "polls", json_integer(row->polls));
	json_object_set_new(d, "timeouts", json_integer(row->timeouts));
	json_object_set_new(d, "errors", json_integer(row->errors));
	*ret_known = k;
	return d;
}

/* Rows of one device follow each other: it is as well known as by the best of them. */
static void count_device(size_t count[3], const struct row *row, const struct row *before,
	enum known known, enum known *best)
{
	static const int rank[] = {[UNKNOWN] = 0, [DOWN] = 1, [UP] = 2};
	bool first = !before || !str_eq(before->device, row->device);

	if (!first && rank[known] <= rank[*best])
		return;
	if (!first)
		count[*best]--;
	count[known]++;
	*best = known;
}

static void freep_incidents(struct gathering *gathering)
{
	json_decref(gathering->incidents);
	rows_done(gathering);
}

json_t *status_document(struct client *client, struct err *e)
{
	rw_cleanup(freep_incidents) struct gathering g = {.x = client, .incidents = json_array()};
	size_t count[3] = {0}, captures[3] = {0};
	int64_t polls = 0, timeouts = 0, errors = 0, first_ns = 0, last_ns = 0;
	double oldest_s = NAN;
	enum known best = DOWN;

	if (status_gather(&g, e) < 0)
		return NULL;
	int r = history_range(client->history, &first_ns, &last_ns, e);
	if (r < 0 && r != -ENODATA)
		return NULL;
	json_t *devices = json_array();
	for (size_t i = 0; i < g.n; i++) {
		enum known k;
		json_t *d = status_device_json(client, &g.v[i], &k);
		double age_s = json_number_value(json_object_get(d, "age_s"));
		if (json_is_number(json_object_get(d, "age_s")) && !(age_s <= oldest_s))
			oldest_s = age_s;
		json_array_append_new(devices, d);
		if (is_capture(&g.v[i]))
			captures[k]++;
		else
			count_device(count, &g.v[i], i > 0 ? &g.v[i - 1] : NULL, k, &best);
		polls += g.v[i].polls;
		timeouts += g.v[i].timeouts;
		errors += g.v[i].errors;
	}
	/* A timeout is an unanswered request; a poll is many: the ratio says how lossy the way to
	 * the devices is, not how much data is missing. */
	json_t *quality = json_object();
	json_object_set_new(quality, "agent_running", json_boolean(client->agent_alive));
	json_object_set_new(quality, "first_sample", r == 0 ? json_time(first_ns) : json_null());
	json_object_set_new(quality, "newest_sample", r == 0 ? json_time(last_ns) : json_null());
	json_object_set_new(quality, "newest_sample_age_s",
		json_number_or_null(
			r == 0 ? (double)((client->now_ns - last_ns) / NS_PER_MS) / 1e3 : NAN));
	json_object_set_new(quality, "oldest_device_age_s", json_number_or_null(oldest_s));
	json_object_set_new(quality, "up", json_integer((json_int_t)count[UP]));
	json_object_set_new(quality, "down", json_integer((json_int_t)count[DOWN]));
	json_object_set_new(quality, "unknown", json_integer((json_int_t)count[UNKNOWN]));
	json_object_set_new(quality, "captures_up", json_integer((json_int_t)captures[UP]));
	json_object_set_new(quality, "captures_down", json_integer((json_int_t)captures[DOWN]));
	json_object_set_new(
		quality, "captures_unknown", json_integer((json_int_t)captures[UNKNOWN]));
	json_object_set_new(quality, "polls", json_integer(polls));
	json_object_set_new(quality, "timeouts", json_integer(timeouts));
	json_object_set_new(quality, "errors", json_integer(errors));

	json_t *doc = json_object();
	json_object_set_new(doc, "fabric", json_string_or_null(client->config->fabric->name));
	json_object_set_new(doc, "time", json_time(client->now_ns));
	json_object_set_new(doc, "devices", devices);
	json_object_set_new(
		doc, "open_incidents", json_integer((json_int_t)json_array_size(g.incidents)));
	json_object_set(doc, "incidents", g.incidents);
	json_object_set_new(doc, "data_quality", quality);
	return doc;
}
