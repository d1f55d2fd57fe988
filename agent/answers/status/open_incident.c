/* open_incident - reads open incidents and their stored documents. */
#include "agent/answers/status/open_incident.h"

#include <errno.h>
#include <jansson.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/silence.h"

/* ---- rows ------------------------------------------------------------------- */

#define SHAPE struct open_incident
#define STORED                                                                                     \
	TEXT(id, "Identity.", .known = true, .type = "id"),                                        \
		TEXT(cause, "Cause: a row of docs/detectors.md.", .known = true),                  \
		TEXT(severity, "How bad it is.", .type = "severity"),                              \
		TEXT(state, "`open` or `clearing`.", .known = true),                               \
		TEXT(opened, "When it was opened.", .known = true, .type = "time"),                \
		TEXT(device, "Switch."), TEXT(port, "Port."), TEXT(group, "ECMP group or job."),   \
		TEXT(host, "Host that is accused."),                                               \
		TEXT(summary, "What was found, in one sentence.", .known = true),                  \
		TEXT(acked_by, "Who acknowledged it."),                                            \
		NUMBER(usd_per_hour, UNIT_USD, "What it costs now, US dollars per hour."),         \
		NUMBER(usd_total, UNIT_USD, "What it has cost, US dollars."),                      \
		NUMBER(confidence_ratio, UNIT_RATIO, "How sure the verdict is, 0 to 1.")
static const struct field open_incident_fields[] = {
	STORED,
	HIDDEN(age_s),
	HIDDEN(headline),
	HIDDEN(priority),
	HIDDEN(job),
	HIDDEN(onset),
	HIDDEN(assigned_to),
	HIDDEN(parent),
	HIDDEN(silenced),
};
static const struct field open_incident_wall_fields[] = {
	STORED,
	NUMBER(age_s, UNIT_SECONDS, "Time since it was first seen.", .known = true),
	TEXT(headline, "One line for a screen."),
	COUNT(priority, "Priority, 0 to 7.", .unknown = true, .type = "priority"),
	TEXT(job, "Job that it slows most."),
	TEXT(onset, "When the fault began.", .type = "time"),
	TEXT(assigned_to, "Who works on it."),
	TEXT(parent, "Incident of which this one is a part.", .type = "id"),
	TEXT(silenced, "The silence that keeps it from receivers of alerts."),
};
SHAPE_OF(open_incident, "IncidentLine", "An open incident, in short.", .common = true);
const struct shape open_incident_wall_shape = {.name = "WallIncident",
	.fields = open_incident_wall_fields,
	.n_fields = rw_countof(open_incident_wall_fields),
	.size = sizeof(struct open_incident),
	.about = "An open incident, in short.",
	.common = true};
#undef STORED
#undef SHAPE

/* ---- the stored document ------------------------------------------------------ */

static const char *line_text(struct arena *a, const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	if (!text)
		return NULL;
	return arena_strdup(a, text);
}

static int64_t line_time_ns(const char *text)
{
	wall_t t;
	if (!text || wall_parse(text, (wall_t){0}, &t) < 0)
		return 0;
	return t.ns;
}

static uint64_t line_priority(const json_t *document)
{
	const json_t *value = json_object_get(json_object_get(document, "subject"), "priority");
	if (json_is_integer(value))
		return (uint64_t)json_integer_value(value);
	return COUNT_UNKNOWN;
}

static const char *line_job(struct arena *a, const json_t *document)
{
	const char *job = json_string_value(json_array_get(json_object_get(document, "jobs"), 0));
	if (!job)
		return NULL;
	return arena_strdup(a, job);
}

static const char *line_silenced(
	struct arena *a, const json_t *document, const struct silences *silences, int64_t at_ns)
{
	const struct silence *silence = silence_match_json(silences, document, at_ns);
	rw_cleanup(str_done) struct str text = {0};
	if (!silence)
		return NULL;
	silence_text(&text, silence);
	return arena_strdup(a, str_or(text.s, ""));
}

struct line_read {
	struct arena *arena;
	const struct silences *silences;
	int64_t at_ns;
};

static struct open_incident line_of(const struct line_read *read, const json_t *row)
{
	struct arena *a = read->arena;
	const json_t *document = json_object_get(row, "document");
	const char *headline = incident_headline_of(document);
	struct open_incident line = {.id = line_text(a, row, "id"),
		.cause = line_text(a, row, "cause"),
		.severity = line_text(a, row, "severity"),
		.state = line_text(a, row, "state"),
		.opened = line_text(a, row, "opened"),
		.device = line_text(a, row, "device"),
		.port = line_text(a, row, "port"),
		.group = line_text(a, row, "group"),
		.host = line_text(a, row, "host"),
		.summary = line_text(a, row, "summary"),
		.acked_by = line_text(a, row, "acked_by"),
		.usd_per_hour = doc_number(row, "usd_per_hour"),
		.usd_total = doc_number(row, "usd_total"),
		.confidence_ratio = doc_number(row, "confidence_ratio"),
		.priority = line_priority(document),
		.job = line_job(a, document),
		.onset = line_text(a, document, "first"),
		.assigned_to = line_text(a, document, "assigned_to"),
		.parent = line_text(a, document, "parent"),
		.silenced = line_silenced(a, document, read->silences, read->at_ns)};
	const int64_t age_ns = read->at_ns - line_time_ns(line.opened);
	line.age_s = (double)(age_ns / NS_PER_MS) / 1e3;
	if (headline)
		line.headline = arena_strdup(a, headline);
	return line;
}

int open_incidents_read(struct client *client, struct arena *a, struct open_incident **ret,
	size_t *ret_n, struct err *e)
{
	rw_cleanup(silences_done) struct silences silences = {0};
	const int r = silences_load(client->history, &silences, e);
	if (r != 0)
		return r;
	json_t *rows = incidents_open(client, e), *row;
	const struct line_read read = {.arena = a, .silences = &silences, .at_ns = client->at_ns};
	size_t i;
	if (!rows)
		return e->code < 0 ? e->code : -EIO;
	*ret_n = json_array_size(rows);
	*ret = arena_array(a, struct open_incident, *ret_n);
	json_array_foreach (rows, i, row)
		(*ret)[i] = line_of(&read, row);
	json_decref(rows);
	return 0;
}

bool incident_is_critical(const struct open_incident *incident)
{
	return str_eq(incident->severity, "critical");
}
