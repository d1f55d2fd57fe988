/* sample_sort - see the header. A radix sort by entity keeps the order of arrival, in which the
 * times of one entity nearly always ascend; where they do not, a merge of ascending runs follows
 * (natural merge sort: Knuth, The Art of Computer Programming, vol. 3, 5.2.4). */
#include "db/sqlite/write/store_write.h"

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

void sample_sorter_done(struct sample_sorter *sorter)
{
	free(sorter->room);
	free(sorter->counts);
	*sorter = (struct sample_sorter){0};
}

static void sorter_room(struct sample_sorter *sorter, size_t n)
{
	if (!sorter->counts)
		sorter->counts = rw_calloc(DIGITS, sizeof(*sorter->counts));
	if (n <= sorter->cap)
		return;
	free(sorter->room);
	sorter->room = rw_calloc(n, sizeof(*sorter->room));
	sorter->cap = n;
}

/* Strictly: false for equal pairs. @slice_ns 0: all are one slice. */
static bool sample_before(
	const struct block_sample *left, const struct block_sample *right, int64_t slice_ns)
{
	if (slice_ns > 0) {
		const int64_t x = sample_slice(left->t_ns, slice_ns);
		const int64_t y = sample_slice(right->t_ns, slice_ns);
		if (x != y)
			return x < y;
	}
	if (left->entity != right->entity)
		return left->entity < right->entity;
	return left->t_ns < right->t_ns;
}

/* The end of the ascending run that begins at @from. */
static size_t run_end(const struct block_sample *v, size_t from, size_t n, int64_t slice_ns)
{
	size_t end = from + 1;

	while (end < n && !sample_before(&v[end], &v[end - 1], slice_ns))
		end++;
	return end;
}

static void merge_runs(const struct block_sample *from, size_t a, size_t b, size_t end,
	int64_t slice_ns, struct block_sample *to)
{
	const size_t middle = b;

	while (a < middle && b < end) {
		if (sample_before(&from[b], &from[a], slice_ns))
			*to++ = from[b++];
		else
			*to++ = from[a++];
	}
	memcpy(to, from + a, (middle - a) * sizeof(*to));
	to += middle - a;
	memcpy(to, from + b, (end - b) * sizeof(*to));
}

/* Merges neighbouring runs until there is one. Stable. */
static void merge_sort(
	struct block_sample *v, size_t n, int64_t slice_ns, struct block_sample *room)
{
	struct block_sample *from = v, *to = room;
	size_t runs = 2;

	while (runs > 1 && n > 1) {
		runs = 0;
		for (size_t at = 0; at < n; runs++) {
			const size_t middle = run_end(from, at, n, slice_ns);
			size_t end = middle;
			if (middle < n)
				end = run_end(from, middle, n, slice_ns);
			merge_runs(from, at, middle, end, slice_ns, to + at);
			at = end;
		}
		struct block_sample *other = from;
		from = to;
		to = other;
	}
	if (from != v)
		memcpy(v, from, n * sizeof(*v));
}

/* One pass by the digit that begins at bit @shift of entity - @least. Stable. */
static void radix_pass(struct sample_sorter *sorter, const struct block_sample *from, size_t n,
	int64_t least, unsigned shift, struct block_sample *to)
{
	uint32_t *counts = sorter->counts, sum = 0;

	memset(counts, 0, DIGITS * sizeof(*counts));
	for (size_t i = 0; i < n; i++)
		counts[((uint64_t)(from[i].entity - least) >> shift) & (DIGITS - 1)]++;
	for (unsigned d = 0; d < DIGITS; d++) {
		const uint32_t count = counts[d];
		counts[d] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[counts[((uint64_t)(from[i].entity - least) >> shift) & (DIGITS - 1)]++] =
			from[i];
}

/* False: the numbers lie too far apart. */
static bool radix_by_entity(struct sample_sorter *sorter, struct block_sample *v, size_t n)
{
	int64_t least = v[0].entity, most = v[0].entity;

	for (size_t i = 1; i < n; i++) {
		if (v[i].entity < least)
			least = v[i].entity;
		if (v[i].entity > most)
			most = v[i].entity;
	}
	const uint64_t range = (uint64_t)most - (uint64_t)least;
	if (range >> (2 * DIGIT_BITS) || n < 64)
		return false;
	radix_pass(sorter, v, n, least, 0, sorter->room);
	if (range < DIGITS)
		memcpy(v, sorter->room, n * sizeof(*v));
	else
		radix_pass(sorter, sorter->room, n, least, DIGIT_BITS, v);
	return true;
}

static bool is_sorted(const struct block_sample *v, size_t n, int64_t slice_ns)
{
	for (size_t i = 1; i < n; i++)
		if (!sample_before(&v[i - 1], &v[i], slice_ns))
			return false;
	return true;
}

/* Each entity by itself, where its times do not ascend. */
static void sort_times(struct sample_sorter *sorter, struct block_sample *v, size_t n)
{
	for (size_t from = 0; from < n;) {
		size_t end = from + 1;
		while (end < n && v[end].entity == v[from].entity)
			end++;
		if (!is_sorted(v + from, end - from, 0))
			merge_sort(v + from, end - from, 0, sorter->room);
		from = end;
	}
}

size_t sample_sort(struct sample_sorter *sorter, struct block_sample *v, size_t n)
{
	if (n < 2 || is_sorted(v, n, 0))
		return n;
	sorter_room(sorter, n);
	if (radix_by_entity(sorter, v, n))
		sort_times(sorter, v, n);
	else
		merge_sort(v, n, 0, sorter->room);
	/* Of equal neighbours the first stays. */
	size_t kept = 1;

	for (size_t i = 1; i < n; i++)
		if (v[i].entity != v[kept - 1].entity || v[i].t_ns != v[kept - 1].t_ns)
			v[kept++] = v[i];
	return kept;
}

size_t sample_sort_slices(
	struct sample_sorter *sorter, struct block_sample *v, size_t n, int64_t slice_ns)
{
	n = sample_sort(sorter, v, n);
	if (n < 2 || is_sorted(v, n, slice_ns))
		return n;
	sorter_room(sorter, n);
	merge_sort(v, n, slice_ns, sorter->room);
	return n;
}
