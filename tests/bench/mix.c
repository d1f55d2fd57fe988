#include "tests/bench/mix.h"

#include "base/cleanup.h"
#include "db/model/metric.h"

static uint64_t mix_state = 88172645463325252;

uint64_t mix_chance(uint64_t n)
{
	mix_state ^= mix_state << 13;
	mix_state ^= mix_state >> 7;
	mix_state ^= mix_state << 17;
	return (mix_state >> 11) % n;
}
static double mix_even(void)
{
	return (double)mix_chance(1 << 30) / (1 << 30);
}

static uint64_t mix_idle(uint64_t before, uint32_t i)
{
	if (i > 0)
		return before;
	if (mix_chance(3))
		return 0;
	return mix_chance(1000000000);
}
static uint64_t mix_rare(uint64_t before, uint32_t i)
{
	if (i == 0)
		return mix_chance(100000);
	if (mix_chance(500) == 0)
		return before + 1 + mix_chance(20);
	return before;
}
static uint64_t mix_octets(uint64_t before, uint32_t i)
{
	if (i == 0)
		return mix_chance(1000000000000000);
	double load = 0.35 + 0.1 * mix_even();
	if (mix_chance(6) == 0) /* between two collectives */
		load = 0.9 * mix_even();
	return before + (uint64_t)(load * 400e9 / 8 * 10);
}
static uint64_t mix_packets(uint64_t before, uint32_t i)
{
	if (i == 0)
		return mix_chance(1000000000000);
	return before + (uint64_t)((0.3 + 0.15 * mix_even()) * 400e9 / 8 * 10 / 4170);
}
static uint64_t mix_depth(uint64_t before, uint32_t i)
{
	if (mix_chance(4))
		return 0;
	return 254 * mix_chance(mix_chance(10) ? 60 : 4000);
}
static uint64_t mix_burst(uint64_t before, uint32_t i)
{
	static uint32_t left;
	if (i == 0)
		return mix_chance(1000000000);
	if (left == 0 && mix_chance(40) == 0)
		left = 1 + (uint32_t)mix_chance(8);
	if (left == 0)
		return before;
	left--;
	return before + mix_chance(200000);
}
static uint64_t mix_warm(uint64_t before, uint32_t i)
{
	double celsius = 45 + (double)mix_chance(100) / 10;
	if (i > 0)
		celsius = sample_f64(before) + 0.1 * ((double)mix_chance(5) - 2);
	return sample_of_f64((double)(int64_t)(celsius * 10 + 0.5) / 10);
}
static uint64_t mix_ratio(uint64_t before, uint32_t i)
{
	return sample_of_f64((double)mix_chance(500000000) / 500000000);
}

const struct mix_kind mix_kinds[] = {
	{"idle", mix_idle, 8, 4, false},
	{"idle, one a port", mix_idle, 1, 30, false},
	{"errors, rare", mix_rare, 8, 1, false},
	{"octets", mix_octets, 3, 2, false},
	{"packets", mix_packets, 3, 2, false},
	{"queue depth", mix_depth, 2, 2, false},
	{"marks, in bursts", mix_burst, 2, 2, false},
	{"temperature", mix_warm, 1, 2, true},
	{"ratio", mix_ratio, 1, 2, true},
};
const size_t mix_n_kinds = rw_countof(mix_kinds);

uint32_t mix_series_per_port(void)
{
	uint32_t n = 0;

	for (size_t k = 0; k < mix_n_kinds; k++)
		n += mix_kinds[k].per_port * mix_kinds[k].metrics;
	return n;
}
