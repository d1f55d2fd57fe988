/*
 * copies - finds packets that were captured more than once.
 *
 * Each RoCE packet is looked up in a line of four and takes the place of the oldest one there. All
 * else is done for packets that are alike only. Once copies come, there are more lines, and each
 * packet has the choice of two: what waits for its copy is not pushed out before.
 */
#include "collectors/packet/loss/copies.h"

enum {
	LINES = 4096,
	LINES_MANY = 32768,
	WAYS = 4,
	MANY_AFTER = 32, /* copies */
	DIRECTIONS = 1024,
	DIRECTION_WAYS = 4,
	SENDERS = 256,
	NAKS = 1024,
	NAK_REACH = 4096, /* so far behind what it asks for a NAK counts */
	PLACE_BITS = 5,
	PLACE_MASK = (1 << PLACE_BITS) - 1,
	PLACES = 1 << PLACE_BITS,
	BIN_TICKS = 256, /* 16 us */
	BINS = 128, /* together longer than ALWAYS_WITHIN */
	TICK_SHIFT = 6, /* times are kept in units of 64 ns */
	SOONER_THAN_AN_ANSWER = 2000 >> TICK_SHIFT,
	COPY_WITHIN = 100000000 >> TICK_SHIFT,
	ALWAYS_WITHIN = 1000000 >> TICK_SHIFT, /* of copies that only their number shows */
	SIGHTINGS_MAX = 7,
	USUAL_NEAR = 256 >> TICK_SHIFT,
	RUN_HOLE_MAX = 4096,
	DIRECTION_ALIKE_MAX = 1024,
	PSN_MODULO = 1 << 24,
	TRANSPORT_UD = 3,
	CAME_AGAIN = 1, /* in sighting.print: .when is not that of the first time */
};

struct sighting { /* the newest transmission of a packet; 16 bytes */
	uint32_t when;
	uint16_t print; /* of what copies agree in, as far down as the BTH; and CAME_AGAIN */
	uint16_t icrc; /* of the ICRC; 0 = it was not captured */
	uint16_t ip_id;
	uint16_t tag; /* of addresses, QP and PSN; 0 = free */
	uint8_t more; /* of AETH and RETH; 0 = not captured. A tag may push it over the snap length
		       */
	uint8_t vlan; /* of the tag's id; 0 = no tag */
	uint8_t ttl;
	uint8_t place; /* number of its place: 5 bits; copies seen: 3 bits */
};

struct line {
	struct sighting way[WAYS];
};

struct copied_direction {
	uint32_t key;
	uint32_t first_psn, last_psn; /* of those that came twice */
	uint32_t alike, spells; /* how often one came again, in how many spells */
	uint32_t twice; /* of these, for the first time: how many packets came again */
	uint32_t spell_when;
	uint32_t run_psn, run_when; /* sent again: the next one, and the beginning */
	bool run, asked; /* asked: a NAK began the run */
	bool head; /* while learning: a new packet came since one came again */
	uint32_t passes; /* while learning: how often new ones and those again took turns */
	uint8_t times; /* learned: how often more than once each packet comes */
};

struct nak_seen {
	uint32_t key, psn, when;
};

struct sender_ids {
	uint32_t key;
	uint16_t id; /* of a packet of this sender */
	bool vary;
};

/* Where packets are seen: the fields of struct packet_origin and of their mirror. */
struct seen_place {
	uint32_t interface;
	uint16_t session;
	uint8_t direction, layer;
	uint8_t source[16];
};

struct copies {
	struct line *lines;
	uint32_t n_lines;
	/* the lines from before there were many, for as long as copies come; NULL: none */
	struct line *before;
	uint32_t before_when;
	bool learning;
	struct seen_place places[PLACES]; /* 0: no place is known */
	uint32_t n_places;
	uint8_t last_place;
	struct copied_direction directions[DIRECTIONS];
	struct sender_ids senders[SENDERS];
	struct nak_seen naks[NAKS];
	uint64_t seed;
	struct copies_count count;
	/* the newest packets with a PSN of their own: first ones and those alike */
	uint32_t window_first, window_alike, window_twice, window_spells;
	uint32_t window_spell_when;
	uint32_t window_elsewhere; /* first ones that came through another place, too */
	bool window_known, elsewhere_known;
	/* how long after a packet its first copy from the same place usually comes; in ticks */
	uint32_t usual;
	uint32_t spread; /* how far from that, in eighths of a tick */
	/* first ones by time that are not in .window_first yet: their copies may be still to come
	 */
	uint32_t bins[BINS];
	uint32_t bin_from, bin_newest; /* when the oldest of them and the newest begin */
	bool bins_hold;
};

const char *copy_from_word(enum copy_from from)
{
	static const char *const words[COPY_FROM_COUNT] = {
		[COPY_UNKNOWN] = "unknown",
		[COPY_DIRECTION] = "direction",
		[COPY_INTERFACE] = "interface",
		[COPY_MIRROR] = "mirror",
		[COPY_TTL] = "ttl",
		[COPY_VLAN] = "vlan",
	};
	return words[from];
}

struct copies *copies_new(uint64_t seed)
{
	struct copies *copies = rw_calloc(1, sizeof(*copies));
	copies->n_lines = LINES;
	copies->lines = rw_calloc(LINES, sizeof(*copies->lines));
	copies->n_places = 1;
	copies->seed = seed;
	return copies;
}

void copies_free(struct copies *copies)
{
	if (!copies)
		return;
	free(copies->lines);
	free(copies->before);
	free(copies);
}

const struct copies_count *copies_count(const struct copies *copies)
{
	return &copies->count;
}

/* ---- hashes -------------------------------------------------------------- */

static uint64_t copies_mix(uint64_t left, uint64_t right) /* folded 64x64 multiplication */
{
	unsigned __int128 product =
		(unsigned __int128)(left ^ 0x9E3779B97F4A7C15ull) * (right ^ 0xD1B54A32D192ED03ull);
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t copies_fold(const uint8_t address[16])
{
	uint64_t half[2];
	memcpy(half, address, sizeof(half));
	return half[0] ^ (half[1] << 23 | half[1] >> 41);
}

/* One multiplication leaves PSNs in a row in few lines for some seeds; the second spreads them. */
static uint64_t packet_hash(
	const struct copies *copies, const struct roce_packet *packet, uint32_t psn)
{
	const uint64_t where = (uint64_t)packet->dst_qp << 40 | (uint64_t)psn << 16;
	uint64_t hash =
		copies_mix(copies_fold(packet->src) ^ copies->seed ^ (where | packet->src_port),
			copies_fold(packet->dst) + (copies->seed << 1));
	hash = (hash ^ hash >> 32) * 0x9FB21C651E98DF25ull;
	return hash ^ hash >> 29;
}

static uint32_t pair_hash(const struct copies *copies, const uint8_t *src, const uint8_t *dst)
{
	return (uint32_t)copies_mix(copies_fold(src) ^ copies->seed, copies_fold(dst)) | 1;
}

/* Of the PSN, too: where the ICRC was cut off, the tag alone is too short to tell packets apart. */
static uint16_t packet_print(const struct roce_packet *packet)
{
	uint64_t fields = (uint64_t)packet->opcode << 56 | (uint64_t)packet->pad << 48;
	fields |= (uint64_t)packet->ack_req << 47 | (uint64_t)packet->se << 46;
	const uint64_t which = (uint64_t)packet->psn << 16 | packet->ip_id;
	return (uint16_t)(copies_mix(fields | packet->payload_bytes, which) & ~1ull);
}

static uint8_t packet_more(const struct roce_packet *packet)
{
	uint64_t more = packet->reth_bytes;
	if (!packet->has_aeth && !packet->has_reth)
		return 0;
	if (packet->has_aeth)
		more = (uint64_t)packet->syndrome << 32 | packet->msn;
	return (uint8_t)copies_mix(more, 1) | 1;
}

/* ---- lines --------------------------------------------------------------- */

/* The choice of a packet; few lines have no second one. */
static struct line *line_first(const struct copies *copies, uint64_t hash)
{
	return &copies->lines[hash & (copies->n_lines - 1)];
}
static struct line *line_second(const struct copies *copies, uint64_t hash)
{
	if (copies->n_lines == LINES)
		return NULL;
	return &copies->lines[hash >> 24 & (copies->n_lines - 1)];
}
static uint16_t tag_of(uint64_t hash)
{
	return (uint16_t)(hash >> 48) | 1;
}

static bool are_alike(const struct sighting *seen, const struct copies_look *look)
{
	const bool icrc = !seen->icrc || !look->icrc || seen->icrc == look->icrc;
	const bool more = !seen->more || !look->more || seen->more == look->more;
	return (seen->print & ~CAME_AGAIN) == look->print && icrc && more;
}

/* @alike: NULL: whatever has this tag. */
static inline struct sighting *line_find(
	struct line *line, uint16_t tag, const struct copies_look *alike)
{
	for (int i = 0; i < WAYS; i++)
		if (line->way[i].tag == tag && (!alike || are_alike(&line->way[i], alike)))
			return &line->way[i];
	return NULL;
}

static inline struct sighting *sighting_at(
	struct copies *copies, uint64_t hash, const struct copies_look *alike)
{
	struct sighting *seen = line_find(line_first(copies, hash), tag_of(hash), alike);
	if (seen || copies->n_lines == LINES)
		return seen;
	seen = line_find(line_second(copies, hash), tag_of(hash), alike);
	if (!seen && copies->before)
		seen = line_find(&copies->before[hash % LINES], tag_of(hash), alike);
	return seen;
}

/* The first free way, else the one that was seen longest ago; without a branch, as which one it is
 * cannot be predicted. */
static unsigned line_oldest(const struct line *line, uint32_t now, uint64_t *ret_age)
{
	uint64_t oldest = 0;
	for (unsigned i = 0; i < WAYS; i++) {
		const struct sighting *seen = &line->way[i];
		uint64_t age = (uint64_t)(now - seen->when) << 8 | i;
		if (seen->tag == 0)
			age = 1ull << 40 | (uint64_t)(WAYS - i) << 8 | i;
		if (age > oldest)
			oldest = age;
	}
	*ret_age = oldest >> 8;
	return oldest % WAYS;
}

static void sighting_put(struct copies *copies, const struct copies_look *look)
{
	uint64_t age, age_second;
	struct line *line = line_first(copies, look->hash);
	struct line *second = line_second(copies, look->hash);
	unsigned way = line_oldest(line, look->now, &age);
	if (second) {
		const unsigned way_second = line_oldest(second, look->now, &age_second);
		if (age_second > age) {
			line = second;
			way = way_second;
		}
	}
	line->way[way] = (struct sighting){.print = look->print,
		.icrc = look->icrc,
		.more = look->more,
		.when = look->now,
		.ip_id = look->packet->ip_id,
		.tag = tag_of(look->hash),
		.vlan = look->vlan,
		.ttl = look->packet->ttl,
		.place = look->place};
}

/* sighting_before - the packet with the PSN before; NULL when it is not remembered. */
static const struct sighting *sighting_before(struct copies *copies, const struct copies_look *look)
{
	const uint32_t before = (look->packet->psn - 1) & (PSN_MODULO - 1);
	return sighting_at(copies, packet_hash(copies, look->packet, before), NULL);
}

static void lines_want(struct copies *copies, uint32_t n_lines)
{
	free(copies->before);
	copies->before = NULL;
	if (copies->n_lines == n_lines) {
		memset(copies->lines, 0, n_lines * sizeof(*copies->lines));
		return;
	}
	free(copies->lines);
	copies->n_lines = n_lines;
	copies->lines = rw_calloc(n_lines, sizeof(*copies->lines));
}

/* lines_grow - copies come: from now on there are many lines. The packets that wait for their
 * copies stay where they are. */
static void lines_grow(struct copies *copies, uint32_t now)
{
	copies->before = copies->lines;
	copies->before_when = now;
	copies->n_lines = LINES_MANY;
	copies->lines = rw_calloc(LINES_MANY, sizeof(*copies->lines));
}

static void lines_watch(struct copies *copies, uint32_t now)
{
	if (copies->n_lines == LINES && copies->count.packets >= MANY_AFTER)
		lines_grow(copies, now);
	if (!copies->before || (int32_t)(now - copies->before_when) <= COPY_WITHIN)
		return;
	free(copies->before);
	copies->before = NULL;
}

/* Ticks between two times, whichever came first: files of several interfaces are not quite in
 * order. */
static uint32_t ticks_between(uint32_t now, uint32_t then)
{
	const uint32_t after = now - then;
	if (after > UINT32_MAX / 2)
		return then - now;
	return after;
}

/* ---- places ---------------------------------------------------------------- */

static struct seen_place place_of(
	const struct roce_packet *packet, const struct packet_origin *origin)
{
	struct seen_place place = {.layer = packet->mirror.layer};
	if (origin) {
		place.interface = origin->interface;
		place.direction = origin->direction;
	}
	if (!packet->mirror.layer)
		return place;
	place.session = packet->mirror.session;
	if (place.direction == 0)
		place.direction = packet->mirror.direction;
	if (packet->outer_family)
		memcpy(place.source, packet->outer_src, sizeof(place.source));
	return place;
}

/* place_number - of at most PLACES - 1; those beyond are one. */
static uint8_t place_number(struct copies *copies, const struct seen_place *place)
{
	for (uint32_t i = 0; i < copies->n_places; i++)
		if (memcmp(place, &copies->places[i], sizeof(*place)) == 0)
			return (uint8_t)i;
	if (copies->n_places < PLACES)
		copies->places[copies->n_places++] = *place;
	return (uint8_t)(copies->n_places - 1);
}

/* place_find - most packets are of no mirror, and seen where the one before was. */
static inline uint8_t place_find(
	struct copies *copies, const struct roce_packet *packet, const struct packet_origin *origin)
{
	static const struct packet_origin none;
	const struct seen_place *last = &copies->places[copies->last_place];
	if (!origin)
		origin = &none;
	if (packet->mirror.layer == 0 && last->layer == 0 && last->interface == origin->interface &&
		last->direction == origin->direction)
		return copies->last_place;
	const struct seen_place place = place_of(packet, origin);
	copies->last_place = place_number(copies, &place);
	return copies->last_place;
}

/* ---- what the sender does ------------------------------------------------ */

/* id_neighbour - the IP identification of the packet with the PSN before, or after it; false when
 * neither is remembered. */
static bool id_neighbour(struct copies *copies, const struct roce_packet *packet, uint16_t *ret_id)
{
	for (uint32_t step = 1; step <= 2; step++) {
		const uint32_t psn = (packet->psn + step * 2 - 3) & (PSN_MODULO - 1);
		const struct sighting *seen =
			sighting_at(copies, packet_hash(copies, packet, psn), NULL);
		if (seen) {
			*ret_id = seen->ip_id;
			return true;
		}
	}
	return false;
}

/* ids_vary - does this sender give each packet another IP identification? Many give all the same,
 * often 0, with "do not fragment" set (RFC 6864 allows it). */
static bool ids_vary(struct copies *copies, const struct roce_packet *packet)
{
	if (packet->family != 4)
		return false;
	const uint32_t key = pair_hash(copies, packet->src, packet->src);
	struct sender_ids *sender = &copies->senders[key / 2 % SENDERS];
	uint16_t id;
	if (sender->key != key)
		*sender = (struct sender_ids){.key = key, .id = packet->ip_id};
	if (id_neighbour(copies, packet, &id))
		sender->vary = id != packet->ip_id;
	else
		sender->vary |= sender->id != packet->ip_id;
	sender->id = packet->ip_id;
	return sender->vary;
}

/* nak_slot - by the hosts and the PSN: of other queue pairs between them others are kept. */
static struct nak_seen *nak_slot(struct copies *copies, uint32_t pair, uint32_t psn)
{
	const uint32_t slot = pair / 2 + psn / NAK_REACH * 0x9E3779B1u;
	return &copies->naks[slot % NAKS];
}

/* A copy of a NAK asks for nothing: what came since the NAK itself is sent again already. */
static void nak_note(struct copies *copies, const struct copies_look *look)
{
	const struct roce_packet *packet = look->packet;
	if (!roce_is_nak(packet) && !roce_is_rnr_nak(packet))
		return;
	const uint32_t key = pair_hash(copies, packet->src, packet->dst);
	*nak_slot(copies, key, packet->psn) =
		(struct nak_seen){.key = key, .psn = packet->psn, .when = look->now};
}

/* nak_newest - that asks for the packet or one before it; NULL: none does. */
static const struct nak_seen *nak_newest(struct copies *copies, const struct copies_look *look)
{
	const uint32_t key = pair_hash(copies, look->packet->dst, look->packet->src);
	const struct nak_seen *newest = NULL;
	for (uint32_t i = 0; i < 2; i++) {
		const uint32_t psn = (look->packet->psn - i * NAK_REACH) & (PSN_MODULO - 1);
		const struct nak_seen *nak = nak_slot(copies, key, psn);
		const uint32_t ahead = (look->packet->psn - nak->psn) & (PSN_MODULO - 1);
		if (nak->key != key || ahead >= NAK_REACH)
			continue;
		if (!newest || (int32_t)(nak->when - newest->when) > 0)
			newest = nak;
	}
	return newest;
}

/* nak_between - did the receiver refuse this packet, or one before it, since @then? */
static bool nak_between(struct copies *copies, const struct copies_look *look, uint32_t then)
{
	const struct nak_seen *nak = nak_newest(copies, look);
	return nak && (int32_t)(nak->when - then) >= 0;
}

/* nak_followed - did the sender go back since the newest NAK, and is this the next one? It begins
 * with the packet that it was asked for. After nak_between(). */
static bool nak_followed(struct copies *copies, const struct copies_look *look)
{
	const struct nak_seen *nak = nak_newest(copies, look);
	if (nak->psn == look->packet->psn)
		return true;
	const struct sighting *before = sighting_before(copies, look);
	return before && (int32_t)(before->when - nak->when) >= 0;
}

/* differs_in_place - through another interface, in another direction, or in another mirror. */
static bool differs_in_place(const struct copies_look *look, const struct sighting *seen)
{
	return look->place != (seen->place & PLACE_MASK);
}

/* ---- how often packets come ---------------------------------------------- */

static struct copied_direction *direction_of(struct copies *copies, const struct copies_look *look)
{
	const uint32_t key = (uint32_t)packet_hash(copies, look->packet, PSN_MODULO - 1) | 1;
	struct copied_direction *set =
		&copies->directions[key / 2 % (DIRECTIONS / DIRECTION_WAYS) * DIRECTION_WAYS];
	for (int i = 0; i < DIRECTION_WAYS; i++) {
		if (set[i].key == 0)
			set[i].key = key;
		if (set[i].key == key)
			return &set[i];
	}
	struct copied_direction *direction = &set[key >> 16 & (DIRECTION_WAYS - 1)];
	*direction = (struct copied_direction){.key = key};
	return direction;
}

/* follows_on - had the packet before this one come when this one came first? Otherwise something
 * was missing, and this one can be part of what is sent again for it. */
static bool follows_on(
	struct copies *copies, const struct copies_look *look, const struct sighting *seen)
{
	const struct sighting *before = sighting_before(copies, look);
	if (!before)
		return false;
	return (before->print & CAME_AGAIN) || (int32_t)(before->when - seen->when) <= 0;
}

/* spell_begins - did the sequence go on since the last spell of packets that came twice? One spell
 * is one burst that was sent again, and a capture of copies has as many as there are packets in
 * flight. */
static bool spell_begins(uint32_t *spell_when, uint32_t now, uint32_t first_seen)
{
	if ((int32_t)(first_seen - *spell_when) <= 0)
		return false;
	*spell_when = now;
	return true;
}

/* window_pass - the first ones of before @bin have had the time that copies take. */
static void window_pass(struct copies *copies, uint32_t bin)
{
	for (int i = 0; i < BINS && (int32_t)(bin - copies->bin_from) > 0; i++) {
		uint32_t *first = &copies->bins[copies->bin_from / BIN_TICKS % BINS];
		copies->window_first += *first;
		*first = 0;
		copies->bin_from += BIN_TICKS;
	}
	if ((int32_t)(bin - copies->bin_from) > 0)
		copies->bin_from = bin;
	if ((int32_t)(copies->bin_from - copies->bin_newest) > 0)
		copies->bin_newest = copies->bin_from;
}

/* window_first_note - a packet came for the first time. */
static void window_first_note(struct copies *copies, uint32_t now)
{
	const uint32_t bin = now / BIN_TICKS * BIN_TICKS;
	if (!copies->bins_hold) {
		copies->bins_hold = true;
		copies->bin_from = copies->bin_newest = bin;
	}
	if ((int32_t)(bin - copies->bin_newest) > 0) {
		window_pass(copies, bin - (BINS - 1) * BIN_TICKS);
		copies->bin_newest = bin;
	}
	copies->bins[copies->bin_newest / BIN_TICKS % BINS]++;
}

/* window_forget - the packets come again from the first one. What is known stays with its
 * numbers. */
static void window_forget(struct copies *copies)
{
	copies->window_spells = copies->window_elsewhere = 0;
	if (!copies->window_known)
		copies->window_first = copies->window_alike = copies->window_twice = 0;
	copies->bins_hold = false;
	memset(copies->bins, 0, sizeof(copies->bins));
}

static void window_slide(struct copies *copies)
{
	const bool often = copies->window_spells >= 12 && copies->window_first >= 32 &&
		copies->window_twice * 5 >= copies->window_first * 4;
	/* no fabric sends again nearly all that all of its senders sent */
	const bool all = copies->window_spells >= 2 && copies->window_first >= 1024 &&
		copies->window_twice * 20 >= copies->window_first * 19;
	copies->window_known |= often || all;
	copies->elsewhere_known |= copies->window_first >= 32 &&
		copies->window_elsewhere * 5 >= copies->window_first * 4;
	copies->count.systematic |= copies->window_known || copies->elsewhere_known;
	if (copies->window_first < 4096)
		return;
	copies->window_known &= copies->window_twice * 2 >= copies->window_first;
	copies->elsewhere_known &= copies->window_elsewhere * 2 >= copies->window_first;
	copies->window_elsewhere /= 2;
	copies->window_first /= 2;
	copies->window_alike /= 2;
	copies->window_twice /= 2;
	copies->window_spells /= 2;
}

/* direction_takes_turns - nearly all of a span came again while new ones came in between: who goes
 * back sends nothing new meanwhile. */
static bool direction_takes_turns(const struct copied_direction *direction, uint32_t span)
{
	return direction->passes >= 8 && direction->twice >= 32 &&
		direction->twice * 10 >= span * 9;
}

/* How often more than once the packets of @direction came; 0 = once, or not known yet. */
static uint32_t times_of_direction(const struct copied_direction *direction)
{
	const uint32_t span = ((direction->last_psn - direction->first_psn) & (PSN_MODULO - 1)) + 1;
	const bool most =
		direction->twice >= 8 && direction->spells >= 4 && direction->twice * 5 >= span * 4;
	const bool all = direction->twice >= 32 && direction->spells >= 3 &&
		direction->twice * 20 >= span * 19;
	if (!most && !all && !direction_takes_turns(direction, span))
		return 0;
	return (direction->alike * 2 / span + 1) / 2;
}

/* How often more than once this packet usually comes; 0 = once. */
static uint32_t times_expected(
	const struct copies *copies, const struct copied_direction *direction)
{
	const uint32_t of_direction = times_of_direction(direction);
	if (of_direction)
		return of_direction;
	if (direction->times && direction->alike < 64)
		return direction->times;
	if (!copies->window_known || copies->window_first == 0)
		return copies->window_known;
	const uint32_t times = (copies->window_alike * 2 / copies->window_first + 1) / 2;
	if (times == 0)
		return 1;
	return times;
}

/* continues_run - packets that are seen for the first time within the run leave holes in it. */
static bool continues_run(const struct copied_direction *direction, const struct copies_look *look,
	const struct sighting *seen)
{
	const uint32_t ahead = (look->packet->psn - direction->run_psn) & (PSN_MODULO - 1);
	return direction->run && ahead < RUN_HOLE_MAX &&
		(int32_t)(seen->when - direction->run_when) <= 0;
}

static void run_note(struct copies *copies, struct copied_direction *direction,
	const struct copies_look *look, const struct sighting *seen)
{
	if (!continues_run(direction, look, seen)) {
		direction->run_when = look->now;
		direction->asked = nak_between(copies, look, seen->when);
	}
	direction->run = true;
	direction->run_psn = (look->packet->psn + 1) & (PSN_MODULO - 1);
}

/* comes_as_usual - as long after the packet as one of its @times copies comes. */
static bool comes_as_usual(const struct copies *copies, uint32_t apart, uint32_t times)
{
	uint32_t near = copies->spread / 2;
	if (near > copies->usual / 4)
		near = copies->usual / 4;
	for (uint32_t i = 1; i <= times; i++)
		if (ticks_between(apart, copies->usual * i) <= near + USUAL_NEAR)
			return true;
	return false;
}

/* usual_note - a step towards @apart at most: what a sender sends again now and then moves little.
 */
static void usual_note(struct copies *copies, uint32_t apart)
{
	const uint32_t step = copies->usual / 8 + 1, off = ticks_between(apart, copies->usual);
	if (off <= copies->usual / 4 + USUAL_NEAR)
		copies->spread += off - copies->spread / 8;
	if (copies->usual == 0)
		copies->usual = apart;
	else if (apart > copies->usual)
		copies->usual += off < step ? off : step;
	else
		copies->usual -= off < step ? off : step;
}

static void alike_note(struct copies *copies, struct copied_direction *direction,
	const struct copies_look *look, const struct sighting *seen)
{
	if (!look->data || ticks_between(look->now, seen->when) > ALWAYS_WITHIN)
		return;
	/* another place shows itself: it says nothing of what this one shows twice */
	if (differs_in_place(look, seen)) {
		window_pass(copies, seen->when / BIN_TICKS * BIN_TICKS);
		copies->window_elsewhere += seen->place >> PLACE_BITS == 0;
		return;
	}
	/* the receiver asked for it: it says nothing about the capture */
	if (nak_between(copies, look, seen->when) ||
		(direction->asked && continues_run(direction, look, seen)))
		return;
	window_pass(copies, seen->when / BIN_TICKS * BIN_TICKS);
	if (copies->window_alike == 0)
		copies->window_spell_when = look->now - COPY_WITHIN;
	copies->window_alike++;
	const bool first = !(seen->print & CAME_AGAIN) && seen->place >> PLACE_BITS == 0;
	copies->window_twice += first;
	if (first)
		usual_note(copies, ticks_between(look->now, seen->when));
	/* what begins behind a missing one may be what is sent again for it */
	const bool whole = follows_on(copies, look, seen);
	copies->window_spells +=
		spell_begins(&copies->window_spell_when, look->now, seen->when) && whole;
	const uint32_t psn = look->packet->psn;
	const uint32_t step = (psn - direction->last_psn) & (PSN_MODULO - 1);
	const bool ahead = step && step < PSN_MODULO / 2;
	if (direction->alike == 0) {
		direction->first_psn = direction->last_psn = psn;
		direction->spell_when = look->now - COPY_WITHIN;
	} else if (ahead) {
		direction->last_psn = psn;
	}
	direction->passes += direction->head && first;
	direction->head = false;
	direction->alike++;
	direction->twice += first;
	/* the same ones once more are no new spell */
	if (ahead || direction->alike == 1)
		direction->spells +=
			spell_begins(&direction->spell_when, look->now, seen->when) && whole;
	if (direction->alike < DIRECTION_ALIKE_MAX)
		return;
	/* forget what is old */
	const uint32_t span = (direction->last_psn - direction->first_psn) & (PSN_MODULO - 1);
	direction->first_psn = (direction->first_psn + span / 2) & (PSN_MODULO - 1);
	direction->alike /= 2;
	direction->twice /= 2;
	direction->spells /= 2;
}

/* ---- verdict ------------------------------------------------------------- */

static enum copy_from differs_in(
	const struct copies *copies, const struct copies_look *look, const struct sighting *seen)
{
	const struct seen_place *here = &copies->places[look->place];
	const struct seen_place *there = &copies->places[seen->place & PLACE_MASK];
	if (here->direction != there->direction)
		return COPY_DIRECTION;
	if (here->interface != there->interface)
		return COPY_INTERFACE;
	if (here != there)
		return COPY_MIRROR;
	if (look->packet->ttl != seen->ttl)
		return COPY_TTL;
	if (look->vlan != seen->vlan)
		return COPY_VLAN;
	return COPY_UNKNOWN;
}

/* came_at_once - sooner than any answer can have come to the sender. UD sends nothing again, but
 * only the ICRC tells its packets apart. */
static bool came_at_once(
	struct copies *copies, const struct copies_look *look, const struct sighting *seen)
{
	if (ticks_between(look->now, seen->when) > SOONER_THAN_AN_ANSWER)
		return false;
	if (look->packet->opcode >> 5 == TRANSPORT_UD)
		return look->icrc != 0;
	return follows_on(copies, look, seen);
}

static bool is_copy(struct copies *copies, struct copied_direction *direction,
	const struct copies_look *look, const struct sighting *seen)
{
	const uint32_t apart = ticks_between(look->now, seen->when);
	const uint32_t copies_seen = seen->place >> PLACE_BITS;
	if (apart > COPY_WITHIN || copies_seen >= SIGHTINGS_MAX)
		return false;
	if (ids_vary(copies, look->packet))
		return true;
	const uint32_t times = times_expected(copies, direction);
	const bool moved = look->packet->ttl != seen->ttl || look->vlan != seen->vlan;
	if (differs_in_place(look, seen))
		return true;
	if (moved && (look->packet->ttl <= seen->ttl || times))
		return true;
	if (!look->data)
		return times > copies_seen && apart <= ALWAYS_WITHIN;
	/* a copy that is still due may come after a NAK, and among what is sent again */
	const bool due = times > copies_seen;
	/* after what was sent again the copy of the first may come before the copy of the second */
	const bool again_due = (seen->print & CAME_AGAIN) && copies_seen <= times;
	if ((due || again_due) && comes_as_usual(copies, apart, times))
		return true;
	const bool asked =
		nak_between(copies, look, seen->when) && (!due || nak_followed(copies, look));
	const bool again = continues_run(direction, look, seen) &&
		(!due || look->packet->psn == direction->run_psn);
	if (asked || again)
		return false;
	if (apart > ALWAYS_WITHIN)
		return false;
	return due || came_at_once(copies, look, seen);
}

static void first_note(struct copies *copies, const struct copies_look *look)
{
	window_first_note(copies, look->now);
	if (copies->learning)
		direction_of(copies, look)->head = true;
}

/* Out of line: most packets come once. */
static __attribute__((noinline)) bool look_again(
	struct copies *copies, const struct copies_look *look, struct sighting *seen)
{
	struct copied_direction *direction = direction_of(copies, look);
	alike_note(copies, direction, look, seen);
	window_slide(copies);
	if (!is_copy(copies, direction, look, seen)) {
		nak_note(copies, look);
		if (look->data)
			run_note(copies, direction, look, seen);
		seen->when = look->now;
		seen->print |= CAME_AGAIN;
		seen->ttl = look->packet->ttl;
		seen->vlan = look->vlan;
		seen->place = look->place;
		return false;
	}
	const int64_t delay = (int64_t)ticks_between(look->now, seen->when) << TICK_SHIFT;
	copies->count.packets++;
	copies->count.from[differs_in(copies, look, seen)]++;
	copies->count.delay_sum_ns += delay;
	if (delay > copies->count.delay_most_ns)
		copies->count.delay_most_ns = delay;
	seen->place = (uint8_t)(seen->place + (1 << PLACE_BITS));
	lines_watch(copies, look->now);
	return true;
}

static bool look_at(struct copies *copies, const struct copies_look *look)
{
	struct sighting *seen = sighting_at(copies, look->hash, look);
	if (seen)
		return look_again(copies, look, seen);
	nak_note(copies, look);
	sighting_put(copies, look);
	if (!look->data)
		return false;
	first_note(copies, look);
	/* a sender is learned from its first packets and from one in 64 later */
	if (look->packet->psn % 64 == 1)
		ids_vary(copies, look->packet);
	return false;
}

void copies_look(struct copies *copies, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns, struct copies_look *ret)
{
	const enum roce_role role = roce_opcode_role(packet->opcode);
	*ret = (struct copies_look){
		.packet = packet,
		.hash = packet_hash(copies, packet, packet->psn),
		.now = (uint32_t)((uint64_t)t_ns >> TICK_SHIFT),
		.print = packet_print(packet),
		.more = packet_more(packet),
		.data = role == ROLE_REQUEST || role == ROLE_RESPONSE ||
			role == ROLE_RESPONSE_FIRST,
	};
	__builtin_prefetch(line_first(copies, ret->hash), 1);
	if (copies->n_lines != LINES)
		__builtin_prefetch(line_second(copies, ret->hash), 1);
	if (packet->n_vlan)
		ret->vlan = (uint8_t)(packet->vlan % 255 + 1);
	if (packet->icrc_seen)
		ret->icrc = (uint16_t)(packet->icrc_wire ^ packet->icrc_wire >> 16) | 1;
	ret->place = place_find(copies, packet, origin);
}

void copies_learn(struct copies *copies, const struct roce_packet *packet,
	const struct packet_origin *origin, int64_t t_ns)
{
	if (!copies->learning) {
		copies->learning = true;
		lines_want(copies, LINES_MANY);
	}
	struct copies_look look;
	copies_look(copies, packet, origin, t_ns, &look);
	ids_vary(copies, packet);
	look_at(copies, &look);
}

/* learn_window - do all packets come twice, in the directions where some do, and in more than one
 * spell? The newest ones do not count: their copies may be still to come. */
static void learn_window(struct copies *copies)
{
	uint32_t alike = 0, twice = 0, span = 0, spells = 0, passes = 0;
	for (int i = 0; i < DIRECTIONS; i++) {
		const struct copied_direction *direction = &copies->directions[i];
		if (direction->spells < 2 && direction->passes < 2)
			continue;
		alike += direction->alike;
		twice += direction->twice;
		spells += direction->spells;
		passes += direction->passes;
		span += ((direction->last_psn - direction->first_psn) & (PSN_MODULO - 1)) + 1;
	}
	if (copies->window_known || (spells < 4 && passes < 16) || twice < 32 ||
		twice * 10 < span * 9)
		return;
	copies->window_known = true;
	copies->window_first = span;
	copies->window_alike = alike;
	copies->window_twice = twice;
}

void copies_learned(struct copies *copies)
{
	bool come = copies->count.packets >= MANY_AFTER;
	window_forget(copies);
	learn_window(copies);
	come |= copies->window_known;
	for (int i = 0; i < DIRECTIONS; i++) {
		struct copied_direction *direction = &copies->directions[i];
		const uint32_t times = times_of_direction(direction);
		come |= times > 0;
		*direction =
			(struct copied_direction){.key = direction->key, .times = (uint8_t)times};
	}
	if (come)
		lines_want(copies, LINES_MANY);
	else
		lines_want(copies, LINES);
	memset(copies->naks, 0, sizeof(copies->naks));
	copies->learning = false;
	copies->count = (struct copies_count){
		.systematic = copies->window_known || copies->elsewhere_known};
}

bool copies_judge(struct copies *copies, const struct copies_look *look)
{
	copies->count.of++;
	return look_at(copies, look);
}

void copies_next(struct copies *copies)
{
	copies->count = (struct copies_count){
		.systematic = copies->window_known || copies->elsewhere_known};
}
