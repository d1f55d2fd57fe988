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
 * of the same kind moved meanwhile (optic_trend.h). It shows a failing laser or a bent fibre long
 * before the absolute limits do.
 */
#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"
#include "analyzers/detect/link_health.h"

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
