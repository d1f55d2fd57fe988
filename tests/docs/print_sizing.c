/* print_sizing - the table of docs/sizing.md: what fabrics of some sizes take. */
#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "analyzers/measure/sizing.h"

#define PORTS 64

/* Two significant digits are what the constants are good for. */
static void print_two_digits(double value, const char *unit)
{
	const double step = pow(10, floor(log10(value)) - 1);
	int decimals = 0;
	while (decimals < 2 && step < 0.5 * pow(10, -decimals))
		decimals++;
	printf(" %.*f %s |", decimals, round(value / step) * step, unit);
}

static void print_bytes(double bytes)
{
	if (isnan(bytes))
		printf(" not measured |");
	else if (bytes < 999.5e6)
		print_two_digits(bytes / 1e6, "MB");
	else
		print_two_digits(bytes / 1e9, "GB");
}

static void print_cores(double cores)
{
	if (isnan(cores))
		printf(" not measured |");
	else
		print_two_digits(cores * 100, "%");
}

int main(void)
{
	static const struct {
		double switches, interval_s;
	} rows[] = {{12, 10}, {64, 10}, {64, 1}, {128, 10}, {512, 10}, {1024, 10}, {10000, 30}};
	printf("\n| switches | every | samples/s | CPU of a core: polling | judging | memory | a "
	       "day: "
	       "values | minutes and hours |\n|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct sizing s;
		if (sizing_of(rows[i].switches, PORTS, rows[i].interval_s, &s) < 0)
			return 1;
		printf("| %.0f | %.0f s | %.0f |", rows[i].switches, rows[i].interval_s,
			s.samples_per_s);
		print_cores(s.polling_cores);
		print_cores(s.judging_cores);
		print_bytes(s.memory_bytes);
		print_bytes(s.disk_values_bytes_per_day);
		print_bytes(s.disk_rollups_bytes_per_day);
		printf("\n");
	}
	printf("\n");
	return 0;
}
