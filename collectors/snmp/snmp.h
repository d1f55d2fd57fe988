/* snmp - polls one device by its profile, asynchronously on the loop. Wire in snmp_io.c, rows in
 * snmp_rows.c, what to ask in profiles. */
#pragma once

#include "collectors/target/collector.h"
#include "config/config.h"
#include "base/base.h"

struct snmp_target;

extern const struct collector collector_snmp;

/* Process-wide set-up of the library (no MIB files, no persistent state). Once, before threads. */
void snmp_init(void);

/* @device, @config are borrowed until snmp_target_free() or a successful snmp_target_update().
 * First poll starts after a random part of the interval (at most 1 s). What may heal (an address
 * that does not resolve, an unreadable secret) leaves the target in BACKOFF with the reason, so
 * that it is shown, and is tried again. 0 or negative errno with @e for what cannot (no such
 * profile, no right to enter the namespace): the caller reports and goes on. */
int snmp_target_new(struct loop *loop, struct entities *entities,
	const struct config_device *device, const struct config *config, const struct sink *sink,
	struct snmp_target **ret, struct err *e);
/* snmp_target_same - would the new configuration poll exactly as now? Then snmp_target_update()
 * only re-borrows. */
bool snmp_target_same(const struct snmp_target *target, const struct config_device *device,
	const struct config *config);
void snmp_target_free(struct snmp_target *target);
const struct target *snmp_target_state(const struct snmp_target *target);

/* For "profile test": what each column of the profile brought in the last poll. */
void snmp_target_values(const struct snmp_target *target, collector_value_fn *fn, void *arg);
/* snmp_target_refresh_ns - the longest cache period learned of a table; 0: none at this pace. For
 * tests: only the times of samples show it otherwise. */
int64_t snmp_target_refresh_ns(const struct snmp_target *target);

/* For traps: the profile and the ports of a target. Lent; the profile is NULL and no port is known
 * before the device was identified. */
struct profile;
const struct profile *snmp_target_profile_data(const struct snmp_target *target);
/* "192.0.2.1:161", "[2001:db8::1]:161"; the host as given while it is not resolved */
const char *snmp_target_peer(const struct snmp_target *target);
/* NULL if unknown */
const char *snmp_target_port_name(const struct snmp_target *target, uint32_t ifindex);
/* snmp_target_poll_soon - something changed there: the next poll reads names and states again, and
 * begins soon when the last is 2 s old. */
void snmp_target_poll_soon(struct snmp_target *target);
