/* incident_timeline - puts the events of the database beside the lines of an incident. */
#include "agent/answers/incident/incident_timeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/answers/incident/incident_read.h"
#include "base/arena.h"
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

struct timeline_line {
	int64_t t_ns;
	const char *kind, *text;
	size_t place;
};
#define SHAPE struct timeline_line
static const struct field timeline_line_fields[] = {
	TIME_NS("t", t_ns, ""),
	TEXT(kind, "", .known = true),
	TEXT(text, "", .known = true),
};
static SHAPE_OF(timeline_line, "line", "");
#undef SHAPE

struct timeline {
	const struct incident_told *incident;
	int64_t from_ns, onset_ns, to_ns;
	struct arena *arena;
	struct timeline_line *lines;
	size_t n, cap;
	json_t *changes; /* texts of change tickets before the onset; NULL: not asked for */
};

/* Is it the subject's device, or that of a culprit? An incident without a device is about all. */
static bool timeline_has_device(const struct incident_told *incident, const char *device)
{
	const char *own = incident->subject.device;
	const size_t n = strlen(device);
	if (!*own || str_eq(own, device))
		return true;
	for (size_t k = 0; k < incident->n_roles; k++) {
		const char *entity = incident->roles[k].entity;
		const bool named =
			strncmp(entity, device, n) == 0 && (!entity[n] || entity[n] == ':');
		if (named && str_eq(incident->roles[k].role, "culprit"))
			return true;
	}
	return false;
}

static bool timeline_has_job(const struct incident_told *incident, const char *job)
{
	for (size_t k = 0; k < incident->n_jobs; k++)
		if (str_eq(incident->jobs[k], job))
			return true;
	return false;
}

struct timeline_event {
	int64_t t_ns;
	const char *kind, *incident, *who, *text, *device, *port, *job; /* "" where it has none */
};

static bool timeline_concerns(const struct timeline *t, const struct timeline_event *event)
{
	const char *port = t->incident->subject.port;
	if (*event->incident)
		return str_eq(event->incident, t->incident->id);
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
	arena_grow(t->arena, t->lines, t->n, t->cap);
	t->lines[t->n] = (struct timeline_line){
		t_ns, arena_strdup(t->arena, kind), arena_strdup(t->arena, text), t->n};
	t->n++;
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
	return t->n >= EVENTS_MAX;
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

static struct timeline timeline_of(
	const struct client *client, const struct incident_told *incident, struct arena *a)
{
	const int64_t opened_ns = incident_time_ns(incident->opened, client->now_ns);
	struct timeline t = {.incident = incident, .arena = a};
	t.onset_ns = incident_time_ns(incident->first, opened_ns);
	t.from_ns = t.onset_ns - BEFORE_NS;
	t.to_ns = incident_time_ns(incident->closed, client->now_ns);
	return t;
}

/* ---- in order ------------------------------------------------------------ */

/* Its own lines, behind an event of the same moment. */
static void timeline_add_own(struct timeline *t)
{
	/* what it showed then stands in the line in which it opened: the headline may be a later
	 * one */
	timeline_add(t, t->onset_ns, "onset", "onset: first window in which it was seen");
	for (size_t k = 0; k < t->incident->n_timeline; k++) {
		const struct told_line *line = &t->incident->timeline[k];
		timeline_add(t, incident_time_ns(line->t, t->onset_ns), "incident", line->text);
	}
}

static int timeline_older(const void *left, const void *right)
{
	const struct timeline_line *x = left, *y = right;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

int incident_timeline(struct client *client, const json_t *incident, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct timeline t = timeline_of(client, incident_told(incident, a), a);
	const int r = timeline_read(client, &t, e);
	if (r < 0)
		return r;
	timeline_add_own(&t);
	qsort(t.lines, t.n, sizeof(*t.lines), timeline_older);
	*ret = shape_rows_json(&timeline_line_shape, t.lines, t.n);
	return 0;
}

int incident_changes(struct client *client, const json_t *incident, json_t *list, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct timeline t = timeline_of(client, incident_told(incident, a), a);
	t.changes = list;
	t.to_ns = t.onset_ns;
	return timeline_read(client, &t, e);
}
