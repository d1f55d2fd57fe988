/* tune_margin - see the header. */
#include "analyzers/tune/tune_margin.h"

#include <math.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"

/* Shares of the larger of now and likely. NAN: not predicted. */
static const struct margin {
	const char *metric;
	struct {
		double below, above;
	} of[ASK_KINDS];
} margins[] = {
	{"pfc.tx_pause_ratio", {{0.50, 0.02}, {0.38, 0.38}, {NAN, NAN}}},
	{"queue.marked_ratio", {{0, 0.02}, {0, 0.02}, {0.83, 0.02}}},
	{"pg.drops", {{0, 0}, {0, 0}, {NAN, NAN}}},
	{"step_time", {{0.01, 0.02}, {0.01, 0.13}, {NAN, NAN}}},
	{"queue.watermark_bytes", {{0.05, 0.24}, {0.18, 0.21}, {NAN, NAN}}},
	{"pg.headroom_watermark_bytes", {{0.30, 0.02}, {0.46, 0.02}, {NAN, NAN}}},
};

static bool is_share(const struct tune_expect *expect)
{
	return str_eq(expect->unit, "ratio") && !str_eq(expect->metric, "step_time");
}

bool tune_margin_apply(enum tune_ask_kind kind, bool losing, struct tune_expect *expect)
{
	if (losing && !str_eq(expect->metric, "pg.drops"))
		return false;
	for (size_t i = 0; i < rw_countof(margins); i++) {
		if (!str_eq(margins[i].metric, expect->metric))
			continue;
		const double below = margins[i].of[kind].below, above = margins[i].of[kind].above,
			     scale = fmax(expect->now, expect->likely);
		if (isnan(below))
			return false;
		expect->low = fmax(0, expect->low - below * scale);
		expect->high += above * scale;
		if (is_share(expect))
			expect->high = fmin(1, expect->high);
		return true;
	}
	return true;
}
