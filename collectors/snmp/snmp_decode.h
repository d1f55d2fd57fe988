/*
 * snmp_decode - from rows to samples by a profile. Knows the device's ports (ifIndex to name and
 * entity) and what each counter was made of last time, so that a change of either marks a restart
 * instead of a delta. No clock, no I/O, no log; one thread (the sums of a table under way are kept
 * once for all decoders).
 */
#ifndef RW_COLLECTORS_SNMP_DECODE_H
#define RW_COLLECTORS_SNMP_DECODE_H

#include <stdbool.h>
#include <stdint.h>
#include "collectors/snmp/snmp_rows.h"
#include "collectors/snmp/snmp_text.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"
#include "db/model/sample.h"

struct snmp_decoder;

struct snmp_port {
	uint32_t ifindex;
	const char *name, *alias; /* as UTF-8 without control characters; alias "" */
	uint64_t speed_bps; /* 0 = unknown */
	bool changed; /* since snmp_decode_ports_told() */
};

/* @entities and @profile are lent for its life; @device is copied. */
struct snmp_decoder *snmp_decoder_new(
	struct entities *entities, const char *device, const struct profile *profile);
void snmp_decoder_free(struct snmp_decoder *decoder); /* NULL is fine */
/* snmp_decode_cell_told - the size of a buffer cell as the device says it; snmp_decode_cell() makes
 * the sample of it, if it did. */
void snmp_decode_cell_told(struct snmp_decoder *decoder, uint64_t cell_bytes);
void snmp_decode_cell(struct snmp_decoder *decoder, struct sample_list *out);
/* snmp_decode_cell_assumed - the size the configuration declares, for devices that do not tell:
 * what is made of it is flagged estimated. */
void snmp_decode_cell_assumed(struct snmp_decoder *decoder, uint64_t cell_bytes);

/* snmp_decode_begin - the tables of a new poll follow: forgets which ports were new or had a
 * discontinuity in the one before. */
void snmp_decode_begin(struct snmp_decoder *decoder);
/* snmp_decode_time - when the poll took place (UTC): octets and pause times are then held against
 * what can be (counter_check). The samples still come out without a time. Not said: nothing is held
 * against anything. */
void snmp_decode_time(struct snmp_decoder *decoder, int64_t t_ns);

/*
 * Names come first. snmp_decode_names() notes what one complete slow table says of ports;
 * snmp_decode_ports() then makes the new map: a port whose index was given to another name starts
 * anew. True when a port came, went or changed.
 */
void snmp_decode_names(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct snmp_rows *rows);
bool snmp_decode_ports(struct snmp_decoder *decoder);
size_t snmp_decode_port_count(const struct snmp_decoder *decoder);
/* lent until the next snmp_decode_ports() */
const struct snmp_port *snmp_decode_port(const struct snmp_decoder *decoder, size_t i);
void snmp_decode_ports_told(struct snmp_decoder *decoder);

/*
 * snmp_decode_table - the samples of one complete table are added to @out (t_ns 0, source SNMP: the
 * caller stamps them).
 * @restart: the device restarted since its last poll: every counter is flagged. Discontinuities of
 * single ports are seen here; a table with the discontinuity column must therefore come before the
 * other tables of the poll.
 */
void snmp_decode_table(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct snmp_rows *rows, bool restart, struct sample_list *out);

/* snmp_decode_needed - which columns are worth asking for until the names are read again: those
 * that gave a value in @rows, or stand in for one that did not. Fills @ret_want[table->n_columns];
 * returns how many. Columns once @want and only empty now stay out. */
size_t snmp_decode_needed(
	const struct profile_table *table, const struct snmp_rows *rows, bool *ret_want);

struct snmp_decode_stats {
	uint64_t unknown_ports; /* rows about an ifIndex without a name: names must be read again */
	uint64_t wrong_types, bad_indexes;
	uint64_t discontinuities;
	uint64_t suspects; /* readings that cannot be true */
};
const struct snmp_decode_stats *snmp_decode_stats(const struct snmp_decoder *decoder);

#endif
