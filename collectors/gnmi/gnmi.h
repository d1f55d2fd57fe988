/*
 * gnmi - one device over gNMI: Capabilities, then the streams of its profile, on the loop thread.
 * The wire is in grpc_io.c, the bytes in proto/, their meaning in gnmi_decode.c and the profile.
 *
 *   start --> Capabilities (encodings; models choose the profile)
 *         --> slow streams, one after the other --> fast streams --> UP
 *
 * A stream is one Subscribe on a connection of its own: some servers end one subscription when
 * another begins on the same connection. Streams are independent: a refusal of one does not affect
 * the others. A stream falls back (once, poll, get: as the profile lists them) when the device does
 * not serve its mode or goes silent. The target is UP while at least one fast stream delivers. When
 * the last one is lost, everything starts again: the device may have come back with other software.
 */
#pragma once

#include "collectors/target/collector.h"
#include "config/config.h"
#include "base/base.h"

struct gnmi_target;

extern const struct collector collector_gnmi;

/* As snmp_target_new() and its companions (collectors/snmp/snmp.h): what may heal leaves the target
 * in BACKOFF with the reason. No thread is started before the loop runs, so that rights can be
 * given up in between; files are read now, while we may. */
int gnmi_target_new(struct loop *loop, struct entities *entities,
	const struct config_device *device, const struct config *config, const struct sink *sink,
	struct gnmi_target **ret, struct err *e);
void gnmi_target_free(struct gnmi_target *target); /* NULL is fine */
const struct target *gnmi_target_state(const struct gnmi_target *target);

/* For "profile test": what each leaf of the profile brought since its stream began. */
void gnmi_target_values(const struct gnmi_target *target, collector_value_fn *fn, void *arg);

/* What the streams of a target went through, since it was made. */
struct gnmi_target_counts {
	uint64_t messages, bytes, updates;
	uint64_t refused; /* messages, paths, values that are not what they should be */
	uint64_t wrong_types; /* of these: values of another type than their metric needs */
	/* paths that mean nothing to the profile, now, and the first of them (lent until the loop
	 * runs; "") */
	uint64_t unknown_paths;
	const char *unknown_path;
	uint64_t odd_times; /* notifications whose time was not used */
	uint64_t stale; /* streams that went silent */
	uint64_t reconnects;
	uint64_t stalls; /* times we were slower than the device */
	/* how far its clock is behind ours, where that is why its times are not used; else 0 */
	double skew_s;
};
struct gnmi_target_counts gnmi_target_counts(const struct gnmi_target *target);
