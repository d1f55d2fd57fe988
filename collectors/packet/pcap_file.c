/*
 * pcap_file - reads pcap and pcapng records from a file, a pipe or memory.
 *
 * Bytes come through a window: pcap_file_need(n) makes n contiguous bytes available at r->at,
 * refilling from the file. It reads in steps of 1 MiB and does not map the file: a file that
 * shrinks while it is read would end the process with SIGBUS, and a pipe cannot be mapped.
 */
#include "collectors/packet/pcap_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"

#define CHUNK (1u << 20)

enum { MAGIC_US = 0xa1b2c3d4, MAGIC_NS = 0xa1b23c4d, MAGIC_KUZNETZOV = 0xa1b2cd34 };
enum { PCAP_HEAD = 24, PCAP_RECORD_HEAD = 16, NG_BLOCK_HEAD = 8, NG_BLOCK_MIN = 12 };
enum {
	NG_SECTION = 0x0a0d0d0a,
	NG_MAGIC = 0x1a2b3c4d,
	NG_INTERFACE = 1,
	NG_PACKET = 2,
	NG_SIMPLE = 3,
	NG_ENHANCED = 6
};
enum { OPT_END = 0, OPT_TSRESOL = 9, OPT_TSOFFSET = 14 };

struct pcap_interface {
	enum roce_link link;
	uint32_t snaplen; /* 0 = no limit */
	uint8_t resolution; /* as in the option: 10^-n, or 2^-n with bit 7 set */
	uint8_t fcs_bytes;
	int64_t offset_s;
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
	struct pcap_interface *interfaces; /* pcap: one */
	size_t n_interfaces, cap_interfaces;
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
static int pcap_file_need(struct pcap_reader *reader, size_t n)
{
	size_t have = (size_t)(reader->end - reader->at);
	if (have >= n)
		return 1;
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

static int64_t clamp_ns(__int128 ns)
{
	/* before 1970: no capture was taken then */
	if (ns > INT64_MAX)
		return INT64_MAX;
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

static void interface_add(struct pcap_reader *reader, uint32_t linktype, uint32_t snaplen)
{
	rw_grow(reader->interfaces, reader->n_interfaces, reader->cap_interfaces);
	reader->interfaces[reader->n_interfaces++] = (struct pcap_interface){
		.link = link_of_dlt(linktype), .snaplen = snaplen, .resolution = 6};
}

static void pcap_begin(struct pcap_reader *reader, uint32_t magic)
{
	uint32_t network = pcap_file_u32(reader, reader->at + 20);
	interface_add(reader, network & 0xffff, pcap_file_u32(reader, reader->at + 16));
	if (magic == MAGIC_NS)
		reader->interfaces[0].resolution = 9;
	else
		reader->interfaces[0].resolution = 6;
	if (network & 0x04000000) /* FCS length present, in 16-bit words */
		reader->interfaces[0].fcs_bytes = (uint8_t)((network >> 28) * 2);
	pcap_file_step(reader, PCAP_HEAD);
}

static void record_lengths(const struct pcap_interface *interface, struct pcap_record *ret)
{
	if (ret->wire < ret->n)
		ret->wire = ret->n;
	if (interface->fcs_bytes && ret->wire >= interface->fcs_bytes) {
		ret->wire -= interface->fcs_bytes;
		if (ret->n > ret->wire)
			ret->n = ret->wire;
	}
	ret->link = interface->link;
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
	const struct pcap_interface *i = &reader->interfaces[0];
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
	record_lengths(i, ret);
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
	reader->n_interfaces = 0; /* interfaces are numbered anew in each section */
	return 0;
}

static int ng_interface(struct pcap_reader *reader, const uint8_t *body, size_t n, struct err *e)
{
	if (n < 8)
		return pcap_file_damaged(reader, e, "interface description too short");
	if (reader->n_interfaces >= PCAP_INTERFACES_MAX)
		return pcap_file_damaged(reader, e, "more interfaces than any capture has");
	interface_add(reader, pcap_file_u16(reader, body), pcap_file_u32(reader, body + 4));
	struct pcap_interface *i = &reader->interfaces[reader->n_interfaces - 1];
	for (size_t at = 8; at + 4 <= n;) {
		unsigned code = pcap_file_u16(reader, body + at),
			 size = pcap_file_u16(reader, body + at + 2);
		at += 4;
		if (code == OPT_END || size > n - at)
			break;
		if (code == OPT_TSRESOL && size >= 1)
			i->resolution = body[at];
		if (code == OPT_TSOFFSET && size >= 8) {
			uint64_t v;
			memcpy(&v, body + at, 8);
			if (reader->swapped)
				v = __builtin_bswap64(v);
			i->offset_s = (int64_t)v;
		}
		at += (size + 3u) & ~3u;
	}
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
	if (interface >= reader->n_interfaces)
		return pcap_file_damaged(
			reader, e, "packet of an interface that was not described");
	const struct pcap_interface *i = &reader->interfaces[interface];
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
	ret->origin.interface = interface;
	record_lengths(i, ret);
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
	return 0; /* statistics, names, comments, block types of the future */
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
	free(reader->interfaces);
	free(reader);
}

int pcap_reader_next(struct pcap_reader *reader, struct pcap_record *ret, struct err *e)
{
	if (reader->done)
		return 0;
	*ret = (struct pcap_record){0};
	if (reader->ng)
		return ng_next(reader, ret, e);
	return pcap_next(reader, ret, e);
}

uint64_t pcap_reader_offset(const struct pcap_reader *reader)
{
	return reader->offset;
}
