/* metrics_fabric - families about the fabric: its state, golden signals, incidents, money, paused
 * ports, ECMP groups and jobs. */

#include "agent/exporter/metrics_page.h"
#include "db/model/cause.h"
#include "db/model/golden.h"

#define JOB_LABEL "training_job" /* job is Prometheus' own: the name of the scrape */

static void metrics_emit_state(struct metrics_page *page)
{
	static const char *const names[] = {"ok", "warning", "critical", "unknown"};
	metrics_put_states(page, NULL, "state", names, rw_countof(names),
		golden_state_name(page->frame->status.state));
}

/* ---- golden signals ------------------------------------------------------------ */

static void metrics_put_signals(struct metrics_page *page)
{
	if (metrics_is_stale(page))
		return;
	for (size_t i = 0; i < page->frame->n_signals; i++) {
		const struct watch_signal *row = &page->frame->signals[i];
		const struct metrics_label labels[] = {
			{"signal", row->name}, {"unit", row->unit}, {NULL, NULL}};
		metrics_put(page, labels, metrics_member(row, page->family->at));
	}
}

static void metrics_emit_signal_state(struct metrics_page *page)
{
	static const char *const names[] = {"ok", "warning", "critical", "unknown", "idle"};
	for (size_t i = 0; i < page->frame->n_signals; i++) {
		const struct watch_signal *row = &page->frame->signals[i];
		const struct metrics_label labels[] = {{"signal", row->name}, {NULL, NULL}};
		metrics_put_states(page, labels, "state", names, rw_countof(names),
			golden_state_name(row->state));
	}
}

/* ---- incidents ------------------------------------------------------------------ */

static size_t metrics_count_incidents(
	const struct metrics_page *page, const char *cause, const char *severity)
{
	size_t n = 0;
	for (size_t i = 0; i < page->frame->n_incidents; i++) {
		const struct open_incident *row = &page->frame->incidents[i];
		n += str_eq(row->severity, severity) && (!cause || str_eq(row->cause, cause));
	}
	return n;
}

static void metrics_put_incidents(struct metrics_page *page, const char *cause)
{
	for (unsigned s = SEV_INFO; s <= SEV_CRITICAL; s++) {
		const char *severity = severity_name(s);
		const struct metrics_label labels[] = {
			{"cause", cause}, {"severity", severity}, {NULL, NULL}};
		metrics_put(page, labels, (double)metrics_count_incidents(page, cause, severity));
	}
}

static void metrics_emit_incident_open(struct metrics_page *page)
{
	metrics_put_incidents(page, NULL);
}

static void metrics_emit_cause(struct metrics_page *page)
{
	for (unsigned cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++)
		if (!cause_has(cause, CAUSE_IS_PLANNED))
			metrics_put_incidents(page, cause_name(cause));
}

/* The rows are sorted by money, then severity: the first are the ones to keep. */
static size_t metrics_incidents_shown(struct metrics_page *page)
{
	const size_t n = page->frame->n_incidents;
	if (n <= page->options.top)
		return n;
	metrics_cut(page, n - page->options.top);
	return page->options.top;
}

static const char *metrics_word_or_null(const char *word)
{
	if (word && *word)
		return word;
	return NULL;
}

static void metrics_emit_incident_info(struct metrics_page *page)
{
	const size_t n = metrics_incidents_shown(page);
	for (size_t i = 0; i < n; i++) {
		const struct open_incident *row = &page->frame->incidents[i];
		const struct metrics_label labels[] = {{"id", str_or(row->id, "")},
			{"cause", str_or(row->cause, "")}, {"severity", str_or(row->severity, "")},
			{"device", metrics_word_or_null(row->device)},
			{"port", metrics_word_or_null(row->port)},
			{"host", metrics_word_or_null(row->host)},
			{JOB_LABEL, metrics_word_or_null(row->job)},
			{"headline", str_or(row->headline, "")}, {NULL, NULL}};
		metrics_put(page, labels, 1);
	}
}

static void metrics_put_incident_numbers(struct metrics_page *page)
{
	const size_t n = metrics_incidents_shown(page);
	for (size_t i = 0; i < n; i++) {
		const struct open_incident *row = &page->frame->incidents[i];
		const struct metrics_label labels[] = {{"id", str_or(row->id, "")}, {NULL, NULL}};
		metrics_put(page, labels, metrics_member(row, page->family->at));
	}
}

static void metrics_emit_incident_acked(struct metrics_page *page)
{
	const size_t n = metrics_incidents_shown(page);
	for (size_t i = 0; i < n; i++) {
		const struct open_incident *row = &page->frame->incidents[i];
		const struct metrics_label labels[] = {{"id", str_or(row->id, "")}, {NULL, NULL}};
		metrics_put(page, labels, row->acked_by && *row->acked_by);
	}
}

static void metrics_put_money(struct metrics_page *page)
{
	metrics_put(page, NULL, metrics_member(&page->frame->status.money, page->family->at));
}

/* ---- paused ports ---------------------------------------------------------------- */

static void metrics_put_pause(struct metrics_page *page, bool low)
{
	const struct golden_measured *measured = &page->now->measured;
	size_t shown = measured->n_paused;
	if (metrics_is_stale(page))
		return;
	if (shown > page->options.top)
		shown = page->options.top;
	for (size_t i = 0; i < shown; i++) {
		const struct golden_paused *paused = &measured->paused[i];
		char priority[12];
		snprintf(priority, sizeof(priority), "%d", paused->priority);
		const struct metrics_label labels[] = {{"device", paused->device},
			{"port", paused->port}, {"priority", priority},
			{"dir", paused->sent ? "tx" : "rx"}, {"peer", paused->peer},
			{"role", golden_role_name(paused->role)},
			{"quality", paused->bound ? "bound" : "exact"}, {NULL, NULL}};
		metrics_put(page, labels, low ? paused->ratio_low : paused->ratio);
	}
	metrics_cut(page, measured->n_paused_all - shown);
}

static void metrics_emit_pause(struct metrics_page *page)
{
	metrics_put_pause(page, false);
}

static void metrics_emit_pause_low(struct metrics_page *page)
{
	metrics_put_pause(page, true);
}

static void metrics_emit_paused_ports(struct metrics_page *page)
{
	if (!metrics_is_stale(page))
		metrics_put(page, NULL, (double)page->now->measured.n_paused_all);
}

/* ---- ECMP ------------------------------------------------------------------------ */

static int metrics_by_imbalance(const void *left, const void *right)
{
	const struct ecmp_measure *const *x = left, *const *y = right;
	const double u = (*x)->imbalance_ratio, v = (*y)->imbalance_ratio;
	if (u != v)
		return (v > u) - (v < u);
	return (*x > *y) - (*x < *y); /* one array: the fabric's order */
}

/* Groups with a known imbalance, the worst first. */
static size_t metrics_sort_groups(struct metrics_page *page, const struct ecmp_measure ***ret)
{
	const struct watch_now *now = page->now;
	const struct ecmp_measure **sorted =
		arena_array(page->arena, const struct ecmp_measure *, now->n_groups + 1);
	size_t n = 0;
	for (size_t i = 0; i < now->n_groups; i++)
		if (isfinite(now->groups[i].imbalance_ratio))
			sorted[n++] = &now->groups[i];
	qsort(sorted, n, sizeof(*sorted), metrics_by_imbalance);
	*ret = sorted;
	if (n <= page->options.top)
		return n;
	metrics_cut(page, n - page->options.top);
	return page->options.top;
}

static void metrics_put_groups(struct metrics_page *page)
{
	const struct ecmp_measure **groups;
	if (metrics_is_stale(page))
		return;
	const size_t n = metrics_sort_groups(page, &groups);
	for (size_t i = 0; i < n; i++) {
		const struct metrics_label labels[] = {
			{"device", groups[i]->device}, {"group", groups[i]->group}, {NULL, NULL}};
		metrics_put(page, labels, metrics_member(groups[i], page->family->at));
	}
}

/* ---- jobs ------------------------------------------------------------------------ */

static void metrics_put_jobs(struct metrics_page *page)
{
	for (size_t i = 0; i < page->frame->n_jobs; i++) {
		const struct watch_job *row = &page->frame->jobs[i];
		const struct metrics_label labels[] = {{JOB_LABEL, row->job}, {NULL, NULL}};
		metrics_put(page, labels, metrics_member(row, page->family->at));
	}
}

static void metrics_emit_job_state(struct metrics_page *page)
{
	static const char *const names[] = {"running", "stopped", "unknown"};
	for (size_t i = 0; i < page->frame->n_jobs; i++) {
		const struct watch_job *row = &page->frame->jobs[i];
		const struct metrics_label labels[] = {{JOB_LABEL, row->job}, {NULL, NULL}};
		metrics_put_states(page, labels, "state", names, rw_countof(names),
			watch_job_word(row->state));
	}
}

#define FRAME "`signals` of `rocewatch watch`"
#define INCIDENTS "open incidents (`rocewatch incident list`)"
#define PAUSED "pause graph (`rocewatch pause ports`)"
#define GROUPS "ECMP groups (`rocewatch ecmp groups`)"
#define JOBS "throughput of each job (`rocewatch steps`)"

static const struct metrics_family rows[] = {
	{"rocewatch_fabric_state", METRICS_GAUGE, "", "state",
		"1 for the state that holds: ok, warning, critical, unknown",
		"`state` of `rocewatch watch`", metrics_emit_state},
	{"rocewatch_signal", METRICS_GAUGE, "", "signal, unit",
		"Golden signal; an upper bound where only a bound is known", FRAME,
		metrics_put_signals, .at = offsetof(struct watch_signal, value)},
	{"rocewatch_signal_low", METRICS_GAUGE, "", "signal, unit",
		"Lower bound of the golden signal; equal to rocewatch_signal where it is measured",
		FRAME, metrics_put_signals, .at = offsetof(struct watch_signal, value_low)},
	{"rocewatch_signal_baseline", METRICS_GAUGE, "", "signal, unit",
		"Median of the golden signal over the last day", FRAME, metrics_put_signals,
		.at = offsetof(struct watch_signal, baseline)},
	{"rocewatch_signal_state", METRICS_GAUGE, "", "signal, state",
		"1 for the state that holds: ok, warning, critical, unknown, idle", FRAME,
		metrics_emit_signal_state},
	{"rocewatch_incident_open", METRICS_GAUGE, "", "severity", "Open incidents by severity",
		INCIDENTS, metrics_emit_incident_open},
	{"rocewatch_incidents", METRICS_GAUGE, "", "cause, severity",
		"Open incidents by cause and severity", INCIDENTS, metrics_emit_cause},
	{"rocewatch_incident", METRICS_INFO, "",
		"id, cause, severity, device, port, host, " JOB_LABEL ", headline",
		"What an open incident is about; the first N by money", INCIDENTS,
		metrics_emit_incident_info},
	{"rocewatch_incident_age_seconds", METRICS_GAUGE, "seconds", "id",
		"Time since the incident opened", INCIDENTS, metrics_put_incident_numbers,
		.at = offsetof(struct open_incident, age_s)},
	{"rocewatch_incident_cost_usd_per_hour", METRICS_GAUGE, "", "id",
		"What the incident costs, in USD per hour", INCIDENTS, metrics_put_incident_numbers,
		.at = offsetof(struct open_incident, usd_per_hour)},
	{"rocewatch_incident_acknowledged", METRICS_GAUGE, "", "id",
		"1 when somebody acknowledged the incident", INCIDENTS,
		metrics_emit_incident_acked},
	{"rocewatch_cost_usd_per_hour", METRICS_GAUGE, "", "",
		"What all open incidents cost, in USD per hour; none is counted twice", INCIDENTS,
		metrics_put_money, .at = offsetof(struct verdict_money, usd_per_hour)},
	{"rocewatch_cost_usd", METRICS_GAUGE, "", "",
		"What the open incidents have cost so far, in USD", INCIDENTS, metrics_put_money,
		.at = offsetof(struct verdict_money, usd_total)},
	{"rocewatch_pause_ratio", METRICS_GAUGE, "ratio",
		"device, port, priority, dir, peer, role, quality",
		"Share of time for which a port and priority may not send; an upper bound where "
		"quality is bound; the first N, origins first",
		PAUSED, metrics_emit_pause},
	{"rocewatch_pause_low_ratio", METRICS_GAUGE, "ratio",
		"device, port, priority, dir, peer, role, quality",
		"Lower bound of rocewatch_pause_ratio", PAUSED, metrics_emit_pause_low},
	{"rocewatch_paused_ports", METRICS_GAUGE, "", "",
		"Ports and priorities that were paused in the newest window", PAUSED,
		metrics_emit_paused_ports},
	{"rocewatch_ecmp_imbalance_ratio", METRICS_GAUGE, "ratio", "device, group",
		"Load of the hottest member of an ECMP group over the mean, minus 1; the first N",
		GROUPS, metrics_put_groups, .at = offsetof(struct ecmp_measure, imbalance_ratio)},
	{"rocewatch_ecmp_imbalance_expected_ratio", METRICS_GAUGE, "ratio", "device, group",
		"Imbalance that chance alone exceeds in 5 % of windows, for the flows seen", GROUPS,
		metrics_put_groups, .at = offsetof(struct ecmp_measure, expected_p95_ratio)},
	{"rocewatch_ecmp_load_ratio", METRICS_GAUGE, "ratio", "device, group",
		"Mean utilisation of the members of an ECMP group", GROUPS, metrics_put_groups,
		.at = offsetof(struct ecmp_measure, load_ratio)},
	{"rocewatch_job_state", METRICS_GAUGE, "", JOB_LABEL ", state",
		"1 for the state that holds: running, stopped, unknown", JOBS,
		metrics_emit_job_state},
	{"rocewatch_step_period_seconds", METRICS_GAUGE, "seconds", JOB_LABEL,
		"Time of a training step", JOBS, metrics_put_jobs,
		.at = offsetof(struct watch_job, step_s)},
	{"rocewatch_step_baseline_seconds", METRICS_GAUGE, "seconds", JOB_LABEL,
		"Usual time of a training step", JOBS, metrics_put_jobs,
		.at = offsetof(struct watch_job, step_base_s)},
	{"rocewatch_step_change_ratio", METRICS_GAUGE, "ratio", JOB_LABEL,
		"Change of the step time against the usual one; 0.06 is 6 % longer", JOBS,
		metrics_put_jobs, .at = offsetof(struct watch_job, change_ratio)},
	{"rocewatch_exchange_seconds", METRICS_GAUGE, "seconds", JOB_LABEL,
		"Time of a step in which the job's hosts exchange data", JOBS, metrics_put_jobs,
		.at = offsetof(struct watch_job, exchange_s)},
};

const struct metrics_group metrics_fabric_group = {rows, rw_countof(rows)};
