/* snmp_sensor - reads the five columns of a sensor as one number. */
#include "collectors/snmp/snmp_sensor.h"

#include <errno.h>
#include <math.h>

/* RFC 3433 section 2: EntitySensorDataType, EntitySensorDataScale, EntitySensorPrecision,
 * EntitySensorValue, EntitySensorStatus. CISCO-ENTITY-SENSOR-MIB has the same columns and numbers,
 * and dBm (14) as a further SensorDataType */
enum {
	TYPE_WATTS = 6,
	TYPE_CELSIUS = 8,
	TYPE_DBM = 14,
	SCALE_UNITS = 9,
	SCALE_LAST = 17,
	STATUS_OK = 1
};
#define VALUE_RANGE 1000000000 /* at either end: over- or underflow, not a value */

static bool snmp_sensor_number(
	const struct snmp_value *cell, int64_t min, int64_t max, int64_t *ret)
{
	if (!cell || !snmp_type_is_number(cell->type) || (int64_t)cell->u < min ||
		(int64_t)cell->u > max)
		return false;
	*ret = (int64_t)cell->u;
	return true;
}

/* sensor_read - in base units, and the weight of its last digit. */
static int sensor_read(
	const struct snmp_sensor *sensor, int64_t type, double *ret, double *ret_digit)
{
	int64_t is, scale, precision, status, value;
	if (!snmp_sensor_number(sensor->type, 1, INT32_MAX, &is) ||
		!snmp_sensor_number(sensor->scale, 1, SCALE_LAST, &scale) ||
		!snmp_sensor_number(sensor->precision, -8, 9, &precision) ||
		!snmp_sensor_number(sensor->status, STATUS_OK, STATUS_OK, &status) ||
		!snmp_sensor_number(sensor->value, 1 - VALUE_RANGE, VALUE_RANGE - 1, &value))
		return -ENODATA;
	if (is != type)
		return -EPROTOTYPE;
	*ret_digit = pow(10, (double)(3 * (scale - SCALE_UNITS) - precision));
	*ret = (double)value * *ret_digit;
	return 0;
}

int snmp_sensor_dbm(const struct snmp_sensor *sensor, double *ret, bool *ret_bound)
{
	double watts, digit;
	*ret_bound = false;
	int rc = sensor_read(sensor, TYPE_DBM, ret, &digit);
	if (rc != -EPROTOTYPE)
		return rc;
	rc = sensor_read(sensor, TYPE_WATTS, &watts, &digit);
	if (rc < 0)
		return rc;
	if (watts < 0)
		return -ENODATA;
	*ret_bound = watts == 0;
	if (*ret_bound)
		watts = digit / 2;
	*ret = 10 * log10(watts * 1000);
	return 0;
}

int snmp_sensor_celsius(const struct snmp_sensor *sensor, double *ret)
{
	double digit;
	return sensor_read(sensor, TYPE_CELSIUS, ret, &digit);
}
