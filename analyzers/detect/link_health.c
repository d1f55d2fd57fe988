/*
 * link_health - links that are slow, lossy or failing, and hosts that miss one of their links. One
 * finding per link and window, at its near end (links.h). Each test is a file of its own.
 */
#include "analyzers/detect/link_health.h"

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

#define STATE_HOLD 2

static const struct option rows[] = {
	{"busy", OPT_RATIO, offsetof(struct link_health_options, busy), "3%", "0.1%", "100%", NULL,
		"mean utilisation from which a host's port counts as busy, when another's silence "
		"is judged by it"},
	{"errors", OPT_DOUBLE, offsetof(struct link_health_options, errors_per_s), "0.05", "0.0001",
		"1000000", NULL,
		"damaged frames a second from which a link is bad; each one makes a sender go back "
		"and send again"},
	{"errors_critical", OPT_RATIO, offsetof(struct link_health_options, errors_critical),
		"0.001%", "0%", "100%", NULL,
		"share of received frames that are damaged, from which the job feels it"},
	{"ber", OPT_DOUBLE, offsetof(struct link_health_options, ber), "0.00001", "0.000000000001",
		"1", NULL, "bit error ratio before FEC from which a link has lost its margin"},
	{"rx_power_drop", OPT_DOUBLE, offsetof(struct link_health_options, rx_power_drop_db), "3",
		"0.5", "30", NULL,
		"dB of received light below the median of links of the same kind"},
	{"rx_power_min", OPT_DOUBLE, offsetof(struct link_health_options, rx_power_min_dbm), "-10",
		"-40", "10", NULL,
		"dBm of received light that is too little where there is no link to compare with"},
	{"rx_power_fall", OPT_DOUBLE, offsetof(struct link_health_options, light_fall_db), "1",
		"0.2", "30", NULL,
		"dB of received light lost against the port's own past, beyond what links of the "
		"same kind lost; mating a connector again moves about half of it"},
	{"ber_rise", OPT_DOUBLE, offsetof(struct link_health_options, ber_rise_decades), "1", "0.3",
		"10", NULL,
		"decades that the bit error ratio before FEC rose against the port's own past"},
	{"window", OPT_DURATION, offsetof(struct link_health_options, window_ns), "0s", "0s", "1h",
		NULL, "evaluation window; 0 = three poll intervals, at least 5 s"},
	{"past", OPT_DURATION, offsetof(struct link_health_options, past_ns), "0s", "0s", "7d",
		NULL,
		"how long the past of light, bit errors and octets is; kept in memory for every "
		"port; 0 = "
		"sixty windows, at least 10 minutes"},
	{"hold", OPT_INT, offsetof(struct link_health_options, hold), "3", "1", "10000", NULL,
		"required windows, of the last hold + 2, before an incident opens"},
};

/* In this order; the first test that finds something reports it. */
static const struct link_test *const tests[] = {
	&link_test_missing_rail, &link_test_slow, &link_test_errors, &link_test_optic};

static void link_health_judge(const struct link_test_in *in, struct finding_list *out)
{
	struct link_fault fault = {0};
	analyzer_pause(in->in);
	const struct link_test *found = NULL;
	for (size_t i = 0; i < rw_countof(tests) && !found; i++)
		if (tests[i]->find(in, &fault))
			found = tests[i];
	if (!found && in->link->answered &&
		finding_is_clear(out, in->in, "link_health", in->link->near->port->device->name, 1))
		return;
	struct draft t = finding_new(out, in->in, "link_health",
		finding_verdict(found, in->link->answered), in->o->hold);
	finding_subject(&t, in->link->near);
	t.f->coverage_ratio = observed_coverage(in->link->near);
	t.f->cause = CAUSE_LINK_ERRORS;
	t.f->summary = "";
	if (!found)
		return;
	t.f->cause = fault.cause;
	t.f->proven = fault.proven || fault.state;
	if (fault.state && t.f->hold > STATE_HOLD)
		t.f->hold = STATE_HOLD;
	t.f->severity = fault.severity;
	t.f->value = fault.value;
	t.f->warn = fault.warn;
	t.f->confidence_ratio = fault.confidence;
	found->describe(in, &fault, &t);
}

static const uint16_t link_health_past[] = {
	M_PORT_PRE_FEC_BER, M_OPTIC_RX_POWER, M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS};

static struct link_trend link_health_trend(
	const struct analyzer_in *in, const struct port_seen *port)
{
	struct link_trend trend = {0};
	if (!in->past || !port || port->entity == ENTITY_NONE)
		return trend;
	/* the past has the same entities as the window */
	trend.light = optic_trend_of(in->past,
		window_series(in->past, port->entity, M_OPTIC_RX_POWER), -1, false, NO_LIGHT_DBM);
	trend.ber = optic_trend_of(
		in->past, window_series(in->past, port->entity, M_PORT_PRE_FEC_BER), 1, true, 0);
	return trend;
}

static int link_health_run(const struct analyzer_in *in, struct finding_list *out)
{
	struct links *links = links_seen(in);
	struct link_trend(*trends)[2] = arena_alloc(in->arena, sizeof(*trends) * (links->n + 1));
	for (size_t i = 0; i < links->n; i++)
		for (int e = 0; e < 2; e++)
			trends[i][e] = link_health_trend(in, link_end(&links->v[i], e));
	for (size_t i = 0; i < links->n; i++) {
		const struct link *l = &links->v[i];
		if (l->near->entity == ENTITY_NONE && (!l->far || l->far->entity == ENTITY_NONE))
			continue; /* nobody polls it */
		link_health_judge(&(struct link_test_in){.in = in,
					  .links = links,
					  .link = l,
					  .o = in->options,
					  .trends = (const struct link_trend(*)[2])trends},
			out);
	}
	return 0;
}

const struct analyzer analyzer_link_health = {
	.name = "link_health",
	.phase = 90,
	.doc = "links that are slow, lossy or about to fail, and hosts that miss one of theirs",
	.options = {"analyzers", "link_health", sizeof(struct link_health_options), rows,
		rw_countof(rows), "speed, errors, optics and silence of links"},
	.window_offset = offsetof(struct link_health_options, window_ns),
	.observes = true,
	.past_offset = offsetof(struct link_health_options, past_ns),
	.past = {.metrics = link_health_past, .n_metrics = rw_countof(link_health_past)},
	.run = link_health_run,
};
