/* pcap_handle - captures on an interface with libpcap, whose header no other file includes. */
#include "collectors/packet/pcap_handle.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <net/if.h>
#include <pcap/pcap.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/netns.h"
#include "agent/base/str.h"
#include "collectors/packet/pcap.h"

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

bool pcap_handle_frames(const struct pcap_handle *handle, uint64_t *ret)
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

enum reason_code pcap_handle_fault(const struct pcap_handle *handle)
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

static void handle_settings(pcap_t *pcap, const struct pcap_ask *ask)
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

static int handle_filter(pcap_t *pcap, const struct pcap_ask *ask, struct err *e)
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

static int handle_direction(pcap_t *pcap, const struct pcap_ask *ask, struct err *e)
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
static int handle_activate(struct pcap_handle *handle, const struct pcap_ask *ask, struct err *e)
{
	char text[PCAP_ERRBUF_SIZE] = "";
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

int pcap_handle_open(const struct pcap_ask *ask, struct pcap_handle **ret, struct err *e)
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

void pcap_handle_free(struct pcap_handle *handle)
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

/* ---- reading --------------------------------------------------------------- */

static void on_pcap_frame(u_char *arg, const struct pcap_pkthdr *header, const u_char *bytes)
{
	const struct pcap_handle *handle = (const struct pcap_handle *)(const void *)arg;
	/* nanosecond precision was asked for: libpcap scales */
	const int64_t t_ns = (int64_t)header->ts.tv_sec * NS_PER_S + header->ts.tv_usec;
	handle->fn(handle->arg, t_ns, bytes, header->caplen, header->len);
}

int pcap_handle_read(
	struct pcap_handle *handle, int max, pcap_frame_fn *fn, void *arg, struct err *e)
{
	handle->fn = fn;
	handle->arg = arg;
	const int n = pcap_dispatch(handle->pcap, max, on_pcap_frame, (u_char *)handle);
	if (n >= 0)
		return n;
	return err_set(e, -EIO, "%s", pcap_geterr(handle->pcap));
}

int pcap_handle_fd(const struct pcap_handle *handle)
{
	return pcap_get_selectable_fd(handle->pcap);
}

enum roce_link pcap_handle_link(const struct pcap_handle *handle)
{
	return handle->link;
}

uint32_t pcap_handle_drops(struct pcap_handle *handle)
{
	struct pcap_stat s;
	if (pcap_stats(handle->pcap, &s))
		return 0;
	const uint32_t n = s.ps_drop - handle->drops; /* wraps with the library's counter */
	handle->drops = s.ps_drop;
	return n;
}
