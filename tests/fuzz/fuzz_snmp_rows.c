/* A hostile agent's answers to a walk of three columns, then to a second walk: no crash, rows in
 * order, and the walk ends. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "collectors/snmp/snmp_rows.h"

#define PER_ANSWER 64

/* One varbind is: number of arcs, arcs (one byte each, 255 = a large one), type, length, bytes. */
static size_t answer(struct bytes *b, struct snmp_varbind *v, uint32_t arcs[][SNMP_OID_MAX + 8])
{
	size_t n = 0;
	for (; n < PER_ANSWER && bytes_left(b) > 0; n++) {
		size_t n_arcs = bytes_u8(b) % (SNMP_OID_MAX + 8);
		if (n_arcs == 0)
			break; /* the answer ends */
		for (size_t i = 0; i < n_arcs; i++) {
			uint8_t arc = bytes_u8(b);
			arcs[n][i] = arc == 255 ? bytes_be32(b) : arc;
		}
		v[n] = (struct snmp_varbind){.oid = {arcs[n], n_arcs},
			.type = (enum snmp_type)(bytes_u8(b) % (SNMP_OTHER + 1))};
		v[n].number = bytes_be32(b);
		if (v[n].type == SNMP_STRING || v[n].type == SNMP_ADDRESS) {
			size_t len = bytes_u8(b);
			v[n].bytes = bytes_take(b, len);
			v[n].n_bytes = v[n].bytes ? len : 0;
		}
	}
	return n;
}

static void check(const struct snmp_rows *r)
{
	for (size_t i = 0; i < snmp_rows_count(r); i++) {
		if (i > 0 && snmp_oid_order(snmp_rows_index(r, i - 1), snmp_rows_index(r, i)) >= 0)
			abort();
		for (size_t c = 0; c < 3; c++) {
			const struct snmp_value *cell = snmp_rows_value(r, i, c);
			size_t n = 0;
			const uint8_t *p = cell ? snmp_rows_bytes(r, cell, &n) : NULL;
			uint8_t sink = 0;
			for (size_t k = 0; p && k < n; k++)
				sink ^= p[k];
			/* the bytes are read, whatever the optimizer thinks of it */
			__asm__ volatile("" : : "r"(sink));
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct snmp_varbind v[PER_ANSWER];
	static uint32_t arcs[PER_ANSWER][SNMP_OID_MAX + 8];
	static const uint32_t a[] = {1, 6}, b[] = {1, 7}, c[] = {1, 6, 3};
	const struct snmp_oid columns[] = {{a, 2}, {b, 2}, {c, 3}};
	struct snmp_rows *r = snmp_rows_new(columns, 3);
	struct bytes in = bytes_of(data, size);
	for (int walk = 0; walk < 2; walk++) {
		struct snmp_oid ask[3];
		size_t max = 1 + bytes_u8(&in) % 3, n;
		snmp_rows_begin(r, NULL);
		while ((n = snmp_rows_next(r, ask, max)) > 0) {
			if (bytes_left(&in) > 0 && *in.p == 254) {
				bytes_skip(&in, 1);
				snmp_rows_refuse(r, bytes_u8(&in));
			}
			if (!snmp_rows_take(r, v, answer(&in, v, arcs)))
				break;
		}
		check(r);
	}
	snmp_rows_free(r);
	return 0;
}
