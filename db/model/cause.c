/* cause - the table of causes and of who explains whom, from cause.def; and numbers for words that
 * the table does not have. */
#include "db/model/cause.h"

#include "db/model/metric.h"

#define MAY_COST CAUSE_MAY_COST
#define CHANGE CAUSE_IS_CHANGE
#define SYMPTOM CAUSE_IS_SYMPTOM
#define EFFECT CAUSE_IS_EFFECT
#define PLANNED CAUSE_IS_PLANNED
#define BEHIND CAUSE_IS_BEHIND
#define STEP(step_text, step_risk) {0, step_text, step_risk},
#define STEP_IF(fact, step_text, step_risk) {FACT_##fact, step_text, step_risk},
#define NO_STEPS {0, NULL, NULL},
#define CAUSE(sym, word, cause_family, cause_flags, row, by, head, open, look, meaning, need, ...) \
	[CAUSE_##sym] = {                                                                          \
		.name = word,                                                                      \
		.symbol = "CAUSE_" #sym,                                                           \
		.family = CAUSE_FAMILY_##cause_family,                                             \
		.flags = cause_flags,                                                              \
		.tune_row = row,                                                                   \
		.reported_by = by,                                                                 \
		.headline = head,                                                                  \
		.not_proved = open,                                                                \
		.checks = look,                                                                    \
		.means = meaning,                                                                  \
		.needs = need,                                                                     \
		.steps = {__VA_ARGS__},                                                            \
	},
static const struct cause_info infos[CAUSE_COUNT] = {
#include "db/model/cause.def"
};

enum { OTHERS_MAX = 20 };
#define EXPLAINS(cause, near, ...) {cause, near, {__VA_ARGS__}},
static const struct explanation {
	enum cause cause;
	unsigned near;
	enum cause others[OTHERS_MAX]; /* CAUSE_NONE: no more */
} explanations[] = {
#include "db/model/cause.def"
};

/* Words that came from a database and are not in the table: CAUSE_COUNT is the first of them. */
static struct foreign_words {
	char **v;
	size_t n, cap;
} foreign;

const struct cause_info *cause_info(enum cause cause)
{
	static const struct cause_info not_in_table = {.flags = CAUSE_MAY_COST};
	if (cause > CAUSE_NONE && cause < CAUSE_COUNT)
		return &infos[cause];
	return &not_in_table;
}

const char *cause_name(enum cause cause)
{
	if (cause < CAUSE_COUNT)
		return infos[cause].name;
	const size_t index = (size_t)cause - CAUSE_COUNT;
	if (index < foreign.n)
		return foreign.v[index];
	return NULL;
}

enum cause cause_by_name(const char *name)
{
	if (!name || !*name)
		return CAUSE_NONE;
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
		if (strcmp(infos[i].name, name) == 0)
			return (enum cause)i;
	for (size_t i = 0; i < foreign.n; i++)
		if (strcmp(foreign.v[i], name) == 0)
			return (enum cause)(CAUSE_COUNT + i);
	rw_grow(foreign.v, foreign.n, foreign.cap);
	foreign.v[foreign.n++] = rw_strdup(name);
	return (enum cause)(CAUSE_COUNT + foreign.n - 1);
}

unsigned cause_explains(enum cause cause, enum cause other)
{
	unsigned near = 0;
	for (size_t i = 0; i < rw_countof(explanations); i++) {
		if (explanations[i].cause != cause)
			continue;
		for (size_t k = 0; k < OTHERS_MAX && explanations[i].others[k]; k++)
			if (explanations[i].others[k] == other)
				near |= explanations[i].near;
	}
	return near;
}

/* need - the rows of need.def. */

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
