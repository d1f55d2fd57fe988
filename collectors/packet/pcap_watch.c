/* pcap_watch - reads an interface until the time is up or somebody stops it. */
#include "collectors/packet/pcap_watch.h"

#include <errno.h>
#include <poll.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "collectors/packet/pcap_handle.h"

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
	const struct pcap_ask ask = {.interface = watch->interface,
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
