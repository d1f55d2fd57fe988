/*
 * packets - faults that only captured packets show.
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
 *
 * dcqcn_off: single queue pairs of a host go on at their rate after CNPs while the others slow down
 * (flow rows, .reacts). Where a whole host does, congestion says so.
 *
 * ect_missing: data without ECT at a port of which no counter comes, so that congestion, which
 * looks at pause first, is blind. Where counters come it is congestion's to say.
 */
#include <arpa/inet.h>

#include "analyzers/analyzer.h"
#include "analyzers/finding_build.h"
#include "analyzers/measure/congestion_measure.h"
#include "analyzers/measure/observe.h"
#include "config/class_policy.h"
#include "db/model/entity.h"
#include "db/model/flow.h"

#define CNP_EXPECTED                                                                               \
	20.0 /* of so many none or few arrive by chance once in ten thousand windows               \
	      */
#define CNP_ARRIVES 0.2 /* of the expected ones: fewer are lost, more may be an uneven share */
#define DATA_ENOUGH 1000.0 /* data packets: of fewer the share without ECT says little */
#define ECT_PART 0.1 /* of the data packets: fewer with ECT are a setting, not a stray sender */
enum { QPS_NAMED = 16, DEAF_INTERVALS = 2 };
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

/* queue pairs, in the order of their first rows; QPS_NAMED of them are told by name */
struct packets_qps {
	struct finding_flow *v;
	size_t n;
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

/* A port has one incident of this analyzer: of several faults the first that is looked for. */
static struct draft packets_draft(const struct analyzer_in *in, const struct packets_port *port,
	enum cause cause, enum finding_verdict verdict, struct finding_list *out)
{
	const struct packets_options *o = in->options;
	struct draft t = finding_new(out, in, "packets", verdict, o->hold);
	finding_subject(&t, port->seen);
	t.f->cause = cause;
	t.f->severity = SEV_WARNING;
	t.f->summary = "";
	return t;
}

/* ---- RoCE version 1 --------------------------------------------------------- */

static bool packets_judge_v1(
	const struct analyzer_in *in, const struct packets_port *port, struct finding_list *out)
{
	const struct packets_options *o = in->options;
	const double frames = port->sum.from_v1 + port->sum.to_v1 + port->sum.other_v1;
	const double v2 = port->sum.from_packets + port->sum.to_packets + port->sum.other_packets;
	if (frames < (double)o->frames)
		return false;
	struct draft t = packets_draft(in, port, CAUSE_ROCEV1, FINDING_OVER, out);
	t.f->value = frames;
	t.f->warn = (double)o->frames;
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
	return true;
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

static bool packets_judge_cnp(const struct analyzer_in *in, const struct packets_ports *ports,
	const struct packets_port *sender, struct finding_list *out)
{
	if (!sender->sum.address || !packets_hears(&sender->sum))
		return false;
	const double expected = packets_expected(in->window, ports, sender);
	if (expected < CNP_EXPECTED)
		return false;
	double arrived = sender->sum.to_cnp;
	if (sender->sum.part.known)
		arrived = (double)sender->sum.part.reaction.cnp;
	if (arrived >= CNP_ARRIVES * expected)
		return false;
	struct draft t = packets_draft(in, sender, CAUSE_CNP_LOST, FINDING_OVER, out);
	t.f->value = expected / fmax(arrived, 1);
	t.f->warn = 1 / CNP_ARRIVES;
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
	return true;
}

/* ---- queue pairs by name ------------------------------------------------------- */

static void packets_qp_add(struct packets_qps *qps, const struct analyzer_in *in,
	const struct packets_port *port, const struct flow_sample *row)
{
	const int family = row->key.family == 4 ? AF_INET : AF_INET6;
	struct finding_flow flow = {.dst_qp = row->key.dst_qp,
		.src_port = row->key.src_port,
		.device = port->seen->port->device->name,
		.port = port->seen->port->name,
		.packets = row->packets,
		.octets = row->octets};
	inet_ntop(family, row->key.src, flow.src, sizeof(flow.src));
	inet_ntop(family, row->key.dst, flow.dst, sizeof(flow.dst));
	size_t k = 0;
	while (k < qps->n &&
		(qps->v[k].dst_qp != flow.dst_qp || strcmp(qps->v[k].src, flow.src) != 0 ||
			strcmp(qps->v[k].dst, flow.dst) != 0))
		k++;
	if (k < qps->n) {
		qps->v[k].packets += flow.packets;
		qps->v[k].octets += flow.octets;
		return;
	}
	if (!qps->v) {
		const size_t most = packets_first_row(in->window, port->seen->entity + 1) -
			packets_first_row(in->window, port->seen->entity);
		qps->v = arena_array(in->arena, struct finding_flow, most);
	}
	qps->v[qps->n++] = flow;
}

static void packets_name_qps(struct draft *t, const struct packets_qps *qps)
{
	t->f->flows = qps->v;
	t->f->n_flows = qps->n < QPS_NAMED ? qps->n : QPS_NAMED;
}

static bool packets_is_flow(const struct flow_sample *row)
{
	return !row->total && !row->host && row->key.family;
}

/* ---- queue pairs that do not slow down ----------------------------------------- */

/* In how many intervals this queue pair was told to slow down and did not; 0 where it once did. */
static unsigned packets_deaf_intervals(
	const struct window *window, const struct packets_port *port, const struct flow_sample *qp)
{
	unsigned deaf = 0;
	for (size_t i = packets_first_row(window, port->seen->entity);
		packets_row_at(window, i, port->seen); i++) {
		const struct flow_sample *row = &window->flows[i];
		if (!packets_is_flow(row) || row->key.dst_qp != qp->key.dst_qp ||
			memcmp(row->key.src, qp->key.src, sizeof(qp->key.src)) != 0 ||
			memcmp(row->key.dst, qp->key.dst, sizeof(qp->key.dst)) != 0)
			continue;
		if (row->reacts == REACTION_SLOWS_DOWN)
			return 0;
		deaf += row->reacts == REACTION_DOES_NOT_SLOW;
	}
	return deaf;
}

static bool packets_judge_deaf(
	const struct analyzer_in *in, const struct packets_port *port, struct finding_list *out)
{
	struct packets_qps qps = {.n = 0};
	for (size_t i = packets_first_row(in->window, port->seen->entity);
		packets_row_at(in->window, i, port->seen); i++) {
		const struct flow_sample *row = &in->window->flows[i];
		if (!packets_is_flow(row))
			continue;
		if (row->reacts == REACTION_DOES_NOT_SLOW &&
			packets_deaf_intervals(in->window, port, row) >= DEAF_INTERVALS)
			packets_qp_add(&qps, in, port, row);
	}
	if (qps.n == 0)
		return false;
	struct draft t = packets_draft(in, port, CAUSE_DCQCN_OFF, FINDING_OVER, out);
	t.f->value = (double)qps.n;
	t.f->warn = 1;
	t.f->confidence_ratio = 0.9;
	t.f->summary = arena_printf(t.a,
		"%s: %zu queue pair%s not slow down after CNPs while others there do: %s to QP "
		"0x%06x of %s",
		port_text(port->seen, t.a), qps.n, qps.n == 1 ? " does" : "s do", qps.v[0].src,
		qps.v[0].dst_qp, qps.v[0].dst);
	finding_rests_on(&t, "rates round CNPs of every packet, queue pair by queue pair");
	finding_unproved(&t, "why: a setting of one queue pair, or an application beside RDMA");
	finding_add_role(&t, "culprit", "%s", qps.v[0].src);
	packets_name_qps(&t, &qps);
	finding_steps(&t, CAUSE_DCQCN_OFF, 0);
	return true;
}

/* ---- data without ECT, where no counter comes ------------------------------------- */

static bool packets_judge_ect(
	const struct analyzer_in *in, const struct packets_port *port, struct finding_list *out)
{
	struct packets_qps qps = {.n = 0};
	double data = 0, ect = 0;
	if (port->seen->in_known || port->seen->out_known || !class_any_marks(in->fabric))
		return false;
	for (size_t i = packets_first_row(in->window, port->seen->entity);
		packets_row_at(in->window, i, port->seen); i++) {
		const struct flow_sample *row = &in->window->flows[i];
		if (row->total) {
			data += (double)row->data_packets;
			ect += (double)row->data_ect;
		} else if (packets_is_flow(row) && row->data_packets &&
			(double)row->data_ect < ECT_PART * (double)row->data_packets) {
			packets_qp_add(&qps, in, port, row);
		}
	}
	if (data < DATA_ENOUGH || ect >= ECT_PART * data)
		return false;
	struct draft t = packets_draft(in, port, CAUSE_ECT_MISSING, FINDING_OVER, out);
	t.f->value = 1 - ect / data;
	t.f->warn = 1 - ECT_PART;
	t.f->confidence_ratio = 0.85;
	t.f->summary = arena_printf(t.a,
		"%s: %.3g %% of %.0f data packets captured are not ECN-capable, so no switch can "
		"mark them; %zu queue pairs",
		port_text(port->seen, t.a), 100 * t.f->value, data, qps.n);
	finding_rests_on(&t, "the ECN field of captured data packets");
	finding_unproved(&t, "what it does: no counter of this port comes, so pause is not seen");
	packets_name_qps(&t, &qps);
	for (size_t i = 0; i < t.f->n_flows; i++)
		if (i == 0 || strcmp(qps.v[i].src, qps.v[i - 1].src) != 0)
			finding_add_role(&t, "culprit", "%s", qps.v[i].src);
	finding_steps(&t, CAUSE_ECT_MISSING, 0);
	return true;
}

static int packets_run(const struct analyzer_in *in, struct finding_list *out)
{
	if (!in->window->n_flows)
		return 0;
	const struct packets_ports ports = packets_captured(in);
	for (size_t i = 0; i < ports.n; i++) {
		const struct packets_port *port = &ports.v[i];
		if (!packets_judge_v1(in, port, out) && !packets_judge_deaf(in, port, out) &&
			!packets_judge_cnp(in, &ports, port, out) &&
			!packets_judge_ect(in, port, out))
			packets_draft(in, port, CAUSE_ROCEV1, FINDING_UNDER, out);
	}
	return 0;
}

const struct analyzer analyzer_packets = {
	.name = "packets",
	.phase = 65,
	.doc = "captured packets: RoCE version 1, CNPs that do not arrive, queue pairs that do not "
	       "slow down, data without ECT",
	.options = {"analyzers", "packets", sizeof(struct packets_options), rows, rw_countof(rows),
		"faults that only captured packets show"},
	.window_offset = offsetof(struct packets_options, window_ns),
	.spec = {.flows = true},
	.observes = true,
	.run = packets_run,
};
