/*
 * ecmp_paths - are all paths up, and does each stage of hashing choose independently?
 *
 *     path_asymmetry     members of an ECMP group are down while others carry their traffic:
 *                        reported at the end nearer the hosts, once per link, for the widest
 *                        group it belongs to
 *     ecmp_polarization  the second stage of hashing (the groups of spines) leaves members idle
 *                        in many groups at once while the first stage (the leaves' uplinks) is
 *                        even: both stages hash alike
 *
 * Polarization by counters: all that arrives by one link has one value of the hash, so about 1 -
 * 1/m of the m links of a group carry less than a tenth of the mean.
 *
 * Other seeds do not rule it out. CRC and XOR are linear: a seed adds a constant to every hash, so
 * what met before still meets, on another link (Zhang et al., Hashing Linearity Enables Relative
 * Path Control in Data Centers, USENIX ATC 2021).
 */

#include "analyzers/analyzer.h"
#include "analyzers/finding_build.h"
#include "analyzers/measure/class_world.h"
#include "analyzers/measure/ecmp_measure.h"
#include "analyzers/measure/mean.h"
#include "analyzers/measure/observe.h"

#define IDLE_SHARE 0.1 /* share of the mean: such a member is not chosen */
#define POLARIZED_GROUPS 3 /* groups that must show it together */
#define POLARIZED_SHARE 0.5 /* share of the busy groups of the second stage */
#define EVEN_AGAINST                                                                               \
	0.5 /* imbalance of the first stage, as a share of that of the second, below which the     \
	       first is even */
#define MEMBERS_SHOWN 8
/* confidence where both stages also have the same seed */
#define SAME_SEED_SURE 0.95

struct paths_options {
	double load_floor;
	int64_t window_ns, hold;
};

static const struct option rows[] = {
	{"load_floor", OPT_RATIO, offsetof(struct paths_options, load_floor), "2%", "0%", "100%",
		NULL,
		"mean utilisation of a group at or below which it is idle: a missing path is then "
		"only an info, and its hashing is not judged"},
	{"window", OPT_DURATION, offsetof(struct paths_options, window_ns), "0s", "0s", "1h", NULL,
		"evaluation window; 0 = three intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct paths_options, hold), "3", "1", "10000", NULL,
		"required windows before an incident opens"},
};

static int rank_of(const struct fabric_device *device)
{
	static const int rank[] = {
		[ROLE_LEAF] = 0, [ROLE_SPINE] = 1, [ROLE_SUPERSPINE] = 2, [ROLE_OTHER] = 0};
	return rank[device->role];
}

static bool holds_all(const struct fabric_group *wide, const struct fabric_group *narrow)
{
	for (size_t i = 0; i < narrow->n_members; i++) {
		bool found = false;
		for (size_t k = 0; k < wide->n_members && !found; k++)
			found = wide->members[k] == narrow->members[i];
		if (!found)
			return false;
	}
	return true;
}

/* Is there a wider group of the device with the same members? */
static bool ecmp_paths_contained(const struct fabric_group *group)
{
	const struct fabric_device *d = group->device;
	for (size_t i = 0; i < d->n_groups; i++)
		if (d->groups[i].n_members > group->n_members && holds_all(&d->groups[i], group))
			return true;
	return false;
}

static bool peer_tells(const struct fabric_port *port)
{
	const struct fabric_device *d = NULL;
	if (port->peer)
		d = port->peer->device;
	if (!d || rank_of(d) >= rank_of(port->device))
		return false;
	for (size_t i = 0; i < d->n_groups; i++)
		for (size_t k = 0; k < d->groups[i].n_members; k++)
			if (d->groups[i].members[k] == port->peer)
				return true;
	return false;
}

/* ---- missing paths ------------------------------------------------------- */

static double oper_of(const struct observed *observed, const struct fabric_port *port)
{
	const struct port_seen *here = observed_port(observed, port),
			       *there = observed_port(observed, port->peer);
	double up = NAN;
	if (here)
		up = here->oper_up;
	/* one end that reports down is enough; either may be the one that is polled */
	if (there && !isnan(there->oper_up)) {
		if (isnan(up))
			return there->oper_up;
		return fmin(up, there->oper_up);
	}
	return up;
}

struct paths {
	const struct fabric_group *group;
	size_t n_down, n_up, n_unknown;
	const struct fabric_port *down[MEMBERS_SHOWN];
	double load; /* mean utilisation of members that are up; NAN unknown */
};

static struct paths paths_of(const struct observed *observed, const struct fabric_group *group)
{
	struct paths r = {.group = group};
	double load = 0;
	size_t n = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		const double up = oper_of(observed, group->members[i]);
		const struct port_seen *p = observed_port(observed, group->members[i]);
		if (up == 0 && peer_tells(group->members[i]))
			continue;
		if (up == 0 && r.n_down < MEMBERS_SHOWN)
			r.down[r.n_down] = group->members[i];
		r.n_down += up == 0;
		r.n_up += up > 0;
		r.n_unknown += isnan(up);
		if (up != 0 && p && p->out_known && !isnan(p->out.utilization_ratio)) {
			load += p->out.utilization_ratio;
			n++;
		}
	}
	if (n)
		r.load = load / (double)n;
	else
		r.load = NAN;
	return r;
}

static enum severity ecmp_paths_severity_of(const struct paths *paths, bool idle)
{
	if (idle)
		return SEV_INFO;
	if (paths->n_up == 0)
		return SEV_CRITICAL;
	return SEV_WARNING;
}

static struct draft ecmp_paths_draft(const struct analyzer_in *in, const char *analyzer,
	enum cause cause, bool over, struct finding_list *out)
{
	const struct paths_options *options = in->options;
	struct draft t =
		finding_new(out, in, analyzer, over ? FINDING_OVER : FINDING_UNDER, options->hold);
	t.f->cause = cause;
	return t;
}

/* "Ethernet51 (to spine2), Ethernet52 (to spine3) and more" */
static const char *down_text(const struct paths *paths, size_t shown, struct arena *a)
{
	const char *list = "";
	for (size_t i = 0; i < shown; i++) {
		const struct fabric_port *port = paths->down[i];
		const char *to = "";
		if (port->peer)
			to = arena_printf(a, " (to %s)", port->peer->device->name);
		list = arena_printf(a, "%s%s%s%s", list, str_if(i, ", "), port->name, to);
	}
	return arena_printf(a, "%s%s", list, str_if(paths->n_down > shown, " and more"));
}

static void missing_path(
	const struct analyzer_in *in, const struct paths *paths, struct finding_list *out)
{
	const struct paths_options *options = in->options;
	const size_t n = paths->group->n_members;
	struct draft t =
		ecmp_paths_draft(in, "ecmp_paths", CAUSE_PATH_ASYMMETRY, paths->n_down > 0, out);
	struct finding *f = t.f;
	f->device = paths->group->device->name;
	f->group = paths->group->id;
	f->value = (double)paths->n_down;
	f->warn = 1;
	f->coverage_ratio = 1 - (double)paths->n_unknown / (double)n;
	if (!paths->n_down)
		return;
	const bool idle = !isnan(paths->load) && paths->load <= options->load_floor;
	f->severity = ecmp_paths_severity_of(paths, idle);
	f->member = paths->down[0]->name;
	f->confidence_ratio = 0.95;
	f->proven = true;
	size_t shown = MEMBERS_SHOWN;
	if (paths->n_down < MEMBERS_SHOWN)
		shown = paths->n_down;
	for (size_t i = 0; i < shown; i++) {
		const struct port_seen down = {.port = paths->down[i]};
		finding_evidence(&t, "port.oper_up", &down, PRIO_NONE, 0, "-", QUALITY_EXACT);
		finding_add_role(&t, "culprit", "%s:%s", f->device, paths->down[i]->name);
	}
	finding_evidence_device(
		&t, "ecmp.load_ratio", f->device, paths->load, "ratio", QUALITY_EXACT);
	const char *load = "";
	if (idle)
		load = " (idle now)";
	else if (!isnan(paths->load))
		load = arena_printf(t.a, " (mean load %.0f %%)", 100 * paths->load);
	f->summary = arena_printf(t.a,
		"%s %s: %zu of %zu paths %s down: %s; the others carry their share%s", f->device,
		f->group, paths->n_down, n, paths->n_down == 1 ? "is" : "are",
		down_text(paths, shown, t.a), load);
	finding_rests_on(&t, "link state of %zu of %zu members read", n - paths->n_unknown, n);
	finding_step(&t,
		arena_printf(t.a,
			"check both ends of %s: optic, cable, admin state, FEC mode; replace or "
			"re-seat",
			f->roles[0].entity),
		"the link is down already");
	finding_steps(&t, f->cause, 0);
}

/* ---- polarisation -------------------------------------------------------- */

struct stage { /* one busy group */
	const struct fabric_group *group;
	double imbalance, load;
	size_t idle, live;
	bool polarized;
};

static bool stage_of(const struct observed *observed, const struct fabric_group *group,
	double load_floor, struct stage *ret)
{
	double sum = 0, max = 0;
	size_t n = 0;
	*ret = (struct stage){.group = group};
	for (size_t i = 0; i < group->n_members; i++) {
		const struct port_seen *p = observed_port(observed, group->members[i]);
		if (!p || p->oper_up == 0)
			continue;
		if (!p->out_known || isnan(p->out.utilization_ratio))
			return false;
		sum += p->out.utilization_ratio;
		max = fmax(max, p->out.utilization_ratio);
		n++;
	}
	if (n < 2 || sum / (double)n <= load_floor)
		return false;
	const double mean = sum / (double)n;
	for (size_t i = 0; i < group->n_members; i++) {
		const struct port_seen *p = observed_port(observed, group->members[i]);
		ret->idle += p && p->oper_up != 0 && p->out.utilization_ratio < IDLE_SHARE * mean;
	}
	ret->live = n;
	ret->load = mean;
	ret->imbalance = mean_imbalance(max, mean);
	ret->polarized = ret->idle > 0;
	return true;
}

struct hashing { /* both stages of hashing, fabric-wide */
	double imbalance[2]; /* sums over the busy groups of the first and the second stage */
	size_t n[2], polarized;
	bool over;
};

/* Calls @fn for each busy, hashed group; @second: 1 for groups of spines. */
static void each_stage(const struct observed *observed, const struct fabric_device *device,
	double load_floor, void (*fn)(void *arg, const struct stage *stage, int second), void *arg)
{
	const int second = rank_of(device) > 0;
	for (size_t k = 0; k < device->n_groups; k++) {
		const struct fabric_group *g = &device->groups[k];
		struct stage s;
		if (lb_of_group(observed->window, g) == LB_STATIC && g->n_members >= 2 &&
			(second || !ecmp_paths_contained(g)) &&
			stage_of(observed, g, load_floor, &s))
			fn(arg, &s, second);
	}
}

static void add_stage(void *arg, const struct stage *stage, int second)
{
	struct hashing *h = arg;
	h->n[second]++;
	h->imbalance[second] += stage->imbalance;
	h->polarized += second && stage->polarized;
}

static struct hashing hashing_of(const struct observed *observed, double load_floor)
{
	struct hashing h = {0};
	for (size_t i = 0; i < observed->n_devices; i++)
		each_stage(observed, observed->fabric->devices[i], load_floor, add_stage, &h);
	h.over = h.n[0] > 0 && h.polarized >= POLARIZED_GROUPS &&
		(double)h.polarized >= POLARIZED_SHARE * (double)h.n[1] &&
		h.imbalance[0] / (double)h.n[0] < EVEN_AGAINST * h.imbalance[1] / (double)h.n[1];
	return h;
}

/* The first leaf whose hash seed is that of @device, or is another one, both read back; NULL: none.
 * Equal seeds alone do not prove equal hashes: tiers with other functions may share one. */
static const struct fabric_device *leaf_by_seed(
	const struct observed *observed, const struct fabric_device *device, bool same)
{
	uint64_t own, seed;
	if (!hash_seed(observed->window, device->name, &own))
		return NULL;
	for (size_t i = 0; i < observed->n_devices; i++) {
		const struct fabric_device *leaf = observed->fabric->devices[i];
		if (rank_of(leaf) < rank_of(device) &&
			hash_seed(observed->window, leaf->name, &seed) && (seed == own) == same)
			return leaf;
	}
	return NULL;
}

struct spine { /* the groups of one device of the second stage */
	size_t busy, polarized, idle, members;
	struct stage worst;
};

static void add_group(void *arg, const struct stage *stage, int second)
{
	struct spine *d = arg;
	d->busy++;
	d->polarized += stage->polarized;
	d->idle += stage->idle;
	d->members += stage->live;
	if (stage->polarized && stage->imbalance > d->worst.imbalance)
		d->worst = *stage;
}

static void ecmp_paths_polarization(const struct analyzer_in *in, const struct observed *observed,
	const struct fabric_device *device, const struct hashing *hashing, struct finding_list *out)
{
	const struct paths_options *options = in->options;
	struct spine spine = {0};
	each_stage(observed, device, options->load_floor, add_group, &spine);
	if (!spine.busy)
		return;
	const bool over = hashing->over && spine.polarized > 0;
	struct draft t =
		ecmp_paths_draft(in, "ecmp_polarization", CAUSE_ECMP_POLARIZATION, over, out);
	struct finding *f = t.f;
	f->device = device->name;
	f->value = (double)spine.polarized / (double)spine.busy;
	f->warn = POLARIZED_SHARE;
	f->coverage_ratio = 1; /* groups with an unknown member are not judged */
	if (!over)
		return;
	const double first = hashing->imbalance[0] / (double)hashing->n[0],
		     second = hashing->imbalance[1] / (double)hashing->n[1];
	f->severity = SEV_WARNING;
	f->confidence_ratio = 0.7;
	if (hashing->n[1] >= 2 * POLARIZED_GROUPS)
		f->confidence_ratio = 0.85;
	f->summary = arena_printf(t.a,
		"%s repeats the hash of the leaves: %zu of its %zu busy groups leave links idle "
		"(%zu of %zu links; worst %s, max/mean-1 %.0f %%), "
		"while the leaves' uplinks are even (%.0f %%)",
		device->name, spine.polarized, spine.busy, spine.idle, spine.members,
		spine.worst.group->id, 100 * spine.worst.imbalance, 100 * first);
	finding_evidence_device(
		&t, "ecmp.first_stage_imbalance_ratio", NULL, first, "ratio", QUALITY_EXACT);
	finding_evidence_device(
		&t, "ecmp.second_stage_imbalance_ratio", NULL, second, "ratio", QUALITY_EXACT);
	finding_evidence_device(&t, "ecmp.imbalance_ratio", device->name, spine.worst.imbalance,
		"ratio", QUALITY_EXACT);
	finding_add_role(&t, "culprit", "%s", device->name);
	finding_rests_on(&t, "octets of %zu groups of the second stage and %zu of the first",
		hashing->n[1], hashing->n[0]);
	const struct fabric_device *same = leaf_by_seed(observed, device, true);
	const struct fabric_device *other = leaf_by_seed(observed, device, false);
	if (same) {
		f->confidence_ratio = SAME_SEED_SURE;
		f->proven = true;
		finding_rests_on(&t, "hash seeds read back: %s has the seed of %s", device->name,
			same->name);
	} else {
		if (other)
			finding_rests_on(&t,
				"hash seeds read back: %s has another one than %s, which does not "
				"separate linear hashes (CRC, XOR)",
				device->name, other->name);
		finding_unproved(
			&t, "from counters only: the flows of both stages were not compared");
	}
	finding_steps(&t, f->cause, 0);
}

static int ecmp_paths_run(const struct analyzer_in *in, struct finding_list *out)
{
	const struct observed *o = observe(in);
	const struct paths_options *options = in->options;
	const struct hashing hashing = hashing_of(o, options->load_floor);
	for (size_t i = 0; i < in->fabric->n_devices; i++) {
		const struct fabric_device *d = in->fabric->devices[i];
		if (rank_of(d) > 0)
			ecmp_paths_polarization(in, o, d, &hashing, out);
		for (size_t k = 0; k < d->n_groups; k++) {
			if (d->groups[k].n_members < 2 || ecmp_paths_contained(&d->groups[k]))
				continue;
			const struct paths p = paths_of(o, &d->groups[k]);
			if (p.n_down || p.n_up)
				missing_path(in, &p, out);
		}
	}
	return 0;
}

const struct analyzer analyzer_ecmp_paths = {
	.name = "ecmp_paths",
	.phase = 70,
	.doc = "paths that are missing from ECMP groups, and stages of hashing that repeat one "
	       "another",
	.options = {"analyzers", "ecmp_paths", sizeof(struct paths_options), rows, rw_countof(rows),
		"missing paths and polarised hashing of ECMP groups"},
	.window_offset = offsetof(struct paths_options, window_ns),
	.spec = {.metrics = (const uint16_t[]){M_CFG_HASH_SEED}, .n_metrics = 1},
	.observes = true,
	.run = ecmp_paths_run,
};
