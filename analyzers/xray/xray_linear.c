/* xray_linear - see xray_form.h. */

#include "analyzers/xray/xray_form.h"

enum {
	DRAWS_MAX = 60000,
	WORK_MAX = 1500000000, /* words that all draws may touch: about two seconds */
	PAIRS = 128, /* that judge a draw */
	KERNEL_BITS_MAX = 10
};
#define DRAWN_OF_A_LABEL 0.6 /* at most: a wrong sample must be able to stay out */

struct linear {
	const struct xray_points *points;
	struct xray_dice *dice;
	uint32_t *order, *begin; /* points by label; begin[label], and one behind the last */
	uint16_t *labels; /* in an order of chance */
	size_t need; /* dimensions of the kernel */
	unsigned width;
	struct xray_bits pairs[PAIRS]; /* differences within labels */
	size_t n_pairs;
	struct xray_span kernel;
};

static void linear_sort(struct linear *work)
{
	const struct xray_points *points = work->points;
	for (size_t i = 0; i < points->n; i++)
		work->begin[points->label[i] + 1]++;
	for (size_t i = 0; i < points->n_labels; i++)
		work->begin[i + 1] += work->begin[i];
	rw_cleanup(freep) uint32_t *next = rw_calloc(points->n_labels, sizeof(*next));
	for (size_t i = 0; i < points->n; i++) {
		const uint16_t label = points->label[i];
		work->order[work->begin[label] + next[label]++] = (uint32_t)i;
	}
}

static size_t linear_size(const struct linear *work, size_t label)
{
	return work->begin[label + 1] - work->begin[label];
}

static struct xray_bits linear_difference(const struct linear *work, size_t i, size_t k)
{
	struct xray_bits sum = work->points->at[work->order[i]];
	xray_xor(&sum, &work->points->at[work->order[k]]);
	return sum;
}

static void linear_draw_pairs(struct linear *work)
{
	for (size_t tries = 0; tries < 8 * PAIRS && work->n_pairs < PAIRS; tries++) {
		const size_t i = xray_dice_below(work->dice, work->points->n);
		const uint16_t label = work->points->label[work->order[i]];
		const size_t size = linear_size(work, label);
		const size_t k = work->begin[label] + xray_dice_below(work->dice, size);
		if (k != i)
			work->pairs[work->n_pairs++] = linear_difference(work, i, k);
	}
}

/* Adds differences of @label to the kernel until it has the dimensions it needs. */
static void linear_draw_label(struct linear *work, size_t label)
{
	const size_t begin = work->begin[label], size = linear_size(work, label);
	const size_t most = (size_t)(DRAWN_OF_A_LABEL * (double)size);
	for (size_t i = 0; i < most && work->kernel.rank < work->need; i++) {
		const size_t k = i + xray_dice_below(work->dice, size - i);
		const uint32_t drawn = work->order[begin + k];
		work->order[begin + k] = work->order[begin + i];
		work->order[begin + i] = drawn;
		if (i > 0) {
			const struct xray_bits sum = linear_difference(work, begin, begin + i);
			xray_span_add(&work->kernel, &sum);
		}
	}
}

static bool linear_draw(struct linear *work)
{
	const size_t n = work->points->n_labels;
	xray_span_init(&work->kernel);
	for (size_t i = 0; i < n && work->kernel.rank < work->need; i++) {
		const size_t k = i + xray_dice_below(work->dice, n - i);
		const uint16_t label = work->labels[k];
		work->labels[k] = work->labels[i];
		work->labels[i] = label;
		linear_draw_label(work, label);
	}
	return work->kernel.rank == work->need;
}

/* Do differences within labels lie in the kernel, as they do not by chance? */
static bool linear_looks_right(const struct linear *work)
{
	const double floor = work->width < 2 ? 0.68 : 0.55;
	size_t inside = 0;
	for (size_t i = 0; i < work->n_pairs; i++) {
		struct xray_bits rest = work->pairs[i];
		xray_span_reduce(&work->kernel, &rest, NULL);
		inside += xray_is_zero(&rest);
		if (i == 15 && inside < 6)
			return false;
	}
	return (double)inside >= floor * (double)work->n_pairs;
}

/* The bits of a vector that the kernel leaves, close together. */
static uint16_t linear_rest(const struct linear *work, size_t coordinate)
{
	struct xray_bits rest = {{0}};
	uint16_t value = 0;
	unsigned at = 0;
	xray_flip(&rest, coordinate);
	xray_span_reduce(&work->kernel, &rest, NULL);
	for (size_t i = 0; i < work->points->rank; i++)
		if (work->kernel.at[i] < 0)
			value |= (uint16_t)(xray_bit(&rest, i) << at++);
	return value;
}

static void linear_form(const struct linear *work, struct xray_form *ret)
{
	*ret = (struct xray_form){.select = XRAY_TABLE,
		.width = work->width,
		.n_buckets = (size_t)1 << work->width,
		.n_constants = 1};
	for (size_t i = 0; i < work->points->rank; i++)
		ret->column[i] = linear_rest(work, i);
}

static bool linear_search(struct linear *work, struct xray_form *ret)
{
	const size_t draw_words = work->need * work->points->rank * XRAY_WORDS / 2 + 1000;
	/* Thirty times as many as meet no wrong sample where an eighth of all are wrong. */
	const double enough = 30 * pow(1.14, (double)work->need + 4);
	size_t draws = WORK_MAX / draw_words;
	if (draws > DRAWS_MAX)
		draws = DRAWS_MAX;
	if ((double)draws > enough)
		draws = (size_t)enough;
	linear_sort(work);
	linear_draw_pairs(work);
	if (work->n_pairs < PAIRS / 8)
		return false;
	for (size_t i = 0; i < draws; i++) {
		if (!linear_draw(work) || !linear_looks_right(work))
			continue;
		linear_form(work, ret);
		if (xray_form_foretold(ret, work->points) >= XRAY_FITS - 0.03)
			return true;
	}
	return false;
}

bool xray_linear(const struct xray_points *points, struct xray_dice *dice, struct xray_form *ret)
{
	unsigned width = 0;
	while ((size_t)1 << width < points->n_labels)
		width++;
	if (width > KERNEL_BITS_MAX || points->rank <= width)
		return false;
	struct linear *work = rw_calloc(1, sizeof(*work));
	work->points = points;
	work->dice = dice;
	work->width = width;
	work->need = points->rank - width;
	work->order = rw_calloc(points->n, sizeof(*work->order));
	work->begin = rw_calloc(points->n_labels + 1, sizeof(*work->begin));
	work->labels = rw_calloc(points->n_labels, sizeof(*work->labels));
	for (size_t i = 0; i < points->n_labels; i++)
		work->labels[i] = (uint16_t)i;
	const bool found = linear_search(work, ret);
	free(work->order);
	free(work->begin);
	free(work->labels);
	free(work);
	return found;
}
