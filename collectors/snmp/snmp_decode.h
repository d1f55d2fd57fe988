/*
 * snmp_decode - pure: from rows to samples by a profile. Knows the device's ports (snmp_ports), and
 * which columns each counter was made of in the last poll: a change of either marks a restart
 * instead of a delta. No clock, no I/O, no log.
 */
#pragma once

#include "base/base.h"

#include "collectors/snmp/snmp_ports.h"
#include "collectors/snmp/snmp_rows.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

struct snmp_decoder;
struct snmp_sums;

/* ---- snmp_sums ------------------------------------------------------------- */

/*
 * snmp_sums - pure: the metrics of one table while its rows are read. Several columns, and in some
 * tables several rows, add up to one metric of one entity. A scratch: it is in use only while one
 * table is decoded, and all targets share one (a thousand devices need not keep one each).
 */

struct snmp_sum { /* one metric of one entity */
	uint32_t entity;
	int metric;
	const struct snmp_port_entry *port; /* NULL = of the device */
	uint64_t sum;
	double fsum;
	uint64_t mask; /* which values of the profile contributed */
	unsigned needed; /* how many contributors a difference needs; 0 = any */
	bool wrap32, fallback, estimated;
};

struct snmp_sums {
	struct snmp_sum *v;
	size_t n, cap;
	struct map *at; /* (entity, metric) -> position in v, for tables that add rows up */
	struct sample_list samples; /* of the poll that is decoded */
};

struct snmp_sums *snmp_sums_new(void);
void snmp_sums_free(void *sums); /* a struct snmp_sums; NULL is fine */

/* ---- snmp_sensor ----------------------------------------------------------- */

/*
 * snmp_sensor - pure: one row of entPhySensorTable (RFC 3433) as a number. The value is an integer;
 * scale says thousands (9 = units, 8 = milli, ...), precision how many of its digits are behind the
 * point.
 */

struct snmp_sensor { /* cells of one row, NULL = absent */
	const struct snmp_value *type, *scale, *precision, *status, *value;
};

/*
 * snmp_sensor_dbm - watts(6) as dBm: 10 log10(P / 1 mW); dBm(14) of Cisco as it is. @ret_bound: the
 * sensor read 0, which has no logarithm: half of its last digit stands for it, the most that rounds
 * to 0. snmp_sensor_celsius - celsius(8). 0; -ENODATA (not there, not operational, out of the
 * sensor's range), -EPROTOTYPE (measures something else).
 */
int snmp_sensor_dbm(const struct snmp_sensor *sensor, double *ret, bool *ret_bound);
int snmp_sensor_celsius(const struct snmp_sensor *sensor, double *ret);

/* ---- snmp_decode ----------------------------------------------------------- */

/* @entities, @profile and the scratch @sums are lent for its life; @device is copied. Decoders of
 * one thread may share @sums. */
struct snmp_decoder *snmp_decoder_new(struct entities *entities, const char *device,
	const struct profile *profile, struct snmp_sums *sums);
void snmp_decoder_free(struct snmp_decoder *decoder); /* NULL is fine */

/* snmp_decode_ports - the device's ports, for reading them and for giving them names. */
struct snmp_ports *snmp_decode_ports(const struct snmp_decoder *decoder);

/* snmp_decode_cell_reported - the size of a buffer cell as the device says it; snmp_decode_cell()
 * makes the sample of it, if it did. */
void snmp_decode_cell_reported(struct snmp_decoder *decoder, uint64_t cell_bytes);
bool snmp_decode_cell_known(const struct snmp_decoder *decoder);
void snmp_decode_cell(struct snmp_decoder *decoder, struct sample_list *out);
/* snmp_decode_cell_assumed - the size the configuration declares, for devices that do not report
 * one: what is computed with it is flagged estimated. */
void snmp_decode_cell_assumed(struct snmp_decoder *decoder, uint64_t cell_bytes);

/* snmp_decode_begin - the tables of a new poll follow. @t_ns is its time (UTC): octets and pause
 * times are compared with what is possible (counter_check); 0 = no comparison. The samples still
 * come out without a time. */
void snmp_decode_begin(struct snmp_decoder *decoder, int64_t t_ns);

/*
 * snmp_decode_table - the samples of one complete table are added to @out (t_ns 0, source SNMP: the
 * caller stamps them).
 * @restart: the device restarted since its last poll: every counter is flagged. Discontinuities of
 * single ports are noticed here; a table with the discontinuity column must therefore come before
 * the other tables of the poll.
 */
void snmp_decode_table(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct snmp_rows *rows, bool restart, struct sample_list *out);

/* snmp_decode_needed - which columns are worth asking for until the names are read again: those
 * that gave a value in @rows, or stand in for one that did not. Fills @ret_want[table->n_columns];
 * returns how many. */
size_t snmp_decode_needed(
	const struct profile_table *table, const struct snmp_rows *rows, bool *ret_want);

struct snmp_decode_stats {
	uint64_t unknown_ports; /* rows about an ifIndex without a name: names must be read again */
	uint64_t wrong_types, bad_indexes;
	uint64_t suspects; /* readings that cannot be true */
	/* of the poll since snmp_decode_begin(): values in buffer cells whose size nobody told */
	uint32_t no_cell;
	/* rows with values whose text names no port of this device, and one of the texts */
	uint64_t strangers;
	char stranger[SNMP_NAME_MAX];
};
const struct snmp_decode_stats *snmp_decode_stats(const struct snmp_decoder *decoder);
