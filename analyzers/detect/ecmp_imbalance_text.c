/* ecmp_imbalance_text - see the header. */
#include "analyzers/detect/ecmp_imbalance_text.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/measure/ecmp_measure.h"

#define IDLE_SHARE 0.01 /* of the fair share: the member gets nothing */
#define QPS_PER_TUPLE 2 /* queue pairs for each 5-tuple, from which one port is a waste */

/* A member that is up and gets nothing. */
bool ecmp_is_dead(const struct ecmp_member *member)
{
	return member->link == ECMP_LINK_UP && member->share_ratio < IDLE_SHARE;
}

/* Many queue pairs, and all of them on one source port: a hash sees no more than pairs of
 * addresses. Some libraries do so (NVSHMEM's IBGDA and DeepEP use one fixed port). */
bool ecmp_has_one_port(const struct ecmp_measure *measure)
{
	return measure->hashed && measure->only_src_port && measure->flows >= QPS_PER_TUPLE &&
		measure->flows >= QPS_PER_TUPLE * measure->tuples;
}

const char *ecmp_members_with(
	const struct ecmp_measure *measure, enum ecmp_link link, struct arena *a)
{
	const char *list = "";
	size_t n = 0;
	for (size_t i = 0; i < measure->n_members; i++)
		if (measure->members[i].link == link && ++n <= 6)
			list = arena_printf(
				a, "%s%s%s", list, str_if(n > 1, ", "), measure->members[i].port);
	if (n > 6)
		return arena_printf(a, "%s and %zu more", list, n - 6);
	return list;
}

/* "; Ethernet51 carries nothing"; "" where every member is used. */
static const char *ecmp_idle_text(const struct ecmp_measure *measure, struct arena *a)
{
	const char *list = "";
	size_t n = 0;
	for (size_t i = 0; i < measure->n_members; i++)
		if (measure->members[i].link == ECMP_LINK_UP &&
			measure->members[i].share_ratio < IDLE_SHARE && ++n <= 6)
			list = arena_printf(
				a, "%s%s%s", list, str_if(n > 1, ", "), measure->members[i].port);
	if (!n)
		return "";
	if (n > 6)
		list = arena_printf(a, "%s and %zu more", list, n - 6);
	return arena_printf(a, "; %s %s nothing", list, n == 1 ? "carries" : "carry");
}

const char *ecmp_chance_number(double chance, struct arena *a)
{
	if (chance < 1e-6)
		return "p < 0.000001";
	return arena_printf(a, "p = %.2g", chance);
}

/* "; all 64 queue pairs use UDP source port 49152", or nothing. */
static const char *ecmp_one_port_text(const struct ecmp_measure *measure, struct arena *a)
{
	if (!ecmp_has_one_port(measure))
		return "";
	return arena_printf(a, "; all %u queue pairs use UDP source port %u", measure->flows,
		measure->only_src_port);
}

static const char *ecmp_chance_text(const struct ecmp_measure *measure, struct arena *a)
{
	if (measure->even)
		return "packets are spread one by one, so all members should carry the same";
	if (!measure->hashed)
		return "the group is not spread by a static hash, so it should be near even";
	if (measure->hash_blind)
		return arena_printf(a, "its hash does not read the UDP source port, only %s",
			measure->hash_fields);
	if (isnan(measure->n_eff))
		return "cause unknown without packets: hash collision or faulty hash";
	const char *flows = arena_printf(a,
		"%.3g effective flows on %zu members (chance: mean %.0f %%, p95 %.0f %%, %s)",
		measure->n_eff, measure->n_live, 100 * measure->expected_ratio,
		100 * measure->expected_p95_ratio, ecmp_chance_number(measure->chance_p, a));
	switch (measure->verdict) {
	case ECMP_LOW_ENTROPY:
		return arena_printf(
			a, "chance explains it: only %s%s", flows, ecmp_one_port_text(measure, a));
	case ECMP_UNLUCKY:
	case ECMP_WITHIN_CHANCE:
		return arena_printf(
			a, "chance explains it: %s%s", flows, ecmp_one_port_text(measure, a));
	default: return arena_printf(a, "more than chance explains with %s", flows);
	}
}

const char *ecmp_summary_text(
	const struct ecmp_measure *measure, const struct ecmp_options *options, struct arena *a)
{
	const struct ecmp_member *odd = &measure->members[ecmp_odd_member(measure)];
	double limit = options->warn;
	if (measure->even)
		limit = measure->spread_limit_ratio;
	switch (measure->verdict) {
	case ECMP_CHOSEN:
		return arena_printf(a,
			"%s %s: source routed: senders choose the path of each packet, so the load "
			"of its members is not judged",
			measure->device, measure->group);
	case ECMP_UNKNOWN:
		return arena_printf(a,
			"%s %s: unknown, no usable samples of %s (%zu of %zu members known)",
			measure->device, measure->group,
			ecmp_members_with(measure, ECMP_LINK_ABSENT, a), measure->n_known,
			measure->n_members);
	case ECMP_IDLE:
		if (measure->n_live < 2)
			return arena_printf(a,
				"%s %s: %zu of %zu members is up, nothing to balance",
				measure->device, measure->group, measure->n_live,
				measure->n_members);
		return arena_printf(a, "%s %s: idle, mean load at or below %.3g %%",
			measure->device, measure->group, 100 * options->load_floor);
	case ECMP_EVEN:
		return arena_printf(a, "%s %s: even, max/mean-1 is %.1f %%", measure->device,
			measure->group, 100 * measure->imbalance_ratio);
	default:
		return arena_printf(a,
			"%s %s: %s%s%s carries %.2f times its fair share (%s %.*f %%, "
			"threshold %.*f %%)%s; %s",
			measure->device, measure->group, odd->port, str_if(odd->peer[0], " to "),
			odd->peer, odd->share_ratio, measure->even ? "spread" : "max/mean-1",
			measure->even, 100 * ecmp_deviation(measure), measure->even, 100 * limit,
			ecmp_idle_text(measure, a), ecmp_chance_text(measure, a));
	}
}

/* A member without a link looks like imbalance: the summary names it. */
const char *ecmp_with_paths(
	const char *summary, const struct ecmp_measure *measure, struct arena *a)
{
	if (measure->n_down && measure->n_live >= 2 && measure->verdict != ECMP_IDLE)
		summary = arena_printf(a,
			"%s; missing path: %s is down, judged over the other %zu members", summary,
			ecmp_members_with(measure, ECMP_LINK_DOWN, a), measure->n_live);
	return summary;
}

/* The hash reads 5-tuples; QPs are named as well where there are more of them. */
const char *ecmp_tuples_text(const struct ecmp_measure *measure, struct arena *a)
{
	const char *more = "";
	if (measure->tuples_more)
		more = " or more";
	if (measure->flows == measure->tuples)
		return arena_printf(a, "%u%s 5-tuples", measure->tuples, more);
	return arena_printf(a, "%u flows (5-tuple and QP) on %u%s 5-tuples", measure->flows,
		measure->tuples, more);
}
