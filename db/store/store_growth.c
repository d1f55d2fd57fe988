/* store_growth - see store_growth.h. */
#include "db/store/store_growth.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/clock.h"

#define POINT_EVERY_NS (3600 * NS_PER_S)
#define POINT_GAP_NS (6 * 3600 * NS_PER_S) /* no agent ran, or the clock was set */
#define DAY_NS (24 * 3600 * NS_PER_S)
#define FORESEEN_DAYS 3650.0

bool store_growth_note(struct store_growth *growth, int64_t now_ns, uint64_t used_bytes)
{
	int64_t since_ns = 0;

	if (growth->n > 0)
		since_ns = now_ns - growth->points[growth->n - 1].t_ns;
	if (since_ns < 0 || since_ns > POINT_GAP_NS)
		growth->n = 0;
	if (growth->n > 0 && since_ns < POINT_EVERY_NS)
		return false;
	if (growth->n == GROWTH_POINTS) {
		memmove(&growth->points[0], &growth->points[1],
			(GROWTH_POINTS - 1) * sizeof(growth->points[0]));
		growth->n--;
	}
	growth->points[growth->n++] = (struct growth_point){now_ns, used_bytes};
	return true;
}

double store_growth_rate(const struct store_growth *growth, int64_t now_ns, uint64_t used_bytes)
{
	const struct growth_point *first = &growth->points[0];

	if (growth->n == 0 || now_ns - first->t_ns < GROWTH_LEAST_NS)
		return NAN;
	return ((double)used_bytes - (double)first->used_bytes) * (double)DAY_NS /
		(double)(now_ns - first->t_ns);
}

int64_t store_growth_full(int64_t now_ns, uint64_t used_bytes, uint64_t quota_bytes,
	double bytes_day, int64_t raw_full_ns)
{
	if (quota_bytes == 0 || !(bytes_day > 0))
		return 0;
	if (used_bytes >= quota_bytes)
		return now_ns;
	const double days = (double)(quota_bytes - used_bytes) / bytes_day;
	if (days > FORESEEN_DAYS)
		return 0;
	const int64_t full_ns = now_ns + (int64_t)(days * (double)DAY_NS);
	if (raw_full_ns > now_ns && full_ns > raw_full_ns)
		return 0;
	return full_ns;
}

void store_growth_print(const struct store_growth *growth, char *buf, size_t size)
{
	size_t n = (size_t)snprintf(buf, size, "1");

	for (size_t i = 0; i < growth->n && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, " %" PRId64 ":%" PRIu64,
			growth->points[i].t_ns, growth->points[i].used_bytes);
}

bool store_growth_parse(struct store_growth *growth, const char *text)
{
	struct store_growth read = {0};
	int at = 0;

	if (text[0] != '1' || (text[1] != ' ' && text[1] != '\0'))
		return false;
	for (const char *p = text + 1; *p; p += at) {
		struct growth_point point;
		if (read.n == GROWTH_POINTS ||
			sscanf(p, " %" SCNd64 ":%" SCNu64 "%n", &point.t_ns, &point.used_bytes,
				&at) != 2)
			return false;
		if (read.n > 0 && point.t_ns <= read.points[read.n - 1].t_ns)
			return false;
		read.points[read.n++] = point;
	}
	*growth = read;
	return true;
}
