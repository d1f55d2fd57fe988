/* usual_slot - short reads of the past, and medians. */
#include "agent/answers/common/usual_slot.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "agent/client/client.h"
#include "db/model/entity.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define HOUR_NS (3600 * NS_PER_S)
#define DAY_NS (24 * HOUR_NS)
#define VALUES_MIN 10 /* minutes of a slot */

static double usual_slot_median(const struct series *series, int64_t from_ns, struct arena *a)
{
	double *values = arena_array(a, double, series->n + 1);
	size_t n = 0;
	for (uint32_t i = series_after(series, from_ns); i < series->n; i++)
		values[n++] = sample_f64(series->value[i]);
	if (n < VALUES_MIN)
		return NAN;
	return stats_median(values, n);
}

/* The median of the hour around @about_ns. */
static int usual_slot_at(
	struct client *client, uint32_t entity, int64_t about_ns, double *ret, struct err *e)
{
	static const uint16_t metrics[] = {M_AGENT_SIGNAL};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct window_spec spec = {
		.metrics = metrics, .n_metrics = 1, .entities = &entity, .n_entities = 1};
	const int64_t from_ns = about_ns - HOUR_NS / 2;
	struct window window;
	*ret = NAN;
	const int rc =
		history_window(client->history, a, &spec, from_ns, from_ns + HOUR_NS, &window, e);
	if (rc < 0)
		return rc;
	if (window.n_series)
		*ret = usual_slot_median(&window.series[0], from_ns, a);
	return 0;
}

static bool usual_slot_take(
	const double *values, size_t n, bool weekly, int64_t at_ns, struct usual_slot *ret)
{
	double known[USUAL_WEEKS + USUAL_DAYS];
	const time_t at_s = (time_t)(at_ns / NS_PER_S);
	struct tm tm;
	ret->slots = 0;
	for (size_t i = 0; i < n; i++)
		if (!isnan(values[i]))
			known[ret->slots++] = values[i];
	if (ret->slots < USUAL_SLOTS_MIN)
		return false;
	ret->usual = stats_median(known, ret->slots);
	ret->spread = STATS_MAD_TO_SIGMA * stats_mad(known, ret->slots, ret->usual);
	gmtime_r(&at_s, &tm);
	tm.tm_min = 0;
	if (weekly)
		strftime(ret->name, sizeof(ret->name), "%A %H:%M", &tm);
	else
		strftime(ret->name, sizeof(ret->name), "%H:%M", &tm);
	return true;
}

struct usual_slot usual_slot_fold(
	const double weeks[USUAL_WEEKS], const double days[USUAL_DAYS], int64_t at_ns)
{
	struct usual_slot slot = {.usual = NAN, .spread = NAN};
	if (!usual_slot_take(weeks, USUAL_WEEKS, true, at_ns, &slot))
		usual_slot_take(days, USUAL_DAYS, false, at_ns, &slot);
	return slot;
}

int usual_slot_read(struct client *client, const char *port, int64_t at_ns, struct usual_slot *ret,
	struct err *e)
{
	double weeks[USUAL_WEEKS], days[USUAL_DAYS];
	int rc = 0;
	*ret = (struct usual_slot){.usual = NAN, .spread = NAN};
	const uint32_t entity =
		entities_find(history_entities(client->history), ENTITY_SIGNALS, port, PRIO_NONE);
	if (entity == ENTITY_NONE)
		return 0;
	for (int k = 0; rc == 0 && k < USUAL_WEEKS; k++)
		rc = usual_slot_at(client, entity, at_ns - 7 * (k + 1) * DAY_NS, &weeks[k], e);
	for (int k = 0; rc == 0 && k < USUAL_DAYS; k++)
		rc = usual_slot_at(client, entity, at_ns - (k + 1) * DAY_NS, &days[k], e);
	if (rc == 0)
		*ret = usual_slot_fold(weeks, days, at_ns);
	return rc;
}
