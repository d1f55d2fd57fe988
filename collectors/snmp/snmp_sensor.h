/*
 * snmp_sensor - pure: one row of entPhySensorTable (RFC 3433) as a number. The value is an integer;
 * scale says thousands (9 = units, 8 = milli, ...), precision how many of its digits are behind the
 * point.
 */
#ifndef RW_COLLECTORS_SNMP_SENSOR_H
#define RW_COLLECTORS_SNMP_SENSOR_H

#include <stdbool.h>
#include "collectors/snmp/snmp_rows.h"

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

#endif
