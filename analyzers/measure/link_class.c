/* link_class - the speed a link should have: declared, or what its siblings agree on. */
#include "analyzers/measure/link_class.h"

#include "agent/base/arena.h"

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

enum { SPEEDS_MAX = 16 }; /* distinct speeds among links of one kind; more are not counted */
/* As many agree on the faster speed: slower links are no class, but faults. */
#define CLASS_TIMES 3

struct link_speeds { /* of links of one kind: how many run at which speed */
	struct link_speeds *next;
	uint16_t tiers;
	size_t n, n_links;
	struct {
		uint64_t speed;
		size_t n;
	} v[SPEEDS_MAX];
	const struct link *undecided; /* the first that is of neither class for sure; NULL: none */
};

struct vote {
	size_t n; /* siblings with a known speed */
	uint64_t speed; /* the one most of them have */
	size_t agree, same; /* those that have it; those with the speed of the link itself */
};

static void speeds_add(struct link_speeds *speeds, const struct link *link)
{
	uint64_t speed = 0;
	if (link->tiers == speeds->tiers && !link_is_down(link))
		speed = link_class_speed(link);
	if (!speed)
		return;
	speeds->n_links++;
	size_t k = 0;
	while (k < speeds->n && speeds->v[k].speed != speed)
		k++;
	if (k == SPEEDS_MAX)
		return;
	if (k == speeds->n)
		speeds->v[speeds->n++].speed = speed;
	speeds->v[k].n++;
}

/* What the others among @speeds say of @link, which is one of them. */
static struct vote vote_of(const struct link_speeds *speeds, const struct link *link)
{
	const uint64_t own = link_class_speed(link);
	struct vote vote = {.n = speeds->n_links - 1};
	for (size_t k = 0; k < speeds->n; k++) {
		const bool same = speeds->v[k].speed == own;
		const size_t n = speeds->v[k].n - same;
		if (same)
			vote.same = n;
		if (n > vote.agree) {
			vote.agree = n;
			vote.speed = speeds->v[k].speed;
		}
	}
	return vote;
}

static struct vote vote_of_device(const struct links *links, const struct link *link)
{
	struct link_speeds speeds = {.tiers = link->tiers};
	const struct link *v;
	const size_t n = links_of_device(links, link, &v);
	for (size_t i = 0; i < n; i++)
		speeds_add(&speeds, &v[i]);
	return vote_of(&speeds, link);
}

enum { VOTE_NONE, VOTE_AS_OTHERS, VOTE_SLOWER, VOTE_UNDECIDED };

static int vote_says(const struct vote *vote, uint64_t own)
{
	if (vote->n < 2)
		return VOTE_NONE;
	const bool most = vote->agree * 2 > vote->n;
	const size_t own_class = vote->same + 1;
	if (vote->speed <= own)
		return VOTE_AS_OTHERS;
	if (most && (!vote->same || vote->agree >= CLASS_TIMES * own_class))
		return VOTE_SLOWER;
	if (CLASS_TIMES * vote->agree > own_class)
		return VOTE_UNDECIDED;
	return VOTE_AS_OTHERS;
}

/* Does the link's own switch leave it open? The fabric decides then. */
static bool device_leaves_open(const struct links *links, const struct link *link)
{
	const struct vote vote = vote_of_device(links, link);
	const int says = vote_says(&vote, link_class_speed(link));
	return says == VOTE_NONE || says == VOTE_UNDECIDED;
}

static bool link_is_judged(const struct link *link)
{
	return link_class_speed(link) && link->kind != LINK_LOOSE && !link_is_down(link);
}

/* Of the fabric; counted once in a window. */
static const struct link_speeds *link_class_speeds(struct links *links, uint16_t tiers)
{
	for (const struct link_speeds *k = links->speeds; k; k = k->next)
		if (k->tiers == tiers)
			return k;
	struct link_speeds *speeds = arena_new_of(links->a, struct link_speeds);
	*speeds = (struct link_speeds){.next = links->speeds, .tiers = tiers};
	for (size_t i = 0; i < links->n; i++)
		speeds_add(speeds, &links->v[i]);
	for (size_t i = 0; i < links->n && !speeds->undecided; i++) {
		const struct link *link = &links->v[i];
		if (link->tiers != tiers || !link_is_judged(link) || link->near->port->speed_bps)
			continue;
		const struct vote vote = vote_of(speeds, link);
		const bool open = vote_says(&vote, link_class_speed(link)) == VOTE_UNDECIDED;
		if (open && device_leaves_open(links, link))
			speeds->undecided = link;
	}
	links->speeds = speeds;
	return speeds;
}

/* The speed by what the fabric's links of the same kind run at. */
static void link_class_by_fabric(
	struct links *links, const struct link *link, struct link_class *ret)
{
	const struct link_speeds *speeds = link_class_speeds(links, link->tiers);
	const struct vote vote = vote_of(speeds, link);
	ret->n_siblings = vote.n;
	switch (vote_says(&vote, ret->own_bps)) {
	case VOTE_NONE:
		ret->by = LINK_BY_PAIR;
		if (vote.n == 1 && link->kind == LINK_SWITCH)
			ret->should_bps = vote.speed;
		return;
	case VOTE_SLOWER: ret->should_bps = vote.speed; return;
	case VOTE_UNDECIDED:
		ret->by = LINK_TWO_CLASSES;
		ret->faster_bps = vote.speed;
		ret->n_own = vote.same + 1;
		ret->n_faster = vote.agree;
		ret->first = speeds->undecided;
		return;
	default: return;
	}
}

bool link_class(struct links *links, const struct link *link, struct link_class *ret)
{
	const uint64_t own = link_class_speed(link), declared = link->near->port->speed_bps;
	if (!link_is_judged(link))
		return false;
	*ret = (struct link_class){.own_bps = own, .should_bps = own};
	if (declared) {
		ret->should_bps = declared;
		return true;
	}
	const struct vote vote = vote_of_device(links, link);
	const int says = vote_says(&vote, own);
	ret->n_siblings = vote.n;
	ret->by = LINK_BY_SIBLINGS;
	if (says == VOTE_SLOWER)
		ret->should_bps = vote.speed;
	else if (says != VOTE_AS_OTHERS)
		link_class_by_fabric(links, link, ret);
	return true;
}
