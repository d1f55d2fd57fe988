/*
 * status - who answers, how old the data is and which incidents are open. Stale is not OK: a target
 * is "up" only as long as somebody asks it and it answers. The rows come from the documented views,
 * so that any tool can ask the database for the same.
 */
#include "agent/answers/status/status.h"
#include "agent/answers/status/unjudged.h"

#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/metric.h"
#include "db/series/history.h"

/* ---- rows ------------------------------------------------------------------- */

#define SHAPE struct status_device
#define CAPTURE_FACT_FIELD(m, k, about) COUNT(m, about, .unknown = true, ONLY_IF(is_capture)),
static const struct field status_device_fields[] = {
	TEXT(name, "Name in the configuration.", .known = true),
	MAYBE(up, "Does it answer? null: not known, which is never shown as up."),
	TEXT(status, "`up`, `down` or `unknown`.", .known = true),
	TEXT(reason, "Why it is not up."),
	NUMBER(age_s, UNIT_SECONDS, "Age of its newest answer or sample."),
	TEXT(protocol, "How it is asked: `snmp`, `gnmi`, `scrape`, `push`, `pcap`, `replay`."),
	TEXT(address, "Address and port that is asked."),
	TEXT(device, "Capture: switch whose port is mirrored.", ONLY_IF(is_capture)),
	TEXT(port, "Capture: that port.", ONLY_IF(is_capture)),
	CAPTURE_FACTS(CAPTURE_FACT_FIELD)
		TEXT(state, "State of the target: `up`, `backoff` and others."),
	NUMBER(interval_s, UNIT_SECONDS, "Time between two polls.", .known = true),
	NUMBER(poll_p50_s, UNIT_SECONDS, "Median time of a poll."),
	NUMBER(poll_p95_s, UNIT_SECONDS, "95th percentile of the time of a poll."),
	COUNT(polls, "Polls that were answered.", .unknown = true),
	COUNT(timeouts, "Polls that were not answered in time.", .unknown = true),
	COUNT(errors, "Polls that failed otherwise.", .unknown = true),
	HIDDEN(is_capture),
};
SHAPE_OF(status_device, "Device", "A device or capture, and whether it answers.", .common = true);
#undef SHAPE

#define SHAPE struct status_quality
static const struct field status_quality_fields[] = {
	MAYBE(agent_running, "Does an agent run? null: not known."),
	TIME(first_sample, "Oldest sample that is kept."),
	TIME(newest_sample, "Newest sample."),
	NUMBER(newest_sample_age_s, UNIT_SECONDS, "Age of the newest sample."),
	FLAG(stale, "Is the newest sample too old to say anything of now?"),
	NUMBER(oldest_device_age_s, UNIT_SECONDS,
		"Age of the newest answer of the device that has been silent for longest."),
	COUNT(up, "Devices that answer."),
	COUNT(down, "Devices that do not answer."),
	COUNT(unknown, "Devices of which it is not known."),
	COUNT(captures_up, "Captures that see packets."),
	COUNT(captures_down, "Captures that do not run."),
	COUNT(captures_unknown, "Captures of which it is not known."),
	COUNT(polls, "Polls of all devices that were answered.", .unknown = true),
	COUNT(timeouts, "Polls that were not answered in time.", .unknown = true),
	COUNT(errors, "Polls that failed otherwise.", .unknown = true),
};
static SHAPE_OF(
	status_quality, "DataQuality", "How complete and how new the data is.", .common = true);
#undef SHAPE

#define SHAPE struct verdict_money
static const struct field verdict_money_fields[] = {
	NUMBER(usd_per_hour, UNIT_USD, "US dollars per hour; null: not known."),
	NUMBER(usd_total, UNIT_USD, "US dollars so far."),
};
SHAPE_OF(verdict_money, "Money", "Cost of what is open.", .common = true);
#undef SHAPE

#define SHAPE struct status_answer
static const struct field status_answer_fields[] = {
	TEXT(fabric, "Name of the fabric."),
	TIME(time, "The time that this state is of.", .known = true),
	PART(agent, agent_state, "Who collects."),
	ROWS(classes, class_told, "How each lossless class is run."),
	ROWS(devices, status_device, "Each device and capture."),
	COUNT(open_incidents, "Incidents that are open.", .unknown = true),
	ROWS(incidents, open_incident, "These incidents, the worst first."),
	PART(data_quality, status_quality, "How complete the data is."),
	ROWS(alarms, store_alarm, "What the store cannot do."),
	ROWS(ship, ship_fact, "How far other stores have followed."),
	ROWS(refused, refused_fact, "Whom the receivers refused, and why."),
	WORD(state, golden_state, golden_state_names, GOLDEN_STATES,
		"Is it well: `ok`, `warning`, `critical` or `unknown`."),
	TEXT(state_why, "The same in a sentence, which is that of every face."),
	PART(money, verdict_money, "What open incidents cost."),
	HIDDEN(judged_elsewhere),
	HIDDEN(nothing_to_judge),
};
SHAPE_OF(status_answer, "status", "Who answers, how old the data is and which incidents are open.");
#undef SHAPE

/* A target that missed three polls in a row is no longer known to be up. One lost answer is
 * nothing. */
enum { STALE_INTERVALS = 3 };
/* What the agent says of a target is written once a second, and committed within another. */
#define STORED_LAG_NS (2 * NS_PER_S)
/* Three intervals of 1 s pass on a busy machine without anybody's fault. A switch that does not
 * answer is told by its own failed polls, long before. */
#define SILENT_LEAST_NS (10 * NS_PER_S)
#define INTERVAL_DEFAULT_NS (10 * NS_PER_S)

struct status_row {
	const char *device, *protocol, *address, *state, *reason; /* NULL = unknown */
	bool up, polled;
	int64_t last_ns, interval_ns; /* last 0 = never */
	int64_t newest_ns, before_ns; /* of its samples, where no agent polls; 0 = none */
	double p50_s, p95_s;
	int64_t polls, timeouts, errors;
};

struct gathering {
	struct client *client;
	struct arena *arena;
	struct status_row *rows;
	size_t n, cap;
	json_t *health; /* what captures have counted, by key; NULL: nothing is known */
};

static void gathering_done(struct gathering *gathering)
{
	json_decref(gathering->health);
}

static const char *status_text_or_null(struct arena *a, const char *text)
{
	if (text && *text)
		return arena_strdup(a, text);
	return NULL;
}

static struct status_row *status_row_add(struct gathering *gathering, const char *device)
{
	arena_grow(gathering->arena, gathering->rows, gathering->n, gathering->cap);
	struct status_row *r = &gathering->rows[gathering->n++];
	*r = (struct status_row){
		.device = arena_strdup(gathering->arena, device), .p50_s = NAN, .p95_s = NAN};
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
	if (str_eq(protocol, "scrape"))
		return config_scraped_host(config, name) != NULL;
	return fabric_device(config->fabric, name) != NULL;
}

static int take_target(void *arg, int n, char *const *words, char *const *names)
{
	struct gathering *g = arg;
	if (n < 11 || !words[0] || !status_is_configured(g->client->config, words[0], words[1]))
		return 0;
	struct status_row *r = status_row_add(g, words[0]);
	r->protocol = status_text_or_null(g->arena, words[1]);
	r->polled = r->protocol != NULL;
	r->address = status_text_or_null(g->arena, words[2]);
	r->state = status_text_or_null(g->arena, words[3]);
	r->up = str_eq(words[4], "1");
	r->reason = status_text_or_null(g->arena, words[5]);
	r->last_ns = time_or_zero(words[6]);
	r->p50_s = status_number_or_nan(words[7]);
	r->p95_s = status_number_or_nan(words[8]);
	r->polls = status_count_of(words[9]);
	r->timeouts = status_count_of(words[10]);
	if (n > 11)
		r->errors = status_count_of(words[11]);
	return 0;
}

/* When its samples are: the newest two up to then. A recorded case may begin at 0, which here means
 * that there are none. */
static int status_take_newest(void *arg, const char *device, int64_t newest_ns, int64_t before_ns)
{
	struct status_row *r = row_find(arg, device);
	if (!r)
		return 0;
	r->newest_ns = newest_ns;
	if (before_ns != INT64_MIN)
		r->before_ns = before_ns;
	return 0;
}

static int status_read_newest(struct gathering *gathering, struct err *e)
{
	struct client *client = gathering->client;
	return history_newest(client->history, client->at_ns, status_take_newest, gathering, e);
}

/* A capture's newest interval, of the port that it stands for. */
static int status_take_flow(void *arg, int n, char *const *words, char *const *names)
{
	struct gathering *g = arg;
	const struct config *config = g->client->config;
	for (size_t i = 0; words[0] && words[1] && i < g->n; i++) {
		const struct config_capture *c = NULL;
		if (is_capture(&g->rows[i]))
			c = capture_find(config, g->rows[i].device);
		if (c && str_eq(c->device, words[0]) && str_eq(c->port, words[1]))
			g->rows[i].newest_ns = status_count_of(words[2]);
	}
	return 0;
}

/* How far back a capture is searched for its newest interval. */
#define CAPTURE_SEARCH_NS (15 * 60 * NS_PER_S)

/* Of the past only the data is kept, not who polled: one row a device, one a capture. */
static int status_gather_past(struct gathering *gathering, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct client *client = gathering->client;
	const struct config *config = client->config;
	for (size_t i = 0; i < config->n_captures; i++) {
		struct status_row *r = status_row_add(gathering, config->captures[i].name);
		r->protocol = "pcap";
	}
	str_addf(&sql,
		"SELECT device, port, max(to_ns) FROM flows WHERE total=1 AND to_ns>%lld AND "
		"to_ns<=%lld GROUP BY device, port",
		(long long)(client->at_ns - CAPTURE_SEARCH_NS), (long long)client->at_ns);
	return history_sql(client->history, sql.s, status_take_flow, gathering, e);
}

static int status_gather_targets(struct gathering *gathering, struct err *e)
{
	return history_sql(gathering->client->history,
		"SELECT device, protocol, address, state, up, reason, last_success, poll_p50_s, "
		"poll_p95_s, polls, timeouts,"
		" errors FROM devices WHERE protocol IS NOT NULL ORDER BY device, protocol",
		take_target, gathering, e);
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
	if (str_eq(protocol, "scrape") && config_scraped_host(config, device))
		return config_scraped_host(config, device)->scrape->interval_ns;
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

static int status_take_capture(void *arg, int n, char *const *words, char *const *names)
{
	struct gathering *gathering = arg;
	if (n >= 2 && words[0] && words[1])
		json_object_set_new(gathering->health, words[0], json_real(strtod(words[1], NULL)));
	return 0;
}

/* Of a live agent: what its captures have counted. */
static int status_gather_captures(struct gathering *gathering, struct err *e)
{
	if (gathering->client->config->n_captures == 0)
		return 0;
	gathering->health = json_object();
	return history_sql(gathering->client->history,
		"SELECT key, value FROM health WHERE key GLOB 'capture/*'", status_take_capture,
		gathering, e);
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
	int r;

	if (x->past)
		r = status_gather_past(gathering, e);
	else
		r = status_gather_targets(gathering, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f->n_devices; i++)
		if (!row_find(gathering, f->devices[i]->name))
			status_row_add(gathering, f->devices[i]->name);
	for (size_t i = 0; i < gathering->n; i++)
		gathering->rows[i].interval_ns = status_interval_of(
			x->config, gathering->rows[i].device, gathering->rows[i].protocol);
	const bool live = x->agent_alive && !x->past;
	if (live) /* then the database is of this version and has the table */
		r = history_sql(x->history,
			"SELECT key, value FROM health WHERE key GLOB 'target/*/interval_s'",
			status_take_interval, gathering, e);
	else
		r = status_read_newest(gathering, e);
	if (r == 0 && live)
		r = status_gather_captures(gathering, e);
	if (r < 0)
		return r;
	if (gathering->n > 0)
		qsort(gathering->rows, gathering->n, sizeof(*gathering->rows), compare_rows);
	return 0;
}

enum known { DOWN, UP, UNKNOWN };

/* Why nobody asks a device. */
static const char *status_unasked(const struct config *config, const char *device)
{
	const struct fabric_device *known = fabric_device(config->fabric, device);
	if (known && config->n_agents > 0 && !known->agent)
		return "no agent asks it (agents: in the configuration)";
	if (known && known->foreign)
		return "another agent asks it";
	if (known && config->judging)
		return "its agent asks it, the judge does not";
	for (size_t i = 0; i < config->n_devices; i++)
		if (str_eq(config->devices[i].name, device) &&
			config_device_polled(&config->devices[i]))
			return "not polled yet: the agent has just started, or not with this "
			       "configuration";
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
	if (!row->polled)
		return STALE_INTERVALS * interval_ns;
	const int64_t limit_ns = STALE_INTERVALS * interval_ns + STORED_LAG_NS;
	if (limit_ns < SILENT_LEAST_NS)
		return SILENT_LEAST_NS;
	return limit_ns;
}

/* Its newest time is ahead of the clock, which was set back since. */
#define AGE_AHEAD (-2)

/* The time since its newest answer or sample; -1 = there was none, or AGE_AHEAD. */
static int64_t status_age_ns(const struct client *client, const struct status_row *row)
{
	int64_t last_ns = row->newest_ns;
	if (row->polled)
		last_ns = row->last_ns;
	if (!last_ns)
		return -1;
	int64_t age_ns = client->at_ns - last_ns;
	if (age_ns < -CLIENT_SKEW_NS)
		return AGE_AHEAD;
	if (age_ns < 0)
		return 0; /* the clocks of two hosts differ */
	return age_ns;
}

/* Polled, but as far as is known nobody polls at the moment. */
static void status_explain_unpolled(
	const struct client *client, const struct status_row *row, struct str *why)
{
	char when[WALL_TEXT_MAX];
	if (client->agent == AGENT_CANNOT_TELL)
		str_addf(why, "cannot tell whether an agent runs (no right to read %s.lock)",
			client->db_path);
	else
		str_add(why, "no agent is running");
	if (row->last_ns)
		str_addf(why, "; last answer %s", wall_text(when, (wall_t){row->last_ns}, 0));
}

/* Why a device without any value has none. */
static void status_explain_no_value(
	const struct client *client, const struct status_row *row, struct str *why)
{
	if (client->past)
		str_add(why, "no sample of it up to then");
	else if (client->agent_alive)
		str_add(why, status_unasked(client->config, row->device));
	else
		str_add(why, "no sample of it is stored");
}

static void status_explain_silent(const struct status_row *row, int64_t age_ns, struct str *why)
{
	char age[32], limit[32];
	const int64_t limit_ns = status_limit_ns(row);
	duration_format(age, sizeof(age), age_ns);
	duration_format(limit, sizeof(limit), limit_ns);
	if (row->polled && row->reason) { /* the agent knows why */
		str_add(why, row->reason);
		return;
	}
	if (row->polled && limit_ns == SILENT_LEAST_NS) {
		str_addf(why, "silent for %s, more than %s", age, limit);
		return;
	}
	str_addf(why, "silent for %s, more than %d intervals%s (%s)", age, STALE_INTERVALS,
		str_if(row->polled, " and 2s to store it"), limit);
}

/* What the database says of it is too old because nothing reaches the database: when that began,
 * the device was not silent. */
static bool status_is_stuck(
	const struct client *client, const struct status_row *row, int64_t age_ns)
{
	const int64_t limit_ns = status_limit_ns(row), stuck_ns = client->at_ns - client->stuck_ns;
	if (!client->stuck_ns || client->past)
		return false;
	return stuck_ns > limit_ns || (age_ns > limit_ns && age_ns - stuck_ns <= limit_ns);
}

static void status_explain_stuck(
	const struct client *client, const struct status_row *row, struct str *why)
{
	char stuck[32];
	duration_format(stuck, sizeof(stuck), client->at_ns - client->stuck_ns);
	str_addf(why, "not known: the agent polls, but cannot write for %s", stuck);
	if (row->up)
		str_add(why, "; before that it was up");
	else if (status_was_asked(row))
		str_addf(why, "; before that: %s", str_or(row->reason, "did not answer"));
}

/* What may be said of a target, and why not more: the first case that holds. */
static enum known status_judge(
	const struct client *client, const struct status_row *row, int64_t age_ns, struct str *why)
{
	if (row->polled && !client->agent_alive) {
		status_explain_unpolled(client, row, why);
		return UNKNOWN;
	}
	if (row->polled && status_is_stuck(client, row, age_ns)) {
		status_explain_stuck(client, row, why);
		return UNKNOWN;
	}
	if (row->polled && !row->up && status_was_asked(row)) {
		str_add(why, str_or(row->reason, "does not answer"));
		return DOWN;
	}
	if (row->polled && !row->up) {
		str_add(why, str_or(row->reason, "not asked yet"));
		return UNKNOWN;
	}
	if (age_ns == AGE_AHEAD) {
		str_add(why, "its newest answer carries a time ahead of the clock");
		return UNKNOWN;
	}
	if (age_ns < 0) {
		status_explain_no_value(client, row, why);
		return UNKNOWN;
	}
	if (age_ns > status_limit_ns(row)) {
		status_explain_silent(row, age_ns, why);
		return UNKNOWN;
	}
	return UP;
}

static enum maybe status_maybe(enum known known)
{
	if (known == UNKNOWN)
		return MAYBE_UNKNOWN;
	return maybe_of(known == UP);
}

/* What the agent counts of a target is kept for the present only. */
static uint64_t status_counted(const struct client *client, int64_t value)
{
	return client->past ? COUNT_UNKNOWN : (uint64_t)value;
}

static const char *status_protocol(const struct client *client, const struct status_row *row)
{
	if (row->polled)
		return row->protocol;
	if (is_capture(row))
		return "pcap";
	if (row->newest_ns && client->agent == STORE_REPLAY)
		return "replay";
	return NULL;
}

static void status_fill_capture(struct arena *a, const struct config *config, const json_t *health,
	struct status_device *row)
{
	const char *name = row->name;
	const struct config_capture *capture = capture_find(config, name);
	if (capture) {
		row->device = arena_strdup(a, capture->device);
		row->port = arena_strdup(a, capture->port);
	}
	CAPTURE_FACTS(CAPTURE_FACT_READ)
}

static struct status_device status_device_of(
	const struct gathering *gathering, const struct status_row *row, enum known *ret_known)
{
	const struct client *client = gathering->client;
	static const char *const words[] = {[DOWN] = "down", [UP] = "up", [UNKNOWN] = "unknown"};
	rw_cleanup(str_done) struct str why = {0};
	int64_t age_ns = status_age_ns(client, row);
	enum known known = status_judge(client, row, age_ns, &why);
	struct status_device device = {.name = row->device,
		.up = status_maybe(known),
		.status = words[known],
		.reason = arena_strdup(gathering->arena, why.s),
		.age_s = NAN,
		.protocol = status_protocol(client, row),
		.address = row->address,
		.is_capture = is_capture(row),
		.state = row->state,
		.interval_s = (double)row->interval_ns / 1e9,
		.poll_p50_s = row->p50_s,
		.poll_p95_s = row->p95_s,
		.polls = status_counted(client, row->polls),
		.timeouts = status_counted(client, row->timeouts),
		.errors = status_counted(client, row->errors)};
	/* Milliseconds are as fine as an age is known. */
	if (age_ns >= 0)
		device.age_s = (double)(age_ns / NS_PER_MS) / 1e3;
	if (device.is_capture)
		status_fill_capture(gathering->arena, client->config, gathering->health, &device);
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
	const struct status_row *before, enum known known, double age_s)
{
	if (!isnan(age_s) && !(age_s <= counts->oldest_s))
		counts->oldest_s = age_s;
	if (is_capture(row))
		counts->captures[known]++;
	else
		status_count_device(counts, row, before, known);
	counts->polls += row->polls;
	counts->timeouts += row->timeouts;
	counts->errors += row->errors;
}

/* A timeout is one request without an answer, and a poll is many requests: the ratio says how lossy
 * the way to the devices is, not how much data is missing. */
static struct status_quality status_quality_of(const struct client *client,
	const struct status_counts *counts, const struct agent_state *agent, int64_t first_ns)
{
	return (struct status_quality){.agent_running = agent_running(client),
		.first_sample = client->has_data ? (wall_t){first_ns} : TIME_UNKNOWN,
		.newest_sample = agent->data_time,
		.newest_sample_age_s = agent->data_age_s,
		.stale = agent->stale,
		.oldest_device_age_s = counts->oldest_s,
		.up = counts->devices[UP],
		.down = counts->devices[DOWN],
		.unknown = counts->devices[UNKNOWN],
		.captures_up = counts->captures[UP],
		.captures_down = counts->captures[DOWN],
		.captures_unknown = counts->captures[UNKNOWN],
		.polls = status_counted(client, counts->polls),
		.timeouts = status_counted(client, counts->timeouts),
		.errors = status_counted(client, counts->errors)};
}

static void status_take_devices(
	const struct gathering *gathering, struct status_counts *counts, struct status_answer *ret)
{
	ret->devices = arena_array(gathering->arena, struct status_device, gathering->n);
	ret->n_devices = gathering->n;
	for (size_t i = 0; i < gathering->n; i++) {
		const struct status_row *row = &gathering->rows[i];
		enum known known;
		ret->devices[i] = status_device_of(gathering, row, &known);
		status_count(counts, row, i > 0 ? row - 1 : NULL, known, ret->devices[i].age_s);
	}
}

/* Of a live agent: what it cannot do, how far those are to which it sends, whom it refused. */
static int status_take_store(struct gathering *gathering, struct status_answer *ret, struct err *e)
{
	struct client *client = gathering->client;
	struct gathering store = {.client = client, .health = json_object()};
	int r = 0;
	if (client->agent_alive && !client->past)
		r = history_sql(client->history,
			"SELECT key, value FROM health WHERE key GLOB 'store/*' OR key GLOB "
			"'ship/*' OR key GLOB 'push/*/refused:*' OR key GLOB "
			"'capture/*/refused:*' OR key GLOB 'traps/*/refused:*'",
			status_take_capture, &store, e);
	ret->alarms = store_alarms_read(store.health, gathering->arena, &ret->n_alarms);
	ret->ship = ship_facts_read(client, store.health, gathering->arena, &ret->n_ship);
	ret->refused = refused_facts_read(store.health, gathering->arena, &ret->n_refused);
	gathering_done(&store);
	return r;
}

/* ---- is there something to judge? ------------------------------------------- */

static int status_take_series(void *arg, int n, char *const *words, char *const *names)
{
	bool *any = arg;
	*any = true;
	return 1;
}

/* Did any device ever deliver a counter that a detector reads? A store that has no list of its
 * series is not asked, and packets are judged without. */
static bool status_nothing_to_judge(struct client *client)
{
	rw_cleanup(str_done) struct str sql = {0};
	bool wanted[METRIC_COUNT] = {0}, any = false;
	if (!client->has_data || client->config->n_captures > 0)
		return false;
	need_wants(wanted);
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		if (wanted[m] && metric_info(m)->kind != METRIC_STATE)
			str_addf(&sql, "%s'%s'", str_if(sql.n > 0, ", "), metric_info(m)->name);
	rw_cleanup(str_done) struct str all = {0};
	str_addf(&all, "SELECT 1 FROM series WHERE metric IN (%s) LIMIT 1", str_or(sql.s, "''"));
	return history_sql(client->history, all.s, status_take_series, &any, NULL) == 0 && !any;
}

/* As many intervals as the fastest detectors take for a window. */
enum { WINDOW_INTERVALS = 3 };

/* Why no incident is about the first device or capture that is @up; NULL: none is. */
static const char *status_unjudged(const struct client *client, const struct status_answer *status,
	const struct open_incident *incidents, size_t n, enum maybe up, struct arena *a)
{
	rw_cleanup(str_done) struct str why = {0};
	size_t i = 0;
	while (i < status->n_devices && status->devices[i].up != up)
		i++;
	if (i == status->n_devices)
		return NULL;
	const struct unjudged what = unjudged_device(client, &status->devices[i], incidents, n);
	unjudged_say(&what, &why);
	return arena_strdup(a, why.s);
}

void status_verdict(const struct client *client, const struct status_answer *status,
	const struct open_incident *incidents, size_t n, struct arena *a, struct verdict *ret)
{
	/* a judge's samples are in other databases */
	int64_t window_ns = (WINDOW_INTERVALS - 1) * config_interval(client->config);
	if (client->config->judging)
		window_ns = 0;
	const struct status_quality *quality = &status->data_quality;
	const char *down_why = NULL, *unknown_why = NULL;
	if (quality->down + quality->captures_down > 0)
		down_why = status_unjudged(client, status, incidents, n, MAYBE_NO, a);
	if (n > 0 && quality->unknown + quality->captures_unknown > 0)
		unknown_why = status_unjudged(client, status, incidents, n, MAYBE_UNKNOWN, a);
	const struct verdict_in in = {.incidents = incidents,
		.n_incidents = n,
		.quality = quality,
		.down_why = down_why,
		.unknown_why = unknown_why,
		.agent = &status->agent,
		.alarms = status->alarms,
		.n_alarms = status->n_alarms,
		.window_ns = window_ns,
		.judged_elsewhere = status->judged_elsewhere,
		.nothing_to_judge = status->nothing_to_judge};
	verdict_of(&in, a, ret);
}

static void status_take_verdict(
	const struct client *client, struct arena *a, struct status_answer *status)
{
	struct verdict verdict;
	status_verdict(client, status, status->incidents, status->n_incidents, a, &verdict);
	status->state = verdict.state;
	status->state_why = verdict.why;
	status->money = verdict.money;
}

int status_read(struct client *client, struct arena *a, struct status_answer *ret, struct err *e)
{
	rw_cleanup(gathering_done) struct gathering gathering = {.client = client, .arena = a};
	struct status_counts counts = {.oldest_s = NAN, .best = DOWN};
	int64_t first_ns = 0, last_ns = 0;
	*ret = (struct status_answer){.fabric = arena_strdup(a, client->config->fabric->name),
		.time.ns = client->at_ns,
		.open_incidents = COUNT_UNKNOWN};
	int r = status_gather(&gathering, e);
	if (r < 0)
		return r;
	r = history_range(client->history, &first_ns, &last_ns, e);
	if (r < 0 && r != -ENODATA)
		return r;
	r = open_incidents_read(client, a, &ret->incidents, &ret->n_incidents, e);
	if (r == 0)
		r = agent_state_whole(client, a, &ret->agent, e);
	if (r == 0)
		r = class_worlds_read(
			client, gathering.health, a, &ret->classes, &ret->n_classes, e);
	if (r < 0)
		return r;
	status_take_devices(&gathering, &counts, ret);
	ret->judged_elsewhere = config_judged_elsewhere(client->config);
	if (!ret->judged_elsewhere)
		ret->open_incidents = ret->n_incidents;
	ret->data_quality = status_quality_of(client, &counts, &ret->agent, first_ns);
	ret->nothing_to_judge = !client->config->judging && status_nothing_to_judge(client);
	r = status_take_store(&gathering, ret, e);
	if (r == 0)
		status_take_verdict(client, a, ret);
	return r;
}

json_t *status_document(struct client *client, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct status_answer answer;
	if (status_read(client, a, &answer, e) < 0)
		return NULL;
	return shape_json(&status_answer_shape, &answer);
}
