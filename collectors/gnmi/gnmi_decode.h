/*
 * gnmi_decode - from updates to samples by a profile. One decoder per target knows its ports,
 * aliases and what each value was made of; one feed per stream of the profile knows what a path
 * means, by the number the walker gave it. No clock, no I/O, no log; one thread.
 *
 *   update -> slot (by path_id; made at the first sight) -> part of a cell (entity, metric) ->
 *       sample
 *
 * A value that comes from one path alone is a sample at once. One that is added up from several is
 * a sample when all of its parts have spoken again, or when one speaks for a second time while
 * others are silent (they did not change); not before the first round is complete. Objects that
 * places refer to (a WRED profile and its queues) become samples when a round is complete.
 */
#ifndef RW_COLLECTORS_GNMI_DECODE_H
#define RW_COLLECTORS_GNMI_DECODE_H

#include "config/profile/profile.h"
#include "config/profile/profile_gnmi.h"
#include "config/topology.h"
#include "db/model/entity.h"
#include "db/model/sample.h"
#include "proto/gnmi.h"

#define GNMI_PORTS_MAX 4096u /* of a device; what names more is not taken, and counted */
#define GNMI_CELLS_MAX (1u << 20) /* values of a device: likewise */

struct gnmi_decoder;
struct gnmi_feed;

struct gnmi_port {
	const char *name, *alias; /* alias "" */
	uint64_t speed_bps; /* 0 = unknown */
	bool changed; /* since gnmi_decode_ports_told() */
};

/* @entities, @profile and @compiled (of that profile's streams, filled as feeds are made) are lent
 * for its life; @device is copied. @cell_bytes: declared by the configuration, 0 = not. */
struct gnmi_compiled_set;
struct gnmi_decoder *gnmi_decoder_new(struct entities *entities, const char *device,
	const struct profile *profile, struct gnmi_compiled_set *compiled, uint64_t cell_bytes);
void gnmi_decoder_free(struct gnmi_decoder *decoder); /* its feeds first; NULL is fine */
size_t gnmi_decode_port_count(const struct gnmi_decoder *decoder);
const struct gnmi_port *gnmi_decode_port(const struct gnmi_decoder *decoder, size_t i);
bool gnmi_decode_ports_changed(const struct gnmi_decoder *decoder); /* is .changed set in any? */
void gnmi_decode_ports_told(struct gnmi_decoder *decoder);
const char *gnmi_decode_sysname(const struct gnmi_decoder *decoder); /* "" = not said */
/* gnmi_decode_hears - has the profile a stream of LLDP? gnmi_decode_neighbors - what the device
 * said of itself and whom it heard in the newest round of it, in @a. Returns the number of
 * neighbours. */
bool gnmi_decode_hears(const struct gnmi_decoder *decoder);
size_t gnmi_decode_neighbors(const struct gnmi_decoder *decoder, struct arena *a,
	struct topology_device *ret_self, struct topology_neighbor **ret_heard);

/* gnmi_feed_new - NULL with @e for a pattern that is no path. @stream is lent. */
struct gnmi_feed *gnmi_feed_new(
	struct gnmi_decoder *decoder, const struct profile_gnmi_stream *stream, struct err *e);
void gnmi_feed_free(struct gnmi_feed *feed);
/* How the stream is to be decoded; lists come from the patterns. Lent. .fn, .arg and .counts are
 * the caller's to fill in a copy. */
const struct gnmi_decode *gnmi_feed_decode(const struct gnmi_feed *feed);
bool gnmi_feed_hears(const struct gnmi_feed *feed); /* neighbours, by LLDP */

/* gnmi_feed_begin - a new call: path_ids begin anew, and no round is complete. */
void gnmi_feed_begin(struct gnmi_feed *feed);
/* gnmi_feed_update - one GNMI_UPDATE, taken at @t_ns. Samples (source gNMI) are added to @out. */
void gnmi_feed_update(struct gnmi_feed *feed, const struct gnmi_update *update, int64_t t_ns,
	struct sample_list *out);
/* gnmi_feed_round - everything asked for has come once. */
void gnmi_feed_round(struct gnmi_feed *feed, int64_t t_ns, struct sample_list *out);

struct gnmi_decode_stats {
	uint64_t unknown_paths; /* paths (not updates) that mean nothing to the profile */
	uint64_t wrong_types; /* values that are not what the metric needs */
	uint64_t over_limit; /* paths of a port or cell beyond the limits above */
	uint64_t suspects, restarts;
};
const struct gnmi_decode_stats *gnmi_decode_stats(const struct gnmi_decoder *decoder);

/* For "profile test": what one leaf of the profile brought. */
struct gnmi_leaf_view {
	const char *path, *doc, *type; /* type of the first value, "" */
	int metric; /* -1: .what says what it is */
	const char *what;
	bool fallback;
	size_t paths, zero, wrong_type;
};
typedef void gnmi_leaf_view_fn(void *arg, const struct gnmi_leaf_view *view);
void gnmi_feed_leaves(const struct gnmi_feed *feed, gnmi_leaf_view_fn *fn, void *arg);

#endif
