/*
 * link_health - the parts of the analyzer: one test per file, each judges one link in one window.
 * Pure.
 *
 * A link has one finding at a time: that of the first test in the table (link_health.c) that finds
 * something. The other tests are skipped, since a link that is down or slow shows in all of them.
 */
#pragma once

#include "analyzers/finding_build.h"
#include "analyzers/measure/links.h"

struct link_trend { /* of one end */
	struct optic_trend light, ber;
};

struct link_test_in {
	const struct analyzer_in *in;
	struct links *links;
	const struct link *link;
	const struct link_health_options *o;
	/* how light and bit errors of each link moved, in the order of .links; two ends each */
	const struct link_trend (*trends)[2];
};

/* what devices report for a dark fibre: that link is down, not degrading */
#define NO_LIGHT_DBM -38

struct link_fault { /* what a test found */
	enum cause cause;
	enum severity severity;
	double value, warn, confidence;
	const struct port_seen *at; /* the end where it shows */
	double own, like; /* the number at that end, and the median of links of the same kind; NAN
			     unknown */
	int detail; /* of the test */
	uint64_t count, others; /* links, as the test counts them */
	/* it rests on states that the device reports: they need a shorter hold than counters */
	bool state;
	bool proven; /* noise of the counters cannot make it */
};

struct link_test {
	bool (*find)(const struct link_test_in *in, struct link_fault *ret);
	void (*describe)(
		const struct link_test_in *in, const struct link_fault *fault, struct draft *draft);
};
extern const struct link_test link_test_missing_rail, link_test_slow, link_test_errors,
	link_test_optic;

/* link_health_other_end - the end of @link that is not @end; NULL where nobody sees it. Borrowed.
 */
static inline const struct port_seen *link_health_other_end(
	const struct link *link, const struct port_seen *end)
{
	if (end == link->near)
		return link->far;
	return link->near;
}
