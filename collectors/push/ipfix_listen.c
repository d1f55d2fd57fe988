/* ipfix_listen - datagrams to samples, interval by interval. */
#include "collectors/push/ipfix_listen.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"
#include "collectors/packet/sflow_agents.h"
#include "collectors/push/burst_send.h"
#include "collectors/push/ipfix_flow.h"
#include "collectors/push/ipfix_io.h"
#include "collectors/push/push_map.h"
#include "config/address.h"
#include "config/profile/profile.h"
#include "config/push_objects.h"

#define TICK (100 * NS_PER_MS)
#define EXPIRE (60 * NS_PER_S)
#define SKIP_INTERVALS 16 /* a clock that jumps further leaves no empty intervals behind */
#define OFF_NS (60 * NS_PER_S) /* a device's clock may be so far away from ours */

enum { STRANGERS_NAMED = 8, PIN_ALL_MAX = 8 };

struct listen_source { /* a device that sends */
	char *device;
	struct burst *burst;
	struct push_objects *objects;
};

struct listen_named { /* the first few addresses, and how often each */
	struct {
		char host[ADDRESS_TEXT_MAX];
		uint64_t times;
	} v[STRANGERS_NAMED];
	size_t n;
};

struct ipfix_listen {
	struct loop *loop;
	struct entities *entities;
	struct sink sink;
	struct collector_lookup lookup;
	struct arena *texts;
	const char *name, *address; /* "127.0.0.1:4739" */
	int64_t interval_ns;
	uint64_t buffer_bytes, ring_bytes;
	const struct config *config;
	struct profiles *profiles;
	struct push_map *map;
	struct ipfix_io *io;
	struct sflow_agents *agents;
	struct ipfix *ipfix;
	struct burst_send *send;
	struct listen_source *sources[IPFIX_SOURCES];
	size_t n_sources;
	struct ipfix_flow **flows; /* all there are; each is .user of its template */
	size_t n_flows, cap_flows;
	struct sample *samples;
	size_t cap_samples;
	struct ipfix_unknown unknown;
	struct listen_named strangers, refused; /* datagrams; templates and sessions */
	struct loop_timer *tick;
	int64_t from_ns, to_ns; /* interval under way, wall clock */
	mono_t expired;
	uint64_t drops; /* of the socket, at the end of the last interval */
	uint64_t datagrams, from_strangers, no_device, clock_off, stored;
	struct target target;
	struct complaint strange, dropped, homeless, off, crowded;
};

/* ---- sources ----------------------------------------------------------------- */

static struct push_objects *source_objects(const struct config *config, const char *name)
{
	struct push_objects *objects = push_objects_new();
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *device = &config->devices[i];
		for (size_t k = 0;
			device->push && str_eq(device->name, name) && k < device->push->n_objects;
			k++)
			push_objects_add(objects, device->push->objects[k], NULL);
	}
	return objects;
}

/* NULL: there are too many. */
static struct listen_source *listen_source_of(
	struct ipfix_listen *listen, const struct config_device *device)
{
	for (size_t i = 0; i < listen->n_sources; i++)
		if (str_eq(listen->sources[i]->device, device->name))
			return listen->sources[i];
	if (listen->n_sources == IPFIX_SOURCES)
		return NULL;
	struct listen_source *source = rw_calloc(1, sizeof(*source));
	source->device = rw_strdup(device->name);
	source->burst = burst_new(listen->ring_bytes);
	source->objects = source_objects(listen->config, device->name);
	listen->sources[listen->n_sources++] = source;
	return source;
}

static void listen_flow_means(
	struct ipfix_listen *listen, const struct listen_source *source, struct ipfix_flow *flow)
{
	const struct ipfix_meaning meaning = {.map = listen->map,
		.objects = source->objects,
		.entities = listen->entities,
		.device = source->device};
	ipfix_flow_means(flow, &meaning);
}

/* ---- records ----------------------------------------------------------------- */

static struct ipfix_flow *listen_flow_of(
	struct ipfix_listen *listen, struct ipfix_session *session, struct ipfix_template *template)
{
	if (template->user)
		return template->user;
	const struct config_device *device =
		sflow_agents_device(listen->agents, session->source, session->source);
	struct listen_source *source = NULL;
	if (device)
		source = listen_source_of(listen, device);
	if (!source)
		return NULL;
	struct ipfix_flow *flow = ipfix_flow_new(template, source->burst);
	ipfix_flow_belongs(flow, source);
	listen_flow_means(listen, source, flow);
	rw_grow(listen->flows, listen->n_flows, listen->cap_flows);
	listen->flows[listen->n_flows++] = flow;
	template->user = flow;
	return flow;
}

static void listen_records(void *arg, struct ipfix_session *session,
	struct ipfix_template *template, const uint8_t *data, size_t n, uint32_t export_s)
{
	struct ipfix_listen *listen = arg;
	char host[ADDRESS_TEXT_MAX];
	struct ipfix_flow *flow = listen_flow_of(listen, session, template);
	if (!flow) {
		listen->no_device += n;
		complain(&listen->homeless, loop_now(listen->loop), LOG_WARN_, listen->name,
			"IPFIX from %s, which is the address of no device, or of several: counted "
			"only. Set push.address of the device",
			address_text(host, session->source));
		return;
	}
	const size_t off = ipfix_flow_add(
		flow, template, data, n, export_s, wall_now().ns, OFF_NS + listen->interval_ns);
	listen->clock_off += off;
	if (off > 0)
		complain(&listen->off, loop_now(listen->loop), LOG_WARN_, listen->name,
			"the clock of %s is more than a minute away from ours: its values get the "
			"time at which they came, and cannot be compared with those of other "
			"switches at a millisecond. Set its clock (PTP or NTP)",
			address_text(host, session->source));
}

static void listen_flow_gone(void *arg, void *user)
{
	struct ipfix_listen *listen = arg;
	struct ipfix_flow *flow = user;
	for (size_t i = 0; i < listen->n_flows; i++)
		if (listen->flows[i] == flow)
			listen->flows[i] = listen->flows[--listen->n_flows];
	ipfix_flow_free(flow);
}

static void listen_name(struct listen_named *named, const char *host)
{
	size_t i = 0;
	while (i < named->n && !str_eq(named->v[i].host, host))
		i++;
	if (i == STRANGERS_NAMED)
		return;
	if (i == named->n) {
		named->v[named->n].times = 0;
		snprintf(named->v[named->n++].host, sizeof(named->v[i].host), "%s", host);
	}
	named->v[i].times++;
}

static void listen_refused(void *arg, const uint8_t source[16])
{
	struct ipfix_listen *listen = arg;
	char host[ADDRESS_TEXT_MAX];
	address_text(host, source);
	complain(&listen->crowded, loop_now(listen->loop), LOG_WARN_, listen->name,
		"IPFIX from %s has more templates or observation domains than leaves room for "
		"others: what is beyond is refused. Send fewer from there, or do not allow it "
		"(push.allow)",
		host);
	listen_name(&listen->refused, host);
}

static void listen_stranger(struct ipfix_listen *listen, const uint8_t source[16])
{
	char host[ADDRESS_TEXT_MAX];
	address_text(host, source);
	listen->from_strangers++;
	complain(&listen->strange, loop_now(listen->loop), LOG_WARN_, listen->name,
		"IPFIX from %s, which is not allowed: not read. Add it to push.allow, or set the "
		"device's address or push.address",
		host);
	listen_name(&listen->strangers, host);
}

void ipfix_listen_datagram(
	struct ipfix_listen *listen, const uint8_t source[16], const uint8_t *data, size_t n)
{
	if (!sflow_agents_allow(listen->agents, source)) {
		listen_stranger(listen, source);
		return;
	}
	listen->datagrams++;
	ipfix_message(listen->ipfix, source, data, n, false, loop_now(listen->loop));
}

static void listen_on_datagram(void *arg, const uint8_t source[16], const uint8_t *data, size_t n)
{
	ipfix_listen_datagram(arg, source, data, n);
}

/* ---- the end of an interval ------------------------------------------------------ */

static void listen_drops(struct ipfix_listen *listen)
{
	const mono_t now = loop_now(listen->loop);
	if (!listen->io)
		return;
	const uint64_t drops = ipfix_io_drops(listen->io);
	if (drops > listen->drops) {
		listen->target.errors++;
		complain(&listen->dropped, now, LOG_WARN_, listen->name,
			"the kernel dropped %llu IPFIX datagrams that nobody read in time: raise "
			"net.core.rmem_max (the buffer has %llu bytes) and push.buffer",
			(unsigned long long)(drops - listen->drops),
			(unsigned long long)ipfix_io_buffer(listen->io));
	} else {
		complaint_over(&listen->dropped, now, listen->name, "no more dropped datagrams");
	}
	listen->drops = drops;
}

static void listen_flow_end(struct ipfix_listen *listen, struct ipfix_flow *flow)
{
	const size_t fields = ipfix_flow_fields(flow);
	if (fields > listen->cap_samples) {
		listen->samples = rw_realloc(listen->samples, fields * sizeof(*listen->samples));
		listen->cap_samples = fields;
	}
	const size_t n =
		ipfix_flow_end(flow, listen->interval_ns, &listen->unknown, listen->samples);
	listen->stored += n;
	listen->target.values += n;
	if (n > 0 && listen->sink.samples)
		listen->sink.samples(listen->sink.arg, listen->samples, n);
}

void ipfix_listen_end(struct ipfix_listen *listen, int64_t now_ns)
{
	const mono_t begin = mono_now();
	for (size_t i = 0; i < listen->n_flows; i++)
		listen_flow_end(listen, listen->flows[i]);
	listen_drops(listen);
	target_polled(&listen->target, (double)(mono_now().ns - begin.ns) / 1e9, (wall_t){now_ns});
	if (listen->sink.target)
		listen->sink.target(listen->sink.arg, &listen->target);
	if (begin.ns - listen->expired.ns < EXPIRE)
		return;
	listen->expired = begin;
	ipfix_expire(listen->ipfix, begin);
}

static void listen_begin(struct ipfix_listen *listen, int64_t now_ns)
{
	listen->from_ns = now_ns;
	listen->to_ns = (now_ns / listen->interval_ns + 1) * listen->interval_ns;
}

static void listen_on_tick(void *arg)
{
	struct ipfix_listen *listen = arg;
	const int64_t now_ns = wall_now().ns;
	const bool back = now_ns < listen->from_ns - listen->interval_ns;
	if (!back && now_ns < listen->to_ns)
		return;
	ipfix_listen_end(listen, now_ns);
	listen_begin(listen, now_ns);
}

/* ---- life ---------------------------------------------------------------------------- */

static int listen_profiles(struct ipfix_listen *listen, const char *dir, struct err *e)
{
	struct err_list errors = {0};
	const int rc = profiles_load(dir, &listen->profiles, &errors);
	if (rc < 0)
		err_set(e, rc, "profiles: %s", strerror(-rc));
	err_list_done(&errors);
	if (rc < 0)
		return rc;
	listen->map = push_map_new(listen->profiles);
	return 0;
}

static int listen_io(struct ipfix_listen *listen, struct err *e)
{
	const char *host;
	uint16_t port;
	const int rc = address_split(listen->texts, listen->address, 0, &host, &port, e);
	if (rc < 0)
		return rc;
	return ipfix_io_new(listen->loop, host, port, listen->buffer_bytes, listen_on_datagram,
		listen, &listen->io, e);
}

int ipfix_listen_open(const struct collector_env *env, const struct config_capture *place,
	struct ipfix_listen **ret, struct err *e)
{
	struct ipfix_listen *l = rw_calloc(1, sizeof(*l));
	const struct ipfix_options options = {.arg = l,
		.records = listen_records,
		.free_user = listen_flow_gone,
		.refused = listen_refused};
	l->loop = env->loop;
	l->entities = env->entities;
	l->sink = *env->sink;
	l->lookup = env->lookup;
	l->config = env->config;
	l->texts = arena_new();
	l->name = arena_strdup(l->texts, place->name);
	l->address = arena_strdup(l->texts, place->listen);
	l->interval_ns = place->interval_ns;
	l->buffer_bytes = place->buffer_bytes;
	l->ring_bytes = place->push->ring_bytes;
	l->agents = sflow_agents_new(env->config, place, &l->lookup);
	l->ipfix = ipfix_new(&options);
	l->send = burst_send_new(l->loop, &l->sink);
	l->expired = mono_now();
	l->target = (struct target){.device = l->name,
		.protocol = "ipfix",
		.address = l->address,
		.interval_ns = l->interval_ns};
	int rc = listen_profiles(l, place->push->profile_dir, e);
	if (rc == 0)
		rc = listen_io(l, e);
	if (rc < 0) {
		ipfix_listen_free(l);
		return rc;
	}
	listen_begin(l, wall_now().ns);
	l->tick = loop_timer_new(l->loop, listen_on_tick, l);
	loop_timer_start(l->tick, TICK, TICK);
	target_change(&l->target, TARGET_STARTING, loop_now(l->loop), wall_now(), NULL);
	target_change(&l->target, TARGET_UP, loop_now(l->loop), wall_now(), NULL);
	if (l->sink.target)
		l->sink.target(l->sink.arg, &l->target);
	*ret = l;
	return 0;
}

static void listen_source_free(struct listen_source *source)
{
	burst_free(source->burst);
	push_objects_free(source->objects);
	free(source->device);
	free(source);
}

void ipfix_listen_free(struct ipfix_listen *listen)
{
	if (!listen)
		return;
	if (listen->tick)
		ipfix_listen_end(listen, wall_now().ns);
	loop_timer_free(listen->tick);
	ipfix_io_free(listen->io);
	ipfix_free(listen->ipfix); /* and with it the flows */
	burst_send_free(listen->send);
	sflow_agents_free(listen->agents);
	for (size_t i = 0; i < listen->n_sources; i++)
		listen_source_free(listen->sources[i]);
	push_map_free(listen->map);
	profiles_free(listen->profiles);
	free(listen->flows);
	free(listen->samples);
	arena_free(listen->texts);
	free(listen);
}

/* ---- the collector --------------------------------------------------------------------- */

static bool ipfix_collector_place(
	const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_pushes)
		return false;
	const struct config_capture *place = &config->pushes[i];
	*ret = (struct collector_place){.name = place->name, .address = str_or(place->listen, "")};
	if (place->push && place->push->ipfix)
		ret->config = place;
	return true;
}

static int ipfix_collector_open(
	const struct collector_env *env, const void *place, void **ret, struct err *e)
{
	struct ipfix_listen *listen;
	const int rc = ipfix_listen_open(env, place, &listen, e);
	if (rc == 0)
		*ret = listen;
	return rc;
}

static bool ipfix_collector_same(
	const void *instance, const void *place, const struct config *config)
{
	const struct ipfix_listen *listen = instance;
	const struct config_capture *is = place;
	return str_eq(listen->name, is->name) && str_eq(listen->address, is->listen) &&
		listen->interval_ns == is->interval_ns && is->push &&
		listen->buffer_bytes == is->buffer_bytes &&
		listen->ring_bytes == is->push->ring_bytes;
}

/* Addresses, devices and objects may be others now. A template of an address that is another device
 * now begins anew with its next record. */
static void ipfix_collector_update(void *instance, const void *place, const struct config *config)
{
	struct ipfix_listen *listen = instance;
	listen->config = config;
	sflow_agents_free(listen->agents);
	listen->agents = sflow_agents_new(config, place, &listen->lookup);
	for (size_t i = 0; i < listen->n_sources; i++) {
		struct listen_source *source = listen->sources[i];
		push_objects_free(source->objects);
		source->objects = source_objects(config, source->device);
	}
	for (size_t i = 0; i < listen->n_flows; i++)
		listen_flow_means(listen, ipfix_flow_owner(listen->flows[i]), listen->flows[i]);
	/* those that are allowed now, or no more, need not be named any more */
	listen->strangers.n = listen->refused.n = 0;
}

static void ipfix_collector_close(void *instance)
{
	ipfix_listen_free(instance);
}

/* Without names: all sources, as long as they are few. */
static bool source_wanted(const struct ipfix_listen *listen, const struct listen_source *source,
	const char *const *devices, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_eq(devices[i], source->device))
			return true;
	return n == 0 && listen->n_sources <= PIN_ALL_MAX;
}

static void ipfix_collector_pin(void *instance, const char *id, int64_t from_ns, int64_t to_ns,
	const char *const *devices, size_t n)
{
	struct ipfix_listen *listen = instance;
	for (size_t i = 0; i < listen->n_sources; i++) {
		struct listen_source *source = listen->sources[i];
		if (source_wanted(listen, source, devices, n))
			burst_send_add(
				listen->send, id, source->device, source->burst, from_ns, to_ns);
	}
}

static const struct target *ipfix_collector_state(const void *instance)
{
	return &((const struct ipfix_listen *)instance)->target;
}

static void ipfix_figures_ring(
	const struct ipfix_listen *listen, collector_figure_fn *fn, void *arg)
{
	uint64_t bytes = 0, values = 0, disorder = 0;
	double seconds = 0;
	for (size_t i = 0; i < listen->n_sources; i++) {
		struct burst_span span;
		burst_span(listen->sources[i]->burst, &span);
		const double own = (double)(span.to_ns - span.from_ns) / 1e9;
		if (i == 0 || own < seconds)
			seconds = own; /* of the ring that holds the fewest */
		bytes += span.bytes;
		values += span.values;
		disorder += span.disorder;
	}
	fn(arg, "ring_seconds", "s", seconds);
	fn(arg, "ring_bytes", "", (double)bytes);
	fn(arg, "ring_values", "", (double)values);
	fn(arg, "ring_disorder", "", (double)disorder);
}

static void ipfix_figures_named(
	const struct listen_named *named, const char *prefix, collector_figure_fn *fn, void *arg)
{
	for (size_t i = 0; i < named->n; i++) {
		char key[ADDRESS_TEXT_MAX + 16];
		snprintf(key, sizeof(key), "%s_%s", prefix, named->v[i].host);
		fn(arg, key, "", (double)named->v[i].times);
	}
}

static void ipfix_collector_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	const struct ipfix_listen *listen = instance;
	const struct ipfix_counts *c = ipfix_counts(listen->ipfix);
	const struct ipfix_unknown *u = &listen->unknown;
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = {
		{"kernel_drops", ipfix_io_drops(listen->io)},
		{"kernel_buffer", ipfix_io_buffer(listen->io)},
		{"datagrams", listen->datagrams},
		{"strangers", listen->from_strangers},
		{"bad_datagrams", c->bad},
		{"other_versions", c->other_versions},
		{"records", c->records},
		{"values", c->values},
		{"values_stored", listen->stored},
		{"templates", ipfix_templates(listen->ipfix)},
		{"templates_changed", c->changed},
		{"templates_expired", c->expired},
		{"templates_refused", c->refused},
		{"withdrawals_ignored", c->ignored_withdrawals},
		{"early_sets", c->early},
		{"options_records", c->options},
		{"variable_sets", c->variable},
		{"lost_records", c->lost},
		{"reordered", c->reordered},
		{"uncounted", c->uncounted},
		{"no_device", listen->no_device},
		{"clock_off", listen->clock_off},
		{"unknown_values", u->values},
		{"unknown_objects", u->objects},
		{"impossible_values", u->impossible},
		{"unknown_more", u->more},
		{"sources", listen->n_sources},
		{"bursts_refused", burst_send_refused(listen->send)},
	};
	for (size_t i = 0; i < rw_countof(figures); i++)
		fn(arg, figures[i].key, "", (double)figures[i].value);
	for (size_t i = 0; i < u->n_names; i++) {
		char key[IPFIX_UNKNOWN_KEY + 16];
		snprintf(key, sizeof(key), "unknown_%.54s", u->names[i].key);
		fn(arg, key, "", (double)u->names[i].values);
	}
	ipfix_figures_named(&listen->strangers, "stranger", fn, arg);
	ipfix_figures_named(&listen->refused, "refused", fn, arg);
	ipfix_figures_ring(listen, fn, arg);
}

const struct collector collector_ipfix = {.name = "ipfix",
	.role = COLLECTS_PACKETS,
	.own_process = true,
	.family = "push",
	.place = ipfix_collector_place,
	.open = ipfix_collector_open,
	.same = ipfix_collector_same,
	.update = ipfix_collector_update,
	.close = ipfix_collector_close,
	.state = ipfix_collector_state,
	.pin = ipfix_collector_pin,
	.figures = ipfix_collector_figures};
