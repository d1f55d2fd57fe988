/* incident_timeline - puts the events of the database beside the lines of an incident. */
#include "agent/answers/incident/incident_timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "db/model/cause.h"
#include "db/series/history.h"

#define BEFORE_NS (3600 * NS_PER_S)
/* Of other events: a device that reports a trap each second must not bury the rest. */
enum { EVENTS_MAX = 200 };

/* ---- which events belong to it ------------------------------------------- */

struct timeline {
	const json_t *incident;
	int64_t from_ns, onset_ns, to_ns;
	json_t *lines; /* [{t, kind, text}] */
	json_t *changes; /* texts of change tickets before the onset; NULL: not asked for */
};

static int64_t timeline_time(const json_t *object, const char *key, int64_t otherwise_ns)
{
	wall_t t;
	if (wall_parse(doc_word(object, key), (wall_t){0}, &t) != 0)
		return otherwise_ns;
	return t.ns;
}

/* Is it the subject's device, or that of a culprit? An incident without a device is about all. */
static bool timeline_has_device(const json_t *incident, const char *device)
{
	const char *own = doc_word(json_object_get(incident, "subject"), "device");
	const size_t n = strlen(device);
	const json_t *role;
	size_t k;
	if (!*own || str_eq(own, device))
		return true;
	json_array_foreach (json_object_get(incident, "roles"), k, role) {
		const char *entity = doc_word(role, "entity");
		const bool named =
			strncmp(entity, device, n) == 0 && (!entity[n] || entity[n] == ':');
		if (named && str_eq(doc_word(role, "role"), "culprit"))
			return true;
	}
	return false;
}

static bool timeline_has_job(const json_t *incident, const char *job)
{
	const json_t *o;
	size_t k;
	json_array_foreach (json_object_get(incident, "jobs"), k, o)
		if (str_eq(json_string_value(o), job))
			return true;
	return false;
}

struct timeline_event {
	int64_t t_ns;
	const char *kind, *incident, *who, *text, *device, *port, *job; /* "" where it has none */
};

static bool timeline_concerns(const struct timeline *t, const struct timeline_event *event)
{
	const char *port = doc_word(json_object_get(t->incident, "subject"), "port");
	if (*event->incident)
		return str_eq(event->incident, doc_word(t->incident, "id"));
	if (*event->device && !timeline_has_device(t->incident, event->device))
		return false;
	if (*event->port && *port && !str_eq(event->port, port))
		return false;
	return !*event->job || timeline_has_job(t->incident, event->job);
}

/* ---- words --------------------------------------------------------------- */

static void timeline_add_kind(struct str *out, const char *kind)
{
	const struct {
		const char *kind, *words;
	} known[] = {
		{cause_name(CAUSE_CONFIG_DRIFT), "setting changed"},
		{"clock_step", "clock stepped"},
		{"agent_start", "agent started"},
		{"agent_stop", "agent stopped"},
		{"agent_away", "agent was away"},
		{"memory_pressure", "memory was short"},
		{"config_reloaded", "configuration reloaded"},
		{"config_refused", "configuration refused"},
	};
	for (size_t k = 0; k < rw_countof(known); k++)
		if (str_eq(known[k].kind, kind)) {
			str_add(out, known[k].words);
			return;
		}
	for (; *kind; kind++)
		str_addn(out, *kind == '_' ? " " : kind, 1);
}

static void timeline_add(struct timeline *t, int64_t t_ns, const char *kind, const char *text)
{
	json_t *line = json_object();
	json_object_set_new(line, "t", json_time(t_ns));
	json_object_set_new(line, "kind", json_string(kind));
	json_object_set_new(line, "text", json_string_or_null(text));
	json_object_set_new(line, "t_ns", json_integer(t_ns));
	json_array_append_new(t->lines, line);
}

static void timeline_take_event(struct timeline *t, const struct timeline_event *event)
{
	rw_cleanup(str_done) struct str text = {0};
	timeline_add_kind(&text, event->kind);
	if (*event->who)
		str_addf(&text, " by %s", event->who);
	if (*event->text)
		str_addf(&text, ": %s", event->text);
	timeline_add(t, event->t_ns, event->kind, text.s);
	if (t->changes && str_eq(event->kind, "change") && event->t_ns <= t->onset_ns) {
		char time[WALL_TEXT_MAX];
		rw_cleanup(str_done) struct str change = {0};
		str_addf(&change, "%s %s", wall_text(time, (wall_t){event->t_ns}, 0), text.s);
		json_array_append_new(t->changes, json_string_or_null(change.s));
	}
}

/* ---- from the database --------------------------------------------------- */

enum { EV_TIME, EV_KIND, EV_INCIDENT, EV_WHO, EV_TEXT, EV_DEVICE, EV_PORT, EV_JOB, EV_COLUMNS };

static int timeline_take_row(void *arg, int n, char *const *words, char *const *names)
{
	struct timeline *t = arg;
	const char *v[EV_COLUMNS];
	if (n != EV_COLUMNS)
		return 0;
	for (int k = 0; k < EV_COLUMNS; k++)
		v[k] = str_or(words[k], "");
	const struct timeline_event event = {.t_ns = strtoll(v[EV_TIME], NULL, 10),
		.kind = v[EV_KIND],
		.incident = v[EV_INCIDENT],
		.who = v[EV_WHO],
		.text = v[EV_TEXT],
		.device = v[EV_DEVICE],
		.port = v[EV_PORT],
		.job = v[EV_JOB]};
	if (timeline_concerns(t, &event))
		timeline_take_event(t, &event);
	return json_array_size(t->lines) >= EVENTS_MAX;
}

static int timeline_read(struct client *client, struct timeline *t, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql,
		"SELECT t_ns, kind, incident_id, who, text, device, port, job FROM events "
		"WHERE t_ns BETWEEN %" PRId64 " AND %" PRId64 " AND kind<>'incident' ORDER BY t_ns",
		t->from_ns, t->to_ns);
	const int r = history_sql(client->history, sql.s, timeline_take_row, t, e);
	if (r > 0) /* enough lines */
		return 0;
	return r;
}

static struct timeline timeline_of(const struct client *client, const json_t *incident)
{
	const int64_t opened_ns = timeline_time(incident, "opened", client->now_ns);
	struct timeline t = {.incident = incident, .lines = json_array()};
	t.onset_ns = timeline_time(incident, "first", opened_ns);
	t.from_ns = t.onset_ns - BEFORE_NS;
	t.to_ns = timeline_time(incident, "closed", client->now_ns);
	return t;
}

/* ---- in order ------------------------------------------------------------ */

/* Its own lines, behind an event of the same moment. */
static void timeline_add_own(struct timeline *t)
{
	const json_t *line;
	size_t k;
	/* what it showed then stands in the line in which it opened: the headline may be a later
	 * one */
	timeline_add(t, t->onset_ns, "onset", "onset: first window in which it was seen");
	json_array_foreach (json_object_get(t->incident, "timeline"), k, line)
		timeline_add(t, timeline_time(line, "t", t->onset_ns), "incident",
			doc_word(line, "text"));
}

struct timeline_entry {
	int64_t t_ns;
	size_t place;
	json_t *line;
};

static int timeline_older(const void *left, const void *right)
{
	const struct timeline_entry *x = left, *y = right;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static json_t *timeline_sorted(json_t *lines)
{
	const size_t n = json_array_size(lines);
	rw_cleanup(freep) struct timeline_entry *v = rw_calloc(n + 1, sizeof(*v));
	json_t *sorted = json_array();
	for (size_t k = 0; k < n; k++) {
		json_t *line = json_array_get(lines, k);
		v[k] = (struct timeline_entry){
			json_integer_value(json_object_get(line, "t_ns")), k, line};
	}
	qsort(v, n, sizeof(*v), timeline_older);
	for (size_t k = 0; k < n; k++) {
		json_object_del(v[k].line, "t_ns");
		json_array_append(sorted, v[k].line);
	}
	json_decref(lines);
	return sorted;
}

int incident_timeline(struct client *client, const json_t *incident, json_t **ret, struct err *e)
{
	struct timeline t = timeline_of(client, incident);
	const int r = timeline_read(client, &t, e);
	if (r < 0) {
		json_decref(t.lines);
		return r;
	}
	timeline_add_own(&t);
	*ret = timeline_sorted(t.lines);
	return 0;
}

int incident_changes(struct client *client, const json_t *incident, json_t *list, struct err *e)
{
	struct timeline t = timeline_of(client, incident);
	t.changes = list;
	t.to_ns = t.onset_ns;
	const int r = timeline_read(client, &t, e);
	json_decref(t.lines);
	return r;
}
