/*
 * incident - what an incident says, in the JSON form of the contract. Owns nothing; pure.
 *
 * The JSON object is kept with the story and changed in place, so that a document is complete at
 * any time and a restart can go on from the stored text alone: what the state machine needs beside
 * the contract's fields is in "progress".
 */
#include "agent/incident/incident.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "db/model/entity.h"

#define TIMELINE_FIRST 16 /* lines of the beginning that are kept for ever */
#define TIMELINE_MAX 128
#define ALSO_MAX 32
#define JOB_PREFIX "job:" /* a story about a job has it for its group */

static const char *const state_names[] = {
	[INCIDENT_PENDING] = "pending",
	[INCIDENT_OPEN] = "open",
	[INCIDENT_CLEARING] = "clearing",
	[INCIDENT_CLOSED] = "closed",
};

const char *incident_state_name(enum incident_state state)
{
	if ((size_t)state < rw_countof(state_names))
		return state_names[state];
	return "unknown";
}

static const char *const act_names[] = {
	[ACT_ACK] = "ack",
	[ACT_ASSIGN] = "assign",
	[ACT_NOTE] = "note",
	[ACT_CLOSE] = "close",
	[ACT_MERGE] = "merge",
};

int incident_act_parse(const char *word, enum incident_act *ret)
{
	for (size_t k = 0; word && k < rw_countof(act_names); k++) {
		if (str_eq(act_names[k], word)) {
			*ret = (enum incident_act)k;
			return 0;
		}
	}
	return -EINVAL;
}

const char *incident_act_error(int error)
{
	switch (-error) {
	case ENOENT: return "there is no such incident";
	case EALREADY: return "it is closed already";
	case EINVAL: return "expected a text, or another incident to merge into";
	}
	return strerror(-error);
}

int incident_compare(const struct incident *left, const struct incident *right)
{
	if (left->severity != right->severity) {
		if (left->severity > right->severity)
			return -1;
		return 1;
	}
	double ua = -1;
	if (!isnan(left->usd_per_hour))
		ua = left->usd_per_hour;
	double ub = -1;
	if (!isnan(right->usd_per_hour))
		ub = right->usd_per_hour;
	if (ua != ub) {
		if (ua > ub)
			return -1;
		return 1;
	}
	double ca = -1;
	if (!isnan(left->confidence_ratio))
		ca = left->confidence_ratio;
	double cb = -1;
	if (!isnan(right->confidence_ratio))
		cb = right->confidence_ratio;
	if (ca != cb) {
		if (ca > cb)
			return -1;
		return 1;
	}
	if (left->opened_ns != right->opened_ns) {
		if (left->opened_ns < right->opened_ns)
			return -1;
		return 1;
	}
	return strcmp(left->id, right->id);
}

void story_set(const char **field, const char *value)
{
	char *copy = NULL;
	if (value)
		copy = rw_strdup(value);
	free((char *)*field);
	*field = copy;
}

static struct story *story_blank(void)
{
	struct story *s = rw_calloc(1, sizeof(*s));
	s->i.priority = PRIO_NONE;
	s->i.usd_per_hour = s->i.usd_total = s->i.confidence_ratio = s->i.explained_ratio =
		s->i.coverage_ratio = NAN;
	s->i.value = s->i.warn = NAN;
	s->strength = -INFINITY;
	s->hold = 1;
	s->cost = cost_new();
	return s;
}

/* All fields of the contract, in the order in which a person reads them; each is null until it is
 * known. */
static json_t *incident_skeleton(void)
{
	static const char *const keys[] = {"id", "cause", "severity", "state", "summary", "first",
		"opened", "closed", "subject", "roles", "confidence_ratio", "confidence_inputs",
		"value", "warn", "windows", "evidence", "coverage_ratio", "jobs", "gpus_affected",
		"usd_per_hour", "usd_total", "explained_ratio", "loss", "ruled_out",
		"changed_before", "next_steps", "parent", "also", "acked_by", "ack_note"};
	json_t *o = json_object();
	for (size_t k = 0; k < rw_countof(keys); k++)
		json_object_set_new(o, keys[k], json_null());
	json_object_set_new(o, "changed_before", json_array());
	json_object_set_new(o, "also", json_array());
	json_object_set_new(o, "timeline", json_array());
	return o;
}

struct story *story_new(const struct finding *finding)
{
	struct story *s = story_blank();
	story_set(&s->i.analyzer, finding->analyzer);
	s->i.cause = finding->cause;
	story_set(&s->i.device, finding->device);
	story_set(&s->i.port, finding->port);
	story_set(&s->i.host, finding->host);
	story_set(&s->i.group, finding->group);
	s->i.priority = finding->priority;
	s->i.json = incident_skeleton();
	return s;
}

void story_free(struct story *story)
{
	if (!story)
		return;
	const char **owned[] = {&story->i.analyzer, &story->i.device, &story->i.port,
		&story->i.host, &story->i.group, &story->i.member, &story->i.summary,
		&story->i.acked_by, &story->i.parent, &story->i.note};
	for (size_t k = 0; k < rw_countof(owned); k++)
		story_set(owned[k], NULL);
	cost_done(&story->cost);
	json_decref(story->i.json);
	free(story);
}

static void hash_part(uint64_t *hash, const char *string)
{
	const char *text = "";
	if (string)
		text = string;
	*hash = hash_bytes(text, strlen(text) + 1,
		*hash); /* with the NUL, so that parts do not run into each other */
}

void story_name(struct story *story, const struct fabric *fabric)
{
	/* RFC 4648 section 6, in lower case */
	static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint8_t opened[8];
	for (int k = 0; k < 8; k++)
		opened[k] = (uint8_t)((uint64_t)story->i.opened_ns >> (8 * k));
	char priority[16];
	snprintf(priority, sizeof(priority), "%d", story->i.priority);
	uint64_t h = fabric->id;
	hash_part(&h, cause_name(story->i.cause));
	hash_part(&h, story->i.device);
	hash_part(&h, story->i.port);
	hash_part(&h, priority);
	hash_part(&h, story->i.host);
	hash_part(&h, story->i.group);
	h = hash_bytes(opened, sizeof(opened), h);
	for (int k = 0; k < 8; k++)
		story->i.id[k] = base32[(h >> (5 * k)) & 31];
	story->i.id[8] = '\0';
}

static json_t *incident_priority_json(int priority)
{
	if (priority == PRIO_NONE)
		return json_null();
	return json_integer(priority);
}

static json_t *strings_json(const char *const *words, size_t n)
{
	json_t *a = json_array();
	for (size_t k = 0; k < n; k++)
		json_array_append_new(a, json_string_or_null(words[k]));
	return a;
}

static json_t *incident_flows_json(const struct finding *finding)
{
	json_t *a = json_array();
	for (size_t k = 0; k < finding->n_flows; k++) {
		const struct finding_flow *w = &finding->flows[k];
		json_t *o = json_object();
		json_object_set_new(o, "src", json_string_or_null(w->src));
		json_object_set_new(o, "dst", json_string_or_null(w->dst));
		json_object_set_new(o, "src_port", json_integer(w->src_port));
		json_object_set_new(o, "dst_qp", json_integer(w->dst_qp));
		json_object_set_new(o, "device", json_string_or_null(w->device));
		json_object_set_new(o, "port", json_string_or_null(w->port));
		json_object_set_new(o, "packets", json_integer((json_int_t)w->packets));
		json_object_set_new(o, "octets", json_integer((json_int_t)w->octets));
		json_object_set_new(o, "burst_bps",
			w->burst_bps ? json_integer((json_int_t)w->burst_bps) : json_null());
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *subject_json(const struct story *story, const struct finding *finding)
{
	json_t *o = json_object(), *hosts = json_array();
	if (story->i.host)
		json_array_append_new(hosts, json_string_or_null(story->i.host));
	json_object_set_new(o, "device", json_string_or_null(story->i.device));
	json_object_set_new(o, "port", json_string_or_null(story->i.port));
	json_object_set_new(o, "priority", incident_priority_json(story->i.priority));
	json_object_set_new(o, "host", json_string_or_null(story->i.host));
	json_object_set_new(o, "hosts", hosts);
	json_object_set_new(o, "group", json_string_or_null(story->i.group));
	json_object_set_new(o, "member", json_string_or_null(story->i.member));
	json_object_set_new(o, "flows", incident_flows_json(finding));
	return o;
}

static json_t *roles_json(const struct finding *finding)
{
	json_t *a = json_array();
	for (size_t k = 0; k < finding->n_roles; k++) {
		json_t *o = json_object();
		json_object_set_new(o, "entity", json_string_or_null(finding->roles[k].entity));
		json_object_set_new(o, "role", json_string_or_null(finding->roles[k].role));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *incident_evidence_json(const struct finding *finding)
{
	json_t *a = json_array();
	for (size_t k = 0; k < finding->n_evidence; k++) {
		const struct evidence *e = &finding->evidence[k];
		json_t *o = json_object();
		json_object_set_new(o, "metric", json_string_or_null(e->metric));
		json_object_set_new(o, "device", json_string_or_null(e->device));
		json_object_set_new(o, "port", json_string_or_null(e->port));
		json_object_set_new(o, "priority", incident_priority_json(e->priority));
		json_object_set_new(o, "from", json_time(e->from_ns));
		json_object_set_new(o, "to", json_time(e->to_ns));
		json_object_set_new(o, "value", json_number_or_null(e->value));
		json_object_set_new(o, "unit", json_string_or_null(e->unit));
		json_object_set_new(o, "quality", json_string_or_null(quality_name(e->quality)));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *steps_json(const struct finding *finding)
{
	json_t *a = json_array();
	for (size_t k = 0; k < finding->n_next_steps; k++) {
		json_t *o = json_object();
		json_object_set_new(o, "text", json_string_or_null(finding->next_steps[k].text));
		json_object_set_new(o, "risk", json_string_or_null(finding->next_steps[k].risk));
		json_array_append_new(a, o);
	}
	return a;
}

void story_describe(struct story *story, const struct finding *finding)
{
	json_t *o = story->i.json;
	story_set(&story->i.member, finding->member);
	story_set(&story->i.summary, finding->summary);
	story->i.confidence_ratio = finding->confidence_ratio;
	story->i.coverage_ratio = finding->coverage_ratio;
	story->i.explained_ratio = finding->explained_ratio;
	story->i.value = finding->value;
	story->i.warn = finding->warn;
	story->described = true;
	json_object_set_new(o, "subject", subject_json(story, finding));
	json_object_set_new(o, "roles", roles_json(finding));
	json_object_set_new(o, "confidence_inputs",
		strings_json(finding->confidence_inputs, finding->n_confidence_inputs));
	json_object_set_new(o, "evidence", incident_evidence_json(finding));
	json_object_set_new(o, "ruled_out", strings_json(finding->ruled_out, finding->n_ruled_out));
	json_object_set_new(o, "next_steps", steps_json(finding));
}

/* Does the glob match a host linked to @device (to any device when NULL)? */
static bool job_has_host(const struct fabric *fabric, const struct fabric_job *job,
	const struct fabric_device *device)
{
	for (size_t k = 0; k < fabric->n_devices; k++) {
		if (device && fabric->devices[k] != device)
			continue;
		for (size_t p = 0; p < fabric->devices[k]->n_ports; p++) {
			const char *host = fabric->devices[k]->ports[p]->host;
			if (host && str_glob(job->hosts, host))
				return true;
		}
	}
	return false;
}

static bool device_has_hosts(const struct fabric_device *device)
{
	for (size_t p = 0; p < device->n_ports; p++) {
		if (device->ports[p]->host)
			return true;
	}
	return false;
}

/*
 * Who waits: a step ends when its slowest rank is done, so all GPUs of a job wait for one bad path
 * of it. A job is concerned when a host of it is the subject or is linked to the subject's device.
 * Where that cannot be told (a switch without hosts, such as a spine; a job whose hosts are not
 * among the links) it counts as concerned.
 */
static bool job_concerned(
	const struct fabric *fabric, const struct fabric_job *job, const struct story *story)
{
	if (story->i.group && strncmp(story->i.group, JOB_PREFIX, strlen(JOB_PREFIX)) == 0)
		return str_eq(story->i.group + strlen(JOB_PREFIX), job->name);
	if (!job->hosts || !*job->hosts)
		return true;
	if (story->i.host)
		return str_glob(job->hosts, story->i.host);
	const struct fabric_device *d = NULL;
	if (story->i.device)
		d = fabric_device(fabric, story->i.device);
	if (!d || !device_has_hosts(d) || !job_has_host(fabric, job, NULL))
		return true;
	return job_has_host(fabric, job, d);
}

void story_impact(struct story *story, const struct fabric *fabric)
{
	json_t *jobs = json_array();
	story->i.gpus_affected = 0;
	for (size_t k = 0; k < fabric->n_jobs; k++) {
		if (!job_concerned(fabric, &fabric->jobs[k], story))
			continue;
		story->i.gpus_affected += fabric->jobs[k].gpus;
		json_array_append_new(jobs, json_string_or_null(fabric->jobs[k].name));
	}
	json_object_set_new(story->i.json, "jobs", jobs);
	json_object_set_new(
		story->i.json, "gpus_affected", json_integer((json_int_t)story->i.gpus_affected));
}

bool story_concerns(const struct story *story, const struct fabric *fabric, const char *job)
{
	for (size_t k = 0; k < fabric->n_jobs; k++)
		if (str_eq(fabric->jobs[k].name, job))
			return job_concerned(fabric, &fabric->jobs[k], story);
	return !job;
}

void story_price(struct story *story, const struct fabric *fabric)
{
	/* that a job is slower is no reason why, nor is pause whose origin is not known */
	const struct cost_sum sum = cost_sum(
		&story->cost, fabric, story->i.gpus_affected, story->i.cause != CAUSE_UNKNOWN);
	story->i.usd_per_hour = sum.usd_per_hour;
	story->i.usd_total = sum.usd_total;
	if (!isnan(sum.explained_ratio))
		story->i.explained_ratio = sum.explained_ratio;
	json_object_set_new(story->i.json, "loss", cost_loss_json(&story->cost, fabric));
}

bool story_also(struct story *story, const struct story *other)
{
	json_t *also = json_object_get(story->i.json, "also");
	if (!json_is_array(also)) { /* written before there was such a list */
		also = json_array();
		json_object_set_new(story->i.json, "also", also);
	}
	json_t *o = json_object();
	json_object_set_new(o, "cause", json_string_or_null(cause_name(other->i.cause)));
	json_object_set_new(o, "device", json_string_or_null(other->i.device));
	json_object_set_new(o, "port", json_string_or_null(other->i.port));
	json_object_set_new(o, "host", json_string_or_null(other->i.host));
	json_object_set_new(o, "group", json_string_or_null(other->i.group));
	for (size_t k = 0; k < json_array_size(also); k++) {
		json_t *known = json_array_get(also, k);
		bool same = true;
		const char *key;
		json_t *value;
		json_object_foreach (o, key, value)
			same = same && json_equal(value, json_object_get(known, key));
		if (same) {
			json_decref(o);
			return false;
		}
	}
	json_object_set_new(o, "summary", json_string_or_null(other->i.summary));
	if (json_array_size(also) >= ALSO_MAX) {
		json_decref(o);
		return false;
	}
	json_array_append_new(also, o);
	return true;
}

static json_t *progress_json(const struct story *story)
{
	json_t *o = json_object();
	json_object_set_new(o, "analyzer", json_string_or_null(story->i.analyzer));
	json_object_set_new(o, "first_ns", json_integer(story->i.first_ns));
	json_object_set_new(o, "opened_ns", json_integer(story->i.opened_ns));
	json_object_set_new(o, "closed_ns", json_integer(story->i.closed_ns));
	json_object_set_new(o, "updated_ns", json_integer(story->i.updated_ns));
	json_object_set_new(o, "over", json_integer(story->i.over));
	json_object_set_new(o, "under", json_integer(story->i.under));
	json_object_set_new(o, "hold", json_integer(story->hold));
	json_object_set_new(
		o, "strength", json_number_or_null(isinf(story->strength) ? NAN : story->strength));
	json_object_set_new(o, "candidate", json_string_or_null(cause_name(story->candidate)));
	json_object_set_new(o, "candidate_windows", json_integer(story->candidate_windows));
	json_object_set_new(o, "recent", json_integer((json_int_t)story->recent));
	json_object_set_new(o, "cost", cost_json(&story->cost));
	return o;
}

void story_refresh(struct story *story)
{
	json_t *o = story->i.json;
	json_object_set_new(o, "id", json_string_or_null(story->i.id));
	json_object_set_new(o, "cause", json_string_or_null(cause_name(story->i.cause)));
	json_object_set_new(o, "severity", json_string_or_null(severity_name(story->i.severity)));
	json_object_set_new(o, "state", json_string_or_null(incident_state_name(story->i.state)));
	json_object_set_new(o, "first", json_time(story->i.first_ns));
	json_object_set_new(o, "opened",
		story->i.state == INCIDENT_PENDING ? json_null() : json_time(story->i.opened_ns));
	json_object_set_new(o, "closed",
		story->i.state == INCIDENT_CLOSED ? json_time(story->i.closed_ns) : json_null());
	json_object_set_new(o, "summary", json_string_or_null(story->i.summary));
	json_object_set_new(o, "confidence_ratio", json_number_or_null(story->i.confidence_ratio));
	json_object_set_new(o, "coverage_ratio", json_number_or_null(story->i.coverage_ratio));
	json_object_set_new(o, "explained_ratio", json_number_or_null(story->i.explained_ratio));
	json_object_set_new(o, "usd_per_hour", json_number_or_null(story->i.usd_per_hour));
	json_object_set_new(o, "usd_total", json_number_or_null(story->i.usd_total));
	json_object_set_new(o, "value", json_number_or_null(story->i.value));
	json_object_set_new(o, "warn", json_number_or_null(story->i.warn));
	json_object_set_new(o, "windows", json_integer(story->i.windows));
	json_object_set_new(o, "parent", json_string_or_null(story->i.parent));
	json_object_set_new(o, "acked_by", json_string_or_null(story->i.acked_by));
	json_object_set_new(o, "progress", progress_json(story));
}

void story_note(struct story *story, int64_t t_ns, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	story_set(&story->i.note, text);
	story->i.note_ns = t_ns;

	json_t *timeline = json_object_get(story->i.json, "timeline");
	if (!timeline) {
		timeline = json_array();
		json_object_set_new(story->i.json, "timeline", timeline);
	}
	json_t *line = json_object();
	json_object_set_new(line, "t", json_time(t_ns));
	json_object_set_new(line, "text", json_string_or_null(story->i.note));
	json_array_append_new(timeline, line);
	if (json_array_size(timeline) > TIMELINE_MAX)
		json_array_remove(timeline, TIMELINE_FIRST);
}

/* ---- reading it back ----------------------------------------------------- */

static int incident_named(const char *name, const char *(*fn)(int), int n)
{
	for (int k = 0; name && k < n; k++) {
		if (str_eq(fn(k), name))
			return k;
	}
	return -1;
}
static const char *incident_state_of(int number)
{
	return incident_state_name((enum incident_state)number);
}
static const char *incident_severity_of(int number)
{
	return severity_name((enum severity)number);
}

static int64_t integer_of(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}
static const char *incident_string_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

struct story *story_parse(const char *text)
{
	json_t *o = json_loads(text, 0, NULL);
	const json_t *progress = json_object_get(o, "progress"),
		     *subject = json_object_get(o, "subject");
	const char *id = incident_string_of(o, "id");
	int state = incident_named(
		incident_string_of(o, "state"), incident_state_of, INCIDENT_CLOSED + 1);
	int severity = incident_named(
		incident_string_of(o, "severity"), incident_severity_of, SEV_CRITICAL + 1);
	if (!json_is_object(progress) || !json_is_object(subject) || !id || strlen(id) != 8 ||
		state <= INCIDENT_PENDING || severity < 0 || !incident_string_of(o, "cause") ||
		!incident_string_of(progress, "analyzer")) {
		json_decref(o);
		return NULL;
	}
	struct story *s = story_blank();
	memcpy(s->i.id, id, 9);
	s->i.json = o;
	s->i.state = (enum incident_state)state;
	s->i.severity = (enum severity)severity;
	story_set(&s->i.analyzer, incident_string_of(progress, "analyzer"));
	s->i.cause = cause_by_name(incident_string_of(o, "cause"));
	story_set(&s->i.device, incident_string_of(subject, "device"));
	story_set(&s->i.port, incident_string_of(subject, "port"));
	story_set(&s->i.host, incident_string_of(subject, "host"));
	story_set(&s->i.group, incident_string_of(subject, "group"));
	story_set(&s->i.member, incident_string_of(subject, "member"));
	story_set(&s->i.summary, incident_string_of(o, "summary"));
	story_set(&s->i.acked_by, incident_string_of(o, "acked_by"));
	if (json_is_integer(json_object_get(subject, "priority")))
		s->i.priority = (int)integer_of(subject, "priority");
	s->i.first_ns = integer_of(progress, "first_ns");
	s->i.opened_ns = integer_of(progress, "opened_ns");
	s->i.closed_ns = integer_of(progress, "closed_ns");
	s->i.updated_ns = integer_of(progress, "updated_ns");
	s->i.over = (uint32_t)integer_of(progress, "over");
	s->i.under = (uint32_t)integer_of(progress, "under");
	s->i.windows = (uint32_t)integer_of(o, "windows");
	s->i.gpus_affected = (uint64_t)integer_of(o, "gpus_affected");
	s->i.usd_per_hour = doc_number(o, "usd_per_hour");
	s->i.usd_total = doc_number(o, "usd_total");
	s->i.confidence_ratio = doc_number(o, "confidence_ratio");
	s->i.explained_ratio = doc_number(o, "explained_ratio");
	s->i.coverage_ratio = doc_number(o, "coverage_ratio");
	s->i.value = doc_number(o, "value");
	s->i.warn = doc_number(o, "warn");
	int64_t hold = integer_of(progress, "hold");
	if (hold < 1)
		s->hold = 1;
	else
		s->hold = (uint32_t)hold;
	double strength = doc_number(progress, "strength");
	if (isnan(strength))
		s->strength = -INFINITY;
	else
		s->strength = strength;
	s->candidate = cause_by_name(incident_string_of(progress, "candidate"));
	s->candidate_windows = (uint32_t)integer_of(progress, "candidate_windows");
	s->recent = (uint64_t)integer_of(progress, "recent");
	story_set(&s->i.parent, incident_string_of(o, "parent"));
	s->cost = cost_parse(json_object_get(progress, "cost"));
	s->described = true;
	return s;
}
