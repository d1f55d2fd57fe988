/* verdict - the worst of what is open, and never better than what is known. */
#include "agent/answers/status/verdict.h"

#include <jansson.h>

#include "agent/answers/incident/incident_read.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/silence.h"
#include "agent/answers/common/agent_state.h"
#include "agent/answers/status/status.h"

/* open_incident - reads open incidents and their stored documents. */

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

/* ---- verdict ------------------------------------------------------------- */

struct verdict_words {
	enum golden_state state;
	struct str text;
};

/* UNKNOWN is worse than OK: it may be anything. */
static int verdict_rank(enum golden_state state)
{
	static const int ranks[GOLDEN_STATES] = {
		[GOLDEN_UNKNOWN] = 1, [GOLDEN_WARNING] = 2, [GOLDEN_CRITICAL] = 3};
	return ranks[state];
}

static bool verdict_is_silenced(const struct open_incident *incident)
{
	return *str_or(incident->silenced, "");
}

enum golden_state verdict_severity_state(const struct open_incident *incident)
{
	if (incident_is_critical(incident))
		return golden_state_of(SEV_CRITICAL);
	/* Of a past time it may not be known. */
	const char *severity = str_or(incident->severity, severity_name(SEV_WARNING));
	if (str_eq(severity, severity_name(SEV_WARNING)))
		return golden_state_of(SEV_WARNING);
	return golden_state_of(SEV_INFO);
}

enum golden_state verdict_incident_state(const struct open_incident *incident)
{
	if (verdict_is_silenced(incident))
		return GOLDEN_OK;
	return verdict_severity_state(incident);
}

/* ---- incidents ---------------------------------------------------------------- */

/* The open one that it is part of; NULL: none. */
static const struct open_incident *verdict_parent(
	const struct verdict_in *in, const struct open_incident *incident)
{
	for (size_t i = 0; i < in->n_incidents; i++)
		if (str_eq(in->incidents[i].id, str_or(incident->parent, "")))
			return &in->incidents[i];
	return NULL;
}

/* What is part of a silenced one stands for itself. */
static bool verdict_is_part(const struct verdict_in *in, const struct open_incident *incident)
{
	const struct open_incident *parent = verdict_parent(in, incident);
	return parent && !verdict_is_silenced(parent);
}

/* Zero where it has no price. */
static double verdict_price(const struct open_incident *incident)
{
	if (isnan(incident->usd_per_hour))
		return 0;
	return incident->usd_per_hour;
}

/* By state, then by price, then the surer one, as lists are sorted; then by id: the order of the
 * rows, which differs between faces, does not count. */
static bool verdict_is_worse(const struct open_incident *incident, const struct open_incident *than)
{
	const int left = verdict_rank(verdict_incident_state(incident));
	const int right = verdict_rank(verdict_incident_state(than));
	if (left != right)
		return left > right;
	if (verdict_price(incident) != verdict_price(than))
		return verdict_price(incident) > verdict_price(than);
	if (isless(incident->confidence_ratio, than->confidence_ratio) ||
		isgreater(incident->confidence_ratio, than->confidence_ratio))
		return incident->confidence_ratio > than->confidence_ratio;
	return strcmp(str_or(incident->id, ""), str_or(than->id, "")) < 0;
}

/* The worst; a part only where it is worse than all that are whole. */
static const struct open_incident *verdict_worst(const struct verdict_in *in)
{
	const struct open_incident *worst = NULL;
	for (int parts = 0; parts < 2; parts++)
		for (size_t i = 0; i < in->n_incidents; i++) {
			const struct open_incident *one = &in->incidents[i];
			if (verdict_is_silenced(one) || verdict_is_part(in, one) != (parts == 1))
				continue;
			const bool worse = worst &&
				verdict_rank(verdict_incident_state(one)) >
					verdict_rank(verdict_incident_state(worst));
			if (!worst || worse || (parts == 0 && verdict_is_worse(one, worst)))
				worst = one;
		}
	return worst;
}

static void verdict_add_money(double *sum, double value)
{
	if (isnan(value))
		return;
	if (isnan(*sum))
		*sum = 0;
	*sum += value;
}

static struct verdict_money verdict_money_of(const struct verdict_in *in)
{
	struct verdict_money money = {NAN, NAN};
	for (size_t i = 0; i < in->n_incidents; i++) {
		if (verdict_parent(in, &in->incidents[i]))
			continue;
		verdict_add_money(&money.usd_per_hour, in->incidents[i].usd_per_hour);
		verdict_add_money(&money.usd_total, in->incidents[i].usd_total);
	}
	return money;
}

static void verdict_say_silenced(struct str *text, size_t n)
{
	if (n)
		str_addf(text, "; %zu silenced", n);
}

/* "2 incidents (1 part more) are open, $960/h, the worst: node-010 pauses ..." */
static void verdict_say_incidents(
	const struct verdict_in *in, const struct verdict_money *money, struct verdict_words *words)
{
	const struct open_incident *worst = verdict_worst(in);
	struct str *text = &words->text;
	size_t n = 0, n_parts = 0, n_silenced = 0;
	if (in->judged_elsewhere) {
		words->state = GOLDEN_UNKNOWN;
		str_add(text, "incidents are in the judge's database");
		return;
	}
	for (size_t i = 0; i < in->n_incidents; i++) {
		const struct open_incident *one = &in->incidents[i];
		if (verdict_is_silenced(one))
			n_silenced++;
		else if (verdict_is_part(in, one))
			n_parts++;
		else
			n++;
	}
	if (!worst) {
		str_add(text, "no incident is open");
		verdict_say_silenced(text, n_silenced);
		return;
	}
	words->state = verdict_incident_state(worst);
	str_addf(text, "%zu incident%s ", n, plural(n));
	if (n_parts)
		str_addf(text, "(with %zu part%s) ", n_parts, plural(n_parts));
	str_add(text, n == 1 ? "is open" : "are open");
	if (money->usd_per_hour > 0)
		str_addf(text, ", $%.*f/h", money->usd_per_hour < 10 ? 2 : 0, money->usd_per_hour);
	if (words->state == GOLDEN_OK)
		str_add(text, ", for information");
	if (n > 1)
		str_add(text, ", the worst");
	const char *what = str_or(worst->headline, "");
	if (!*what)
		what = str_or(worst->summary, "");
	str_addf(text, ": %s", what);
	verdict_say_silenced(text, n_silenced);
}

/* ---- what is known -------------------------------------------------------------- */

/* Detectors judge whole windows: before the first one nothing is known to be well. */
static void verdict_put_first_window(struct verdict_words *words, const struct verdict_in *in)
{
	const bool known = in->agent->has_data && in->quality->first_sample.ns != TIME_UNKNOWN.ns;
	if (in->window_ns == 0 || verdict_rank(words->state) >= verdict_rank(GOLDEN_UNKNOWN))
		return;
	if (known && in->agent->data_time.ns - in->quality->first_sample.ns >= in->window_ns)
		return;
	words->state = GOLDEN_UNKNOWN;
	str_done(&words->text);
	str_add(&words->text, "nothing is judged yet: the first window of data is not complete");
}

/* Devices may answer and tell nothing that a detector reads: silence is not health. */
static void verdict_put_nothing(struct verdict_words *words, const struct verdict_in *in)
{
	if (!in->nothing_to_judge || words->state != GOLDEN_OK)
		return;
	words->state = GOLDEN_UNKNOWN;
	str_done(&words->text);
	str_add(&words->text,
		"nothing is judged: no device delivers a counter that a detector reads ('rocewatch "
		"doctor' says what is missing)");
}

static void verdict_put_devices(struct verdict_words *words, enum golden_state state, uint64_t n,
	const char *what, const char *why)
{
	if (!n || verdict_rank(state) <= verdict_rank(words->state))
		return;
	rw_cleanup(str_done) struct str rest = words->text;
	words->text = (struct str){0};
	words->state = state;
	str_addf(&words->text, "%llu device%s or capture%s %s%s%s; %s", (unsigned long long)n,
		plural(n), plural(n), what, str_if(why != NULL, ", and "), str_or(why, ""), rest.s);
}

static void verdict_put_agent(struct verdict_words *words, const struct agent_state *agent)
{
	const bool stopped = agent->state == AGENT_STOPPED && !agent->past;
	const bool warns =
		agent_is_stuck(agent) && verdict_rank(words->state) < verdict_rank(GOLDEN_WARNING);
	if (!stopped && !agent->stale && !warns)
		return;
	/* What is open was so when the data ended; nobody knows whether it still is. A store that
	 * is stuck is a warning, and unknown once what was read is too old. */
	words->state = GOLDEN_WARNING;
	if (stopped || agent->stale)
		words->state = GOLDEN_UNKNOWN;
	str_done(&words->text);
	agent_state_text(agent, &words->text);
}

/* What the store cannot do is no fault of the fabric; but somebody has to act. */
static void verdict_put_alarms(struct verdict_words *words, const struct verdict_in *in)
{
	if (!in->n_alarms || verdict_rank(words->state) >= verdict_rank(GOLDEN_WARNING))
		return;
	rw_cleanup(str_done) struct str rest = words->text;
	words->text = (struct str){0};
	words->state = GOLDEN_WARNING;
	str_addf(&words->text, "%s: %s, which is no incident; %s", in->alarms[0].subject,
		in->alarms[0].what, rest.s);
}

void verdict_of(const struct verdict_in *in, struct arena *a, struct verdict *ret)
{
	const struct status_quality *quality = in->quality;
	struct verdict_words words = {.state = GOLDEN_OK};
	*ret = (struct verdict){.money = verdict_money_of(in)};
	verdict_say_incidents(in, &ret->money, &words);
	verdict_put_devices(&words, GOLDEN_WARNING, quality->down + quality->captures_down, "down",
		in->down_why);
	verdict_put_devices(&words, GOLDEN_UNKNOWN, quality->unknown + quality->captures_unknown,
		"not known to be up", in->unknown_why);
	verdict_put_first_window(&words, in);
	verdict_put_nothing(&words, in);
	verdict_put_agent(&words, in->agent);
	verdict_put_alarms(&words, in);
	ret->state = words.state;
	ret->why = arena_strdup(a, str_or(words.text.s, ""));
	str_done(&words.text);
}

void verdict_line(struct str *out, enum golden_state state, const char *why)
{
	for (const char *word = golden_state_name(state); *word; word++)
		str_addf(out, "%c", toupper((unsigned char)*word));
	str_addf(out, " - %s", str_or(why, ""));
}
