/* flow_row - a flow sample as a row of table flow, and back. Both directions follow the order of
 * flow_columns. */
#include "db/sqlite/schema/flow_row.h"

#include <arpa/inet.h>

const char flow_columns[] =
	"entity,from_ns,to_ns,total,dir,sampling,family,src,dst,src_port,dst_qp,"
	"packets,octets,ce,ect,cnp,nak,retransmits,psn_gaps,burst_bps,flows,sum_sq_octets,"
	"host,data_packets,data_ect,copies,capture_lost,spray_octets,"
	"ce_got,cnp_sent,reactions,before_bps,after_bps,sums,"
	"lost_before,lost_beyond,lost_read,lost_timer,lost_ack,lost_rnr,missing,reacts";

enum {
	FLOW_ENTITY,
	FLOW_FROM,
	FLOW_TO,
	FLOW_TOTAL,
	FLOW_DIR,
	FLOW_SAMPLING,
	FLOW_FAMILY, /* this and the next four: NULL in a row of totals */
	FLOW_SRC,
	FLOW_DST,
	FLOW_SRC_PORT,
	FLOW_DST_QP,
	FLOW_PACKETS,
	FLOW_OCTETS,
	FLOW_CE,
	FLOW_ECT,
	FLOW_CNP,
	FLOW_NAK,
	FLOW_RETRANSMITS,
	FLOW_PSN_GAPS,
	FLOW_BURST,
	FLOW_FLOWS,
	FLOW_SUM_SQ,
	FLOW_HOST, /* NULL: no */
	FLOW_DATA,
	FLOW_DATA_ECT,
	FLOW_COPIES, /* this and the next two: in a row of totals */
	FLOW_CAPTURE_LOST,
	FLOW_SPRAY,
	FLOW_CE_GOT, /* this and the next: in the row of a host */
	FLOW_CNP_SENT,
	FLOW_REACTIONS,
	FLOW_BEFORE,
	FLOW_AFTER,
	FLOW_SUMS, /* the rest of reaction_sum and answer_sum, by flow_row_sums */
	FLOW_LOSSES, /* the first of FLOW_LOSS_KINDS; NULL from here on: 0 */
	FLOW_MISSING = FLOW_LOSSES + FLOW_LOSS_KINDS,
	FLOW_REACTS,
	FLOW_COLUMN_COUNT
};
_Static_assert(FLOW_COLUMN_COUNT == FLOW_COLUMNS, "flow_columns names them in this order");

static int address_family(uint8_t family)
{
	if (family == 4)
		return AF_INET;
	return AF_INET6;
}

static void bind_address(sqlite3_stmt *st, int column, uint8_t family, const uint8_t *address)
{
	char buf[INET6_ADDRSTRLEN];

	if (inet_ntop(address_family(family), address, buf, sizeof(buf)))
		sqlite3_bind_text(st, column + 1, buf, -1, SQLITE_TRANSIENT);
}

static void bind_integer(sqlite3_stmt *st, int column, uint64_t value)
{
	sqlite3_bind_int64(st, column + 1, (sqlite3_int64)value);
}

/* What most rows have none of takes no room. */
static void bind_rare(sqlite3_stmt *st, int column, uint64_t value)
{
	if (value)
		bind_integer(st, column, value);
}

static void bind_key(sqlite3_stmt *st, const struct flow_key *key)
{
	bind_integer(st, FLOW_FAMILY, key->family);
	bind_address(st, FLOW_SRC, key->family, key->src);
	bind_address(st, FLOW_DST, key->family, key->dst);
	bind_integer(st, FLOW_SRC_PORT, key->src_port);
	bind_integer(st, FLOW_DST_QP, key->dst_qp);
}

void flow_row_select(struct str *out)
{
	str_addf(out, "SELECT %s FROM flow", flow_columns);
}

static uint64_t read_integer(sqlite3_stmt *st, int column)
{
	return (uint64_t)sqlite3_column_int64(st, column);
}

/* What column sums holds, as numbers with a space between. A released order is never changed; new
 * sums come at the end, and those that an older row lacks are 0. */
struct flow_row_sum {
	size_t offset; /* in struct flow_sample */
	bool real; /* double; else uint64_t */
};
#define SUM_OF(field)                                                                              \
	{                                                                                          \
		offsetof(struct flow_sample, field), false                                         \
	}
#define REAL_OF(field)                                                                             \
	{                                                                                          \
		offsetof(struct flow_sample, field), true                                          \
	}
static const struct flow_row_sum flow_row_sums[] = {
	SUM_OF(answer.slots),
	SUM_OF(answer.directions),
	SUM_OF(answer.answered),
	SUM_OF(reaction.unattributed),
	SUM_OF(reaction.left_out),
	SUM_OF(reaction.pressed),
	SUM_OF(reaction.spacings),
	REAL_OF(reaction.spacing_s),
	REAL_OF(reaction.held),
	REAL_OF(reaction.held_sq),
	REAL_OF(reaction.peak_bps),
	REAL_OF(reaction.all.before_sq),
	REAL_OF(reaction.all.after_sq),
	REAL_OF(reaction.all.product),
	SUM_OF(reaction.alone.n),
	REAL_OF(reaction.alone.before),
	REAL_OF(reaction.alone.after),
	REAL_OF(reaction.alone.before_sq),
	REAL_OF(reaction.alone.after_sq),
	REAL_OF(reaction.alone.product),
	SUM_OF(reaction.clear),
	REAL_OF(reaction.allowed),
};

static void sums_read(const char *text, struct flow_sample *flow)
{
	for (size_t i = 0; text && *text && i < rw_countof(flow_row_sums); i++) {
		void *at = (char *)flow + flow_row_sums[i].offset;
		char *end;
		if (flow_row_sums[i].real)
			*(double *)at = strtod(text, &end);
		else
			*(uint64_t *)at = strtoull(text, &end, 10);
		if (end == text) /* damage: the rest is not known */
			return;
		text = end;
	}
}

static void bind_host(sqlite3_stmt *st, const struct flow_sample *flow)
{
	rw_cleanup(str_done) struct str sums = {0};

	bind_integer(st, FLOW_HOST, 1);
	bind_integer(st, FLOW_FAMILY, flow->key.family);
	bind_address(st, FLOW_SRC, flow->key.family, flow->key.src);
	bind_integer(st, FLOW_CNP, flow->reaction.cnp);
	bind_integer(st, FLOW_CE_GOT, flow->answer.ce);
	bind_integer(st, FLOW_CNP_SENT, flow->answer.cnp);
	bind_integer(st, FLOW_REACTIONS, flow->reaction.all.n);
	if (flow->reaction.all.n) {
		sqlite3_bind_double(st, FLOW_BEFORE + 1, flow->reaction.all.before);
		sqlite3_bind_double(st, FLOW_AFTER + 1, flow->reaction.all.after);
	}
	/* 17 digits say every double exactly. */
	for (size_t i = 0; i < rw_countof(flow_row_sums); i++) {
		const void *at = (const char *)flow + flow_row_sums[i].offset;
		str_add(&sums, str_if(i > 0, " "));
		if (flow_row_sums[i].real)
			str_addf(&sums, "%.17g", *(const double *)at);
		else
			str_addf(&sums, "%" PRIu64, *(const uint64_t *)at);
	}
	sqlite3_bind_text(st, FLOW_SUMS + 1, sums.s, (int)sums.n, SQLITE_TRANSIENT);
}

static void read_host(sqlite3_stmt *st, struct flow_sample *ret)
{
	ret->host = true;
	ret->reaction.cnp = ret->cnp;
	ret->cnp = 0;
	ret->answer.ce = read_integer(st, FLOW_CE_GOT);
	ret->answer.cnp = read_integer(st, FLOW_CNP_SENT);
	ret->reaction.all.n = read_integer(st, FLOW_REACTIONS);
	ret->reaction.all.before = sqlite3_column_double(st, FLOW_BEFORE);
	ret->reaction.all.after = sqlite3_column_double(st, FLOW_AFTER);
	sums_read((const char *)sqlite3_column_text(st, FLOW_SUMS), ret);
}

static void bind_total(sqlite3_stmt *st, const struct flow_sample *flow)
{
	bind_integer(st, FLOW_COPIES, flow->copies);
	bind_integer(st, FLOW_CAPTURE_LOST, flow->capture_lost);
	bind_integer(st, FLOW_SPRAY, flow->spray_octets);
}

void flow_row_bind(sqlite3_stmt *st, const struct flow_sample *flow, int64_t file_id)
{
	sqlite3_clear_bindings(st);
	bind_integer(st, FLOW_ENTITY, (uint64_t)file_id);
	bind_integer(st, FLOW_FROM, (uint64_t)flow->from_ns);
	bind_integer(st, FLOW_TO, (uint64_t)flow->to_ns);
	bind_integer(st, FLOW_TOTAL, flow->total);
	bind_integer(st, FLOW_DIR, flow->dir);
	bind_integer(st, FLOW_SAMPLING, flow->sampling);
	if (flow->total)
		bind_total(st, flow);
	else if (!flow->host)
		bind_key(st, &flow->key);
	if (flow->data_packets) {
		bind_integer(st, FLOW_DATA, flow->data_packets);
		bind_integer(st, FLOW_DATA_ECT, flow->data_ect);
	}
	bind_integer(st, FLOW_PACKETS, flow->packets);
	bind_integer(st, FLOW_OCTETS, flow->octets);
	bind_integer(st, FLOW_CE, flow->ce);
	bind_integer(st, FLOW_ECT, flow->ect);
	bind_integer(st, FLOW_CNP, flow->cnp);
	bind_integer(st, FLOW_NAK, flow->nak);
	bind_integer(st, FLOW_RETRANSMITS, flow->retransmits);
	bind_integer(st, FLOW_PSN_GAPS, flow->psn_gaps);
	bind_integer(st, FLOW_BURST, flow->burst_bps);
	bind_integer(st, FLOW_FLOWS, flow->flows);
	for (int kind = 0; kind < FLOW_LOSS_KINDS; kind++)
		bind_rare(st, FLOW_LOSSES + kind, flow->lost[kind]);
	bind_rare(st, FLOW_MISSING, flow->missing);
	bind_rare(st, FLOW_REACTS, flow->reacts);
	if (isfinite(flow->sum_sq_octets))
		sqlite3_bind_double(st, FLOW_SUM_SQ + 1, flow->sum_sq_octets);
	if (flow->host)
		bind_host(st, flow);
}

static void read_address(sqlite3_stmt *st, int column, uint8_t family, uint8_t *ret)
{
	const char *text = (const char *)sqlite3_column_text(st, column);

	if (text)
		inet_pton(address_family(family), text, ret);
}

void flow_row_read(sqlite3_stmt *st, uint32_t entity, struct flow_sample *ret)
{
	*ret = (struct flow_sample){
		.entity = entity,
		.from_ns = sqlite3_column_int64(st, FLOW_FROM),
		.to_ns = sqlite3_column_int64(st, FLOW_TO),
		.total = sqlite3_column_int(st, FLOW_TOTAL) != 0,
		.dir = (uint8_t)read_integer(st, FLOW_DIR),
		.sampling = (uint32_t)read_integer(st, FLOW_SAMPLING),
		.key = {.family = (uint8_t)read_integer(st, FLOW_FAMILY),
			.src_port = (uint16_t)read_integer(st, FLOW_SRC_PORT),
			.dst_qp = (uint32_t)read_integer(st, FLOW_DST_QP)},
		.packets = read_integer(st, FLOW_PACKETS),
		.octets = read_integer(st, FLOW_OCTETS),
		.ce = read_integer(st, FLOW_CE),
		.ect = read_integer(st, FLOW_ECT),
		.cnp = read_integer(st, FLOW_CNP),
		.nak = read_integer(st, FLOW_NAK),
		.retransmits = read_integer(st, FLOW_RETRANSMITS),
		.psn_gaps = read_integer(st, FLOW_PSN_GAPS),
		.burst_bps = read_integer(st, FLOW_BURST),
		.flows = (uint32_t)read_integer(st, FLOW_FLOWS),
		.sum_sq_octets = sqlite3_column_double(st, FLOW_SUM_SQ),
		.data_packets = read_integer(st, FLOW_DATA),
		.data_ect = read_integer(st, FLOW_DATA_ECT),
		.copies = read_integer(st, FLOW_COPIES),
		.capture_lost = read_integer(st, FLOW_CAPTURE_LOST),
		.spray_octets = read_integer(st, FLOW_SPRAY),
		.missing = read_integer(st, FLOW_MISSING),
		.reacts = read_integer(st, FLOW_REACTS),
	};
	for (int kind = 0; kind < FLOW_LOSS_KINDS; kind++)
		ret->lost[kind] = read_integer(st, FLOW_LOSSES + kind);
	if (sqlite3_column_int(st, FLOW_HOST))
		read_host(st, ret);
	read_address(st, FLOW_SRC, ret->key.family, ret->key.src);
	read_address(st, FLOW_DST, ret->key.family, ret->key.dst);
}
