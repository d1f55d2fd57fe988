/* weight - adds up the raised windows of one subject. */
#include "agent/incident/weight.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"

#define SPAN_MORE 2.0 /* windows besides `hold` of which it must be OVER in `hold` */

void weight_done(struct weight *weight)
{
	free(weight->v);
	*weight = (struct weight){0};
}

double weight_share(const struct finding *finding)
{
	const int64_t length_ns = finding->to_ns - finding->from_ns;
	if (finding->new_ns <= 0 || finding->new_ns >= length_ns)
		return 1;
	return (double)finding->new_ns / (double)length_ns;
}

/* The window's value over its threshold, at least 1. */
static double weight_distance(const struct finding *finding)
{
	double distance = 1;
	if (finding->warn > 0)
		distance = finding->value / finding->warn;
	if (distance > 1)
		return distance;
	return 1;
}

static double weight_of(const struct finding *finding, uint32_t hold)
{
	const double most = hold / 2.0;
	if (hold == 1)
		return 1;
	if (finding->proven)
		return most;
	double sure = 2 * finding->confidence_ratio - 1;
	if (!(sure > 0))
		sure = 0;
	const double distance = weight_distance(finding);
	const double weight = 1 + (distance * distance - 1) * sure;
	return fmin(weight_share(finding) * weight, most);
}

/* Of the last hold + 2 judged windows; with a small hold more would let a window in that was
 * forgotten: hold + hold - 1. */
static double weight_span(uint32_t hold)
{
	if (hold < 3)
		return 2.0 * hold - 1;
	return hold + SPAN_MORE;
}

void weight_judged(struct weight *weight, const struct finding *finding, uint32_t hold)
{
	weight->judged += weight_share(finding);
	const double oldest = weight->judged - weight_span(hold) + WEIGHT_SHARE_ERROR;
	size_t n = 0;
	for (size_t k = 0; k < weight->n; k++)
		if (weight->v[k].at > oldest)
			weight->v[n++] = weight->v[k];
	weight->n = n;
	if (finding->verdict != FINDING_OVER)
		return;
	rw_grow(weight->v, weight->n, weight->cap);
	weight->v[weight->n++] = (struct weight_window){weight->judged, weight_of(finding, hold)};
}

double weight_sum(const struct weight *weight)
{
	double sum = 0;
	for (size_t k = 0; k < weight->n; k++)
		sum += weight->v[k].weight;
	if (sum > 0)
		return sum + WEIGHT_SHARE_ERROR;
	return 0;
}
