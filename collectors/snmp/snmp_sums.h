/*
 * snmp_sums - pure: the metrics of one table while its rows are read. Several columns, and in some
 * tables several rows, add up to one metric of one entity. A scratch: it is in use only while one
 * table is decoded, and all targets share one (a thousand devices need not keep one each).
 */
#ifndef RW_COLLECTORS_SNMP_SUMS_H
#define RW_COLLECTORS_SNMP_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/model/sample.h"

struct map;
struct snmp_port_entry;

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
void snmp_sums_begin(struct snmp_sums *sums); /* a new table: forget all */

/* snmp_sums_key - of the maps that remember something of one metric of one entity. */
uint64_t snmp_sums_key(uint32_t entity, int metric);
/* snmp_sums_get - the sum of this metric of this entity, new if there is none. @join_rows: rows add
 * up; else only sums from position @from on, those of the current row, are looked at. Lent until
 * the next call. */
struct snmp_sum *snmp_sums_get(
	struct snmp_sums *sums, bool join_rows, uint32_t entity, int metric, size_t from);

#endif
