/*
 * rate_bins - octets and packets over time, in equal bins. Pure; embedded, rate_bins_init() first.
 *
 * At most RATE_BINS bins: when more time must fit, each two become one. So a bin is .first_width_ns
 * times a power of two wide, and begins at a whole multiple of its width since 1970. Times before
 * 1970 and after 2043 are damage and are left out.
 */
#ifndef RW_COLLECTORS_RATE_BINS_H
#define RW_COLLECTORS_RATE_BINS_H

#include <stddef.h>
#include <stdint.h>

enum { RATE_BINS = 1000 };
#define RATE_BIN_NS 10000000 /* 10 ms */
#define RATE_BIN_MAX_NS 3600000000000 /* an hour */

struct rate_bin {
	uint64_t octets, packets;
};

struct rate_bins {
	struct rate_bin bins[RATE_BINS];
	int64_t width_ns;
	int64_t first; /* number of bins[0]: its begin / width */
	int64_t end_ns; /* of what fits without a move: the fast way */
	int64_t begin_ns;
	size_t n; /* bins up to the newest with a packet */
};

/* @width_ns: of a bin at first, at most RATE_BIN_MAX_NS; else RATE_BIN_NS. */
void rate_bins_init(struct rate_bins *rates, int64_t width_ns);
void rate_bins_add(struct rate_bins *rates, int64_t t_ns, uint32_t octets);

#endif
