/*
 * ci - the findings in the two forms that a CI reads. SARIF 2.1.0, OASIS standard of 27 March 2020;
 * JUnit's XML as Jenkins and GitLab read it.
 */

#include "agent/answers/lint/answer.h"
#include "agent/document/json_value.h"

/* Every check, so that a CI shows those that passed, too. */
static const struct lint_check {
	const char *name, *about;
} checks[] = {
	{"deadlock", "No ring of buffers that wait for each other."},
	{"watchdog", "A PFC watchdog is on wherever a ring is possible."},
	{"tags", "Bounced packets have a second lossless priority."},
	{"headroom", "Headroom holds what is in flight when pause is sent."},
	{"headroom_pool", "The headroom of all lossless priorities fits into the pool."},
	{"ecn_after_pfc", "Marks come before pause, however many queues are busy."},
	{"one_path", "No switch depends on a single one above it."},
	{"one_path_left", "More than one path is left after one failure."},
	{"uplinks_left", "One failed uplink does not oversubscribe a leaf."},
	{"rails_meet", "Rails are apart."},
	{"both_ends", "Both ends of each link agree."},
	{"topology", "The fabric is in one piece."},
};

static bool fails(const struct lint_finding *row)
{
	return row->severity != LINT_INFO;
}

bool lint_answer_fails(const struct lint_answer *answer)
{
	for (size_t i = 0; i < answer->n_findings; i++)
		if (fails(&answer->findings[i]))
			return true;
	return false;
}

static const char *const sarif_levels[LINT_SEVERITIES] = {"error", "warning", "note"};

/* What a rule that found nothing rests on. */
static json_t *sarif_notes(const struct lint_answer *answer)
{
	json_t *notes = json_array();
	for (size_t i = 0; i < answer->n_assumptions + answer->n_unjudged; i++) {
		const bool assumed = i < answer->n_assumptions;
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s: %s", assumed ? "assumed" : "not judged",
			assumed ? answer->assumptions[i]
				: answer->unjudged[i - answer->n_assumptions]);
		json_array_append_new(notes,
			json_pack("{s:s, s:{s:s}}", "level", "note", "message", "text", text.s));
	}
	return notes;
}

static json_t *sarif_result(const struct lint_finding *row, const char *file)
{
	rw_cleanup(str_done) struct str place = {0}, text = {0};
	str_addf(&place, "%s%s%s", str_or(row->device, "fabric"), str_if(row->port, "/"),
		str_or(row->port, ""));
	str_addf(&text, "%s: %s. %s", place.s, row->text, row->remedy);
	json_t *in = NULL;
	if (file)
		in = json_pack("{s:{s:s}}", "artifactLocation", "uri", file);
	return json_pack("{s:s, s:s, s:{s:s}, s:[{s:o*, s:[{s:s}]}]}", "ruleId", row->check,
		"level", sarif_levels[row->severity], "message", "text", text.s, "locations",
		"physicalLocation", in, "logicalLocations", "fullyQualifiedName", place.s);
}

int lint_print_sarif(FILE *out, const struct lint_answer *answer, const char *file)
{
	json_t *rules = json_array(), *results = json_array();
	for (size_t i = 0; i < rw_countof(checks); i++)
		json_array_append_new(rules,
			json_pack("{s:s, s:{s:s}}", "id", checks[i].name, "shortDescription",
				"text", checks[i].about));
	for (size_t i = 0; i < answer->n_findings; i++)
		json_array_append_new(results, sarif_result(&answer->findings[i], file));
	json_t *doc = json_pack("{s:s, s:s, s:[{s:{s:{s:s, s:s, s:o}}, s:[{s:b, s:o}], s:o}]}",
		"$schema", "https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0",
		"runs", "tool", "driver", "name", "rocewatch lint", "version", RW_VERSION, "rules",
		rules, "invocations", "executionSuccessful", 1, "toolExecutionNotifications",
		sarif_notes(answer), "results", results);
	const int rc = json_print(out, doc, JSON_INDENT(2));
	fputc('\n', out);
	json_decref(doc);
	return rc;
}

static void xml_put(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		default: fputc((unsigned char)*text < 0x20 ? ' ' : *text, out);
		}
	}
}

static void junit_failure(FILE *out, const struct lint_finding *row)
{
	fputs("    <failure type=\"", out);
	xml_put(out, lint_severity_words[row->severity]);
	fputs("\" message=\"", out);
	xml_put(out, str_or(row->device, "fabric"));
	fputs(str_if(row->port, ":"), out);
	xml_put(out, str_or(row->port, ""));
	fputs(": ", out);
	xml_put(out, row->text);
	fputs("\">", out);
	xml_put(out, row->remedy);
	fputs("</failure>\n", out);
}

static size_t junit_failed(const struct lint_answer *answer)
{
	size_t n = 0;
	for (size_t c = 0; c < rw_countof(checks); c++) {
		bool failed = false;
		for (size_t i = 0; i < answer->n_findings; i++)
			failed |= str_eq(answer->findings[i].check, checks[c].name) &&
				fails(&answer->findings[i]);
		n += failed;
	}
	return n;
}

int lint_print_junit(FILE *out, const struct lint_answer *answer)
{
	fprintf(out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"rocewatch lint\" tests=\"%zu\" failures=\"%zu\">\n",
		rw_countof(checks), junit_failed(answer));
	for (size_t c = 0; c < rw_countof(checks); c++) {
		fprintf(out, "  <testcase classname=\"lint.%s\" name=\"%s\">\n", checks[c].name,
			checks[c].about);
		for (size_t i = 0; i < answer->n_findings; i++)
			if (str_eq(answer->findings[i].check, checks[c].name) &&
				fails(&answer->findings[i]))
				junit_failure(out, &answer->findings[i]);
		fputs("  </testcase>\n", out);
	}
	fputs("  <system-out>", out);
	for (size_t i = 0; i < answer->n_assumptions; i++) {
		fputs("assumed: ", out);
		xml_put(out, answer->assumptions[i]);
		fputc('\n', out);
	}
	for (size_t i = 0; i < answer->n_unjudged; i++) {
		fputs("not judged: ", out);
		xml_put(out, answer->unjudged[i]);
		fputc('\n', out);
	}
	fputs("</system-out>\n</testsuite>\n", out);
	if (fflush(out) != 0 || ferror(out))
		return -EIO;
	return 0;
}
