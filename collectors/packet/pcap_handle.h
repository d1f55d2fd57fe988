/*
 * pcap_handle - one open capture of an interface. The only file behind this header knows libpcap.
 *
 * Used by the thread that opened it, or by one thread after that. Opening needs CAP_NET_RAW (and
 * CAP_SYS_ADMIN for another network namespace); everything after it needs no right at all.
 */
#ifndef RW_COLLECTORS_PCAP_HANDLE_H
#define RW_COLLECTORS_PCAP_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/packet/roce_parse.h"
#include "collectors/target/reason.h"
#include "db/model/flow.h"

struct err;
struct pcap_handle;

enum { PCAP_BLOCK_MS = 100 }; /* the kernel hands frames over at most so late */

struct pcap_ask {
	const char *interface;
	const char *netns; /* NULL = ours */
	uint32_t snaplen;
	uint64_t buffer_bytes; /* 0 = libpcap's own choice */
	enum flow_dir direction; /* FLOW_DIR_UNKNOWN = both */
	bool every_frame; /* no filter: to find out what an interface shows instead of RoCE */
};

/* pcap_handle_open - with PCAP_FILTER, promiscuous, not blocking. 0, or negative errno with a row
 * of reason.def in @e. */
int pcap_handle_open(const struct pcap_ask *ask, struct pcap_handle **ret, struct err *e);
void pcap_handle_free(struct pcap_handle *handle); /* NULL is fine */

/* pcap_handle_read - gives at most @max waiting frames to @fn. How many, or negative errno with the
 * library's words in @e. @bytes is lent for the call; @n captured, @wire on the wire. */
typedef void pcap_frame_fn(
	void *arg, int64_t t_ns, const uint8_t *bytes, uint32_t n, uint32_t wire);
int pcap_handle_read(
	struct pcap_handle *handle, int max, pcap_frame_fn *fn, void *arg, struct err *e);

int pcap_handle_fd(const struct pcap_handle *handle); /* becomes readable; lent */
enum roce_link pcap_handle_link(const struct pcap_handle *handle);

/* pcap_handle_drops - frames that the kernel dropped since the last call, because its buffer was
 * full. The capture lost them, not the network. */
uint32_t pcap_handle_drops(struct pcap_handle *handle);

/*
 * pcap_handle_fault - what is wrong with the interface, or REASON_NONE. libpcap does not always
 * tell: a socket whose interface went down, or was replaced by another of the same name, is only
 * silent.
 */
enum reason_code pcap_handle_fault(const struct pcap_handle *handle);

/* pcap_handle_frames - frames that the interface itself counted since the handle was opened, both
 * ways, whatever the filter. False where that is not known ("any"). */
bool pcap_handle_frames(const struct pcap_handle *handle, uint64_t *ret);

#endif
