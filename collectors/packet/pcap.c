/* pcap - captures of the agent: intervals, flow rows, and what to do when an interface goes. */
#include "collectors/packet/pcap.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"
#include "collectors/packet/capture_analysis.h"
#include "collectors/packet/flow_rows.h"
#include "collectors/packet/pcap_handle.h"

#define RETRY_MIN (1 * NS_PER_S)
#define RETRY_MAX (15 * NS_PER_S)
#define TICK (200 * NS_PER_MS) /* how often the clock is compared with the end of the interval */
#define GRACE (300 * NS_PER_MS) /* the kernel hands frames over at most PCAP_BLOCK_MS late */
/* a clock that jumps further ahead does not leave empty intervals behind */
#define SKIP_INTERVALS 16
enum { PACKETS_PER_TURN = 4096, SNAPLEN_USUAL = 192 };
/* While no RoCE was seen, some frames of any kind are looked at: a mirror that carries the wrong
 * traffic differs from one that carries nothing. */
enum { CENSUS_PER_INTERVAL = 64, CENSUS_SNAPLEN = 64 };
#define CENSUS_BUFFER (64u << 10)

struct capture {
	struct loop *loop;
	struct arena *arena; /* the copied configuration */
	struct config_capture config;
	struct sink sink;
	struct target target;
	struct entities *entities; /* .entity is held there */
	uint32_t entity;
	enum flow_dir filter_dir; /* what of the interface is captured */
	enum flow_dir dir; /* seen from the port that it stands for */
	/* kept while BACKOFF: without privileges it can be revived, but not opened again */
	struct pcap_handle *handle;
	struct pcap_handle *census_handle; /* NULL when RoCE was seen, or it cannot be opened */
	struct frame_census census;
	struct loop_fd *fd; /* NULL unless UP */
	struct loop_timer *tick;
	int64_t retry_ns; /* pause before the next try */
	mono_t next_try;
	struct capture_analysis analysis;
	struct packet_origin origin;
	int64_t from_ns, to_ns; /* interval under way, wall clock */
	uint64_t kernel_drops, copies;
	struct complaint drops_complaint;
};

/* ---- opening ------------------------------------------------------------- */

static struct pcap_ask capture_ask(const struct capture *capture)
{
	const struct config_capture *config = &capture->config;
	struct pcap_ask ask = {.interface = config->interface,
		.netns = config->netns,
		.snaplen = SNAPLEN_USUAL,
		.buffer_bytes = config->buffer_bytes,
		.direction = capture->filter_dir};
	if (config->snaplen)
		ask.snaplen = config->snaplen;
	return ask;
}

/* A second look at the interface, without the filter. What cannot be opened is done without. */
static void census_open(struct capture *capture)
{
	struct err ignored = {0};
	struct pcap_ask ask = capture_ask(capture);
	ask.snaplen = CENSUS_SNAPLEN;
	ask.buffer_bytes = CENSUS_BUFFER;
	ask.every_frame = true;
	pcap_handle_free(capture->census_handle);
	capture->census_handle = NULL;
	pcap_handle_open(&ask, &capture->census_handle, &ignored);
}

static void census_close(struct capture *capture)
{
	pcap_handle_free(capture->census_handle);
	capture->census_handle = NULL;
}

static void on_census_frame(
	void *arg, int64_t t_ns, const uint8_t *bytes, uint32_t n, uint32_t wire)
{
	struct capture *capture = arg;
	if (pcap_handle_link(capture->census_handle) == LINK_ETHERNET)
		frame_census_add(&capture->census, bytes, n);
}

static void census_take(struct capture *capture)
{
	struct err ignored = {0};
	if (!capture->census_handle)
		return;
	pcap_handle_read(
		capture->census_handle, CENSUS_PER_INTERVAL, on_census_frame, capture, &ignored);
	if (capture->analysis.count.roce_packets > 0)
		census_close(capture);
}

/* ---- intervals ----------------------------------------------------------- */

static void interval_begin(struct capture *capture, int64_t now_ns)
{
	capture->from_ns = now_ns;
	capture->to_ns = (now_ns / capture->config.interval_ns + 1) * capture->config.interval_ns;
}

/* Packets that the kernel dropped since the last call. The capture lost them, not the network. */
static uint32_t drops_since(struct capture *capture)
{
	if (!capture->handle)
		return 0;
	const uint32_t n = pcap_handle_drops(capture->handle);
	capture->kernel_drops += n;
	return n;
}

static int64_t pcap_sooner(int64_t left_ns, int64_t right_ns)
{
	if (left_ns < right_ns)
		return left_ns;
	return right_ns;
}

static void capture_dropped(struct capture *capture, uint32_t dropped, int64_t end_ns)
{
	const mono_t now = mono_now();
	const char *name = capture->config.name;
	char text[160];
	if (!dropped) {
		complaint_over(&capture->drops_complaint, now, name, "no more dropped packets");
		return;
	}
	capture->target.errors++;
	snprintf(text, sizeof(text),
		"the kernel dropped %u packets of capture %s: PSN gaps of this interval are "
		"unknown; raise its buffer or lower its load",
		dropped, name);
	if (!complain(&capture->drops_complaint, now, LOG_WARN_, name, "%s", text))
		return;
	if (capture->sink.event)
		capture->sink.event(capture->sink.arg, end_ns, "capture_drops",
			capture->config.device, capture->config.port, text);
}

static void pcap_interval_end(struct capture *capture, int64_t end_ns)
{
	struct flow_sample rows[FLOW_ROWS_MAX];
	const mono_t begin = mono_now();
	const struct flow_rows_of of = {.from_ns = capture->from_ns,
		.to_ns = end_ns,
		.entity = capture->entity,
		.dir = capture->dir,
		.capture_lost = drops_since(capture)};
	capture_dropped(capture, (uint32_t)of.capture_lost, end_ns);
	census_take(capture);
	if (end_ns > capture->from_ns) {
		const size_t n = flow_rows(&capture->analysis, &of, rows);
		capture->target.values += n;
		capture->copies += rows[0].copies;
		if (capture->sink.flows)
			capture->sink.flows(capture->sink.arg, rows, n);
	}
	capture_analysis_next(&capture->analysis);
	target_polled(&capture->target, (double)(mono_now().ns - begin.ns) / 1e9, (wall_t){end_ns});
	if (capture->sink.target)
		capture->sink.target(capture->sink.arg, &capture->target);
}

/* Close the intervals that have ended at @t_ns. */
static void interval_advance(struct capture *capture, int64_t t_ns)
{
	if (t_ns < capture->from_ns - capture->config.interval_ns ||
		t_ns - capture->to_ns > SKIP_INTERVALS * capture->config.interval_ns) {
		/* the clock was set: the packets counted so far keep the old time */
		pcap_interval_end(capture, capture->to_ns);
		interval_begin(capture, t_ns);
		return;
	}
	while (t_ns >= capture->to_ns) {
		pcap_interval_end(capture, capture->to_ns);
		capture->from_ns = capture->to_ns;
		capture->to_ns += capture->config.interval_ns;
	}
}

/* ---- running ------------------------------------------------------------- */

static void capture_changed(
	struct capture *capture, enum target_state to, const struct reason *reason)
{
	target_change(&capture->target, to, loop_now(capture->loop), wall_now(), reason);
	if (capture->sink.target)
		capture->sink.target(capture->sink.arg, &capture->target);
}

static void on_packet(void *arg, int64_t t_ns, const uint8_t *bytes, uint32_t n, uint32_t wire)
{
	struct capture *capture = arg;
	struct roce_packet packet;
	if (t_ns >= capture->to_ns)
		interval_advance(capture, t_ns);
	roce_parse(pcap_handle_link(capture->handle), bytes, n, wire, 0, &packet);
	if (packet.kind == PACKET_BAD)
		capture->target.errors++;
	capture_analysis_packet(&capture->analysis, &packet, &capture->origin, t_ns);
}

static void capture_lost(struct capture *capture, const struct reason *reason)
{
	loop_fd_free(capture->fd);
	capture->fd = NULL;
	capture->target.errors++;
	int64_t now = wall_now().ns;
	pcap_interval_end(capture, pcap_sooner(now, capture->to_ns));
	capture->retry_ns = RETRY_MIN;
	capture->next_try = (mono_t){loop_now(capture->loop).ns + capture->retry_ns};
	capture_changed(capture, TARGET_BACKOFF, reason);
}

static void capture_read(struct capture *capture)
{
	struct err why = {0};
	struct reason reason;
	if (pcap_handle_read(capture->handle, PACKETS_PER_TURN, on_packet, capture, &why) >= 0)
		return;
	reason_set(&reason, PCAP_READ, capture->config.interface, why.text);
	capture_lost(capture, &reason);
}

static void pcap_on_readable(void *arg, int events)
{
	capture_read(arg);
}

static int capture_watch(struct capture *capture)
{
	capture->fd = loop_fd_new(capture->loop, pcap_handle_fd(capture->handle), LOOP_READ,
		pcap_on_readable, capture);
	if (!capture->fd)
		return -EBADF;
	interval_begin(capture, wall_now().ns);
	capture_changed(capture, TARGET_UP, NULL);
	return 0;
}

/* An old handle lives again when its interface is up: the kernel re-attaches the socket by itself.
 */
static bool capture_revive(struct capture *capture)
{
	struct err ignored = {0};
	if (!capture->handle || pcap_handle_fault(capture->handle) != REASON_NONE)
		return false;
	interval_begin(capture, wall_now().ns); /* for packets that wait in the ring */
	if (pcap_handle_read(capture->handle, PACKETS_PER_TURN, on_packet, capture, &ignored) < 0)
		return false;
	return capture_watch(capture) == 0;
}

/* 0 when the capture is UP. Otherwise it is in BACKOFF, and the error is returned, too. */
static int capture_try(struct capture *capture, struct err *e)
{
	struct err why = {0};
	struct reason reason;
	struct pcap_handle *handle = NULL;
	const struct pcap_ask ask = capture_ask(capture);
	capture_changed(capture, TARGET_STARTING, NULL);
	int rc = pcap_handle_open(&ask, &handle, &why);
	if (rc == 0) {
		pcap_handle_free(capture->handle);
		capture->handle = handle;
		if (capture->analysis.count.roce_packets == 0)
			census_open(capture);
		rc = capture_watch(capture);
	} else if ((rc == -EPERM || rc == -EACCES) && capture_revive(capture)) {
		rc = 0;
	}
	if (rc == 0) {
		capture->retry_ns = RETRY_MIN;
		return 0;
	}
	capture->next_try = (mono_t){loop_now(capture->loop).ns + capture->retry_ns};
	if (capture->retry_ns * 2 < RETRY_MAX)
		capture->retry_ns = capture->retry_ns * 2;
	else
		capture->retry_ns = RETRY_MAX;
	if (!*why.text)
		reason_err(&why, rc, PCAP_WATCH, capture->config.interface, strerror(-rc));
	reason_from(&reason, "pcap", why.text);
	capture_changed(capture, TARGET_BACKOFF, &reason);
	if (e)
		*e = why;
	return rc;
}

static void pcap_on_tick(void *arg)
{
	struct capture *c = arg;
	if (!c->fd) {
		if (loop_now(c->loop).ns >= c->next_try.ns)
			capture_try(c, NULL);
		return;
	}
	/* Also when the descriptor did not become readable: the end of an interval must not wait
	 * for a full block. */
	capture_read(c);
	enum reason_code fault = REASON_NONE;
	if (c->fd)
		fault = pcap_handle_fault(c->handle);
	if (fault != REASON_NONE) {
		struct reason reason;
		reason_of_word(&reason, fault, c->config.interface);
		capture_lost(c, &reason);
	}
	if (!c->fd)
		return;
	int64_t complete_ns = wall_now().ns - GRACE;
	/* further back than that, the clock was set: interval_advance() begins anew */
	if (complete_ns < c->from_ns && complete_ns >= c->from_ns - c->config.interval_ns)
		complete_ns = c->from_ns;
	interval_advance(c, complete_ns);
}

/* ---- open, same, update, free -------------------------------------------- */

static const char *capture_name(const struct config_capture *config)
{
	return str_or(config->name, config->interface);
}

static const char *pcap_copy(struct arena *a, const char *text)
{
	if (text)
		return arena_strdup(a, text);
	return NULL;
}

static enum flow_dir pcap_direction(const char *text)
{
	if (str_eq(text, "in"))
		return FLOW_DIR_IN;
	if (str_eq(text, "out"))
		return FLOW_DIR_OUT;
	return FLOW_DIR_UNKNOWN;
}

int capture_open(struct loop *loop, struct entities *entities, const struct config_capture *config,
	const struct sink *sink, struct capture **ret, struct err *e)
{
	if (config->interval_ns <= 0)
		return reason_err(e, -EINVAL, PCAP_INTERVAL, config->name);
	struct capture *c = rw_calloc(1, sizeof(*c));
	struct arena *a = c->arena = arena_new();
	c->loop = loop;
	c->sink = *sink;
	c->config = *config;
	c->config.name = pcap_copy(a, capture_name(config));
	c->config.interface = pcap_copy(a, config->interface);
	c->config.listen = pcap_copy(a, config->listen);
	c->config.netns = pcap_copy(a, config->netns);
	c->config.device = pcap_copy(a, config->device);
	c->config.port = pcap_copy(a, config->port);
	c->config.direction = pcap_copy(a, config->direction);
	c->config.mirrored = pcap_copy(a, config->mirrored);
	c->filter_dir = pcap_direction(config->direction);
	c->dir = pcap_direction(config->mirrored);
	if (c->dir == FLOW_DIR_UNKNOWN)
		c->dir = c->filter_dir;
	c->entity = entities_intern(entities, str_or(c->config.device, c->config.name),
		str_or(c->config.port, c->config.interface), PRIO_NONE);
	entities_hold(entities, c->entity);
	c->entities = entities;
	/* the capture's own name, not the mirrored device's: several captures may mirror one */
	c->target.device = c->config.name;
	c->target.protocol = "pcap";
	if (c->config.netns)
		c->target.address = arena_printf(a, "%s@%s", c->config.interface, c->config.netns);
	else
		c->target.address = c->config.interface;
	c->retry_ns = RETRY_MIN;
	uint64_t seed = 0;
	/* 16 random bytes that the kernel gives each process: nobody can predict the hash order */
	const void *random = (const void *)getauxval(AT_RANDOM);
	if (random)
		memcpy(&seed, random, sizeof(seed));
	const struct analysis_options options = {
		.flow_limit = FLOW_TABLE_LIMIT, .sampling = config->sampling, .seed = seed};
	capture_analysis_init(&c->analysis, &options);
	c->origin.direction = (uint8_t)c->dir;
	c->tick = loop_timer_new(loop, pcap_on_tick, c);

	struct err why = {0};
	int rc = capture_try(c, &why);
	if (rc < 0 && rc != -ENODEV && rc != -ENETDOWN) {
		capture_free(c);
		return err_set(e, rc, "capture %s: %s", capture_name(config), why.text);
	}
	loop_timer_start(c->tick, TICK, TICK);
	*ret = c;
	return 0;
}

bool capture_same(const struct capture *capture, const struct config_capture *config_capture)
{
	const struct config_capture *is = &capture->config;
	if (!str_eq(is->name, capture_name(config_capture)) ||
		!str_eq(is->interface, config_capture->interface) ||
		!str_eq(is->listen, config_capture->listen) ||
		!str_eq(is->netns, config_capture->netns))
		return false;
	if (!str_eq(is->device, config_capture->device) ||
		!str_eq(is->port, config_capture->port) ||
		!str_eq(is->direction, config_capture->direction) ||
		!str_eq(is->mirrored, config_capture->mirrored))
		return false;
	return is->sampling == config_capture->sampling && is->snaplen == config_capture->snaplen &&
		is->buffer_bytes == config_capture->buffer_bytes &&
		is->interval_ns == config_capture->interval_ns;
}

void capture_update(struct capture *capture, const struct config_capture *config)
{
	capture->config.line = config->line;
}

void capture_free(struct capture *capture)
{
	if (!capture)
		return;
	struct err ignored = {0};
	if (capture->fd) {
		/* What the ring holds belongs to the interval. Once through is enough: new packets
		 * are not waited for. */
		pcap_handle_read(capture->handle, PACKETS_PER_TURN, on_packet, capture, &ignored);
		int64_t now = wall_now().ns;
		pcap_interval_end(capture, pcap_sooner(now, capture->to_ns));
		loop_fd_free(capture->fd);
	}
	loop_timer_free(capture->tick);
	pcap_handle_free(capture->handle);
	census_close(capture);
	capture_analysis_end(&capture->analysis);
	entities_drop(capture->entities, capture->entity);
	arena_free(capture->arena);
	free(capture);
}

const struct target *capture_state(const struct capture *capture)
{
	return &capture->target;
}

void capture_counts(const struct capture *capture, struct capture_counts *ret)
{
	uint64_t frames;
	*ret = (struct capture_counts){.count = &capture->analysis.count,
		.encapsulation = &capture->analysis.encapsulation,
		.kernel_drops = capture->kernel_drops,
		.copies = capture->copies,
		.interface_frames = -1,
		.census = capture->census};
	if (capture->handle && pcap_handle_frames(capture->handle, &frames))
		ret->interface_frames = (double)frames;
}

/* ---- the collector ------------------------------------------------------- */

static bool pcap_collector_place(const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_captures)
		return false;
	const struct config_capture *capture = &config->captures[i];
	*ret = (struct collector_place){
		.name = capture->name, .address = str_or(capture->interface, "")};
	if (capture->interface) /* else it is one of sFlow */
		ret->config = capture;
	return true;
}

static int pcap_collector_open(
	const struct collector_env *env, const void *place, void **ret, struct err *e)
{
	struct capture *capture;
	int rc = capture_open(env->loop, env->entities, place, env->sink, &capture, e);
	if (rc == 0)
		*ret = capture;
	return rc;
}

static bool pcap_collector_same(
	const void *instance, const void *place, const struct config *config)
{
	return capture_same(instance, place);
}

static void pcap_collector_update(void *instance, const void *place, const struct config *config)
{
	capture_update(instance, place);
}

static void pcap_collector_close(void *instance)
{
	capture_free(instance);
}

static const struct target *pcap_collector_state(const void *instance)
{
	return capture_state(instance);
}

/* Frames that came in a tunnel or a mirror; tags are neither. One in two tunnels counts once where
 * all are alike. */
static double pcap_tunneled(const struct encapsulation_count *count)
{
	uint64_t most = 0;
	for (int layer = LAYER_MPLS; layer < LAYER_COUNT; layer++)
		if (count->by_layer[layer] > most)
			most = count->by_layer[layer];
	return (double)most;
}

static uint64_t pcap_sum(const uint64_t *counts, size_t n)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++)
		sum += counts[i];
	return sum;
}

static void pcap_figure_kind(
	collector_figure_fn *fn, void *arg, const char *what, const char *kind, uint64_t n)
{
	char key[64];
	if (!n)
		return;
	snprintf(key, sizeof(key), "%s_%s", what, kind);
	fn(arg, key, "", (double)n);
}

static void pcap_collector_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	struct capture_counts counts;
	capture_counts(instance, &counts);
	const struct roce_count *count = counts.count;
	const struct encapsulation_count *encapsulation = counts.encapsulation;
	fn(arg, "frames", "", (double)count->packets);
	fn(arg, "roce", "", (double)count->roce_packets);
	fn(arg, "rocev1", "", (double)count->rocev1_packets);
	fn(arg, "uet", "", (double)pcap_sum(encapsulation->uet, UET_CLASS_COUNT));
	fn(arg, "srv6", "", (double)encapsulation->roce_srv6);
	fn(arg, "trimmed", "", (double)encapsulation->trimmed);
	fn(arg, "tunneled", "", pcap_tunneled(encapsulation));
	fn(arg, "encapsulated", "", (double)pcap_sum(encapsulation->refused, REFUSED_COUNT));
	fn(arg, "bad", "", (double)roce_count_bad(count));
	fn(arg, "aeth_cut", "", (double)count->aeth_cut);
	fn(arg, "requests", "", (double)roce_count_requests(count));
	fn(arg, "answers", "", (double)roce_count_answers(count));
	fn(arg, "copies", "", (double)counts.copies);
	fn(arg, "kernel_drops", "", (double)counts.kernel_drops);
	if (counts.interface_frames >= 0)
		fn(arg, "interface_frames", "", counts.interface_frames);
	for (int kind = 0; kind < CENSUS_KINDS; kind++)
		pcap_figure_kind(
			fn, arg, "instead", frame_census_name(kind), counts.census.frames[kind]);
	for (int kind = 0; kind < REFUSED_COUNT; kind++)
		pcap_figure_kind(
			fn, arg, "refused", decap_refusal_name(kind), encapsulation->refused[kind]);
}

const struct collector collector_pcap = {.name = "pcap",
	.role = COLLECTS_PACKETS,
	.own_process = true,
	.family = "capture",
	.place = pcap_collector_place,
	.open = pcap_collector_open,
	.same = pcap_collector_same,
	.update = pcap_collector_update,
	.close = pcap_collector_close,
	.state = pcap_collector_state,
	.figures = pcap_collector_figures};
