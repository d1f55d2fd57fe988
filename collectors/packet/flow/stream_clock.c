/* stream_clock - what is kept of one stream beside its sequence: times, sizes of messages, and
 * rates. */
#include "collectors/packet/flow/stream_clock.h"

#define RATE_BIN_MAX_NS 3600000000000 /* an hour */

/* message_sizes - a short list of sizes, each with its count. */

/* Nearer by ratio: sizes differ by orders of magnitude. */
static bool size_nearer(uint32_t bytes, uint32_t left, uint32_t right)
{
	return (uint64_t)bytes * bytes <= (uint64_t)left * right;
}

void message_sizes_add(struct message_sizes *sizes, uint32_t bytes, uint32_t count)
{
	size_t at = 0;
	while (at < sizes->n && sizes->bytes[at] < bytes)
		at++;
	if (at < sizes->n && sizes->bytes[at] == bytes) {
		sizes->count[at] += count;
		return;
	}
	if (sizes->n < MESSAGE_SIZES) {
		for (size_t i = sizes->n; i > at; i--) {
			sizes->bytes[i] = sizes->bytes[i - 1];
			sizes->count[i] = sizes->count[i - 1];
		}
		sizes->n++;
		sizes->bytes[at] = bytes;
		sizes->count[at] = count;
		return;
	}
	if (at == sizes->n ||
		(at > 0 && size_nearer(bytes, sizes->bytes[at - 1], sizes->bytes[at])))
		at--;
	sizes->count[at] += count;
	sizes->merged += count;
}

uint32_t message_sizes_median(const struct message_sizes *sizes)
{
	uint64_t all = 0, below = 0;
	for (size_t i = 0; i < sizes->n; i++)
		all += sizes->count[i];
	for (size_t i = 0; i < sizes->n; i++) {
		below += sizes->count[i];
		if (below * 2 >= all)
			return sizes->bytes[i];
	}
	return 0;
}

/* rate_bins - counts in bins, and bins that merge. */

/* Times beyond this are damage, and so are times before 1970. So no sum overflows. */
#define RATE_TIME_MAX (INT64_MAX / 4)

void rate_bins_init(struct rate_bins *rates, int64_t width_ns)
{
	memset(rates, 0, sizeof(*rates));
	rates->width_ns = RATE_BIN_NS;
	if (width_ns > 0 && width_ns <= RATE_BIN_MAX_NS)
		rates->width_ns = width_ns;
}

static void rate_bounds(struct rate_bins *rates)
{
	rates->begin_ns = rates->first * rates->width_ns;
	rates->end_ns = rates->begin_ns + rates->width_ns * RATE_BINS;
}

/* Each two bins, counted since 1970, become one. */
static void rate_merge(struct rate_bins *rates)
{
	struct rate_bin merged[RATE_BINS] = {{0}};
	const int64_t width_ns = rates->width_ns * 2;
	const int64_t first = rates->begin_ns / width_ns;
	size_t n = 0;
	for (size_t i = 0; i < rates->n; i++) {
		const int64_t number = (rates->first + (int64_t)i) / 2;
		const size_t at = (size_t)(number - first);
		merged[at].octets += rates->bins[i].octets;
		merged[at].packets += rates->bins[i].packets;
		n = at + 1;
	}
	memcpy(rates->bins, merged, sizeof(merged));
	rates->n = n;
	rates->first = first;
	rates->width_ns = width_ns;
	rate_bounds(rates);
}

/* Make room before the first bin, for a time that comes late. False: there is none. */
static bool rate_shift(struct rate_bins *rates, int64_t t_ns)
{
	const int64_t number = t_ns / rates->width_ns;
	const int64_t by = rates->first - number;
	if (by > RATE_BINS || (size_t)by + rates->n > RATE_BINS)
		return false;
	memmove(rates->bins + by, rates->bins, rates->n * sizeof(*rates->bins));
	memset(rates->bins, 0, (size_t)by * sizeof(*rates->bins));
	rates->n += (size_t)by;
	rates->first = number;
	rate_bounds(rates);
	return true;
}

static void rate_fit(struct rate_bins *rates, int64_t t_ns)
{
	if (rates->n == 0) {
		rates->first = t_ns / rates->width_ns;
		rates->n = 1;
		rate_bounds(rates);
	}
	/* RATE_TIME_MAX is at most 61 merges away. */
	while (t_ns >= rates->end_ns)
		rate_merge(rates);
	while (t_ns < rates->begin_ns && !rate_shift(rates, t_ns))
		rate_merge(rates);
}

/* False: the time is damage. */
static bool rate_find(struct rate_bins *rates, int64_t t_ns)
{
	if (t_ns < 0 || t_ns > RATE_TIME_MAX)
		return false;
	if (t_ns >= rates->end_ns || t_ns < rates->begin_ns)
		rate_fit(rates, t_ns);
	rates->newest = (size_t)((t_ns - rates->begin_ns) / rates->width_ns);
	rates->newest_from_ns = rates->begin_ns + (int64_t)rates->newest * rates->width_ns;
	rates->newest_to_ns = rates->newest_from_ns + rates->width_ns;
	if (rates->newest >= rates->n)
		rates->n = rates->newest + 1;
	return true;
}

void rate_bins_add(struct rate_bins *rates, int64_t t_ns, uint32_t octets)
{
	const bool same = t_ns >= rates->newest_from_ns && t_ns < rates->newest_to_ns;
	if (!same && !rate_find(rates, t_ns))
		return;
	rates->bins[rates->newest].octets += octets;
	rates->bins[rates->newest].packets++;
}
