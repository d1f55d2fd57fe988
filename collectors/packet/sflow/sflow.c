/*
 * sflow - receives sFlow: a capture of the configuration with 'listen'. Its flow samples become
 * flow rows of the ports of the fabric, its drop notifications events, its counter samples samples
 * of metrics where a device has nothing else that asks it. sFlow has no time of its own: a sample's
 * time is when it came. A listener that cannot bind is tried again. Loop thread.
 */
#include <arpa/inet.h>

#include "base/bytes.h"
#include "collectors/packet/datagram/datagram_door.h"
#include "collectors/packet/sflow/sflow_counters.h"
#include "collectors/packet/sflow/sflow_ports.h"
#include "collectors/packet/sflow/sflow_summary.h"
#include "config/address.h"

enum { EVENTS_MAX = 8 };

struct listen_agent { /* an agent address with a sub-agent */
	uint8_t address[16], source[16]; /* of the datagram; where it came from */
	bool heard; /* in this interval */
};

struct sflow_listen {
	struct datagram_door door;
	struct entities *entities;
	struct sflow_sequence *sequence;
	struct sflow_ports *ports;
	struct sflow_summary *summary; /* drop notifications of the interval */
	uint64_t seed;
	struct listen_agent *v; /* by the number of sflow_sequence_add() */
	size_t n, cap;
	/* since the listener was opened; bad: no sFlow version 5, or damaged */
	uint64_t bad, other_versions;
	uint64_t flow_samples, headers, roce, unreadable;
	uint64_t counter_samples, counters_stored, discards, discards_roce;
	uint32_t unmapped_agents, unmapped_ports; /* in the last interval */
};

/* ---- addresses -------------------------------------------------------------- */

static void listen_agent_address(const struct sflow_address *agent, uint8_t ret[16])
{
	memset(ret, 0, 16);
	if (agent->family == 4) {
		ret[10] = ret[11] = 0xff;
		memcpy(ret + 12, agent->bytes, 4);
	} else if (agent->family == 6) {
		memcpy(ret, agent->bytes, 16);
	}
}

static const struct config_device *listen_device(
	const struct sflow_listen *listen, const struct listen_agent *agent)
{
	return datagram_senders_device(listen->door.senders, agent->address, agent->source);
}

/* ---- datagrams ---------------------------------------------------------------- */

/* NULL: there are too many agents. */
static struct listen_agent *listen_agent_of(struct sflow_listen *listen,
	const struct sflow_datagram *datagram, const uint8_t source[16])
{
	const uint32_t at = sflow_sequence_add(listen->sequence, datagram);
	if (at >= SFLOW_AGENTS_MAX)
		return NULL;
	if (at == listen->n) {
		rw_grow(listen->v, listen->n, listen->cap);
		listen->v[listen->n++] = (struct listen_agent){0};
	}
	struct listen_agent *agent = &listen->v[at];
	listen_agent_address(&datagram->agent, agent->address);
	memcpy(agent->source, source, 16);
	agent->heard = true;
	return agent;
}

/* Counters of a device that is asked over SNMP or gNMI would come twice: they are counted only. */
static void listen_counters(struct sflow_listen *listen, const struct listen_agent *agent,
	const struct sflow_sample *sample)
{
	struct sample samples[SFLOW_COUNTERS_MAX];
	const struct config_device *device = listen_device(listen, agent);
	uint32_t ifindex = sample->source_index;
	listen->counter_samples++;
	if (!device || !device->sflow || !device->sflow->counters || device->snmp || device->gnmi)
		return;
	if (sample->has_if)
		ifindex = sample->interface.ifindex;
	const char *port = datagram_senders_port(listen->door.senders, device, ifindex);
	if (!port)
		return;
	const uint32_t entity = entities_intern(listen->entities, device->name, port, PRIO_NONE);
	const size_t n = sflow_counters(sample, entity, wall_now().ns, samples);
	listen->counters_stored += n;
	listen->door.target.values += n;
	if (n && listen->door.sink.samples)
		listen->door.sink.samples(listen->door.sink.arg, samples, n);
}

static void listen_sample(struct sflow_listen *listen, const struct sflow_datagram *datagram,
	const struct listen_agent *agent, const struct sflow_sample *sample)
{
	struct roce_packet packet;
	const struct roce_packet *found = NULL;
	if (sample->kind == SFLOW_COUNTERS) {
		listen_counters(listen, agent, sample);
		return;
	}
	if (sflow_packet(sample, &packet)) {
		found = &packet;
		listen->headers++;
		listen->unreadable += packet.kind == PACKET_BAD;
	}
	const bool roce = found && packet.kind == PACKET_ROCE;
	if (sample->kind == SFLOW_FLOW) {
		listen->flow_samples++;
		listen->roce += roce;
		sflow_ports_add(
			listen->ports, (uint32_t)(agent - listen->v), sample, found, wall_now().ns);
		return;
	}
	listen->discards++;
	listen->discards_roce += roce;
	if (!listen->summary)
		listen->summary = sflow_summary_new(listen->seed);
	sflow_summary_sample(listen->summary, datagram, sample, found);
}

static void listen_datagram(void *arg, const uint8_t source[16], const uint8_t *data, size_t n)
{
	struct sflow_listen *listen = arg;
	struct sflow_reader reader;
	struct sflow_datagram datagram;
	struct sflow_sample sample;
	int rc = sflow_open(&reader, data, n, &datagram);
	listen->other_versions += rc == -ENOTSUP;
	listen->bad += rc == -EBADMSG;
	if (rc < 0)
		return;
	const struct listen_agent *agent = listen_agent_of(listen, &datagram, source);
	while (agent && (rc = sflow_next(&reader, &sample)) > 0)
		listen_sample(listen, &datagram, agent, &sample);
	listen->bad += rc < 0;
}

/* ---- the end of an interval ------------------------------------------------------ */

static uint32_t listen_entity(void *arg, uint32_t agent, uint32_t ifindex)
{
	struct sflow_listen *listen = arg;
	char host[ADDRESS_TEXT_MAX], number[32];
	const struct config_device *device = listen_device(listen, &listen->v[agent]);
	const char *port = NULL, *name;
	if (device) {
		name = device->name;
		port = datagram_senders_port(listen->door.senders, device, ifindex);
		listen->unmapped_ports += !port && ifindex;
	} else {
		name = address_text(host, listen->v[agent].address);
		listen->unmapped_agents++;
	}
	if (!port) {
		snprintf(number, sizeof(number), "ifindex %u", ifindex);
		port = number;
	}
	return entities_intern(listen->entities, name, port, PRIO_NONE);
}

static bool listen_heard(void *arg, uint32_t agent)
{
	const struct sflow_listen *listen = arg;
	return listen->v[agent].heard;
}

static void listen_rows(void *arg, const struct flow_sample *rows, size_t n)
{
	struct sflow_listen *listen = arg;
	listen->door.target.values += n;
	if (listen->door.sink.flows)
		listen->door.sink.flows(listen->door.sink.arg, rows, n);
}

/* One event says what a device dropped of one queue pair, and why. */
static void listen_discard(
	struct sflow_listen *listen, const struct sflow_discard *discard, int64_t end_ns)
{
	char text[320], reason[SFLOW_REASON_MAX], host[ADDRESS_TEXT_MAX], src[ADDRESS_TEXT_MAX],
		dst[ADDRESS_TEXT_MAX];
	struct listen_agent agent = {.heard = true};
	int family = AF_INET6;
	const char *port = NULL, *name;
	if (discard->pair.family == 4)
		family = AF_INET;
	listen_agent_address(&discard->agent, agent.address);
	const struct config_device *device = listen_device(listen, &agent);
	if (device) {
		name = device->name;
		port = datagram_senders_port(listen->door.senders, device, discard->output);
	} else {
		name = address_text(host, agent.address);
	}
	inet_ntop(family, discard->pair.src, src, sizeof(src));
	inet_ntop(family, discard->pair.dst, dst, sizeof(dst));
	snprintf(text, sizeof(text),
		"%llu RoCEv2 packets from %s to %s QP 0x%x were reported as dropped: %s",
		(unsigned long long)discard->notifications, src, dst, discard->pair.dst_qp,
		sflow_reason_text(reason, discard->reason));
	listen->door.sink.event(listen->door.sink.arg, end_ns, "roce_discarded", name, port, text);
}

static int listen_discard_order(const void *left, const void *right)
{
	const struct sflow_discard *a = *(const struct sflow_discard *const *)left;
	const struct sflow_discard *b = *(const struct sflow_discard *const *)right;
	if (a->notifications != b->notifications)
		return a->notifications < b->notifications ? 1 : -1;
	return (a > b) - (a < b);
}

static void listen_discards(struct sflow_listen *listen, int64_t end_ns)
{
	size_t n, roce = 0;
	if (!listen->summary)
		return;
	const struct sflow_discard *discards = sflow_summary_discards(listen->summary, &n);
	rw_cleanup(freep) const struct sflow_discard **order = rw_calloc(n + 1, sizeof(*order));
	for (size_t i = 0; i < n; i++)
		if (discards[i].pair.family)
			order[roce++] = &discards[i];
	qsort(order, roce, sizeof(*order), listen_discard_order);
	for (size_t i = 0; i < roce && i < EVENTS_MAX && listen->door.sink.event; i++)
		listen_discard(listen, order[i], end_ns);
	sflow_summary_free(listen->summary);
	listen->summary = NULL;
}

static void listen_end(void *arg, int64_t end_ns)
{
	struct sflow_listen *listen = arg;
	const struct sflow_ports_out out = {listen, listen_entity, listen_heard, listen_rows};
	listen->unmapped_agents = listen->unmapped_ports = 0;
	sflow_ports_end(listen->ports, listen->door.from_ns, end_ns, &out);
	listen_discards(listen, end_ns);
	for (size_t i = 0; i < listen->n; i++)
		listen->v[i].heard = false;
}

/* ---- life ---------------------------------------------------------------------------- */

static int sflow_bind_error(struct err *e, int rc, const char *host, unsigned port, const char *why)
{
	return reason_err(e, rc, SFLOW_BIND, host, port, why);
}

static void sflow_dropped_step(char *ret, size_t size, uint64_t buffer)
{
	snprintf(ret, size, "sample less, or raise capture.buffer");
}

static const struct datagram_protocol sflow_protocol = {.name = "sflow",
	.word = "sFlow",
	.stranger_step = "Add it to capture.allow, or set the device's address or sflow.agent",
	.bind_error = sflow_bind_error,
	.take = listen_datagram,
	.end = listen_end,
	.dropped_step = sflow_dropped_step,
	.ends_each = true};

/* ---- the collector --------------------------------------------------------------------- */

static void sflow_collector_close(void *instance)
{
	struct sflow_listen *listen = instance;
	datagram_door_close(&listen->door);
	sflow_sequence_free(listen->sequence);
	sflow_ports_free(listen->ports);
	sflow_summary_free(listen->summary);
	free(listen->v);
	free(listen);
}

static int sflow_collector_open(
	const struct collector_env *env, const void *place, void **ret, struct err *e)
{
	const struct config_capture *capture = place;
	if (capture->interval_ns <= 0)
		return reason_err(e, -EINVAL, PCAP_INTERVAL, capture->name);
	struct sflow_listen *listen = rw_calloc(1, sizeof(*listen));
	listen->entities = env->entities;
	listen->seed = siphash_random_key().low;
	listen->sequence = sflow_sequence_new();
	listen->ports = sflow_ports_new(listen->seed);
	const int rc = datagram_door_open(&listen->door, &sflow_protocol, listen, env, capture, e);
	if (rc < 0) {
		sflow_collector_close(listen);
		return rc;
	}
	*ret = listen;
	return 0;
}

static bool sflow_collector_place(
	const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_captures)
		return false;
	const struct config_capture *capture = &config->captures[i];
	*ret = (struct collector_place){
		.name = capture->name, .address = str_or(capture->listen, "")};
	if (capture->listen && !capture->interface)
		ret->config = capture;
	return true;
}

static bool sflow_collector_same(
	const void *instance, const void *place, const struct config *config)
{
	const struct sflow_listen *listen = instance;
	return datagram_door_same(&listen->door, place);
}

static void sflow_collector_update(void *instance, const void *place, const struct config *config)
{
	struct sflow_listen *listen = instance;
	datagram_door_update(&listen->door, config, place);
}

static const struct target *sflow_collector_state(const void *instance)
{
	return &((const struct sflow_listen *)instance)->door.target;
}

static void sflow_collector_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	const struct sflow_listen *listen = instance;
	const struct sflow_sequence_counts *s = sflow_sequence_counts(listen->sequence);
	const struct sflow_ports_counts *p = sflow_ports_counts(listen->ports);
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = {
		/* the same keys as of other captures where they mean the same */
		{"frames", listen->headers},
		{"roce", listen->roce},
		{"bad", listen->unreadable},
		{"kernel_drops", datagram_door_drops(&listen->door)},
		{"datagrams", listen->door.datagrams},
		{"strangers", listen->door.from_strangers},
		{"bad_datagrams", listen->bad},
		{"other_versions", listen->other_versions},
		{"flow_samples", listen->flow_samples},
		{"counter_samples", listen->counter_samples},
		{"counters_stored", listen->counters_stored},
		{"discards", listen->discards},
		{"discards_roce", listen->discards_roce},
		{"agents", s->agents},
		{"lost_datagrams", s->lost},
		{"unmapped_agents", listen->unmapped_agents},
		{"unmapped_ports", listen->unmapped_ports},
		{"beyond", p->beyond},
		{"portless", p->portless},
		{"withheld", p->withheld},
	};
	for (size_t i = 0; i < rw_countof(figures); i++)
		fn(arg, figures[i].key, "", (double)figures[i].value);
	refused_figures(&listen->door.strangers, "not_allowed", fn, arg);
}

const struct collector collector_sflow = {.name = "sflow",
	.role = COLLECTS_PACKETS,
	.own_process = true,
	.family = "capture",
	.place = sflow_collector_place,
	.open = sflow_collector_open,
	.same = sflow_collector_same,
	.update = sflow_collector_update,
	.close = sflow_collector_close,
	.state = sflow_collector_state,
	.figures = sflow_collector_figures};
