/* pcap - a capture: live interface (in a network namespace if asked) on the loop, or a file. Decoding in roce_parse, keeping in flow_table. */
#ifndef RW_COLLECTORS_PCAP_H
#define RW_COLLECTORS_PCAP_H

#include "collectors/collector.h"
#include "config/config.h"

struct loop;
struct capture;

/* capture_open - needs CAP_NET_RAW (and CAP_SYS_ADMIN for another namespace): call before privileges are dropped. */
int capture_open(struct loop *l, struct entities *entities, const struct config_capture *c, const struct sink *sink,
	struct capture **ret, struct err *e);
bool capture_same(const struct capture *c, const struct config_capture *config);
void capture_update(struct capture *c, const struct config_capture *config); /* re-borrow */
void capture_free(struct capture *c);
const struct target *capture_state(const struct capture *c);

#endif
