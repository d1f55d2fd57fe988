/*
 * link_slow - a link that came up below its class (analyzers/measure/link_class): below the
 * declared speed, else below the speed of most of its siblings. One link of a job at 100G instead
 * of 400G costs about a quarter of the job's throughput. Where one sibling alone differs, the
 * confidence is lower.
 */
#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/detect/link_health.h"
#include "analyzers/measure/link_class.h"

#define HOT 0.8 /* utilisation above which the link is the bottleneck now */
/* or this much, and HOT_FACTOR times the links of its kind: it is full in every burst while they
 * wait */
#define HOT_BURST 0.25
#define HOT_FACTOR 1.5

static double link_slow_hottest(const struct link *link, uint64_t speed)
{
	double rate = 0;
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(link, e);
		if (p && p->out_known)
			rate = fmax(rate, p->out.rate_bps);
		if (p && p->in_known)
			rate = fmax(rate, p->in.rate_bps);
	}
	return rate / (double)speed;
}

static bool link_slow_bottleneck(const struct link_test_in *in, double hot)
{
	return hot > HOT ||
		(hot > HOT_BURST &&
			hot > HOT_FACTOR * link_median(in->links, in->link, port_load, 2));
}

/* At the first of them, once. */
static bool link_slow_find_classes(
	const struct link_test_in *in, const struct link_class *class, struct link_fault *ret)
{
	if (class->first != in->link)
		return false;
	*ret = (struct link_fault){.cause = CAUSE_LINK_SLOW,
		.at = in->link->near,
		.own = (double)class->own_bps,
		.like = (double)class->faster_bps,
		.detail = LINK_TWO_CLASSES,
		.count = class->n_own,
		.others = class->n_faster,
		.state = true,
		.value = 1 - (double)class->own_bps / (double)class->faster_bps,
		.warn = 0.01,
		.severity = SEV_INFO,
		.confidence = 0.5};
	return true;
}

static bool link_slow_find(const struct link_test_in *in, struct link_fault *ret)
{
	struct link_class class;
	if (!link_class(in->links, in->link, &class))
		return false;
	if (class.by == LINK_TWO_CLASSES)
		return link_slow_find_classes(in, &class, ret);
	const uint64_t own = class.own_bps;
	if (own >= class.should_bps)
		return false;
	*ret = (struct link_fault){.cause = CAUSE_LINK_SLOW,
		.at = in->link->near,
		.own = (double)own,
		.like = (double)class.should_bps,
		.detail = (int)class.by,
		.count = class.n_siblings,
		.state = true,
		.value = 1 - (double)own / (double)class.should_bps,
		.warn = 0.01,
		.severity = SEV_WARNING,
		.confidence = 0.8};
	if (link_slow_bottleneck(in, link_slow_hottest(in->link, own)))
		ret->severity = SEV_CRITICAL;
	if (class.by == LINK_BY_DECLARED)
		ret->confidence = 0.95;
	else if (class.by == LINK_BY_PAIR)
		ret->confidence = 0.6;
	else if (class.n_siblings >= 3)
		ret->confidence = 0.9;
	return true;
}

static void link_slow_describe_classes(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	const char *kind = "links between switches";
	if (in->link->kind == LINK_HOST)
		kind = "links to hosts";
	const char *own = bitrate_text(fault->own, draft->a);
	draft->f->summary = arena_printf(draft->a,
		"%llu %s run at %s and %llu at %s, and no speed is declared for them: two "
		"classes, or links that came up slow",
		(unsigned long long)fault->count, kind, own, (unsigned long long)fault->others,
		bitrate_text(fault->like, draft->a));
	finding_evidence(
		draft, "port.speed_bps", fault->at, PRIO_NONE, fault->own, "bit/s", QUALITY_EXACT);
	finding_evidence(draft, "links.same_speed", fault->at, PRIO_NONE, (double)fault->count, "-",
		QUALITY_EXACT);
	finding_evidence(draft, "links.faster", fault->at, PRIO_NONE, (double)fault->others, "-",
		QUALITY_EXACT);
	finding_rests_on(draft, "speed read from the devices; none is declared in links");
	finding_against(draft, "so many links at one speed are more often a class than a fault");
	finding_steps(draft, draft->f->cause, FACT_TWO_CLASSES);
}

static void link_slow_describe(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	static const char *const who[] = {[LINK_BY_DECLARED] = "the speed declared for it",
		[LINK_BY_SIBLINGS] = "the speed of its siblings",
		[LINK_BY_PAIR] = "the speed of the other link"};
	if (fault->detail == LINK_TWO_CLASSES) {
		link_slow_describe_classes(in, fault, draft);
		return;
	}
	const double hot = link_slow_hottest(in->link, (uint64_t)fault->own);
	draft->f->summary = arena_printf(draft->a, "%s to %s runs at %s; %s is %s%s",
		port_text(fault->at, draft->a), far_end_text(fault->at, draft->a),
		bitrate_text(fault->own, draft->a), who[fault->detail],
		bitrate_text(fault->like, draft->a),
		str_if(link_slow_bottleneck(in, hot), "; it is the bottleneck now"));
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(in->link, e);
		if (p && p->out.read_bps)
			finding_evidence(draft, "port.speed_bps", p, PRIO_NONE,
				(double)p->out.read_bps, "bit/s", QUALITY_EXACT);
	}
	if (fault->detail == LINK_BY_DECLARED)
		finding_evidence(draft, "link.declared_bps", fault->at, PRIO_NONE, fault->like,
			"bit/s", QUALITY_EXACT);
	finding_evidence(
		draft, "port.utilization_ratio", fault->at, PRIO_NONE, hot, "ratio", QUALITY_EXACT);
	if (fault->detail == LINK_BY_DECLARED)
		finding_rests_on(draft,
			"speed read from the device, compared with the speed declared in links");
	else
		finding_rests_on(draft,
			"speed read from the device, compared with %llu links of the same kind; "
			"none is declared",
			(unsigned long long)fault->count);
	finding_add_role(draft, "culprit", "%s",
		in->link->near->port->host ? in->link->near->port->host
					   : port_text(fault->at, draft->a));
	finding_steps(draft, draft->f->cause, FACT_ONE_SLOW);
}

const struct link_test link_test_slow = {link_slow_find, link_slow_describe};
