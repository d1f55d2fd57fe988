/* coverage_text - see coverage_text.h. */
#include "agent/answers/doctor/coverage_text.h"

#include "agent/answers/doctor/doctor.h"
#include "base/cleanup.h"
#include "base/str.h"

#define COVERAGE_WIDTH 100

/* "cause (no what, no what), " with line breaks before column @width. */
static void coverage_put(FILE *out, const char *head, const struct coverage_cause *rows, size_t n)
{
	size_t column = 0;
	if (n == 0)
		return;
	fprintf(out, "  %-7s", head);
	for (size_t i = 0; i < n; i++) {
		rw_cleanup(str_done) struct str item = {0};
		str_addf(&item, "%s", rows[i].cause);
		for (size_t k = 0; k < rows[i].n_missing; k++)
			str_addf(&item, "%s%s%s", k ? "; no " : " (no ", rows[i].missing[k].what,
				str_if(rows[i].missing[k].asked == MAYBE_YES, " *"));
		str_addf(&item, ")%s", str_if(i + 1 < n, ","));
		if (column > 0 && column + item.n + 10 > COVERAGE_WIDTH) {
			fprintf(out, "\n%9s", "");
			column = 0;
		}
		fprintf(out, " %s", item.s);
		column += item.n + 1;
	}
	fputc('\n', out);
}

/* The cause says what it needs; what is missing of that is named by its words. */
static bool coverage_same_cause(
	const struct coverage_cause *left, const struct coverage_cause *right)
{
	bool same = str_eq(left->cause, right->cause) && left->n_missing == right->n_missing;
	for (size_t i = 0; same && i < left->n_missing; i++)
		same = str_eq(left->missing[i].what, right->missing[i].what) &&
			left->missing[i].asked == right->missing[i].asked;
	return same;
}

static bool coverage_same_causes(const struct coverage_cause *left, size_t n_left,
	const struct coverage_cause *right, size_t n_right)
{
	bool same = n_left == n_right;
	for (size_t i = 0; same && i < n_left; i++)
		same = coverage_same_cause(&left[i], &right[i]);
	return same;
}

static bool coverage_same(const struct coverage_row *left, const struct coverage_row *right)
{
	return left->delivers == right->delivers &&
		coverage_same_causes(left->blind, left->n_blind, right->blind, right->n_blind) &&
		coverage_same_causes(left->weak, left->n_weak, right->weak, right->n_weak);
}

/* The first device of a kind, with the names of those that are like it. */
static void coverage_put_kind(FILE *out, const struct doctor_answer *doctor, size_t first)
{
	const struct coverage_row *row = &doctor->coverage[first];
	fprintf(out, "COVERAGE     %s", row->device);
	for (size_t i = first + 1; i < doctor->n_coverage; i++)
		if (coverage_same(row, &doctor->coverage[i]))
			fprintf(out, ", %s", doctor->coverage[i].device);
	if (!row->delivers) {
		fputs(": unknown, nothing was delivered lately\n", out);
		return;
	}
	const size_t seen = row->n_sees + row->n_weak;
	fprintf(out, ": shows %zu of %zu causes\n", seen, seen + row->n_blind);
	coverage_put(out, "blind:", row->blind, row->n_blind);
	coverage_put(out, "unsure:", row->weak, row->n_weak);
}

void coverage_print(FILE *out, const struct doctor_answer *doctor)
{
	for (size_t i = 0; i < doctor->n_coverage; i++) {
		bool told = false;
		for (size_t k = 0; k < i; k++)
			told = told || coverage_same(&doctor->coverage[k], &doctor->coverage[i]);
		if (!told)
			coverage_put_kind(out, doctor, i);
	}
	if (doctor->n_coverage > 0)
		fputc('\n', out);
}
