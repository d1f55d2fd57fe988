/*
 * ipfix_listen - receives IPFIX: a receiver of the configuration ('push' with 'ipfix'). Datagrams
 * from addresses that are not allowed are counted and not read. What a device sends becomes samples
 * of its ports, at most one of each series an interval, and is kept whole for the last seconds
 * (burst), until an incident asks for it. A listener that cannot bind is tried again. Loop thread.
 */
#ifndef RW_COLLECTORS_IPFIX_LISTEN_H
#define RW_COLLECTORS_IPFIX_LISTEN_H

#include "collectors/push/ipfix.h"
#include "collectors/target/collector.h"
#include "config/config.h"

struct ipfix_listen;

enum { IPFIX_SOURCES = 64 }; /* devices that send to one receiver */

int ipfix_listen_open(const struct collector_env *env, const struct config_capture *place,
	struct ipfix_listen **ret, struct err *e);
void ipfix_listen_free(struct ipfix_listen *listen); /* NULL is fine; hands the interval over */

/* ipfix_listen_datagram - as if it came from @source; for tests and measurements. */
void ipfix_listen_datagram(
	struct ipfix_listen *listen, const uint8_t source[16], const uint8_t *data, size_t n);
/* ipfix_listen_end - the interval ends now; for tests and measurements. */
void ipfix_listen_end(struct ipfix_listen *listen, int64_t now_ns);

#endif
