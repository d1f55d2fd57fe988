/* inventory - what collectors report beside samples: target states, devices, ports, events. Each is
 * a member of the pipeline's sink; @arg is the struct pipeline. Loop thread. */
#pragma once

#include "base/base.h"

#include "collectors/target/collector.h"

struct pipeline;
struct port_peer;
struct store;
struct target_table;

void inventory_target(void *arg, const struct target *target);
void inventory_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr);
void inventory_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps);
void inventory_burst(void *arg, const struct collector_burst *burst);
void inventory_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text);

/* inventory_forget - names were released: the other ends of such ports go, too. */
void inventory_forget(struct pipeline *pipeline);
void inventory_peer_free(struct port_peer *peer);

/*
 * target_status - the state of each target on its way to the store: a change of state at once,
 * statistics at most once a second per target. Loop thread; reads no clock.
 */

struct target_table *target_table_new(void);
void target_table_free(struct target_table *table);
/* Write what is due. */
void target_table_flush(struct target_table *table, struct store *store, int64_t now_ns);
