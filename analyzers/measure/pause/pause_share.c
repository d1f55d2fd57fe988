/* pause_share - pause time where it is measured, else its upper bound. */
#include "analyzers/measure/pause/pause_share.h"

#define QUANTA_MAX 65535.0
#define QUANTUM_BITS 512.0

double pause_frame_max_ns(uint64_t speed_bps)
{
	if (speed_bps)
		return QUANTA_MAX * QUANTUM_BITS * 1e9 / (double)speed_bps;
	return NAN;
}

/* Does the device measure the duration? One that stands at 0 while frames arrive does not. */
static bool pause_is_measured(const struct amount *measured_ns, const struct amount *frames)
{
	if (!measured_ns->known)
		return false;
	const bool frames_came = frames->known && frames->value > 0;
	return measured_ns->value > 0 || measured_ns->alive || !frames_came;
}

struct pause_share pause_share_of(const struct amount *measured_ns, const struct amount *bound_ns,
	const struct amount *frames, uint64_t speed_bps)
{
	struct pause_share share = {
		.lo = NAN,
		.hi = NAN,
		.quality = QUALITY_UNKNOWN,
		.alive = measured_ns->alive || bound_ns->alive || frames->alive,
	};
	if (pause_is_measured(measured_ns, frames)) {
		share.lo = share.hi = fmin(1, measured_ns->value / (double)measured_ns->covered_ns);
		share.measured = true;
		share.quality = measured_ns->quality;
		return share;
	}

	/* The larger of two bounds: the collector's one was cut to the interval it was read in, but
	 * frames that an agent hands out late belong to more than that. */
	double bound = NAN, longest = NAN;
	const double frame_ns = pause_frame_max_ns(speed_bps);
	if (bound_ns->known)
		bound = bound_ns->value / (double)bound_ns->covered_ns;
	if (frames->known)
		longest = frames->value * frame_ns / (double)frames->covered_ns;
	const double most = fmax(bound, longest);
	if (!isnan(most)) {
		share.lo = 0;
		share.hi = fmin(1, most);
		share.quality = QUALITY_ESTIMATED;
	}
	return share;
}
