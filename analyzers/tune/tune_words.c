/* tune_words - numbers of tuning as the sentences of a sheet say them. */
#include "analyzers/tune/tune_words.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/number.h"
#include "agent/base/str.h"

const char *tune_size_text(struct arena *a, double bytes)
{
	return arena_strdup(a, number_size(bytes).s);
}

const char *tune_percent(struct arena *a, double ratio)
{
	if (fabs(ratio) >= 0.0995)
		return arena_printf(a, "%.0f %%", 100 * ratio);
	return arena_printf(a, "%.2g %%", 100 * ratio);
}

const char *tune_value_text(struct arena *a, enum tune_knob knob, double value)
{
	if (isnan(value))
		return "unknown";
	if (str_eq(tune_knob_unit(knob), "bytes"))
		return tune_size_text(a, value);
	if (knob == KNOB_PMAX)
		return arena_printf(a, "%.3g %%", 100 * value);
	if (knob == KNOB_ALPHA && value > 0 && value < 1)
		return arena_printf(a, "1/%.3g", 1 / value);
	return arena_printf(a, "%.3g", value);
}

const char *tune_neighbour(const struct tune_prio *prio)
{
	if (prio->port->host)
		return prio->port->host;
	if (prio->port->peer)
		return prio->port->peer->device->name;
	return "its neighbour";
}

const char *tune_pause_text(struct arena *a, const struct tune_site *site)
{
	const struct tune_prio *l = site->paused;
	if (!l)
		return arena_printf(a, "%s paused nobody", site->device->device->name);
	return arena_printf(a, "%s paused %s %s%s of busy time at %s (priority %d)",
		site->device->device->name, tune_neighbour(l),
		str_if(!l->pause_measured, "at most "), tune_percent(a, l->tx_pause_busy),
		l->port->name, site->priority);
}

#define READ_OR_DECLARED "read back by a collector, or declared under `thresholds:`"

const char *tune_need_how(enum tune_need need, const struct tune_platform *platform)
{
	if (platform && platform->profile)
		return platform->profile->collect[need];
	return NULL;
}

const char *tune_need_text(
	struct arena *a, enum tune_need need, const struct tune_platform *platform)
{
	static const char *const texts[TUNE_NEEDS] = {
		[NEED_HEADROOM] = "headroom in force: " READ_OR_DECLARED,
		[NEED_XON] = "XON in force: " READ_OR_DECLARED " (xon_level, xon_offset)",
		[NEED_ALPHA] = "dynamic threshold (alpha) in force: " READ_OR_DECLARED,
		[NEED_ECN] = "Kmin, Kmax and Pmax in force: " READ_OR_DECLARED,
		[NEED_POOL] = "size of the shared pool and its slices: " READ_OR_DECLARED " (pool)",
		[NEED_MARKS] = "ECN marks per queue: queue.ecn_marked, read by a collector",
		[NEED_WATERMARKS] = "queue watermarks: queue.watermark_bytes, read by a collector",
		[NEED_PAUSE] = "pause time per priority at the ports to hosts: pfc.tx_pause_ns; "
			       "pfc.tx_frames gives only an upper bound",
		[NEED_CABLE] = "set the true cable length on the port, or correct `cable:` of the "
			       "link in the configuration",
		[NEED_SHARED_HEADROOM] = "raise the size of the shared headroom pool, or lower its "
					 "over-subscription ratio",
	};
	const char *how = tune_need_how(need, platform);
	if (how)
		return arena_printf(a, "%s (here: %s)", texts[need], how);
	return texts[need];
}
