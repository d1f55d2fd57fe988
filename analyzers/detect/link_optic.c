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
 */
#include <math.h>

#include "agent/base/arena.h"
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
/* what devices report for a dark fibre: that link is down, not degrading */
#define NO_LIGHT_DBM -38

enum { SHOWS_BER, SHOWS_LIGHT };

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

static bool link_optic_find(const struct link_test_in *in, struct link_fault *ret)
{
	double worst = 0;
	for (int e = 0; e < 2; e++) {
		const struct port_seen *p = link_end(in->link, e);
		if (!p || port_is_down(p))
			continue;
		const double ber = ber_of(p),
			     ber_like = link_median(in->links, in->link, ber_of, 2);
		const double light = light_of(p),
			     light_like = link_median(in->links, in->link, light_of, 2);
		const bool errs = bad_ber(ber, ber_like, isnan(p->pre_fec_ber), in->o),
			   dark = bad_light(light, light_like, in->o);
		/* bit errors come before light: a missing dB weighs a thousandth */
		double strength = 0;
		if (errs)
			strength = ber / in->o->ber;
		else if (dark && isnan(light_like))
			strength = (in->o->rx_power_min_dbm - light) / 1e3;
		else if (dark)
			strength = (light_like - light) / 1e3;
		if (strength <= worst)
			continue;
		worst = strength;
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

static void link_optic_describe(
	const struct link_test_in *in, const struct link_fault *fault, struct draft *draft)
{
	const struct link *l = in->link;
	const struct port_seen *other = link_health_other_end(l, fault->at);
	const char *at = port_text(fault->at, draft->a);
	const char *from;
	if (other)
		from = port_text(other, draft->a);
	else
		from = far_end_text(fault->at, draft->a);
	const char *like;
	if (isnan(fault->like))
		like = "";
	else if (fault->detail == SHOWS_BER)
		like = arena_printf(draft->a, "; links of the same kind: %.1e", fault->like);
	else
		like = arena_printf(draft->a, "; links of the same kind: %.1f dBm", fault->like);
	if (fault->detail == SHOWS_BER)
		draft->f->summary = arena_printf(draft->a,
			"%s: bit error ratio before FEC is %.1e from %s%s: optic or cable is going "
			"bad; no frame is lost yet",
			at, fault->own, from, like);
	else
		draft->f->summary =
			arena_printf(draft->a, "%s receives too little light: %.1f dBm from %s%s",
				at, fault->own, from, like);
	link_optic_prove(l, draft);
	if (fault->detail == SHOWS_BER && isnan(fault->at->pre_fec_ber))
		finding_against(
			draft, "bit errors estimated from corrected codewords: a lower bound");
	if (isnan(fault->like))
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
