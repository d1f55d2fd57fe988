/*
 * clock - the wall clock labels data, the monotonic clock decides when. Two types, so that neither
 * is passed for the other. Nothing below agent/ reads a clock: "now" is an argument.
 */
#pragma once

#include <stdint.h>
#include <stddef.h>

#define NS_PER_US 1000LL
#define NS_PER_MS 1000000LL
#define NS_PER_S 1000000000LL

typedef struct {
	int64_t ns;
} mono_t; /* CLOCK_MONOTONIC */
typedef struct {
	int64_t ns;
} wall_t; /* ns since 1970-01-01T00:00:00Z (CLOCK_REALTIME) */

mono_t mono_now(void);
wall_t wall_now(void);
int64_t clock_boot_ns(void); /* CLOCK_BOOTTIME now */

/* ns_earlier - of two instants, or the shorter one of two times. */
static inline int64_t ns_earlier(int64_t left_ns, int64_t right_ns)
{
	return left_ns < right_ns ? left_ns : right_ns;
}

/*
 * wall_format - RFC 3339 UTC. @frac digits after the second, 0..9.
 * wall_text   - the same for people, "2026-11-22 02:33:45Z": JSON, CSV and logs keep the 'T'.
 * wall_parse  - RFC 3339, "YYYY-MM-DD HH:MM[:SS[.frac]]", with Z, +hh:mm or no offset (= UTC), or
 * relative to @now ("15m", "24h", "7d" = that long before now; "now"). 0 or -EINVAL.
 */
#define WALL_TEXT_MAX 40
char *wall_format(char buf[WALL_TEXT_MAX], wall_t wall, int frac);
char *wall_text(char buf[WALL_TEXT_MAX], wall_t wall, int frac);
int wall_parse(const char *text, wall_t now, wall_t *ret);

/* duration_format - "28ms", "1h02m": for people, two units at the most. */
char *duration_format(char *buf, size_t size, int64_t ns);
