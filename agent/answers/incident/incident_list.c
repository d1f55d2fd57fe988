/* incident_list - which incidents a list shows. */
#include "agent/answers/incident/incident_list.h"

#include "agent/answers/status/unjudged.h"
#include "agent/answers/status/verdict.h"
#include "agent/document/json_value.h"
#include "agent/client/client.h"
#include "agent/answers/incident/incident_read.h"
#include "config/config.h"
#include "db/model/finding.h"

/* report_incidents - incidents of a time range, as rows of reports. */

struct client report_client(const struct client *client)
{
	struct client copy = *client;
	copy.range_given = true;
	return copy;
}

static bool incident_is_of(const enum cause *causes, const struct incident_told *incident)
{
	if (!causes)
		return true;
	for (size_t i = 0; causes[i] != CAUSE_NONE; i++)
		if (str_eq(cause_name(causes[i]), incident->cause))
			return true;
	return false;
}

/* The part of its price that falls into the range, in proportion to the time it was open. */
static double incident_usd_in_range(
	const struct client *client, const struct incident_told *incident)
{
	const double usd = incident->usd_total;
	const int64_t from_ns = incident_time_ns(incident->opened, client->from_ns);
	/* What is open has its price up to the newest sample. */
	const int64_t now_ns = client->has_data ? client->data_ns : client->end_ns;
	const int64_t to_ns = incident_time_ns(incident->closed, now_ns);
	const int64_t begin_ns = from_ns > client->from_ns ? from_ns : client->from_ns;
	const int64_t end_ns = to_ns < client->to_ns ? to_ns : client->to_ns;
	if (isnan(usd) || to_ns <= from_ns)
		return usd;
	return usd * fmax(0, (double)(end_ns - begin_ns) / (double)(to_ns - from_ns));
}

static json_t *incident_row(
	const struct client *client, const struct incident_told *incident, struct arena *a)
{
	static const char *const kept[] = {"id", "cause", "severity", "state", "opened", "closed",
		"where", "headline", "confidence_ratio", "usd_per_hour", "usd_total", "parent",
		"jobs", "roles", "acked_by", "ack_note", "assigned_to", "silenced"};
	const int64_t opened_ns = incident_time_ns(incident->opened, INT64_MIN);
	const int64_t closed_ns = incident_time_ns(incident->closed, INT64_MAX);
	json_t *row = json_object(), *then = json_deep_copy(incident->tree);
	if (closed_ns > client->to_ns)
		incident_as_of(then, client->to_ns);
	const struct incident_told *told = incident_told(then, a);
	json_t *shown = incident_public(client->config, told);
	for (size_t i = 0; i < rw_countof(kept); i++) {
		json_t *value = json_object_get(shown, kept[i]);
		json_object_set(row, kept[i], value ? value : json_null());
	}
	json_object_set_new(row, "age_s", incident_age(told, client->to_ns));
	json_object_set_new(
		row, "usd_in_range", json_number_or_null(incident_usd_in_range(client, incident)));
	json_object_set_new(row, "opened_in_range", json_boolean(opened_ns >= client->from_ns));
	json_object_set_new(row, "closed_in_range", json_boolean(closed_ns <= client->to_ns));
	json_decref(shown);
	json_decref(then);
	return row;
}

json_t *report_incidents(struct client *client, const enum cause *causes, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct client ranged = report_client(client);
	json_t *stored = incidents_load(&ranged, NULL, e), *rows = NULL;
	size_t n;
	if (!stored)
		return NULL;
	rows = json_array();
	const struct incident_told *incidents = incidents_told(stored, a, &n);
	for (size_t i = 0; i < n; i++)
		if (incident_is_of(causes, &incidents[i]))
			json_array_append_new(rows, incident_row(client, &incidents[i], a));
	json_decref(stored);
	return rows;
}

/* Device: a glob. Port: NULL where any will do; a whole device stands for its ports. */
static bool incident_word_is(const char *word, size_t n, const char *device, const char *port)
{
	const size_t head = strcspn(word, ": ");
	const size_t end = head < n ? head : n;
	rw_cleanup(freep) char *name = strndup(word, end);
	if (end == 0 || !str_glob(device, name))
		return false;
	if (!port || end == n)
		return true;
	return n - end - 1 == strlen(port) && strncmp(word + end + 1, port, n - end - 1) == 0;
}

/* Among those with a role, or in its place: "leaf2:Eth1" and "leaf2" are of the device leaf2. */
static bool incident_names(
	const struct incident_told *incident, const char *device, const char *port)
{
	for (size_t i = 0; i < incident->n_roles; i++) {
		const char *entity = incident->roles[i].entity;
		if (incident_word_is(entity, strlen(entity), device, port))
			return true;
	}
	for (const char *where = incident->where; *where; where += strspn(where, " ")) {
		const size_t n = strcspn(where, " ");
		if (incident_word_is(where, n, device, port))
			return true;
		where += n;
	}
	return false;
}

void report_incidents_about(json_t *incidents, const char *device)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	while (device && n-- > 0)
		if (!incident_names(&rows[n], device, NULL))
			json_array_remove(incidents, n);
}

static enum report_state incident_problem_state(const struct incident_told *row)
{
	if (*row->silenced)
		return REPORT_OK;
	if (str_eq(row->severity, severity_name(SEV_CRITICAL)))
		return REPORT_CRITICAL;
	if (str_eq(row->severity, severity_name(SEV_WARNING)))
		return REPORT_WARNING;
	return REPORT_OK;
}

void report_incidents_problems(json_t *doc, const json_t *incidents)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	for (size_t i = 0; i < n; i++) {
		const struct incident_told *row = &rows[i];
		const enum report_state state = incident_problem_state(row);
		const bool closed = str_eq(row->state, "closed");
		const char *when = closed ? row->closed : row->opened;
		if (state == REPORT_OK)
			continue;
		report_problem(doc, state, row->cause, row->where,
			"%s (incident %s, %s %.10s %.5sZ)", row->headline, row->id,
			closed ? "closed" : "open since", when, *when ? when + 11 : "");
	}
}

static bool incident_names_peer(const struct incident_told *incident, const char *peer)
{
	const size_t n = strcspn(str_or(peer, ""), ":");
	if (!n || !peer[n])
		return false;
	rw_cleanup(freep) char *device = strndup(peer, n);
	return incident_names(incident, device, peer + n + 1);
}

/* The worst that names the place; NULL: none. */
static const struct incident_told *incident_worst_at(
	const struct incident_told *rows, size_t n, const struct report_over *over)
{
	const struct incident_told *worst = NULL;
	for (size_t i = 0; i < n; i++) {
		if (!incident_names(&rows[i], over->device, over->port) &&
			!incident_names_peer(&rows[i], over->peer))
			continue;
		if (!worst || incident_problem_state(&rows[i]) > incident_problem_state(worst))
			worst = &rows[i];
	}
	return worst;
}

/* Those of the range, at other places. */
static void incident_add_unjudged(const struct incident_told *rows, size_t n,
	const struct report_over *over, struct arena *a, struct str *out)
{
	struct open_incident *others = arena_array(a, struct open_incident, n);
	for (size_t i = 0; i < n; i++)
		others[i] = (struct open_incident){.id = rows[i].id,
			.cause = rows[i].cause,
			.device = rows[i].where,
			.silenced = rows[i].silenced};
	const struct unjudged what = {.incidents = others,
		.n_incidents = n,
		.causes = over->causes,
		.device = over->device,
		.port = over->port};
	str_add(out, " (");
	unjudged_over(&what, out);
	str_add(out, ")");
}

void report_incidents_over(
	json_t *doc, const json_t *incidents, const struct report_over *over, const char *fmt, ...)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(str_done) struct str subject = {0}, why = {0};
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	const struct incident_told *incident = incident_worst_at(rows, n, over);
	va_list args;
	/* it is a problem of its own */
	if (incident && !over->own && incident_problem_state(incident) != REPORT_OK)
		return;
	va_start(args, fmt);
	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	va_end(args);
	str_addf(&subject, "%s%s%s", over->device, str_if(over->port != NULL, ":"),
		str_or(over->port, ""));
	if (incident)
		str_addf(&why, " (incident %s)", incident->id);
	else if (!over->own)
		incident_add_unjudged(rows, n, over, a, &why);
	report_problem(doc, over->own ? over->state : REPORT_OK, over->cause, subject.s, "%s%s",
		str_or(text, ""), str_or(why.s, ""));
}

static bool incident_is_listed(const struct incident_told *rows, size_t n, const char *id)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(rows[i].id, id))
			return true;
	return false;
}

double report_incidents_usd(const json_t *incidents)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	double sum = NAN;
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	if (n == 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		const double usd = rows[i].usd_in_range;
		const char *parent = rows[i].parent;
		if (isnan(usd) || (*parent && incident_is_listed(rows, n, parent)))
			continue;
		sum = isnan(sum) ? usd : sum + usd;
	}
	return sum;
}

int64_t report_incidents_open_since(const json_t *incidents, enum cause cause)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	int64_t since_ns = INT64_MAX;
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	for (size_t i = 0; i < n; i++) {
		const int64_t opened_ns = incident_time_ns(rows[i].opened, INT64_MAX);
		if (str_eq(rows[i].cause, cause_name(cause)) && !str_eq(rows[i].state, "closed") &&
			opened_ns < since_ns)
			since_ns = opened_ns;
	}
	return since_ns;
}

struct incidents_counted report_incidents_count(const json_t *incidents)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct incidents_counted ret = {0};
	size_t n;
	const struct incident_told *rows = incidents_told(incidents, a, &n);
	for (size_t i = 0; i < n; i++) {
		ret.opened += rows[i].opened_in_range;
		ret.closed += rows[i].closed_in_range;
	}
	return ret;
}

/* ---- incident_list ------------------------------------------------------- */

/* ---- what was asked for -------------------------------------------------- */

static bool is_glob(const char *text)
{
	return text[strcspn(text, "*?[")] != '\0';
}

static int check_state(const char *states, struct err *e)
{
	static const char *const known[] = {"open", "clearing", "closed"};
	while (*states) {
		const size_t n = strcspn(states, ",");
		bool found = false;
		for (size_t i = 0; i < rw_countof(known); i++)
			found |= strlen(known[i]) == n && strncmp(known[i], states, n) == 0;
		if (!found)
			return err_set(e, -EINVAL,
				"unknown state '%.*s'; expected open, clearing or closed",
				(int)(n < 64 ? n : 64), states);
		states += n;
		states += strspn(states, ",");
	}
	return 0;
}

static int severity_rank(const char *word)
{
	for (int k = SEV_INFO; k <= SEV_CRITICAL; k++)
		if (str_eq(severity_name((enum severity)k), word))
			return k;
	return -1;
}

static int check_cause(const char *cause, struct err *e)
{
	const char *names[CAUSE_COUNT];
	size_t n = 0;
	for (int k = CAUSE_NONE + 1; k < CAUSE_COUNT; k++) {
		names[n] = cause_name((enum cause)k);
		if (str_glob(cause, names[n++]))
			return 0;
	}
	if (is_glob(cause))
		return err_set(e, -EINVAL, "no cause matches '%.64s'", cause);
	const char *near = str_nearest(cause, names, n);
	return err_set(e, -EINVAL, "unknown cause '%.64s'%s%s%s", cause,
		str_if(near, "; did you mean '"), str_or(near, ""), str_if(near, "'?"));
}

static bool has_host(const struct fabric *fabric, const char *glob)
{
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t i = 0; i < fabric->devices[d]->n_ports; i++) {
			const char *host = fabric->devices[d]->ports[i]->host;
			if (host && str_glob(glob, host))
				return true;
		}
	return false;
}

/* A name that matches nothing is a typing error: an empty list would look like good news. */
static int check_names(struct client *client, const struct incident_filter *filter, struct err *e)
{
	const int rc = known_device(client, filter->device, e);
	if (rc < 0)
		return rc;
	if (filter->host && !has_host(client->config->fabric, filter->host))
		return err_set(e, -EINVAL,
			"no host matches '%.64s'; 'rocewatch topology show' lists them",
			filter->host);
	return known_job(client, filter->job, e);
}

static int check_filter(struct client *client, const struct incident_filter *filter, struct err *e)
{
	int r = 0;
	if (filter->state)
		r = check_state(filter->state, e);
	if (r == 0 && filter->severity && severity_rank(filter->severity) < 0)
		r = err_set(e, -EINVAL,
			"unknown severity '%.64s'; expected critical, warning or info",
			filter->severity);
	if (r == 0 && filter->cause)
		r = check_cause(filter->cause, e);
	if (r == 0)
		r = check_names(client, filter, e);
	return r;
}

/* ---- what fits ----------------------------------------------------------- */

/* "open" stands for clearing as well: it has not ended. */
static bool fits_state(const char *states, const struct incident_told *incident)
{
	const char *state = incident->state;
	while (*states) {
		const size_t n = strcspn(states, ",");
		if (n == strlen(state) && strncmp(states, state, n) == 0)
			return true;
		if (n == strlen("open") && strncmp(states, "open", n) == 0 &&
			str_eq(state, "clearing"))
			return true;
		states += n;
		states += strspn(states, ",");
	}
	return false;
}

/* Is a culprit such a device (its name, or "DEVICE:PORT") or such a host ("host:NAME", NAME)? */
static bool culprit_fits(const struct incident_told *incident, const char *glob)
{
	static const char host_prefix[] = "host:";
	for (size_t k = 0; k < incident->n_roles; k++) {
		const char *entity = incident->roles[k].entity;
		if (!str_eq(incident->roles[k].role, "culprit"))
			continue;
		if (strncmp(entity, host_prefix, strlen(host_prefix)) == 0)
			entity += strlen(host_prefix);
		rw_cleanup(freep) char *name = strndup(entity, strcspn(entity, ":"));
		if (str_glob(glob, name))
			return true;
	}
	return false;
}

/* An incident about several devices has no device of its own: its evidence names them. */
static bool fits_device(const struct incident_told *incident, const char *glob)
{
	const char *device = incident->subject.device;
	if (*device && str_glob(glob, device))
		return true;
	for (size_t k = 0; !*device && k < incident->n_evidence; k++)
		if (*incident->evidence[k].device && str_glob(glob, incident->evidence[k].device))
			return true;
	return culprit_fits(incident, glob);
}

static bool fits_host(const struct incident_told *incident, const char *glob)
{
	const char *host = incident->subject.host;
	if (*host && str_glob(glob, host))
		return true;
	return culprit_fits(incident, glob);
}

static bool fits_job(const struct incident_told *incident, const char *glob)
{
	static const char prefix[] = "job:";
	const char *group = incident->subject.group;
	for (size_t k = 0; k < incident->n_jobs; k++)
		if (str_glob(glob, incident->jobs[k]))
			return true;
	return strncmp(group, prefix, strlen(prefix)) == 0 &&
		str_glob(glob, group + strlen(prefix));
}

static bool fits(const struct incident_filter *filter, const struct incident_told *incident)
{
	if (filter->state && !fits_state(filter->state, incident))
		return false;
	if (filter->severity && severity_rank(incident->severity) < severity_rank(filter->severity))
		return false;
	if (filter->cause && !str_glob(filter->cause, incident->cause))
		return false;
	if (filter->device && !fits_device(incident, filter->device))
		return false;
	if (filter->host && !fits_host(incident, filter->host))
		return false;
	return !filter->job || fits_job(incident, filter->job);
}

/* ---- the document -------------------------------------------------------- */

int incident_list_document(
	struct client *client, const struct incident_filter *filter, json_t **ret, struct err *e)
{
	const int r = check_filter(client, filter, e);
	if (r < 0)
		return r;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *stored = incidents_load(client, NULL, e), *shown = json_array(), *tree;
	size_t k, open = 0;
	if (!stored) {
		json_decref(shown);
		return e->code ? e->code : -EIO;
	}
	json_array_foreach (stored, k, tree) {
		/* A state that is asked for of the past is that of then. */
		const bool then =
			filter->state && client->past && incident_as_of(tree, client->at_ns);
		const struct incident_told *o = incident_told(tree, a);
		if (filter->state && client->past && !then && incident_is_open(o))
			continue;
		if (!fits(filter, o))
			continue;
		json_t *row = incident_public(client->config, o);
		json_object_set_new(row, "age_s", incident_age(o, client->now_ns));
		json_array_append_new(shown, row);
		open += incident_is_open(o);
	}
	json_decref(stored);
	const bool filtered = filter->state || filter->all || client->range_given;
	*ret = json_pack("{s:o, s:I, s:I, s:b}", "incidents", shown, "open", (json_int_t)open,
		"closed", (json_int_t)(json_array_size(shown) - open), "filtered", filtered);
	if (config_judged_elsewhere(client->config))
		json_object_set_new(*ret, "judged_elsewhere", json_true());
	return 0;
}
