/* links - finds the links of a window, and what links alike measure. */
#include "analyzers/measure/links.h"

#include "analyzers/measure/input.h"
#include "base/stats.h"

struct link_values { /* of one measure over links that are alike, sorted */
	struct link_values *next;
	port_measure *measure;
	uint16_t tiers;
	double *v;
	size_t n;
};

static bool is_near(const struct fabric_port *port)
{
	if (!port->peer)
		return true;
	const struct fabric_device *here = port->device, *there = port->peer->device;
	if (here->role != there->role)
		return here->role < there->role;
	return port->index < port->peer->index;
}

static enum link_kind kind_of(const struct fabric_port *port)
{
	if (port->host)
		return LINK_HOST;
	if (port->peer)
		return LINK_SWITCH;
	return LINK_LOOSE;
}

static uint16_t tiers_of(const struct fabric_port *port, enum link_kind kind)
{
	unsigned roles = 0;
	if (kind == LINK_SWITCH)
		roles = (unsigned)port->device->role << 4 | (unsigned)port->peer->device->role;
	return (uint16_t)((unsigned)kind << 8 | roles);
}

static int links_by_host(const void *left, const void *right)
{
	const struct link *x = *(const struct link *const *)left,
			  *y = *(const struct link *const *)right;
	const int d = strcmp(x->near->port->host, y->near->port->host);
	if (d)
		return d;
	if (x < y)
		return -1;
	return 1;
}

void links_find(const struct observed *observed, struct arena *a, struct links *ret)
{
	*ret = (struct links){.o = observed,
		.a = a,
		.v = arena_array(a, struct link, observed->n_ports + 1),
		.by_host = arena_array(a, const struct link *, observed->n_ports + 1)};
	for (size_t i = 0; i < observed->n_ports; i++) {
		const struct port_seen *p = &observed->ports[i];
		if (!is_near(p->port))
			continue;
		struct link *l = &ret->v[ret->n++];
		*l = (struct link){
			.near = p, .far = observed_peer(observed, p), .kind = kind_of(p->port)};
		l->answered = p->device->n_series > 0 || (l->far && l->far->device->n_series > 0);
		l->tiers = tiers_of(p->port, l->kind);
		if (l->kind == LINK_HOST)
			ret->by_host[ret->n_by_host++] = l;
	}
	qsort(ret->by_host, ret->n_by_host, sizeof(*ret->by_host), links_by_host);
}

struct links *links_seen(const struct analyzer_in *in)
{
	if (in->shared && in->shared->links)
		return in->shared->links;
	struct arena *a;
	if (in->shared)
		a = in->shared->arena;
	else
		a = in->arena;
	struct links *found = arena_new_of(a, struct links);
	links_find(observe(in), a, found);
	if (in->shared)
		in->shared->links = found;
	return found;
}

size_t links_of_device(const struct links *links, const struct link *of, const struct link **ret)
{
	const struct link *from = of, *to = of + 1;
	while (from > links->v && from[-1].near->device == of->near->device)
		from--;
	while (to < links->v + links->n && to->near->device == of->near->device)
		to++;
	*ret = from;
	return (size_t)(to - from);
}

size_t links_of_host(const struct links *links, const char *host, const struct link *const **ret)
{
	size_t lo = 0, hi = links->n_by_host;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (strcmp(links->by_host[mid]->near->port->host, host) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	*ret = &links->by_host[lo];
	size_t n = 0;
	while (lo + n < links->n_by_host &&
		strcmp(links->by_host[lo + n]->near->port->host, host) == 0)
		n++;
	return n;
}

double port_load(const struct port_seen *port)
{
	double rate = NAN, capacity = PORT_LOAD_FLOOR_BPS;
	if (port->out_known)
		rate = port->out.rate_bps;
	if (port->in_known)
		rate = fmax(rate, port->in.rate_bps);
	if (port->out.capacity_bps)
		capacity = (double)port->out.capacity_bps;
	return rate / capacity;
}

static const struct link_values *values_of(
	struct links *links, uint16_t tiers, port_measure *measure)
{
	for (const struct link_values *k = links->values; k; k = k->next)
		if (k->measure == measure && k->tiers == tiers)
			return k;
	struct link_values *k = arena_new_of(links->a, struct link_values);
	*k = (struct link_values){.next = links->values,
		.measure = measure,
		.tiers = tiers,
		.v = arena_array(links->a, double, 2 * links->n + 1)};
	for (size_t i = 0; i < links->n; i++)
		for (int e = 0; e < 2 && links->v[i].tiers == tiers; e++) {
			const struct port_seen *p = link_end(&links->v[i], e);
			double x = NAN;
			if (p)
				x = measure(p);
			if (!isnan(x))
				k->v[k->n++] = x;
		}
	stats_sort(k->v, k->n);
	links->values = k;
	return k;
}

/* The element at @at of the values without those at @skip (ascending). */
static double links_element(
	const struct link_values *values, size_t at, const size_t skip[2], size_t n_skip)
{
	for (size_t i = 0; i < n_skip; i++)
		at += at >= skip[i];
	return values->v[at];
}

/* Where the values of @of's own ends lie among those of its like, ascending; returns how many. */
static size_t links_own(const struct link_values *values, const struct link *of,
	port_measure *measure, size_t ret[2])
{
	size_t n = 0;
	double own[2] = {measure(of->near), NAN};
	if (of->far)
		own[1] = measure(of->far);
	if (own[1] < own[0]) {
		const double smaller = own[1];
		own[1] = own[0];
		own[0] = smaller;
	}
	for (int end = 0; end < 2; end++) {
		const double *at = NULL;
		if (!isnan(own[end]))
			at = bsearch(
				&own[end], values->v, values->n, sizeof(*values->v), stats_order);
		if (!at)
			continue;
		const size_t found = (size_t)(at - values->v);
		if (n == 0 || found != ret[0]) {
			ret[n++] = found;
			continue;
		}
		/* both ends measure the same: take any two of the equal values */
		if (found + 1 < values->n && values->v[found + 1] == own[end]) {
			ret[n++] = found + 1;
		} else {
			ret[0] = found - 1;
			ret[n++] = found;
		}
	}
	return n;
}

double link_median(struct links *links, const struct link *of, port_measure *measure, size_t least)
{
	const struct link_values *values = values_of(links, of->tiers, measure);
	size_t skip[2];
	const size_t n_skip = links_own(values, of, measure, skip);
	const size_t n = values->n - n_skip;
	if (n < least || n == 0)
		return NAN;
	const double lower = links_element(values, (n - 1) / 2, skip, n_skip);
	const double upper = links_element(values, n / 2, skip, n_skip);
	return (lower + upper) / 2;
}

/* ---- link_class ------------------------------------------------------------ */

/* link_class - the speed a link should have: declared, or what its siblings agree on. */

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
/* ... unless they are on so many switches, and on most that have such links: then somebody meant
 * them to be, as with a storage host at each leaf; two at each of two leaves are enough. */
#define CLASS_SWITCHES 3
#define CLASS_PAIR 2
/* ... or so many, or all, are of one switch, as with a shelf of storage, or an older spine */
#define CLASS_LINKS 4

struct link_speeds { /* of links of one kind: how many run at which speed */
	struct link_speeds *next;
	uint16_t tiers;
	size_t n, n_links, n_switches;
	const struct fabric_device *last; /* links of a switch lie together */
	struct {
		uint64_t speed;
		size_t n, n_switches;
		size_t n_last, n_pairs; /* links of the last switch; switches with CLASS_PAIR */
		const struct fabric_device *last;
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
	const struct fabric_device *device = link->near->port->device;
	speeds->n_links++;
	speeds->n_switches += device != speeds->last;
	speeds->last = device;
	size_t k = 0;
	while (k < speeds->n && speeds->v[k].speed != speed)
		k++;
	if (k == SPEEDS_MAX)
		return;
	if (k == speeds->n)
		speeds->v[speeds->n++].speed = speed;
	speeds->v[k].n++;
	if (device != speeds->v[k].last) {
		speeds->v[k].n_switches++;
		speeds->v[k].n_last = 0;
	}
	speeds->v[k].last = device;
	speeds->v[k].n_pairs += ++speeds->v[k].n_last == CLASS_PAIR;
}

/* Are so many switches alike in having links at @speed that these are a class? */
static bool speeds_are_class(const struct link_speeds *speeds, uint64_t speed)
{
	for (size_t k = 0; k < speeds->n; k++)
		if (speeds->v[k].speed == speed) {
			const size_t n = speeds->v[k].n_switches, all = speeds->n_switches;
			return (n >= CLASS_SWITCHES && 2 * n > all) ||
				(all > 1 && speeds->v[k].n_pairs == all);
		}
	return false;
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
	return VOTE_UNDECIDED;
}

/* Do the links of the switch at its far end, towards the same tier, make its speed a class? */
static bool far_switch_has_class(const struct links *links, const struct link *link)
{
	if (!link->far)
		return false;
	const struct device_seen *far = link->far->device;
	size_t n = 0, same = 0;
	for (size_t i = 0; i < far->n_ports; i++) {
		const struct port_seen *p = &far->ports[i], *near = observed_peer(links->o, p);
		if (!near || near->port->device->role != link->near->port->device->role)
			continue;
		const struct link other = {.near = near, .far = p};
		if (link_is_down(&other) || !link_class_speed(&other))
			continue;
		n++;
		same += link_class_speed(&other) == link_class_speed(link);
	}
	return same >= CLASS_LINKS || (n >= CLASS_PAIR && same == n);
}

static bool own_switch_has_class(const struct links *links, const struct link *link)
{
	return vote_of_device(links, link).same + 1 >= CLASS_LINKS;
}

/* What the links of a kind in the whole fabric say. */
static int fabric_says(const struct links *links, const struct link_speeds *speeds,
	const struct link *link, const struct vote *vote)
{
	const uint64_t own = link_class_speed(link);
	const int says = vote_says(vote, own);
	if (says == VOTE_SLOWER &&
		(speeds_are_class(speeds, own) || own_switch_has_class(links, link) ||
			far_switch_has_class(links, link)))
		return VOTE_UNDECIDED;
	return says;
}

/* Does its own switch let a link be? The fabric is not asked then. */
static bool device_says_alike(const struct links *links, const struct link *link)
{
	const struct vote vote = vote_of_device(links, link);
	return vote_says(&vote, link_class_speed(link)) == VOTE_AS_OTHERS;
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
		const bool open = fabric_says(links, speeds, link, &vote) == VOTE_UNDECIDED;
		if (open && !device_says_alike(links, link))
			speeds->undecided = link;
	}
	links->speeds = speeds;
	return speeds;
}

/* The speed by what the fabric's links of the same kind run at; @slower: its own switch's links
 * agree that it is slow, which stands unless the fabric has two classes. */
static void link_class_by_fabric(
	struct links *links, const struct link *link, bool slower, struct link_class *ret)
{
	const struct link_speeds *speeds = link_class_speeds(links, link->tiers);
	const struct vote vote = vote_of(speeds, link);
	const int says = fabric_says(links, speeds, link, &vote);
	if (slower && says != VOTE_UNDECIDED)
		return;
	ret->n_siblings = vote.n;
	switch (says) {
	case VOTE_NONE:
		ret->by = LINK_BY_PAIR;
		if (vote.n == 1 && link->kind == LINK_SWITCH)
			ret->should_bps = vote.speed;
		return;
	case VOTE_SLOWER: ret->should_bps = vote.speed; return;
	case VOTE_UNDECIDED:
		ret->by = LINK_TWO_CLASSES;
		ret->should_bps = ret->own_bps;
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
	if (says != VOTE_AS_OTHERS)
		link_class_by_fabric(links, link, says == VOTE_SLOWER, ret);
	return true;
}

/* ---- optic_trend ----------------------------------------------------------- */

/* optic_trend - means of parts, and what they say. */

#define PARTS 30
#define EARLIER_MIN 5 /* known parts before the newest */
#define SLOPE_PARTS 6 /* the newest ones: what goes on now */

struct optic_parts { /* known parts only, oldest first */
	double mean[PARTS];
	double at_h[PARTS]; /* middle of its readings, hours since the past began */
	unsigned n;
	double newest; /* reading */
	double readings; /* per known part, on average */
};

static struct optic_parts optic_parts_of(
	const struct window *past, const struct series *series, bool decades, double least)
{
	struct optic_parts parts = {.n = 0};
	double sum[PARTS] = {0}, time[PARTS] = {0};
	unsigned count[PARTS] = {0};
	const uint32_t first = series_after(series, past->from_ns);
	if (first >= series->n)
		return parts;
	/* a past that is not full yet has shorter parts */
	const int64_t from_ns = series->t_ns[first] - 1, span_ns = past->to_ns - from_ns;
	for (uint32_t i = first; i < series->n && series->t_ns[i] <= past->to_ns; i++) {
		const double value = sample_number(series->metric, series->value[i]);
		if (isnan(value) || value <= least || series->flags[i] & (SF_LATE | SF_SUSPECT))
			continue;
		const int64_t since_ns = series->t_ns[i] - from_ns;
		const unsigned part = (unsigned)((since_ns - 1) * PARTS / span_ns);
		sum[part] += decades ? log10(value) : value;
		time[part] += (double)since_ns / (3600.0 * (double)NS_PER_S);
		count[part]++;
		parts.newest = decades ? log10(value) : value;
		parts.readings += 1;
	}
	for (unsigned k = 0; k < PARTS; k++) {
		if (!count[k])
			continue;
		parts.mean[parts.n] = sum[k] / count[k];
		parts.at_h[parts.n++] = time[k] / count[k];
	}
	if (parts.n)
		parts.readings /= parts.n;
	return parts;
}

/*
 * One standard deviation of a part. Second differences of a line are 0, also before and after a
 * bend, so only noise is left of them in the median: six times the variance of a part.
 */
static double optic_parts_spread(const struct optic_parts *parts)
{
	double bends[PARTS];
	for (unsigned k = 2; k < parts->n; k++)
		bends[k - 2] = parts->mean[k] - 2 * parts->mean[k - 1] + parts->mean[k - 2];
	return STATS_MAD_TO_SIGMA * stats_mad(bends, parts->n - 2, 0) / sqrt(6);
}

/* Theil and Sen: the median slope of all pairs of the newest parts. */
static double optic_parts_slope(const struct optic_parts *parts)
{
	double slopes[SLOPE_PARTS * (SLOPE_PARTS - 1) / 2];
	size_t n = 0;
	unsigned first = 0;
	if (parts->n > SLOPE_PARTS)
		first = parts->n - SLOPE_PARTS;
	for (unsigned i = first; i < parts->n; i++)
		for (unsigned k = i + 1; k < parts->n; k++)
			if (parts->at_h[k] > parts->at_h[i])
				slopes[n++] = (parts->mean[k] - parts->mean[i]) /
					(parts->at_h[k] - parts->at_h[i]);
	return stats_median(slopes, n);
}

struct optic_trend optic_trend_of(const struct window *past, const struct series *series, int worse,
	bool decades, double least)
{
	struct optic_trend trend = {
		.before = NAN, .now = NAN, .moved = NAN, .spread = NAN, .slope_per_h = NAN};
	if (!past || !series || past->to_ns <= past->from_ns)
		return trend;
	const struct optic_parts parts = optic_parts_of(past, series, decades, least);
	if (parts.n < EARLIER_MIN + 1)
		return trend;
	const unsigned earlier = parts.n - 1;
	double worst = -INFINITY, oldest[PARTS], all[PARTS];
	for (unsigned k = 0; k < earlier; k++) {
		worst = fmax(worst, worse * parts.mean[k]);
		oldest[k] = all[k] = parts.mean[k];
	}
	trend.known = true;
	trend.now = parts.newest;
	trend.beyond = worse * trend.now > worst && worse * parts.mean[earlier] >= worst;
	/* of the two the better one: a trend as long as the past drags its own median along */
	const double middle = stats_median(all, earlier),
		     first = stats_median(oldest, (earlier + 2) / 3);
	trend.before = worse * fmin(worse * first, worse * middle);
	trend.moved = worse * (trend.now - trend.before);
	/* of one reading, as the newest is: the mean of a part scatters less */
	trend.spread = optic_parts_spread(&parts) * sqrt(parts.readings);
	trend.slope_per_h = optic_parts_slope(&parts);
	return trend;
}

/* ---- link_limits ----------------------------------------------------------- */
