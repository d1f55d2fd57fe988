/*
 * link_slow - a link that came up below its class: below the declared speed, else below the speed
 * of most of its siblings. One link of a job at 100G instead of 400G costs about a quarter of the
 * job's throughput.
 *
 * The declared speed wins: a port that runs at it is not compared with others. Siblings of
 * an uplink are the uplinks of the same switch to the same tier, then those of the tier; of a
 * host's link the other host links of the switch, then those of the fabric. More than half of them
 * must agree on a higher speed. One sibling alone only shows that the two differ: lower confidence,
 * and uplinks only.
 */
#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/detect/link_health.h"

#define HOT 0.8 /* utilisation above which the link is the bottleneck now */
/* or this much, and HOT_FACTOR times the links of its kind: it is full in every burst while they
 * wait */
#define HOT_BURST 0.25
#define HOT_FACTOR 1.5

enum { REF_NONE, REF_DECLARED, REF_SIBLINGS, REF_PAIR };

/* Speed of the link: the smaller one that its ends report. 0 unknown. */
static uint64_t link_speed(const struct link *link)
{
	const uint64_t near = link->near->out.read_bps;
	uint64_t far = 0;
	if (link->far)
		far = link->far->out.read_bps;
	if (near && far) {
		if (near < far)
			return near;
		return far;
	}
	if (near)
		return near;
	return far;
}

static bool link_down(const struct link *link)
{
	return port_is_down(link->near) || (link->far && port_is_down(link->far));
}

struct vote {
	size_t n; /* siblings with a known speed */
	uint64_t speed; /* the one most of them have */
	size_t agree;
};

enum { SPEEDS_MAX = 16 }; /* distinct speeds among links of one kind; more are not counted */

/* Over a run of links: how many of those like @of run at which speed. */
static struct vote vote_of(const struct link *of, const struct link *links, size_t n)
{
	struct {
		uint64_t speed;
		size_t n;
	} seen[SPEEDS_MAX];
	size_t n_seen = 0;
	struct vote r = {0};
	for (size_t i = 0; i < n; i++) {
		uint64_t speed = 0;
		if (&links[i] != of && link_alike(of, &links[i]) && !link_down(&links[i]))
			speed = link_speed(&links[i]);
		if (!speed)
			continue;
		r.n++;
		size_t k = 0;
		while (k < n_seen && seen[k].speed != speed)
			k++;
		if (k == SPEEDS_MAX)
			continue;
		if (k == n_seen) {
			seen[n_seen].speed = speed;
			seen[n_seen++].n = 0;
		}
		if (++seen[k].n > r.agree) {
			r.agree = seen[k].n;
			r.speed = speed;
		}
	}
	return r;
}

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

/* The speed it should have, and where that is taken from. */
static uint64_t link_slow_reference(
	const struct link_test_in *in, uint64_t own, int *ret_who, struct vote *ret_vote)
{
	const uint64_t declared = in->link->near->port->speed_bps;
	*ret_who = REF_DECLARED;
	if (declared)
		return declared;
	*ret_who = REF_SIBLINGS;
	const struct link *device;
	const size_t n = links_of_device(in->links, in->link, &device);
	*ret_vote = vote_of(in->link, device, n);
	if (ret_vote->n < 2)
		*ret_vote = vote_of(in->link, in->links->v, in->links->n);
	if (ret_vote->n >= 2) {
		if (ret_vote->agree * 2 > ret_vote->n)
			return ret_vote->speed;
		return own;
	}
	*ret_who = REF_PAIR;
	if (ret_vote->n == 1 && in->link->kind == LINK_SWITCH)
		return ret_vote->speed;
	return own;
}

static bool link_slow_find(const struct link_test_in *in, struct link_fault *ret)
{
	const uint64_t own = link_speed(in->link);
	struct vote vote = {0};
	int who;
	if (!own || in->link->kind == LINK_LOOSE || link_down(in->link))
		return false;
	const uint64_t should = link_slow_reference(in, own, &who, &vote);
	if (own >= should)
		return false;
	*ret = (struct link_fault){.cause = CAUSE_LINK_SLOW,
		.at = in->link->near,
		.own = (double)own,
		.like = (double)should,
		.detail = who,
		.count = vote.n,
		.state = true,
		.value = 1 - (double)own / (double)should,
		.warn = 0.01,
		.severity = SEV_WARNING,
		.confidence = 0.8};
	if (link_slow_bottleneck(in, link_slow_hottest(in->link, own)))
		ret->severity = SEV_CRITICAL;
	if (who == REF_DECLARED)
		ret->confidence = 0.95;
	else if (who == REF_PAIR)
		ret->confidence = 0.6;
	else if (vote.n >= 3)
		ret->confidence = 0.9;
	return true;
}

static void link_slow_describe(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	static const char *const who[] = {[REF_DECLARED] = "the speed declared for it",
		[REF_SIBLINGS] = "the speed of its siblings",
		[REF_PAIR] = "the speed of the other link"};
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
	finding_evidence(
		draft, "port.utilization_ratio", fault->at, PRIO_NONE, hot, "ratio", QUALITY_EXACT);
	if (fault->detail == REF_DECLARED)
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
	finding_steps(draft, draft->f->cause, 0);
}

const struct link_test link_test_slow = {link_slow_find, link_slow_describe};
