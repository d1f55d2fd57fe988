/* manual_cause - rocewatch-causes(7) and rocewatch-metrics(7), by their tables. */
#include "agent/base/cleanup.h"
#include "agent/manual/manual.h"
#include "agent/manual/manual_page.h"
#include "db/model/cause.h"
#include "db/model/metric.h"

static void cause_item(struct str *out, const struct cause_info *info)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "%s. Needs: %s. Not proved by it: %s.", info->means, info->needs,
		info->not_proved);
	roff_item(out, info->name, text.s);
	for (size_t i = 0; i < CAUSE_STEPS_MAX && info->steps[i].text; i++) {
		rw_cleanup(str_done) struct str step = {0};
		str_addf(&step, "%zu. %s (risk: %s)\n", i + 1, info->steps[i].text,
			info->steps[i].risk);
		str_add(out, ".br\n");
		roff_text(out, step.s);
	}
}

void manual_causes(struct str *out)
{
	static const char *const see[] = {
		"rocewatch-incident(1)", "rocewatch-metrics(7)", "rocewatch.yaml(5)", NULL};
	roff_begin(out, "rocewatch-causes", 7, "causes that rocewatch names, and the next steps");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"An incident names one of these causes. Needs says which data it takes to see it: "
		"'rocewatch doctor' says for which causes a device cannot be judged.");
	roff_heading(out, "CAUSES");
	for (int cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
		const struct cause_info *info = cause_info((enum cause)cause);
		if (!(info->flags & CAUSE_IS_PLANNED))
			cause_item(out, info);
	}
	roff_see(out, see);
}

void manual_metrics(struct str *out)
{
	static const char *const see[] = {"rocewatch-query(1)", "rocewatch-db(5)", NULL};
	roff_begin(out, "rocewatch-metrics", 7, "metrics that rocewatch stores");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"Counters are stored as the switch counts them; 'rocewatch query METRIC --rate' "
		"shows their change per second. What a switch does not answer is absent, never 0.");
	roff_heading(out, "METRICS");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s of a %s, unit %s. %s", metric_kind_name(info->kind),
			metric_scope_name(info->scope), info->unit, info->help);
		roff_item(out, info->name, text.s);
	}
	roff_see(out, see);
}
