/* counter_check - compares each reading of a counter with what the line or the clock allows, and
 * flags it as suspect or as a restart. */
#include "collectors/target/counter_check.h"

#include "db/model/metric.h"

#define CLOCK_SET_NS                                                                               \
	(30 * 1000000000LL) /* values of one device do not overtake one another that far */
#define NS 1e9

static void counter_check_begin(struct counter_check *check, int64_t t_ns, uint64_t value)
{
	*check = (struct counter_check){.t_ns = t_ns, .value = value};
}

/* counter_growth - from @from to @to; false when the counter went back for another reason than a
 * wrap. */
static bool counter_growth(uint64_t from, uint64_t to, unsigned flags, uint64_t *ret)
{
	const bool narrow =
		(flags & SF_WRAP32) && from <= SAMPLE_WRAP32_MAX && to <= SAMPLE_WRAP32_MAX;
	if (to < from && !narrow)
		return false;
	if (to < from)
		*ret = (uint32_t)(to - from);
	else
		*ret = to - from;
	return true;
}

static bool counter_believable(double moved, double seconds, double max_per_s)
{
	return moved <= max_per_s * COUNTER_CHECK_MARGIN * seconds;
}

/* counter_plausible - this change together with the two before it; with fewer known, the first may
 * have been read from a cache of any age. */
static bool counter_plausible(
	const struct counter_check *check, double moved, double seconds, double max_per_s)
{
	if (counter_believable(moved, seconds, max_per_s))
		return true;
	uint32_t before = COUNTER_CHECK_REFRESHES - 1;
	if (check->n < COUNTER_CHECK_REFRESHES)
		before = check->n;
	for (uint32_t i = 0; i < before; i++) {
		uint32_t at = (check->n - 1 - i) % COUNTER_CHECK_REFRESHES;
		moved += (double)check->moved[at];
		seconds += (double)check->seconds[at];
	}
	if (check->n < COUNTER_CHECK_REFRESHES)
		seconds += COUNTER_CHECK_CACHE_NS / NS;
	return counter_believable(moved, seconds, max_per_s);
}

static void counter_believe(
	struct counter_check *check, int64_t t_ns, uint64_t value, double moved, double seconds)
{
	check->moved[check->n % COUNTER_CHECK_REFRESHES] = (float)moved;
	check->seconds[check->n % COUNTER_CHECK_REFRESHES] = (float)seconds;
	check->n++;
	check->t_ns = t_ns;
	check->value = value;
	check->doubt_t_ns = 0;
}

/* counter_jumped - is this the second reading on a new track? */
static bool counter_jumped(const struct counter_check *check, int64_t t_ns, uint64_t value,
	unsigned flags, double max_per_s)
{
	uint64_t moved;
	if (!check->doubt_t_ns || !counter_growth(check->doubt_value, value, flags, &moved))
		return false;
	double seconds = (double)(t_ns - check->doubt_t_ns) / NS;
	return counter_believable((double)moved, seconds, max_per_s);
}

unsigned counter_check_take(
	struct counter_check *check, int64_t t_ns, uint64_t value, unsigned flags, double max_per_s)
{
	int64_t newest = check->t_ns;
	if (check->doubt_t_ns)
		newest = check->doubt_t_ns;

	/* 1. a time that does not go forward: nothing to compare; far back, the clock was set */
	if (t_ns <= newest && newest != 0) {
		if (t_ns < newest - CLOCK_SET_NS)
			counter_check_begin(check, t_ns, value);
		return flags;
	}
	/* 2. the first reading, or a restart that is known */
	if (newest == 0 || (flags & SF_RESTART)) {
		counter_check_begin(check, t_ns, value);
		return flags;
	}
	/* 3. unchanged: idle, or the agent's cache. The rate is taken between changes. */
	if (!check->doubt_t_ns && value == check->value)
		return flags;
	/* 4. on the old track */
	uint64_t moved;
	double seconds = (double)(t_ns - check->t_ns) / NS;
	if (counter_growth(check->value, value, flags, &moved) &&
		counter_plausible(check, (double)moved, seconds, max_per_s)) {
		counter_believe(check, t_ns, value, (double)moved, seconds);
		return flags;
	}
	/* 5. it goes on from where it jumped to */
	if (counter_jumped(check, t_ns, value, flags, max_per_s)) {
		counter_check_begin(check, t_ns, value);
		return flags | SF_RESTART;
	}
	/* 6. it was cleared; with 32 bits, it cannot have wrapped so soon */
	if (value < check->value && !check->doubt_t_ns) {
		counter_check_begin(check, t_ns, value);
		return flags | SF_RESTART;
	}
	/* 7. doubtful: the next reading decides */
	check->doubt_t_ns = t_ns;
	check->doubt_value = value;
	return flags | SF_SUSPECT;
}
