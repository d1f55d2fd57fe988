/*
 * bench_flow_table - a flow table that is given more directions than it may keep: memory, and CPU
 * per packet.
 *
 *   bench_flow_table [PACKETS [LIMIT]]      default 10000000, the limit of files
 *
 * Every packet is of a new queue pair between new hosts, a quarter of them IPv6; one in ten belongs
 * to one of 100 heavy ones, which must all be kept. Ends with 1 when the memory is more than 64 MiB
 * and 128 bytes for each direction of the limit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "collectors/packet/flow/flow_table.h"

enum { HEAVY = 100, BUDGET_MIB = 64, BUDGET_EACH = 128 };

static double cpu_s(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static struct roce_packet packet_of(uint64_t i)
{
	struct roce_packet packet = {.kind = PACKET_ROCE,
		.family = 4,
		.opcode = 0x0a, /* RC WRITE only */
		.octets = 1082,
		.payload_bytes = 1024,
		.ecn = ECN_ECT0};
	uint32_t number = (uint32_t)i;
	if (i % 10 == 0)
		number = (uint32_t)(i / 10 % HEAVY);
	if (number % 4 == 3)
		packet.family = 6;
	packet.src[0] = packet.dst[0] = 10;
	memcpy(packet.src + 1, &number, 3);
	memcpy(packet.dst + 1, &number, 3);
	packet.dst[0] = 11;
	packet.dst_qp = number & 0xffffff;
	packet.src_port = (uint16_t)(49152 + number % 16384);
	packet.psn = (uint32_t)(i / 10 / HEAVY);
	return packet;
}

int main(int argc, char **argv)
{
	uint64_t packets = 10000000;
	uint32_t limit = FLOW_TABLE_FILE_LIMIT, heavy = 0;
	if (argc > 1)
		packets = strtoull(argv[1], NULL, 10);
	if (argc > 2)
		limit = (uint32_t)strtoul(argv[2], NULL, 10);
	struct flow_table *table = flow_table_new(limit, 1, 42);
	const double begin_s = cpu_s();
	for (uint64_t i = 0; i < packets; i++) {
		const struct roce_packet packet = packet_of(i);
		flow_table_add(table, &packet, (int64_t)i * 1000, NULL);
	}
	const double took_s = cpu_s() - begin_s;
	struct flow_totals totals;
	flow_table_totals(table, &totals);
	const struct flow_choice top = {.most = HEAVY};
	uint32_t *ids;
	size_t n;
	flow_table_choose(table, &top, &ids, &n);
	for (size_t i = 0; i < n; i++) {
		struct flow row;
		flow_table_row(table, ids[i], &row);
		heavy += row.packets * 10ull * HEAVY > packets / 2;
	}
	free(ids);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	const double mib = (double)usage.ru_maxrss / 1024;
	const double budget = BUDGET_MIB + (double)limit * BUDGET_EACH / (1 << 20);
	printf("%llu packets, limit %u: %.0f ns of CPU per packet, %.0f MiB of %.0f, %llu let go, "
	       "%u distinct estimated, %u of %d heavy ones kept whole\n",
		(unsigned long long)packets, limit, took_s * 1e9 / (double)packets, mib, budget,
		(unsigned long long)totals.evicted, totals.flows, heavy, HEAVY);
	flow_table_free(table);
	return mib > budget || heavy < HEAVY;
}
