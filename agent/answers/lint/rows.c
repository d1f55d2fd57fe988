/* rows - the table of the answer: its document, its columns, and the text for people. */
#include "agent/answers/lint/answer.h"

#include "agent/document/page.h"

#define SHAPE struct lint_finding
static const struct field lint_finding_fields[] = {
	WORD(severity, lint_severity, lint_severity_words, LINT_SEVERITIES, "How bad it is.",
		.type = "severity", .head = "severity"),
	TEXT(check, "What was judged, which never changes.", .known = true, .head = "check"),
	TEXT(device, "Switch; null: the whole fabric.", .head = "device"),
	TEXT(port, "Its first port of which this holds.", .head = "port"),
	PRIORITY(priority, "Priority.", .head = "priority"),
	TEXT(text, "What was found.", .known = true, .head = "text"),
	TEXT(remedy, "What to do.", .known = true, .head = "remedy"),
	HIDDEN(by),
	HIDDEN(same),
};
static SHAPE_OF(lint_finding, "LintFinding", "A finding.");
#undef SHAPE

#define SHAPE struct lint_witness
static const struct field lint_witness_fields[] = {
	TEXT(reroute, "How routing met the failures: converged, local, back or tagged.",
		.known = true),
	TEXTS(failed, "Links and switches that failed; empty: the fabric as it stands."),
	TEXTS(ring,
		"Buffers that wait for each other, in order: each sends to the next, the last "
		"to the first."),
	TEXTS(flows, "For each buffer of the ring the leaf to which its packets go."),
};
static SHAPE_OF(lint_witness, "LintWitness", "A ring of buffers that failures make possible.");
#undef SHAPE

#define SHAPE struct lint_rings
static const struct field lint_rings_fields[] = {
	TEXT(reroute, "How routing meets a failure: converged, local, back or tagged.",
		.known = true),
	PRIORITY(priority,
		"Priority, and others whose PFC is set alike; null: all lossless priorities."),
	FLAG(whole, "A ring is possible with nothing failed."),
	COUNT(singles, "Failures of one link or switch that were judged."),
	COUNT(cyclic_singles, "Of these, those that make a ring possible."),
	COUNT(pairs, "Failures of two that were judged."),
	COUNT(cyclic_pairs, "Of these, those that make one possible, and neither alone does."),
	COUNT(unjudged_pairs, "Of these, those that would have to be walked, and are too many."),
	FLAG(walked,
		"Each set of failures was walked; else rings may be foretold that are none, "
		"except the witnesses."),
};
static SHAPE_OF(lint_rings, "LintRings", "Rings of buffers under one way to reroute.");
#undef SHAPE

#define SHAPE struct lint_answer
static const struct field lint_answer_fields[] = {
	TEXT(fabric, "Name of the fabric.", .known = true),
	TEXT(source, "What was judged.", .known = true),
	TEXT(verdict, "The result in one sentence.", .known = true),
	COUNT(switches, "Switches that were judged."),
	COUNT(links, "Links between them; a LAG is one."),
	COUNT(leaves, "Switches with hosts."),
	COUNT(failures, "Failures at once, at most."),
	ROWS(findings, lint_finding, "What was found, the worst first."),
	ROWS(rings, lint_rings, "Rings of buffers, for each way to reroute."),
	ROWS(witnesses, lint_witness, "Rings as examples; each was walked."),
	TEXTS(assumptions, "What was taken for granted."),
	TEXTS(unjudged, "What was not judged, and what it would take."),
};
SHAPE_OF(lint_answer, "Lint", "What would be wrong with a fabric before it is built or changed.");
#undef SHAPE

static void print_finding(FILE *out, const struct lint_finding *row)
{
	fprintf(out, "%-8s  %s", lint_severity_words[row->severity], str_or(row->device, "fabric"));
	if (row->port)
		fprintf(out, ":%s", row->port);
	if (row->priority >= 0)
		fprintf(out, " priority %d", row->priority);
	fprintf(out, ": %s (%s)\n          %s\n", row->text, row->check, row->remedy);
}

static void rings_text(struct str *out, const struct lint_rings *rings)
{
	str_addf(out, "%-9s  ", rings->reroute);
	if (rings->priority >= 0)
		str_addf(out, "priority %d, ", rings->priority);
	str_addf(out, "as it stands: %s", rings->whole ? "a ring is possible" : "no ring");
	if (rings->singles && !rings->whole)
		str_addf(out, "; one failure: %llu of %llu",
			(unsigned long long)rings->cyclic_singles,
			(unsigned long long)rings->singles);
	if (rings->pairs && !rings->whole)
		str_addf(out, "; two: %llu of %llu", (unsigned long long)rings->cyclic_pairs,
			(unsigned long long)rings->pairs);
	if (rings->unjudged_pairs)
		str_addf(out, " (%llu not judged)", (unsigned long long)rings->unjudged_pairs);
	str_add(out, "\n");
}

static void witness_text(struct str *out, const struct lint_witness *witness)
{
	str_addf(out, "%s, ", witness->reroute);
	for (size_t i = 0; i < witness->n_failed; i++)
		str_addf(out, "%s%s", str_if(i > 0, " and "), witness->failed[i]);
	str_addf(out, "%s:\n", witness->n_failed ? " failed" : "nothing failed");
	for (size_t i = 0; i < witness->n_ring; i++)
		str_addf(out, "  %-40s packets to %s\n", witness->ring[i], witness->flows[i]);
}

static void rings_all_text(struct str *out, const struct lint_answer *a)
{
	for (size_t i = 0; i < a->n_rings; i++)
		rings_text(out, &a->rings[i]);
	for (size_t i = 0; i < a->n_witnesses; i++) {
		str_add(out, "\n");
		witness_text(out, &a->witnesses[i]);
	}
}

static void print_lines(FILE *out, const char *head, const char *const *lines, size_t n)
{
	if (n > 0)
		fprintf(out, "\n%s\n", head);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "  - %s\n", lines[i]);
}

static void lint_text(
	FILE *out, const void *answer, const struct view *view, bool color, bool header)
{
	const struct lint_answer *a = answer;
	rw_cleanup(str_done) struct str text = {0};
	fprintf(out, "%s: %s\n\n", a->fabric, a->verdict);
	for (size_t i = 0; i < a->n_findings; i++)
		print_finding(out, &a->findings[i]);
	if (!header)
		return;
	fprintf(out,
		"%sRings of buffers that can wait for each other (%llu switches, %llu link%s):\n",
		str_if(a->n_findings > 0, "\n"), (unsigned long long)a->switches,
		(unsigned long long)a->links, str_if(a->links != 1, "s"));
	rings_all_text(&text, a);
	fputs(str_or(text.s, ""), out);
	print_lines(out, "On these assumptions:", a->assumptions, a->n_assumptions);
	print_lines(out, "Not judged:", a->unjudged, a->n_unjudged);
}

static const struct shape_table lint_table = {.shape = &lint_finding_shape};

static const void *lint_rows(const void *answer, size_t *ret_n)
{
	const struct lint_answer *a = answer;
	*ret_n = a->n_findings;
	return a->findings;
}

static void page_lines(struct page *page, const char *head, const char *const *lines, size_t n)
{
	if (n > 0)
		page_heading(page, "%s", head);
	for (size_t i = 0; i < n; i++)
		page_item(page, lines[i]);
}

/* A pull request shows it: what was assumed belongs to it. */
static struct page *lint_page(const json_t *doc, const void *answer)
{
	const struct lint_answer *a = answer;
	rw_cleanup(str_done) struct str text = {0};
	struct page *page = page_new("lint");
	page_title(page, a->fabric, a->verdict);
	if (a->n_findings > 0)
		page_rows(page, "", &lint_table, a->findings, a->n_findings);
	rings_all_text(&text, a);
	page_heading(page, "Rings of buffers that can wait for each other");
	page_code(page, "", str_or(text.s, ""));
	page_lines(page, "On these assumptions", a->assumptions, a->n_assumptions);
	page_lines(page, "Not judged", a->unjudged, a->n_unjudged);
	return page;
}

const struct view lint_view = {.title = "lint",
	.empty = "nothing found",
	.table = &lint_table,
	.table_rows = lint_rows,
	.answer_page = lint_page,
	.answer_text = lint_text};
