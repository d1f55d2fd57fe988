/*
 * link_health - links that are slow, lossy or failing, and hosts that miss one of their links. One
 * finding per link and window, at its near end (links.h). Each test is a file of its own.
 */
#include "analyzers/detect/link_health.h"

#include "base/stats.h"
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

/* ---- link_slow ------------------------------------------------------------- */

/*
 * link_slow - a link that came up below its class (analyzers/measure/link_class): below the
 * declared speed, else below the speed of most of its siblings. One link of a job at 100G instead
 * of 400G costs about a quarter of the job's throughput. Where one sibling alone differs, the
 * confidence is lower.
 */

#define HOT 0.8 /* utilisation above which the link is the bottleneck now */
/* or this much, and HOT_FACTOR times the links of its kind: it is full in every burst while they
 * wait */
#define HOT_BURST 0.25
#define HOT_FACTOR 1.5

static double link_slow_hottest(const struct link *link, uint64_t speed)
{
	double rate = 0;
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(link, e);
		if (p && p->out_known)
			rate = fmax(rate, p->out.rate_bps);
		if (p && p->in_known)
			rate = fmax(rate, p->in.rate_bps);
	}
	return rate / (double)speed;
}

static bool link_slow_bottleneck(const struct link_test_in *in, double hot)
{
	return hot > HOT ||
		(hot > HOT_BURST &&
			hot > HOT_FACTOR * link_median(in->links, in->link, port_load, 2));
}

/* At the first of them, once. */
static bool link_slow_find_classes(
	const struct link_test_in *in, const struct link_class *class, struct link_fault *ret)
{
	if (class->first != in->link)
		return false;
	*ret = (struct link_fault){.cause = CAUSE_LINK_SLOW,
		.at = in->link->near,
		.own = (double)class->own_bps,
		.like = (double)class->faster_bps,
		.detail = LINK_TWO_CLASSES,
		.count = class->n_own,
		.others = class->n_faster,
		.state = true,
		.value = 1 - (double)class->own_bps / (double)class->faster_bps,
		.warn = 0.01,
		.severity = SEV_INFO,
		.confidence = 0.5};
	return true;
}

static bool link_slow_find(const struct link_test_in *in, struct link_fault *ret)
{
	struct link_class class;
	if (!link_class(in->links, in->link, &class))
		return false;
	if (class.by == LINK_TWO_CLASSES)
		return link_slow_find_classes(in, &class, ret);
	const uint64_t own = class.own_bps;
	if (own >= class.should_bps)
		return false;
	*ret = (struct link_fault){.cause = CAUSE_LINK_SLOW,
		.at = in->link->near,
		.own = (double)own,
		.like = (double)class.should_bps,
		.detail = (int)class.by,
		.count = class.n_siblings,
		.state = true,
		.value = 1 - (double)own / (double)class.should_bps,
		.warn = 0.01,
		.severity = SEV_WARNING,
		.confidence = 0.8};
	if (link_slow_bottleneck(in, link_slow_hottest(in->link, own)))
		ret->severity = SEV_CRITICAL;
	if (class.by == LINK_BY_DECLARED)
		ret->confidence = 0.95;
	else if (class.by == LINK_BY_PAIR)
		ret->confidence = 0.6;
	else if (class.n_siblings >= 3)
		ret->confidence = 0.9;
	return true;
}

static void link_slow_describe_classes(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	const char *kind = "links between switches";
	if (in->link->kind == LINK_HOST)
		kind = "links to hosts";
	const char *own = bitrate_text(fault->own, draft->a);
	draft->f->summary = arena_printf(draft->a,
		"%llu %s run at %s and %llu at %s, and no speed is declared for them: two "
		"classes, or links that came up slow",
		(unsigned long long)fault->count, kind, own, (unsigned long long)fault->others,
		bitrate_text(fault->like, draft->a));
	finding_evidence(
		draft, "port.speed_bps", fault->at, PRIO_NONE, fault->own, "bit/s", QUALITY_EXACT);
	finding_evidence(draft, "links.same_speed", fault->at, PRIO_NONE, (double)fault->count, "-",
		QUALITY_EXACT);
	finding_evidence(draft, "links.faster", fault->at, PRIO_NONE, (double)fault->others, "-",
		QUALITY_EXACT);
	finding_rests_on(draft, "speed read from the devices; none is declared in links");
	finding_against(draft, "so many links at one speed are more often a class than a fault");
	finding_steps(draft, draft->f->cause, FACT_TWO_CLASSES);
}

static void link_slow_describe(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	static const char *const who[] = {[LINK_BY_DECLARED] = "the speed declared for it",
		[LINK_BY_SIBLINGS] = "the speed of its siblings",
		[LINK_BY_PAIR] = "the speed of the other link"};
	if (fault->detail == LINK_TWO_CLASSES) {
		link_slow_describe_classes(in, fault, draft);
		return;
	}
	const double hot = link_slow_hottest(in->link, (uint64_t)fault->own);
	draft->f->summary = arena_printf(draft->a, "%s to %s runs at %s; %s is %s%s",
		port_text(fault->at, draft->a), far_end_text(fault->at, draft->a),
		bitrate_text(fault->own, draft->a), who[fault->detail],
		bitrate_text(fault->like, draft->a),
		str_if(link_slow_bottleneck(in, hot), "; it is the bottleneck now"));
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(in->link, e);
		if (p && p->out.read_bps)
			finding_evidence(draft, "port.speed_bps", p, PRIO_NONE,
				(double)p->out.read_bps, "bit/s", QUALITY_EXACT);
	}
	if (fault->detail == LINK_BY_DECLARED)
		finding_evidence(draft, "link.declared_bps", fault->at, PRIO_NONE, fault->like,
			"bit/s", QUALITY_EXACT);
	finding_evidence(
		draft, "port.utilization_ratio", fault->at, PRIO_NONE, hot, "ratio", QUALITY_EXACT);
	if (fault->detail == LINK_BY_DECLARED)
		finding_rests_on(draft,
			"speed read from the device, compared with the speed declared in links");
	else
		finding_rests_on(draft,
			"speed read from the device, compared with %llu links of the same kind; "
			"none is declared",
			(unsigned long long)fault->count);
	finding_add_role(draft, "culprit", "%s",
		in->link->near->port->host ? in->link->near->port->host
					   : port_text(fault->at, draft->a));
	finding_steps(draft, draft->f->cause, FACT_ONE_SLOW);
}

const struct link_test link_test_slow = {link_slow_find, link_slow_describe};

/* ---- link_optic ------------------------------------------------------------ */

/*
 * link_optic - an optic or cable that goes bad while FEC still repairs the bit errors: bit errors
 * before FEC, and received light.
 *
 * Bit error ratio: as the device states it, else at least one bit error for each corrected codeword
 * (a lower bound). RS(544,514) repairs up to about 2.4e-4 (IEEE 802.3bs), so above `ber` (1e-5) a
 * link has lost its margin, unless links of the same kind run as badly (copper does). A ratio two
 * decades above their median and above BER_FLOOR is on its way there. Light: `rx_power_drop` below
 * the median of links of the same kind, or below `rx_power_min` where there is none to compare
 * with.
 *
 * Trend: light that fell by `rx_power_fall` against the port's own past, or a bit error ratio that
 * rose by `ber_rise`, by more than six standard deviations of its own noise, and beyond what links
 * of the same kind moved meanwhile (links.h). It shows a failing laser or a bent fibre long
 * before the absolute limits do.
 */

#define BER_FLOOR 1e-6
/* where bit errors estimated from corrected codewords: a lower bound */
#define BER_FLOOR_COUNTED 1e-7
/* where a link's speed is not known; it matters little, since links are compared * with each other
 */
#define SPEED_BPS 4e11
/* a decade under what FEC can repair: reported whatever links of the same kind do */
#define BER_LOST 5e-5
#define BER_FACTOR 100
#define LIKE_FACTOR 10
#define BER_RISEN                                                                                  \
	1e-8 /* below it a rise has no weight yet: four decades under what FEC repairs             \
	      */
#define RARE 6.0 /* standard deviations; looked at in every window of every port, for months */
#define LIKE_MIN 2 /* links of the same kind that show what moves them all (temperature) */

enum { SHOWS_BER, SHOWS_LIGHT, SHOWS_FALL, SHOWS_RISE };

static double ber_of(const struct port_seen *port)
{
	if (!isnan(port->pre_fec_ber))
		return port->pre_fec_ber;
	const double speed_bps =
		(double)(port->in.read_bps ? port->in.read_bps : port->in.declared_bps);
	if (port->fec_corrected.known && port->fec_corrected.alive)
		return amount_rate(&port->fec_corrected) / (speed_bps > 0 ? speed_bps : SPEED_BPS);
	return NAN;
}

static double light_of(const struct port_seen *port)
{
	if (port->rx_power_dbm > NO_LIGHT_DBM && !port_is_down(port))
		return port->rx_power_dbm;
	return NAN;
}

static bool bad_ber(
	double ber, double like, bool counted, const struct link_health_options *options)
{
	return ber >= fmax(BER_LOST, options->ber) ||
		(ber >= options->ber && !(ber < LIKE_FACTOR * like)) ||
		(ber >= (counted ? BER_FLOOR_COUNTED : BER_FLOOR) && ber >= BER_FACTOR * like);
}

static bool bad_light(double dbm, double like, const struct link_health_options *options)
{
	if (isnan(like))
		return dbm < options->rx_power_min_dbm;
	return dbm < like - options->rx_power_drop_db;
}

/* What links of the same kind moved meanwhile, in the median; 0 where too few are known. */
static double link_optic_like_moved(const struct link_test_in *in, bool light)
{
	double *moved = arena_array(in->in->arena, double, 2 * in->links->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < in->links->n; i++) {
		const struct link *other = &in->links->v[i];
		for (int e = 0; e < 2 && other != in->link && link_alike(other, in->link); e++) {
			const struct optic_trend *trend = &in->trends[i][e].ber;
			if (light)
				trend = &in->trends[i][e].light;
			if (trend->known)
				moved[n++] = trend->moved;
		}
	}
	if (n < LIKE_MIN)
		return 0;
	return stats_median(moved, n);
}

/* How far a trend goes, as a multiple of its limit; 0: it is none. */
static double link_optic_trend(
	const struct link_test_in *in, const struct optic_trend *trend, double limit, bool light)
{
	const double least = fmax(limit, RARE * trend->spread);
	if (!trend->known || !trend->beyond || trend->moved < least)
		return 0;
	const double beyond = trend->moved - fmax(0, link_optic_like_moved(in, light));
	if (beyond < least)
		return 0;
	return beyond / limit;
}

/* One end of the link against links of the same kind. Returns how strongly it shows; 0: it does
 * not. */
static double link_optic_limits(
	const struct link_test_in *in, const struct port_seen *p, struct link_fault *ret)
{
	const double ber = ber_of(p), ber_like = link_median(in->links, in->link, ber_of, 2);
	const double light = light_of(p),
		     light_like = link_median(in->links, in->link, light_of, 2);
	const bool errs = bad_ber(ber, ber_like, isnan(p->pre_fec_ber), in->o),
		   dark = bad_light(light, light_like, in->o);
	*ret = (struct link_fault){.cause = CAUSE_OPTIC_DEGRADING,
		.at = p,
		.detail = SHOWS_LIGHT,
		.own = light,
		.like = light_like,
		.value = light,
		.warn = NAN,
		.severity = SEV_INFO,
		.confidence = 0.6};
	if (errs) {
		ret->detail = SHOWS_BER;
		ret->own = ret->value = ber;
		ret->like = ber_like;
		ret->warn = in->o->ber;
		ret->confidence = 0.8;
		if (dark || ber >= in->o->ber)
			ret->severity = SEV_WARNING;
	}
	if (errs && dark)
		ret->confidence = 0.9;
	/* bit errors come before light: a missing dB weighs a thousandth */
	if (errs)
		return ber / in->o->ber;
	if (dark && isnan(light_like))
		return (in->o->rx_power_min_dbm - light) / 1e3;
	if (dark)
		return (light_like - light) / 1e3;
	return 0;
}

/* One end against its own past. */
static double link_optic_own_past(const struct link_test_in *in, int end, struct link_fault *ret)
{
	const struct link_trend *trend = &in->trends[in->link - in->links->v][end];
	const double fall = link_optic_trend(in, &trend->light, in->o->light_fall_db, true);
	double rise = link_optic_trend(in, &trend->ber, in->o->ber_rise_decades, false);
	if (trend->ber.now < log10(BER_RISEN))
		rise = 0;
	if (fall <= 0 && rise <= 0)
		return 0;
	*ret = (struct link_fault){.cause = CAUSE_OPTIC_DEGRADING,
		.at = link_end(in->link, end),
		.detail = SHOWS_FALL,
		.own = trend->light.now,
		.like = trend->light.before,
		.value = trend->light.moved,
		.warn = in->o->light_fall_db,
		.severity = SEV_INFO,
		.state = true,
		.confidence = 0.7};
	if (rise > fall) {
		ret->detail = SHOWS_RISE;
		ret->own = trend->ber.now;
		ret->like = trend->ber.before;
		ret->value = trend->ber.moved;
		ret->warn = in->o->ber_rise_decades;
	}
	if (fall > 0 && rise > 0)
		ret->confidence = 0.85;
	/* a limit that is passed comes before a trend */
	return fmax(fall, rise) / 1e9;
}

/* The stronger sign of the two ends. */
static bool link_optic_find(const struct link_test_in *in, struct link_fault *ret)
{
	double worst = 0;
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(in->link, e);
		if (!p || port_is_down(p))
			continue;
		struct link_fault fault;
		double strength = link_optic_limits(in, p, &fault);
		if (strength <= 0)
			strength = link_optic_own_past(in, e, &fault);
		if (strength <= worst)
			continue;
		worst = strength;
		*ret = fault;
	}
	return worst > 0;
}

static void link_optic_prove(const struct link *link, struct draft *draft)
{
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(link, e);
		if (!p)
			continue;
		finding_evidence(draft, "port.pre_fec_ber", p, PRIO_NONE, ber_of(p), "ratio",
			isnan(p->pre_fec_ber) ? QUALITY_ESTIMATED : QUALITY_EXACT);
		finding_evidence(draft, "optic.rx_power_dbm", p, PRIO_NONE, p->rx_power_dbm, "dBm",
			QUALITY_EXACT);
		finding_evidence(draft, "optic.tx_power_dbm", p, PRIO_NONE, p->tx_power_dbm, "dBm",
			QUALITY_EXACT);
		finding_evidence(draft, "optic.temperature_c", p, PRIO_NONE, p->temperature_c, "C",
			QUALITY_EXACT);
		finding_amount(
			draft, "port.fec_corrected", p, PRIO_NONE, &p->fec_corrected, "codewords");
	}
}

static const char *link_optic_trend_text(const struct link_test_in *in,
	const struct link_fault *fault, const char *from, struct arena *a)
{
	const char *at = port_text(fault->at, a);
	const int end = fault->at == in->link->far;
	const struct link_trend *trend = &in->trends[in->link - in->links->v][end];
	if (fault->detail == SHOWS_RISE)
		return arena_printf(a,
			"%s: bit error ratio before FEC from %s rose from %.1e to %.1e, by %.2g "
			"decades an hour now: optic or cable is going bad; no frame is lost yet",
			at, from, pow(10, fault->like), pow(10, fault->own),
			trend->ber.slope_per_h);
	return arena_printf(a,
		"%s: light from %s fell from %.1f to %.1f dBm, by %.2g dB an hour now: laser, "
		"fibre "
		"or connector is going bad; no frame is lost yet",
		at, from, fault->like, fault->own, -trend->light.slope_per_h);
}

static const char *link_optic_summary(const struct link_test_in *in, const struct link_fault *fault,
	const char *from, struct arena *a)
{
	const char *at = port_text(fault->at, a), *like = "";
	if (fault->detail == SHOWS_FALL || fault->detail == SHOWS_RISE)
		return link_optic_trend_text(in, fault, from, a);
	if (fault->detail == SHOWS_BER) {
		if (!isnan(fault->like))
			like = arena_printf(a, "; links of the same kind: %.1e", fault->like);
		return arena_printf(a,
			"%s: bit error ratio before FEC is %.1e from %s%s: optic or cable is going "
			"bad; no frame is lost yet",
			at, fault->own, from, like);
	}
	if (!isnan(fault->like))
		like = arena_printf(a, "; links of the same kind: %.1f dBm", fault->like);
	return arena_printf(
		a, "%s receives too little light: %.1f dBm from %s%s", at, fault->own, from, like);
}

static void link_optic_describe(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	const struct link *l = in->link;
	const struct port_seen *other = link_health_other_end(l, fault->at);
	const char *from;
	if (other)
		from = port_text(other, draft->a);
	else
		from = far_end_text(fault->at, draft->a);
	draft->f->summary = link_optic_summary(in, fault, from, draft->a);
	link_optic_prove(l, draft);
	if (fault->detail == SHOWS_BER && isnan(fault->at->pre_fec_ber))
		finding_against(
			draft, "bit errors estimated from corrected codewords: a lower bound");
	if (fault->detail == SHOWS_FALL || fault->detail == SHOWS_RISE)
		finding_rests_on(draft,
			"compared with its own past of %.0f s, less what links of the same kind "
			"moved meanwhile",
			(double)(in->in->past->to_ns - in->in->past->from_ns) / 1e9);
	else if (isnan(fault->like))
		finding_against(
			draft, "no link of the same kind to compare with: an absolute limit");
	else
		finding_rests_on(draft, "compared with the median of links of the same kind");
	finding_ruled_out(draft, "loss: no damaged frame was counted");
	finding_add_role(draft, "culprit", "%s", from);
	unsigned facts = 0;
	if (other && !isnan(other->tx_power_dbm))
		facts = FACT_SENT_POWER;
	finding_steps(draft, draft->f->cause, facts);
}

const struct link_test link_test_optic = {link_optic_find, link_optic_describe};

/* ---- link_errors ----------------------------------------------------------- */

/*
 * link_errors - frames damaged on the wire: bad FCS, receive errors, FEC codewords that could not
 * be repaired. The receiving end counts them.
 *
 * A link is bad from `errors` a second, at least ERRORS_MIN in the window, and LIKE_FACTOR times
 * the median of links of the same kind: what all links count is how the platform counts. Symbol
 * errors are normal before FEC; alone they count only far above the median. Where the neighbour
 * counts that it sent the frames damaged (port.out_errors: a cut-through switch forwards them), the
 * fault is upstream and this link is not blamed.
 *
 * Source: measured in packet simulation: a bad cable shows receive errors on both ends of one link,
 * and drops without a high watermark.
 */

#define ERRORS_MIN 2
#define SYMBOL_FACTOR 100
#define SYMBOL_ALONE 100.0 /* a second, where there is no link to compare with */

static double per_second(const struct amount *amount)
{
	if (amount->known)
		return amount_rate(amount);
	return NAN;
}

/* Frames (or codewords) lost a second; the counters overlap, so the largest stands for all. NAN
 * when none is known. */
static double bad_rate(const struct port_seen *port)
{
	return fmax(fmax(per_second(&port->fcs_errors), per_second(&port->in_errors)),
		per_second(&port->fec_uncorrectable));
}
static double bad_count(const struct port_seen *port)
{
	return fmax(
		fmax(port->fcs_errors.value, port->in_errors.value), port->fec_uncorrectable.value);
}
static double symbol_rate(const struct port_seen *port)
{
	return per_second(&port->symbol_errors);
}

/* Share of the frames that came in; NAN without a packet counter. */
static double bad_share(const struct port_seen *port)
{
	double good = NAN;
	if (port->in_packets.known)
		good = port->in_packets.value;
	const double bad = bad_count(port);
	if (good + bad > 0)
		return bad / (good + bad);
	return NAN;
}

static bool link_errors_oversized(const struct link *link, const struct port_seen *port)
{
	return link->far && link->near->mtu_bytes != link->far->mtu_bytes &&
		!isnan(link->near->mtu_bytes + link->far->mtu_bytes) && port->fcs_errors.known &&
		!port->fcs_errors.value;
}

static bool passed_on(const struct link *link, const struct port_seen *port)
{
	const struct port_seen *sender;
	if (port == link->near)
		sender = link->far;
	else
		sender = link->near;
	return sender && sender->out_errors.known &&
		sender->out_errors.value >= bad_count(port) / 2 && sender->out_errors.value > 0;
}

/* Symbol errors a second from which a link is bad; @like: median of links of its kind, NAN none. */
static double symbol_limit(const struct link_health_options *options, double like)
{
	if (isnan(like))
		return SYMBOL_ALONE;
	return fmax(options->errors_per_s * LIKE_FACTOR, SYMBOL_FACTOR * like);
}

static bool link_errors_find(const struct link_test_in *in, struct link_fault *ret)
{
	double worst = 0;
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(in->link, e);
		if (!p || link_errors_oversized(in->link, p) || passed_on(in->link, p))
			continue;
		double rate = bad_rate(p), like = link_median(in->links, in->link, bad_rate, 2);
		bool symbols = false;
		if (!(rate >= in->o->errors_per_s && bad_count(p) >= ERRORS_MIN &&
			    !(rate < LIKE_FACTOR * like))) {
			rate = symbol_rate(p);
			like = link_median(in->links, in->link, symbol_rate, 2);
			symbols = rate >= symbol_limit(in->o, like);
			if (!symbols)
				continue;
		}
		if (rate <= worst)
			continue;
		worst = rate;
		double share = NAN;
		if (!symbols)
			share = bad_share(p);
		*ret = (struct link_fault){.cause = CAUSE_LINK_ERRORS,
			.at = p,
			.own = rate,
			.like = like,
			.detail = symbols,
			.value = rate,
			.warn = in->o->errors_per_s,
			.severity = SEV_WARNING,
			.confidence = 0.95};
		if (symbols && like == 0) {
			ret->confidence = 0.7;
		} else if (symbols) {
			ret->severity = SEV_INFO;
			ret->confidence = 0.5;
		} else {
			if (share >= in->o->errors_critical)
				ret->severity = SEV_CRITICAL;
			if (isnan(like))
				ret->confidence = 0.85;
		}
	}
	return worst > 0;
}

static const char *link_errors_sender_of(
	const struct link *link, const struct port_seen *at, struct arena *a)
{
	const struct port_seen *other;
	if (at == link->near)
		other = link->far;
	else
		other = link->near;
	if (other)
		return port_text(other, a);
	return far_end_text(at, a);
}

static void link_errors_prove(const struct link *link, struct draft *draft)
{
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(link, e);
		if (!p)
			continue;
		finding_amount(draft, "port.fcs_errors", p, PRIO_NONE, &p->fcs_errors, "frames");
		finding_amount(draft, "port.in_errors", p, PRIO_NONE, &p->in_errors, "frames");
		finding_amount(draft, "port.fec_uncorrectable", p, PRIO_NONE, &p->fec_uncorrectable,
			"codewords");
		finding_amount(
			draft, "port.symbol_errors", p, PRIO_NONE, &p->symbol_errors, "symbols");
		finding_evidence(draft, "port.pre_fec_ber", p, PRIO_NONE, p->pre_fec_ber, "ratio",
			QUALITY_EXACT);
		finding_evidence(draft, "optic.rx_power_dbm", p, PRIO_NONE, p->rx_power_dbm, "dBm",
			QUALITY_EXACT);
	}
}

static void link_errors_describe(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	const struct link *l = in->link;
	const struct port_seen *other = link_health_other_end(l, fault->at);
	const bool both = other && bad_rate(other) >= in->o->errors_per_s;
	const double share = bad_share(fault->at);
	const char *sender = link_errors_sender_of(l, fault->at, draft->a);
	const char *part = "", *suspect = "cable";
	if (!isnan(share))
		part = arena_printf(draft->a, " (%.2g of all)", share);
	if (!both)
		suspect = arena_printf(draft->a, "transmitter or optic of %s, or the fibre to %s",
			sender, port_text(fault->at, draft->a));
	if (fault->detail)
		draft->f->summary = arena_printf(draft->a,
			"%s receives %s symbol errors a second from %s; median of links of the "
			"same kind: %s",
			port_text(fault->at, draft->a), number_scaled(fault->own, "").s, sender,
			number_scaled(fault->like, "").s);
	else
		draft->f->summary = arena_printf(draft->a,
			"%s receives %s damaged frames a second from %s%s%s; suspect the %s",
			port_text(fault->at, draft->a), number_scaled(fault->own, "").s, sender,
			part, str_if(both, ", and so does the other end"), suspect);
	link_errors_prove(l, draft);
	finding_evidence(
		draft, "port.bad_frame_ratio", fault->at, PRIO_NONE, share, "ratio", QUALITY_EXACT);
	if (isnan(fault->like)) {
		finding_rests_on(draft, "error counters of the receiving end");
		finding_against(draft, "too few links of the same kind to compare with");
	} else {
		finding_rests_on(draft,
			"error counters of the receiving end, compared with links of the same "
			"kind");
	}
	if (fault->at->in_discards.known && !fault->at->in_discards.value)
		finding_ruled_out(draft,
			"congestion: %s discarded nothing; the frames arrived damaged",
			port_text(fault->at, draft->a));
	finding_add_role(draft, "culprit", "%s", sender);
	finding_add_role(draft, "direct_victim", "%s", port_text(fault->at, draft->a));
	finding_steps(draft, draft->f->cause, 0);
}

const struct link_test link_test_errors = {link_errors_find, link_errors_describe};
