/* capture_clock - hands each packet to what keeps its time. */
#include "collectors/packet/capture/capture_clock.h"

#include "collectors/packet/loss/loss.h"

/* Directions with messages (40 bytes each); of these with a list of stalls (216), with more than
 * one size of messages (100), with CNPs (224); hosts with marks or CNPs (256). What is beyond is
 * unknown and says so. */
#define CLOCK_RARE_MAX 524288u
#define CLOCK_STALLS_MAX 16384u
#define CLOCK_SIZES_MAX 16384u
#define CLOCK_REACTIONS_MAX 16384u
#define CLOCK_HOSTS_MAX 4096u

/*
 * clock_pool - records of one size, by number, in blocks that do not move; given back ones are used
 * again. Bounded. Single-threaded.
 */
struct clock_pool {
	char **blocks;
	size_t size;
	uint32_t max, n, made; /* in use; ever made */
	uint32_t free; /* newest one given back; 0 = none */
	uint32_t cap_blocks;
};

enum { POOL_BLOCK = 256 };

static void clock_pool_init(struct clock_pool *pool, size_t size, uint32_t max)
{
	*pool = (struct clock_pool){.size = size, .max = max};
}

static void clock_pool_end(struct clock_pool *pool)
{
	for (uint32_t i = 0; i * POOL_BLOCK < pool->made; i++)
		free(pool->blocks[i]);
	free(pool->blocks);
	*pool = (struct clock_pool){.size = pool->size, .max = pool->max};
}

static void *clock_pool_at(const struct clock_pool *pool, uint32_t number)
{
	if (number == 0)
		return NULL;
	const uint32_t at = number - 1;
	return pool->blocks[at / POOL_BLOCK] + (size_t)(at % POOL_BLOCK) * pool->size;
}

static uint32_t clock_pool_make(struct clock_pool *pool)
{
	if (pool->made >= pool->max)
		return 0;
	const uint32_t block = pool->made / POOL_BLOCK;
	if (pool->made % POOL_BLOCK == 0) {
		rw_grow(pool->blocks, block, pool->cap_blocks);
		pool->blocks[block] = rw_calloc(POOL_BLOCK, pool->size);
	}
	return ++pool->made;
}

/* clock_pool_take - the number of a zeroed record, from 1; 0: the pool is full.
 * A record that was given back holds the number of the one given back before it. */
static uint32_t clock_pool_take(struct clock_pool *pool)
{
	uint32_t number = pool->free;
	if (number) {
		char *record = clock_pool_at(pool, number);
		memcpy(&pool->free, record, sizeof(pool->free));
		memset(record, 0, pool->size);
	} else {
		number = clock_pool_make(pool);
	}
	pool->n += number != 0;
	return number;
}

static void clock_pool_give(struct clock_pool *pool, uint32_t number)
{
	if (number == 0)
		return;
	memcpy(clock_pool_at(pool, number), &pool->free, sizeof(pool->free));
	pool->free = number;
	pool->n--;
}

#define USUAL_GAPS 8 /* the mean moves by so many */
#define UNKNOWN_GAPS 4 /* of fewer gaps no usual one is known */
#define RESTART 65536 /* PSNs; loss.h */
#define READ_MTU_MAX 4096

struct clock_reaction { /* of a direction that a CNP came for */
	uint32_t next; /* the pool's, once it was given back */
	uint32_t at; /* of its host in .hosts, + 1; 0: nothing came in this interval */
	struct qp_reaction rate;
	struct reaction_sum own; /* of this interval; not in its host's sums yet */
};

struct clock_rare {
	uint32_t messages, message_max;
	uint32_t size, run; /* newest size of a message, and how many of it in a row */
	uint32_t size_now; /* of the message under way, so far */
	uint32_t unsized; /* messages whose size was not seen */
	uint32_t stalls, sizes, reaction; /* in their pools; 0: none */
	uint8_t credits; /* least count seen, as its code + 1; 0: none */
	bool size_known; /* .size_now holds */
	bool size_lost; /* .sizes found no room */
};

struct clock_range {
	uint32_t first, n; /* PSNs; n = 0: none */
};
enum { CLOCK_RANGES = 4 };

struct clock_stalls {
	struct stalls stalls;
	int64_t rnr_ns, nak_ns;
	/* the newest PSNs that were skipped: what comes of them later has not been sent before */
	struct clock_range skipped[CLOCK_RANGES];
	uint32_t next_range;
};

struct clock_host_row { /* of each host of the capture */
	uint32_t directions, answered; /* that send to it; that it answers */
	uint32_t loose; /* answers about an unknown direction */
	uint32_t at; /* in .hosts, + 1 */
};

struct capture_clock {
	struct rate_bins rates;
	struct pause_log *pauses;
	struct clock_pool rares, stalls, sizes, reactions;
	struct clock_host_row *rows;
	uint32_t n_rows;
	struct clock_host *hosts;
	size_t n_hosts, cap_hosts;
	struct clock_host *told; /* the same with what queue pairs measured: as last asked for */
	int64_t bin_ns;
	unsigned interval; /* 1, 2, 3, 1, ...: a fresh stream_clock has 0 */
	bool aeth_cut; /* of some answers it is not known whether they are NAKs */
};

struct capture_clock *capture_clock_new(int64_t bin_ns, uint64_t speed_bps)
{
	struct capture_clock *clock = rw_calloc(1, sizeof(*clock));
	rate_bins_init(&clock->rates, bin_ns);
	clock->bin_ns = bin_ns;
	clock->interval = 1;
	clock->pauses = pause_log_new(speed_bps);
	clock_pool_init(&clock->rares, sizeof(struct clock_rare), CLOCK_RARE_MAX);
	clock_pool_init(&clock->stalls, sizeof(struct clock_stalls), CLOCK_STALLS_MAX);
	clock_pool_init(&clock->sizes, sizeof(struct message_sizes), CLOCK_SIZES_MAX);
	clock_pool_init(&clock->reactions, sizeof(struct clock_reaction), CLOCK_REACTIONS_MAX);
	return clock;
}

void capture_clock_free(struct capture_clock *clock)
{
	if (!clock)
		return;
	pause_log_free(clock->pauses);
	clock_pool_end(&clock->rares);
	clock_pool_end(&clock->stalls);
	clock_pool_end(&clock->sizes);
	clock_pool_end(&clock->reactions);
	free(clock->rows);
	free(clock->hosts);
	free(clock->told);
	free(clock);
}

void capture_clock_next(struct capture_clock *clock)
{
	rate_bins_init(&clock->rates, clock->bin_ns);
	pause_log_next(clock->pauses);
	if (clock->n_rows)
		memset(clock->rows, 0, clock->n_rows * sizeof(*clock->rows));
	clock->n_hosts = 0;
	for (uint32_t number = 1; number <= clock->reactions.made; number++) {
		struct clock_reaction *reaction = clock_pool_at(&clock->reactions, number);
		reaction->at = 0;
		reaction->own = (struct reaction_sum){0};
	}
	clock->interval = clock->interval % 3 + 1;
}

/* ---- records ------------------------------------------------------------------ */

static struct clock_rare *clock_rare_get(struct capture_clock *clock, struct stream_clock *stream)
{
	if (!stream->rare)
		stream->rare = clock_pool_take(&clock->rares);
	return clock_pool_at(&clock->rares, stream->rare);
}

static struct clock_stalls *clock_stalls_get(
	struct capture_clock *clock, struct stream_clock *stream)
{
	struct clock_rare *rare = clock_rare_get(clock, stream);
	if (!rare)
		return NULL;
	if (!rare->stalls)
		rare->stalls = clock_pool_take(&clock->stalls);
	return clock_pool_at(&clock->stalls, rare->stalls);
}

/* What it measured stays with its host. */
static void clock_reaction_drop(struct capture_clock *clock, uint32_t number)
{
	struct clock_reaction *reaction = clock_pool_at(&clock->reactions, number);
	if (reaction && reaction->at)
		reaction_sum_add(&clock->hosts[reaction->at - 1].reaction, &reaction->own);
	if (reaction)
		reaction->at = 0;
	clock_pool_give(&clock->reactions, number);
}

void capture_clock_drop(struct capture_clock *clock, struct stream_clock *stream)
{
	struct clock_rare *rare = clock_pool_at(&clock->rares, stream->rare);
	if (!rare)
		return;
	clock_pool_give(&clock->stalls, rare->stalls);
	clock_pool_give(&clock->sizes, rare->sizes);
	clock_reaction_drop(clock, rare->reaction);
	clock_pool_give(&clock->rares, stream->rare);
	stream->rare = 0;
	stream->reacts = 0;
}

static struct clock_host_row *clock_row_get(struct capture_clock *clock, uint32_t host)
{
	if (host >= clock->n_rows) {
		uint32_t n = 64;
		while (n <= host)
			n *= 2;
		clock->rows = rw_realloc(clock->rows, n * sizeof(*clock->rows));
		memset(clock->rows + clock->n_rows, 0, (n - clock->n_rows) * sizeof(*clock->rows));
		clock->n_rows = n;
	}
	return &clock->rows[host];
}

static struct clock_host *clock_host_get(struct capture_clock *clock, uint32_t host)
{
	struct clock_host_row *row = clock_row_get(clock, host);
	if (row->at)
		return &clock->hosts[row->at - 1];
	if (clock->n_hosts >= CLOCK_HOSTS_MAX)
		return NULL;
	rw_grow(clock->hosts, clock->n_hosts, clock->cap_hosts);
	struct clock_host *ret = &clock->hosts[clock->n_hosts++];
	*ret = (struct clock_host){.host = host, .slot = -1};
	row->at = (uint32_t)clock->n_hosts;
	return ret;
}

void capture_clock_forget(struct capture_clock *clock, uint32_t host)
{
	if (host >= clock->n_rows)
		return;
	struct clock_host_row *row = &clock->rows[host];
	if (row->at)
		clock->hosts[row->at - 1].host = CLOCK_NO_HOST;
	*row = (struct clock_host_row){.at = 0};
}

/* ---- messages ----------------------------------------------------------------- */

/* What an opcode, without its transport, means for messages. */
enum { BEGINS = 1, ENDS = 2, SENDS = 4, RESPONDS = 8, READS = 16 };
static const uint8_t clock_kinds[32] = {
	[0x00] = BEGINS | SENDS, /* SEND FIRST */
	[0x01] = SENDS,
	[0x02] = ENDS | SENDS,
	[0x03] = ENDS | SENDS,
	[0x04] = BEGINS | ENDS | SENDS,
	[0x05] = BEGINS | ENDS | SENDS,
	[0x06] = BEGINS, /* RDMA WRITE FIRST */
	[0x08] = ENDS,
	[0x09] = ENDS,
	[0x0a] = BEGINS | ENDS,
	[0x0b] = BEGINS | ENDS,
	[0x0c] = BEGINS | ENDS | READS,
	[0x0d] = BEGINS | RESPONDS, /* READ response */
	[0x0e] = RESPONDS,
	[0x0f] = ENDS | RESPONDS,
	[0x10] = BEGINS | ENDS | RESPONDS,
	[0x13] = BEGINS | ENDS, /* atomics */
	[0x14] = BEGINS | ENDS,
	[0x16] = ENDS | SENDS,
	[0x17] = BEGINS | ENDS | SENDS,
};

static uint8_t clock_kind_of(uint8_t opcode)
{
	return clock_kinds[opcode & 31];
}

static bool clock_is_ud(uint8_t opcode)
{
	return opcode >> 5 == 3;
}

static void clock_sizes_flush(struct capture_clock *clock, struct clock_rare *rare)
{
	if (!rare->sizes)
		rare->sizes = clock_pool_take(&clock->sizes);
	struct message_sizes *sizes = clock_pool_at(&clock->sizes, rare->sizes);
	if (sizes)
		message_sizes_add(sizes, rare->size, rare->run);
	else
		rare->size_lost = true;
}

static void clock_message_size(struct capture_clock *clock, struct clock_rare *rare, uint32_t bytes)
{
	if (bytes > rare->message_max)
		rare->message_max = bytes;
	if (rare->run && rare->size == bytes) {
		rare->run++;
		return;
	}
	if (rare->run)
		clock_sizes_flush(clock, rare);
	rare->size = bytes;
	rare->run = 1;
}

/* A packet that was not sent before. @follows: it is the next one by its PSN. A message counts when
 * it ends. A WRITE says its size when it begins; the payload of a SEND is added up, as long as no
 * packet is missing. */
static void clock_message(struct capture_clock *clock, struct stream_clock *stream, uint8_t kind,
	const struct roce_packet *packet, bool follows)
{
	if (!(kind & (BEGINS | ENDS | SENDS)) || kind & RESPONDS)
		return;
	struct clock_rare *rare = clock_rare_get(clock, stream);
	if (!rare)
		return;
	const bool adds = (kind & SENDS) && !(kind & BEGINS);
	if (kind & BEGINS) {
		rare->size_known = (kind & SENDS) || packet->has_reth;
		rare->size_now = packet->reth_bytes;
		if (kind & SENDS)
			rare->size_now = packet->payload_bytes;
	} else if (adds && !follows) {
		rare->size_known = false;
	} else if (adds) {
		rare->size_now += packet->payload_bytes;
	}
	if (!(kind & ENDS))
		return;
	rare->messages++;
	if (rare->size_known)
		clock_message_size(clock, rare, rare->size_now);
	else
		rare->unsized++;
	rare->size_known = false;
}

static void clock_skipped(
	struct capture_clock *clock, struct stream_clock *stream, uint32_t first, uint32_t n)
{
	struct clock_stalls *odd = clock_stalls_get(clock, stream);
	if (!odd)
		return;
	odd->skipped[odd->next_range] = (struct clock_range){.first = first & PSN_MASK, .n = n};
	odd->next_range = (odd->next_range + 1) % CLOCK_RANGES;
}

/* Is a packet behind the newest the first of its PSN? Then it is late, and nothing is sent again.
 */
static bool clock_is_late(
	const struct capture_clock *clock, const struct stream_clock *stream, uint32_t psn)
{
	const struct clock_rare *rare = clock_pool_at(&clock->rares, stream->rare);
	if (!rare || !rare->stalls)
		return false;
	struct clock_stalls *odd = clock_pool_at(&clock->stalls, rare->stalls);
	for (size_t i = 0; i < CLOCK_RANGES; i++) {
		struct clock_range *range = &odd->skipped[i];
		const int32_t in = psn_distance(psn, range->first);
		if (in < 0 || (uint32_t)in >= range->n)
			continue;
		/* Those before it do not come any more: late packets come in their order. */
		range->first = (psn + 1) & PSN_MASK;
		range->n -= (uint32_t)in + 1;
		return true;
	}
	return false;
}

/* A message whose last packet came late: its size is not known. */
static void clock_late_end(struct capture_clock *clock, struct stream_clock *stream)
{
	struct clock_rare *rare = clock_rare_get(clock, stream);
	if (!rare)
		return;
	rare->messages++;
	rare->unsized++;
}

/* ---- silence ------------------------------------------------------------------ */

/* Part of what a READ asked for is asked for again: the PSN lies within its responses. */
static bool clock_read_again(const struct capture_clock *clock, const struct stream_clock *stream,
	const struct roce_packet *packet)
{
	const struct clock_rare *rare = clock_pool_at(&clock->rares, stream->rare);
	if (!rare || !(clock_kind_of(packet->opcode) & READS) || stream->response)
		return false;
	const int32_t ahead = psn_distance(packet->psn, stream->psn);
	return ahead > 0 && (uint32_t)ahead < rare->size / READ_MTU_MAX;
}

static void clock_silence(struct capture_clock *clock, struct stream_clock *stream,
	const struct roce_packet *packet, bool again, int64_t t_ns)
{
	const bool responds = (clock_kind_of(packet->opcode) & RESPONDS) != 0;
	struct silence silence = {.from_ns = stream->last_ns,
		.to_ns = t_ns,
		.open = stream->open || (responds && again),
		.unread = clock->aeth_cut || !stream->answered,
		.again = !responds && (again || clock_read_again(clock, stream, packet)),
		.paused_ns = pause_log_overlap(clock->pauses, stream->last_ns, t_ns)};
	const struct clock_rare *rare = clock_pool_at(&clock->rares, stream->rare);
	if (rare && rare->stalls) {
		const struct clock_stalls *known = clock_pool_at(&clock->stalls, rare->stalls);
		silence.rnr_ns = known->rnr_ns;
		silence.nak_ns = known->nak_ns;
	}
	const struct stall stall = {.from_ns = silence.from_ns,
		.lasts_ns = t_ns - silence.from_ns,
		.cause = silence_cause(&silence)};
	if (stall.cause == STALL_UNKNOWN && stream->gaps < UNKNOWN_GAPS)
		return;
	/* Idle times are many and no fault: they take half of the lists at the most. */
	if (stall.cause == STALL_IDLE && clock->stalls.n >= CLOCK_STALLS_MAX / 2 &&
		!(rare && rare->stalls))
		return;
	struct clock_stalls *stalls = clock_stalls_get(clock, stream);
	if (stalls)
		stalls_add(&stalls->stalls, &stall);
}

static void clock_usual(struct stream_clock *stream, int64_t gap_ns)
{
	int64_t step_ns = gap_ns - (int64_t)stream->usual_ns;
	if (stream->gaps < USUAL_GAPS)
		step_ns /= (int64_t)stream->gaps + 1;
	else
		step_ns /= USUAL_GAPS;
	const int64_t usual_ns = stream->usual_ns + step_ns;
	stream->usual_ns = UINT32_MAX;
	if (usual_ns < UINT32_MAX)
		stream->usual_ns = (uint32_t)usual_ns;
}

/* One silence moves the usual gap little, several in a row until they are usual themselves. */
static void clock_usual_silence(struct stream_clock *stream, int64_t gap_ns)
{
	const int64_t most_ns = (int64_t)stream->usual_ns * STALL_TIMES * 4 + (int64_t)STALL_MIN_NS;
	if (gap_ns > most_ns)
		gap_ns = most_ns;
	const int64_t usual_ns =
		stream->usual_ns + (gap_ns - (int64_t)stream->usual_ns) / USUAL_GAPS;
	stream->usual_ns = UINT32_MAX;
	if (usual_ns < UINT32_MAX)
		stream->usual_ns = (uint32_t)usual_ns;
}

/* ---- memory that will be needed ------------------------------------------------ */

void capture_clock_fetch(const struct capture_clock *clock, const struct stream_clock *stream)
{
	if (stream->rare)
		__builtin_prefetch(clock_pool_at(&clock->rares, stream->rare), 1);
}

void capture_clock_fetch_reaction(
	const struct capture_clock *clock, const struct stream_clock *stream)
{
	if (!stream->reacts)
		return;
	const struct clock_rare *rare = clock_pool_at(&clock->rares, stream->rare);
	const uint8_t *line = clock_pool_at(&clock->reactions, rare->reaction);
	for (size_t at = 0; at <= offsetof(struct clock_reaction, rate.cnp_ns); at += 64)
		__builtin_prefetch(line + at, 1);
}

/* ---- data --------------------------------------------------------------------- */

static void clock_marked(struct capture_clock *clock, uint32_t src, uint32_t dst, int64_t t_ns)
{
	struct clock_host *host = clock_host_get(clock, src);
	if (host)
		host->ce_sent++;
	host = clock_host_get(clock, dst);
	if (!host)
		return;
	host->answer.ce++;
	const int64_t slot = t_ns / REACTION_SLOT_NS;
	host->answer.slots += slot != host->slot;
	host->slot = slot;
}

static void clock_reacts(struct capture_clock *clock, const struct stream_clock *stream,
	uint32_t src, const struct roce_packet *packet, int64_t gap_ns, int64_t t_ns)
{
	const struct clock_rare *rare = clock_pool_at(&clock->rares, stream->rare);
	struct clock_host *host = clock_host_get(clock, src);
	if (!host)
		return;
	struct clock_reaction *reaction = clock_pool_at(&clock->reactions, rare->reaction);
	reaction->at = (uint32_t)(host - clock->hosts) + 1;
	qp_reaction_data(&reaction->rate, &reaction->own, t_ns, packet->octets, gap_ns,
		!stream->open, pause_log_until(clock->pauses, t_ns));
}

static void clock_gap(struct capture_clock *clock, struct stream_clock *stream, uint32_t src,
	const struct roce_packet *packet, bool again, int64_t t_ns)
{
	const int64_t gap_ns = t_ns - stream->last_ns;
	if (gap_ns < 0)
		return;
	if (stream->reacts)
		clock_reacts(clock, stream, src, packet, gap_ns, t_ns);
	if (gap_ns > STALL_MIN_NS && gap_ns > (int64_t)stream->usual_ns * STALL_TIMES) {
		clock_silence(clock, stream, packet, again, t_ns);
		clock_usual_silence(stream, gap_ns);
	} else {
		clock_usual(stream, gap_ns);
		stream->active_ns += (uint64_t)gap_ns;
		stream->gaps++;
	}
	stream->last_ns = t_ns;
}

void capture_clock_data(struct capture_clock *clock, struct stream_clock *stream, uint32_t src,
	uint32_t dst, const struct roce_packet *packet, int64_t t_ns)
{
	const uint8_t kind = clock_kind_of(packet->opcode);
	const bool response = (kind & RESPONDS) != 0, ud = clock_is_ud(packet->opcode);
	const int32_t ahead = psn_distance(packet->psn, stream->psn);
	/* The two roles of a direction count apart; datagrams have no order. */
	const bool other = !stream->begun || response != stream->response || ud;
	const bool again = !other && ahead <= 0 && ahead > -RESTART;
	if (packet->payload_bytes)
		rate_bins_add(&clock->rates, t_ns, packet->octets);
	if (stream->begun)
		clock_gap(clock, stream, src, packet, again, t_ns);
	else
		stream->last_ns = t_ns;
	if (!again) {
		if (!other && ahead > 1 && ahead < RESTART)
			clock_skipped(clock, stream, stream->psn + 1, (uint32_t)ahead - 1);
		clock_message(clock, stream, kind, packet, !other && ahead == 1);
		stream->psn = packet->psn & PSN_MASK;
	} else if (clock_is_late(clock, stream, packet->psn) && kind & ENDS && !response) {
		clock_late_end(clock, stream);
	}
	stream->begun = 1;
	stream->response = response;
	stream->open = !(kind & ENDS);
	if (packet->ecn == ECN_CE)
		clock_marked(clock, src, dst, t_ns);
	if (stream->counted != clock->interval && !ud) {
		stream->counted = clock->interval & 3;
		clock_row_get(clock, dst)->directions++;
		/* What a host asks for by READ comes from others: its requests are its answers. */
		if (kind & READS)
			clock_row_get(clock, src)->loose++;
	}
}

/* ---- answers of receivers ------------------------------------------------------- */

static void clock_credits(struct clock_rare *rare, uint8_t syndrome)
{
	const uint8_t code = syndrome & 31;
	if (aeth_kind(syndrome) != AETH_ACK || code == 31) /* 31: the receiver sets no limit */
		return;
	if (rare->credits == 0 || code + 1 < rare->credits)
		rare->credits = (uint8_t)(code + 1);
}

void capture_clock_answer(struct capture_clock *clock, struct stream_clock *about, uint32_t src,
	const struct roce_packet *packet, int64_t t_ns)
{
	if (!about) {
		clock_row_get(clock, src)->loose++;
		return;
	}
	if (about->answered != clock->interval) {
		about->answered = clock->interval & 3;
		clock_row_get(clock, src)->answered++;
	}
	clock->aeth_cut |= packet->aeth_cut;
	if (!packet->has_aeth)
		return;
	const bool nak = roce_is_nak(packet), rnr = roce_is_rnr_nak(packet);
	if (nak || rnr) {
		struct clock_stalls *stalls = clock_stalls_get(clock, about);
		if (stalls && rnr)
			stalls->rnr_ns = t_ns;
		else if (stalls)
			stalls->nak_ns = t_ns;
		return;
	}
	if ((packet->syndrome & 31) == 31)
		return;
	struct clock_rare *rare = clock_rare_get(clock, about);
	if (rare)
		clock_credits(rare, packet->syndrome);
}

static struct clock_reaction *clock_reaction_get(
	struct capture_clock *clock, struct stream_clock *about, int64_t t_ns)
{
	struct clock_rare *rare = clock_rare_get(clock, about);
	if (!rare)
		return NULL;
	if (rare->reaction)
		return clock_pool_at(&clock->reactions, rare->reaction);
	rare->reaction = clock_pool_take(&clock->reactions);
	struct clock_reaction *reaction = clock_pool_at(&clock->reactions, rare->reaction);
	if (!reaction)
		return NULL;
	qp_reaction_begin(&reaction->rate, t_ns, about->usual_ns);
	about->reacts = 1;
	return reaction;
}

void capture_clock_cnp(struct capture_clock *clock, struct stream_clock *about, uint32_t src,
	uint32_t dst, int64_t t_ns)
{
	struct clock_host *host = clock_host_get(clock, src);
	if (host)
		host->answer.cnp++;
	host = clock_host_get(clock, dst);
	if (!host)
		return;
	struct clock_reaction *reaction = NULL;
	if (about && about->begun)
		reaction = clock_reaction_get(clock, about, t_ns);
	if (reaction) {
		reaction->at = (uint32_t)(host - clock->hosts) + 1;
		qp_reaction_cnp(&reaction->rate, &reaction->own, t_ns);
		return;
	}
	host->reaction.cnp++;
	host->reaction.unattributed++;
}

void capture_clock_pause(
	struct capture_clock *clock, const struct roce_packet *packet, int64_t t_ns)
{
	pause_log_add(clock->pauses, packet, t_ns);
}

/* ---- answers ---------------------------------------------------------------------- */

/* Credit codes of an ACK: InfiniBand Architecture Specification volume 1, table "End-to-End flow
 * control credit encoding": 0, 1, 2, 3, 4, 6, 8, 12, 16 ... 24576, 32768. */
static int clock_credit_count(unsigned code)
{
	if (code < 2)
		return (int)code;
	return (int)((2u + (code & 1)) << (code / 2 - 1));
}

static uint32_t clock_median(
	const struct capture_clock *clock, const struct clock_rare *rare, bool *ret_known)
{
	struct message_sizes sizes = {.n = 0};
	const struct message_sizes *kept = clock_pool_at(&clock->sizes, rare->sizes);
	if (kept)
		sizes = *kept;
	if (rare->run)
		message_sizes_add(&sizes, rare->size, rare->run);
	*ret_known = rare->run > 0 && !rare->size_lost && !sizes.merged;
	return message_sizes_median(&sizes);
}

void capture_clock_stream(const struct capture_clock *clock, const struct stream_clock *stream,
	struct stream_times *ret)
{
	*ret = (struct stream_times){.packets_per_s = NAN, .credits_least = -1};
	if (stream->active_ns)
		ret->packets_per_s = (double)stream->gaps * 1e9 / (double)stream->active_ns;
	const struct clock_rare *rare = clock_pool_at(&clock->rares, stream->rare);
	if (!rare)
		return;
	ret->messages = rare->messages;
	ret->message_max = rare->message_max;
	/* the first one may have begun before the capture did */
	ret->sized = rare->run > 0 && rare->unsized <= 1;
	ret->message_median = clock_median(clock, rare, &ret->median_known);
	if (rare->credits)
		ret->credits_least = clock_credit_count(rare->credits - 1u);
	const struct clock_stalls *stalls = clock_pool_at(&clock->stalls, rare->stalls);
	if (stalls)
		ret->stalls = &stalls->stalls;
}

const struct clock_host *capture_clock_hosts(struct capture_clock *clock, size_t *ret_n)
{
	for (size_t i = 0; i < clock->n_hosts; i++) {
		struct clock_host *host = &clock->hosts[i];
		if (host->host == CLOCK_NO_HOST)
			continue;
		const struct clock_host_row *row = &clock->rows[host->host];
		host->answer.directions = row->directions;
		host->answer.answered = row->answered + row->loose;
	}
	clock->told = rw_realloc(clock->told, (clock->n_hosts + 1) * sizeof(*clock->told));
	if (clock->n_hosts > 0)
		memcpy(clock->told, clock->hosts, clock->n_hosts * sizeof(*clock->told));
	for (uint32_t number = 1; number <= clock->reactions.made; number++) {
		const struct clock_reaction *reaction = clock_pool_at(&clock->reactions, number);
		if (reaction->at)
			reaction_sum_add(&clock->told[reaction->at - 1].reaction, &reaction->own);
	}
	*ret_n = clock->n_hosts;
	return clock->told;
}

#define DEAF_LEVEL 0.95 /* least ratio of after to before of one that stays as it is */
#define DEAF_APART 0.05 /* the others' ratio is below its own by this at least */
#define DEAF_SPACING 2.0 /* times between its CNPs, over those of the others: at most */
enum { DEAF_REACTIONS = 8 }; /* of each side: fewer say nothing */

static void reaction_pairs_less(struct reaction_pairs *pairs, const struct reaction_pairs *part)
{
	pairs->n -= part->n;
	pairs->before -= part->before;
	pairs->after -= part->after;
	pairs->before_sq -= part->before_sq;
	pairs->after_sq -= part->after_sq;
	pairs->product -= part->product;
}

/* The other queue pairs of the host, as far as the comparison needs them. */
static struct reaction_sum reaction_others(const struct clock_qp_reaction *reaction)
{
	struct reaction_sum others = reaction->host->reaction;
	reaction_pairs_less(&others.all, &reaction->own->all);
	others.spacings -= reaction->own->spacings;
	others.spacing_s -= reaction->own->spacing_s;
	others.alone = (struct reaction_pairs){0};
	others.pressed = others.clear = 0;
	return others;
}

enum reaction_verdict qp_reaction_judge(const struct clock_qp_reaction *reaction, uint32_t sampling,
	double line_bps, struct reaction_judged *judged)
{
	struct reaction_judged own, rest;
	const struct reaction_sum others = reaction_others(reaction);
	reaction_judge(reaction->own, sampling, line_bps, reaction->host->reaction.peak_bps, &own);
	if (judged)
		*judged = own;
	if (own.verdict != REACTION_TOO_FEW || sampling > 1 || own.n < DEAF_REACTIONS ||
		others.all.n < DEAF_REACTIONS)
		return own.verdict;
	reaction_judge(&others, sampling, line_bps, 0, &rest);
	const double spacing = reaction->own->spacing_s * (double)others.spacings;
	const bool as_often = reaction->own->spacings && others.spacings &&
		spacing <= DEAF_SPACING * others.spacing_s * (double)reaction->own->spacings;
	if (own.low > DEAF_LEVEL && rest.high < own.low - DEAF_APART && as_often &&
		own.before_bps >= rest.before_bps)
		return REACTION_DOES_NOT_SLOW;
	return REACTION_TOO_FEW;
}

bool capture_clock_reaction(const struct capture_clock *clock, const struct stream_clock *stream,
	struct clock_qp_reaction *ret)
{
	const struct clock_rare *rare = NULL;
	const struct clock_reaction *reaction = NULL;
	if (stream->reacts)
		rare = clock_pool_at(&clock->rares, stream->rare);
	if (rare)
		reaction = clock_pool_at(&clock->reactions, rare->reaction);
	if (!reaction || !reaction->at || !clock->told)
		return false;
	*ret = (struct clock_qp_reaction){&reaction->own, &clock->told[reaction->at - 1]};
	return true;
}

const struct rate_bins *capture_clock_rates(const struct capture_clock *clock)
{
	return &clock->rates;
}

const struct pause_log *capture_clock_pauses(const struct capture_clock *clock)
{
	return clock->pauses;
}
