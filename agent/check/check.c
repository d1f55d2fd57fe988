/*
 * check - what is asked of any check: it is found, run in its form, and put together from parts;
 * and whether the data is too old to judge by.
 */
#include "agent/check/check.h"

#include "agent/check/check_source.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/common/agent_state.h"
#include "agent/reports/report.h"

#define STALE_WINDOWS 3
#define STALE_NS (5 * 60 * NS_PER_S)
/* A report looks back a day; a check that is asked each minute is about now. */
#define CHECK_REPORT_SPAN_NS (3600 * NS_PER_S)

const struct check *check_by_name(const char *name)
{
	for (size_t i = 0; checks[i]; i++)
		if (str_eq(checks[i]->name, name))
			return checks[i];
	return NULL;
}

const struct check *check_of_report(const char *report)
{
	for (size_t i = 0; checks[i]; i++)
		if (str_eq(checks[i]->report, report))
			return checks[i];
	return NULL;
}

void check_judge(const struct check *check, const struct report_result *result,
	const struct check_ranges *given, struct check_line *ret)
{
	struct check_ranges ranges = {0};
	if (check->defaults)
		check->defaults(result, &ranges);
	if (given->warn.set)
		ranges.warn = given->warn;
	if (given->crit.set)
		ranges.crit = given->crit;
	check->judge(result, &ranges, ret);
}

/* The newest sample is too old, and no agent writes newer ones. */
static bool check_stale(const struct client *client, int64_t window_ns, char *why, size_t size)
{
	char age[32];
	const char *writer = "no agent writes";
	int64_t limit_ns = STALE_WINDOWS * window_ns;
	if (limit_ns < STALE_NS)
		limit_ns = STALE_NS;
	const int64_t age_ns = client->now_ns - client->data_ns;
	if (client->agent == STORE_REPLAY || client->agent_alive)
		return false;
	if (client->has_data && age_ns <= limit_ns && age_ns >= -CLIENT_SKEW_NS)
		return false;
	if (client->agent == AGENT_CANNOT_TELL)
		writer = "cannot tell whether an agent writes";
	if (client->has_data && age_ns < 0)
		snprintf(why, size,
			"%s %s; all its samples are ahead of this machine's clock, the newest by "
			"%s",
			writer, client->db_path, duration_format(age, sizeof(age), -age_ns));
	else if (client->has_data)
		snprintf(why, size, "%s %s; its newest sample is %s old", writer, client->db_path,
			duration_format(age, sizeof(age), age_ns));
	else
		snprintf(why, size, "%s %s; it holds no samples", writer, client->db_path);
	return true;
}

bool check_unknown(const struct client *client, int64_t window_ns, char *why, size_t size)
{
	if (client->config_error) {
		snprintf(why, size, "%s", client->config_error);
		return true;
	}
	return check_stale(client, window_ns, why, size);
}

/* ---- running --------------------------------------------------------------- */

/* A live database may be younger than a window and still miss what polls should have brought. */
static bool check_is_old(struct check_source *source, char *why, size_t size)
{
	struct agent_state state;
	char age[32];
	struct err e = {0};
	if (check_unknown(source->client, 0, why, size))
		return true;
	if (agent_state_read(source->client, &state, &e) < 0) {
		snprintf(why, size, "%s", e.text);
		return true;
	}
	if (!state.stale)
		return false;
	if (source->client->stuck_ns) {
		snprintf(why, size, "the agent polls, but cannot write for %s (%s)",
			duration_format(age, sizeof(age),
				(source->client->now_ns - source->client->stuck_ns) / NS_PER_S *
					NS_PER_S),
			source->client->stuck_why);
		return true;
	}
	if (state.has_data)
		snprintf(why, size, "agent %s, newest sample %s old", agent_state_word(state.state),
			duration_format(age, sizeof(age), state.age_ns / NS_PER_S * NS_PER_S));
	else
		snprintf(why, size, "agent %s, no samples in the database",
			agent_state_word(state.state));
	return true;
}

/* What the sums say by the limits of the configuration is a note beside the incidents. */
static void check_fold_incidents(const struct check *check, const struct check_source *source,
	const struct watch_answer *watch, struct check_line *line)
{
	const enum check_state state = line->state;
	rw_cleanup(str_done) struct str text = line->text;
	line->state = CHECK_OK;
	line->text = (struct str){0};
	const enum cause *causes = golden_info(check->signal)->causes;
	const struct check_open open = {
		watch, causes, check_incidents(source, watch, causes, line)};
	check_measured(source, line, state, &open, (struct check_place){line->device, line->port},
		"%s", str_or(text.s, ""));
	line->device = line->port = NULL; /* they lie in the report's result */
}

static int check_run_report(const struct check *check, struct check_source *source,
	struct check_line *ret, struct err *e)
{
	const struct report *report = report_by_name(check->report);
	const struct report_ask ask = {
		.device = source->scope.device, .group = source->scope.group};
	rw_cleanup(report_result_done) struct report_result result = {0};
	const struct watch_answer *watch;
	check_source_span(source, CHECK_REPORT_SPAN_NS);
	int r = report->collect(source->client, &ask, &result, e);
	if (r < 0)
		return r;
	check_judge(check, &result, &source->given, ret);
	if (source->given.warn.set || source->given.crit.set)
		return 0;
	r = check_source_open(source, &watch, e);
	if (r == 0)
		check_fold_incidents(check, source, watch, ret);
	return r;
}

static int check_run_one(
	const struct check *check, struct check_source *source, struct check_line *ret)
{
	struct err e = {0};
	int r = 0;
	if (check->report)
		r = check_run_report(check, source, ret, &e);
	else if (check->run)
		r = check->run(source, ret, &e);
	if (r < 0)
		check_fail(ret, r, &e);
	return r;
}

/* Whether it is well is said by the line itself; only where all must be ready the parts decide,
 * too. */
static enum check_state check_part_raises(const struct check *check, enum check_state state)
{
	if (check->strict)
		return state;
	return CHECK_OK;
}

/* The first and worst part of a sentence; the lines below hold the rest. */
static int check_clause(const char *text)
{
	return (int)strcspn(text, ";");
}

/* Those parts that are not OK are named. */
static void check_fold(struct check_result *result)
{
	size_t n_ok = 0;
	rw_cleanup(str_done) struct str absent = {0};
	for (size_t i = 0; i < result->n_parts; i++) {
		const struct check_result *part = &result->parts[i];
		const bool told = part->line.state != CHECK_OK &&
			(!part->line.absent || result->check->strict);
		const char *text = str_or(part->line.text.s, "");
		n_ok += part->line.state == CHECK_OK;
		if (part->line.absent)
			str_addf(&absent, "%s%s", str_if(absent.n > 0, ", "), part->check->name);
		if (told)
			check_say(&result->line, check_part_raises(result->check, part->line.state),
				"%s %s: %.*s", part->check->name,
				check_state_name(part->line.state), check_clause(text), text);
	}
	check_say(&result->line, CHECK_OK, "%zu of %zu checks OK", n_ok, result->n_parts);
	if (absent.n > 0)
		check_say(&result->line, CHECK_OK, "not observable: %s", absent.s);
	check_line_value(
		&result->line, "checks_ok", (double)n_ok, 0, NULL, (double)result->n_parts);
}

static void check_run_parts(struct check_source *source, struct check_result *result)
{
	size_t n = 0;
	while (result->check->parts[n])
		n++;
	result->parts = rw_calloc(n + 1, sizeof(*result->parts));
	result->n_parts = n;
	for (size_t i = 0; i < n; i++) {
		result->parts[i].check = check_by_name(result->check->parts[i]);
		check_run_one(result->parts[i].check, source, &result->parts[i].line);
	}
	check_fold(result);
}

void check_run(const struct check *check, struct check_source *source, struct check_result *ret)
{
	char why[1536];
	*ret = (struct check_result){.check = check};
	/* Nobody is called for a silenced incident, but the fabric is not ready with it. */
	source->count_silenced = check->strict;
	bool old = check_is_old(source, why, sizeof(why));
	int r = check_run_one(check, source, &ret->line);
	if (check->parts && !old && r == 0)
		check_run_parts(source, ret);
	if (!old)
		return;
	/* "is it well?" has its sentence, which says so in the words of every face. */
	if (ret->line.state != CHECK_UNKNOWN || !check->parts || check->strict)
		str_done(&ret->line.text);
	ret->line.state = CHECK_UNKNOWN;
	str_addf(&ret->line.text, "%s%s", str_if(ret->line.text.n > 0, "; "), why);
}

void check_result_done(struct check_result *result)
{
	for (size_t i = 0; i < result->n_parts; i++)
		check_result_done(&result->parts[i]);
	free(result->parts);
	check_line_done(&result->line);
	*result = (struct check_result){0};
}

json_t *check_result_json(const struct check_result *result)
{
	const struct check_line *line = &result->line;
	json_t *json = json_object(), *values = json_array();
	if (line->values)
		json_array_extend(values, line->values);
	json_object_set_new(json, "check", json_string(result->check->name));
	json_object_set_new(json, "state", json_string(check_state_name(line->state)));
	json_object_set_new(json, "exit_code", json_integer((int)line->state));
	json_object_set_new(json, "text", json_string_or_null(line->text.s));
	json_object_set_new(json, "values", values);
	json_t *incidents = json_array();
	if (line->incidents)
		json_array_extend(incidents, line->incidents);
	json_object_set_new(json, "incidents", incidents);
	if (!result->check->parts)
		return json;
	json_t *parts = json_array();
	for (size_t i = 0; i < result->n_parts; i++)
		json_array_append_new(parts, check_result_json(&result->parts[i]));
	json_object_set_new(json, "checks", parts);
	return json;
}
