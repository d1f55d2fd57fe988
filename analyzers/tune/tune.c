/* tune - see the header: from diagnosis, dose and gate to sheets, in an order that is the same each
 * time. */
#include "analyzers/tune/tune.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/tune/tune_dose.h"
#include "analyzers/tune/tune_fault.h"
#include "analyzers/tune/tune_sheet.h"
#include "analyzers/tune/tune_touch.h"
#include "db/model/entity.h"

#define SURE_LEAST 0.2 /* confidence of a change; below it is something to watch */

const char *tune_advice_name(enum tune_advice advice)
{
	static const char *const names[] = {"change", "fix_first", "watch", "none", "blocked"};
	if ((size_t)advice < rw_countof(names))
		return names[advice];
	return "?";
}

struct entry { /* a place that has a rule with a knob, or one to watch */
	struct tune_plan plan;
	struct tune_verdict verdict;
	bool taken;
};
struct review {
	struct tune_case c;
	struct entry *v;
	size_t n;
	struct tune_list *out;
};

static struct tune_sheet *sheet_add(struct review *review)
{
	struct tune_list *l = review->out;
	if (l->n == l->cap) {
		if (l->cap)
			l->cap = l->cap * 2;
		else
			l->cap = 8;
		struct tune_sheet *wider =
			arena_array(review->c.in->arena, struct tune_sheet, l->cap);
		if (l->n)
			memcpy(wider, l->v, l->n * sizeof(*wider));
		l->v = wider;
	}
	return &l->v[l->n++];
}

/* ---- one sheet per tier, priority, diagnosis and queue profile ----------- */

static bool same_number(double left, double right)
{
	return left == right || (isnan(left) && isnan(right));
}
static bool same_pool(const struct tune_site *left, const struct tune_site *right)
{
	return same_number(left->device->pool_bytes, right->device->pool_bytes) &&
		same_number(left->device->pool_slices, right->device->pool_slices);
}

/* Families that change the queue profile of a tier: one of them at a time. */
static bool of_tier(enum tune_family family)
{
	return family == FAMILY_ALPHA_THEN_ECN || family == FAMILY_ALPHA_OR_ECN ||
		family == FAMILY_KMAX || family == FAMILY_ECN_UP || family == FAMILY_XON;
}

static bool same_headroom(const struct entry *left, const struct entry *right)
{
	const struct tune_plan *x = &left->plan, *y = &right->plan;
	return x->n_changes == y->n_changes &&
		(!x->n_changes || x->changes[0].proposed == y->changes[0].proposed) &&
		!x->like->port->host == !y->like->port->host &&
		x->like->port->cable_mm == y->like->port->cable_mm &&
		tune_speed(x->site->device, x->like->port) ==
		tune_speed(y->site->device, y->like->port);
}

/*
 * The same sheet tells of both. Headroom is a matter of a port and its cable: the same sheet only
 * where these and the dose are the same. A queue profile that is to be changed gets one change,
 * that of the switch where it is worst, whatever the diagnosis is elsewhere.
 */
static bool tune_alike(const struct entry *left, const struct entry *right)
{
	const enum tune_family f = left->plan.rule->family, g = right->plan.rule->family;
	if (left->plan.site->device->device->role != right->plan.site->device->device->role ||
		left->plan.site->priority != right->plan.site->priority ||
		left->verdict.advice != right->verdict.advice ||
		(f == FAMILY_HEADROOM && !same_headroom(left, right)) ||
		!same_pool(left->plan.site, right->plan.site) ||
		!tune_same_profile(f, left->plan.like, right->plan.like))
		return false;
	return (of_tier(f) && of_tier(g) && left->verdict.advice == ADVICE_CHANGE &&
		       tune_same_profile(g, left->plan.like, right->plan.like)) ||
		(f == g && left->plan.rule->cause == right->plan.rule->cause);
}

static double tune_badness(const struct entry *entry)
{
	const struct tune_site *p = entry->plan.site;
	if (entry->plan.rule->row == 5)
		return p->marks;
	if (p->paused)
		return p->paused->tx_pause_busy;
	return 0;
}

/* Switches of the tier that have the same queue profile, whether or not they show anything yet:
 * different thresholds in one tier are unfair. */
static bool tune_follows(
	const struct review *review, const struct entry *canary, const struct tune_site *site)
{
	const struct tune_site *at = canary->plan.site;
	if (site == at || site->priority != at->priority ||
		site->device->device->role != at->device->device->role || !same_pool(site, at))
		return false;
	for (size_t i = 0; i < review->n; i++)
		if (review->v[i].plan.site == site &&
			(review->v[i].verdict.advice == ADVICE_CHANGE ||
				review->v[i].verdict.advice == ADVICE_BLOCKED) &&
			!tune_alike(canary, &review->v[i]))
			return false; /* it has a story of its own */
	const struct tune_prio *any = tune_next_prio(site, NULL);
	for (const struct tune_prio *l = any; l; l = tune_next_prio(site, l))
		if (tune_same_profile(canary->plan.rule->family, l, canary->plan.like))
			return true;
	return false;
}

/* What the same buffers lack elsewhere too: the dose follows from cable and speed, so ports of the
 * same kind and size need it alike. */
static bool tune_lacks(const struct entry *canary, const struct tune_site *site)
{
	const struct tune_plan *t = &canary->plan;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		if (tune_same_profile(FAMILY_HEADROOM, l, t->like) &&
			!l->port->host == !t->like->port->host && l->port->cable_mm &&
			l->port->cable_mm == t->like->port->cable_mm &&
			tune_speed(site->device, l->port) ==
				tune_speed(t->site->device, t->like->port))
			return true;
	return false;
}

/* Loss first: where headroom of a tier is to be changed, its queue profile waits. */
static void headroom_first(struct review *review)
{
	for (size_t i = 0; i < review->n; i++) {
		const struct tune_plan *h = &review->v[i].plan;
		for (size_t k = 0; h->rule->family == FAMILY_HEADROOM &&
			review->v[i].verdict.advice == ADVICE_CHANGE && k < review->n;
			k++) {
			struct entry *e = &review->v[k];
			if (!of_tier(e->plan.rule->family) || e->verdict.advice != ADVICE_CHANGE ||
				e->plan.site->priority != h->site->priority ||
				e->plan.site->device->device->role != h->site->device->device->role)
				continue;
			e->verdict.advice = ADVICE_BLOCKED;
			e->verdict.blocked_by = arena_printf(review->c.in->arena,
				"headroom of %s, which comes first", h->site->device->device->name);
		}
	}
}

static void make_sheet(struct review *review, struct entry *canary)
{
	const struct tune_site **rest =
		arena_array(review->c.in->arena, const struct tune_site *, review->c.n_sites + 1);
	const enum tune_family f = canary->plan.rule->family;
	size_t n = 0;
	for (size_t i = 0; i < review->n; i++) {
		struct entry *e = &review->v[i];
		if (e == canary || e->taken || !tune_alike(canary, e))
			continue;
		e->taken = true;
		if (canary->verdict.advice != ADVICE_CHANGE)
			rest[n++] = e->plan.site;
	}
	for (size_t i = 0; canary->verdict.advice == ADVICE_CHANGE && i < review->c.n_sites; i++)
		if (tune_follows(review, canary, &review->c.sites[i]) &&
			(f != FAMILY_HEADROOM || tune_lacks(canary, &review->c.sites[i])))
			rest[n++] = &review->c.sites[i];
	for (size_t i = 0; canary->verdict.advice == ADVICE_CHANGE && i < review->n; i++)
		for (size_t k = 0; k < n; k++) /* it follows: no need to watch it for the same */
			review->v[i].taken = review->v[i].taken ||
				(review->v[i].plan.site == rest[k] &&
					review->v[i].verdict.advice == ADVICE_WATCH &&
					review->v[i].plan.rule->cause == canary->plan.rule->cause);
	canary->taken = true;
	sheet_of_plan(&canary->plan, &canary->verdict, rest, n, sheet_add(review));
}

static void make_sheets(struct review *review)
{
	for (size_t i = 0; i < review->n; i++) {
		if (review->v[i].taken)
			continue;
		struct entry *worst = &review->v[i];
		for (size_t k = i + 1; k < review->n; k++)
			if (!review->v[k].taken && tune_alike(&review->v[i], &review->v[k]) &&
				tune_badness(&review->v[k]) > tune_badness(worst))
				worst = &review->v[k];
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

static void judge_sites(struct review *review)
{
	for (size_t i = 0; i < review->c.n_sites; i++) {
		const struct tune_site *p = &review->c.sites[i];
		/* where pause is the site's congestion control, pause alone is no story; loss is */
		if (!p->is ||
			(review->c.in->fabric->congestion != CC_DCQCN &&
				p->is->family != FAMILY_HEADROOM && p->is->family != FAMILY_XON &&
				!(p->signs.yes & T_LOST)))
			continue;
		if (p->is->family == FAMILY_NONE && p->is->certain) {
			if (!fault_of_row(&review->c, p))
				sheet_of_rule(&review->c, p, sheet_add(review));
			continue;
		}
		struct entry *e = &review->v[review->n++];
		tune_dose(&review->c, p, &e->plan);
		tune_gate(&e->plan, &e->verdict);
		if (e->verdict.advice == ADVICE_CHANGE && tune_confidence(&e->plan) < SURE_LEAST)
			tune_gate_doubt(&e->plan, &e->verdict);
	}
}

static bool spoken_of(const struct tune_list *list, int priority)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].priority == priority || list->v[i].priority == PRIO_NONE)
			return true;
	return false;
}

static int tune_rank(enum tune_advice advice)
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
		if (tune_rank(x->advice) < tune_rank(y->advice))
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
	r.v = arena_array(in->arena, struct entry, r.c.n_sites + 1);
	judge_sites(&r);
	headroom_first(&r);
	make_sheets(&r);
	for (size_t i = 0; i < r.c.n_faults; i++)
		sheet_of_fault(&r.c, &r.c.faults[i], sheet_add(&r));
	for (int priority = 0; priority < OBSERVED_PRIORITIES; priority++)
		if (in->fabric->lossless_mask >> priority & 1 && !spoken_of(out, priority))
			sheet_of_rest(&r.c, priority, sheet_add(&r));
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_urgency);
	return 0;
}
