/* pcap - captures of the agent: intervals, flow rows, and what to do when an interface goes. */
#include "collectors/packet/capture/pcap.h"

#include <fcntl.h>
#include <lazy/pcap_calls.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/loop.h"
#include "base/process.h"
#include "collectors/packet/capture/capture_analysis.h"
#include "collectors/target/reason.h"
#include "db/model/flow.h"

/*
 * What roce_parse reads or names, and nothing else: RoCEv2, sFlow, Ultra Ethernet, tunnels and
 * mirrors over IPv4 and IPv6; PFC, pause, RoCEv1, MPLS; MACsec, so that it is named.
 *
 * PCAP_FILTER is for Ethernet, untagged, with one tag and with two; "vlan" shifts the offsets of
 * all that follows it, so it comes last. PCAP_FILTER_COOKED is for Linux cooked captures, for which
 * libpcap does not know "vlan"; the kernel compares the type behind the tag there. PCAP_FILTER_IP
 * is for interfaces that begin with an IP header. An IPv6 header with extension headers is let
 * through whole: BPF does not follow them. Fragments of tunnels are let through by their first part
 * only.
 */
#define PCAP_FILTER_IP                                                                             \
	"udp dst port 4791 or udp dst port 4793 or udp dst port 6343 or udp dst port 4789 or "     \
	"udp dst port 4790 or udp dst port 6081 or udp dst port 6635 or udp dst port 4754 or "     \
	"udp dst port 8472 or udp dst port 37008 or ip proto 47 or ip6 proto 47 or ip proto 4 or " \
	"ip6 proto 4 or ip proto 41 or ip6 proto 41 or ip proto 137 or ip6 proto 137 or "          \
	"ip proto 97 or ip6 proto 97 or ip6 proto 143 or ip6 proto 43 or ip6 proto 0 or "          \
	"ip6 proto 60 or ip6 proto 44"
#define PCAP_FILTER_TYPES                                                                          \
	"ether proto 0x8808 or ether proto 0x8915 or ether proto 0x8847 or ether proto 0x8848 or " \
	"ether proto 0x88e5"
#define PCAP_FILTER_COOKED "(" PCAP_FILTER_IP " or " PCAP_FILTER_TYPES ")"
#define PCAP_FILTER                                                                                \
	PCAP_FILTER_COOKED " or (vlan and (" PCAP_FILTER_COOKED                                    \
			   " or (vlan and " PCAP_FILTER_COOKED ")))"

/*
 * What came since the capture was opened, in frames. No RoCEv2 packet
 * says that the capture sees none, not that there is none.
 */
struct capture_counts {
	/* all that the filter let through: by kind, and what it was carried in; lent */
	const struct roce_count *count;
	const struct encapsulation_count *encapsulation;
	/* up to the last end of an interval: what the kernel had no room for; packets that came
	 * twice */
	uint64_t kernel_drops, copies;
	/* of the interface, RoCE or not; < 0 not known */
	double interface_frames;
	struct frame_census census; /* what the interface shows instead, while there is no RoCE */
};

enum { PCAP_BLOCK_MS = 100 }; /* the kernel hands frames over at most so late */

struct handle_ask {
	const char *interface;
	const char *netns; /* NULL = ours */
	uint32_t snaplen;
	uint64_t buffer_bytes; /* 0 = libpcap's own choice */
	enum flow_dir direction; /* FLOW_DIR_UNKNOWN = both */
	bool every_frame; /* no filter: to find out what an interface shows instead of RoCE */
};

/* pcap_handle_read - gives at most @max waiting frames to @fn. How many, or negative errno with the
 * library's words in @e. @bytes is lent for the call; @n captured, @wire on the wire. */
typedef void pcap_frame_fn(
	void *arg, int64_t t_ns, const uint8_t *bytes, uint32_t n, uint32_t wire);

static void capture_counts(const struct capture *capture, struct capture_counts *ret);
struct pcap_handle;

/*
 * pcap_handle - one open capture of an interface. The only file behind this header knows libpcap.
 *
 * Used by the thread that opened it, or by one thread after that. Opening needs CAP_NET_RAW (and
 * CAP_SYS_ADMIN for another network namespace); everything after it needs no right at all.
 *
 * pcap_handle - captures on an interface with libpcap, whose header no other file includes.
 */

enum { BUFFER_MAX = 1 << 30 };
#define NET_DEV_MAX 262144 /* bytes of /proc/net/dev: some 2,000 interfaces */

struct pcap_handle {
	pcap_t *pcap;
	char *interface;
	enum roce_link link;
	int ifindex; /* of what it is bound to; 0 unknown */
	/* /proc/net/dev of the interface's namespace, which stays bound to it while it is open */
	int net_dev;
	bool frames_known;
	uint64_t frames; /* of the interface, when the handle was opened */
	uint32_t drops; /* of the library, when it was read last */
	pcap_frame_fn *fn; /* of the read under way */
	void *arg;
};

/* ---- the interface itself -------------------------------------------------- */

/* Frames received and sent, from the line of @interface in /proc/net/dev (proc(5)). */
static bool net_dev_line(const char *text, const char *interface, uint64_t *ret)
{
	const size_t n = strlen(interface);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += strspn(line, " \n");
		if (!*line)
			return false;
		if (strncmp(line, interface, n) != 0 || line[n] != ':')
			continue;
		uint64_t in, out;
		const char *counts = line + n + 1;
		if (sscanf(counts, "%*u %" SCNu64 " %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &in,
			    &out) != 2)
			return false;
		*ret = in + out;
		return true;
	}
	return false;
}

static bool net_dev_frames(int fd, const char *interface, uint64_t *ret)
{
	if (fd < 0)
		return false;
	rw_cleanup(freep) char *text = rw_calloc(1, NET_DEV_MAX + 1);
	size_t n = 0;
	while (n < NET_DEV_MAX) {
		const ssize_t got = pread(fd, text + n, NET_DEV_MAX - n, (off_t)n);
		if (got <= 0)
			break;
		n += (size_t)got;
	}
	return net_dev_line(text, interface, ret);
}

/* pcap_handle_frames - frames that the interface itself counted since the handle was opened, both
 * ways, whatever the filter. False where that is not known ("any"). */
static bool pcap_handle_frames(const struct pcap_handle *handle, uint64_t *ret)
{
	uint64_t now;
	if (!handle->frames_known || !net_dev_frames(handle->net_dev, handle->interface, &now))
		return false;
	*ret = now - handle->frames;
	return true;
}

/* The ioctls act in the socket's namespace and need no privilege. */
static enum reason_code handle_interface(const struct pcap_handle *handle, int *ret_ifindex)
{
	struct ifreq r;
	*ret_ifindex = 0;
	if (str_eq(handle->interface, "any")) /* all of them: never gone */
		return REASON_NONE;
	memset(&r, 0, sizeof(r));
	snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", handle->interface);
	if (ioctl(pcap_fileno(handle->pcap), SIOCGIFINDEX, &r))
		return REASON_PCAP_WENT_GONE;
	*ret_ifindex = r.ifr_ifindex;
	if (ioctl(pcap_fileno(handle->pcap), SIOCGIFFLAGS, &r))
		return REASON_PCAP_WENT_GONE;
	if (r.ifr_flags & IFF_UP)
		return REASON_NONE;
	return REASON_PCAP_WENT_DOWN;
}

/* pcap_handle_fault - what is wrong with the interface, or REASON_NONE. libpcap does not always
 * tell: a socket whose interface went down, or was replaced by another of the same name, is only
 * silent. */
static enum reason_code pcap_handle_fault(const struct pcap_handle *handle)
{
	int ifindex;
	const enum reason_code fault = handle_interface(handle, &ifindex);
	if (fault == REASON_NONE && ifindex != handle->ifindex)
		return REASON_PCAP_REPLACED;
	return fault;
}

/* ---- opening ------------------------------------------------------------- */

static int activate_error(int rc, pcap_t *pcap, const char *interface, struct err *e)
{
	const char *text = pcap_geterr(pcap);
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

static void handle_settings(pcap_t *pcap, const struct handle_ask *ask)
{
	uint64_t buffer = ask->buffer_bytes;
	if (buffer > BUFFER_MAX)
		buffer = BUFFER_MAX;
	pcap_set_snaplen(pcap, (int)ask->snaplen);
	pcap_set_promisc(pcap, 1); /* mirrored frames are not addressed to us */
	pcap_set_timeout(pcap, PCAP_BLOCK_MS);
	pcap_set_tstamp_precision(pcap, PCAP_TSTAMP_PRECISION_NANO);
	if (buffer)
		pcap_set_buffer_size(pcap, (int)buffer);
}

static int handle_filter(pcap_t *pcap, const struct handle_ask *ask, struct err *e)
{
	struct bpf_program program;
	if (ask->every_frame)
		return 0;
	const int link = pcap_datalink(pcap);
	/* A raw IP interface (tun) has no ethertypes to ask for. */
	const char *filter = PCAP_FILTER_IP;
	if (link == DLT_EN10MB)
		filter = PCAP_FILTER;
	else if (link == DLT_LINUX_SLL || link == DLT_LINUX_SLL2)
		filter = PCAP_FILTER_COOKED;
	if (pcap_compile(pcap, &program, filter, 1, PCAP_NETMASK_UNKNOWN))
		return reason_err(e, -EINVAL, PCAP_LIBRARY, ask->interface, pcap_geterr(pcap));
	const int rc = pcap_setfilter(pcap, &program);
	pcap_freecode(&program);
	if (rc)
		return reason_err(e, -EIO, PCAP_LIBRARY, ask->interface, pcap_geterr(pcap));
	return 0;
}

static int handle_direction(pcap_t *pcap, const struct handle_ask *ask, struct err *e)
{
	pcap_direction_t direction = PCAP_D_OUT;
	if (ask->direction == FLOW_DIR_UNKNOWN)
		return 0;
	if (ask->direction == FLOW_DIR_IN)
		direction = PCAP_D_IN;
	if (pcap_setdirection(pcap, direction))
		return reason_err(e, -ENOTSUP, PCAP_DIRECTION, ask->interface, pcap_geterr(pcap));
	return 0;
}

/* In the namespace we are in. */
static int handle_activate(struct pcap_handle *handle, const struct handle_ask *ask, struct err *e)
{
	char text[PCAP_ERRBUF_SIZE] = "";
	if (pcap_calls_load(e) < 0)
		return -ENOENT;
	handle->pcap = pcap_create(ask->interface, text);
	if (!handle->pcap)
		return reason_err(e, -EINVAL, PCAP_LIBRARY, ask->interface, text);
	handle_settings(handle->pcap, ask);
	int rc = pcap_activate(handle->pcap);
	if (rc < 0)
		return activate_error(rc, handle->pcap, ask->interface, e);
	const int datalink = pcap_datalink(handle->pcap);
	handle->link = link_of_dlt((uint32_t)datalink);
	if (handle->link == LINK_UNSUPPORTED)
		return reason_err(e, -ENOTSUP, PCAP_LINK_TYPE, ask->interface,
			pcap_datalink_val_to_description_or_dlt(datalink));
	rc = handle_filter(handle->pcap, ask, e);
	if (rc < 0)
		return rc;
	if (pcap_setnonblock(handle->pcap, 1, text))
		return reason_err(e, -EIO, PCAP_LIBRARY, ask->interface, text);
	rc = handle_direction(handle->pcap, ask, e);
	if (rc < 0)
		return rc;
	handle->net_dev = open("/proc/thread-self/net/dev", O_RDONLY | O_CLOEXEC);
	handle_interface(handle, &handle->ifindex);
	handle->frames_known = net_dev_frames(handle->net_dev, handle->interface, &handle->frames);
	return 0;
}

static void pcap_handle_free(struct pcap_handle *handle)
{
	if (!handle)
		return;
	if (handle->pcap)
		pcap_close(handle->pcap);
	if (handle->net_dev >= 0)
		close(handle->net_dev);
	free(handle->interface);
	free(handle);
}

/* pcap_handle_open - with PCAP_FILTER, promiscuous, not blocking. 0, or negative errno with a row
 * of reason.def in @e. */
static int pcap_handle_open(const struct handle_ask *ask, struct pcap_handle **ret, struct err *e)
{
	struct pcap_handle *handle = rw_calloc(1, sizeof(*handle));
	struct err why = {0};
	int back;
	handle->interface = rw_strdup(ask->interface);
	handle->net_dev = -1;
	int rc = netns_enter(ask->netns, &back, &why);
	if (rc < 0) {
		pcap_handle_free(handle);
		return reason_err(e, rc, PCAP_NETNS, why.text);
	}
	rc = handle_activate(handle, ask, e);
	netns_leave(back);
	if (rc < 0) {
		pcap_handle_free(handle);
		return rc;
	}
	*ret = handle;
	return 0;
}

/* ---- reading --------------------------------------------------------------- */

static void on_pcap_frame(u_char *arg, const struct pcap_pkthdr *header, const u_char *bytes)
{
	const struct pcap_handle *handle = (const struct pcap_handle *)(const void *)arg;
	/* nanosecond precision was asked for: libpcap scales */
	const int64_t t_ns = (int64_t)header->ts.tv_sec * NS_PER_S + header->ts.tv_usec;
	handle->fn(handle->arg, t_ns, bytes, header->caplen, header->len);
}

static int pcap_handle_read(
	struct pcap_handle *handle, int max, pcap_frame_fn *fn, void *arg, struct err *e)
{
	handle->fn = fn;
	handle->arg = arg;
	const int n = pcap_dispatch(handle->pcap, max, on_pcap_frame, (u_char *)handle);
	if (n >= 0)
		return n;
	return err_set(e, -EIO, "%s", pcap_geterr(handle->pcap));
}

static int pcap_handle_fd(const struct pcap_handle *handle)
{
	return pcap_get_selectable_fd(handle->pcap);
}

static enum roce_link pcap_handle_link(const struct pcap_handle *handle)
{
	return handle->link;
}

/* pcap_handle_drops - frames that the kernel dropped since the last call, because its buffer was
 * full. The capture lost them, not the network. */
static uint32_t pcap_handle_drops(struct pcap_handle *handle)
{
	struct pcap_stat s;
	if (pcap_stats(handle->pcap, &s))
		return 0;
	const uint32_t n = s.ps_drop - handle->drops; /* wraps with the library's counter */
	handle->drops = s.ps_drop;
	return n;
}

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

static struct handle_ask capture_ask(const struct capture *capture)
{
	const struct config_capture *config = &capture->config;
	struct handle_ask ask = {.interface = config->interface,
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
	struct handle_ask ask = capture_ask(capture);
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
	const mono_t now = mono_now();
	target_polled(
		&capture->target, (double)(now.ns - begin.ns) / NS_PER_S, now, (wall_t){end_ns});
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
	pcap_interval_end(capture, ns_earlier(now, capture->to_ns));
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
	const struct handle_ask ask = capture_ask(capture);
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
	c->config.name = arena_strdup(a, capture_name(config));
	c->config.interface = arena_strdup(a, config->interface);
	c->config.listen = arena_strdup(a, config->listen);
	c->config.netns = arena_strdup(a, config->netns);
	c->config.device = arena_strdup(a, config->device);
	c->config.port = arena_strdup(a, config->port);
	c->config.direction = arena_strdup(a, config->direction);
	c->config.mirrored = arena_strdup(a, config->mirrored);
	c->filter_dir = flow_dir_of(config->direction);
	c->dir = flow_dir_of(config->mirrored);
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
	const struct analysis_options options = {.flow_limit = FLOW_TABLE_LIMIT,
		.sampling = config->sampling,
		.seed = siphash_random_key().low};
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
		pcap_interval_end(capture, ns_earlier(now, capture->to_ns));
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

static void capture_counts(const struct capture *capture, struct capture_counts *ret)
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
	/* after capture_same(): nothing is borrowed, nothing else changes */
	struct capture *capture = instance;
	const struct config_capture *now = place;
	capture->config.line = now->line;
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

/* pcap_watch - reads an interface until the time is up or somebody stops it. */

#define WATCH_BUFFER                                                                               \
	(16u << 20) /* libpcap's 2 MiB hold 15 ms of a busy link: too few for a busy machine */
enum { WATCH_FRAMES = 4096, WATCH_TURNS_LEFT = 64, WATCH_SNAPLEN = 192 };

struct pcap_watching {
	const struct pcap_watch *watch;
	enum roce_link link;
};

static void watch_closep(struct pcap_handle **handle)
{
	pcap_handle_free(*handle);
}

static void on_watched(void *arg, int64_t t_ns, const uint8_t *bytes, uint32_t n, uint32_t wire)
{
	const struct pcap_watching *watching = arg;
	struct roce_packet packet;
	roce_parse(watching->link, bytes, n, wire, 0, &packet);
	watching->watch->packet(watching->watch->arg, &packet, t_ns);
}

static int watch_read(const struct pcap_watch *watch, struct pcap_handle *handle, struct err *e)
{
	struct pcap_watching watching = {watch, pcap_handle_link(handle)};
	struct pollfd fd = {.fd = pcap_handle_fd(handle), .events = POLLIN};
	struct err why = {0};
	int64_t end_ns = INT64_MAX;
	if (watch->for_ns)
		end_ns = mono_now().ns + watch->for_ns;
	while (!*watch->stop && mono_now().ns < end_ns) {
		poll(&fd, 1, PCAP_BLOCK_MS); /* a signal or the end of time is seen within this */
		if (pcap_handle_read(handle, WATCH_FRAMES, on_watched, &watching, &why) < 0)
			return err_set(e, -EIO, "%s: %s", watch->interface, why.text);
	}
	/* What still waits belongs to the time that was asked for; new frames do not. */
	int n = WATCH_FRAMES;
	for (int turn = 0; turn < WATCH_TURNS_LEFT && n == WATCH_FRAMES; turn++)
		n = pcap_handle_read(handle, WATCH_FRAMES, on_watched, &watching, &why);
	return 0;
}

int pcap_watch(const struct pcap_watch *watch, struct pcap_watch_stats *ret, struct err *e)
{
	rw_cleanup(watch_closep) struct pcap_handle *handle = NULL;
	const struct handle_ask ask = {.interface = watch->interface,
		.snaplen = WATCH_SNAPLEN,
		.buffer_bytes = WATCH_BUFFER};
	*ret = (struct pcap_watch_stats){0};
	int rc = pcap_handle_open(&ask, &handle, e);
	if (rc == 0 && watch->opened)
		rc = watch->opened(watch->arg, e);
	if (rc == 0)
		rc = watch_read(watch, handle, e);
	if (handle)
		ret->kernel_drops = pcap_handle_drops(handle);
	return rc;
}
