/* report_shift - people, changes, silences, money and staleness of a stretch of time. */
#include "agent/reports/report_shift.h"

#include "agent/answers/common/range_read.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/silence.h"
#include "agent/answers/common/agent_state.h"
#include "agent/answers/alerts/alert_views.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_list.h"
#include "config/config.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/series/history.h"

/* report_traffic - the parts of a shift's report that are read from samples: how much of the
 * telemetry arrived, and which frames were dropped. */

enum { DROPS_SHOWN = 20 };

/* ---- telemetry ------------------------------------------------------------------------------ */

/* Of one device: in each step the series that was seen most of it. */
struct traffic_device {
	const char *name;
	bool polled; /* something is expected of it */
	int64_t seen_ns, step_seen_ns, longest_ns;
	size_t step; /* of .step_seen_ns */
	bool any;
};

struct traffic_walk {
	const struct range_plan *plan;
	const struct entities *entities;
	struct traffic_device *v;
	size_t n, cap;
	struct smap *index;
};

static struct traffic_device *traffic_device_of(struct traffic_walk *walk, const char *name)
{
	uint64_t at;
	if (smap_get(walk->index, name, strlen(name), &at))
		return &walk->v[at];
	smap_put(walk->index, name, strlen(name), walk->n);
	rw_grow(walk->v, walk->n, walk->cap);
	walk->v[walk->n] = (struct traffic_device){.name = name, .step = SIZE_MAX};
	return &walk->v[walk->n++];
}

static void traffic_step(void *arg, size_t step, const struct rollup *rollup)
{
	struct traffic_walk *walk = arg;
	const struct entity *entity = entity_get(walk->entities, rollup->entity);
	if (!entity || *entity->device == '(') /* the agent's own */
		return;
	struct traffic_device *device = traffic_device_of(walk, entity->device);
	if (device->step != step) {
		device->seen_ns += device->step_seen_ns;
		device->step_seen_ns = 0;
		device->step = step;
	}
	device->any = true;
	if (rollup->seen_ns > device->step_seen_ns)
		device->step_seen_ns = rollup->seen_ns;
	if (rollup->longest_ns > device->longest_ns)
		device->longest_ns = rollup->longest_ns;
}

static double traffic_coverage(const struct traffic_walk *walk, const struct traffic_device *device)
{
	const struct range_plan *plan = walk->plan;
	if (plan->n_steps == 0 || !device->any)
		return NAN;
	return fmin(1,
		(double)(device->seen_ns + device->step_seen_ns) /
			(double)(plan->last_ns - plan->first_ns));
}

/* Those of which nothing came first, then the least covered. */
static json_t *traffic_rows(const struct traffic_walk *walk)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < walk->n; i++) {
		const struct traffic_device *device = &walk->v[i];
		const double coverage = traffic_coverage(walk, device);
		size_t at = json_array_size(rows);
		double gap_s = NAN;
		if (device->any)
			gap_s = (double)device->longest_ns / (double)NS_PER_S;
		while (at > 0) {
			const double above =
				doc_number(json_array_get(rows, at - 1), "coverage_ratio");
			if (isnan(above) || (!isnan(coverage) && above <= coverage))
				break;
			at--;
		}
		json_array_insert_new(rows, at,
			json_pack("{s:s, s:o, s:o}", "device", device->name, "coverage_ratio",
				json_number_or_null(coverage), "longest_gap_s",
				json_number_or_null(gap_s)));
	}
	return rows;
}

static void traffic_judge(const struct traffic_walk *walk, json_t *doc, double *ret_mean)
{
	double sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < walk->n; i++) {
		const struct traffic_device *device = &walk->v[i];
		const double coverage = traffic_coverage(walk, device);
		n++;
		if (!isnan(coverage)) {
			sum += coverage;
			continue;
		}
		report_missing(doc, "%s: nothing of it is stored in this time", device->name);
		report_problem(doc, REPORT_UNKNOWN, "no_data", device->name,
			"%s: nothing of it is stored in this time", device->name);
	}
	*ret_mean = NAN;
	if (n > 0 && walk->plan->n_steps > 0)
		*ret_mean = sum / (double)n;
}

int report_put_telemetry(struct client *client, json_t *doc, struct err *e)
{
	static const uint16_t metrics[] = {
		M_PORT_OUT_OCTETS, M_PORT_IN_OCTETS, M_PFC_RX_FRAMES, M_PFC_RX_PAUSE_NS};
	struct range_plan plan;
	struct range_read read = {0};
	int rc = range_plan_make(client, &plan, e);
	if (rc < 0)
		return rc;
	struct traffic_walk walk = {
		.plan = &plan, .entities = history_entities(client->history), .index = smap_new()};
	for (size_t i = 0; i < client->config->n_devices; i++)
		if (config_device_polled(&client->config->devices[i]))
			traffic_device_of(&walk, client->config->devices[i].name);
	rc = range_read(client, &plan, metrics, rw_countof(metrics), &read, traffic_step, &walk, e);
	if (rc == 0) {
		double mean;
		json_t *rows = traffic_rows(&walk);
		traffic_judge(&walk, doc, &mean);
		json_object_set_new(doc, "telemetry",
			json_pack("{s:o, s:s, s:o}", "coverage_ratio", json_number_or_null(mean),
				"source", range_source(&read), "devices", rows));
		report_figure(doc, "telemetry_ratio", "availability of telemetry", mean, "ratio");
		range_missing(client, &plan, &read, doc);
	}
	range_read_done(&read);
	smap_free(walk.index);
	free(walk.v);
	return rc;
}

/* ---- drops --------------------------------------------------------------------------------- */

struct traffic_drop {
	const struct entity *entity;
	double frames;
};

static int traffic_drop_order(const void *left, const void *right)
{
	const struct traffic_drop *a = left, *b = right;
	if (a->frames != b->frames)
		return a->frames < b->frames ? 1 : -1;
	return (a->entity->id > b->entity->id) - (a->entity->id < b->entity->id);
}

static void traffic_drop_put(json_t *rows, const struct traffic_drop *drop)
{
	const struct entity *entity = drop->entity;
	if (json_array_size(rows) < DROPS_SHOWN)
		json_array_append_new(rows,
			json_pack("{s:s, s:s, s:i, s:f}", "device", entity->device, "port",
				entity->port, "priority", entity->priority, "frames",
				drop->frames));
}

/* One problem for each device; @drops most first. */
static void traffic_drop_problems(json_t *doc, const struct traffic_drop *drops, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct entity *worst = drops[i].entity;
		double frames = 0;
		size_t queues = 0;
		bool first = true;
		for (size_t k = 0; k < n; k++) {
			if (!str_eq(drops[k].entity->device, worst->device))
				continue;
			first &= k >= i;
			frames += drops[k].frames;
			queues++;
		}
		if (first)
			report_problem(doc, REPORT_CRITICAL, cause_name(CAUSE_LOSSLESS_LOSS),
				worst->device,
				"%s dropped %s frames of lossless priorities in %zu queue%s, most "
				"at %s p%d",
				worst->device, number_count_of(frames).s, queues,
				queues == 1 ? "" : "s", worst->port, worst->priority);
	}
}

/* A queue and its priority group count different drops: both are added. */
static size_t traffic_drop_of(struct traffic_drop *drops, size_t n, const struct entity *entity)
{
	for (size_t i = 0; i < n; i++)
		if (drops[i].entity == entity)
			return i;
	return n;
}

static void traffic_drops_fill(struct client *client, const struct range_read *read, json_t *doc)
{
	const struct entities *entities = history_entities(client->history);
	const unsigned lossless_mask = client->config->fabric->lossless_mask;
	double lossless = NAN, other = NAN, discards = NAN;
	size_t n = 0;
	rw_cleanup(freep) struct traffic_drop *drops = rw_calloc(read->n + 1, sizeof(*drops));
	json_t *rows = json_array();
	for (size_t i = 0; i < read->n; i++) {
		const struct range_series *series = &read->v[i];
		const struct entity *entity = entity_get(entities, series->entity);
		const struct amount amount = range_amount(&series->whole);
		if (!entity || !amount.known)
			continue;
		if (entity->priority < 0) {
			discards = range_add(discards, amount.value);
			continue;
		}
		if (!(lossless_mask >> entity->priority & 1)) {
			other = range_add(other, amount.value);
			continue;
		}
		lossless = range_add(lossless, amount.value);
		if (amount.value <= 0)
			continue;
		const size_t at = traffic_drop_of(drops, n, entity);
		if (at == n)
			drops[n++] = (struct traffic_drop){.entity = entity};
		drops[at].frames += amount.value;
	}
	if (n > 1)
		qsort(drops, n, sizeof(*drops), traffic_drop_order);
	for (size_t i = 0; i < n; i++)
		traffic_drop_put(rows, &drops[i]);
	traffic_drop_problems(doc, drops, n);
	if (isnan(lossless))
		report_missing(doc, "drops of lossless priorities are counted by no switch");
	json_object_set_new(doc, "drops",
		json_pack("{s:o, s:o, s:o, s:o}", "lossless", json_number_or_null(lossless),
			"other", json_number_or_null(other), "discards",
			json_number_or_null(discards), "rows", rows));
	report_figure(
		doc, "lossless_drops", "frames dropped in lossless priorities", lossless, "frames");
}

int report_put_drops(struct client *client, json_t *doc, struct err *e)
{
	static const uint16_t metrics[] = {
		M_PG_DROPS, M_QUEUE_DROPS, M_PORT_IN_DISCARDS, M_PORT_OUT_DISCARDS};
	struct range_plan plan;
	struct range_read read = {0};
	int rc = range_plan_make(client, &plan, e);
	if (rc < 0)
		return rc;
	rc = range_read(client, &plan, metrics, rw_countof(metrics), &read, NULL, NULL, e);
	if (rc == 0)
		traffic_drops_fill(client, &read, doc);
	range_read_done(&read);
	return rc;
}

/* ---- report_shift -------------------------------------------------------- */

static int report_error(const struct err *e)
{
	return e->code ? e->code : -EIO;
}

/* ---- what people did to incidents -------------------------------------------------------- */

/* A line of a timeline that a person is behind, taken apart. Borrowed from the line. */
struct shift_line {
	const char *action, *who, *text;
	size_t n_who;
};

/* Words with which the ledger itself begins a line. */
static bool shift_is_machine(const char *text, size_t n)
{
	static const char *const words[] = {
		"pending", "open", "clearing", "closed", "cause", "severity"};
	for (size_t i = 0; i < rw_countof(words); i++)
		if (strlen(words[i]) == n && strncmp(text, words[i], n) == 0)
			return true;
	return memchr(text, ' ', n) != NULL;
}

/* "ann: text", "ann". */
static void shift_split(const char *rest, struct shift_line *ret)
{
	const char *colon = strstr(rest, ": ");
	ret->who = rest;
	ret->n_who = colon ? (size_t)(colon - rest) : strlen(rest);
	ret->text = colon ? colon + 2 : "";
}

static bool shift_read_line(const char *text, struct shift_line *ret)
{
	const char *rest = NULL, *colon = strstr(text, ": ");
	if (str_begins(text, "acknowledged by ", &rest)) {
		shift_split(rest, ret);
		ret->action = "acknowledged";
		return true;
	}
	if (str_begins(text, "closed: by ", &rest)) {
		shift_split(rest, ret);
		ret->action = "closed";
		return true;
	}
	if (str_begins(text, "assigned to ", &rest)) {
		const char *by = strstr(rest, " by ");
		*ret = (struct shift_line){"assigned", by ? by + 4 : "", rest, 0};
		ret->n_who = strlen(ret->who);
		return true;
	}
	if (!colon || shift_is_machine(text, (size_t)(colon - text)))
		return false;
	shift_split(text, ret);
	ret->action = "noted";
	return true;
}

static void shift_take_lines(const struct client *client, const json_t *incident, json_t *people)
{
	const json_t *line;
	size_t i;
	json_array_foreach (json_object_get(incident, "timeline"), i, line) {
		struct shift_line parts;
		wall_t t;
		if (wall_parse(doc_word(line, "t"), (wall_t){0}, &t) != 0 ||
			t.ns < client->from_ns || t.ns > client->to_ns ||
			!shift_read_line(doc_word(line, "text"), &parts))
			continue;
		json_t *row = json_object();
		json_object_set(row, "time", json_object_get(line, "t"));
		json_object_set(row, "incident", json_object_get(incident, "id"));
		json_object_set_new(
			row, "headline", json_string_or_null(incident_headline_of(incident)));
		json_object_set_new(row, "who", json_stringn(parts.who, parts.n_who));
		json_object_set_new(row, "action", json_string(parts.action));
		json_object_set_new(row, "text", json_string(parts.text));
		json_array_append_new(people, row);
	}
}

/* Oldest first: times in UTC sort as text. */
static json_t *shift_by_time(json_t *rows)
{
	json_t *sorted = json_array(), *row;
	size_t i;
	json_array_foreach (rows, i, row) {
		size_t at = json_array_size(sorted);
		while (at > 0 &&
			strcmp(doc_word(json_array_get(sorted, at - 1), "time"),
				doc_word(row, "time")) > 0)
			at--;
		json_array_insert(sorted, at, row);
	}
	json_decref(rows);
	return sorted;
}

int report_put_people(struct client *client, json_t *doc, struct err *e)
{
	struct client ranged = report_client(client);
	json_t *stored = incidents_load(&ranged, NULL, e), *people = json_array(), *incident;
	size_t i;
	if (!stored) {
		json_decref(people);
		return report_error(e);
	}
	json_array_foreach (stored, i, incident)
		shift_take_lines(client, incident, people);
	json_decref(stored);
	json_object_set_new(doc, "people", shift_by_time(people));
	return 0;
}

/* ---- what was changed ---------------------------------------------------------------------- */

static bool shift_is_change(const char *kind)
{
	static const char *const kinds[] = {"change", "tuning", "topology", "jobs", "agent_start",
		"agent_stop", "agent_away", "clock_step", "store_late", "store_damaged",
		"reload_refused", "silence_added", "silence_expired", "silence_moved"};
	for (size_t i = 0; i < rw_countof(kinds); i++)
		if (str_eq(kinds[i], kind))
			return true;
	return false;
}

int report_put_changes(struct client *client, json_t *doc, struct err *e)
{
	static const char *const kept[] = {"kind", "device", "port", "job", "who", "text"};
	json_t *events = events_document(client, NULL, NULL, e), *changes = json_array(), *event;
	size_t i;
	if (!events) {
		json_decref(changes);
		return report_error(e);
	}
	json_array_foreach (json_object_get(events, "events"), i, event) {
		if (!shift_is_change(doc_word(event, "kind")))
			continue;
		json_t *row = json_object();
		json_object_set(row, "time", json_object_get(event, "t"));
		for (size_t k = 0; k < rw_countof(kept); k++)
			json_object_set(row, kept[k], json_object_get(event, kept[k]));
		json_array_append_new(changes, row);
	}
	json_decref(events);
	json_object_set_new(doc, "changes", changes);
	return 0;
}

int report_put_silences(struct client *client, json_t *doc, struct err *e)
{
	rw_cleanup(silences_done) struct silences silences = {0};
	const int rc = silences_load(client->history, &silences, e);
	json_t *rows = json_array();
	for (size_t i = 0; rc == 0 && i < silences.n; i++) {
		const struct silence *silence = &silences.v[i];
		if (silence->until_ns > client->from_ns && silence->from_ns < client->to_ns)
			json_array_append_new(rows, silence_json(silence, client->to_ns));
	}
	json_object_set_new(doc, "silences", rows);
	return rc;
}

/* ---- money ---------------------------------------------------------------------------------- */

static const char *shift_biggest(const json_t *incidents)
{
	const char *id = NULL;
	double most = 0;
	const json_t *row;
	size_t i;
	json_array_foreach (incidents, i, row) {
		const double usd = doc_number(row, "usd_in_range");
		if (!(usd > most))
			continue;
		most = usd;
		id = doc_word(row, "id");
	}
	return id;
}

void report_put_money(const struct client *client, json_t *doc)
{
	const struct fabric *fabric = client->config->fabric;
	const json_t *incidents = json_object_get(doc, "incidents");
	const uint64_t gpus = fabric_gpus(fabric);
	const double hours = (double)(client->to_ns - client->from_ns) / (3600.0 * NS_PER_S);
	double all = NAN, price = NAN, usd = NAN;
	json_t *money = json_object();
	if (fabric->usd_per_gpu_hour > 0)
		price = fabric->usd_per_gpu_hour;
	if (gpus > 0)
		all = (double)gpus * price * hours;
	if (!isnan(price))
		usd = report_incidents_usd(incidents);
	else
		report_missing(doc,
			"no price is configured (cost.usd_per_gpu_hour): incidents "
			"have no cost");
	json_object_set_new(money, "usd_in_range", json_number_or_null(usd));
	json_object_set_new(money, "usd_of_range", json_number_or_null(all));
	json_object_set_new(money, "share_ratio", json_number_or_null(usd / all));
	json_object_set_new(money, "gpus", gpus ? json_integer((json_int_t)gpus) : json_null());
	json_object_set_new(money, "usd_per_gpu_hour", json_number_or_null(price));
	json_object_set_new(money, "biggest", json_string_or_null(shift_biggest(incidents)));
	json_object_set_new(doc, "money", money);
	report_figure(doc, "usd", "cost of incidents in this time", usd, "USD");
}

/* ---- old data ------------------------------------------------------------------------------- */

int report_put_stale(struct client *client, json_t *doc, struct err *e)
{
	struct agent_state state;
	char age[32];
	if (client->to_ns < client->end_ns)
		return 0;
	const int rc = agent_state_read(client, &state, e);
	if (rc < 0)
		return rc;
	if (!state.has_data || !state.stale)
		return 0;
	duration_format(age, sizeof(age), state.age_ns);
	report_missing(doc, "the newest sample is %s old: what happened since is not known", age);
	report_problem(doc, REPORT_UNKNOWN, "stale_data", "",
		"the data is old, its newest sample is of %s ago: is the agent running?", age);
	return 0;
}
