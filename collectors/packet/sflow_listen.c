/* sflow_listen - datagrams to rows of history, interval by interval. */
#include "collectors/packet/sflow_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"
#include "collectors/packet/sflow_agents.h"
#include "collectors/packet/sflow_counters.h"
#include "collectors/packet/sflow_io.h"
#include "collectors/packet/sflow_ports.h"
#include "collectors/packet/sflow_summary.h"
#include "config/address.h"

#define TICK (200 * NS_PER_MS)
#define SKIP_INTERVALS 16 /* a clock that jumps further leaves no empty intervals behind */

enum { STRANGERS_NAMED = 8, EVENTS_MAX = 8 };

struct listen_agent { /* an agent address with a sub-agent */
	uint8_t address[16], source[16]; /* of the datagram; where it came from */
	bool heard; /* in this interval */
};

struct listen_stranger {
	char host[ADDRESS_TEXT_MAX];
	uint64_t datagrams;
};

struct sflow_listen {
	struct loop *loop;
	struct entities *entities;
	struct sink sink;
	struct collector_lookup lookup;
	struct arena *texts;
	const char *name, *address; /* "127.0.0.1:6343" */
	int64_t interval_ns;
	uint64_t buffer_bytes;
	struct sflow_io *io;
	struct sflow_agents *agents;
	struct sflow_sequence *sequence;
	struct sflow_ports *ports;
	struct sflow_summary *summary; /* drop notifications of the interval */
	uint64_t seed;
	struct listen_agent *v; /* by the number of sflow_sequence_add() */
	size_t n, cap;
	struct listen_stranger strangers[STRANGERS_NAMED];
	size_t n_strangers;
	struct loop_timer *tick;
	int64_t from_ns, to_ns; /* interval under way, wall clock */
	uint64_t drops; /* of the socket, at the end of the last interval */
	uint32_t unmapped_agents, unmapped_ports; /* while an interval is handed over */
	struct target target;
	struct complaint strange, dropped;
	struct sflow_listen_counts counts;
};

const struct sflow_listen_counts *sflow_listen_counts(const struct sflow_listen *listen)
{
	return &listen->counts;
}

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
	return sflow_agents_device(listen->agents, agent->address, agent->source);
}

/* ---- datagrams ---------------------------------------------------------------- */

static void listen_stranger(struct sflow_listen *listen, const uint8_t source[16])
{
	char host[ADDRESS_TEXT_MAX];
	size_t i = 0;
	address_text(host, source);
	listen->counts.strangers++;
	complain(&listen->strange, loop_now(listen->loop), LOG_WARN_, listen->name,
		"sFlow from %s, which is not allowed: not read. Add it to capture.allow, or set "
		"the "
		"device's address or sflow.agent",
		host);
	while (i < listen->n_strangers && !str_eq(listen->strangers[i].host, host))
		i++;
	if (i == STRANGERS_NAMED)
		return;
	if (i == listen->n_strangers) {
		listen->n_strangers++;
		snprintf(listen->strangers[i].host, sizeof(listen->strangers[i].host), "%s", host);
	}
	listen->strangers[i].datagrams++;
}

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
	listen->counts.counter_samples++;
	if (!device || !device->sflow || !device->sflow->counters || device->snmp || device->gnmi)
		return;
	if (sample->has_if)
		ifindex = sample->interface.ifindex;
	const char *port = sflow_agents_port(listen->agents, device, ifindex);
	if (!port)
		return;
	const uint32_t entity = entities_intern(listen->entities, device->name, port, PRIO_NONE);
	const size_t n = sflow_counters(sample, entity, wall_now().ns, samples);
	listen->counts.counters_stored += n;
	listen->target.values += n;
	if (n && listen->sink.samples)
		listen->sink.samples(listen->sink.arg, samples, n);
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
		listen->counts.headers++;
		listen->counts.unreadable += packet.kind == PACKET_BAD;
	}
	const bool roce = found && packet.kind == PACKET_ROCE;
	if (sample->kind == SFLOW_FLOW) {
		listen->counts.flow_samples++;
		listen->counts.roce += roce;
		sflow_ports_add(
			listen->ports, (uint32_t)(agent - listen->v), sample, found, wall_now().ns);
		return;
	}
	listen->counts.discards++;
	listen->counts.discards_roce += roce;
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
	if (!sflow_agents_allow(listen->agents, source)) {
		listen_stranger(listen, source);
		return;
	}
	listen->counts.datagrams++;
	int rc = sflow_open(&reader, data, n, &datagram);
	listen->counts.other_versions += rc == -ENOTSUP;
	listen->counts.bad += rc == -EBADMSG;
	if (rc < 0)
		return;
	const struct listen_agent *agent = listen_agent_of(listen, &datagram, source);
	while (agent && (rc = sflow_next(&reader, &sample)) > 0)
		listen_sample(listen, &datagram, agent, &sample);
	listen->counts.bad += rc < 0;
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
		port = sflow_agents_port(listen->agents, device, ifindex);
		listen->unmapped_ports += !port;
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
	listen->target.values += n;
	if (listen->sink.flows)
		listen->sink.flows(listen->sink.arg, rows, n);
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
		port = sflow_agents_port(listen->agents, device, discard->output);
	} else {
		name = address_text(host, agent.address);
	}
	inet_ntop(family, discard->pair.src, src, sizeof(src));
	inet_ntop(family, discard->pair.dst, dst, sizeof(dst));
	snprintf(text, sizeof(text),
		"%llu RoCEv2 packets from %s to %s QP 0x%x were reported as dropped: %s",
		(unsigned long long)discard->notifications, src, dst, discard->pair.dst_qp,
		sflow_reason_text(reason, discard->reason));
	listen->sink.event(listen->sink.arg, end_ns, "roce_discarded", name, port, text);
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
	for (size_t i = 0; i < roce && i < EVENTS_MAX && listen->sink.event; i++)
		listen_discard(listen, order[i], end_ns);
	sflow_summary_free(listen->summary);
	listen->summary = NULL;
}

static void listen_drops(struct sflow_listen *listen)
{
	const uint64_t drops = sflow_io_drops(listen->io);
	const mono_t now = loop_now(listen->loop);
	if (drops > listen->drops) {
		listen->target.errors++;
		complain(&listen->dropped, now, LOG_WARN_, listen->name,
			"the kernel dropped %llu sFlow datagrams that nobody read in time: sample "
			"less, or raise capture.buffer",
			(unsigned long long)(drops - listen->drops));
	} else {
		complaint_over(&listen->dropped, now, listen->name, "no more dropped datagrams");
	}
	listen->drops = drops;
}

static void listen_interval_end(struct sflow_listen *listen, int64_t end_ns)
{
	const struct sflow_ports_out out = {listen, listen_entity, listen_heard, listen_rows};
	const mono_t begin = mono_now();
	listen->unmapped_agents = listen->unmapped_ports = 0;
	sflow_ports_end(listen->ports, listen->from_ns, end_ns, &out);
	listen->counts.unmapped_agents = listen->unmapped_agents;
	listen->counts.unmapped_ports = listen->unmapped_ports;
	listen_discards(listen, end_ns);
	listen_drops(listen);
	for (size_t i = 0; i < listen->n; i++)
		listen->v[i].heard = false;
	target_polled(&listen->target, (double)(mono_now().ns - begin.ns) / 1e9, (wall_t){end_ns});
	if (listen->sink.target)
		listen->sink.target(listen->sink.arg, &listen->target);
}

static void listen_interval_begin(struct sflow_listen *listen, int64_t now_ns)
{
	listen->from_ns = now_ns;
	listen->to_ns = (now_ns / listen->interval_ns + 1) * listen->interval_ns;
}

static void listen_on_tick(void *arg)
{
	struct sflow_listen *listen = arg;
	const int64_t now_ns = wall_now().ns;
	const bool back = now_ns < listen->from_ns - listen->interval_ns;
	if (back || now_ns - listen->to_ns > SKIP_INTERVALS * listen->interval_ns) {
		/* the clock was set: what was counted so far keeps the old time */
		listen_interval_end(listen, listen->to_ns);
		listen_interval_begin(listen, now_ns);
		return;
	}
	while (now_ns >= listen->to_ns) {
		listen_interval_end(listen, listen->to_ns);
		listen->from_ns = listen->to_ns;
		listen->to_ns += listen->interval_ns;
	}
}

/* ---- life ---------------------------------------------------------------------------- */

static uint64_t listen_seed(void)
{
	uint64_t seed = 0;
	/* 16 random bytes that the kernel gives each process */
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof(seed));
	return seed;
}

int sflow_listen_open(const struct collector_env *env, const struct config_capture *capture,
	struct sflow_listen **ret, struct err *e)
{
	const char *host;
	uint16_t port;
	if (capture->interval_ns <= 0)
		return reason_err(e, -EINVAL, PCAP_INTERVAL, capture->name);
	struct sflow_listen *l = rw_calloc(1, sizeof(*l));
	l->loop = env->loop;
	l->entities = env->entities;
	l->sink = *env->sink;
	l->lookup = env->lookup;
	l->texts = arena_new();
	l->name = arena_strdup(l->texts, capture->name);
	l->address = arena_strdup(l->texts, capture->listen);
	l->interval_ns = capture->interval_ns;
	l->buffer_bytes = capture->buffer_bytes;
	l->seed = listen_seed();
	l->agents = sflow_agents_new(env->config, capture, &l->lookup);
	l->sequence = sflow_sequence_new();
	l->ports = sflow_ports_new(l->seed);
	l->target = (struct target){.device = l->name,
		.protocol = "sflow",
		.address = l->address,
		.interval_ns = l->interval_ns};
	int rc = address_split(l->texts, l->address, 0, &host, &port, e);
	if (rc == 0)
		rc = sflow_io_new(
			l->loop, host, port, l->buffer_bytes, listen_datagram, l, &l->io, e);
	if (rc < 0) {
		sflow_listen_free(l);
		return rc;
	}
	listen_interval_begin(l, wall_now().ns);
	l->tick = loop_timer_new(l->loop, listen_on_tick, l);
	loop_timer_start(l->tick, TICK, TICK);
	target_change(&l->target, TARGET_STARTING, loop_now(l->loop), wall_now(), NULL);
	target_change(&l->target, TARGET_UP, loop_now(l->loop), wall_now(), NULL);
	if (l->sink.target)
		l->sink.target(l->sink.arg, &l->target);
	*ret = l;
	return 0;
}

void sflow_listen_free(struct sflow_listen *listen)
{
	if (!listen)
		return;
	if (listen->tick) {
		const int64_t now_ns = wall_now().ns;
		int64_t end_ns = listen->to_ns;
		if (now_ns < end_ns)
			end_ns = now_ns;
		listen_interval_end(listen, end_ns);
	}
	loop_timer_free(listen->tick);
	sflow_io_free(listen->io);
	sflow_agents_free(listen->agents);
	sflow_sequence_free(listen->sequence);
	sflow_ports_free(listen->ports);
	sflow_summary_free(listen->summary);
	free(listen->v);
	arena_free(listen->texts);
	free(listen);
}

/* ---- the collector --------------------------------------------------------------------- */

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

static int sflow_collector_open(
	const struct collector_env *env, const void *place, void **ret, struct err *e)
{
	struct sflow_listen *listen;
	const int rc = sflow_listen_open(env, place, &listen, e);
	if (rc == 0)
		*ret = listen;
	return rc;
}

static bool sflow_collector_same(
	const void *instance, const void *place, const struct config *config)
{
	const struct sflow_listen *listen = instance;
	const struct config_capture *capture = place;
	return str_eq(listen->name, capture->name) && str_eq(listen->address, capture->listen) &&
		listen->interval_ns == capture->interval_ns &&
		listen->buffer_bytes == capture->buffer_bytes;
}

static void sflow_collector_update(void *instance, const void *place, const struct config *config)
{
	struct sflow_listen *listen = instance;
	sflow_agents_free(listen->agents);
	listen->agents = sflow_agents_new(config, place, &listen->lookup);
	listen->n_strangers = 0; /* those that are allowed now need not be named any more */
}

static void sflow_collector_close(void *instance)
{
	sflow_listen_free(instance);
}

static const struct target *sflow_collector_state(const void *instance)
{
	return &((const struct sflow_listen *)instance)->target;
}

static void sflow_collector_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	const struct sflow_listen *listen = instance;
	const struct sflow_listen_counts *c = &listen->counts;
	const struct sflow_sequence_counts *s = sflow_sequence_counts(listen->sequence);
	const struct sflow_ports_counts *p = sflow_ports_counts(listen->ports);
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = {
		/* the same keys as of other captures where they mean the same */
		{"frames", c->headers},
		{"roce", c->roce},
		{"bad", c->unreadable},
		{"kernel_drops", sflow_io_drops(listen->io)},
		{"datagrams", c->datagrams},
		{"strangers", c->strangers},
		{"bad_datagrams", c->bad},
		{"other_versions", c->other_versions},
		{"flow_samples", c->flow_samples},
		{"counter_samples", c->counter_samples},
		{"counters_stored", c->counters_stored},
		{"discards", c->discards},
		{"discards_roce", c->discards_roce},
		{"agents", s->agents},
		{"lost_datagrams", s->lost},
		{"unmapped_agents", c->unmapped_agents},
		{"unmapped_ports", c->unmapped_ports},
		{"beyond", p->beyond},
		{"withheld", p->withheld},
	};
	for (size_t i = 0; i < rw_countof(figures); i++)
		fn(arg, figures[i].key, "", (double)figures[i].value);
	for (size_t i = 0; i < listen->n_strangers; i++) {
		char key[ADDRESS_TEXT_MAX + 16];
		snprintf(key, sizeof(key), "stranger_%s", listen->strangers[i].host);
		fn(arg, key, "", (double)listen->strangers[i].datagrams);
	}
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
