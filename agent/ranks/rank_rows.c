/* rank_rows - the tables of the answer: its document, its columns, and the text for people. */
#include "agent/document/quantity.h"
#include "agent/ranks/rank_answer.h"

const char *const rank_kinds[LATE_KINDS] = {
	"began_late", "ended_late", "longest", "not_begun", "behind"};

#define SHAPE struct rank_row
static const struct field rank_row_fields[] = {
	WORD(kind, late_kind, rank_kinds, LATE_KINDS,
		"began_late: the others waited for it. ended_late: it ended last. longest: it "
		"began "
		"first or ended last. not_begun: others wait in it. behind: by RAS, at that "
		"moment.",
		.head = "kind"),
	COUNT(rank, "The first of its ranks."),
	TEXT(ranks, "Its ranks.", .known = true, .head = "ranks"),
	TEXT(host, "Their host, as the fabric calls it where it is known there.", .head = "host"),
	TEXT(host_by, "What says so."),
	TEXT(nic, "NIC of the rank, where it is known.", .head = "nic"),
	TEXT(port, "Switch port of that NIC.", .head = "port"),
	TEXT(port_by, "What says so."),
	TEXT(op, "Operation.", .known = true, .head = "operation"),
	COUNT(sequence, "Its number in the communicator: of the worst one.", .unknown = true,
		.head = "number"),
	TEXT(comm, "Communicator or process group.", .known = true),
	NUMBER(octets, UNIT_BYTES, "Size of the worst one.", .head = "size"),
	NUMBER(late_s, UNIT_SECONDS, "How late in the worst one.", .head = "late"),
	NUMBER(total_s, UNIT_SECONDS, "How late in all of them together.", .head = "in_all"),
	COUNT(times, "In so many collectives.", .head = "times"),
	COUNT(of, "Of so many of this operation that were judged.", .head = "of"),
	TEXT(by, "order: true whatever the clocks say. durations: a collective ends together.",
		.known = true, .head = "by"),
	TIME(from, "Begin of the first, by the ranks' clocks."),
	TIME(to, "End of the last."),
	TEXT(network,
		"named: an incident of its own port or host. path: one on its leaf or of its job. "
		"innocent: nothing there. unknown: nothing was measured, or no place is known.",
		.known = true, .head = "network"),
	TEXTS(incidents, "Ids of these incidents."),
	TEXT(looked, "What was looked at, or why nothing was.", .known = true),
	TEXT(text, "The row in a sentence.", .known = true),
};
static SHAPE_OF(rank_row, "LateRank", "Ranks that others waited for.");
#undef SHAPE

#define SHAPE struct rank_answer
static const struct field rank_answer_fields[] = {
	TEXT(verdict, "The result in one sentence.", .known = true),
	COUNT(ranks, "Ranks that were told of."),
	COUNT(hosts, "Hosts that they are on, as far as is known."),
	COUNT(collectives, "Collectives that were read."),
	COUNT(judged, "Of these: it is known who was late, or that nobody was."),
	COUNT(undecided, "Neither order nor durations decide."),
	COUNT(skipped, "Told by one rank only, or of an operation in which nobody need wait."),
	COUNT(incomplete, "Of those judged: not all ranks told."),
	NUMBER(offset_s, UNIT_SECONDS,
		"Between what bounds the offset of two clocks is known, by order; the median."),
	TEXT(job, "The only job of the fabric that runs on all of these hosts."),
	NUMBER(step_s, UNIT_SECONDS, "From a collective to when it comes back; the median."),
	NUMBER(exchange_s, UNIT_SECONDS,
		"Time of the collectives of a step, of the rank that waited least."),
	NUMBER(waiting_s, UNIT_SECONDS, "What the median rank waited beside."),
	TIME(to, "End of the last collective."),
	ROWS(rows, rank_row, "Most time lost first."),
	TEXTS(notes, "What cannot be said, and why."),
};
SHAPE_OF(rank_answer, "ImportCollectives", "Which rank the others waited for, and why.");
#undef SHAPE

static void rank_text(
	FILE *out, const void *answer, const struct view *view, bool color, bool header)
{
	const struct rank_answer *a = answer;
	fprintf(out, "%s\n", a->verdict);
	if (!isnan(a->step_s))
		fprintf(out,
			"a step takes %.3g s, exchange %.3g s of it (%.0f %%), and the median rank "
			"waits %.3g s more\n",
			a->step_s, a->exchange_s, 100 * a->exchange_s / a->step_s, a->waiting_s);
	for (size_t i = 0; i < a->n_rows; i++) {
		const struct rank_row *row = &a->rows[i];
		fprintf(out, "\n%s\n", row->text);
		if (row->times > 1)
			fprintf(out, "  %s times of %s, %.3g s in all\n",
				number_count(row->times).s, number_count(row->of).s, row->total_s);
		fprintf(out, "  looked at: %s\n", row->looked);
	}
	for (size_t i = 0; i < a->n_notes; i++)
		fprintf(out, "%s- %s\n", str_if(i == 0, "\n"), a->notes[i]);
}

static const void *rank_view_rows(const void *answer, size_t *ret_n)
{
	const struct rank_answer *a = answer;
	*ret_n = a->n_rows;
	return a->rows;
}
static const struct shape_table rank_table = {.shape = &rank_row_shape};

const struct view rank_view = {.title = "ranks that others waited for",
	.table = &rank_table,
	.table_rows = rank_view_rows,
	.answer_text = rank_text,
	.empty = "no rank was late"};
