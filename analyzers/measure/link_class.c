/* link_class - the speed a link should have: declared, or what its siblings agree on. */
#include "analyzers/measure/link_class.h"

/* Speed of the link: the smaller one that its ends report. 0 unknown. */
static uint64_t link_class_speed(const struct link *link)
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

bool link_is_down(const struct link *link)
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
		if (&links[i] != of && link_alike(of, &links[i]) && !link_is_down(&links[i]))
			speed = link_class_speed(&links[i]);
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

bool link_class(const struct links *links, const struct link *link, struct link_class *ret)
{
	const uint64_t own = link_class_speed(link), declared = link->near->port->speed_bps;
	if (!own || link->kind == LINK_LOOSE || link_is_down(link))
		return false;
	*ret = (struct link_class){.own_bps = own, .should_bps = own};
	if (declared) {
		ret->should_bps = declared;
		return true;
	}
	const struct link *device;
	const size_t n = links_of_device(links, link, &device);
	struct vote vote = vote_of(link, device, n);
	if (vote.n < 2)
		vote = vote_of(link, links->v, links->n);
	ret->n_siblings = vote.n;
	ret->by = LINK_BY_SIBLINGS;
	if (vote.n >= 2) {
		if (vote.agree * 2 > vote.n)
			ret->should_bps = vote.speed;
		return true;
	}
	ret->by = LINK_BY_PAIR;
	if (vote.n == 1 && link->kind == LINK_SWITCH)
		ret->should_bps = vote.speed;
	return true;
}
