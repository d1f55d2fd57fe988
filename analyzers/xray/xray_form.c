/* xray_form - see xray_form.h. */
#include "analyzers/xray/xray_form.h"

uint16_t xray_form_value(const struct xray_form *form, const struct xray_bits *at)
{
	uint16_t value = 0;
	for (size_t word = 0; word < XRAY_WORDS; word++)
		for (uint64_t rest = at->w[word]; rest; rest &= rest - 1)
			value ^= form->column[word * 64 + (size_t)__builtin_ctzll(rest)];
	return value;
}

uint16_t *xray_form_values(const struct xray_form *form, const struct xray_points *points)
{
	uint16_t *values = rw_calloc(points->n + 1, sizeof(*values));
	for (size_t i = 0; i < points->n; i++)
		values[i] = xray_form_value(form, &points->at[i]);
	return values;
}

struct form_votes {
	size_t n_labels;
	uint16_t *values; /* of the points */
	uint32_t *count; /* [bucket][label] */
};

static struct form_votes form_votes_new(
	const struct xray_form *form, const struct xray_points *points)
{
	return (struct form_votes){points->n_labels, xray_form_values(form, points),
		rw_calloc(form->n_buckets * points->n_labels, sizeof(uint32_t))};
}

static void form_votes_free(struct form_votes *votes)
{
	free(votes->values);
	free(votes->count);
}

static uint32_t *form_votes_of(const struct form_votes *votes, const struct xray_form *form,
	uint16_t constant, size_t point)
{
	const uint16_t value = votes->values[point] ^ constant;
	return &votes->count[xray_bucket(form->select, form->n_buckets, value) * votes->n_labels];
}

static void form_count(const struct form_votes *votes, const struct xray_form *form,
	uint16_t constant, const struct xray_points *points)
{
	memset(votes->count, 0, form->n_buckets * votes->n_labels * sizeof(*votes->count));
	for (size_t i = 0; i < points->n; i++)
		form_votes_of(votes, form, constant, i)[points->label[i]]++;
}

/* The label with most votes, when it leads by @lead and has @share of them; -1. */
static int form_winner(const uint32_t *count, size_t n, uint32_t lead, double share)
{
	size_t best = 0;
	uint32_t second = 0, all = count[0];
	for (size_t i = 1; i < n; i++) {
		all += count[i];
		if (count[i] > count[best])
			best = i;
	}
	for (size_t i = 0; i < n; i++)
		if (i != best && count[i] > second)
			second = count[i];
	if (count[best] < second + lead || count[best] < share * all)
		return -1;
	return (int)best;
}

void xray_form_vote(struct xray_form *form, const struct xray_points *points, struct arena *a)
{
	struct form_votes votes = form_votes_new(form, points);
	form->label = arena_array(a, int16_t, form->n_constants * form->n_buckets);
	for (size_t c = 0; c < form->n_constants; c++) {
		form_count(&votes, form, form->constants[c], points);
		for (size_t b = 0; b < form->n_buckets; b++)
			form->label[c * form->n_buckets + b] = (int16_t)form_winner(
				&votes.count[b * votes.n_labels], votes.n_labels, 2, XRAY_PURE);
	}
	form_votes_free(&votes);
}

int xray_form_label(const struct xray_form *form, const struct xray_bits *at)
{
	const uint16_t value = xray_form_value(form, at);
	int said = -1;
	for (size_t c = 0; c < form->n_constants; c++) {
		const size_t bucket =
			xray_bucket(form->select, form->n_buckets, value ^ form->constants[c]);
		const int label = form->label[c * form->n_buckets + bucket];
		if (label < 0 || (said >= 0 && label != said))
			return -1;
		said = label;
	}
	return said;
}

double xray_form_foretold(const struct xray_form *form, const struct xray_points *points)
{
	struct form_votes votes = form_votes_new(form, points);
	size_t right = 0, said = 0;
	form_count(&votes, form, form->constants[0], points);
	for (size_t i = 0; i < points->n; i++) {
		uint32_t *count = form_votes_of(&votes, form, form->constants[0], i);
		count[points->label[i]]--;
		const int label = form_winner(count, votes.n_labels, 1, 0);
		said += label >= 0;
		right += label == points->label[i];
		count[points->label[i]]++;
	}
	form_votes_free(&votes);
	if (said == 0 || said * 4 < points->n)
		return 0;
	return (double)right / (double)said;
}
