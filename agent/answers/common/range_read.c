/* range_read - series over a time range, added up from the steps that the store hands out. */
#include "agent/answers/common/range_read.h"

#include "agent/client/client.h"
#include "agent/answers/common/report_frame.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define MINUTE_NS (60 * NS_PER_S)
#define HOUR_NS (60 * MINUTE_NS)
#define DAY_NS (24 * HOUR_NS)
enum { GAPS_SAID = 5 };

/* Steps that the store's minutes and hours divide, and of which a chart shows at most some 240. */
static const struct {
	int64_t span_ns, step_ns;
	const char *word;
} range_steps[] = {
	{3 * HOUR_NS, MINUTE_NS, "minute"},
	{20 * HOUR_NS, 10 * MINUTE_NS, "10 minutes"},
	{10 * DAY_NS, HOUR_NS, "hour"},
	{60 * DAY_NS, 6 * HOUR_NS, "6 hours"},
	{INT64_MAX, DAY_NS, "day"},
};

const char *range_step_word(const struct range_plan *plan)
{
	size_t i = 0;
	while (i + 1 < rw_countof(range_steps) && range_steps[i].step_ns != plan->step_ns)
		i++;
	return range_steps[i].word;
}

static int64_t range_step_for(int64_t span_ns)
{
	size_t i = 0;
	while (span_ns > range_steps[i].span_ns)
		i++;
	return range_steps[i].step_ns;
}

static int range_take_first(void *arg, const struct rollup *rollup)
{
	*(int64_t *)arg = rollup->from_ns;
	return 1; /* the first is enough */
}

/* Single values reach back less far than minutes and hours do: where the oldest of those before
 * @until_ns begins; @ret stays without any. */
static int range_older(struct client *client, int64_t until_ns, int64_t *ret, struct err *e)
{
	static const uint16_t metrics[] = {M_PORT_OUT_OCTETS, M_PORT_IN_OCTETS, M_PFC_RX_FRAMES,
		M_PFC_RX_PAUSE_NS, M_PFC_TX_PAUSE_NS, M_QUEUE_OUT_OCTETS, M_PORT_OPER_UP};
	const struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.metrics = metrics,
		.n_metrics = rw_countof(metrics),
		.from_ns = client->from_ns,
		.to_ns = until_ns};
	if (client->from_ns >= until_ns || until_ns == 0)
		return 0;
	const int rc =
		history_each_rollup(client->history, &filter, MINUTE_NS, range_take_first, ret, e);
	return rc < 0 ? rc : 0;
}

/* (*@ret_first_ns, *@ret_last_ns]: the part of the range in which something is stored; 0 and both
 * untouched where nothing is. */
static int range_extent(
	struct client *client, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	int64_t first_ns = INT64_MAX, last_ns, older_ns = INT64_MAX;
	int rc = history_range(client->history, &first_ns, &last_ns, e);
	if (rc == -ENODATA)
		last_ns = client->to_ns;
	else if (rc < 0)
		return rc;
	else
		first_ns--;
	const bool before = first_ns > client->from_ns;
	if (before)
		rc = range_older(
			client, first_ns < client->to_ns ? first_ns : client->to_ns, &older_ns, e);
	if (before && rc < 0)
		return rc;
	if (older_ns < first_ns)
		first_ns = older_ns;
	if (first_ns == INT64_MAX)
		return 0;
	*ret_first_ns = first_ns > client->from_ns ? first_ns : client->from_ns;
	*ret_last_ns = last_ns < client->to_ns ? last_ns : client->to_ns;
	return 0;
}

int range_plan_make(struct client *client, struct range_plan *ret, struct err *e)
{
	int64_t from_ns = 0, to_ns = 0;
	*ret = (struct range_plan){.step_ns = MINUTE_NS};
	const int rc = range_extent(client, &from_ns, &to_ns, e);
	if (rc < 0)
		return rc;
	/* A recorded case may begin at 0; its first values are where counting begins. */
	if (from_ns < 0)
		from_ns = 0;
	if (to_ns <= from_ns)
		return 0;
	const bool newest = to_ns < client->to_ns || to_ns >= client->end_ns;
	ret->first_ns = from_ns;
	ret->last_ns = to_ns;
	ret->step_ns = range_step_for(to_ns - from_ns);
	ret->from_ns = rollup_step_of(from_ns + 1, ret->step_ns) * ret->step_ns;
	ret->to_ns = rollup_step_of(to_ns, ret->step_ns) * ret->step_ns;
	if (newest || to_ns == ret->to_ns + ret->step_ns)
		ret->to_ns += ret->step_ns;
	if (ret->to_ns > ret->from_ns)
		ret->n_steps = (size_t)((ret->to_ns - ret->from_ns) / ret->step_ns);
	return 0;
}

/* The step that ends at @to_ns; SIZE_MAX: none of this range. */
static size_t range_step_of(const struct range_plan *plan, int64_t to_ns)
{
	if (to_ns <= plan->from_ns || to_ns > plan->to_ns)
		return SIZE_MAX;
	return (size_t)((to_ns - 1 - plan->from_ns) / plan->step_ns);
}

/* ---- reading ------------------------------------------------------------------ */

struct range_walk {
	const struct range_plan *plan;
	struct range_read *read;
	range_fn *fn;
	void *arg;
};

static uint64_t range_key(uint32_t entity, uint16_t metric)
{
	return (uint64_t)entity << 16 | metric;
}

static int range_take(void *arg, const struct rollup *rollup)
{
	const struct range_walk *walk = arg;
	struct range_read *read = walk->read;
	const size_t step = range_step_of(walk->plan, rollup->to_ns);
	const uint64_t key = range_key(rollup->entity, rollup->metric);
	uint64_t at;
	if (step == SIZE_MAX)
		return 0;
	read->tiers[rollup->tier] = true;
	if (rollup->seen_ns > read->seen_ns[step])
		read->seen_ns[step] = rollup->seen_ns;
	read->answered[step] = true;
	if (map_get(read->index, key, &at)) {
		rollup_merge(&read->v[at].whole, rollup);
	} else {
		map_put(read->index, key, read->n);
		rw_grow(read->v, read->n, read->cap);
		read->v[read->n++] = (struct range_series){
			.entity = rollup->entity, .metric = rollup->metric, .whole = *rollup};
	}
	if (walk->fn)
		walk->fn(walk->arg, step, rollup);
	return 0;
}

int range_read(struct client *client, const struct range_plan *plan, const uint16_t *metrics,
	size_t n_metrics, struct range_read *ret, range_fn *fn, void *arg, struct err *e)
{
	struct range_walk walk = {.plan = plan, .read = ret, .fn = fn, .arg = arg};
	const struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
		.metrics = metrics,
		.n_metrics = n_metrics,
		.from_ns = plan->from_ns,
		.to_ns = plan->to_ns};
	*ret = (struct range_read){.index = map_new()};
	ret->answered = rw_calloc(plan->n_steps + 1, sizeof(*ret->answered));
	ret->seen_ns = rw_calloc(plan->n_steps + 1, sizeof(*ret->seen_ns));
	if (plan->n_steps == 0)
		return 0;
	return history_each_rollup(client->history, &filter, plan->step_ns, range_take, &walk, e);
}

void range_read_done(struct range_read *read)
{
	map_free(read->index);
	free(read->v);
	free(read->answered);
	free(read->seen_ns);
	*read = (struct range_read){0};
}

const struct rollup *range_find(const struct range_read *read, uint32_t entity, uint16_t metric)
{
	uint64_t at;
	if (!read->index || !map_get(read->index, range_key(entity, metric), &at))
		return NULL;
	return &read->v[at].whole;
}

/* ---- values ------------------------------------------------------------------- */

struct amount range_amount(const struct rollup *rollup)
{
	struct amount amount = {.quality = QUALITY_UNKNOWN};
	if (!rollup)
		return amount;
	amount.alive = rollup->first || rollup->last || rollup->increase > 0;
	amount.restarted = rollup->resets > 0;
	if (rollup->intervals == 0 || rollup->covered_ns <= 0)
		return amount;
	amount.known = true;
	amount.value = (double)rollup->increase;
	amount.covered_ns = rollup->covered_ns;
	amount.quality = QUALITY_EXACT;
	if (rollup->suspects > 0)
		amount.quality = QUALITY_ESTIMATED;
	return amount;
}

double range_number(const struct rollup *rollup, uint64_t value)
{
	if (!rollup || rollup->count == 0)
		return NAN;
	return sample_number(rollup->metric, value);
}

double range_add(double sum, double value)
{
	if (isnan(sum))
		return value;
	if (isnan(value))
		return sum;
	return sum + value;
}

/* ---- what is absent ------------------------------------------------------------ */

static void range_missing_end(json_t *doc, const char *what, int64_t from_ns, int64_t to_ns)
{
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX], length[32];
	wall_text(from, (wall_t){from_ns}, 0);
	wall_text(to, (wall_t){to_ns}, 0);
	duration_format(length, sizeof(length), (to_ns - from_ns) / NS_PER_S * NS_PER_S);
	report_missing(doc, "%s: nothing is stored from %s to %s (%s)", what, from, to, length);
}

static void range_missing_steps(
	const struct range_plan *plan, const struct range_read *read, json_t *doc)
{
	size_t i = 0, n = 0;
	while (i < plan->n_steps) {
		size_t end = i;
		while (end < plan->n_steps && !read->answered[end])
			end++;
		n += end > i;
		if (end > i && n <= GAPS_SAID)
			range_missing_end(doc, "a gap", plan->from_ns + (int64_t)i * plan->step_ns,
				plan->from_ns + (int64_t)end * plan->step_ns);
		i = end + 1;
	}
	if (n > GAPS_SAID)
		report_missing(doc, "%zu more gaps", n - GAPS_SAID);
}

void range_missing(const struct client *client, const struct range_plan *plan,
	const struct range_read *read, json_t *doc)
{
	if (plan->n_steps == 0) {
		report_missing(doc, "no sample of the time range is stored");
		return;
	}
	if (client->from_ns < plan->first_ns - plan->step_ns)
		range_missing_end(doc, "before the first sample", client->from_ns, plan->first_ns);
	if (read && read->n > 0)
		range_missing_steps(plan, read, doc);
	if (client->to_ns > plan->last_ns + plan->step_ns)
		range_missing_end(doc, "after the newest sample", plan->last_ns, client->to_ns);
}

double range_coverage(const struct range_plan *plan, const struct range_read *read)
{
	int64_t seen_ns = 0;
	if (plan->n_steps == 0)
		return NAN;
	for (size_t i = 0; i < plan->n_steps; i++)
		seen_ns += read->seen_ns[i];
	return fmin(1, (double)seen_ns / (double)(plan->last_ns - plan->first_ns));
}

const char *range_source(const struct range_read *read)
{
	const bool raw = read->tiers[ROLLUP_RAW];
	const bool minute = read->tiers[ROLLUP_MINUTE], hour = read->tiers[ROLLUP_HOUR];
	if (hour && (raw || minute))
		return "hours, and single values where hours are not made yet";
	if (minute && raw)
		return "minutes, and single values where minutes are not made yet";
	if (hour)
		return "hours";
	if (minute)
		return "minutes";
	return raw ? "single values" : "nothing";
}
