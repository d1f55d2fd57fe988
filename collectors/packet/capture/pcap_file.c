/*
 * pcap_file - reads pcap and pcapng records from a file, a pipe or memory.
 *
 * Bytes come through a window: pcap_file_need(n) makes n contiguous bytes available at r->at,
 * refilling from the file. It reads in steps of 256 KiB, which stay in the cache until they are
 * decoded, and does not map the file: a file that
 * shrinks while it is read would end the process with SIGBUS, and a pipe cannot be mapped.
 */
#include "collectors/packet/capture/pcap_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/process.h"
#include "db/model/flow.h"

#define PCAP_RECORD_MAX 262144u /* as libpcap's MAXIMUM_SNAPLEN */
#define PCAP_BLOCK_MAX (16u << 20)

enum { PCAP_NAME_MAX = 32 };

struct pcap_interface {
	enum roce_link link;
	uint32_t dlt;
	uint32_t snaplen; /* 0 = no limit */
	uint8_t resolution; /* as in the option: 10^-n, or 2^-n with bit 7 set */
	uint8_t fcs_bytes;
	bool drops_known;
	int64_t offset_s;
	uint32_t number; /* over all sections of the file */
	uint64_t drops; /* its newest statistics */
	char name[PCAP_NAME_MAX]; /* if_name, cut; "" = none */
};

struct pcap_interfaces { /* zeroed to start */
	struct pcap_interface *now; /* owned; of the section under way */
	size_t n, cap;
	struct pcap_interface *known; /* owned; by .number */
	size_t n_known, cap_known;
	/* statistics of the sections before */
	uint64_t drops;
	bool drops_known;
	/* said by packets themselves */
	uint64_t packet_drops;
	bool packet_drops_known;
};

/* pcapng - what the blocks of a pcapng file say besides packets: interfaces, their statistics, and
 * the options of packets. A part of pcap_file. Pure; bounded: at most PCAP_INTERFACES_MAX
 * interfaces in a section. Format: draft-ietf-opsawg-pcapng, sections 3.5 (options), 4.2
 * (interface), 4.3 (enhanced packet) and 4.6 (interface statistics). */

enum { KNOWN_SEARCHED = 64 }; /* interfaces that a new description is compared with */

enum { OPTION_END = 0 };
enum { IF_NAME = 2, IF_TSRESOL = 9, IF_TSOFFSET = 14 };
enum { EPB_FLAGS = 2, EPB_DROPCOUNT = 4 };
enum { ISB_IFDROP = 5, ISB_OSDROP = 7 };

/* ---- options ------------------------------------------------------------- */

struct ng_options {
	const uint8_t *at, *end;
	bool swapped;
};

struct ng_option {
	unsigned code;
	const uint8_t *value;
	size_t size;
};

static unsigned ng_option_u16(const uint8_t *data, bool swapped)
{
	uint16_t v;
	memcpy(&v, data, 2);
	if (swapped)
		return __builtin_bswap16(v);
	return v;
}

static bool ng_option_next(struct ng_options *options, struct ng_option *ret)
{
	if (options->end - options->at < 4)
		return false;
	ret->code = ng_option_u16(options->at, options->swapped);
	ret->size = ng_option_u16(options->at + 2, options->swapped);
	ret->value = options->at + 4;
	const size_t padded = (ret->size + 3) & ~(size_t)3;
	const size_t left = (size_t)(options->end - ret->value);
	if (ret->code == OPTION_END || ret->size > left)
		return false;
	options->at = options->end;
	if (padded < left)
		options->at = ret->value + padded;
	return true;
}

static bool ng_option_u64(
	const struct ng_options *options, const struct ng_option *option, uint64_t *ret)
{
	if (option->size < sizeof(*ret))
		return false;
	memcpy(ret, option->value, sizeof(*ret));
	if (options->swapped)
		*ret = __builtin_bswap64(*ret);
	return true;
}

static bool ng_option_u32(
	const struct ng_options *options, const struct ng_option *option, uint32_t *ret)
{
	if (option->size < sizeof(*ret))
		return false;
	memcpy(ret, option->value, sizeof(*ret));
	if (options->swapped)
		*ret = __builtin_bswap32(*ret);
	return true;
}

/* ---- interfaces ---------------------------------------------------------- */

static void pcap_interfaces_done(struct pcap_interfaces *interfaces)
{
	free(interfaces->now);
	free(interfaces->known);
	*interfaces = (struct pcap_interfaces){0};
}

/* pcap_interfaces_section - a new section begins: interfaces are described anew. */
static void pcap_interfaces_section(struct pcap_interfaces *interfaces)
{
	for (size_t i = 0; i < interfaces->n; i++) {
		const struct pcap_interface *one = &interfaces->now[i];
		interfaces->drops += one->drops;
		interfaces->drops_known |= one->drops_known;
	}
	interfaces->n = 0;
}

static struct pcap_interface *pcap_interfaces_add(
	struct pcap_interfaces *interfaces, uint32_t linktype, uint32_t snaplen)
{
	rw_grow(interfaces->now, interfaces->n, interfaces->cap);
	struct pcap_interface *one = &interfaces->now[interfaces->n++];
	*one = (struct pcap_interface){.link = link_of_dlt(linktype),
		.dlt = linktype,
		.snaplen = snaplen,
		.resolution = 6};
	return one;
}

static bool same_interface(const struct pcap_interface *left, const struct pcap_interface *right)
{
	return left->dlt == right->dlt && strcmp(left->name, right->name) == 0;
}

/* Whether another interface of this section has the number already. */
static bool number_taken(const struct pcap_interfaces *interfaces, uint32_t number)
{
	const size_t n = interfaces->n - 1;
	for (size_t i = 0; i < n && i < KNOWN_SEARCHED; i++)
		if (interfaces->now[i].number == number)
			return true;
	return false;
}

/* The number that an earlier section gave the same interface: the one at the same place first,
 * since a file that goes on describes them in the same order. Otherwise a new one. */
static uint32_t interface_number(
	struct pcap_interfaces *interfaces, const struct pcap_interface *one)
{
	const size_t place = interfaces->n - 1;
	if (place < interfaces->n_known && same_interface(&interfaces->known[place], one) &&
		!number_taken(interfaces, (uint32_t)place))
		return (uint32_t)place;
	for (size_t i = 0; i < interfaces->n_known && i < KNOWN_SEARCHED; i++)
		if (same_interface(&interfaces->known[i], one) &&
			!number_taken(interfaces, (uint32_t)i))
			return (uint32_t)i;
	if (interfaces->n_known == PCAP_INTERFACES_MAX)
		return PCAP_INTERFACES_MAX - 1;
	rw_grow(interfaces->known, interfaces->n_known, interfaces->cap_known);
	interfaces->known[interfaces->n_known] = *one;
	return (uint32_t)interfaces->n_known++;
}

/* pcapng_interface - options of the newest interface, @n bytes; gives it its number. */
static void pcapng_interface(
	struct pcap_interfaces *interfaces, const uint8_t *options, size_t n, bool swapped)
{
	struct pcap_interface *one = &interfaces->now[interfaces->n - 1];
	struct ng_options all = {options, options + n, swapped};
	struct ng_option option;
	while (ng_option_next(&all, &option)) {
		uint64_t offset;
		if (option.code == IF_NAME && option.size < sizeof(one->name))
			memcpy(one->name, option.value, option.size);
		else if (option.code == IF_TSRESOL && option.size >= 1)
			one->resolution = option.value[0];
		else if (option.code == IF_TSOFFSET && ng_option_u64(&all, &option, &offset))
			one->offset_s = (int64_t)offset;
	}
	one->number = interface_number(interfaces, one);
}

/* ---- statistics ---------------------------------------------------------- */

/* pcapng_statistics - a block of interface statistics, without its head. What is damaged in it is
 * passed over.
 * Counters count from the start of the capture: a later block replaces an earlier one. */
static void pcapng_statistics(
	struct pcap_interfaces *interfaces, const uint8_t *body, size_t n, bool swapped)
{
	enum { HEAD = 12 }; /* interface, time stamp */
	if (n < HEAD)
		return;
	uint32_t number;
	memcpy(&number, body, 4);
	if (swapped)
		number = __builtin_bswap32(number);
	if (number >= interfaces->n)
		return;
	struct pcap_interface *one = &interfaces->now[number];
	struct ng_options all = {body + HEAD, body + n, swapped};
	struct ng_option option;
	uint64_t value, drops = 0;
	bool drops_known = false;
	while (ng_option_next(&all, &option)) {
		if (!ng_option_u64(&all, &option, &value))
			continue;
		if (option.code == ISB_IFDROP || option.code == ISB_OSDROP) {
			drops += value;
			drops_known = true;
		}
	}
	if (drops_known) {
		one->drops = drops;
		one->drops_known = true;
	}
}

/* pcapng_packet_options - direction and loss that the options of a packet say. Returns the bytes of
 * FCS that they say the packet ends with, 0 when they say nothing. */
static unsigned pcapng_packet_options(struct pcap_interfaces *interfaces, const uint8_t *options,
	size_t n, bool swapped, struct packet_origin *origin)
{
	enum { INBOUND = 1, OUTBOUND = 2 };
	struct ng_options all = {options, options + n, swapped};
	struct ng_option option;
	unsigned fcs_bytes = 0;
	while (ng_option_next(&all, &option)) {
		uint32_t flags;
		uint64_t drops;
		if (option.code == EPB_FLAGS && ng_option_u32(&all, &option, &flags)) {
			if ((flags & 3) == INBOUND)
				origin->direction = FLOW_DIR_IN;
			else if ((flags & 3) == OUTBOUND)
				origin->direction = FLOW_DIR_OUT;
			fcs_bytes = flags >> 5 & 15;
		} else if (option.code == EPB_DROPCOUNT && ng_option_u64(&all, &option, &drops)) {
			interfaces->packet_drops += drops;
			interfaces->packet_drops_known = true;
		}
	}
	return fcs_bytes;
}

/* pcapng_packet_drops - the counter of the obsolete packet block; 65535 = not known. */
static void pcapng_packet_drops(struct pcap_interfaces *interfaces, unsigned drops)
{
	if (drops == UINT16_MAX)
		return;
	interfaces->packet_drops += drops;
	interfaces->packet_drops_known = true;
}

#define CHUNK (256u << 10)

enum { MAGIC_US = 0xa1b2c3d4, MAGIC_NS = 0xa1b23c4d, MAGIC_KUZNETZOV = 0xa1b2cd34 };
enum { PCAP_HEAD = 24, PCAP_RECORD_HEAD = 16, NG_BLOCK_HEAD = 8, NG_BLOCK_MIN = 12 };
enum {
	NG_SECTION = 0x0a0d0d0a,
	NG_MAGIC = 0x1a2b3c4d,
	NG_INTERFACE = 1,
	NG_PACKET = 2,
	NG_SIMPLE = 3,
	NG_STATISTICS = 5,
	NG_ENHANCED = 6
};
struct pcap_reader {
	int fd; /* -1: memory */
	uint8_t *buf; /* owned; NULL: memory */
	size_t cap;
	const uint8_t *at, *end;
	uint64_t offset; /* of .at in the file */
	bool eof;
	bool ng; /* pcapng */
	bool swapped; /* written with the other byte order */
	bool done; /* no more records: the end, or a damage */
	struct pcap_interfaces interfaces; /* pcap: one */
	uint64_t records, unsupported; /* all; of a link type that is not read */
	uint32_t unsupported_dlt; /* the first of these */
};

static uint32_t pcap_file_u32(const struct pcap_reader *reader, const uint8_t *data)
{
	uint32_t v;
	memcpy(&v, data, 4);
	if (reader->swapped)
		return __builtin_bswap32(v);
	return v;
}

static uint16_t pcap_file_u16(const struct pcap_reader *reader, const uint8_t *data)
{
	uint16_t v;
	memcpy(&v, data, 2);
	if (reader->swapped)
		return __builtin_bswap16(v);
	return v;
}

/* pcap_file_need - @n bytes at reader->at: 1; 0 when the file ends before (reader->end - reader->at
 * bytes are left); negative errno. */
static int pcap_file_fill(struct pcap_reader *reader, size_t n)
{
	size_t have = (size_t)(reader->end - reader->at);
	if (!reader->buf || reader->eof)
		return 0;
	if (reader->cap < n + CHUNK) {
		size_t at = (size_t)(reader->at - reader->buf);
		reader->cap = n + CHUNK;
		reader->buf = rw_realloc(reader->buf, reader->cap);
		reader->at = reader->buf + at;
	}
	memmove(reader->buf, reader->at, have);
	reader->at = reader->buf;
	while (have < n) {
		ssize_t k = read(reader->fd, reader->buf + have, reader->cap - have);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0) {
			reader->eof = true;
			break;
		}
		have += (size_t)k;
	}
	reader->end = reader->buf + have;
	return have >= n;
}

static inline int pcap_file_need(struct pcap_reader *reader, size_t n)
{
	if ((size_t)(reader->end - reader->at) >= n)
		return 1;
	return pcap_file_fill(reader, n);
}

static void pcap_file_step(struct pcap_reader *reader, size_t n)
{
	reader->at += n;
	reader->offset += n;
}

static int pcap_file_damaged(struct pcap_reader *reader, struct err *e, const char *what)
{
	reader->done = true;
	return err_set(e, -EBADMSG, "damaged at byte %llu: %s; what came before was read",
		(unsigned long long)reader->offset, what);
}

/* The file ended inside something: @got is pcap_file_need()'s answer. */
static int pcap_file_cut(struct pcap_reader *reader, int got, struct err *e)
{
	reader->done = true;
	if (got < 0)
		return err_set(e, got, "cannot read on at byte %llu: %s",
			(unsigned long long)reader->offset, strerror(-got));
	return err_set(e, -ENODATA,
		"truncated: the file ends within the record at byte %llu; what came before was "
		"read",
		(unsigned long long)reader->offset);
}

/* ---- time ---------------------------------------------------------------- */

/* The year 2116, ten years after the last that the older format can say. Twice the distance of any
 * two times is then still a number. */
#define TIME_LAST_NS (INT64_MAX / 2)

static int64_t clamp_ns(__int128 ns)
{
	/* before 1970: no capture was taken then */
	if (ns > TIME_LAST_NS)
		return TIME_LAST_NS;
	if (ns < 0)
		return 0;
	return (int64_t)ns;
}

static int64_t ticks_ns(const struct pcap_interface *interface, uint64_t ticks)
{
	unsigned __int128 ns = ticks;
	unsigned exponent = interface->resolution & 0x7f;
	if (interface->resolution & 0x80) {
		if (exponent > 64)
			ns = 0;
		else
			ns = ns * 1000000000u >> exponent;
	} else if (exponent <= 9) {
		for (unsigned k = exponent; k < 9; k++)
			ns *= 10;
	} else {
		for (unsigned k = 9; k < exponent && ns; k++)
			ns /= 10;
	}
	__int128 t;
	if (ns > (unsigned __int128)INT64_MAX)
		t = INT64_MAX;
	else
		t = (__int128)ns;
	return clamp_ns(t + (__int128)interface->offset_s * 1000000000);
}

/* ---- pcap ---------------------------------------------------------------- */

static void pcap_begin(struct pcap_reader *reader, uint32_t magic)
{
	uint32_t network = pcap_file_u32(reader, reader->at + 20);
	struct pcap_interface *one = pcap_interfaces_add(
		&reader->interfaces, network & 0xffff, pcap_file_u32(reader, reader->at + 16));
	if (magic == MAGIC_NS)
		one->resolution = 9;
	if (network & 0x04000000) /* FCS length present, in 16-bit words */
		one->fcs_bytes = (uint8_t)((network >> 28) * 2);
	pcap_file_step(reader, PCAP_HEAD);
}

/* ---- what a record is ---------------------------------------------------- */

/* Linux cooked captures say whether the host sent or received the packet, and version 2 on which
 * interface. */
static void record_cooked(struct pcap_record *ret)
{
	enum { OUTGOING = 4, SLL_TYPE_AT = 0, SLL2_INDEX_AT = 4, SLL2_TYPE_AT = 10 };
	unsigned type;
	if (ret->link == LINK_SLL && ret->n >= 2) {
		type = (unsigned)ret->p[SLL_TYPE_AT] << 8 | ret->p[SLL_TYPE_AT + 1];
	} else if (ret->link == LINK_SLL2 && ret->n > SLL2_TYPE_AT) {
		const uint8_t *index = ret->p + SLL2_INDEX_AT;
		type = ret->p[SLL2_TYPE_AT];
		ret->origin.interface = ((uint32_t)index[0] << 24 | (uint32_t)index[1] << 16 |
						(uint32_t)index[2] << 8 | index[3]) %
			PCAP_INTERFACES_MAX;
	} else {
		return;
	}
	if (type == OUTGOING)
		ret->origin.direction = FLOW_DIR_OUT;
	else if (type < OUTGOING)
		ret->origin.direction = FLOW_DIR_IN;
}

static inline void record_lengths(struct pcap_reader *reader,
	const struct pcap_interface *interface, unsigned fcs_bytes, struct pcap_record *ret)
{
	if (ret->wire < ret->n)
		ret->wire = ret->n;
	if (fcs_bytes && ret->wire >= fcs_bytes) {
		ret->wire -= fcs_bytes;
		if (ret->n > ret->wire)
			ret->n = ret->wire;
	}
	ret->link = interface->link;
	ret->dlt = interface->dlt;
	if (ret->link == LINK_SLL || ret->link == LINK_SLL2)
		record_cooked(ret);
	reader->records++;
	if (ret->link != LINK_UNSUPPORTED)
		return;
	if (reader->unsupported++ == 0)
		reader->unsupported_dlt = ret->dlt;
}

static int pcap_next(struct pcap_reader *reader, struct pcap_record *ret, struct err *e)
{
	int got = pcap_file_need(reader, PCAP_RECORD_HEAD);
	if (got == 0 && reader->at == reader->end) {
		reader->done = true;
		return 0;
	}
	if (got <= 0)
		return pcap_file_cut(reader, got, e);
	const struct pcap_interface *i = &reader->interfaces.now[0];
	uint32_t s = pcap_file_u32(reader, reader->at),
		 fraction = pcap_file_u32(reader, reader->at + 4),
		 n = pcap_file_u32(reader, reader->at + 8),
		 wire = pcap_file_u32(reader, reader->at + 12);
	if (n > PCAP_RECORD_MAX)
		return pcap_file_damaged(
			reader, e, "a record claims more bytes than any packet has");
	got = pcap_file_need(reader, PCAP_RECORD_HEAD + (size_t)n);
	if (got <= 0)
		return pcap_file_cut(reader, got, e);
	int64_t fraction_ns = fraction;
	if (i->resolution != 9)
		fraction_ns *= 1000;
	ret->t_ns = (int64_t)s * 1000000000 + fraction_ns;
	ret->p = reader->at + PCAP_RECORD_HEAD;
	ret->n = n;
	ret->wire = wire;
	record_lengths(reader, i, i->fcs_bytes, ret);
	pcap_file_step(reader, PCAP_RECORD_HEAD + (size_t)n);
	return 1;
}

/* ---- pcapng -------------------------------------------------------------- */

static int ng_section(struct pcap_reader *reader, const uint8_t *body, size_t n, struct err *e)
{
	if (n < 16)
		return pcap_file_damaged(reader, e, "section header too short");
	if (pcap_file_u16(reader, body + 4) != 1)
		return pcap_file_damaged(reader, e, "pcapng of an unknown version");
	pcap_interfaces_section(&reader->interfaces);
	return 0;
}

static int ng_interface(struct pcap_reader *reader, const uint8_t *body, size_t n, struct err *e)
{
	if (n < 8)
		return pcap_file_damaged(reader, e, "interface description too short");
	if (reader->interfaces.n >= PCAP_INTERFACES_MAX)
		return pcap_file_damaged(reader, e, "more interfaces than any capture has");
	pcap_interfaces_add(
		&reader->interfaces, pcap_file_u16(reader, body), pcap_file_u32(reader, body + 4));
	pcapng_interface(&reader->interfaces, body + 8, n - 8, reader->swapped);
	return 0;
}

/* 1: a record. */
static int ng_packet(struct pcap_reader *reader, uint32_t type, const uint8_t *body, size_t n,
	struct pcap_record *ret, struct err *e)
{
	size_t head = 20;
	if (type == NG_SIMPLE)
		head = 4;
	if (n < head)
		return pcap_file_damaged(reader, e, "packet block too short");
	uint32_t interface;
	if (type == NG_SIMPLE)
		interface = 0;
	else if (type == NG_PACKET)
		interface = pcap_file_u16(reader, body);
	else
		interface = pcap_file_u32(reader, body);
	if (interface >= reader->interfaces.n)
		return pcap_file_damaged(
			reader, e, "packet of an interface that was not described");
	const struct pcap_interface *i = &reader->interfaces.now[interface];
	if (type == NG_SIMPLE) {
		ret->t_ns = 0;
		ret->wire = pcap_file_u32(reader, body);
		if (i->snaplen && ret->wire > i->snaplen)
			ret->n = i->snaplen;
		else
			ret->n = ret->wire;
	} else {
		ret->t_ns = ticks_ns(i,
			(uint64_t)pcap_file_u32(reader, body + 4) << 32 |
				pcap_file_u32(reader, body + 8));
		ret->n = pcap_file_u32(reader, body + 12);
		ret->wire = pcap_file_u32(reader, body + 16);
	}
	if (ret->n > n - head || ret->n > PCAP_RECORD_MAX)
		return pcap_file_damaged(
			reader, e, "a packet claims more bytes than its block has");
	ret->p = body + head;
	ret->origin.interface = i->number;
	unsigned fcs_bytes = 0;
	const size_t options = head + ((ret->n + 3u) & ~3u);
	if (type != NG_SIMPLE && options < n)
		fcs_bytes = pcapng_packet_options(&reader->interfaces, body + options, n - options,
			reader->swapped, &ret->origin);
	if (type == NG_PACKET)
		pcapng_packet_drops(&reader->interfaces, pcap_file_u16(reader, body + 2));
	record_lengths(reader, i, fcs_bytes, ret);
	return 1;
}

static int ng_block(struct pcap_reader *reader, uint32_t type, const uint8_t *body, size_t n,
	struct pcap_record *ret, struct err *e)
{
	if (type == NG_SECTION)
		return ng_section(reader, body, n, e);
	if (type == NG_INTERFACE)
		return ng_interface(reader, body, n, e);
	if (type == NG_PACKET || type == NG_SIMPLE || type == NG_ENHANCED)
		return ng_packet(reader, type, body, n, ret, e);
	if (type == NG_STATISTICS)
		pcapng_statistics(&reader->interfaces, body, n, reader->swapped);
	return 0; /* names, comments, block types of the future */
}

static int ng_next(struct pcap_reader *reader, struct pcap_record *ret, struct err *e)
{
	for (;;) {
		int got = pcap_file_need(reader, NG_BLOCK_MIN);
		if (got == 0 && reader->at == reader->end) {
			reader->done = true;
			return 0;
		}
		if (got <= 0)
			return pcap_file_cut(reader, got, e);
		uint32_t type;
		memcpy(&type, reader->at, 4);
		/* the same in both byte orders; what follows says which */
		if (type == NG_SECTION) {
			uint32_t magic;
			memcpy(&magic, reader->at + 8, 4);
			if (magic != NG_MAGIC && magic != __builtin_bswap32(NG_MAGIC))
				return pcap_file_damaged(
					reader, e, "section header without byte-order magic");
			reader->swapped = magic != NG_MAGIC;
		}
		type = pcap_file_u32(reader, reader->at);
		size_t total = pcap_file_u32(reader, reader->at + 4);
		if (total < NG_BLOCK_MIN || total > PCAP_BLOCK_MAX || total % 4)
			return pcap_file_damaged(reader, e, "block length impossible");
		got = pcap_file_need(reader, total);
		if (got <= 0)
			return pcap_file_cut(reader, got, e);
		if (pcap_file_u32(reader, reader->at + total - 4) != total)
			return pcap_file_damaged(reader, e, "the two lengths of a block differ");
		int rc = ng_block(
			reader, type, reader->at + NG_BLOCK_HEAD, total - NG_BLOCK_MIN, ret, e);
		if (rc < 0)
			return rc;
		pcap_file_step(reader, total);
		if (rc > 0)
			return 1;
	}
}

/* ---- opening and reading ---------------------------------------------------------------- */

static int pcap_file_begin(struct pcap_reader *reader, struct err *e)
{
	int got = pcap_file_need(reader, 4);
	if (got < 0)
		return err_set(e, got, "cannot read: %s", strerror(-got));
	if (reader->at == reader->end)
		return err_set(e, -ENODATA, "the file is empty");
	uint32_t magic = 0;
	if (got > 0)
		memcpy(&magic, reader->at, 4);
	if (magic == NG_SECTION) {
		reader->ng = true;
		return 0;
	}
	reader->swapped =
		magic == __builtin_bswap32(MAGIC_US) || magic == __builtin_bswap32(MAGIC_NS);
	if (reader->swapped)
		magic = __builtin_bswap32(magic);
	if (magic == MAGIC_KUZNETZOV || magic == __builtin_bswap32(MAGIC_KUZNETZOV))
		return err_set(e, -EINVAL,
			"the patched pcap format of the 1990s is not supported; convert it with: "
			"editcap -F pcap IN OUT");
	if ((magic & 0xffff) == 0x8b1f || magic == 0xfd2fb528 || magic == 0x587a37fd ||
		(magic & 0xffffff) == 0x685a42)
		return err_set(e, -EINVAL,
			"a compressed file; decompress it first (\"zcat FILE | rocewatch pcap -\" "
			"works, too)");
	if (magic != MAGIC_US && magic != MAGIC_NS)
		return err_set(e, -EINVAL, "not a capture file (expected pcap or pcapng)");
	got = pcap_file_need(reader, PCAP_HEAD);
	if (got < 0)
		return err_set(e, got, "cannot read: %s", strerror(-got));
	if (got == 0)
		return err_set(e, -EBADMSG, "truncated: the file ends within its header");
	if (pcap_file_u16(reader, reader->at + 4) != 2)
		return err_set(e, -EINVAL, "pcap of version %u, expected 2",
			pcap_file_u16(reader, reader->at + 4));
	pcap_begin(reader, magic);
	return 0;
}

static int open_file(const char *path, struct err *e)
{
	if (strcmp(path, "-") == 0)
		return dup(STDIN_FILENO);
	struct stat st;
	const int answers = path_answers(path, e);
	if (answers < 0)
		return answers;
	/* not blocking: opening a FIFO without a writer would hang */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st)) {
		int code = -errno;
		if (fd >= 0)
			close(fd);
		if (code == -ENOENT)
			return err_set(e, code, "no such file");
		return err_set(e, code, "%s", strerror(-code));
	}
	if (S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(e, -EISDIR, "a directory, expected a capture file");
	}
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
	return fd;
}

int pcap_reader_open(const char *path, struct pcap_reader **ret, struct err *e)
{
	int fd = open_file(path, e);
	if (fd < 0) {
		if (fd == -1)
			fd = -errno;
		goto failed;
	}
	struct pcap_reader *r = rw_calloc(1, sizeof(*r));
	r->fd = fd;
	r->cap = CHUNK;
	r->buf = rw_calloc(1, r->cap);
	r->at = r->end = r->buf;
	int rc = pcap_file_begin(r, e);
	if (rc == 0) {
		*ret = r;
		return 0;
	}
	pcap_reader_free(r);
	fd = rc;
failed:
	if (e)
		snprintf(e->file, sizeof(e->file), "%s", path);
	return fd;
}

int pcap_reader_memory(const void *data, size_t n, struct pcap_reader **ret, struct err *e)
{
	struct pcap_reader *r = rw_calloc(1, sizeof(*r));
	r->fd = -1;
	r->at = data;
	r->end = r->at + n;
	int rc = pcap_file_begin(r, e);
	if (rc == 0)
		*ret = r;
	else
		pcap_reader_free(r);
	return rc;
}

void pcap_reader_free(struct pcap_reader *reader)
{
	if (!reader)
		return;
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->buf);
	pcap_interfaces_done(&reader->interfaces);
	free(reader);
}

/* The end of a file that was read whole. Frames that could not be read are said once, at the end.
 */
static int pcap_file_end(struct pcap_reader *reader, struct err *e)
{
	char name[LINK_NAME_MAX];
	const uint64_t n = reader->unsupported;
	reader->unsupported = 0;
	if (n == 0)
		return 0;
	return err_set(e, -ENOTSUP,
		"%llu of %llu packets are of a link type that is not read, %s (%u); %s",
		(unsigned long long)n, (unsigned long long)reader->records,
		link_name(name, reader->unsupported_dlt), reader->unsupported_dlt,
		link_hint(reader->unsupported_dlt));
}

int pcap_reader_next(struct pcap_reader *reader, struct pcap_record *ret, struct err *e)
{
	if (reader->done)
		return 0;
	*ret = (struct pcap_record){0};
	int rc;
	if (reader->ng)
		rc = ng_next(reader, ret, e);
	else
		rc = pcap_next(reader, ret, e);
	if (rc == 0)
		return pcap_file_end(reader, e);
	return rc;
}

uint64_t pcap_reader_drops(const struct pcap_reader *reader, bool *known)
{
	const struct pcap_interfaces *all = &reader->interfaces;
	uint64_t drops = all->drops;
	*known = all->drops_known || all->packet_drops_known;
	for (size_t i = 0; i < all->n; i++) {
		drops += all->now[i].drops;
		*known |= all->now[i].drops_known;
	}
	if (all->packet_drops > drops)
		return all->packet_drops;
	return drops;
}

uint64_t pcap_reader_offset(const struct pcap_reader *reader)
{
	return reader->offset;
}
