/* inventory - what collectors report beside samples: target states, devices, ports, events. Each is
 * a member of the pipeline's sink; @arg is the struct pipeline. Loop thread. */
#ifndef RW_AGENT_INVENTORY_H
#define RW_AGENT_INVENTORY_H

#include <stdint.h>

struct pipeline;
struct target;

void inventory_target(void *arg, const struct target *target);
void inventory_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr);
void inventory_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps);
struct collector_burst;
void inventory_burst(void *arg, const struct collector_burst *burst);
void inventory_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text);

/* inventory_forget - names were released: the other ends of such ports go, too. */
void inventory_forget(struct pipeline *pipeline);
struct port_peer;
void inventory_peer_free(struct port_peer *peer);

#endif
