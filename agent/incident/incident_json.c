/* incident_json - incidents as documents. Fields stand in the order in which a person reads them; a
 * field that is not known is null, a list that is empty is []. */
#include "agent/incident/incident_json.h"

#include "agent/document/json_value.h"
#include "agent/document/shape.h"
#include "agent/incident/cost.h"
#include "agent/incident/incident_record.h"
#include "db/model/entity.h"
#include "db/store/store.h"
#include "db/series/history.h"

/* ---- what is told member by member ----------------------------------------- */

#define SHAPE struct finding_role
static const struct field finding_role_fields[] = {TEXT(entity, ""), TEXT(role, "")};
static SHAPE_OF(finding_role, "role", "");
#undef SHAPE

#define SHAPE struct next_step
static const struct field next_step_fields[] = {TEXT(text, ""), TEXT(risk, "")};
static SHAPE_OF(next_step, "step", "");
#undef SHAPE

#define SHAPE struct evidence
static const struct field evidence_fields[] = {
	TEXT(metric, ""),
	TEXT(device, ""),
	TEXT(port, ""),
	PRIORITY(priority, ""),
	TIME_NS("from", from_ns, ""),
	TIME_NS("to", to_ns, ""),
	NUMBER(value, UNIT_NONE, ""),
	TEXT(unit, ""),
	WORD(quality, quality, quality_names, QUALITY_UNKNOWN + 1, ""),
};
static SHAPE_OF(evidence, "evidence", "");
#undef SHAPE

/* Behind the job, where it was measured, and since when it is lower. */
#define SHAPE struct cost_loss
static const struct field cost_loss_fields[] = {
	NUMBER_AS("octets_per_s_before", before, UNIT_NONE, ""),
	NUMBER_AS("octets_per_s", now, UNIT_NONE, ""),
	NUMBER(loss_ratio, UNIT_RATIO, ""),
	NUMBER(error_ratio, UNIT_RATIO, ""),
	NUMBER(share_ratio, UNIT_RATIO, ""),
	NUMBER(step_before_s, UNIT_SECONDS, ""),
	NUMBER(step_s, UNIT_SECONDS, ""),
};
static SHAPE_OF(cost_loss, "loss", "");
#undef SHAPE

/* Behind the cause. */
#define SHAPE struct incident_also
static const struct field incident_also_fields[] = {
	TEXT(device, ""), TEXT(port, ""), TEXT(host, ""), TEXT(group, ""), TEXT(summary, "")};
static SHAPE_OF(incident_also, "also", "");
#undef SHAPE

/* ---- struct to document: parts ------------------------------------------- */

static void incident_add_time(struct str *out, const char *key, int64_t t_ns, bool known)
{
	if (known)
		json_add_time(out, key, t_ns);
	else
		json_add_text(out, key, NULL);
}

static void incident_add_texts(struct str *out, const char *key, const char *const *texts, size_t n)
{
	json_add_open(out, key, '[');
	for (size_t k = 0; k < n; k++)
		json_add_text(out, NULL, texts[k]);
	json_add_close(out, ']');
}

static void incident_add_flow(struct str *out, const struct finding_flow *flow)
{
	json_add_open(out, NULL, '{');
	json_add_text(out, "src", flow->src);
	json_add_text(out, "dst", flow->dst);
	json_add_integer(out, "src_port", flow->src_port);
	json_add_integer(out, "dst_qp", flow->dst_qp);
	json_add_text(out, "device", flow->device);
	json_add_text(out, "port", flow->port);
	json_add_integer(out, "packets", (int64_t)flow->packets);
	json_add_integer(out, "octets", (int64_t)flow->octets);
	if (flow->burst_bps)
		json_add_integer(out, "burst_bps", (int64_t)flow->burst_bps);
	else
		json_add_text(out, "burst_bps", NULL);
	json_add_close(out, '}');
}

static void incident_add_subject(struct str *out, const struct incident *incident)
{
	json_add_open(out, "subject", '{');
	json_add_text(out, "device", incident->device);
	json_add_text(out, "port", incident->port);
	if (incident->priority == PRIO_NONE)
		json_add_text(out, "priority", NULL);
	else
		json_add_integer(out, "priority", incident->priority);
	json_add_text(out, "host", incident->host);
	json_add_open(out, "hosts", '[');
	if (incident->host)
		json_add_text(out, NULL, incident->host);
	for (size_t k = 0; k < incident->n_also; k++) {
		const struct incident_also *also = &incident->also[k];
		if (also->cause == incident->cause && also->host &&
			!str_eq(also->host, incident->host))
			json_add_text(out, NULL, also->host);
	}
	json_add_close(out, ']');
	json_add_text(out, "group", incident->group);
	json_add_text(out, "member", incident->member);
	json_add_open(out, "flows", '[');
	for (size_t k = 0; k < incident->n_flows; k++)
		incident_add_flow(out, &incident->flows[k]);
	json_add_close(out, ']');
	json_add_close(out, '}');
}

static void incident_add_losses(struct str *out, const struct incident *incident)
{
	json_add_open(out, "loss", '[');
	for (size_t k = 0; k < incident->n_losses; k++) {
		const struct cost_loss *loss = &incident->losses[k];
		json_add_open(out, NULL, '{');
		json_add_text(out, "job", loss->job);
		json_add_text(out, "measured_at", loss->by_uplinks ? "leaf uplinks" : "host ports");
		incident_add_time(out, "since", loss->since_ns, loss->fell);
		shape_add(out, &cost_loss_shape, loss);
		json_add_close(out, '}');
	}
	json_add_close(out, ']');
}

/* The contract's list of all reasons, in the order they were found, and one list of each kind. */
static const struct reason_key {
	const char *key;
	enum reason_sign sign;
} reason_keys[] = {
	{"reasons_for", REASON_FOR},
	{"reasons_against", REASON_AGAINST},
	{"not_proved", REASON_OPEN},
};

static void incident_add_reasons(struct str *out, const struct incident *incident)
{
	const char *open = cause_info(incident->cause)->not_proved;
	json_add_open(out, "confidence_inputs", '[');
	for (size_t k = 0; k < incident->n_reasons; k++)
		json_add_text(out, NULL, incident->reasons[k].text);
	json_add_close(out, ']');
	for (size_t i = 0; i < rw_countof(reason_keys); i++) {
		json_add_open(out, reason_keys[i].key, '[');
		for (size_t k = 0; k < incident->n_reasons; k++)
			if (incident->reasons[k].sign == reason_keys[i].sign)
				json_add_text(out, NULL, incident->reasons[k].text);
		if (reason_keys[i].sign == REASON_OPEN && open)
			json_add_text(out, NULL, open);
		json_add_close(out, ']');
	}
}

static void incident_add_also(struct str *out, const struct incident *incident)
{
	json_add_open(out, "also", '[');
	for (size_t k = 0; k < incident->n_also; k++) {
		json_add_open(out, NULL, '{');
		json_add_text(out, "cause", cause_name(incident->also[k].cause));
		shape_add(out, &incident_also_shape, &incident->also[k]);
		json_add_close(out, '}');
	}
	json_add_close(out, ']');
}

static void incident_add_timeline(struct str *out, const struct incident *incident)
{
	json_add_open(out, "timeline", '[');
	for (size_t k = 0; k < incident->n_timeline; k++) {
		json_add_open(out, NULL, '{');
		json_add_time(out, "t", incident->timeline[k].t_ns);
		json_add_text(out, "text", incident->timeline[k].text);
		json_add_close(out, '}');
	}
	json_add_close(out, ']');
}

static void incident_add_progress(struct str *out, const struct incident_record *record)
{
	const struct incident *i = &record->i;
	json_add_open(out, "progress", '{');
	json_add_text(out, "analyzer", i->analyzer);
	json_add_integer(out, "first_ns", i->first_ns);
	json_add_integer(out, "opened_ns", i->opened_ns);
	json_add_integer(out, "closed_ns", i->closed_ns);
	json_add_integer(out, "updated_ns", i->updated_ns);
	json_add_integer(out, "over", i->raised);
	json_add_integer(out, "under", i->clear);
	json_add_integer(out, "hold", record->hold);
	json_add_number(out, "strength", record->strength);
	json_add_text(out, "candidate", cause_name(record->candidate));
	json_add_number(out, "candidate_windows", record->candidate_windows);
	json_add_number(out, "quiet", record->quiet);
	cost_json_add(out, "cost", &record->cost);
	json_add_close(out, '}');
}

/* ---- struct to document -------------------------------------------------- */

static void incident_add(struct str *out, const struct incident *i)
{
	rw_cleanup(freep) char *headline = incident_headline(i);
	json_add_open(out, NULL, '{');
	json_add_text(out, "id", i->id);
	json_add_text(out, "cause", cause_name(i->cause));
	json_add_text(out, "severity", severity_name(i->severity));
	json_add_text(out, "state", incident_state_name(i->state));
	json_add_text(out, "headline", headline);
	json_add_text(out, "summary", i->summary);
	json_add_time(out, "first", i->first_ns);
	incident_add_time(out, "opened", i->opened_ns, i->state != INCIDENT_PENDING);
	incident_add_time(out, "closed", i->closed_ns, i->state == INCIDENT_CLOSED);
	incident_add_subject(out, i);
	shape_add_rows(out, "roles", &finding_role_shape, i->roles, i->n_roles);
	json_add_number(out, "confidence_ratio", i->confidence_ratio);
	incident_add_reasons(out, i);
	json_add_number(out, "value", i->value);
	json_add_number(out, "warn", i->warn);
	json_add_integer(out, "windows", i->windows);
	shape_add_rows(out, "evidence", &evidence_shape, i->evidence, i->n_evidence);
	json_add_number(out, "coverage_ratio", i->coverage_ratio);
	incident_add_texts(out, "jobs", i->jobs, i->n_jobs);
	json_add_integer(out, "gpus_affected", (int64_t)i->gpus_affected);
	json_add_number(out, "usd_per_hour", i->usd_per_hour);
	json_add_number(out, "usd_total", i->usd_total);
	json_add_number(out, "explained_ratio", i->explained_ratio);
	incident_add_losses(out, i);
	incident_add_texts(out, "ruled_out", i->ruled_out, i->n_ruled_out);
	incident_add_texts(out, "changed_before", i->changed_before, i->n_changed_before);
	shape_add_rows(out, "next_steps", &next_step_shape, i->next_steps, i->n_next_steps);
	json_add_text(out, "parent", i->parent);
	incident_add_also(out, i);
	json_add_text(out, "acked_by", i->acked_by);
	json_add_text(out, "ack_note", i->ack_note);
	incident_add_timeline(out, i);
	incident_add_progress(out, incident_record_of(i));
	if (i->assigned_to)
		json_add_text(out, "assigned_to", i->assigned_to);
	json_add_close(out, '}');
}

char *incident_json_text(const struct incident *incident)
{
	struct str out = {0};
	str_room(&out, 4096); /* a usual one */
	incident_add(&out, incident);
	return out.s;
}

json_t *incident_json(const struct incident *incident)
{
	rw_cleanup(freep) char *text = incident_json_text(incident);
	return json_loads(text, 0, NULL);
}

/* ---- document to struct: parts ------------------------------------------- */

static int64_t get_integer(const json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

/* NULL when it is missing or null; lives with @object. */
static const char *get_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static const char *get_copy(const json_t *object, const char *key, struct arena *a)
{
	const char *text = get_text(object, key);
	if (!text)
		return NULL;
	return arena_strdup(a, text);
}

static int get_priority(const json_t *object)
{
	const int64_t number = get_integer(object, "priority");
	if (json_is_integer(json_object_get(object, "priority")) && number >= 0 &&
		number <= PRIO_MOST)
		return (int)number;
	return PRIO_NONE;
}

static int64_t get_time(const json_t *object, const char *key)
{
	const char *text = get_text(object, key);
	wall_t t = {0};
	if (!text || wall_parse(text, (wall_t){0}, &t) != 0)
		return 0;
	return t.ns;
}

/* The number of the name @text among @n names, or -1. */
static int get_named(const char *text, const char *(*name)(int number), int n)
{
	for (int k = 0; text && k < n; k++) {
		if (str_eq(name(k), text))
			return k;
	}
	return -1;
}

static const char *state_of_number(int number)
{
	return incident_state_name((enum incident_state)number);
}

static const char *severity_of_number(int number)
{
	return severity_name((enum severity)number);
}

static const char *const *get_texts(
	const json_t *object, const char *key, struct arena *a, size_t *ret_n)
{
	const json_t *list = json_object_get(object, key);
	const size_t n = json_array_size(list);
	const char **texts = arena_array(a, const char *, n);
	for (size_t k = 0; k < n; k++) {
		const char *text = json_string_value(json_array_get(list, k));
		if (text)
			texts[k] = arena_strdup(a, text);
	}
	*ret_n = n;
	return texts;
}

static void parse_flows(struct incident_record *record, const json_t *list)
{
	const size_t n = json_array_size(list);
	struct finding_flow *flows = arena_array(record->said, struct finding_flow, n);
	for (size_t k = 0; k < n; k++) {
		const json_t *o = json_array_get(list, k);
		struct finding_flow *f = &flows[k];
		snprintf(f->src, sizeof(f->src), "%s", doc_word(o, "src"));
		snprintf(f->dst, sizeof(f->dst), "%s", doc_word(o, "dst"));
		f->src_port = (uint32_t)get_integer(o, "src_port");
		f->dst_qp = (uint32_t)get_integer(o, "dst_qp");
		f->device = get_copy(o, "device", record->said);
		f->port = get_copy(o, "port", record->said);
		f->packets = (uint64_t)get_integer(o, "packets");
		f->octets = (uint64_t)get_integer(o, "octets");
		f->burst_bps = (uint64_t)get_integer(o, "burst_bps");
	}
	record->i.flows = flows;
	record->i.n_flows = n;
}

static void *parse_rows(
	const struct shape *shape, const json_t *list, struct arena *a, size_t *ret_n)
{
	const size_t n = json_array_size(list);
	char *rows = arena_alloc(a, (n + 1) * shape->size);
	for (size_t k = 0; k < n; k++)
		shape_read(shape, json_array_get(list, k), a, rows + k * shape->size);
	*ret_n = n;
	return rows;
}

/* A quality that has no name here is unknown. */
static void parse_evidence(struct incident_record *record, const json_t *list)
{
	struct evidence *evidence =
		parse_rows(&evidence_shape, list, record->said, &record->i.n_evidence);
	for (size_t k = 0; k < record->i.n_evidence; k++)
		if (evidence[k].quality > QUALITY_UNKNOWN)
			evidence[k].quality = QUALITY_UNKNOWN;
	record->i.evidence = evidence;
}

static void parse_losses(struct incident_record *record, const json_t *list)
{
	struct cost_loss *losses =
		parse_rows(&cost_loss_shape, list, record->impact, &record->i.n_losses);
	for (size_t k = 0; k < record->i.n_losses; k++) {
		const json_t *o = json_array_get(list, k);
		losses[k].job = get_copy(o, "job", record->impact);
		losses[k].by_uplinks = str_eq(get_text(o, "measured_at"), "leaf uplinks");
		losses[k].fell = get_text(o, "since") != NULL;
		losses[k].since_ns = get_time(o, "since");
	}
	record->i.losses = losses;
}

static void parse_history(struct incident_record *record, const json_t *document)
{
	const json_t *entry;
	size_t k;
	json_array_foreach (json_object_get(document, "timeline"), k, entry)
		incident_record_line(record, get_time(entry, "t"), doc_word(entry, "text"));
	json_array_foreach (json_object_get(document, "changed_before"), k, entry)
		incident_record_changed(record, json_string_value(entry));
	json_array_foreach (json_object_get(document, "also"), k, entry) {
		struct incident_also also = {.cause = cause_by_name(get_text(entry, "cause"))};
		shape_read(&incident_also_shape, entry, record->said, &also);
		incident_record_also(record, &also);
	}
}

static void parse_subject(struct incident_record *record, const json_t *subject)
{
	struct incident *i = &record->i;
	incident_record_set(&i->device, get_text(subject, "device"));
	incident_record_set(&i->port, get_text(subject, "port"));
	incident_record_set(&i->host, get_text(subject, "host"));
	incident_record_set(&i->group, get_text(subject, "group"));
	incident_record_set(&i->member, get_text(subject, "member"));
	i->priority = get_priority(subject);
	parse_flows(record, json_object_get(subject, "flows"));
}

static bool holds_text(const json_t *list, const char *text)
{
	const json_t *entry;
	size_t k;
	json_array_foreach (list, k, entry)
		if (str_eq(json_string_value(entry), text))
			return true;
	return false;
}

/* One that stands in none of the lists counts as a reason for it. */
static void parse_reasons(struct incident_record *record, const json_t *document)
{
	struct incident *i = &record->i;
	const char *const *texts =
		get_texts(document, "confidence_inputs", record->said, &i->n_reasons);
	struct finding_reason *reasons =
		arena_array(record->said, struct finding_reason, i->n_reasons + 1);
	for (size_t k = 0; k < i->n_reasons; k++) {
		reasons[k] = (struct finding_reason){texts[k], REASON_FOR};
		for (size_t j = 0; j < rw_countof(reason_keys); j++)
			if (holds_text(json_object_get(document, reason_keys[j].key), texts[k]))
				reasons[k].sign = reason_keys[j].sign;
	}
	i->reasons = reasons;
}

/* What the findings and the jobs' throughput said. */
static void parse_description(struct incident_record *record, const json_t *document)
{
	struct incident *i = &record->i;
	parse_subject(record, json_object_get(document, "subject"));
	incident_record_set(&i->summary, get_text(document, "summary"));
	i->roles = parse_rows(
		&finding_role_shape, json_object_get(document, "roles"), record->said, &i->n_roles);
	parse_evidence(record, json_object_get(document, "evidence"));
	i->next_steps = parse_rows(&next_step_shape, json_object_get(document, "next_steps"),
		record->said, &i->n_next_steps);
	parse_reasons(record, document);
	i->ruled_out = get_texts(document, "ruled_out", record->said, &i->n_ruled_out);
	i->confidence_ratio = doc_number(document, "confidence_ratio");
	i->coverage_ratio = doc_number(document, "coverage_ratio");
	i->value = doc_number(document, "value");
	i->warn = doc_number(document, "warn");
	i->jobs = get_texts(document, "jobs", record->impact, &i->n_jobs);
	i->gpus_affected = (uint64_t)get_integer(document, "gpus_affected");
	i->usd_per_hour = doc_number(document, "usd_per_hour");
	i->usd_total = doc_number(document, "usd_total");
	i->explained_ratio = doc_number(document, "explained_ratio");
	parse_losses(record, json_object_get(document, "loss"));
	record->described = true;
}

/* The state of the ledger's machine. */
static void parse_progress(struct incident_record *record, const json_t *progress)
{
	struct incident *i = &record->i;
	incident_record_set(&i->analyzer, get_text(progress, "analyzer"));
	i->first_ns = get_integer(progress, "first_ns");
	i->opened_ns = get_integer(progress, "opened_ns");
	i->closed_ns = get_integer(progress, "closed_ns");
	i->updated_ns = get_integer(progress, "updated_ns");
	i->raised = (uint32_t)get_integer(progress, "over");
	i->clear = (uint32_t)get_integer(progress, "under");
	const int64_t hold = get_integer(progress, "hold");
	if (hold > 1)
		record->hold = (uint32_t)hold;
	const double strength = doc_number(progress, "strength");
	if (!isnan(strength))
		record->strength = strength;
	record->candidate = cause_by_name(get_text(progress, "candidate"));
	const double candidate = doc_number(progress, "candidate_windows");
	if (candidate > 0)
		record->candidate_windows = candidate;
	record->quiet = doc_number(progress, "quiet");
	if (isnan(record->quiet))
		record->quiet = i->clear; /* written before windows overlapped */
	record->cost = cost_json_parse(json_object_get(progress, "cost"));
}

/* ---- document to struct -------------------------------------------------- */

struct incident_record *incident_json_read(const json_t *document)
{
	/* 1. what the ledger cannot do without */
	const json_t *progress = json_object_get(document, "progress");
	const char *id = get_text(document, "id");
	const char *cause = get_text(document, "cause");
	if (!json_is_object(progress) || !json_is_object(json_object_get(document, "subject")))
		return NULL;
	if (!id || strlen(id) != 8 || !cause || !get_text(progress, "analyzer"))
		return NULL;

	/* 2. pending incidents are never stored */
	const int state =
		get_named(get_text(document, "state"), state_of_number, INCIDENT_CLOSED + 1);
	const int severity =
		get_named(get_text(document, "severity"), severity_of_number, SEV_CRITICAL + 1);
	if (state <= INCIDENT_PENDING || severity < 0)
		return NULL;

	/* 3. the rest may be missing */
	struct incident_record *record = incident_record_blank();
	struct incident *i = &record->i;
	memcpy(i->id, id, sizeof(i->id));
	i->state = (enum incident_state)state;
	i->severity = (enum severity)severity;
	i->windows = (uint32_t)get_integer(document, "windows");
	i->cause = cause_by_name(cause);
	incident_record_set(&i->parent, get_text(document, "parent"));
	incident_record_set(&i->acked_by, get_text(document, "acked_by"));
	incident_record_set(&i->ack_note, get_text(document, "ack_note"));
	incident_record_set(&i->assigned_to, get_text(document, "assigned_to"));
	parse_description(record, document);
	parse_progress(record, progress);
	parse_history(record, document);
	return record;
}

struct incident_record *incident_json_parse(const char *text)
{
	json_t *document = json_outside(text, strlen(text), 0, NULL);
	struct incident_record *record = incident_json_read(document);
	json_decref(document);
	return record;
}

/* accused - reads the incidents of a time range for whom they accuse. */

struct accused_list {
	struct incident_record **v; /* owned */
	size_t n, cap;
	int64_t to_ns;
	const char *id;
};

static int accused_take(void *arg, int n, char *const *words, char *const *names)
{
	struct accused_list *list = arg;
	struct incident_record *record = NULL;
	if (n == 1 && words[0])
		record = incident_json_parse(words[0]);
	if (!record)
		return 0;
	const bool asked = str_eq(record->i.id, list->id);
	const bool fits = record->i.first_ns <= list->to_ns && record->i.severity > SEV_INFO;
	if (!asked && !fits) {
		incident_record_free(record);
		return 0;
	}
	rw_grow(list->v, list->n, list->cap);
	list->v[list->n++] = record;
	return 0;
}

static int accused_order(const void *left, const void *right)
{
	const struct incident_record *const *x = left, *const *y = right;
	return incident_compare(&(*x)->i, &(*y)->i);
}

static const char *accused_copy(struct arena *a, const char *text)
{
	if (!text)
		return NULL;
	return arena_strdup(a, text);
}

static struct accused accused_of(const struct incident *incident, struct arena *a)
{
	rw_cleanup(freep) char *headline = incident_headline(incident);
	struct accused one = {.cause = incident->cause,
		.host = accused_copy(a, incident->host),
		.device = accused_copy(a, incident->device),
		.port = accused_copy(a, str_or(incident->port, incident->member)),
		.priority = incident->priority,
		.confidence_ratio = incident->confidence_ratio,
		.headline = arena_strdup(a, headline)};
	memcpy(one.id, incident->id, sizeof(one.id));
	return one;
}

int accused_read(struct history *history, int64_t from_ns, int64_t to_ns, const char *id,
	struct arena *a, struct accused **ret, size_t *ret_n, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct accused_list list = {.to_ns = to_ns, .id = id};
	str_addf(&sql,
		"SELECT json FROM incidents WHERE opened_ns IS NOT NULL AND json IS NOT NULL AND "
		"(closed_ns IS NULL OR closed_ns>=%" PRId64 ")",
		from_ns);
	const int r = history_sql(history, sql.s, accused_take, &list, e);
	*ret = arena_array(a, struct accused, list.n + 1);
	*ret_n = 0;
	if (list.n)
		qsort(list.v, list.n, sizeof(*list.v), accused_order);
	for (int asked = 1; r == 0 && asked >= 0; asked--)
		for (size_t k = 0; k < list.n; k++)
			if (str_eq(list.v[k]->i.id, id) == asked)
				(*ret)[(*ret_n)++] = accused_of(&list.v[k]->i, a);
	for (size_t k = 0; k < list.n; k++)
		incident_record_free(list.v[k]);
	free(list.v);
	return r;
}

/* incident_store - writes what the ledger reports of an incident to the store. */

void incident_store(void *store, const struct incident *incident, enum incident_state from)
{
	if (!store)
		return;
	rw_cleanup(freep) char *json = incident_json_text(incident);
	store_incident(store,
		&(struct store_incident){
			.id = incident->id,
			.cause = cause_name(incident->cause),
			.severity = severity_name(incident->severity),
			.state = incident_state_name(incident->state),
			.device = incident->device,
			.port = incident->port,
			.group = incident->group,
			.host = incident->host,
			.summary = incident->summary,
			.json = json,
			.priority = incident->priority,
			.opened_ns = incident->opened_ns,
			.closed_ns = incident->closed_ns,
			.updated_ns = incident->updated_ns,
			.usd_per_hour = incident->usd_per_hour,
			.usd_total = incident->usd_total,
			.confidence = incident->confidence_ratio,
			.acked_by = incident->acked_by,
		});
	if (incident->note)
		store_event(store, incident->note_ns, "incident", incident->id, "", incident->note);
}
