/* cause - the table of causes and of who explains whom, from cause.def; and numbers for words that
 * the table does not have. */
#include "db/model/cause.h"

#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

#define MAY_COST CAUSE_MAY_COST
#define CHANGE CAUSE_IS_CHANGE
#define SYMPTOM CAUSE_IS_SYMPTOM
#define EFFECT CAUSE_IS_EFFECT
#define PLANNED CAUSE_IS_PLANNED
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
