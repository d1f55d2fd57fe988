/* check_source - makes and keeps documents, and holds rows against the scope. */
#include "agent/check/check_source.h"

#include "agent/client/client.h"
#include "agent/answers/common/served.h"
#include "agent/answers/counters/counters_document.h"
#include "agent/answers/pause/pause_document.h"
#include "agent/answers/status/unjudged.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/answers/watch/watch_now.h"
#include "agent/incident/incident.h"
#include "config/config.h"
#include "config/fabric.h"

enum { GIVEN_MAX = 8 };

void check_source_init(struct check_source *source, struct client *client,
	const struct check_scope *scope, const struct check_ranges *given, bool named_range)
{
	*source = (struct check_source){.client = client,
		.scope = *scope,
		.given = *given,
		.named_range = named_range,
		.docs = json_object(),
		.arena = arena_new()};
}

void check_source_done(struct check_source *source)
{
	json_decref(source->docs);
	source->docs = NULL;
	arena_free(source->arena);
	source->arena = NULL;
}

void check_source_span(struct check_source *source, int64_t span_ns)
{
	if (!source->named_range)
		source->client->from_ns = source->client->to_ns - span_ns;
}

/* ---- documents -------------------------------------------------------------- */

/* The parts of the scope that the document takes. Ports without pause count, too. */
static size_t source_fill(const struct check_source *source, const struct served_document *row,
	struct served_given given[GIVEN_MAX])
{
	const struct check_scope *scope = &source->scope;
	const struct served_given all[] = {
		{"device", scope->device},
		{"port", scope->port},
		{"group", scope->group},
		{"job", scope->job},
		{"priority", scope->priority},
		{"all", "1"},
	};
	size_t n = 0;
	for (const struct served_param *p = row->params; p && p->name; p++)
		for (size_t i = 0; i < rw_countof(all); i++)
			if (str_eq(p->name, all[i].name) && all[i].value && n < GIVEN_MAX)
				given[n++] = all[i];
	return n;
}

int check_source_doc(
	struct check_source *source, const char *path, const json_t **ret, struct err *e)
{
	struct served_given given[GIVEN_MAX];
	json_t *doc = json_object_get(source->docs, path);
	*ret = doc;
	if (doc)
		return 0;
	const struct served_document *row = served_find(path);
	if (!row)
		return err_set(e, -ENOENT, "this version has no document '%s'", path);
	const struct served_ask ask = {given, source_fill(source, row, given)};
	check_source_span(source, row->span_ns);
	int r = row->make(source->client, &ask, &doc, e);
	if (r < 0)
		return r;
	json_object_set_new(source->docs, path, doc);
	*ret = doc;
	return 0;
}

/* The time range and the priority that the served document of that name would take. */
static int source_as_served(
	struct check_source *source, const char *path, int *ret_priority, struct err *e)
{
	*ret_priority = PRIO_NONE;
	check_source_span(source, served_find(path)->span_ns);
	if (!source->scope.priority)
		return 0;
	return served_priority(source->scope.priority, ret_priority, e);
}

int check_source_counters(
	struct check_source *source, const struct counters_answer **ret, struct err *e)
{
	const struct check_scope *scope = &source->scope;
	struct counters_ask ask = {.device = scope->device,
		.port = scope->port,
		.job = scope->job,
		.lossless = !scope->priority};
	*ret = source->counters;
	if (source->counters)
		return 0;
	int r = source_as_served(source, "counters", &ask.priority, e);
	if (r < 0)
		return r;
	struct counters_answer *answer = arena_new_of(source->arena, struct counters_answer);
	r = counters_read(source->client, &ask, source->arena, answer, e);
	if (r == 0)
		*ret = source->counters = answer;
	return r;
}

int check_source_pause(
	struct check_source *source, const struct pause_ports_answer **ret, struct err *e)
{
	struct pause_ask ask = {.device = source->scope.device,
		.port = source->scope.port,
		.all = true,
		.no_origins = true};
	*ret = source->pause;
	if (source->pause)
		return 0;
	int r = source_as_served(source, "pause/ports", &ask.priority, e);
	if (r < 0)
		return r;
	struct pause_ports_answer *answer = arena_new_of(source->arena, struct pause_ports_answer);
	r = pause_ports_make(source->client, &ask, source->arena, answer, e);
	if (r == 0)
		*ret = source->pause = answer;
	return r;
}

/* The time range of both documents when none is asked for. */
#define STATE_SPAN_NS (15 * 60 * NS_PER_S)

int check_source_open(struct check_source *source, const struct watch_answer **ret, struct err *e)
{
	if (!source->watch) {
		struct watch_answer *watch = arena_new_of(source->arena, struct watch_answer);
		check_source_span(source, STATE_SPAN_NS);
		const int r = watch_read_open(source->client, source->arena, watch, e);
		if (r < 0)
			return r;
		source->watch = watch;
	}
	*ret = source->watch;
	return 0;
}

int check_source_watch(struct check_source *source, const struct watch_answer **ret, struct err *e)
{
	struct watch_now now;
	int r = check_source_open(source, ret, e);
	if (r < 0 || source->measured)
		return r;
	check_source_span(source, STATE_SPAN_NS);
	r = watch_read_rest(source->client, &now, source->arena, source->watch, e);
	source->measured = r == 0;
	return r;
}

struct check_ranges check_ranges_of(
	const struct check_source *source, const struct check_ranges *otherwise)
{
	struct check_ranges ranges = *otherwise;
	if (source->given.warn.set)
		ranges.warn = source->given.warn;
	if (source->given.crit.set)
		ranges.crit = source->given.crit;
	return ranges;
}

/* ---- scope -------------------------------------------------------------------- */

static bool source_host_in_job(const struct check_source *source, const char *host)
{
	const struct fabric *fabric = source->client->config->fabric;
	for (size_t i = 0; host && i < fabric->n_jobs; i++)
		if (str_glob(source->scope.job, fabric->jobs[i].name) &&
			fabric_job_has(&fabric->jobs[i], host))
			return true;
	return false;
}

bool check_device_in_scope(const struct check_source *source, const char *device)
{
	if (!str_glob(source->scope.device, device))
		return false;
	if (!source->scope.job)
		return true;
	const struct fabric_device *found = fabric_device(source->client->config->fabric, device);
	for (size_t i = 0; found && i < found->n_ports; i++)
		if (source_host_in_job(source, found->ports[i]->host))
			return true;
	return false;
}

/* By the job that it names, by its host, or by the host behind its port. */
static bool source_in_job(const struct check_source *source, const struct check_subject *of)
{
	if (of->job && *of->job)
		return str_glob(source->scope.job, of->job);
	if (of->host && *of->host)
		return source_host_in_job(source, of->host);
	const struct fabric_device *device =
		fabric_device(source->client->config->fabric, str_or(of->device, ""));
	const struct fabric_port *port = NULL;
	if (device && of->port && *of->port)
		port = fabric_port(device, of->port);
	if (port)
		return source_host_in_job(source, port->host);
	/* nothing says whom it concerns: everybody */
	return !device || check_device_in_scope(source, device->name);
}

/* What a row does not say it is not held against: an incident of many switches names none. */
static bool source_word_fits(const char *glob, const char *word)
{
	return !glob || !word || !*word || str_glob(glob, word);
}

static bool source_priority_fits(const struct check_source *source, uint64_t priority)
{
	rw_cleanup(str_done) struct str text = {0};
	if (!source->scope.priority || priority == COUNT_UNKNOWN)
		return true;
	str_addf(&text, "%llu", (unsigned long long)priority);
	return str_eq(text.s, source->scope.priority);
}

/* "uplinks", or "leaf1/uplinks". */
static bool source_group_fits(const char *glob, const struct check_subject *of)
{
	rw_cleanup(str_done) struct str whole = {0};
	if (!glob || !of->group || !*of->group)
		return true;
	str_addf(&whole, "%s/%s", str_or(of->device, ""), of->group);
	return str_glob(glob, of->group) || str_glob(glob, whole.s);
}

bool check_subject_in_scope(const struct check_source *source, const struct check_subject *of)
{
	const struct check_scope *scope = &source->scope;
	if (!source_word_fits(scope->device, of->device) ||
		!source_word_fits(scope->port, of->port) ||
		!source_priority_fits(source, of->priority))
		return false;
	if (!source_group_fits(scope->group, of))
		return false;
	return !scope->job || source_in_job(source, of);
}

static uint64_t source_priority_of(int priority)
{
	return priority == PRIO_NONE ? COUNT_UNKNOWN : (uint64_t)priority;
}

bool check_counters_in_scope(const struct check_source *source, const struct counters_row *row)
{
	const struct check_subject of = {.device = row->device,
		.port = row->port,
		.host = row->host,
		.job = row->job,
		.priority = source_priority_of(row->priority)};
	return check_subject_in_scope(source, &of);
}

bool check_pause_in_scope(const struct check_source *source, const struct pause_pair *row)
{
	const struct check_subject of = {.device = row->device,
		.port = row->port,
		.priority = source_priority_of(row->priority)};
	return check_subject_in_scope(source, &of);
}

/* ---- incidents ------------------------------------------------------------------ */

static bool source_is_cause(const enum cause *causes, const char *word)
{
	const enum cause cause = cause_by_name(word);
	for (size_t i = 0; causes && causes[i] != CAUSE_NONE; i++)
		if (causes[i] == cause)
			return true;
	return !causes;
}

static void source_keep_incident(
	const struct check_source *source, const struct open_incident *row, struct check_line *line)
{
	const char *cause = str_or(row->cause, "");
	rw_cleanup(freep) char *runbook = runbook_link_of(source->client->config, cause);
	if (!line->incidents)
		line->incidents = json_array();
	json_array_append_new(line->incidents,
		json_pack("{s:s, s:s, s:s}", "id", str_or(row->id, ""), "cause", cause, "runbook",
			runbook));
}

/* The state of a line for the state of a signal, or of the fabric. */
static enum check_state check_state_of(enum golden_state state)
{
	static const enum check_state states[GOLDEN_STATES] = {[GOLDEN_UNKNOWN] = CHECK_UNKNOWN,
		[GOLDEN_IDLE] = CHECK_OK,
		[GOLDEN_OK] = CHECK_OK,
		[GOLDEN_WARNING] = CHECK_WARNING,
		[GOLDEN_CRITICAL] = CHECK_CRITICAL};
	return states[state];
}

static void source_say_incident(const struct open_incident *row, struct check_line *line)
{
	const enum check_state state = check_state_of(verdict_severity_state(row));
	const char *what = str_or(row->headline, "");
	if (!*what)
		what = str_or(row->summary, "");
	check_say(line, state, "incident %s: %.100s", str_or(row->id, ""), what);
}

/* The worst that is open with such a cause, wherever; NULL: none. */
static const struct open_incident *source_elsewhere(
	const struct check_source *source, const struct check_open *open)
{
	const struct open_incident *worst = NULL;
	for (size_t i = 0; i < open->watch->n_incidents; i++) {
		const struct open_incident *row = &open->watch->incidents[i];
		const bool counts = source->count_silenced || !row->silenced || !*row->silenced;
		if (!counts || !source_is_cause(open->causes, str_or(row->cause, "")))
			continue;
		if (!worst || verdict_severity_state(row) > verdict_severity_state(worst))
			worst = row;
	}
	return worst;
}

/* Over its limit, and no incident in scope. */
static void source_say_over(const struct check_source *source, struct check_line *line,
	const struct check_open *open, const struct check_place *place, const char *text)
{
	const struct open_incident *felt = source_elsewhere(source, open);
	const struct unjudged what = {.client = source->client,
		.incidents = open->watch->incidents,
		.n_incidents = open->watch->n_incidents,
		.causes = open->causes,
		.device = place->device,
		.port = place->port};
	rw_cleanup(str_done) struct str why = {0};
	if (!felt) {
		unjudged_over(&what, &why);
		check_say(line, CHECK_OK, "%s (%s)", text, why.s);
		return;
	}
	check_say(line, check_state_of(verdict_severity_state(felt)), "%s (incident %s: %.100s)",
		text, str_or(felt->id, ""), str_or(felt->headline, ""));
	source_keep_incident(source, felt, line);
}

void check_measured(const struct check_source *source, struct check_line *line,
	enum check_state state, const struct check_open *open, struct check_place place,
	const char *fmt, ...)
{
	rw_cleanup(freep) char *text = NULL;
	const bool own = source->given.warn.set || source->given.crit.set;
	const bool over = state == CHECK_WARNING || state == CHECK_CRITICAL;
	va_list args;
	va_start(args, fmt);
	const int r = vasprintf(&text, fmt, args);
	va_end(args);
	if (r < 0)
		text = NULL;
	if (own || !over)
		check_say(line, state, "%s", str_or(text, ""));
	else if (open->n)
		check_say(line, CHECK_OK, "%s", str_or(text, ""));
	else
		source_say_over(source, line, open, &place, str_or(text, ""));
}

/* Those in scope; @v has room for all. Returns how many. Those that are silenced are counted apart,
 * unless @ret_silenced is NULL. */
static size_t source_pick(const struct check_source *source, const struct watch_answer *watch,
	const enum cause *causes, struct open_incident *v, size_t *ret_silenced)
{
	size_t n = 0;
	for (size_t i = 0; i < watch->n_incidents; i++) {
		const struct open_incident *row = &watch->incidents[i];
		const struct check_subject of = {.device = row->device,
			.port = row->port,
			.host = row->host,
			.job = row->job,
			.group = row->group,
			.priority = row->priority};
		if (!source_is_cause(causes, str_or(row->cause, "")) ||
			!check_subject_in_scope(source, &of))
			continue;
		if (ret_silenced && row->silenced && *row->silenced && !source->count_silenced)
			++*ret_silenced;
		else
			v[n++] = *row;
	}
	return n;
}

size_t check_incidents(const struct check_source *source, const struct watch_answer *watch,
	const enum cause *causes, struct check_line *line)
{
	size_t n_silenced = 0;
	rw_cleanup(freep) struct open_incident *rows =
		rw_calloc(watch->n_incidents + 1, sizeof(*rows));
	if (!causes && config_judged_elsewhere(source->client->config))
		check_say(line, CHECK_UNKNOWN, "incidents are in the judge's database");
	const size_t n = source_pick(source, watch, causes, rows, &n_silenced);
	for (size_t i = 0; i < n; i++) {
		source_say_incident(&rows[i], line);
		source_keep_incident(source, &rows[i], line);
	}
	if (n_silenced > 0)
		check_say(line, CHECK_OK, "%zu silenced", n_silenced);
	return n;
}

/* The status as far as it is asked for: without the devices that are not. */
static struct status_answer source_status(
	const struct check_source *source, const struct status_answer *status)
{
	struct status_answer scoped = *status;
	struct status_quality *quality = &scoped.data_quality;
	if (!source->scope.device && !source->scope.job)
		return scoped;
	scoped.devices = arena_array(source->arena, struct status_device, status->n_devices);
	scoped.n_devices = 0;
	quality->down = quality->unknown = 0;
	quality->captures_down = quality->captures_unknown = 0;
	for (size_t i = 0; i < status->n_devices; i++) {
		const struct status_device *row = &status->devices[i];
		if (!check_device_in_scope(source, row->name))
			continue;
		scoped.devices[scoped.n_devices++] = *row;
		quality->down += row->up == MAYBE_NO;
		quality->unknown += row->up == MAYBE_UNKNOWN;
	}
	return scoped;
}

size_t check_verdict(const struct check_source *source, const struct watch_answer *watch,
	struct verdict *ret, struct check_line *line)
{
	rw_cleanup(freep) struct open_incident *rows =
		rw_calloc(watch->n_incidents + 1, sizeof(*rows));
	const size_t n = source_pick(source, watch, NULL, rows, NULL);
	const struct status_answer status = source_status(source, &watch->status);
	status_verdict(source->client, &status, rows, n, source->arena, ret);
	check_say(line, check_state_of(ret->state), "%s", ret->why);
	size_t n_kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (*str_or(rows[i].silenced, ""))
			continue;
		source_keep_incident(source, &rows[i], line);
		n_kept++;
	}
	return n_kept;
}
