/* incident_list - which incidents a list shows. */
#include "agent/answers/incident/incident_list.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/answers/incident/incident_read.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/finding.h"

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
