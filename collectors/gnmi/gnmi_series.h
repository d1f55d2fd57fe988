/*
 * gnmi_cells - the values of a device and what each is made of; inside of gnmi_decode.c (what paths
 * mean) and gnmi_cells.c (what becomes of their values).
 */
#ifndef RW_COLLECTORS_GNMI_CELLS_H
#define RW_COLLECTORS_GNMI_CELLS_H

#include "collectors/gnmi/gnmi_compiled.h"
#include "collectors/gnmi/gnmi_convert.h"
#include "collectors/gnmi/gnmi_decode.h"
#include "collectors/gnmi/gnmi_lldp.h"
#include "collectors/gnmi/gnmi_match.h"
#include "collectors/target/counter_check.h"

#define NAME_MAX_BYTES 256
#define LINE_LEAST_BPS 1000000u /* slower is no speed but a placeholder */
#define BINDING_NEW 0u /* slots: not looked at yet */
#define BINDING_NONE 1u /* means nothing */
#define BINDING_FIRST 2u
#define NO_CELL UINT32_MAX

struct port {
	struct gnmi_port seen;
	char *name, *alias;
};

struct cell { /* one value of one thing */
	uint32_t entity, port; /* index of the port, NO_CELL = none */
	uint16_t metric;
	bool pending; /* in the feed's list */
	bool several; /* parts */
	uint32_t epoch; /* of the decoder when it last spoke */
	uint32_t first_part;
	uint32_t emitted_parts; /* that had spoken when it was last emitted */
	uint32_t gate; /* + 1; 0 = none */
};

struct part { /* what one path gives to a cell */
	uint32_t cell, next;
	const struct leaf *leaf;
	bool seen, fresh;
	union {
		uint64_t u;
		double d;
	};
};

struct leaf { /* one row of the profile */
	const struct profile_gnmi_value *v;
	bool shared; /* as in gnmi_compiled.h */
	size_t paths;
	const char *type;
};

struct binding { /* what one path means */
	struct leaf *leaf;
	/* parts; for refers and of: index of ref or object; of LLDP: of the neighbour */
	uint32_t first, n;
	uint32_t port;
	bool zero, wrong;
};

struct ref { /* a place that refers to an object */
	const char *kind;
	char *name; /* of the object; NULL = none yet */
	uint32_t port;
	enum gnmi_number number;
	uint64_t numbers;
};
struct property { /* of an object */
	const struct leaf *leaf;
	char *name;
	struct gnmi_converted value;
	bool has;
};

struct gnmi_feed {
	struct gnmi_decoder *d;
	const struct profile_gnmi_stream *stream;
	const struct gnmi_compiled *compiled;
	struct gnmi_decode decode;
	struct leaf *leaves;
	size_t n_leaves;
	uint32_t *slots;
	size_t n_slots;
	struct smap *by_path; /* for updates without a path_id */
	struct binding *bindings;
	size_t n_bindings, cap_bindings;
	struct part *parts;
	size_t n_parts, cap_parts;
	struct map *cells; /* key -> index into cells */
	struct cell *v;
	size_t n_cells, cap_cells;
	uint32_t *pending;
	size_t n_pending, cap_pending;
	struct ref *refs;
	size_t n_refs, cap_refs;
	struct property *properties;
	size_t n_properties, cap_properties;
	bool complete; /* a round is */
	bool makes_ports; /* and no port is known by other means: those it hears on are */
	uint32_t names_epoch; /* the decoder's when the slots were made */
};

struct gnmi_decoder {
	struct entities *entities;
	char *device;
	const struct profile *profile;
	struct gnmi_compiled_set *compiled;
	uint64_t cell_bytes;
	bool cell_assumed;
	struct port *ports;
	size_t n_ports, cap_ports;
	struct smap *by_name, *by_alias; /* index of the port; +1 in by_alias, 0 = no longer */
	char *sysname;
	bool has_boot;
	uint64_t boot;
	uint32_t epoch; /* counts restarts of the device */
	uint32_t names_epoch; /* counts changes of aliases */
	bool ports_changed;
	struct counter_check *gates;
	size_t n_gates, cap_gates;
	struct gnmi_lldp *lldp; /* NULL: no stream of the profile hears */
	struct gnmi_decode_stats stats;
};

/* gnmi_cell_entity - of a metric at a place: a port, a priority of it, an unmapped queue (@queue),
 * a pool or the device. */
uint32_t gnmi_cell_entity(struct gnmi_feed *feed, uint32_t port, int metric, int priority,
	const char *queue, struct gnmi_text pool);
/* gnmi_cell_of - the value of this metric of this thing, made when new; NO_CELL when there are too
 * many. */
uint32_t gnmi_cell_of(struct gnmi_feed *feed, uint32_t entity, int metric, uint32_t port);
/* gnmi_emit - one sample. @remade: it is made of other parts than the last one. */
void gnmi_emit(struct gnmi_feed *feed, struct cell *cell, const struct gnmi_converted *value,
	uint32_t window_ms, int64_t t_ns, bool remade, struct sample_list *out);
/* gnmi_cell_emit - one sample of all parts that have spoken. */
void gnmi_cell_emit(
	struct gnmi_feed *feed, struct cell *cell, int64_t t_ns, struct sample_list *out);
/* gnmi_part_take - one part of several has spoken: the sample comes when all have. */
void gnmi_part_take(struct gnmi_feed *feed, uint32_t index, const struct gnmi_converted *value,
	int64_t t_ns, struct sample_list *out);

void gnmi_port_changed(struct gnmi_decoder *decoder, struct port *port);

#endif
