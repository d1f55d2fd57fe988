/* A hostile agent's LLDP-MIB: the walk ends, what is read is text that can be printed, ports are
 * ours. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "collectors/snmp/snmp_lldp.h"
#include "tests/fuzz/printed.h"

#define PER_ANSWER 64
#define ARCS (SNMP_OID_MAX + 8)

/* Below what was asked for: number of further arcs, arcs (255 = a large one), type, then a length
 * and bytes or a number. */
static size_t answer(struct bytes *b, const struct snmp_oid *ask, size_t n_ask,
	struct snmp_varbind *v, uint32_t arcs[][ARCS])
{
	size_t n = 0;
	for (; n < PER_ANSWER && bytes_left(b) > 0; n++) {
		struct snmp_oid root = ask[n % n_ask];
		size_t keep = root.n < 11 ? root.n : 11, more = bytes_u8(b) % 6;
		if (more == 5)
			break;
		memcpy(arcs[n], root.v, keep * sizeof(uint32_t));
		for (size_t i = 0; i < more; i++) {
			uint8_t arc = bytes_u8(b);
			arcs[n][keep + i] = arc == 255 ? bytes_be32(b) : arc;
		}
		v[n] = (struct snmp_varbind){.oid = {arcs[n], keep + more},
			.type = (enum snmp_type)(bytes_u8(b) % (SNMP_OTHER + 1))};
		if (v[n].type == SNMP_STRING) {
			size_t len = bytes_u8(b);
			v[n].bytes = bytes_take(b, len);
			v[n].n_bytes = v[n].bytes ? len : 0;
		} else {
			v[n].number = bytes_u8(b);
		}
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct snmp_varbind v[PER_ANSWER];
	static uint32_t arcs[PER_ANSWER][ARCS];
	static const struct topology_port ports[] = {{.name = "a", .alias = "", .ifindex = 1},
		{.name = "b", .alias = "x", .ifindex = 2}};
	struct bytes in = bytes_of(data, size);
	struct snmp_lldp *l = snmp_lldp_new();
	struct snmp_oid ask[16];
	size_t n;
	snmp_lldp_begin(l);
	while ((n = snmp_lldp_next(l, ask, 16)) > 0)
		snmp_lldp_take(l, v, answer(&in, ask, n, v, arcs));
	struct arena *a = arena_new();
	struct topology_device self;
	struct topology_neighbor *heard;
	struct topology_link *links;
	n = snmp_lldp_result(l, a, NULL, "leaf1", "", ports, 2, &self, &heard);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(heard[i].port, "a") != 0 && strcmp(heard[i].port, "b") != 0)
			abort();
		printed_line(heard[i].sysname);
		printed_line(heard[i].chassis);
		printed_line(heard[i].port_id);
		printed_line(heard[i].port_descr);
	}
	n = topology_links(a, &self, 1, heard, n, &links);
	for (size_t i = 0; i < n; i++)
		printed_line(links[i].host ? links[i].host : links[i].b_port);
	arena_free(a);
	snmp_lldp_free(l);
	return 0;
}
