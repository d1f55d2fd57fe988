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
#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/detect/link_health.h"

#define ERRORS_MIN 2
#define LIKE_FACTOR 10
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
			"%s receives %.3g symbol errors a second from %s; median of links of the "
			"same kind: %.3g",
			port_text(fault->at, draft->a), fault->own, sender, fault->like);
	else
		draft->f->summary = arena_printf(draft->a,
			"%s receives %.3g damaged frames a second from %s%s%s; suspect the %s",
			port_text(fault->at, draft->a), fault->own, sender, part,
			str_if(both, ", and so does the other end"), suspect);
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
