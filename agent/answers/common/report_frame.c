/* report_frame - the frame of a report's document. */
#include "agent/answers/common/report_frame.h"

#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident.h"
#include "config/config.h"
#include "db/model/cause.h"

static const char *const report_states[] = {"OK", "UNKNOWN", "WARNING", "CRITICAL"};

const char *report_state_name(enum report_state state)
{
	return report_states[state];
}

/* Of such a word; REPORT_UNKNOWN for any other. */
static enum report_state report_state_of(const char *name)
{
	for (size_t i = 0; i < rw_countof(report_states); i++)
		if (str_eq(report_states[i], name))
			return (enum report_state)i;
	return REPORT_UNKNOWN;
}

json_t *report_frame(const char *name, const struct client *client)
{
	json_t *doc = json_object();
	json_object_set_new(doc, "report", json_string(name));
	json_object_set_new(doc, "fabric", json_string_or_null(client->config->fabric->name));
	json_object_set_new(doc, "since", json_time(client->from_ns));
	json_object_set_new(doc, "until", json_time(client->to_ns));
	json_object_set_new(doc, "state", json_null());
	json_object_set_new(doc, "verdict", json_null());
	json_object_set_new(doc, "problems", json_array());
	json_object_set_new(doc, "missing", json_array());
	json_object_set_new(doc, "figures", json_array());
	return doc;
}

__attribute__((format(printf, 1, 0))) static char *report_text(const char *fmt, va_list args)
{
	char *text = NULL;
	if (vasprintf(&text, fmt, args) < 0)
		return NULL;
	return text;
}

static bool report_has_key(const json_t *rows, const char *key)
{
	const json_t *row;
	size_t i;
	json_array_foreach (rows, i, row)
		if (str_eq(doc_word(row, "key"), key))
			return true;
	return false;
}

void report_problem(json_t *doc, enum report_state state, const char *cause, const char *subject,
	const char *fmt, ...)
{
	rw_cleanup(str_done) struct str key = {0};
	json_t *problems = json_object_get(doc, "problems"), *row;
	va_list args;
	str_addf(&key, "%s:%s", cause, subject);
	if (report_has_key(problems, key.s))
		return;
	va_start(args, fmt);
	rw_cleanup(freep) char *text = report_text(fmt, args);
	va_end(args);
	row = json_object();
	json_object_set_new(row, "key", json_string_or_null(key.s));
	json_object_set_new(row, "state", json_string(report_state_name(state)));
	json_object_set_new(row, "subject", json_string_or_null(subject));
	json_object_set_new(row, "text", json_string_or_null(text));
	json_object_set_new(row, "runbook", json_null());
	json_array_append_new(problems, row);
}

bool report_is_told(const json_t *doc, const char *cause, const char *subject)
{
	const size_t length = strlen(subject), cause_length = strlen(cause);
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "problems"), i, row) {
		const char *key = doc_word(row, "key"), *where = doc_word(row, "subject");
		const size_t n = strlen(where);
		if (strncmp(key, cause, cause_length) != 0 || key[cause_length] != ':' ||
			n < length)
			continue;
		/* "leaf1:Ethernet2", and behind the name of its host "node-2 leaf1:Ethernet2" */
		const bool whole = n == length || where[n - length - 1] == ' ';
		if (whole && str_eq(where + n - length, subject))
			return true;
	}
	return false;
}

void report_missing(json_t *doc, const char *fmt, ...)
{
	json_t *missing = json_object_get(doc, "missing");
	const json_t *line;
	size_t i;
	va_list args;
	va_start(args, fmt);
	rw_cleanup(freep) char *text = report_text(fmt, args);
	va_end(args);
	json_array_foreach (missing, i, line)
		if (str_eq(json_string_value(line), text))
			return;
	json_array_append_new(missing, json_string_or_null(text));
}

void report_figure(json_t *doc, const char *key, const char *title, double value, const char *unit)
{
	json_t *row = json_object();
	json_object_set_new(row, "key", json_string(key));
	json_object_set_new(row, "title", json_string(title));
	json_object_set_new(row, "value", json_number_or_null(value));
	json_object_set_new(row, "unit", json_string(unit));
	json_array_append_new(json_object_get(doc, "figures"), row);
}

/* Worst first; among equals in the order in which they were added. */
static void report_sort(json_t *doc)
{
	json_t *sorted = json_array(), *problems = json_object_get(doc, "problems"), *row;
	size_t i;
	for (int state = REPORT_CRITICAL; state >= REPORT_OK; state--)
		json_array_foreach (problems, i, row)
			if ((int)report_state_of(doc_word(row, "state")) == state)
				json_array_append(sorted, row);
	json_object_set_new(doc, "problems", sorted);
}

static bool report_is_cause(const char *word)
{
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
		if (str_eq(cause_name((enum cause)i), word))
			return true;
	return false;
}

/* The runbook of each problem whose key begins with a cause; words of a report's own have none. */
static void report_runbooks(const struct config *config, json_t *problems)
{
	json_t *row;
	size_t i;
	json_array_foreach (problems, i, row) {
		const char *key = doc_word(row, "key");
		rw_cleanup(freep) char *cause = strndup(key, strcspn(key, ":"));
		if (!report_is_cause(cause))
			continue;
		rw_cleanup(freep) char *link = runbook_link_of(config, cause);
		json_object_set_new(row, "runbook", json_string_or_null(link));
	}
}

void report_verdict(
	const struct config *config, json_t *doc, enum report_state empty, const char *fine)
{
	rw_cleanup(str_done) struct str text = {0};
	report_sort(doc);
	json_t *problems = json_object_get(doc, "problems");
	report_runbooks(config, problems);
	const json_t *worst = json_array_get(problems, 0);
	const size_t n = json_array_size(problems);
	enum report_state state = empty;
	if (worst)
		state = report_state_of(doc_word(worst, "state"));
	str_add(&text, worst ? doc_word(worst, "text") : fine);
	if (n > 1)
		str_addf(&text, " (and %zu more)", n - 1);
	json_object_set_new(doc, "state", json_string(report_state_name(state)));
	json_object_set_new(doc, "verdict", json_string_or_null(text.s));
}

enum report_state report_doc_state(const json_t *doc)
{
	return report_state_of(doc_word(doc, "state"));
}
