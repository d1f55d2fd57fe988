/*
 * link_limits - from when on a link is bad: the options of the analyzer link_health. Screens and
 * metrics judge errors by the same ones.
 */
#ifndef RW_MEASURE_LINK_LIMITS_H
#define RW_MEASURE_LINK_LIMITS_H

#include <stdint.h>

struct link_health_options {
	double busy, errors_per_s, errors_critical, ber, rx_power_drop_db, rx_power_min_dbm;
	double light_fall_db, ber_rise_decades; /* against the port's own past */
	int64_t window_ns, past_ns, hold;
};

#endif
