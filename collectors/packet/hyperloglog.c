/* hyperloglog - registers and the estimate. */
#include "collectors/packet/hyperloglog.h"

#include <math.h>

#include "agent/base/cleanup.h"

struct hyperloglog *hyperloglog_new(unsigned precision)
{
	struct hyperloglog *counter = rw_calloc(1, sizeof(*counter) + ((size_t)1 << precision));
	counter->precision = (uint8_t)precision;
	return counter;
}

void hyperloglog_add(struct hyperloglog *counter, uint64_t hash)
{
	const unsigned precision = counter->precision;
	const uint64_t rest = hash << precision | 1ull << (precision - 1);
	const uint8_t rank = (uint8_t)(__builtin_clzll(rest) + 1);
	uint8_t *reg = &counter->registers[hash >> (64 - precision)];
	if (rank > *reg)
		*reg = rank;
}

/* The constant of the paper, figure 3. */
static double hyperloglog_alpha(double registers)
{
	if (registers <= 16)
		return 0.673;
	if (registers <= 32)
		return 0.697;
	if (registers <= 64)
		return 0.709;
	return 0.7213 / (1 + 1.079 / registers);
}

double hyperloglog_estimate(const struct hyperloglog *counter)
{
	const size_t n = (size_t)1 << counter->precision;
	const double registers = (double)n;
	double sum = 0;
	size_t empty = 0;
	for (size_t i = 0; i < n; i++) {
		sum += ldexp(1, -counter->registers[i]);
		empty += counter->registers[i] == 0;
	}
	const double estimate = hyperloglog_alpha(registers) * registers * registers / sum;
	if (estimate <= 2.5 * registers && empty)
		return registers * log(registers / (double)empty);
	return estimate;
}

double hyperloglog_error_ratio(unsigned precision)
{
	return 1.04 / sqrt((double)(1u << precision));
}
