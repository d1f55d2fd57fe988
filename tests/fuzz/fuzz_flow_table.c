/*
 * Packets of chosen addresses, queue pairs and sequence numbers through the flow table, loss and
 * rows, beyond its limit: sums hold, and the time is bounded (a table that becomes a list runs into
 * the fuzzer's time-out). First byte: limit and sampling; then 8 bytes a packet.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "collectors/packet/flow/flow_table.h"
#include "tests/fuzz/printed.h"

/* Addresses come from what an attacker would try: all the same, all different, IPv6 in halves that
 * a multiplying hash folds to zero. */
static struct roce_packet flow_packet(struct bytes *in, uint64_t i)
{
	static const uint8_t opcodes[] = {0x04, 0x00, 0x01, 0x02, 0x06, 0x07, 0x08, 0x0a, 0x0c,
		0x0d, 0x10, 0x11, 0x12, 0x81, 0x64, 0x2a};
	const uint8_t shape = bytes_u8(in), host = bytes_u8(in), op = bytes_u8(in);
	struct roce_packet p = {.kind = shape == 0xff ? PACKET_ROCEV1 : PACKET_ROCE,
		.family = shape & 1 ? 6 : 4,
		.octets = 64 + 16u * op,
		.payload_bytes = op & 0x10 ? 0 : 1024,
		.ecn = (uint8_t)(shape >> 1 & 3),
		.opcode = opcodes[op % sizeof(opcodes)],
		.dst_qp = bytes_u8(in),
		.src_port = bytes_be16(in),
		.psn = bytes_be16(in)};
	p.src[0] = p.dst[0] = host;
	p.src[3] = host & 0xf;
	p.dst[3] = host >> 4;
	if (shape & 8) /* a new flow each */
		memcpy(p.src + (p.family == 6 ? 8 : 0), &i, p.family == 6 ? 8 : 4);
	if (shape & 16)
		p.psn = (p.psn << 8) & 0xffffff;
	if (shape & 32) {
		p.has_aeth = true;
		p.syndrome = (uint8_t)(op << 1);
		p.msn = p.psn;
	}
	if (shape & 64) {
		p.has_reth = true;
		p.reth_bytes = (uint32_t)op << 12;
	}
	p.flow_label = p.src_port;
	return p;
}

static void flow_rows_check(struct flow_table *table)
{
	struct flow_totals totals;
	const struct flow_choice all = {0};
	uint32_t *ids;
	size_t n;
	uint64_t packets = 0;
	flow_table_totals(table, &totals);
	flow_table_choose(table, &all, &ids, &n);
	for (size_t i = 0; i < n; i++) {
		struct flow row;
		flow_table_row(table, ids[i], &row);
		packets += row.packets;
	}
	free(ids);
	if (packets > totals.packets)
		printed_fault("rows have more packets than were seen", "");
	if (totals.ce + totals.ect + totals.not_ect > totals.packets)
		printed_fault("more marks than packets", "");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes in = bytes_of(data, size);
	const uint8_t first = bytes_u8(&in);
	struct flow_table *table = flow_table_new(first & 1 ? 16 : 300, first & 2 ? 100 : 1, 7);
	int64_t t_ns = 0;
	uint64_t seen = 0;
	for (uint64_t i = 0; bytes_left(&in) > 0; i++) {
		const struct roce_packet p = flow_packet(&in, i);
		const uint8_t step = bytes_u8(&in);
		struct flow_hit hit;
		t_ns += (int64_t)step * step * 1000;
		flow_table_add(table, &p, t_ns, &hit);
		seen++;
		if (step == 0xfe) {
			struct flow_aim aim;
			flow_table_aim(table, &p, &aim);
			flow_table_copy(table, &p, &aim, t_ns, first & 4);
		}
		if (step == 0xff) {
			flow_rows_check(table);
			flow_table_next(table);
			seen = 0;
		}
	}
	flow_rows_check(table);
	struct flow_totals totals;
	flow_table_totals(table, &totals);
	if (totals.packets > seen)
		printed_fault("more packets than were given", "");
	flow_table_free(table);
	return 0;
}
