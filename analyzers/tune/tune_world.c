/* tune_world - see the header. */
#include "analyzers/tune/tune_world.h"

#include "analyzers/tune/tune_rules.h"

/* A ramp of four times its beginning, as for bytes (tune_dose_alpha.c, RAMP). */
#define RAMP_TIMES 4

static void world_of_prio(const struct tune_prio *prio, struct world_facts *facts)
{
	facts->pfc_on += prio->pfc_enabled == 1 && !prio->declared;
	facts->credit_on += prio->cbfc_enabled == 1;
	facts->ecn_on += prio->ecn_enabled == 1;
	facts->ecn_off += prio->ecn_enabled == 0 && prio->read_ns;
	facts->relative += prio->ecn_relative == 1 && !prio->relative_declared;
	facts->kmin_bytes += prio->kmin > 0 && !prio->declared && prio->ecn_relative != 1;
	facts->trim_on += prio->trim_enabled == 1;
	if (prio->tx_pause_hi > 0 || prio->rx_pause_hi > 0)
		facts->pause_frames = fmax(isnan(facts->pause_frames) ? 0 : facts->pause_frames, 1);
	if (prio->marked > 0)
		facts->marked = fmax(isnan(facts->marked) ? 0 : facts->marked, prio->marked);
}

void tune_world_of(const struct tune_in *in, int priority, struct class_world *ret)
{
	struct world_facts facts = {.pause_frames = NAN,
		.marked = NAN,
		.trimmed = NAN,
		.cnp = NAN,
		.uet = NAN,
		.srv6 = NAN,
		.spray_ratio = NAN};
	if (in->evidence->told)
		facts = in->evidence->told[priority];
	facts.fabric = in->fabric;
	facts.priority = priority;
	for (size_t i = 0; i < in->evidence->n_devices; i++)
		for (size_t k = 0; k < in->evidence->devices[i].n_prios; k++)
			if (in->evidence->devices[i].prios[k].priority == priority)
				world_of_prio(&in->evidence->devices[i].prios[k], &facts);
	class_world_of(&facts, in->arena, ret);
}

static const struct tune_prio *tune_relative_prio(const struct tune_site *site)
{
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		if (l->ecn_relative == 1)
			return l;
	return NULL;
}

bool tune_is_relative(const struct tune_site *site)
{
	return tune_relative_prio(site) != NULL;
}

bool tune_by_credits(const struct tune_in *in, const struct tune_site *site)
{
	bool paused = false;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));) {
		if (l->cbfc_enabled == 1)
			return true;
		paused = paused || l->pfc_enabled == 1;
	}
	return !paused && class_lossless(in->fabric, site->priority) == LOSSLESS_CREDIT;
}

static const char *share_text(struct arena *a, double ratio)
{
	if (isnan(ratio))
		return "an unknown share";
	return arena_printf(a, "%.0f %%", 100 * ratio);
}

const char *tune_relative_now(struct arena *a, const struct tune_site *site)
{
	const struct tune_prio *prio = tune_relative_prio(site);
	return arena_printf(a,
		"ECN is in relative mode at %s: marking begins at %s of the queue's dynamic quota "
		"and is full at %s, and thresholds in bytes are ignored",
		site->device->device->name, share_text(a, prio->kmin_ratio),
		share_text(a, prio->kmax_ratio));
}

const char *tune_relative_less(const struct tune_plan *plan)
{
	struct arena *a = plan->c->in->arena;
	const struct tune_prio *prio = tune_relative_prio(plan->site);
	if (isnan(prio->kmin_ratio))
		return "relative ECN: find out the shares in force, then halve the one where "
		       "marking begins, and end the ramp at four times that, at most 100 %";
	const double from = fmax(0.01, prio->kmin_ratio / 2), to = fmin(1, RAMP_TIMES * from);
	return arena_printf(a,
		"relative ECN: mark earlier by shares, not by bytes: begin at %.0f %% of the quota "
		"(now %s), end at %.0f %% (now %s); marking probabilities below 1 %% do nothing "
		"where the hardware counts in whole percents",
		100 * from, share_text(a, prio->kmin_ratio), 100 * to,
		share_text(a, prio->kmax_ratio));
}

const char *tune_relative_more(const struct tune_plan *plan)
{
	struct arena *a = plan->c->in->arena;
	const struct tune_prio *prio = tune_relative_prio(plan->site);
	if (isnan(prio->kmin_ratio))
		return "relative ECN: find out the shares in force, then double the one where "
		       "marking begins, at most to half of the quota";
	return arena_printf(a,
		"relative ECN: mark later by shares, not by bytes: begin at %.0f %% of the quota "
		"(now %s)",
		100 * fmin(0.5, fmax(0.01, 2 * prio->kmin_ratio)), share_text(a, prio->kmin_ratio));
}

/* ---- the offer ------------------------------------------------------------ */

/* Is @version ("5.17.1", "Cumulus Linux 5.17.1") at least @since ("5.17")? -1: it has no number. */
static int version_reaches(const char *version, const char *since)
{
	version += strcspn(version, "0123456789");
	if (!*version)
		return -1;
	while (*since) {
		char *after, *since_after;
		const unsigned long have = strtoul(version, &after, 10);
		const unsigned long need = strtoul(since, &since_after, 10);
		if (have != need)
			return have > need;
		version = *after == '.' ? after + 1 : "0";
		since = *since_after == '.' ? since_after + 1 : "";
	}
	return 1;
}

/* 1 the chip is one of those that can, 0 it is another, -1 not known. */
static int asic_can(const struct tune_platform *platform, const struct tune_relative *relative)
{
	if (!platform->asic || !relative->n_asics)
		return -1;
	for (size_t i = 0; i < relative->n_asics; i++)
		if (str_glob(relative->asics[i], platform->asic->name))
			return 1;
	return 0;
}

static const char *with_priority(struct arena *a, const char *text, int priority)
{
	static const char word[] = "{priority}";
	const char *out = "", *at;
	while ((at = strstr(text, word))) {
		out = arena_printf(a, "%s%.*s%d", out, (int)(at - text), text, priority);
		text = at + sizeof(word) - 1;
	}
	return arena_printf(a, "%s%s", out, text);
}

const char *tune_relative_offer(const struct tune_plan *plan)
{
	struct arena *a = plan->c->in->arena;
	const struct tune_platform *platform = plan->platform;
	const struct tune_relative *relative = NULL;
	if (platform->profile)
		relative = &platform->profile->relative_ecn;
	if (!relative || !relative->text || asic_can(platform, relative) == 0)
		return NULL;
	int reaches = -1;
	if (platform->version)
		reaches = version_reaches(platform->version, relative->since);
	const char *condition = "";
	if (reaches == 0)
		condition = arena_printf(a, " (from version %s on; this switch runs %s)",
			relative->since, platform->version);
	else if (reaches < 0)
		condition = arena_printf(a, " (from version %s on)", relative->since);
	if (asic_can(platform, relative) < 0)
		condition = arena_printf(a, "%s (%s)", condition, relative->where);
	return arena_printf(a,
		"instead of bytes, this platform can take shares of the queue's quota (relative "
		"ECN)%s, so that marks come before PFC whatever the pool holds: %s. %s",
		condition, with_priority(a, relative->text, plan->site->priority),
		relative->caveat);
}
