/*
 * pcap_file - see pcap_file.h.
 *
 * Bytes come through a window: need(n) makes n contiguous bytes available at r->at, refilling from
 * the file. read(2) in 1 MiB steps and not mmap: a file that shrinks while it is read would kill a
 * mapping with SIGBUS, and pipes work too.
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

struct interface {
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
	bool eof, ng, swapped, over;
	struct interface *interfaces; /* pcap: one */
	size_t n_interfaces, cap_interfaces;
};

static uint32_t u32(const struct pcap_reader *r, const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, 4);
	return r->swapped ? __builtin_bswap32(v) : v;
}

static uint16_t u16(const struct pcap_reader *r, const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, 2);
	return r->swapped ? __builtin_bswap16(v) : v;
}

/* need - @n bytes at r->at: 1; 0 when the file ends before (r->end - r->at bytes are left);
 * negative errno. */
static int need(struct pcap_reader *r, size_t n)
{
	size_t have = (size_t)(r->end - r->at);
	if (have >= n)
		return 1;
	if (!r->buf || r->eof)
		return 0;
	if (r->cap < n + CHUNK) {
		size_t at = (size_t)(r->at - r->buf);
		r->cap = n + CHUNK;
		r->buf = rw_realloc(r->buf, r->cap);
		r->at = r->buf + at;
	}
	memmove(r->buf, r->at, have);
	r->at = r->buf;
	while (have < n) {
		ssize_t k = read(r->fd, r->buf + have, r->cap - have);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return -errno;
		if (k == 0) {
			r->eof = true;
			break;
		}
		have += (size_t)k;
	}
	r->end = r->buf + have;
	return have >= n;
}

static void step(struct pcap_reader *r, size_t n)
{
	r->at += n;
	r->offset += n;
}

static int damaged(struct pcap_reader *r, struct err *e, const char *what)
{
	r->over = true;
	return err_set(e, -EBADMSG, "damaged at byte %llu: %s; what came before was read",
		(unsigned long long)r->offset, what);
}

/* The file ended inside something: @got is need()'s answer. */
static int cut(struct pcap_reader *r, int got, struct err *e)
{
	r->over = true;
	if (got < 0)
		return err_set(e, got, "cannot read on at byte %llu: %s",
			(unsigned long long)r->offset, strerror(-got));
	return err_set(e, -ENODATA,
		"truncated: the file ends within the record at byte %llu; what came before was "
		"read",
		(unsigned long long)r->offset);
}

/* ---- time ---------------------------------------------------------------- */

static int64_t clamp_ns(__int128 ns)
{
	/* before 1970: no capture was taken then */
	return ns > INT64_MAX ? INT64_MAX : ns < 0 ? 0 : (int64_t)ns;
}

static int64_t ticks_ns(const struct interface *i, uint64_t ticks)
{
	unsigned __int128 ns = ticks;
	unsigned exponent = i->resolution & 0x7f;
	if (i->resolution & 0x80) {
		ns = exponent > 64 ? 0 : ns * 1000000000u >> exponent;
	} else if (exponent <= 9) {
		for (unsigned k = exponent; k < 9; k++)
			ns *= 10;
	} else {
		for (unsigned k = 9; k < exponent && ns; k++)
			ns /= 10;
	}
	__int128 t = ns > (unsigned __int128)INT64_MAX ? INT64_MAX : (__int128)ns;
	return clamp_ns(t + (__int128)i->offset_s * 1000000000);
}

/* ---- pcap ---------------------------------------------------------------- */

static void interface_add(struct pcap_reader *r, uint32_t linktype, uint32_t snaplen)
{
	rw_grow(r->interfaces, r->n_interfaces, r->cap_interfaces);
	r->interfaces[r->n_interfaces++] = (struct interface){
		.link = link_of_dlt(linktype), .snaplen = snaplen, .resolution = 6};
}

static void pcap_begin(struct pcap_reader *r, uint32_t magic)
{
	uint32_t network = u32(r, r->at + 20);
	interface_add(r, network & 0xffff, u32(r, r->at + 16));
	r->interfaces[0].resolution = magic == MAGIC_NS ? 9 : 6;
	if (network & 0x04000000) /* FCS length present, in 16-bit words */
		r->interfaces[0].fcs_bytes = (uint8_t)((network >> 28) * 2);
	step(r, PCAP_HEAD);
}

static void record_lengths(const struct interface *i, struct pcap_record *ret)
{
	if (ret->wire < ret->n)
		ret->wire = ret->n;
	if (i->fcs_bytes && ret->wire >= i->fcs_bytes) {
		ret->wire -= i->fcs_bytes;
		if (ret->n > ret->wire)
			ret->n = ret->wire;
	}
	ret->link = i->link;
}

static int pcap_next(struct pcap_reader *r, struct pcap_record *ret, struct err *e)
{
	int got = need(r, PCAP_RECORD_HEAD);
	if (got == 0 && r->at == r->end) {
		r->over = true;
		return 0;
	}
	if (got <= 0)
		return cut(r, got, e);
	const struct interface *i = &r->interfaces[0];
	uint32_t s = u32(r, r->at), fraction = u32(r, r->at + 4), n = u32(r, r->at + 8),
		 wire = u32(r, r->at + 12);
	if (n > PCAP_RECORD_MAX)
		return damaged(r, e, "a record claims more bytes than any packet has");
	got = need(r, PCAP_RECORD_HEAD + (size_t)n);
	if (got <= 0)
		return cut(r, got, e);
	ret->t_ns = (int64_t)s * 1000000000 + (int64_t)fraction * (i->resolution == 9 ? 1 : 1000);
	ret->p = r->at + PCAP_RECORD_HEAD;
	ret->n = n;
	ret->wire = wire;
	record_lengths(i, ret);
	step(r, PCAP_RECORD_HEAD + (size_t)n);
	return 1;
}

/* ---- pcapng -------------------------------------------------------------- */

static int ng_section(struct pcap_reader *r, const uint8_t *body, size_t n, struct err *e)
{
	if (n < 16)
		return damaged(r, e, "section header too short");
	if (u16(r, body + 4) != 1)
		return damaged(r, e, "pcapng of an unknown version");
	r->n_interfaces = 0; /* interfaces are numbered anew in each section */
	return 0;
}

static int ng_interface(struct pcap_reader *r, const uint8_t *body, size_t n, struct err *e)
{
	if (n < 8)
		return damaged(r, e, "interface description too short");
	if (r->n_interfaces >= PCAP_INTERFACES_MAX)
		return damaged(r, e, "more interfaces than any capture has");
	interface_add(r, u16(r, body), u32(r, body + 4));
	struct interface *i = &r->interfaces[r->n_interfaces - 1];
	for (size_t at = 8; at + 4 <= n;) {
		unsigned code = u16(r, body + at), size = u16(r, body + at + 2);
		at += 4;
		if (code == OPT_END || size > n - at)
			break;
		if (code == OPT_TSRESOL && size >= 1)
			i->resolution = body[at];
		if (code == OPT_TSOFFSET && size >= 8) {
			uint64_t v;
			memcpy(&v, body + at, 8);
			i->offset_s = (int64_t)(r->swapped ? __builtin_bswap64(v) : v);
		}
		at += (size + 3u) & ~3u;
	}
	return 0;
}

/* 1: a record. */
static int ng_packet(struct pcap_reader *r, uint32_t type, const uint8_t *body, size_t n,
	struct pcap_record *ret, struct err *e)
{
	size_t head = type == NG_SIMPLE ? 4 : 20;
	if (n < head)
		return damaged(r, e, "packet block too short");
	uint32_t interface = type == NG_SIMPLE ? 0
		: type == NG_PACKET            ? u16(r, body)
					       : u32(r, body);
	if (interface >= r->n_interfaces)
		return damaged(r, e, "packet of an interface that was not described");
	const struct interface *i = &r->interfaces[interface];
	if (type == NG_SIMPLE) {
		ret->t_ns = 0;
		ret->wire = u32(r, body);
		ret->n = i->snaplen && ret->wire > i->snaplen ? i->snaplen : ret->wire;
	} else {
		ret->t_ns = ticks_ns(i, (uint64_t)u32(r, body + 4) << 32 | u32(r, body + 8));
		ret->n = u32(r, body + 12);
		ret->wire = u32(r, body + 16);
	}
	if (ret->n > n - head || ret->n > PCAP_RECORD_MAX)
		return damaged(r, e, "a packet claims more bytes than its block has");
	ret->p = body + head;
	record_lengths(i, ret);
	return 1;
}

static int ng_block(struct pcap_reader *r, uint32_t type, const uint8_t *body, size_t n,
	struct pcap_record *ret, struct err *e)
{
	if (type == NG_SECTION)
		return ng_section(r, body, n, e);
	if (type == NG_INTERFACE)
		return ng_interface(r, body, n, e);
	if (type == NG_PACKET || type == NG_SIMPLE || type == NG_ENHANCED)
		return ng_packet(r, type, body, n, ret, e);
	return 0; /* statistics, names, comments and what is not yet invented */
}

static int ng_next(struct pcap_reader *r, struct pcap_record *ret, struct err *e)
{
	for (;;) {
		int got = need(r, NG_BLOCK_MIN);
		if (got == 0 && r->at == r->end) {
			r->over = true;
			return 0;
		}
		if (got <= 0)
			return cut(r, got, e);
		uint32_t type;
		memcpy(&type, r->at, 4);
		/* the same in both byte orders; what follows says which */
		if (type == NG_SECTION) {
			uint32_t magic;
			memcpy(&magic, r->at + 8, 4);
			if (magic != NG_MAGIC && magic != __builtin_bswap32(NG_MAGIC))
				return damaged(r, e, "section header without byte-order magic");
			r->swapped = magic != NG_MAGIC;
		}
		type = u32(r, r->at);
		size_t total = u32(r, r->at + 4);
		if (total < NG_BLOCK_MIN || total > PCAP_BLOCK_MAX || total % 4)
			return damaged(r, e, "block length impossible");
		got = need(r, total);
		if (got <= 0)
			return cut(r, got, e);
		if (u32(r, r->at + total - 4) != total)
			return damaged(r, e, "the two lengths of a block differ");
		int rc = ng_block(r, type, r->at + NG_BLOCK_HEAD, total - NG_BLOCK_MIN, ret, e);
		if (rc < 0)
			return rc;
		step(r, total);
		if (rc > 0)
			return 1;
	}
}

/* ---- door ---------------------------------------------------------------- */

static int begin(struct pcap_reader *r, struct err *e)
{
	int got = need(r, 4);
	if (got < 0)
		return err_set(e, got, "cannot read: %s", strerror(-got));
	if (r->at == r->end)
		return err_set(e, -ENODATA, "the file is empty");
	uint32_t magic = 0;
	if (got > 0)
		memcpy(&magic, r->at, 4);
	if (magic == NG_SECTION) {
		r->ng = true;
		return 0;
	}
	r->swapped = magic == __builtin_bswap32(MAGIC_US) || magic == __builtin_bswap32(MAGIC_NS);
	if (r->swapped)
		magic = __builtin_bswap32(magic);
	if (magic == MAGIC_KUZNETZOV || magic == __builtin_bswap32(MAGIC_KUZNETZOV))
		return err_set(e, -EINVAL,
			"a patched pcap format of the 1990s, which is not read; convert it with: "
			"editcap -F pcap IN OUT");
	if ((magic & 0xffff) == 0x8b1f || magic == 0xfd2fb528 || magic == 0x587a37fd ||
		(magic & 0xffffff) == 0x685a42)
		return err_set(e, -EINVAL,
			"a compressed file; decompress it first (\"zcat FILE | rocewatch pcap -\" "
			"works, too)");
	if (magic != MAGIC_US && magic != MAGIC_NS)
		return err_set(e, -EINVAL, "not a capture file (expected pcap or pcapng)");
	got = need(r, PCAP_HEAD);
	if (got <= 0)
		return err_set(
			e, got < 0 ? got : -EBADMSG, "truncated: the file ends within its header");
	if (u16(r, r->at + 4) != 2)
		return err_set(e, -EINVAL, "pcap of version %u, expected 2", u16(r, r->at + 4));
	pcap_begin(r, magic);
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
		return err_set(e, code, "%s", code == -ENOENT ? "no such file" : strerror(-code));
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
		fd = fd == -1 ? -errno : fd;
		goto failed;
	}
	struct pcap_reader *r = rw_calloc(1, sizeof(*r));
	r->fd = fd;
	r->cap = CHUNK;
	r->buf = rw_calloc(1, r->cap);
	r->at = r->end = r->buf;
	int rc = begin(r, e);
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

int pcap_reader_memory(const void *p, size_t n, struct pcap_reader **ret, struct err *e)
{
	struct pcap_reader *r = rw_calloc(1, sizeof(*r));
	r->fd = -1;
	r->at = p;
	r->end = r->at + n;
	int rc = begin(r, e);
	if (rc == 0)
		*ret = r;
	else
		pcap_reader_free(r);
	return rc;
}

void pcap_reader_free(struct pcap_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	free(r->buf);
	free(r->interfaces);
	free(r);
}

int pcap_reader_next(struct pcap_reader *r, struct pcap_record *ret, struct err *e)
{
	if (r->over)
		return 0;
	*ret = (struct pcap_record){0};
	return r->ng ? ng_next(r, ret, e) : pcap_next(r, ret, e);
}
