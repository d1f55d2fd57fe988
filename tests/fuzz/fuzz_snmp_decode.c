/*
 * A hostile switch, from rows of SNMP tables to samples, over three polls: names, then values, by a
 * built-in profile. Input: profile; then varbinds as fuzz_snmp_lldp has them, below the columns
 * that are asked for. Samples are of known metrics and of entities whose names can be printed;
 * names are bounded.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "collectors/snmp/snmp_decode.h"
#include "collectors/snmp/snmp_ports.h"
#include "collectors/snmp/snmp_rows.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "tests/fuzz/printed.h"

#define PER_ANSWER 48
#define ARCS (SNMP_OID_MAX + 8)

static size_t decode_answer(struct bytes *in, const struct snmp_oid *ask, size_t n_ask,
	struct snmp_varbind *v, uint32_t arcs[][ARCS])
{
	size_t n = 0;
	for (; n < PER_ANSWER && bytes_left(in) > 0; n++) {
		const struct snmp_oid root = ask[n % n_ask];
		const size_t more = bytes_u8(in) % 6;
		if (more == 5)
			break;
		memcpy(arcs[n], root.v, root.n * sizeof(uint32_t));
		for (size_t i = 0; i < more && root.n + i < ARCS; i++) {
			const uint8_t arc = bytes_u8(in);
			arcs[n][root.n + i] = arc == 255 ? bytes_be32(in) : arc;
		}
		v[n] = (struct snmp_varbind){.oid = {arcs[n], root.n + more},
			.type = (enum snmp_type)(bytes_u8(in) % (SNMP_OTHER + 1))};
		if (v[n].type == SNMP_STRING || v[n].type == SNMP_ADDRESS) {
			const size_t length = bytes_u8(in);
			v[n].bytes = bytes_take(in, length);
			v[n].n_bytes = v[n].bytes ? length : 0;
		} else {
			v[n].number = (uint64_t)bytes_be32(in) << 32;
			v[n].number |= bytes_be32(in);
			if (v[n].number & 1)
				v[n].number >>= 32;
		}
	}
	return n;
}

static struct snmp_rows *decode_rows(struct bytes *in, const struct profile_table *table)
{
	static struct snmp_varbind v[PER_ANSWER];
	static uint32_t arcs[PER_ANSWER][ARCS];
	struct snmp_oid columns[PROFILE_COLUMNS_MAX], ask[PROFILE_COLUMNS_MAX];
	for (size_t i = 0; i < table->n_columns; i++)
		columns[i] = (struct snmp_oid){table->columns[i].v, table->columns[i].n};
	struct snmp_rows *rows = snmp_rows_new(columns, table->n_columns);
	size_t n;
	snmp_rows_begin(rows, NULL);
	while ((n = snmp_rows_next(rows, ask, table->n_columns)) > 0)
		if (!snmp_rows_take(rows, v, decode_answer(in, ask, n, v, arcs)))
			break;
	return rows;
}

static void decode_samples(const struct entities *entities, struct sample_list *out)
{
	for (size_t i = 0; i < out->n; i++) {
		const struct entity *e = entity_get(entities, out->v[i].entity);
		if (!e || out->v[i].metric >= METRIC_COUNT)
			printed_fault("a sample of nothing", "");
		printed_line(e->port);
	}
	out->n = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct profiles *profiles;
	struct err_list errors = {0};
	if (!profiles && profiles_load(NULL, &profiles, &errors) < 0)
		abort();
	struct bytes in = bytes_of(data, size);
	const struct profile *profile =
		profiles_at(profiles, bytes_u8(&in) % profiles_count(profiles));
	struct entities *entities = entities_new();
	entities_limit(entities, &(struct entity_limits){.per_device = 500});
	struct snmp_sums *sums = snmp_sums_new();
	struct snmp_decoder *decoder = snmp_decoder_new(entities, "leaf1", profile, sums);
	struct snmp_ports *ports = snmp_decode_ports(decoder);
	struct sample_list out = {0};
	for (int poll = 0; poll < 3; poll++) {
		snmp_decode_begin(decoder, (int64_t)poll * 1000000000 + 1);
		const bool restart = bytes_u8(&in) & 1;
		for (size_t i = 0; i < profile->n_tables; i++) {
			const struct profile_table *table = profile->tables[i];
			struct snmp_rows *rows = decode_rows(&in, table);
			bool want[PROFILE_COLUMNS_MAX];
			snmp_ports_names(ports, table, rows);
			snmp_decode_needed(table, rows, want);
			snmp_decode_table(decoder, table, rows, restart, &out);
			snmp_rows_free(rows);
		}
		snmp_ports_make(ports);
		snmp_decode_cell(decoder, &out);
		decode_samples(entities, &out);
		for (size_t i = 0; i < snmp_ports_count(ports); i++) {
			printed_line(snmp_ports_at(ports, i)->name);
			printed_line(snmp_ports_at(ports, i)->alias);
		}
		snmp_ports_reported(ports);
	}
	if (entities_count(entities) > 510)
		printed_fault("names without bound", "");
	free(out.v);
	snmp_decoder_free(decoder);
	snmp_sums_free(sums);
	entities_free(entities);
	return 0;
}
