/*
 * gnmi_series - the values of a device and the paths that each is made of. gnmi_decode.c finds out
 * what a path means, gnmi_series.c makes samples of the values. For these two files only.
 */
#pragma once

#include "base/base.h"

#include "collectors/gnmi/gnmi_decode.h"
#include "collectors/gnmi/gnmi_match.h"
#include "collectors/target/counter_check.h"
#include "config/profile/profile_gnmi.h"
#include "config/topology.h"
#include "proto/gnmi.h"

struct gnmi_lldp;
struct gnmi_series;
struct gnmi_effective;

/* gnmi_convert - pure: converts one value as a row of a profile says. */

struct gnmi_converted {
	/* as the metric's type: u64, double, id of a text; a set of priorities for .priorities */
	union {
		uint64_t u;
		double d;
	};
	bool estimated;
};

/* NONE: the device says that it has no value; WRONG: not a type that the row can read */
enum gnmi_convert { GNMI_CONVERT_OK, GNMI_CONVERT_NONE, GNMI_CONVERT_WRONG };
/* Where texts go, and whose they are: a device may bring only so many. */
struct gnmi_texts {
	struct entities *entities;
	const char *device;
};
/* @spec must have a metric. @cell_bytes: size of a buffer cell, 0 = unknown: a value in cells is
 * then GNMI_CONVERT_NONE. */
enum gnmi_convert gnmi_convert(const struct profile_gnmi_value *spec,
	const struct gnmi_value *value, struct gnmi_texts texts, uint64_t cell_bytes,
	struct gnmi_converted *ret);

/* gnmi_convert_number - the number of an attribute leaf: as sent, or the one that @spec has for a
 * word. */
enum gnmi_convert gnmi_convert_number(
	const struct profile_gnmi_value *spec, const struct gnmi_value *value, uint64_t *ret);

/* gnmi_bare_name - in place: a reference "[TABLE|NAME]" or "[TABLE:NAME]", as older SONiC writes
 * it, is NAME. */
void gnmi_bare_name(char *text);

const char *gnmi_convert_kind_name(enum gnmi_kind kind); /* "uint" */

/*
 * gnmi_effective - which stream counts where two of them tell the same value. Some switches keep
 * what was configured and what is in force in two databases, and the configuration may name only a
 * placeholder. A value of a stream that is "effective" (profile_gnmi.h) wins over the others.
 *
 * What such a stream gave in its last two rounds is not taken from other streams. When it was asked
 * GNMI_EFFECTIVE_UNANSWERED times without an answer, the others count again. Loop thread.
 */

struct gnmi_effective *gnmi_effective_new(void);
void gnmi_effective_free(struct gnmi_effective *effective); /* NULL is fine */

/* gnmi_effective_asked - the stream of @feed is asked; _round: it has answered in full. Nothing
 * happens for a stream that is not effective. */
void gnmi_effective_asked(struct gnmi_feed *feed);
void gnmi_effective_round(struct gnmi_feed *feed);

/* ---- gnmi_series ----------------------------------------------------------- */

#define GNMI_SERIES_NONE UINT32_MAX

/* One value of one entity: a metric of a port, of a priority, of a queue, of a pool. */
struct gnmi_series {
	uint32_t entity;
	uint32_t port; /* index, or GNMI_PORT_NONE */
	uint16_t metric;
	bool pending; /* in the feed's list */
	bool several; /* has more than one part */
	bool remade; /* of a sample that was left out, owed to the next */
	bool went_back; /* a part of the sum has: the device began anew */
	bool better; /* the last sample was not of fallbacks */
	uint32_t epoch; /* the decoder's at the last sample */
	uint32_t first_part; /* index into parts, or GNMI_SERIES_NONE */
	uint32_t emitted_parts; /* how many parts were in the last sample */
	int64_t t_ns; /* of the last sample */
	uint32_t check; /* index of the plausibility check + 1; 0 = none */
	uint64_t held; /* the last difference of its parts, which does not go back; 0 = none */
};

/* What one path contributes to a series. */
struct gnmi_part {
	uint32_t series;
	uint32_t next; /* part of the same series, or GNMI_SERIES_NONE */
	const struct gnmi_row *row;
	bool seen; /* has a value */
	bool fresh; /* that is in no sample yet */
	bool estimated; /* of the value */
	union {
		uint64_t u;
		double d;
	};
};

/* What a slot holds. */
#define BINDING_NEW 0u /* the path was not looked up yet, or its port was not known then */
#define BINDING_NONE 1u /* the path means nothing */
#define BINDING_FIRST 2u /* + index into bindings */

/* One row of the profile's stream. */
struct gnmi_row {
	const struct profile_gnmi_value *spec;
	bool shared; /* as in gnmi_match.h */
	size_t paths; /* paths of the device that this row matched */
	const char *type; /* of the first value; "" */
};

/* What one path means. */
struct gnmi_binding {
	struct gnmi_row *row;
	/* parts; for .refers and .of: index of the reference or property; for LLDP: of the
	 * neighbour */
	uint32_t first, n;
	uint32_t port; /* index, or GNMI_PORT_NONE */
	uint32_t also; /* what else the path means: as a slot; BINDING_NONE = nothing */
	bool zero, wrong; /* of the newest value */
};

/* A port or queue that refers to an object by name: a queue to its WRED profile. */
struct gnmi_reference {
	const char *kind; /* of the object */
	char *name; /* of the object; NULL = none yet */
	uint32_t port;
	enum gnmi_number number;
	uint64_t numbers;
};
/* A value of such an object. */
struct gnmi_property {
	const struct gnmi_row *row;
	char *name; /* of the object */
	/* of the object itself, where its path has one */
	enum gnmi_number number;
	uint64_t numbers;
	bool has_lane;
	uint64_t lanes;
	struct gnmi_converted value;
	bool has_value;
};

struct gnmi_feed {
	struct gnmi_decoder *decoder;
	const struct profile_gnmi_stream *stream;
	const struct gnmi_compiled *compiled;
	struct gnmi_decode decode;
	struct gnmi_row *rows;
	size_t n_rows;
	uint32_t *slots; /* by path_id: BINDING_NEW, BINDING_NONE or BINDING_FIRST + index */
	size_t n_slots;
	struct smap *by_path; /* the same, for updates without a path_id */
	struct gnmi_binding *bindings;
	size_t n_bindings, cap_bindings;
	struct gnmi_part *parts;
	size_t n_parts, cap_parts;
	struct map *by_entity; /* entity and metric -> index into series */
	struct gnmi_series *series;
	size_t n_series, cap_series;
	uint32_t *pending; /* series that wait for the end of the first round */
	size_t n_pending, cap_pending;
	struct gnmi_reference *references;
	size_t n_references, cap_references;
	struct gnmi_property *properties;
	size_t n_properties, cap_properties;
	bool complete; /* the first round has ended */
	bool adds_ports; /* no other stream names ports: those with neighbours are added */
	uint32_t alias_changes; /* of the ports when the slots were made */
	/* of this call: paths that mean nothing to the profile, and the first of them */
	uint64_t n_unknown;
	char unknown[GNMI_EXAMPLE_MAX];
	int64_t least_ns; /* a counter is taken no more often; 0 = as it comes */
};

struct gnmi_decoder {
	struct entities *entities;
	char *device;
	const struct profile *profile;
	struct gnmi_compiled_set *compiled;
	uint64_t cell_bytes;
	bool cell_assumed; /* by the configuration, not known from the profile */
	struct gnmi_ports ports;
	char *sysname;
	bool has_boot;
	uint64_t boot;
	uint32_t epoch; /* counts restarts of the device */
	struct counter_check *checks;
	size_t n_checks, cap_checks;
	/* by name, of queues and groups whose names have none: number + 1 */
	struct smap *queue_numbers, *group_numbers;
	struct gnmi_lldp *lldp; /* NULL: no stream of the profile has LLDP */
	struct gnmi_effective *effective; /* NULL: no stream of the profile is */
	struct gnmi_decode_stats stats;
};

/* gnmi_refuse - the device has too many ports, series or paths: counted and told. */
static inline void gnmi_refuse(struct gnmi_decoder *decoder)
{
	decoder->stats.over_limit++;
	entities_refuse(decoder->entities, decoder->device);
}

/* Which value of the device. */
struct gnmi_series_key {
	int metric;
	uint32_t port; /* GNMI_PORT_NONE: of .pool or, without one, of the device */
	int priority; /* PRIO_NONE: of the port or, with .queue, of a queue without a priority */
	const char *queue; /* NULL = none */
	struct gnmi_text pool;
};
/* gnmi_series_at - index of this series, made when it is new; GNMI_SERIES_NONE when GNMI_SERIES_MAX
 * is reached (counted). */
uint32_t gnmi_series_at(struct gnmi_feed *feed, const struct gnmi_series_key *key);

/* gnmi_series_priority_of - of the @n-th priority, or the profile's of the @n-th queue or priority
 * group. */
int gnmi_series_priority_of(const struct gnmi_feed *feed, enum gnmi_number number, unsigned n);
/* gnmi_objects_emit - samples of the objects that ports and queues refer to, at the end of a round
 * (gnmi_series.c). */
void gnmi_objects_emit(struct gnmi_feed *feed, int64_t t_ns, struct sample_list *out);

/* What there is to say of a sample besides its value. */
struct gnmi_sample_info {
	int64_t t_ns; /* since 1970 */
	uint32_t window_ms; /* of the metric; 0 = none */
	bool remade; /* of other parts than the last sample: no delta across */
};
/* gnmi_series_emit - adds one sample to @out. */
void gnmi_series_emit(struct gnmi_feed *feed, struct gnmi_series *series,
	const struct gnmi_converted *value, struct gnmi_sample_info info, struct sample_list *out);
/* gnmi_series_emit_parts - one sample of all parts that have a value; none without such a part. */
void gnmi_series_emit_parts(
	struct gnmi_feed *feed, struct gnmi_series *series, int64_t t_ns, struct sample_list *out);
/* gnmi_series_take_part - a new value of part @index, one of several. The sample is emitted when
 * all parts have a new value. */
void gnmi_series_take_part(struct gnmi_feed *feed, uint32_t index,
	const struct gnmi_converted *value, int64_t t_ns, struct sample_list *out);

/*
 * gnmi_lldp - the LLDP neighbours of a device, from leaves that arrive one by one. Pure. Makes the
 * structs of config/topology.h, as snmp_lldp does. Ids arrive as text, their kinds (subtypes) as
 * the numbers of IEEE 802.1AB-2016, 8.5.2.2 and 8.5.3.2: a profile turns words into these.
 */

#define GNMI_LLDP_NEIGHBORS_MAX 4096u /* of one device; more are not taken */
#define GNMI_LLDP_NONE UINT32_MAX

struct gnmi_lldp *gnmi_lldp_new(void);
void gnmi_lldp_free(struct gnmi_lldp *lldp); /* NULL is fine */
/* gnmi_lldp_clear - a new round: a neighbour that does not come again is gone. */
void gnmi_lldp_clear(struct gnmi_lldp *lldp);

/* gnmi_lldp_of - index of the neighbour @id on the port with this index; made when it is new.
 * GNMI_LLDP_NONE when there are too many. */
uint32_t gnmi_lldp_of(struct gnmi_lldp *lldp, uint32_t port, const char *id, size_t n);
/* gnmi_lldp_take - one leaf of neighbour @at. @number is the kind of an id, for the leaves that are
 * one. GNMI_ATTRIBUTE_CHASSIS is the device's own chassis id: @at is then ignored. */
void gnmi_lldp_take(struct gnmi_lldp *lldp, uint32_t at, enum profile_gnmi_attribute which,
	const char *text, uint64_t number);

/*
 * gnmi_lldp_result - fills @self->chassis and @ret_neighbors, and returns the number of neighbours.
 * The caller has filled the rest of @self: its ports are indexed as in gnmi_lldp_of(). All text of
 * @self and of the neighbours is copied into @a. A neighbour that sent none of system name, chassis
 * id and port id is left out. @profiles tell switches from hosts; NULL: every neighbour is a host.
 */
size_t gnmi_lldp_result(const struct gnmi_lldp *lldp, struct arena *a,
	const struct profiles *profiles, struct topology_device *self,
	struct topology_neighbor **ret_neighbors);
