/* retain_watch - what retention and quota decide by: a clock that is believed only after it stayed,
 * and how fast the file grows. */
#pragma once

#include "base/base.h"

#include "base/log.h"
#include "db/store/store_backend.h"

/*
 * retain_clock - the time that retention counts from. Pure.
 *
 * A machine that starts with its clock 30 days ahead would delete the whole history within a
 * minute. So retention believes the wall clock only while it agrees with the time that was believed
 * last plus the time that has passed since by the boot clock. When the wall clock is ahead of that
 * by more than the leap, retention goes on by the boot clock, until the wall clock has stayed where
 * it is for the hold of running time, restarts included. A machine that was off for long reaches
 * the same point: its old data stay that much longer.
 *
 * A clock that is behind is believed at once: then less is deleted. When it returns within an hour
 * of running, as on a machine without a battery that starts in 1970, it is believed at once too.
 *
 * The state is a text in the store, so that a restart does not begin with the newest sample, which
 * a wrong clock may have written.
 */

#define RETAIN_TEXT_MAX 160

struct retain_clock { /* zeroed to start */
	int64_t leap_ns, hold_ns; /* 0 = as above */
	int64_t trusted_ns; /* wall time retention counted from last; 0 = none yet */
	bool ahead; /* the wall clock is not believed */
	int64_t ahead_ran_ns; /* running time since */
	int64_t ahead_by_ns; /* how far it was ahead then */
	/* what was believed before the clock was set back, and running time since; 0 = nothing */
	int64_t former_ns, former_ran_ns;
	bool looked; /* by this process */
	int64_t boot_ns; /* at the last look */
};

/* retain_clock_limit - leap and hold for samples that are kept for @raw_ns (0 = for ever): a short
 * history must not go by a short leap. */
void retain_clock_limit(struct retain_clock *clock, int64_t raw_ns);

/*
 * retain_clock_now - the time to count from, ns since 1970.
 *
 * @newest_ns  the newest sample that was stored when the store was opened; 0 = it was empty. Counts
 *             only where nothing was believed before.
 * @boot_ns    a clock that is never set and goes on while the machine sleeps
 * The answer is @wall, or an earlier time while .ahead says that the clock is not trusted yet.
 */
int64_t retain_clock_now(
	struct retain_clock *clock, int64_t newest_ns, wall_t wall, int64_t boot_ns);

/* retain_clock_print, retain_clock_parse - the state as a text; false: it is none. */
void retain_clock_print(const struct retain_clock *clock, char *buf, size_t size);
bool retain_clock_parse(struct retain_clock *clock, const char *text);

/*
 * store_growth - how fast a store grows, and when it thus reaches its quota. Pure: it is told how
 * much is in use, about once a minute, and keeps one figure an hour for a day.
 */

#define GROWTH_POINTS 25
#define GROWTH_TEXT_MAX (GROWTH_POINTS * 42 + 8)

struct growth_point {
	int64_t t_ns;
	uint64_t used_bytes;
};

struct store_growth { /* zeroed to start */
	struct growth_point points[GROWTH_POINTS]; /* oldest first, an hour apart */
	size_t n;
};

/* store_growth_note - @used_bytes were in use at @now_ns (wall clock). True: a point was added, and
 * the state is worth keeping. A clock that was set, and hours without the agent, begin anew. */
bool store_growth_note(struct store_growth *growth, int64_t now_ns, uint64_t used_bytes);
double store_growth_rate(const struct store_growth *growth, int64_t now_ns, uint64_t used_bytes);

/*
 * store_growth_full - when @used_bytes reach @quota_bytes at @bytes_day; 0: not foreseen. Raw
 * samples are most of the growth, and it ends when they are as old as they may be: @raw_full_ns,
 * 0 = they are. What is reached only after that is not foreseen.
 */
int64_t store_growth_full(int64_t now_ns, uint64_t used_bytes, uint64_t quota_bytes,
	double bytes_day, int64_t raw_full_ns);

/* store_growth_print, store_growth_parse - the state as a text; false: it is none, and @growth is
 * as before. */
void store_growth_print(const struct store_growth *growth, char *buf, size_t size);
bool store_growth_parse(struct store_growth *growth, const char *text);

/*
 * quota_watch - what people are told of a store's quota: when it will be reached, what it costs
 * already, and what it cannot take. Thread of the store.
 */

struct quota_watch { /* zeroed to start */
	struct store_growth growth;
	bool known; /* .growth was read from the store */
	struct complaint stuck;
	int64_t cut_said_ns, soon_said_ns; /* monotonic; 0: not said */
};

/* quota_watch - after each look at what is used: fills in the growth of @usage, keeps it in the
 * store, and says in the log what changed. @now_ns: the time that retention counts from. */
void quota_watch(struct quota_watch *watch, const struct store_backend *backend, void *state,
	const struct store_options *options, int64_t now_ns, struct store_usage *usage);
