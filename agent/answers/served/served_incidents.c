/* served_incidents - the documents about incidents: the list, one of them, its timeline, and what
 * is found against a host or port. */

#include "agent/client/client.h"
#include "agent/answers/incident/blame.h"
#include "agent/answers/incident/incident_list.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/common/served.h"

#define INCIDENT_SPAN_NS (24 * 3600 * NS_PER_S)

static int served_incident_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	const struct incident_filter filter = {.state = served_get(ask, "state"),
		.severity = served_get(ask, "severity"),
		.cause = served_get(ask, "cause"),
		.device = served_get(ask, "device"),
		.host = served_get(ask, "host"),
		.job = served_get(ask, "job"),
		.all = served_flag(ask, "all")};
	return incident_list_document(client, &filter, ret, e);
}

static int served_required(
	const struct served_ask *ask, const char *name, const char **ret, struct err *e)
{
	*ret = served_get(ask, name);
	if (*ret)
		return 0;
	return err_set(e, -EINVAL, "parameter '%s' is missing", name);
}

/* What only one incident gets: its whole timeline, change tickets, ranks that were waited for, how
 * long it is open, and commands to copy. */
static int incident_complete(
	struct client *client, const struct incident_told *stored, json_t *shown, struct err *e)
{
	json_t *changed = json_array(), *lines = NULL, *ranks = NULL;
	for (size_t k = 0; k < stored->n_changed_before; k++)
		json_array_append_new(changed, json_string(stored->changed_before[k]));
	int r = incident_changes(client, shown, changed, e);
	json_object_set_new(shown, "changed_before", changed);
	if (r == 0)
		r = incident_ranks(client, stored->tree, &ranks, e);
	json_object_set_new(shown, "ranks", ranks);
	if (r == 0)
		r = incident_timeline(client, shown, &lines, e);
	if (r < 0)
		return r;
	json_object_set_new(shown, "timeline", lines);
	json_object_set_new(shown, "age_s", incident_age(stored, client->now_ns));
	json_object_set_new(shown, "commands", incident_commands(client, stored));
	return 0;
}

/* The stored incident that @ask names; the caller drops it. */
static int served_incident_find(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	const char *id;
	const int r = served_required(ask, "id", &id, e);
	if (r < 0)
		return r;
	return incident_find(client, id, ret, e);
}

static int served_incident_show(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *found = NULL;
	int r = served_incident_find(client, ask, &found, e);
	if (r < 0)
		return r;
	const struct incident_told *told = incident_told(found, a);
	json_t *shown = incident_public(client->config, told);
	r = incident_complete(client, told, shown, e);
	json_decref(found);
	if (r == 0)
		*ret = shown;
	else
		json_decref(shown);
	return r;
}

static int served_incident_timeline(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *found = NULL, *lines = NULL;
	int r = served_incident_find(client, ask, &found, e);
	if (r < 0)
		return r;
	const struct incident_told *told = incident_told(found, a);
	r = incident_timeline(client, found, &lines, e);
	if (r == 0)
		*ret = json_pack("{s:s, s:s, s:s, s:o}", "id", told->id, "cause", told->cause,
			"headline", incident_headline_of(found), "timeline", lines);
	json_decref(found);
	return r;
}

static int served_blame(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	const char *name;
	const int r = served_required(ask, "name", &name, e);
	if (r < 0)
		return r;
	return blame_document(client, name, ret, e);
}

static const struct served_param list_params[] = {
	{"state", "open (clearing included), clearing or closed; several with commas", false},
	{"severity", "critical, warning or info: this one or worse", false},
	{"cause", "only this cause, a glob of its word", false},
	{"device", "only those about these devices, a glob", false},
	{"host", "only those about these hosts, a glob", false},
	{"job", "only those that slow these jobs, a glob", false},
	{"all", "flag: closed ones too, also in text", false},
	{0},
};
static const struct served_param id_params[] = {
	{"id", "the incident's id; it may be shortened while it stays unambiguous", true},
	{0},
};
static const struct served_param blame_params[] = {
	{"name", "a host, or a port as DEVICE:PORT", true},
	{0},
};

static const struct served_document rows[] = {
	{.path = "incidents",
		.schema = "incident-list",
		.summary = "Incidents with their evidence, worst first.",
		.params = list_params,
		.span_ns = INCIDENT_SPAN_NS,
		.make = served_incident_list},
	{.path = "incident/show",
		.summary = "One incident with its evidence, its cost and what to do.",
		.params = id_params,
		.span_ns = INCIDENT_SPAN_NS,
		.make = served_incident_show},
	{.path = "incident/timeline",
		.summary = "What happened to one incident, in order of time.",
		.params = id_params,
		.span_ns = INCIDENT_SPAN_NS,
		.make = served_incident_timeline},
	{.path = "blame",
		.summary = "Findings against a host or port, and those it is a victim of.",
		.params = blame_params,
		.span_ns = INCIDENT_SPAN_NS,
		.make = served_blame},
};

const struct served_group served_incidents = {.rows = rows, .n_rows = rw_countof(rows)};
