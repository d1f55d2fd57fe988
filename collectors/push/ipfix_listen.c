/*
 * ipfix_listen - receives IPFIX: a receiver of the configuration ('push' with 'ipfix'). What a
 * device sends becomes samples of its ports, at most one of each series an interval, and is kept
 * whole for the last seconds (burst), until an incident asks for it. A listener that cannot bind is
 * tried again. Loop thread.
 */

#include "base/loop.h"
#include "collectors/packet/datagram/datagram_door.h"
#include "collectors/push/burst.h"
#include "collectors/push/ipfix.h"
#include "collectors/push/push_map.h"
#include "collectors/target/collector.h"
#include "config/address.h"
#include "config/profile/profile.h"
#include "config/push_objects.h"

/* ---- burst_send ------------------------------------------------------------ */

/*
 * burst_send - hands what incidents asked for to a sink, a part at a time: a ring of 8 MB at once
 * would fill every queue behind it. Loop thread.
 */

enum {
	BURST_PART = 45000, /* bytes: with its head it fits one message of a parser */
	BURST_SEND_MAX = 64, /* rings that wait; more are refused */
};

#define PAUSE (10 * NS_PER_MS)
#define PARTS_PER_TURN 2 /* 9 MB a second */
enum { ID_MAX = 32 };

struct send_item {
	char id[ID_MAX];
	const char *device;
	struct burst *burst;
	int64_t from_ns, to_ns;
};

struct burst_send {
	struct sink sink;
	struct loop_timer *timer;
	struct send_item items[BURST_SEND_MAX];
	size_t n;
	uint8_t *data; /* of the first one; NULL: not begun */
	size_t n_data;
	int64_t t_ns, from_ns, to_ns; /* of .data */
	unsigned part, parts;
	uint64_t refused;
};

static void send_span(void *arg, const struct burst_field *field, const int64_t *t_ns,
	const uint64_t *v, size_t n)
{
	struct burst_send *send = arg;
	if (send->from_ns == 0 || t_ns[0] < send->from_ns)
		send->from_ns = t_ns[0];
	if (t_ns[n - 1] > send->to_ns)
		send->to_ns = t_ns[n - 1];
}

static void send_done(struct burst_send *send)
{
	free(send->data);
	send->data = NULL;
	for (size_t i = 1; i < send->n; i++)
		send->items[i - 1] = send->items[i];
	send->n--;
}

/* False: the first ring holds nothing of that time. */
static bool send_begin(struct burst_send *send)
{
	const struct send_item *item = &send->items[0];
	send->n_data = burst_write(item->burst, item->from_ns, item->to_ns, &send->data);
	if (send->n_data == 0)
		return false;
	send->from_ns = send->to_ns = 0;
	burst_read(send->data, send->n_data, send_span, send);
	send->t_ns = wall_now().ns;
	send->part = 0;
	send->parts = (unsigned)((send->n_data + BURST_PART - 1) / BURST_PART);
	return true;
}

static void send_part(struct burst_send *send)
{
	const struct send_item *item = &send->items[0];
	if (!send->data && !send_begin(send)) {
		send_done(send);
		return;
	}
	const size_t at = (size_t)send->part * BURST_PART;
	size_t n = send->n_data - at;
	if (n > BURST_PART)
		n = BURST_PART;
	const struct collector_burst part = {.incident = item->id,
		.device = item->device,
		.t_ns = send->t_ns,
		.from_ns = send->from_ns,
		.to_ns = send->to_ns,
		.part = send->part++,
		.parts = send->parts,
		.data = send->data + at,
		.n = n};
	if (send->sink.burst)
		send->sink.burst(send->sink.arg, &part);
	if (send->part == send->parts)
		send_done(send);
}

static void send_on_timer(void *arg)
{
	struct burst_send *send = arg;
	for (int i = 0; i < PARTS_PER_TURN && send->n > 0; i++)
		send_part(send);
	if (send->n == 0)
		loop_timer_stop(send->timer);
}

/* burst_send_add - @burst and @device are lent until they were sent; @id is copied. */
static void burst_send_add(struct burst_send *send, const char *id, const char *device,
	struct burst *burst, int64_t from_ns, int64_t to_ns)
{
	if (send->n == BURST_SEND_MAX) {
		send->refused++;
		return;
	}
	struct send_item *item = &send->items[send->n++];
	*item = (struct send_item){
		.device = device, .burst = burst, .from_ns = from_ns, .to_ns = to_ns};
	snprintf(item->id, sizeof(item->id), "%s", id);
	if (send->n == 1)
		loop_timer_start(send->timer, 0, PAUSE);
}

/* @sink is copied; @loop is lent. */
static struct burst_send *burst_send_new(struct loop *loop, const struct sink *sink)
{
	struct burst_send *send = rw_calloc(1, sizeof(*send));
	send->sink = *sink;
	send->timer = loop_timer_new(loop, send_on_timer, send);
	return send;
}

/* what waits is lost; NULL is fine */
static void burst_send_free(struct burst_send *send)
{
	if (!send)
		return;
	loop_timer_free(send->timer);
	free(send->data);
	free(send);
}

/* ---- ipfix_listen ---------------------------------------------------------- */

#define EXPIRE (60 * NS_PER_S)
#define OFF_NS (60 * NS_PER_S) /* a device's clock may be so far away from ours */

enum {
	SOURCES_MAX = 64, /* devices that send to one receiver */
	PIN_ALL_MAX = 8,
};

struct listen_source { /* a device that sends */
	char *device;
	struct burst *burst;
	struct push_objects *objects;
};

struct ipfix_listen {
	struct datagram_door door;
	struct entities *entities;
	uint64_t ring_bytes;
	const struct config *config;
	struct profiles *profiles;
	struct push_map *map;
	struct ipfix *ipfix;
	struct burst_send *send;
	struct listen_source *sources[SOURCES_MAX];
	size_t n_sources;
	struct ipfix_flow **flows; /* all there are; each is .user of its template */
	size_t n_flows, cap_flows;
	struct sample *samples;
	size_t cap_samples;
	struct ipfix_unknown unknown;
	struct refused refused; /* whose templates and sessions */
	mono_t expired;
	uint64_t no_device, clock_off, stored;
	struct complaint homeless, off, crowded;
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
	if (listen->n_sources == SOURCES_MAX)
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
		datagram_senders_device(listen->door.senders, session->source, session->source);
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
		complain(&listen->homeless, loop_now(listen->door.loop), LOG_WARN_,
			listen->door.name,
			"IPFIX from %s, which is the address of no device, or of several: counted "
			"only. Set push.address of the device",
			address_text(host, session->source));
		return;
	}
	const size_t off = ipfix_flow_add(flow, template, data, n, export_s, wall_now().ns,
		OFF_NS + listen->door.interval_ns);
	listen->clock_off += off;
	if (off > 0)
		complain(&listen->off, loop_now(listen->door.loop), LOG_WARN_, listen->door.name,
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

static void listen_refused(void *arg, const uint8_t source[16])
{
	struct ipfix_listen *listen = arg;
	char host[ADDRESS_TEXT_MAX];
	address_text(host, source);
	complain(&listen->crowded, loop_now(listen->door.loop), LOG_WARN_, listen->door.name,
		"IPFIX from %s has more templates or observation domains than leaves room for "
		"others: what is beyond is refused. Send fewer from there, or do not allow it "
		"(push.allow)",
		host);
	refused_add(&listen->refused, host);
}

static void listen_datagram(void *arg, const uint8_t source[16], const uint8_t *data, size_t n)
{
	struct ipfix_listen *listen = arg;
	ipfix_message(listen->ipfix, source, data, n, false, loop_now(listen->door.loop));
}

/* ---- the end of an interval ------------------------------------------------------ */

static void listen_flow_end(struct ipfix_listen *listen, struct ipfix_flow *flow)
{
	const size_t fields = ipfix_flow_fields(flow);
	if (fields > listen->cap_samples) {
		listen->samples = rw_realloc(listen->samples, fields * sizeof(*listen->samples));
		listen->cap_samples = fields;
	}
	const size_t n =
		ipfix_flow_end(flow, listen->door.interval_ns, &listen->unknown, listen->samples);
	listen->stored += n;
	listen->door.target.values += n;
	if (n > 0 && listen->door.sink.samples)
		listen->door.sink.samples(listen->door.sink.arg, listen->samples, n);
}

static void listen_end(void *arg, int64_t end_ns)
{
	struct ipfix_listen *listen = arg;
	const mono_t now = mono_now();
	for (size_t i = 0; i < listen->n_flows; i++)
		listen_flow_end(listen, listen->flows[i]);
	if (now.ns - listen->expired.ns < EXPIRE)
		return;
	listen->expired = now;
	ipfix_expire(listen->ipfix, now);
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

static int ipfix_bind_error(struct err *e, int rc, const char *host, unsigned port, const char *why)
{
	return reason_err(e, rc, IPFIX_BIND, host, port, why);
}

static void ipfix_dropped_step(char *ret, size_t size, uint64_t buffer)
{
	snprintf(ret, size, "raise net.core.rmem_max (the buffer has %llu bytes) and push.buffer",
		(unsigned long long)buffer);
}

static const struct datagram_protocol ipfix_protocol = {.name = "ipfix",
	.word = "IPFIX",
	.stranger_step = "Add it to push.allow, or set the device's address or push.address",
	.bind_error = ipfix_bind_error,
	.take = listen_datagram,
	.end = listen_end,
	.dropped_step = ipfix_dropped_step};

static void listen_source_free(struct listen_source *source)
{
	burst_free(source->burst);
	push_objects_free(source->objects);
	free(source->device);
	free(source);
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

static void ipfix_collector_close(void *instance)
{
	struct ipfix_listen *listen = instance;
	datagram_door_close(&listen->door);
	ipfix_free(listen->ipfix); /* and with it the flows */
	burst_send_free(listen->send);
	for (size_t i = 0; i < listen->n_sources; i++)
		listen_source_free(listen->sources[i]);
	push_map_free(listen->map);
	profiles_free(listen->profiles);
	free(listen->flows);
	free(listen->samples);
	free(listen);
}

static int ipfix_collector_open(
	const struct collector_env *env, const void *config, void **ret, struct err *e)
{
	const struct config_capture *place = config;
	struct ipfix_listen *listen = rw_calloc(1, sizeof(*listen));
	const struct ipfix_options options = {.arg = listen,
		.records = listen_records,
		.free_user = listen_flow_gone,
		.refused = listen_refused};
	listen->entities = env->entities;
	listen->config = env->config;
	listen->ring_bytes = place->push->ring_bytes;
	listen->ipfix = ipfix_new(&options);
	listen->send = burst_send_new(env->loop, env->sink);
	listen->expired = mono_now();
	int rc = listen_profiles(listen, place->push->profile_dir, e);
	if (rc == 0)
		rc = datagram_door_open(&listen->door, &ipfix_protocol, listen, env, place, e);
	if (rc < 0) {
		ipfix_collector_close(listen);
		return rc;
	}
	*ret = listen;
	return 0;
}

static bool ipfix_collector_same(
	const void *instance, const void *place, const struct config *config)
{
	const struct ipfix_listen *listen = instance;
	const struct config_capture *is = place;
	return datagram_door_same(&listen->door, is) && is->push &&
		listen->ring_bytes == is->push->ring_bytes;
}

/* Addresses, devices and objects may be others now. A template of an address that is another device
 * now begins anew with its next record. */
static void ipfix_collector_update(void *instance, const void *place, const struct config *config)
{
	struct ipfix_listen *listen = instance;
	listen->config = config;
	datagram_door_update(&listen->door, config, place);
	for (size_t i = 0; i < listen->n_sources; i++) {
		struct listen_source *source = listen->sources[i];
		push_objects_free(source->objects);
		source->objects = source_objects(config, source->device);
	}
	for (size_t i = 0; i < listen->n_flows; i++)
		listen_flow_means(listen, ipfix_flow_owner(listen->flows[i]), listen->flows[i]);
	listen->refused.n = 0; /* they may have room now */
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
	return &((const struct ipfix_listen *)instance)->door.target;
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

static void ipfix_collector_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	const struct ipfix_listen *listen = instance;
	const struct ipfix_counts *c = ipfix_counts(listen->ipfix);
	const struct ipfix_unknown *u = &listen->unknown;
	const struct {
		const char *key;
		uint64_t value;
	} figures[] = {
		{"kernel_drops", datagram_door_drops(&listen->door)},
		{"kernel_buffer", datagram_door_buffer(&listen->door)},
		{"datagrams", listen->door.datagrams},
		{"strangers", listen->door.from_strangers},
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
		{"bursts_refused", listen->send->refused},
	};
	for (size_t i = 0; i < rw_countof(figures); i++)
		fn(arg, figures[i].key, "", (double)figures[i].value);
	for (size_t i = 0; i < u->n_names; i++) {
		char key[IPFIX_UNKNOWN_KEY + 16];
		snprintf(key, sizeof(key), "unknown:%.54s", u->names[i].key);
		fn(arg, key, "", (double)u->names[i].values);
	}
	refused_figures(&listen->door.strangers, "not_allowed", fn, arg);
	refused_figures(&listen->refused, "share", fn, arg);
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
