/*
 * gnmi_decode - from updates to samples by a profile. One decoder per target knows its ports and
 * the state of its counters; one feed per stream of the profile knows what each path means, by the
 * number that the walker gave the path. No clock, no I/O, no log; one thread.
 *
 *   update -> slot (by path_id; filled when the path is first seen) -> part of a series
 *       (entity, metric) -> sample
 *
 * The value of a path that is alone in its series is a sample at once. Where several paths are
 * added up, there is a sample when all of them have brought a new value, or when one brings a
 * second value (the others are silent because they did not change). Before the first round is
 * complete there is none. Objects that ports and queues refer to (a WRED profile and its queues)
 * become samples when a round is complete.
 */
#pragma once

#include "collectors/gnmi/gnmi_match.h"
#include "config/profile/profile.h"
#include "config/profile/profile_gnmi.h"
#include "config/topology.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "proto/gnmi.h"

struct gnmi_decoder;
struct gnmi_feed;

/*
 * gnmi_ports - the ports of one device: names as the fabric writes them, aliases, line speeds. An
 * index is valid for the life of the list. No clock, no I/O, no log; one thread.
 */

#define GNMI_PORTS_MAX 4096u /* of one device */
#define GNMI_PORT_NONE UINT32_MAX
#define GNMI_NAME_MAX 256 /* bytes of a name that are kept, with the final NUL */

struct gnmi_port {
	char *name, *alias; /* alias "" = none */
	uint64_t speed_bps; /* 0 = unknown */
	uint64_t lanes; /* of its transceiver that are its own, bit n: lane n; 0 = not told */
	bool management; /* the device says that it is no part of the data plane */
	bool changed; /* since gnmi_ports_reported() */
};

struct gnmi_ports {
	const struct profile_gnmi *profile; /* lent: how the device writes names of ports */
	struct gnmi_port *v;
	size_t n, cap;
	struct smap *by_name; /* index */
	struct smap *by_alias; /* index + 1; 0 = the alias is not used any more */
	uint32_t alias_changes; /* counts up; 32 bits may wrap */
	bool changed; /* .changed is set in at least one port */
};

void gnmi_ports_init(struct gnmi_ports *ports, const struct profile_gnmi *profile);
void gnmi_ports_done(struct gnmi_ports *ports);

/* gnmi_ports_find - the index of a port. @text is its alias or, when no port has that alias, its
 * name. GNMI_PORT_NONE when it is not known. */
uint32_t gnmi_ports_find(const struct gnmi_ports *ports, struct gnmi_text text, bool alias);
/* gnmi_ports_add - gnmi_ports_find(), or a new port. GNMI_PORT_NONE when GNMI_PORTS_MAX is reached.
 */
uint32_t gnmi_ports_add(struct gnmi_ports *ports, struct gnmi_text text, bool alias);

void gnmi_ports_set_alias(struct gnmi_ports *ports, uint32_t index, const char *alias); /* copied */
void gnmi_ports_reported(struct gnmi_ports *ports); /* clears .changed everywhere */

#define GNMI_SERIES_MAX (1u << 20) /* values of one stream; more are not taken, and counted */

/* @entities, @profile and @compiled (of that profile's streams, filled as feeds are made) are lent
 * for the decoder's life; @device is copied. @cell_bytes: declared by the configuration, 0 = not.
 */
struct gnmi_decoder *gnmi_decoder_new(struct entities *entities, const char *device,
	const struct profile *profile, struct gnmi_compiled_set *compiled, uint64_t cell_bytes);
/* Free its feeds first; NULL is fine. */
void gnmi_decoder_free(struct gnmi_decoder *decoder);
/* gnmi_decode_ports - lent for the decoder's life. */
struct gnmi_ports *gnmi_decode_ports(struct gnmi_decoder *decoder);
const char *gnmi_decode_sysname(const struct gnmi_decoder *decoder); /* "" = not known */
/* gnmi_decode_has_lldp - has the profile a stream of LLDP? */
bool gnmi_decode_has_lldp(const struct gnmi_decoder *decoder);
size_t gnmi_decode_neighbors(const struct gnmi_decoder *decoder, struct arena *a,
	const struct profiles *profiles, struct topology_device *ret_self,
	struct topology_neighbor **ret_neighbors);

/* gnmi_feed_new - NULL with @e for a pattern that is no path. @stream is lent. */
struct gnmi_feed *gnmi_feed_new(
	struct gnmi_decoder *decoder, const struct profile_gnmi_stream *stream, struct err *e);
void gnmi_feed_free(struct gnmi_feed *feed); /* NULL is fine */
/* gnmi_feed_decode - how the stream is to be decoded; lists come from the patterns. Lent. The
 * caller fills .fn, .arg and .counts in a copy. */
const struct gnmi_decode *gnmi_feed_decode(const struct gnmi_feed *feed);
bool gnmi_feed_has_lldp(const struct gnmi_feed *feed);

/* gnmi_feed_begin - a new call: path_ids begin anew, and no round is complete. */
void gnmi_feed_begin(struct gnmi_feed *feed);
/* gnmi_feed_pace - take each counter at most once in @least_ns of the device's time. */
void gnmi_feed_pace(struct gnmi_feed *feed, int64_t least_ns);
/* gnmi_feed_update - one GNMI_UPDATE, taken at @t_ns. Samples (source gNMI) are added to @out. */
void gnmi_feed_update(struct gnmi_feed *feed, const struct gnmi_update *update, int64_t t_ns,
	struct sample_list *out);
/* gnmi_feed_round - everything that was asked for has come once. */
void gnmi_feed_round(struct gnmi_feed *feed, int64_t t_ns, struct sample_list *out);

/* gnmi_feed_unknown - how many paths came that mean nothing to the profile, in this call or the
 * last one, and the first of them, fit to print; "" = none. Lent. */
#define GNMI_EXAMPLE_MAX 160
uint64_t gnmi_feed_unknown(const struct gnmi_feed *feed, const char **ret_example);

struct gnmi_decode_stats {
	uint64_t unknown_paths; /* paths (not updates) that mean nothing to the profile */
	uint64_t wrong_types; /* values of another type than the metric needs */
	uint64_t over_limit; /* paths beyond GNMI_PORTS_MAX or GNMI_SERIES_MAX */
	uint64_t too_often; /* values of counters that came far more often than they were asked for
			     */
	uint64_t suspects; /* counter readings that cannot be true */
	uint64_t restarts; /* of the device */
};
/* Lent for the decoder's life. */
const struct gnmi_decode_stats *gnmi_decode_stats(const struct gnmi_decoder *decoder);

/* For "profile test": what one row of the profile brought. */
struct gnmi_leaf_view {
	const char *path, *doc, *type; /* type of the first value, "" */
	int metric; /* -1: see .what */
	const char *what; /* attribute or kind of object */
	bool fallback;
	size_t paths, zero, wrong_type;
};
typedef void gnmi_leaf_view_fn(void *arg, const struct gnmi_leaf_view *view);
void gnmi_feed_leaves(const struct gnmi_feed *feed, gnmi_leaf_view_fn *fn, void *arg);
