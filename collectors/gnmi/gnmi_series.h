/*
 * gnmi_series - the values of a device and the paths that each is made of. gnmi_decode.c finds out
 * what a path means, gnmi_series.c makes samples of the values. For these two files only.
 */
#ifndef RW_COLLECTORS_GNMI_SERIES_H
#define RW_COLLECTORS_GNMI_SERIES_H

#include "collectors/gnmi/gnmi_compiled.h"
#include "collectors/gnmi/gnmi_convert.h"
#include "collectors/gnmi/gnmi_decode.h"
#include "collectors/gnmi/gnmi_lldp.h"
#include "collectors/gnmi/gnmi_match.h"
#include "collectors/target/counter_check.h"

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
#define BINDING_NEW 0u /* the path was not looked up yet */
#define BINDING_NONE 1u /* the path means nothing */
#define BINDING_FIRST 2u /* + index into bindings */

/* One row of the profile's stream. */
struct gnmi_row {
	const struct profile_gnmi_value *spec;
	bool shared; /* as in gnmi_compiled.h */
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
 * (gnmi_objects.c). */
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

#endif
