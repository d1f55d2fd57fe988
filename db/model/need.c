/* need - the rows of need.def. */
#include "db/model/need.h"

#include "agent/base/cleanup.h"
#include "db/model/metric.h"

#define METRICS(...)                                                                               \
	(const uint16_t[])                                                                         \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define COUNT(...) (sizeof((const uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t))
#define NEED(symbol, words, ...)                                                                   \
	{CAUSE_##symbol, NEED_MUST, words, METRICS(__VA_ARGS__), COUNT(__VA_ARGS__)},
#define HELP(symbol, words, ...)                                                                   \
	{CAUSE_##symbol, NEED_HELPS, words, METRICS(__VA_ARGS__), COUNT(__VA_ARGS__)},
#define BY(symbol, words) {CAUSE_##symbol, NEED_NO_COUNTER, words, NULL, 0},
static const struct need rows[] = {
#include "db/model/need.def"
};

size_t needs_all(const struct need **ret)
{
	*ret = rows;
	return rw_countof(rows);
}

static bool need_met(const struct need *need, const bool *delivered)
{
	for (size_t i = 0; i < need->n_metrics; i++)
		if (delivered[need->metrics[i]])
			return true;
	return false;
}

static size_t need_missing(enum cause cause, enum need_kind kind, const bool *delivered,
	const struct need *missing[static NEED_MISSING_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < rw_countof(rows) && n < NEED_MISSING_MAX; i++)
		if (rows[i].cause == cause && rows[i].kind == kind &&
			!need_met(&rows[i], delivered))
			missing[n++] = &rows[i];
	return n;
}

enum need_sight need_judge(enum cause cause, const bool *delivered,
	const struct need *missing[static NEED_MISSING_MAX], size_t *ret_n)
{
	bool counted = false;
	*ret_n = 0;
	for (size_t i = 0; i < rw_countof(rows); i++)
		counted = counted || (rows[i].cause == cause && rows[i].kind == NEED_MUST);
	if (!counted)
		return NEED_OTHER;
	*ret_n = need_missing(cause, NEED_MUST, delivered, missing);
	if (*ret_n > 0)
		return NEED_BLIND;
	*ret_n = need_missing(cause, NEED_HELPS, delivered, missing);
	if (*ret_n > 0)
		return NEED_WEAK;
	return NEED_SEES;
}

void need_wants(bool *wanted)
{
	for (size_t i = 0; i < rw_countof(rows); i++)
		for (size_t k = 0; k < rows[i].n_metrics; k++)
			wanted[rows[i].metrics[k]] = true;
}
