#include "analyzers/measure/sizing.h"

#include "base/base.h"

#define S_PER_DAY 86400
#define MINUTES_PER_DAY 1440
#define S_PER_MINUTE 60
#define BITS_PER_BYTE 8

int sizing_of(double switches, double ports, double interval_s, struct sizing *ret)
{
	if (!(switches > 0 && ports > 0 && interval_s > 0))
		return -EINVAL;
	const double all_ports = switches * ports;
	const double series = all_ports * SIZING_SAMPLES_PER_PORT;
	*ret = (struct sizing){
		.samples_per_s = series / interval_s,
		.values_per_s = all_ports * SIZING_VALUES_PER_PORT / interval_s,
		.judging_cores = NAN,
		.memory_bytes = NAN,
	};
	ret->polling_cores = ret->values_per_s * SIZING_CPU_S_PER_VALUE;
	if (interval_s >= SIZING_MEASURED_INTERVAL_S) {
		/* a window is judged as often as the fabric is polled */
		ret->judging_cores = all_ports * SIZING_CPU_S_PER_PORT_WINDOW / interval_s;
		ret->memory_bytes = SIZING_MEMORY_BYTES + all_ports * SIZING_MEMORY_BYTES_PER_PORT;
	}
	ret->disk_values_bytes_per_day =
		ret->samples_per_s * S_PER_DAY * SIZING_DISK_BYTES_PER_SAMPLE;
	/* A minute without a value has no row: polls further apart make fewer rows. */
	const double minutes = MINUTES_PER_DAY * fmin(1, S_PER_MINUTE / interval_s);
	ret->disk_rollups_bytes_per_day = series * minutes * SIZING_DISK_BYTES_PER_MINUTE;
	ret->traffic_per_switch_bps =
		ret->values_per_s / switches * SIZING_TRAFFIC_BYTES_PER_VALUE * BITS_PER_BYTE;
	return 0;
}
