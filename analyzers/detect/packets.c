/*
 * packets - two faults that only captured packets show.
 *
 * rocev1: a frame of Ethertype 0x8915. RoCE version 1 has no IP header: it cannot be routed, hashed
 * by source port or marked, and it does not belong into a RoCEv2 fabric (InfiniBand Architecture
 * Specification, annexes A16 and A17). One frame could be a stray; a stream is a setting.
 *
 * cnp_lost: receivers send CNPs that do not arrive. At a receiver's port the capture counts CNPs it
 * sends, and whose packets reach it with CE; at a sender's port, the CNPs that reach it. Where the
 * capture at the receiver says to whom its CNPs go (rows of hosts), as many should arrive there.
 * Else a sender should get its part of each receiver's CNPs: in proportion to the CE packets of its
 * own. Both as the two captures are sampled. So both ends of the path must be captured in the same
 * window, and enough CNPs expected that chance cannot make the difference.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "analyzers/analyzer.h"
#include "analyzers/finding_build.h"
#include "analyzers/measure/congestion_measure.h"
#include "analyzers/measure/observe.h"
#include "db/model/entity.h"
#include "db/model/flow.h"

#define CNP_EXPECTED                                                                               \
	20.0 /* of so many none or few arrive by chance once in ten thousand windows               \
	      */
#define CNP_ARRIVES 0.2 /* of the expected ones: fewer are lost, more may be an uneven share */
#define HEARD_MIN 100.0 /* packets to the sender: its capture works */

struct packets_options {
	int64_t frames, window_ns, hold;
};

static const struct option rows[] = {
	{"rocev1_frames", OPT_INT, offsetof(struct packets_options, frames), "10", "1",
		"1000000000", NULL,
		"captured frames of RoCE version 1 in a window that are reported"},
	{"window", OPT_DURATION, offsetof(struct packets_options, window_ns), "30s", "1s", "1h",
		NULL, "evaluation window; captures are counted by their own interval"},
	{"hold", OPT_INT, offsetof(struct packets_options, hold), "2", "1", "10000", NULL,
		"windows above the threshold, of the last hold + 2, before an incident opens"},
};

struct packets_port { /* one that was captured */
	const struct port_seen *seen;
	struct host_packets sum;
	double sampling; /* the coarser of its captures */
};

struct packets_ports {
	struct packets_port *v;
	size_t n;
};

/* ---- what was captured ---------------------------------------------------- */

static bool packets_row_at(const struct window *window, size_t i, const struct port_seen *port)
{
	return i < window->n_flows && window->flows[i].entity == port->entity;
}

static void packets_find_sampling(const struct window *window, struct packets_port *port)
{
	const size_t first = packets_first_row(window, port->seen->entity);
	port->sampling = 1;
	for (size_t i = first; packets_row_at(window, i, port->seen); i++)
		port->sampling = fmax(port->sampling, window->flows[i].sampling);
}

static struct packets_ports packets_captured(const struct analyzer_in *in)
{
	const struct observed *o = observe(in);
	struct packets_ports ports = {
		.v = arena_array(in->arena, struct packets_port, o->n_fabric_ports + 1)};
	for (size_t i = 0; i < o->n_fabric_ports; i++) {
		struct packets_port port = {.seen = &o->ports[i]};
		if (!host_packets(in->window, port.seen, &port.sum))
			continue;
		packets_find_sampling(in->window, &port);
		ports.v[ports.n++] = port;
	}
	return ports;
}

/* ---- RoCE version 1 --------------------------------------------------------- */

static void packets_judge_v1(
	const struct analyzer_in *in, const struct packets_port *port, struct finding_list *out)
{
	const struct packets_options *o = in->options;
	const double frames = port->sum.from_v1 + port->sum.to_v1 + port->sum.other_v1;
	const double v2 = port->sum.from_packets + port->sum.to_packets + port->sum.other_packets;
	const bool over = frames >= (double)o->frames;
	struct draft t = finding_new(out, in, "packets", finding_verdict(over, true), o->hold);
	finding_subject(&t, port->seen);
	t.f->cause = CAUSE_ROCEV1;
	t.f->severity = SEV_WARNING;
	t.f->value = frames;
	t.f->warn = (double)o->frames;
	t.f->summary = "";
	if (!over)
		return;
	t.f->confidence_ratio = 0.95;
	const char *verb = "carries";
	if (port->sum.from_v1 >= (double)o->frames && port->seen->port->host)
		verb = "gets from its host";
	t.f->summary = arena_printf(t.a,
		"%s %s frames of RoCE version 1 (Ethertype 0x8915): %.0f captured, beside %.0f "
		"packets of RoCEv2; they cannot be routed, spread over paths or marked",
		port_text(port->seen, t.a), verb, frames, v2);
	finding_rests_on(&t, "Ethertype of captured frames");
	if (v2 <= 0)
		finding_rests_on(&t, "no packet to UDP port 4791 was captured there");
	finding_unproved(&t, "which application asks for version 1");
	finding_add_role(&t, "culprit", "%s", far_end_text(port->seen, t.a));
	finding_steps(&t, CAUSE_ROCEV1, 0);
}

/* ---- CNPs that do not arrive ------------------------------------------------- */

/* CE packets from @address that reached the host of @port. */
static double packets_marked_from(
	const struct window *window, const struct packets_port *port, const uint8_t *address)
{
	double marked = 0;
	const size_t first = packets_first_row(window, port->seen->entity);
	for (size_t i = first; packets_row_at(window, i, port->seen); i++) {
		const struct flow_sample *f = &window->flows[i];
		if (!f->total && f->key.family && f->dir == FLOW_DIR_OUT &&
			memcmp(f->key.src, address, sizeof(f->key.src)) == 0)
			marked += (double)f->ce;
	}
	return marked;
}

/* CNPs to the host of @sender that left the receiver, by the rows of hosts. False: there are none.
 */
static bool packets_sent_to(const struct window *window, const struct packets_port *receiver,
	const struct packets_port *sender, double *ret)
{
	struct host_part part;
	host_part(window, receiver->seen->entity, sender->sum.address, &part);
	*ret = (double)part.reaction.cnp * part.sampling;
	return part.known && receiver->seen->port->host;
}

/* CNPs that the capture at @sender should hold, going by all captured receivers of its packets. */
static double packets_expected(const struct window *window, const struct packets_ports *ports,
	const struct packets_port *sender)
{
	double expected = 0;
	for (size_t i = 0; i < ports->n; i++) {
		const struct packets_port *receiver = &ports->v[i];
		double sent;
		if (receiver == sender)
			continue;
		if (packets_sent_to(window, receiver, sender, &sent)) {
			expected += sent / sender->sampling;
			continue;
		}
		if (!receiver->sum.from_known || !receiver->sum.to_known ||
			receiver->sum.to_ce <= 0)
			continue;
		const double part = packets_marked_from(window, receiver, sender->sum.address) /
			receiver->sum.to_ce;
		expected += receiver->sum.from_cnp * part * receiver->sampling / sender->sampling;
	}
	return expected;
}

/* Its capture holds what is delivered to the host. */
static bool packets_hears(const struct host_packets *packets)
{
	if (packets->to_known)
		return packets->to_packets >= HEARD_MIN;
	return packets->to_host >= HEARD_MIN;
}

static void packets_judge_cnp(const struct analyzer_in *in, const struct packets_ports *ports,
	const struct packets_port *sender, struct finding_list *out)
{
	const struct packets_options *o = in->options;
	if (!sender->sum.address || !packets_hears(&sender->sum))
		return;
	const double expected = packets_expected(in->window, ports, sender);
	if (expected < CNP_EXPECTED)
		return;
	double arrived = sender->sum.to_cnp;
	if (sender->sum.part.known)
		arrived = (double)sender->sum.part.reaction.cnp;
	const bool over = arrived < CNP_ARRIVES * expected;
	struct draft t = finding_new(out, in, "packets", finding_verdict(over, true), o->hold);
	finding_subject(&t, sender->seen);
	t.f->cause = CAUSE_CNP_LOST;
	t.f->severity = SEV_WARNING;
	t.f->value = expected / fmax(arrived, 1);
	t.f->warn = 1 / CNP_ARRIVES;
	t.f->summary = "";
	if (!over)
		return;
	t.f->confidence_ratio = 0.85;
	t.f->summary = arena_printf(t.a,
		"%s: %.0f CNPs arrive at %s, about %.0f are expected from what its receivers send: "
		"they are lost on the way, and the host does not slow down",
		port_text(sender->seen, t.a), arrived, far_end_text(sender->seen, t.a), expected);
	finding_rests_on(&t,
		"captures at both ends: CNPs that receivers send, shared by the CE packets of each "
		"sender");
	finding_unproved(&t, "where they are lost: only the ends of the path were captured");
	finding_ruled_out(&t, "DCQCN of the host: it is not told to slow down");
	finding_add_role(&t, "victim", "%s", far_end_text(sender->seen, t.a));
	finding_steps(&t, CAUSE_CNP_LOST, 0);
}

static int packets_run(const struct analyzer_in *in, struct finding_list *out)
{
	if (!in->window->n_flows)
		return 0;
	const struct packets_ports ports = packets_captured(in);
	for (size_t i = 0; i < ports.n; i++) {
		packets_judge_v1(in, &ports.v[i], out);
		packets_judge_cnp(in, &ports, &ports.v[i], out);
	}
	return 0;
}

const struct analyzer analyzer_packets = {
	.name = "packets",
	.phase = 65,
	.doc = "captured packets: RoCE version 1, and CNPs that do not arrive",
	.options = {"analyzers", "packets", sizeof(struct packets_options), rows, rw_countof(rows),
		"faults that only captured packets show"},
	.window_offset = offsetof(struct packets_options, window_ns),
	.spec = {.flows = true},
	.observes = true,
	.run = packets_run,
};
