/* pcap - captures on an interface with libpcap, whose header no other file includes. */
#include "collectors/packet/pcap.h"

#include <errno.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <poll.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/loop.h"
#include "agent/base/netns.h"
#include "agent/base/str.h"
#include "collectors/packet/flow_table.h"

#define RETRY_MIN (1 * NS_PER_S)
#define RETRY_MAX (15 * NS_PER_S)
#define TICK (200 * NS_PER_MS) /* how often the clock is compared with the end of the interval */
#define GRACE (300 * NS_PER_MS) /* the kernel hands blocks over at most BLOCK_MS late */
/* a clock that jumps further ahead does not leave empty intervals behind */
#define SKIP_INTERVALS 16
enum {
	BLOCK_MS = 100,
	PACKETS_PER_TURN = 4096,
	BUFFER_MAX = 1 << 30,
	SNAPLEN_WATCH = 192,
	SNAPLEN_USUAL = 128
};

struct capture {
	struct loop *loop;
	struct arena *arena; /* the copied configuration */
	struct config_capture config;
	struct sink sink;
	struct target target;
	uint32_t entity;
	enum flow_dir dir;
	/* kept while BACKOFF: without privileges it can be revived, but not opened again */
	pcap_t *handle;
	enum roce_link link;
	int ifindex; /* of what the handle is bound to */
	struct loop_fd *fd; /* NULL unless UP */
	struct loop_timer *tick;
	int64_t retry_ns; /* pause before the next try */
	mono_t next_try;
	struct flow_table *flows;
	int64_t from_ns, to_ns; /* interval under way, wall clock */
	uint32_t drops; /* the handle's count when it was read last */
	struct complaint drops_complaint;
	struct capture_counts counts;
};

/* ---- opening ------------------------------------------------------------- */

static int activate_error(int rc, pcap_t *handle, const char *interface, struct err *e)
{
	const char *text = pcap_geterr(handle);
	switch (rc) {
	case PCAP_ERROR_NO_SUCH_DEVICE: return reason_err(e, -ENODEV, PCAP_NO_INTERFACE, interface);
	case PCAP_ERROR_IFACE_NOT_UP: return reason_err(e, -ENETDOWN, PCAP_DOWN, interface);
	case PCAP_ERROR_PERM_DENIED: return reason_err(e, -EPERM, PCAP_PERMISSION, interface);
	case PCAP_ERROR_PROMISC_PERM_DENIED:
		return reason_err(e, -EPERM, PCAP_PROMISCUOUS, interface);
	default: break;
	}
	if (!*text)
		text = pcap_statustostr(rc);
	return reason_err(e, -EIO, PCAP_LIBRARY, interface, text);
}

static void pcap_closep(pcap_t **pcap)
{
	if (*pcap)
		pcap_close(*pcap);
}

/* In the namespace we are in. */
static int open_here(const char *interface, uint32_t snaplen, uint64_t buffer_bytes,
	pcap_direction_t direction, pcap_t **ret, struct err *e)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	rw_cleanup(pcap_closep) pcap_t *p = pcap_create(interface, text);
	if (!p)
		return reason_err(e, -EINVAL, PCAP_LIBRARY, interface, text);
	pcap_set_snaplen(p, (int)snaplen);
	pcap_set_promisc(p, 1); /* mirrored frames are not addressed to us */
	pcap_set_timeout(p, BLOCK_MS);
	pcap_set_tstamp_precision(p, PCAP_TSTAMP_PRECISION_NANO);
	if (buffer_bytes > BUFFER_MAX)
		buffer_bytes = BUFFER_MAX;
	if (buffer_bytes)
		pcap_set_buffer_size(p, (int)buffer_bytes);
	int rc = pcap_activate(p);
	if (rc < 0)
		return activate_error(rc, p, interface, e);
	if (link_of_dlt((uint32_t)pcap_datalink(p)) == LINK_UNSUPPORTED)
		return reason_err(e, -ENOTSUP, PCAP_LINK_TYPE, interface,
			pcap_datalink_val_to_description_or_dlt(pcap_datalink(p)));
	struct bpf_program program;
	/* A raw IP interface (tun) has no ethertypes to ask for. */
	const char *filter = "udp port 4791";
	if (pcap_datalink(p) == DLT_EN10MB)
		filter = PCAP_FILTER;
	if (pcap_compile(p, &program, filter, 1, PCAP_NETMASK_UNKNOWN))
		return reason_err(e, -EINVAL, PCAP_LIBRARY, interface, pcap_geterr(p));
	rc = pcap_setfilter(p, &program);
	pcap_freecode(&program);
	if (rc || pcap_setnonblock(p, 1, text))
		return reason_err(e, -EIO, PCAP_LIBRARY, interface, *text ? text : pcap_geterr(p));
	if (direction != PCAP_D_INOUT && pcap_setdirection(p, direction))
		return reason_err(e, -ENOTSUP, PCAP_DIRECTION, interface, pcap_geterr(p));
	*ret = rw_take(p);
	return 0;
}

static int open_handle(const struct config_capture *capture, pcap_t **ret, struct err *e)
{
	pcap_direction_t direction = PCAP_D_INOUT;
	if (str_eq(capture->direction, "in"))
		direction = PCAP_D_IN;
	else if (str_eq(capture->direction, "out"))
		direction = PCAP_D_OUT;
	int back;
	struct err why = {0};
	int rc = netns_enter(capture->netns, &back, &why);
	if (rc < 0)
		return reason_err(e, rc, PCAP_NETNS, why.text);
	uint32_t snaplen = SNAPLEN_USUAL;
	if (capture->snaplen)
		snaplen = capture->snaplen;
	rc = open_here(capture->interface, snaplen, capture->buffer_bytes, direction, ret, e);
	netns_leave(back);
	return rc;
}

static int64_t header_ns(const struct pcap_pkthdr *header)
{
	/* nanosecond precision was asked for: libpcap scales */
	return (int64_t)header->ts.tv_sec * NS_PER_S + header->ts.tv_usec;
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
	struct pcap_stat s;
	if (!capture->handle || pcap_stats(capture->handle, &s))
		return 0;
	uint32_t n = s.ps_drop - capture->drops; /* wraps with the library's counter */
	capture->drops = s.ps_drop;
	capture->counts.kernel_drops += n;
	return n;
}

static int64_t pcap_sooner(int64_t left_ns, int64_t right_ns)
{
	if (left_ns < right_ns)
		return left_ns;
	return right_ns;
}

static void pcap_interval_end(struct capture *capture, int64_t end_ns)
{
	struct flow_sample rows[FLOW_TOP + 1];
	uint32_t dropped = drops_since(capture);
	mono_t begin = mono_now();
	if (dropped) {
		char text[160];
		capture->target.errors++;
		snprintf(text, sizeof(text),
			"the kernel dropped %u packets of capture %s: PSN gaps of this interval "
			"are unknown; raise its buffer "
			"or lower its load",
			dropped, capture->config.name);
		if (complain(&capture->drops_complaint, begin, LOG_WARN_, capture->config.name,
			    "%s", text) &&
			capture->sink.event)
			capture->sink.event(capture->sink.arg, end_ns, "capture_drops",
				capture->config.device, capture->config.port, text);
	} else {
		complaint_over(&capture->drops_complaint, begin, capture->config.name,
			"no more dropped packets");
	}
	if (end_ns > capture->from_ns) {
		size_t n = flow_table_samples(capture->flows, capture->from_ns, end_ns,
			capture->entity, capture->dir, dropped == 0, rows);
		capture->target.values += n;
		if (capture->sink.flows)
			capture->sink.flows(capture->sink.arg, rows, n);
	}
	flow_table_next(capture->flows);
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

static void on_packet(u_char *arg, const struct pcap_pkthdr *header, const u_char *bytes)
{
	struct capture *c = (struct capture *)(void *)arg;
	struct roce_packet p;
	int64_t t_ns = header_ns(header);
	if (t_ns >= c->to_ns)
		interval_advance(c, t_ns);
	roce_parse(c->link, bytes, header->caplen, header->len, 0, &p);
	c->counts.frames++;
	c->counts.roce += p.kind == PACKET_ROCE;
	c->counts.bad += p.kind == PACKET_BAD;
	if (p.kind == PACKET_ROCE || p.kind == PACKET_ROCEV1)
		flow_table_add(c->flows, &p, t_ns);
	else if (p.kind == PACKET_BAD)
		c->target.errors++;
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
	int n = pcap_dispatch(capture->handle, PACKETS_PER_TURN, on_packet, (u_char *)capture);
	if (n >= 0)
		return;
	struct reason reason;
	reason_set(&reason, PCAP_READ, capture->config.interface, pcap_geterr(capture->handle));
	capture_lost(capture, &reason);
}

/*
 * What is wrong with the interface, or REASON_NONE. libpcap does not always tell: a socket whose
 * interface went down, or was replaced by another of the same name, is only silent. The ioctls act
 * in the socket's namespace and need no privilege.
 */
static enum reason_code interface_fault(const struct capture *capture, int *ret_ifindex)
{
	struct ifreq r;
	*ret_ifindex = 0;
	if (str_eq(capture->config.interface, "any")) /* all of them: never gone */
		return REASON_NONE;
	memset(&r, 0, sizeof(r));
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", capture->config.interface);
	if (ioctl(pcap_fileno(capture->handle), SIOCGIFINDEX, &r))
		return REASON_PCAP_WENT_GONE;
	*ret_ifindex = r.ifr_ifindex;
	if (ioctl(pcap_fileno(capture->handle), SIOCGIFFLAGS, &r))
		return REASON_PCAP_WENT_GONE;
	if (r.ifr_flags & IFF_UP)
		return REASON_NONE;
	return REASON_PCAP_WENT_DOWN;
}

static void pcap_on_readable(void *arg, int events)
{
	capture_read(arg);
}

static int capture_watch(struct capture *capture)
{
	capture->link = link_of_dlt((uint32_t)pcap_datalink(capture->handle));
	capture->fd = loop_fd_new(capture->loop, pcap_get_selectable_fd(capture->handle), LOOP_READ,
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
	int ifindex;
	if (!capture->handle || interface_fault(capture, &ifindex) || ifindex != capture->ifindex)
		return false;
	interval_begin(capture, wall_now().ns); /* for packets that wait in the ring */
	return pcap_dispatch(capture->handle, PACKETS_PER_TURN, on_packet, (u_char *)capture) >=
		0 &&
		capture_watch(capture) == 0;
}

/* 0 when the capture is UP. Otherwise it is in BACKOFF, and the error is returned, too. */
static int capture_try(struct capture *capture, struct err *e)
{
	struct err why = {0};
	struct reason reason;
	pcap_t *handle = NULL;
	capture_changed(capture, TARGET_STARTING, NULL);
	int rc = open_handle(&capture->config, &handle, &why);
	if (rc == 0) {
		if (capture->handle)
			pcap_close(capture->handle);
		capture->handle = handle;
		capture->drops = 0;
		interface_fault(capture, &capture->ifindex);
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
	int ifindex = c->ifindex;
	enum reason_code fault = REASON_NONE;
	if (c->fd)
		fault = interface_fault(c, &ifindex);
	if (c->fd && fault == REASON_NONE && ifindex != c->ifindex)
		fault = REASON_PCAP_REPLACED;
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

int capture_open(struct loop *loop, struct entities *entities, const struct config_capture *config,
	const struct sink *sink, struct capture **ret, struct err *e)
{
	if (!config->interface)
		return reason_err(e, -ENOTSUP, PCAP_LISTEN, config->name);
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
	if (str_eq(config->direction, "in"))
		c->dir = FLOW_DIR_IN;
	else if (str_eq(config->direction, "out"))
		c->dir = FLOW_DIR_OUT;
	else
		c->dir = FLOW_DIR_UNKNOWN;
	c->entity = entities_intern(entities, str_or(c->config.device, c->config.name),
		str_or(c->config.port, c->config.interface), PRIO_NONE);
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
	c->flows = flow_table_new(FLOW_TABLE_LIMIT, config->sampling, seed);
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
		!str_eq(is->direction, config_capture->direction))
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
	if (capture->fd) {
		/* What the ring holds belongs to the interval. Once through is enough: new packets
		 * are not waited for. */
		pcap_dispatch(capture->handle, PACKETS_PER_TURN, on_packet, (u_char *)capture);
		int64_t now = wall_now().ns;
		pcap_interval_end(capture, pcap_sooner(now, capture->to_ns));
		loop_fd_free(capture->fd);
	}
	loop_timer_free(capture->tick);
	if (capture->handle)
		pcap_close(capture->handle);
	flow_table_free(capture->flows);
	arena_free(capture->arena);
	free(capture);
}

const struct target *capture_state(const struct capture *capture)
{
	return &capture->target;
}

const struct capture_counts *capture_counts(const struct capture *capture)
{
	return &capture->counts;
}

/* ---- the foreground ------------------------------------------------------ */

struct watch {
	pcap_packet_fn *fn;
	void *arg;
	enum roce_link link;
};

static void on_watched(u_char *arg, const struct pcap_pkthdr *header, const u_char *bytes)
{
	struct watch *w = (struct watch *)(void *)arg;
	struct roce_packet p;
	roce_parse(w->link, bytes, header->caplen, header->len, 0, &p);
	w->fn(w->arg, &p, header_ns(header));
}

int pcap_watch(const char *interface, int64_t for_ns, const volatile sig_atomic_t *stop,
	pcap_packet_fn *fn, void *arg, struct pcap_watch_stats *ret, struct err *e)
{
	rw_cleanup(pcap_closep) pcap_t *p = NULL;
	int rc = open_here(interface, SNAPLEN_WATCH, 0, PCAP_D_INOUT, &p, e);
	if (rc < 0)
		return rc;
	struct watch w = {fn, arg, link_of_dlt((uint32_t)pcap_datalink(p))};
	int64_t end = INT64_MAX;
	if (for_ns)
		end = mono_now().ns + for_ns;
	struct pollfd fd = {.fd = pcap_get_selectable_fd(p), .events = POLLIN};
	while (!*stop && mono_now().ns < end) {
		poll(&fd, 1, BLOCK_MS); /* a signal or the end of time is seen within this */
		if (pcap_dispatch(p, PACKETS_PER_TURN, on_watched, (u_char *)&w) < 0)
			return err_set(e, -EIO, "%s: %s", interface, pcap_geterr(p));
	}
	while (pcap_dispatch(p, PACKETS_PER_TURN, on_watched, (u_char *)&w) == PACKETS_PER_TURN &&
		!*stop)
		;
	struct pcap_stat s;
	*ret = (struct pcap_watch_stats){0};
	if (pcap_stats(p, &s) == 0)
		ret->kernel_drops = s.ps_drop;
	return 0;
}

/* ---- the collector ------------------------------------------------------- */

static bool pcap_collector_place(const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_captures)
		return false;
	const struct config_capture *capture = &config->captures[i];
	*ret = (struct collector_place){.name = capture->name, .config = capture};
	if (capture->interface)
		ret->address = capture->interface;
	else
		ret->address = str_or(capture->listen, "");
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

static void pcap_collector_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	const struct capture_counts *counts = capture_counts(instance);
	fn(arg, "frames", "", (double)counts->frames);
	fn(arg, "roce", "", (double)counts->roce);
	fn(arg, "bad", "", (double)counts->bad);
	fn(arg, "kernel_drops", "", (double)counts->kernel_drops);
}

const struct collector collector_pcap = {.name = "pcap",
	.role = COLLECTS_PACKETS,
	.family = "capture",
	.place = pcap_collector_place,
	.open = pcap_collector_open,
	.same = pcap_collector_same,
	.update = pcap_collector_update,
	.close = pcap_collector_close,
	.state = pcap_collector_state,
	.figures = pcap_collector_figures};
