/* parser_child - a collector on a loop of its own, its sink a socket. */
#include "agent/jail/parser_child.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "agent/jail/parser_intake.h"
#include "agent/jail/parser_wire.h"
#include "agent/jail/privilege.h"
#include "agent/jail/sandbox.h"
#include "base/log.h"
#include "base/loop.h"
#include "collectors/target/collector.h"
#include "config/config.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PARSER_SANITIZED /* shadow memory is no memory, and reports go to stderr */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PARSER_SANITIZED
#endif
#endif

#define TICK_NS NS_PER_S /* of the figures, which are also the sign of life */
#define QUEUE_MAX ((size_t)8 << 20) /* bytes that wait for a slow agent */
#define MEMORY_MAX ((rlim_t)2 << 30) /* beside the kernel's ring; 65,536 flows need 100 MB */
#define NICE 5 /* under load polls go first; packets wait in the ring */
#define FLUSH_MS 1000
#define FLOW_BYTES 478 /* at most, of one row on the wire */
enum { PINNED_MAX = 64 }; /* devices of one incident */
#define SAMPLE_BYTES 28
#define NAME_BYTES (12 + PARSER_TEXT_MAX)

struct parser_child {
	struct loop *loop;
	struct parser_channel *channel;
	struct loop_timer *tick, *end;
	struct arena *settled; /* the settings */
	struct arena *map, *next; /* the map in force, and one that comes in */
	struct config *config, *building; /* in .map, in .next */
	struct config_device *devices; /* of the map that comes in */
	size_t cap_devices, cap_allow;
	const char **allow;
	struct config_capture capture;
	struct config_push push;
	bool receiver; /* it accepts connections; its libraries have threads */
	const char *user;
	const struct collector *collector;
	void *instance;
	struct entities *entities;
	bool *named; /* by entity */
	size_t n_named, cap_named;
	bool ending;
	uint64_t unsent;
	struct parser_out out;
};

static struct parser_child *log_child; /* log_set_writer() has no argument */

static void child_send(struct parser_child *child)
{
	child->unsent += !parser_channel_send(child->channel, &child->out);
}

/* At the next turn: whoever calls is in the midst of the collector. */
static void child_end_soon(struct parser_child *child)
{
	if (child->ending)
		return;
	child->ending = true;
	loop_timer_start(child->end, 0, 0);
}

/* ---- names ----------------------------------------------------------------- */

/* The devices are called "d" and their number in the configuration that we were given, all others
 * are addresses of agents; ports are "ifindex" and a number. */
static void child_put_who(struct parser_out *out, const char *device, const char *port)
{
	uint8_t host[16] = {[10] = 0xff, [11] = 0xff};
	uint8_t who = INTAKE_AGENT;
	unsigned number = 0, ifindex = 0;
	device = str_or(device, "");
	if (device[0] == 'd' && sscanf(device + 1, "%u", &number) == 1)
		who = INTAKE_DEVICE;
	else if (inet_pton(AF_INET, device, host + 12) != 1)
		inet_pton(AF_INET6, device, host);
	if (port)
		sscanf(port, "ifindex %u", &ifindex);
	parser_put_u8(out, who);
	parser_put_u32(out, number);
	parser_put_bytes(out, host, sizeof(host));
	parser_put_u32(out, ifindex);
}

/* Of what devices push themselves: ports are called what the device calls them. */
static void child_put_port(struct parser_out *out, const struct entity *entity)
{
	unsigned number = UINT32_MAX;
	sscanf(entity->device, "d%u", &number);
	parser_put_u32(out, number);
	const char *port = entity->port;
	if (!*port)
		port = NULL;
	parser_put_text(out, port);
	parser_put_u8(out, (uint8_t)entity->priority);
}

/* Was the number of @entity said, and its name with it? */
static bool *child_named(struct parser_child *child, uint32_t entity)
{
	while (child->n_named <= entity) {
		rw_grow(child->named, child->n_named, child->cap_named);
		child->named[child->n_named++] = false;
	}
	return &child->named[entity];
}

static void child_put_name(struct parser_child *child, uint32_t id)
{
	const struct entity *entity = entity_get(child->entities, id);
	bool *named = child_named(child, id);
	if (!entity || *named || child->capture.interface)
		return;
	if (child->out.n == 0 && child->capture.push)
		parser_out_begin(&child->out, PARSER_PORT_NAMES);
	else if (child->out.n == 0)
		parser_out_begin(&child->out, PARSER_NAMES);
	parser_put_u32(&child->out, id);
	if (child->capture.push)
		child_put_port(&child->out, entity);
	else
		child_put_who(&child->out, entity->device, entity->port);
	*named = true;
	if (child->out.n + NAME_BYTES <= sizeof(child->out.b))
		return;
	child_send(child);
	child->out.n = 0;
}

static void child_names_end(struct parser_child *child)
{
	if (child->out.n > 0)
		child_send(child);
}

/* ---- the sink ---------------------------------------------------------------- */

static void child_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
	struct parser_child *child = arg;
	struct parser_out *out = &child->out;
	out->n = 0;
	for (size_t i = 0; i < n; i++)
		child_put_name(child, flows[i].entity);
	child_names_end(child);
	parser_out_begin(out, PARSER_FLOWS);
	for (size_t i = 0; i < n; i++) {
		parser_put_flow(out, &flows[i]);
		const bool room = out->n + FLOW_BYTES <= sizeof(out->b);
		if (room && i + 1 < n)
			continue;
		child_send(child);
		parser_out_begin(out, PARSER_FLOWS);
	}
}

static void child_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct parser_child *child = arg;
	struct parser_out *out = &child->out;
	out->n = 0;
	for (size_t i = 0; i < n; i++)
		child_put_name(child, samples[i].entity);
	child_names_end(child);
	parser_out_begin(out, PARSER_SAMPLES);
	for (size_t i = 0; i < n; i++) {
		parser_put_sample(out, &samples[i]);
		const bool room = out->n + SAMPLE_BYTES <= sizeof(out->b);
		if (room && i + 1 < n)
			continue;
		child_send(child);
		parser_out_begin(out, PARSER_SAMPLES);
	}
}

static void child_on_target(void *arg, const struct target *target)
{
	struct parser_child *child = arg;
	struct parser_out *out = &child->out;
	double poll_s = 0;
	if (target->n_poll > 0)
		poll_s = (double)target->poll_s[(target->n_poll - 1) % TARGET_POLL_HISTORY];
	parser_out_begin(out, PARSER_TARGET);
	parser_put_u8(out, (uint8_t)target->state);
	parser_put_text(out, target->reason);
	parser_put_u64(out, target->errors);
	parser_put_u64(out, target->values);
	parser_put_u64(out, target->polls);
	parser_put_f64(out, poll_s);
	parser_put_u64(out, (uint64_t)target->last_success.ns);
	child_send(child);
	/* To open it again needs rights. */
	if (target->state == TARGET_BACKOFF)
		child_end_soon(child);
}

static void child_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	struct parser_child *child = arg;
	struct parser_out *out = &child->out;
	parser_out_begin(out, PARSER_EVENT);
	parser_put_u64(out, (uint64_t)t_ns);
	parser_put_text(out, kind);
	child_put_who(out, device, port);
	parser_put_u8(out, child->capture.interface || port);
	parser_put_text(out, text);
	child_send(child);
}

static void child_on_burst(void *arg, const struct collector_burst *burst)
{
	struct parser_child *child = arg;
	struct parser_out *out = &child->out;
	unsigned number = UINT32_MAX;
	sscanf(burst->device, "d%u", &number);
	parser_out_begin(out, PARSER_BURST);
	parser_put_text(out, burst->incident);
	parser_put_u32(out, number);
	parser_put_u64(out, (uint64_t)burst->t_ns);
	parser_put_u64(out, (uint64_t)burst->from_ns);
	parser_put_u64(out, (uint64_t)burst->to_ns);
	parser_put_u32(out, burst->part);
	parser_put_u32(out, burst->parts);
	parser_put_bytes(out, burst->data, burst->n);
	child_send(child);
}

/* An incident wants the single values of these devices. */
static void child_pin(struct parser_child *child, struct bytes *in)
{
	char id[PARSER_TEXT_MAX];
	char names[PINNED_MAX][16];
	const char *devices[PINNED_MAX];
	size_t n = 0;
	const char *text = parser_get_text(in, id);
	const int64_t from_ns = (int64_t)bytes_be64(in), to_ns = (int64_t)bytes_be64(in);
	for (; n < PINNED_MAX && bytes_left(in) > 0; n++) {
		snprintf(names[n], sizeof(names[n]), "d%u", bytes_be32(in));
		devices[n] = names[n];
	}
	if (child->instance && child->collector->pin && text && bytes_ok(in))
		child->collector->pin(child->instance, text, from_ns, to_ns, devices, n);
}

static void child_on_log(enum log_level level, const char *where, const char *text)
{
	struct parser_child *child = log_child;
	struct parser_out *out;
	/* The agent tells itself what becomes of a capture. */
	const size_t n = strlen(child->collector->name);
	if (strncmp(text, child->collector->name, n) == 0 && text[n] == ':')
		return;
	out = rw_calloc(1, sizeof(*out)); /* .out may be under way */
	parser_out_begin(out, PARSER_LOG);
	parser_put_u8(out, (uint8_t)level);
	parser_put_text(out, text);
	parser_channel_send(child->channel, out);
	free(out);
}

static void child_figure(void *arg, const char *key, const char *unit, double value)
{
	struct parser_child *child = arg;
	parser_put_text(&child->out, key);
	parser_put_f64(&child->out, value);
}

static void child_figures(void *arg)
{
	struct parser_child *child = arg;
	parser_out_begin(&child->out, PARSER_FIGURES);
	if (child->instance && child->collector->figures)
		child->collector->figures(child->instance, child_figure, child);
	child_figure(child, "unsent", "", (double)child->unsent);
	child_send(child);
}

/* ---- rights ------------------------------------------------------------------ */

static void child_limit(int which, rlim_t most)
{
	const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
	setrlimit((__rlimit_resource_t)which, &limit);
}

/* Before anything from outside is read. */
static void child_limits(void)
{
	(void)!nice(NICE); /* than the agent's, whatever that is */
#ifndef PARSER_SANITIZED
	child_limit(RLIMIT_DATA, MEMORY_MAX);
#endif
	child_limit(RLIMIT_CORE, 0);
}

/* No descriptor that could be had, and no word to anybody but the agent. */
static int child_close_descriptors(const struct parser_child *child, struct err *e)
{
#ifndef PARSER_SANITIZED
	/* standard output is /dev/null */
	rw_cleanup(closep) int unused = dup(STDOUT_FILENO);
	if (unused < 0 || dup2(STDOUT_FILENO, STDERR_FILENO) < 0)
		return err_set(e, -errno, "standard error: %s", strerror(errno));
	/* the first number that is free; poll() must still be asked about two */
	if (!child->receiver)
		child_limit(RLIMIT_NOFILE, (rlim_t)unused);
	child_limit(RLIMIT_FSIZE, 0);
#endif
	if (!child->receiver)
		child_limit(RLIMIT_NPROC, 0);
	return 0;
}

/* Everything is open: from here on this process can read packets and write to its socket. */
static int child_confine(struct parser_child *child, struct err *e)
{
	enum sandbox_kind kind = SANDBOX_PARSER;
	if (child->receiver)
		kind = SANDBOX_RECEIVER;
	int rc = privilege_end(child->user, e);
	if (rc == 0 && chdir("/") < 0)
		rc = err_set(e, -errno, "chdir: %s", strerror(errno));
	if (rc == 0)
		rc = sandbox_self(e);
	if (rc == 0)
		rc = sandbox_files(kind, NULL, e);
	if (rc == 0)
		rc = child_close_descriptors(child, e);
	/* after the change of user, which takes it away */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (rc == 0)
		rc = sandbox_calls(kind, NULL, e);
	return rc;
}

/* ---- settings and map -------------------------------------------------------- */

static const char *child_get_text(struct bytes *in, struct arena *a)
{
	char buf[PARSER_TEXT_MAX];
	const char *text = parser_get_text(in, buf);
	if (!text)
		return NULL;
	return arena_strdup(a, text);
}

/* When it was written last, only the agent asks. */
static const char *child_get_file(struct parser_child *child, struct bytes *in)
{
	const char *path = child_get_text(in, child->settled);
	bytes_be64(in);
	bytes_be64(in);
	return path;
}

static void child_push_settings(struct parser_child *child, struct bytes *in)
{
	struct config_push *push = &child->push;
	push->profile_dir = child_get_file(child, in);
	push->grpc = child_get_text(in, child->settled);
	push->http = child_get_text(in, child->settled);
	push->cert = child_get_file(child, in);
	push->key = child_get_file(child, in);
	push->client_ca = child_get_file(child, in);
	push->max_connections = bytes_be32(in);
	push->max_message = bytes_be64(in);
	push->max_points_s = bytes_be64(in);
}

static void child_settings(struct parser_child *child, struct bytes *in)
{
	struct arena *a = child->settled;
	struct config_capture *capture = &child->capture;
	const char *name = child_get_text(in, a);
	for (size_t i = 0; collectors[i]; i++)
		if (str_eq(collectors[i]->name, name))
			child->collector = collectors[i];
	capture->name = child_get_text(in, a);
	capture->interface = child_get_text(in, a);
	capture->listen = child_get_text(in, a);
	capture->netns = child_get_text(in, a);
	capture->direction = child_get_text(in, a);
	capture->mirrored = child_get_text(in, a);
	capture->sampling = bytes_be32(in);
	capture->snaplen = bytes_be32(in);
	capture->buffer_bytes = bytes_be64(in);
	capture->interval_ns = (int64_t)bytes_be64(in);
	child->user = child_get_text(in, a);
	child->push.ipfix = child_get_text(in, a);
	child->push.ring_bytes = bytes_be64(in);
	child_push_settings(child, in);
	child->receiver = child->push.grpc || child->push.http;
	if (child->push.ipfix || child->receiver)
		capture->push = &child->push;
	if (capture->push)
		entities_limit(child->entities,
			&(struct entity_limits){
				.total = INTAKE_NAMES_PUSHED, .per_device = INTAKE_NAMES_DEVICE});
	log_child = child;
	if (child->collector)
		log_set_writer(child_on_log);
}

static void child_map_begin(struct parser_child *child)
{
	arena_free(child->next);
	child->next = arena_new();
	child->building = arena_new_of(child->next, struct config);
	child->capture.n_allow = 0;
}

static void child_map_allow(struct parser_child *child, struct bytes *in)
{
	while (child->next && bytes_left(in) > 0) {
		size_t n = child->capture.n_allow;
		rw_grow(child->allow, n, child->cap_allow);
		child->allow[child->capture.n_allow++] = child_get_text(in, child->next);
	}
}

static void child_map_devices(struct parser_child *child, struct bytes *in)
{
	while (child->next && bytes_left(in) > 0) {
		struct arena *a = child->next;
		struct config *config = child->building;
		rw_grow(child->devices, config->n_devices, child->cap_devices);
		struct config_device *device = &child->devices[config->n_devices++];
		const uint32_t number = bytes_be32(in);
		struct config_sflow *sflow = arena_new_of(a, struct config_sflow);
		struct config_snmp *snmp = arena_new_of(a, struct config_snmp);
		struct config_gnmi *gnmi = arena_new_of(a, struct config_gnmi);
		struct config_device_push *push = arena_new_of(a, struct config_device_push);
		sflow->agent = child_get_text(in, a);
		snmp->address = child_get_text(in, a);
		gnmi->address = child_get_text(in, a);
		push->address = child_get_text(in, a);
		sflow->counters = bytes_u8(in) != 0;
		*device = (struct config_device){
			.name = arena_printf(a, "d%u", number), .sflow = sflow, .push = push};
		if (snmp->address)
			device->snmp = snmp;
		if (gnmi->address)
			device->gnmi = gnmi;
	}
}

/* What the object numbers of one device mean: texts of config/push_objects.h. */
static void child_map_objects(struct parser_child *child, struct bytes *in)
{
	const uint32_t at = bytes_be32(in);
	const struct config *config = child->building;
	if (!child->next || at >= config->n_devices || !bytes_ok(in))
		return;
	struct config_device_push *push = child->devices[at].push;
	const size_t n = bytes_left(in);
	char *text = arena_alloc(child->next, n + 1);
	const char **objects = arena_array(child->next, const char *, push->n_objects + 1);
	for (size_t i = 0; i < push->n_objects; i++)
		objects[i] = push->objects[i];
	memcpy(text, bytes_take(in, n), n);
	text[n] = '\0';
	objects[push->n_objects++] = text;
	push->objects = objects;
}

/* Who may push: names and an address, beside those of the device itself. */
static void child_map_sender(struct parser_child *child, struct bytes *in)
{
	struct arena *a = child->next;
	struct config *config = child->building;
	const char *name = arena_printf(a, "d%u", bytes_be32(in));
	const size_t n = bytes_u8(in);
	const char **names = arena_array(a, const char *, n + 1);
	struct config_device *device = NULL;
	for (size_t i = 0; i < n; i++)
		names[i] = str_or(child_get_text(in, a), "");
	for (size_t i = 0; i < config->n_devices && !device; i++)
		if (str_eq(child->devices[i].name, name))
			device = &child->devices[i];
	if (!device) {
		rw_grow(child->devices, config->n_devices, child->cap_devices);
		device = &child->devices[config->n_devices++];
		*device = (struct config_device){
			.name = name, .push = arena_new_of(a, struct config_device_push)};
	}
	device->push->names = names;
	device->push->n_names = n;
	device->push->address = child_get_text(in, a);
	device->push->pin = bytes_u8(in) != 0;
}

static void child_map_senders(struct parser_child *child, struct bytes *in)
{
	while (child->next && bytes_left(in) > 0)
		child_map_sender(child, in);
}

/* Ports have names in the agent alone. */
static const char *child_port_name(void *arg, const char *device, uint32_t ifindex)
{
	static char text[32];
	snprintf(text, sizeof(text), "ifindex %u", ifindex);
	return text;
}

static void child_failed(struct parser_child *child, int rc, const char *text)
{
	parser_out_begin(&child->out, PARSER_FAILED);
	parser_put_u32(&child->out, (uint32_t)-rc);
	parser_put_text(&child->out, text);
	child_send(child);
	child_end_soon(child);
}

static size_t child_backlog(void *arg)
{
	const struct parser_child *child = arg;
	return parser_channel_waiting(child->channel);
}

static void child_open(struct parser_child *child)
{
	const struct sink sink = {.arg = child,
		.samples = child_on_samples,
		.flows = child_on_flows,
		.target = child_on_target,
		.event = child_on_event,
		.burst = child_on_burst};
	const struct collector_env env = {.loop = child->loop,
		.entities = child->entities,
		.config = child->config,
		.sink = &sink,
		.lookup = {child, child_port_name, NULL},
		.backlog = {child, child_backlog}};
	struct err e = {0};
	int rc = -EINVAL;
	if (child->collector)
		rc = child->collector->open(&env, child->config->captures, &child->instance, &e);
	if (rc < 0) {
		child->instance = NULL;
		child_failed(child, rc, *e.text ? e.text : strerror(-rc));
		return;
	}
	if (child->ending) /* there is nothing to read */
		return;
	rc = child_confine(child, &e);
	if (rc < 0) {
		/* not one packet is read with rights */
		child_failed(child, rc, e.text);
		return;
	}
	loop_timer_start(child->tick, 0, TICK_NS);
}

static void child_map_end(struct parser_child *child)
{
	struct config *config = child->building;
	struct arena *before = child->map;
	if (!child->next)
		return;
	config->devices = arena_array(child->next, struct config_device, config->n_devices + 1);
	for (size_t i = 0; i < config->n_devices; i++)
		config->devices[i] = child->devices[i];
	const char **allow = arena_array(child->next, const char *, child->capture.n_allow + 1);
	for (size_t i = 0; i < child->capture.n_allow; i++)
		allow[i] = child->allow[i];
	config->captures = arena_new_of(child->next, struct config_capture);
	config->captures[0] = child->capture;
	config->captures[0].allow = allow;
	config->n_captures = 1;
	child->map = rw_take(child->next);
	child->config = config;
	child->building = NULL;
	if (child->instance)
		child->collector->update(child->instance, config->captures, config);
	else if (!child->ending)
		child_open(child);
	arena_free(before);
}

/* ---- life ---------------------------------------------------------------------- */

static void child_on_message(void *arg, const uint8_t *data, size_t n)
{
	struct parser_child *child = arg;
	struct bytes in = bytes_of(data, n);
	switch (bytes_u8(&in)) {
	case PARSER_SETTINGS: child_settings(child, &in); break;
	case PARSER_MAP_BEGIN: child_map_begin(child); break;
	case PARSER_MAP_ALLOW: child_map_allow(child, &in); break;
	case PARSER_MAP_DEVICES: child_map_devices(child, &in); break;
	case PARSER_MAP_OBJECTS: child_map_objects(child, &in); break;
	case PARSER_MAP_SENDERS: child_map_senders(child, &in); break;
	case PARSER_MAP_END: child_map_end(child); break;
	case PARSER_PIN: child_pin(child, &in); break;
	case PARSER_STOP: child_end_soon(child); break;
	default: break;
	}
}

/* Without the agent there is nobody to read packets for. */
static void child_on_closed(void *arg)
{
	_exit(1);
}

static void child_on_end(void *arg)
{
	struct parser_child *child = arg;
	if (child->instance) {
		child_figures(child);
		child->collector->close(child->instance);
		child->instance = NULL;
	}
	parser_out_begin(&child->out, PARSER_BYE);
	child_send(child);
	parser_channel_flush(child->channel, FLUSH_MS);
	loop_stop(child->loop);
}

static void child_done(struct parser_child *child)
{
	log_set_writer(NULL);
	parser_channel_free(child->channel);
	loop_timer_free(child->tick);
	loop_timer_free(child->end);
	loop_free(child->loop);
	entities_free(child->entities);
	arena_free(child->settled);
	arena_free(child->map);
	arena_free(child->next);
	free(child->named);
	free(child->devices);
	free(child->allow);
	free(child);
}

int parser_child_run(int fd)
{
	/* A terminal's Ctrl-C and the service manager's SIGTERM reach the agent, too, which then
	 * says what is to be done. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	child_limits();
	struct err e = {0};
	struct parser_child *child = rw_calloc(1, sizeof(*child));
	if (sandbox_no_rings(&e) < 0 || loop_new(&child->loop) < 0) {
		free(child);
		return 1;
	}
	const struct parser_channel_options options = {.queue_max = QUEUE_MAX,
		.message = child_on_message,
		.closed = child_on_closed,
		.arg = child};
	child->settled = arena_new();
	child->entities = entities_new();
	entities_limit(child->entities, &(struct entity_limits){.total = INTAKE_NAMES});
	child->tick = loop_timer_new(child->loop, child_figures, child);
	child->end = loop_timer_new(child->loop, child_on_end, child);
	child->channel = parser_channel_new(child->loop, fd, &options);
	int rc = 1;
	if (child->channel)
		rc = loop_run(child->loop) != 0;
	child_done(child);
	return rc;
}
