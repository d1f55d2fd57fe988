/* packets - frames and capture files for tests, made in memory. Written from the specifications,
 * not with the code under test (but ICRC). */
#ifndef RW_TESTS_PACKETS_H
#define RW_TESTS_PACKETS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "collectors/packet/frame/icrc.h"

#define FRAME_MAX 4400

struct frame_spec { /* zero: an untagged IPv4 RC_SEND_FIRST without payload, 10.0.0.1 -> 10.0.0.2 */
	int link; /* 0 Ethernet, 101 raw, 113 SLL, 276 SLL2 */
	int n_vlan;
	int v6; /* IPv6 instead */
	uint32_t src, dst; /* 0 = 10.0.0.1, 10.0.0.2; IPv6: last four bytes after fd00:: */
	uint8_t tos;
	uint16_t ip_id, fragment; /* flags and offset field */
	int options; /* IPv4: bytes of NOP options; IPv6: hop-by-hop headers of 8 bytes */
	uint8_t proto; /* 0 = UDP */
	uint16_t src_port, dst_port; /* 0 = 49152, 4791 */
	int udp_less; /* UDP length field smaller by this */
	int ip_more; /* IP length field larger by this */
	uint8_t opcode, bth_flags; /* SE 80 M 40 pad 30 TVer 0f */
	uint8_t bth_ecn; /* FECN 80 BECN 40 */
	uint32_t qp, psn;
	int ack_req;
	uint8_t ext[40]; /* extension headers */
	int ext_bytes, payload;
	int icrc; /* 0 right, 1 wrong */
	int padding; /* after the IP packet */
};

struct built {
	uint8_t b[FRAME_MAX];
	size_t n;
};

static inline uint8_t *put_be16(uint8_t *p, unsigned v)
{
	*p++ = (uint8_t)(v >> 8);
	*p++ = (uint8_t)v;
	return p;
}
static inline uint8_t *put_be32(uint8_t *p, uint32_t v)
{
	return put_be16(put_be16(p, v >> 16), v & 0xffff);
}

static inline unsigned ip_sum(const uint8_t *p, size_t n)
{
	unsigned sum = 0;
	for (size_t i = 0; i < n; i += 2)
		sum += (unsigned)p[i] << 8 | p[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

static inline uint8_t *frame_link(const struct frame_spec *s, uint8_t *p)
{
	unsigned type = s->v6 ? 0x86dd : 0x0800,
		 first = s->n_vlan ? (s->n_vlan > 1 ? 0x88a8 : 0x8100) : type;
	static const uint8_t mac[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
	if (s->link == 0) {
		memcpy(p, mac, 12);
		p = put_be16(p + 12, first);
	} else if (s->link == 113) {
		static const uint8_t sll[14] = {0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1};
		memcpy(p, sll, 14);
		p = put_be16(p + 14, first);
	} else if (s->link == 276) {
		p = put_be16(p, first);
		static const uint8_t sll2[18] = {0, 0, 0, 0, 0, 2, 0, 1, 4, 6, 2, 0, 0, 0, 0, 1};
		memcpy(p, sll2, 18);
		p += 18;
	}
	for (int i = 0; i < s->n_vlan; i++) {
		p = put_be16(p, 3u << 13 | (100u + (unsigned)i));
		p = put_be16(p, i + 1 < s->n_vlan ? 0x8100 : type);
	}
	return p;
}

static inline void frame_build(const struct frame_spec *s, struct built *ret)
{
	memset(ret, 0, sizeof(*ret));
	uint8_t *ip = frame_link(s, ret->b), *p = ip;
	size_t roce = 12 + (size_t)s->ext_bytes + (size_t)s->payload + 4, udp = 8 + roce;
	uint8_t proto = s->proto ? s->proto : 17;
	uint32_t src = s->src ? s->src : 0x0a000001, dst = s->dst ? s->dst : 0x0a000002;
	if (s->v6) {
		p = put_be32(p, 0x60000000u | (uint32_t)s->tos << 20);
		p = put_be16(p, (unsigned)(udp + (size_t)s->options + (size_t)s->ip_more));
		*p++ = s->options ? 0 : proto;
		*p++ = 64;
		p[0] = p[16] = 0xfd;
		put_be32(p + 12, src);
		put_be32(p + 28, dst);
		p += 32;
		for (int i = 0; i < s->options; i += 8) {
			p[0] = i + 8 < s->options ? 0 : proto;
			p[2] = 1; /* PadN */
			p[3] = 4;
			p += 8;
		}
	} else {
		*p++ = (uint8_t)(0x45 + s->options / 4);
		*p++ = s->tos;
		p = put_be16(p, (unsigned)(20 + (size_t)s->options + udp + (size_t)s->ip_more));
		p = put_be16(p, s->ip_id);
		p = put_be16(p, s->fragment ? s->fragment : 0x4000);
		*p++ = 64;
		*p++ = proto;
		p = put_be16(p, 0);
		p = put_be32(p, src);
		p = put_be32(p, dst);
		memset(p, 1, (size_t)s->options);
		p += s->options;
		put_be16(ip + 10, ip_sum(ip, (size_t)(p - ip)));
	}
	p = put_be16(p, s->src_port ? s->src_port : 49152);
	p = put_be16(p, s->dst_port ? s->dst_port : 4791);
	p = put_be16(p, (unsigned)(udp - (size_t)s->udp_less));
	p = put_be16(p, 0);
	*p++ = s->opcode;
	*p++ = s->bth_flags;
	p = put_be16(p, 0xffff);
	p = put_be32(p, (uint32_t)s->bth_ecn << 24 | s->qp);
	p = put_be32(p, (s->ack_req ? 0x80000000u : 0) | s->psn);
	memcpy(p, s->ext, (size_t)s->ext_bytes);
	p += s->ext_bytes;
	for (int i = 0; i < s->payload; i++)
		*p++ = (uint8_t)(i * 7 + (int)s->psn);
	uint32_t icrc = 0;
	icrc_compute(ip, (size_t)(p - ip), &icrc);
	icrc_put(p, icrc ^ (s->icrc ? 1 : 0));
	p += 4;
	ret->n = (size_t)(p - ret->b) + (size_t)s->padding;
}

/* 802.1Qbb frame: classes and the time of each. */
static inline void frame_pfc(unsigned opcode, unsigned classes, uint16_t quanta, struct built *ret)
{
	static const uint8_t head[14] = {0x01, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1, 0x88, 0x08};
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->b, head, 14);
	uint8_t *p = put_be16(ret->b + 14, opcode);
	if (opcode == 0x0101) {
		p = put_be16(p, classes);
		for (unsigned i = 0; i < 8; i++)
			p = put_be16(p, classes >> i & 1 ? quanta : 0);
	} else {
		p = put_be16(p, quanta);
	}
	ret->n = 60;
}

/* Requests with RETH, ACK and NAK with AETH, CNP with its 16 reserved bytes. */
static inline struct frame_spec spec_write_only(uint32_t qp, uint32_t psn, int payload)
{
	return (struct frame_spec){.opcode = 0x0a,
		.bth_flags = 0x40,
		.qp = qp,
		.psn = psn,
		.ext_bytes = 16,
		.payload = payload,
		.tos = 0x6a,
		.ext = {0, 0, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, (uint8_t)(payload >> 8),
			(uint8_t)payload}};
}
static inline struct frame_spec spec_back(
	uint8_t opcode, uint32_t qp, uint32_t psn, uint8_t syndrome)
{
	return (struct frame_spec){.opcode = opcode,
		.bth_flags = 0x40,
		.qp = qp,
		.psn = psn,
		.src = 0x0a000002,
		.dst = 0x0a000001,
		.src_port = 50001,
		.ext_bytes = 4,
		.ext = {syndrome, 0, 0, 1}};
}
static inline struct frame_spec spec_cnp(uint32_t qp)
{
	return (struct frame_spec){.opcode = 0x81,
		.bth_ecn = 0x40,
		.qp = qp,
		.src = 0x0a000002,
		.dst = 0x0a000001,
		.src_port = 1,
		.payload = 16,
		.tos = 0xc0};
}

/* ---- capture files ------------------------------------------------------- */

struct capfile {
	uint8_t *b;
	size_t n, cap;
	int big; /* endian */
	int ng, nano;
};

static inline void cap_bytes(struct capfile *f, const void *p, size_t n)
{
	while (f->n + n > f->cap)
		f->b = realloc(f->b, f->cap = f->cap ? f->cap * 2 : 4096);
	memcpy(f->b + f->n, p, n);
	f->n += n;
}
static inline void cap_u32(struct capfile *f, uint32_t v)
{
	uint8_t le[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)},
		be[4] = {le[3], le[2], le[1], le[0]};
	cap_bytes(f, f->big ? be : le, 4);
}
static inline void cap_u16(struct capfile *f, unsigned v)
{
	uint8_t le[2] = {(uint8_t)v, (uint8_t)(v >> 8)}, be[2] = {le[1], le[0]};
	cap_bytes(f, f->big ? be : le, 2);
}
static inline void cap_interface(struct capfile *f, unsigned link, int tsresol) /* pcapng */
{
	size_t options = tsresol >= 0 ? 12 : 0;
	cap_u32(f, 1);
	cap_u32(f, (uint32_t)(20 + options));
	cap_u16(f, link);
	cap_u16(f, 0);
	cap_u32(f, 0);
	if (options) {
		uint8_t v[4] = {(uint8_t)tsresol};
		cap_u16(f, 9);
		cap_u16(f, 1);
		cap_bytes(f, v, 4);
		cap_u32(f, 0);
	}
	cap_u32(f, (uint32_t)(20 + options));
}
static inline void cap_begin(struct capfile *f, int link)
{
	if (f->ng) {
		cap_u32(f, 0x0a0d0d0a);
		cap_u32(f, 28);
		cap_u32(f, 0x1a2b3c4d);
		cap_u16(f, 1);
		cap_u16(f, 0);
		cap_u32(f, 0xffffffff);
		cap_u32(f, 0xffffffff);
		cap_u32(f, 28);
		cap_interface(f, (unsigned)link, f->nano ? 9 : -1);
		return;
	}
	cap_u32(f, f->nano ? 0xa1b23c4d : 0xa1b2c3d4);
	cap_u16(f, 2);
	cap_u16(f, 4);
	cap_u32(f, 0);
	cap_u32(f, 0);
	cap_u32(f, 65535);
	cap_u32(f, (uint32_t)link);
}
/* @interface: pcapng only; @snap: 0 = whole */
static inline void cap_packet(
	struct capfile *f, unsigned interface, uint64_t t_ns, const void *p, size_t n, size_t snap)
{
	static const uint8_t zero[4];
	size_t kept = snap && snap < n ? snap : n, pad = (4 - kept % 4) % 4;
	uint64_t ticks = f->nano ? t_ns : t_ns / 1000, per_s = f->nano ? 1000000000 : 1000000;
	if (!f->ng) {
		cap_u32(f, (uint32_t)(ticks / per_s));
		cap_u32(f, (uint32_t)(ticks % per_s));
		cap_u32(f, (uint32_t)kept);
		cap_u32(f, (uint32_t)n);
		cap_bytes(f, p, kept);
		return;
	}
	cap_u32(f, 6);
	cap_u32(f, (uint32_t)(32 + kept + pad));
	cap_u32(f, interface);
	cap_u32(f, (uint32_t)(ticks >> 32));
	cap_u32(f, (uint32_t)ticks);
	cap_u32(f, (uint32_t)kept);
	cap_u32(f, (uint32_t)n);
	cap_bytes(f, p, kept);
	cap_bytes(f, zero, pad);
	cap_u32(f, (uint32_t)(32 + kept + pad));
}

#endif
