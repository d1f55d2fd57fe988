/* replay_order - polls (runs of equal time) are sorted one by one, each with the permutation that
 * sorted the poll before it. */
#include "collectors/recorded/replay_order.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "db/model/sample.h"

/* A sample and where in its poll it stood. */
struct placed {
	struct sample sample;
	size_t place;
};

struct poll_order {
	size_t *from; /* sorted position -> position in the poll */
	struct placed *placed;
	size_t n; /* of the poll that @from was made for */
	size_t cap;
};

static int order_of(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

static int sample_compare(const void *left, const void *right)
{
	const struct sample *x = left, *y = right;
	int c = (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
	if (c == 0)
		c = order_of(x->entity, y->entity);
	if (c == 0)
		c = order_of(x->metric, y->metric);
	/* the same instant twice: which one stays must not depend on the order of the lines */
	if (c == 0)
		c = order_of(x->value, y->value);
	if (c == 0)
		c = order_of(x->flags, y->flags);
	return c;
}

static bool order_in_time(const struct sample *samples, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (samples[i].t_ns < samples[i - 1].t_ns)
			return false;
	return true;
}

static void poll_room(struct poll_order *order, size_t n)
{
	if (n <= order->cap)
		return;
	order->cap = 2 * n;
	order->from = rw_realloc(order->from, order->cap * sizeof(*order->from));
	order->placed = rw_realloc(order->placed, order->cap * sizeof(*order->placed));
}

/* False: the order of the poll before does not sort this one. */
static bool poll_as_before(struct poll_order *order, struct sample *poll, size_t n)
{
	if (n != order->n)
		return false;
	struct sample *sorted = (struct sample *)order->placed;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = poll[order->from[i]];
		if (i > 0 && sample_compare(&sorted[i - 1], &sorted[i]) > 0)
			return false;
	}
	memcpy(poll, sorted, n * sizeof(*poll));
	return true;
}

static void poll_sort(struct poll_order *order, struct sample *poll, size_t n)
{
	poll_room(order, n);
	if (poll_as_before(order, poll, n))
		return;
	for (size_t i = 0; i < n; i++)
		order->placed[i] = (struct placed){.sample = poll[i], .place = i};
	/* the sample is the first member */
	qsort(order->placed, n, sizeof(*order->placed), sample_compare);
	for (size_t i = 0; i < n; i++) {
		order->from[i] = order->placed[i].place;
		poll[i] = order->placed[i].sample;
	}
	order->n = n;
}

void replay_order(struct sample *samples, size_t n)
{
	struct poll_order order = {0};
	if (n < 2)
		return;
	if (!order_in_time(samples, n)) {
		qsort(samples, n, sizeof(*samples), sample_compare);
		return;
	}
	for (size_t begin = 0, end; begin < n; begin = end) {
		for (end = begin + 1; end < n && samples[end].t_ns == samples[begin].t_ns;)
			end++;
		poll_sort(&order, &samples[begin], end - begin);
	}
	free(order.from);
	free(order.placed);
}
