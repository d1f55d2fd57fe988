/* tune - from diagnoses, doses and gates to sheets, in an order that is the same each time. */
#include "analyzers/tune/tune.h"

#include "analyzers/tune/tune_dose.h"
#include "analyzers/tune/tune_fault.h"
#include "analyzers/tune/tune_sheet.h"
#include "analyzers/tune/tune_gate.h"
#include "config/class_policy.h"
#include "db/model/entity.h"

#define POOL_ALIKE 0.1 /* of the pool */
#define ROUNDED 0.05 /* of a value: platforms round the same need differently */
#define SURE_LEAST 0.2 /* confidence of a change; below it is something to watch */

const char *const tune_advice_names[ADVICE_BLOCKED + 1] = {
	"change", "fix_first", "watch", "none", "blocked"};

const char *tune_advice_name(enum tune_advice advice)
{
	if ((size_t)advice < rw_countof(tune_advice_names))
		return tune_advice_names[advice];
	return "?";
}

struct review_entry { /* a site that has a rule with a knob, or one to watch */
	struct tune_plan plan;
	struct tune_verdict verdict;
	bool taken;
};
struct review {
	struct tune_case c;
	struct review_entry *v;
	size_t n;
	struct tune_list *out;
};

static struct tune_sheet *sheet_add(struct review *review)
{
	struct tune_list *list = review->out;
	arena_grow(review->c.in->arena, list->v, list->n, list->cap);
	return &list->v[list->n++];
}

/* ---- one sheet per tier, priority, diagnosis and queue profile ----------- */

static bool tune_same_number(double left, double right)
{
	return left == right || (isnan(left) && isnan(right));
}
/* Longer cables leave a leaf a little less of the same buffer: that makes it no other tier. */
static bool same_pool(const struct tune_site *left, const struct tune_site *right)
{
	const double here = left->device->pool_bytes, there = right->device->pool_bytes;
	const bool alike = fabs(here - there) <= POOL_ALIKE * fmax(here, there);
	return (alike || tune_same_number(here, there)) &&
		tune_same_number(left->device->pool_slices, right->device->pool_slices);
}
static bool same_tier(const struct tune_site *left, const struct tune_site *right)
{
	return left->device->device->role == right->device->device->role &&
		left->priority == right->priority;
}

/* Families that change the queue profile of a tier: one of them at a time. */
static bool of_tier(enum tune_family family)
{
	return family == FAMILY_ALPHA_THEN_ECN || family == FAMILY_ECN_UP || family == FAMILY_XON;
}

/* Has @plan the change @i of @part, for the same kind of link? */
static bool has_change(const struct tune_plan *plan, const struct tune_plan *part, size_t i)
{
	const struct tune_change *wanted = &part->changes[i];
	for (size_t k = 0; k < plan->n_changes; k++) {
		const struct tune_change *change = &plan->changes[k];
		const struct tune_prio *here = plan->changed_at[k], *there = part->changed_at[i];
		if (change->knob != wanted->knob || change->current != wanted->current ||
			fabs(change->proposed - wanted->proposed) > ROUNDED * wanted->proposed)
			continue;
		if (!here || !there)
			return !here && !there;
		if (tune_same_link(plan->site->device, here->port, part->site->device, there->port))
			return true;
	}
	return false;
}

/* Headroom belongs to a port and its cable. A switch whose changes are all among those of another
 * one can have the same sheet. */
static bool headroom_within(const struct tune_plan *part, const struct tune_plan *plan)
{
	for (size_t i = 0; i < part->n_changes; i++)
		if (!has_change(plan, part, i))
			return false;
	return part->n_changes && !part->refused;
}

/* All switches where frames are lost, whatever their tier: each pool holds what it is asked for, or
 * the plan is refused. */
static bool same_headroom_sheet(const struct review_entry *left, const struct review_entry *right)
{
	const struct tune_plan *x = &left->plan, *y = &right->plan;
	if (left->verdict.advice != right->verdict.advice ||
		x->site->priority != y->site->priority || x->rule->cause != y->rule->cause)
		return false;
	if (left->verdict.advice == ADVICE_CHANGE)
		return headroom_within(x, y) || headroom_within(y, x);
	return same_tier(x->site, y->site) && same_pool(x->site, y->site);
}

static bool same_settings(
	enum tune_family family, const struct tune_plan *left, const struct tune_plan *right)
{
	return tune_same_profile(
		family, left->site->device, left->like, right->site->device, right->like);
}

/* Both plans change the queue profile of one tier. */
static bool one_tier_change(const struct review_entry *left, const struct review_entry *right)
{
	const enum tune_family f = left->plan.rule->family, g = right->plan.rule->family;
	return of_tier(f) && of_tier(g) && left->verdict.advice == ADVICE_CHANGE &&
		same_settings(g, &left->plan, &right->plan);
}

/*
 * Are both part of the same sheet? A queue profile gets one change, that of the switch where it is
 * worst, whatever the diagnosis is elsewhere.
 */
static bool same_sheet(const struct review_entry *left, const struct review_entry *right)
{
	const struct tune_plan *x = &left->plan, *y = &right->plan;
	const enum tune_family f = x->rule->family;
	if (f == FAMILY_HEADROOM && y->rule->family == FAMILY_HEADROOM)
		return same_headroom_sheet(left, right);
	/* 1. The same tier, priority and advice. */
	if (!same_tier(x->site, y->site) || left->verdict.advice != right->verdict.advice)
		return false;
	/* 2. The same kind of buffer, and settings that are the same now. */
	if (!same_pool(x->site, y->site) || !same_settings(f, x, y))
		return false;
	/* 3. One change of the tier, or one diagnosis. */
	if (one_tier_change(left, right))
		return true;
	return f == y->rule->family && x->rule->cause == y->rule->cause;
}

static double tune_badness(const struct review_entry *entry)
{
	const struct tune_site *site = entry->plan.site;
	if (entry->plan.rule->row == 5)
		return site->marks;
	if (site->paused)
		return site->paused->tx_pause_busy;
	return 0;
}

/* The canary of headroom has to have all of its changes. */
static bool is_worse(const struct review_entry *entry, const struct review_entry *than)
{
	const size_t n = entry->plan.n_changes, most = than->plan.n_changes;
	if (entry->plan.rule->family == FAMILY_HEADROOM && n != most)
		return n > most;
	return tune_badness(entry) > tune_badness(than);
}

/* Is @prio, a port of @site, of the plan's queue profile? */
static bool is_like(
	const struct tune_plan *plan, const struct tune_site *site, const struct tune_prio *prio)
{
	return tune_same_profile(
		plan->rule->family, site->device, prio, plan->site->device, plan->like);
}

static bool has_like(const struct tune_plan *plan, const struct tune_site *site)
{
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		if (is_like(plan, site, l))
			return true;
	return false;
}

/* Is the plan of @entry for ports of the canary's profile? */
static bool is_about_like(const struct review_entry *entry, const struct tune_plan *plan)
{
	for (size_t i = 0; i < entry->plan.n_prios; i++)
		if (is_like(plan, entry->plan.site, entry->plan.prios[i]))
			return true;
	return false;
}

/* Does @site need another change of the same ports than the canary's? */
static bool has_own_sheet(const struct review *review, const struct review_entry *canary,
	const struct tune_site *site)
{
	for (size_t i = 0; i < review->n; i++) {
		const struct review_entry *entry = &review->v[i];
		const bool decided = entry->verdict.advice == ADVICE_CHANGE;
		if (entry->plan.site == site && decided && !same_sheet(canary, entry) &&
			is_about_like(entry, &canary->plan))
			return true;
	}
	return false;
}

/* Ports of the same kind are too small everywhere, also where no frame was lost yet. */
static bool headroom_follows(const struct review *review, const struct review_entry *canary,
	const struct tune_site *site)
{
	struct tune_plan plan;
	if (site == canary->plan.site || site->priority != canary->plan.site->priority ||
		!tune_next_prio(site, NULL))
		return false;
	tune_dose_as(&review->c, site, canary->plan.rule, &plan);
	return !plan.n_collect && headroom_within(&plan, &canary->plan);
}

static bool raises_alpha(const struct tune_plan *plan)
{
	for (size_t i = 0; i < plan->n_changes; i++)
		if (plan->changes[i].knob == KNOB_ALPHA &&
			plan->changes[i].proposed > plan->changes[i].current)
			return true;
	return false;
}

static bool has_same_sheet(const struct review *review, const struct review_entry *canary,
	const struct tune_site *site)
{
	for (size_t i = 0; i < review->n; i++)
		if (review->v[i].plan.site == site && same_sheet(canary, &review->v[i]))
			return true;
	return false;
}

/*
 * Where hosts of several speeds share the switches, a larger share of the pool is for those where
 * the pressure begins. The others would hold, in their queues to the fabric, what their hosts hold
 * while they are paused; a host sends its flows in turn, a queue does not, and all that cross it
 * wait. Of 18 drawn fabrics J was 2.05 on the mean (7 above 2.06, worst 3.14) where all leaves
 * followed, and 1.83 (2, 2.17) where these did; with one speed both are the same.
 */
static bool only_where_it_begins(const struct review_entry *canary)
{
	return raises_alpha(&canary->plan) && tune_has_mixed_speeds(canary->plan.site->device);
}

/* Switches of the tier that have the same queue profile follow the canary, whether or not they show
 * anything yet: different thresholds in one tier are unfair. */
static bool tune_follows(const struct review *review, const struct review_entry *canary,
	const struct tune_site *site)
{
	const struct tune_site *at = canary->plan.site;
	if (canary->plan.rule->family == FAMILY_HEADROOM)
		return headroom_follows(review, canary, site);
	if (site == at || !same_tier(site, at) || !same_pool(site, at))
		return false;
	if (only_where_it_begins(canary) && !has_same_sheet(review, canary, site))
		return false;
	return !has_own_sheet(review, canary, site) && has_like(&canary->plan, site);
}

/* Loss first: where headroom is to be changed, or frames are lost and it cannot be yet, the queue
 * profiles of the priority wait. */
static void block_profiles(struct review *review, const struct tune_site *headroom)
{
	for (size_t i = 0; i < review->n; i++) {
		struct review_entry *entry = &review->v[i];
		if (!of_tier(entry->plan.rule->family) || entry->verdict.advice != ADVICE_CHANGE)
			continue;
		if (entry->plan.site->priority != headroom->priority)
			continue;
		entry->verdict.advice = ADVICE_BLOCKED;
		entry->verdict.blocked_by = arena_printf(review->c.in->arena,
			"headroom of %s, which comes first", headroom->device->device->name);
	}
}

static void headroom_first(struct review *review)
{
	for (size_t i = 0; i < review->n; i++) {
		const struct review_entry *entry = &review->v[i];
		const enum tune_advice advice = entry->verdict.advice;
		const bool lost = entry->plan.site->signs.yes & T_LOST && advice != ADVICE_NONE;
		if (entry->plan.rule->family == FAMILY_HEADROOM &&
			(advice == ADVICE_CHANGE || lost))
			block_profiles(review, entry->plan.site);
	}
}

/* A site that follows the canary need not be watched for the same. */
static void take_watched(
	struct review *review, const struct review_entry *canary, const struct tune_site *site)
{
	for (size_t i = 0; i < review->n; i++) {
		struct review_entry *entry = &review->v[i];
		if (entry->plan.site == site && entry->verdict.advice == ADVICE_WATCH &&
			entry->plan.rule->cause == canary->plan.rule->cause)
			entry->taken = true;
	}
}

/* A switch of the tier whose own change is blocked gets the canary's all the same, later: a tier
 * of two kinds is what the next review would find wrong. */
static void say_what_waits(
	struct review *review, struct review_entry *canary, const struct tune_site *site)
{
	for (size_t i = 0; i < review->n; i++) {
		const struct review_entry *entry = &review->v[i];
		if (entry->plan.site != site || entry->verdict.advice != ADVICE_BLOCKED)
			continue;
		plan_next(&canary->plan,
			arena_printf(review->c.in->arena,
				"%s comes last, when that is settled which blocks it: %s",
				site->device->device->name, entry->verdict.blocked_by));
		return;
	}
}

/* Other sites of the sheet: those it changes later, or those it is about as well. */
static size_t rest_of(
	struct review *review, struct review_entry *canary, const struct tune_site **rest)
{
	const bool change = canary->verdict.advice == ADVICE_CHANGE;
	size_t n = 0;
	for (size_t i = 0; i < review->n; i++) {
		struct review_entry *entry = &review->v[i];
		if (entry == canary || entry->taken || !same_sheet(canary, entry))
			continue;
		entry->taken = true;
		if (!change)
			rest[n++] = entry->plan.site;
	}
	for (size_t i = 0; change && i < review->c.n_sites; i++) {
		if (!tune_follows(review, canary, &review->c.sites[i]))
			continue;
		rest[n++] = &review->c.sites[i];
	}
	for (size_t i = 0; change && i < n; i++) {
		take_watched(review, canary, rest[i]);
		say_what_waits(review, canary, rest[i]);
	}
	if (change && only_where_it_begins(canary))
		plan_next(&canary->plan,
			"the other switches of the tier stay as they are: hosts of several speeds "
			"share them, and they only pass pause on; what their hosts hold back now "
			"would stand in their queues to the fabric, where everybody waits");
	return n;
}

static void make_sheet(struct review *review, struct review_entry *canary)
{
	const struct tune_site **rest =
		arena_array(review->c.in->arena, const struct tune_site *, review->c.n_sites + 1);
	const size_t n = rest_of(review, canary, rest);
	canary->taken = true;
	sheet_of_plan(&canary->plan, &canary->verdict, rest, n, sheet_add(review));
}

static void make_sheets(struct review *review)
{
	for (size_t i = 0; i < review->n; i++) {
		if (review->v[i].taken)
			continue;
		struct review_entry *worst = &review->v[i];
		for (size_t k = i + 1; k < review->n; k++) {
			struct review_entry *other = &review->v[k];
			if (!other->taken && same_sheet(&review->v[i], other) &&
				is_worse(other, worst))
				worst = other;
		}
		make_sheet(review, worst);
	}
}

/* ---- what else there is to say ------------------------------------------- */

static bool fault_of_row(const struct tune_case *tune_case, const struct tune_site *site)
{
	for (size_t i = 0; i < tune_case->n_faults; i++)
		if (tune_case->faults[i].row == site->is->row &&
			tune_fault_touches(tune_case, &tune_case->faults[i], site))
			return true;
	return false;
}

/* Where pause is the congestion control of the site, pause alone calls for nothing; loss does. */
static bool calls_for_advice(const struct tune_in *in, const struct tune_site *site)
{
	if (!site->is)
		return false;
	const enum congestion_policy policy = class_congestion(in->fabric, site->priority);
	if (class_policy_of(policy)->dcqcn || site->signs.yes & T_LOST)
		return true;
	return site->is->family == FAMILY_HEADROOM || site->is->family == FAMILY_XON;
}

static void judge_sites(struct review *review)
{
	for (size_t i = 0; i < review->c.n_sites; i++) {
		const struct tune_site *site = &review->c.sites[i];
		if (!calls_for_advice(review->c.in, site))
			continue;
		if (site->is->family == FAMILY_NONE && site->is->certain) {
			if (!fault_of_row(&review->c, site))
				sheet_of_rule(&review->c, site, sheet_add(review));
			continue;
		}
		struct review_entry *entry = &review->v[review->n++];
		tune_dose(&review->c, site, &entry->plan);
		tune_gate(&entry->plan, &entry->verdict);
		if (entry->verdict.advice == ADVICE_CHANGE &&
			tune_confidence(&entry->plan) < SURE_LEAST)
			tune_gate_doubt(&entry->plan, &entry->verdict);
	}
}

static bool has_sheet(const struct tune_list *list, int priority)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].priority == priority || list->v[i].priority == PRIO_NONE)
			return true;
	return false;
}

static int advice_rank(enum tune_advice advice)
{
	static const int ranks[] = {[ADVICE_CHANGE] = 0,
		[ADVICE_FIX_FIRST] = 1,
		[ADVICE_BLOCKED] = 2,
		[ADVICE_WATCH] = 3,
		[ADVICE_NONE] = 4};
	return ranks[advice];
}

static int by_urgency(const void *left, const void *right)
{
	const struct tune_sheet *x = left, *y = right;
	if (x->advice != y->advice) {
		if (advice_rank(x->advice) < advice_rank(y->advice))
			return -1;
		return 1;
	}
	if (x->confidence_ratio != y->confidence_ratio) {
		if (x->confidence_ratio > y->confidence_ratio)
			return -1;
		return 1;
	}
	const int d = name_compare(str_or(x->device, ""), str_or(y->device, ""));
	if (d)
		return d;
	if (x->priority != y->priority)
		return x->priority - y->priority;
	return strcmp(x->id, y->id);
}

int tune_review(const struct tune_in *in, struct tune_list *out)
{
	struct review r = {.out = out};
	*out = (struct tune_list){0};
	bool any = false;
	for (size_t i = 0; i < in->evidence->n_devices; i++)
		any = any || in->evidence->devices[i].windows;
	if (!any)
		return -ENODATA;
	tune_diagnose(in, &r.c);
	r.v = arena_array(in->arena, struct review_entry, r.c.n_sites + 1);
	judge_sites(&r);
	headroom_first(&r);
	make_sheets(&r);
	for (size_t i = 0; i < r.c.n_faults; i++)
		sheet_of_fault(&r.c, &r.c.faults[i], sheet_add(&r));
	for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++)
		if (in->fabric->lossless_mask >> priority & 1 && !has_sheet(out, priority))
			sheet_of_rest(&r.c, priority, sheet_add(&r));
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_urgency);
	return 0;
}
