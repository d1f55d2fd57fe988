/*
 * store_growth - how fast a store grows, and when it thus reaches its quota. Pure: it is told how
 * much is in use, about once a minute, and keeps one figure an hour for a day.
 */
#ifndef RW_DB_STORE_GROWTH_H
#define RW_DB_STORE_GROWTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

/* store_growth_rate - bytes a day, from the oldest point to @used_bytes at @now_ns; negative while
 * it shrinks. NAN before GROWTH_LEAST_NS were seen. */
#define GROWTH_LEAST_NS (3 * 3600 * INT64_C(1000000000))
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

#endif
