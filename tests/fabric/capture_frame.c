/* capture_frame - see capture_frame.h. */
#include "tests/fabric/capture_frame.h"

#include <string.h>

enum { ETH = 14, IP = 20, UDP = 8, BTH = 12, RETH = 16, AETH = 4, CNP_RESERVED = 16, ICRC = 4 };

static uint8_t *put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
	return p + 2;
}
static uint8_t *put32(uint8_t *p, uint32_t v)
{
	return put16(put16(p, v >> 16), v & 0xffff);
}

static uint32_t crc32_of(uint32_t crc, const uint8_t *p, size_t n)
{
	static const uint32_t nibble[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac,
		0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8,
		0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	for (size_t i = 0; i < n; i++) {
		crc = (crc >> 4) ^ nibble[(crc ^ p[i]) & 15];
		crc = (crc >> 4) ^ nibble[(crc ^ p[i] >> 4) & 15];
	}
	return crc;
}

/* What routers may change counts as ones: TOS, TTL and checksum of IP, checksum of UDP, the fifth
 * byte of BTH; and eight bytes before it all. */
static uint32_t icrc_of(const uint8_t *ip, size_t n)
{
	uint8_t head[8 + IP + UDP + BTH];
	memset(head, 0xff, 8);
	memcpy(head + 8, ip, IP + UDP + BTH);
	uint8_t *m = head + 8;
	m[1] = m[8] = m[10] = m[11] = m[IP + 6] = m[IP + 7] = m[IP + UDP + 4] = 0xff;
	uint32_t crc = crc32_of(0xffffffff, head, sizeof(head));
	return ~crc32_of(crc, ip + IP + UDP + BTH, n - IP - UDP - BTH);
}

static uint16_t ip_checksum(const uint8_t *p)
{
	uint32_t sum = 0;
	for (int i = 0; i < IP; i += 2)
		sum += (uint32_t)p[i] << 8 | p[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

size_t frame_write(const struct frame *f, uint8_t *buf, size_t size)
{
	static const uint8_t opcodes[] = {[FRAME_FIRST] = 0x06,
		[FRAME_MIDDLE] = 0x07,
		[FRAME_LAST] = 0x08,
		[FRAME_ONLY] = 0x0a,
		[FRAME_ACK] = 0x11,
		[FRAME_NAK] = 0x11,
		[FRAME_CNP] = 0x81};
	const bool data = f->kind <= FRAME_ONLY,
		   reth = f->kind == FRAME_FIRST || f->kind == FRAME_ONLY;
	const uint32_t pad = data ? -f->payload & 3 : 0,
		       body = data     ? f->payload + pad + (reth ? RETH : 0)
		: f->kind == FRAME_CNP ? CNP_RESERVED
				       : AETH;
	const uint32_t length = IP + UDP + BTH + body + ICRC;
	uint8_t head[ETH + IP + UDP + BTH + RETH + ICRC] = {0}, *ip = head + ETH, *p = head;
	/* hop by hop addresses: those of the ends do, the fabric is routed */
	*p++ = 2, *p++ = 0;
	memcpy(p, f->dst, 4), p += 4;
	*p++ = 2, *p++ = 0;
	memcpy(p, f->src, 4), p += 4;
	p = put16(p, 0x0800);
	*p++ = 0x45, *p++ = (uint8_t)(f->dscp << 2 | f->ecn);
	p = put16(put16(put16(p, length), f->id), 0x4000); /* DF */
	*p++ = f->ttl, *p++ = 17;
	p = put16(p, 0);
	memcpy(p, f->src, 4), memcpy(p + 4, f->dst, 4), p += 8;
	put16(ip + 10, ip_checksum(ip));
	p = put16(put16(put16(put16(p, f->sport), 4791), length - IP), 0);
	*p++ = opcodes[f->kind];
	*p++ = (uint8_t)((f->kind == FRAME_CNP ? 0 : 0x40) | pad << 4); /* MigReq, pad count */
	p = put16(p, 0xffff);
	*p++ = f->kind == FRAME_CNP ? 0x40 : 0; /* BECN */
	*p++ = (uint8_t)(f->dst_qp >> 16);
	p = put16(p, f->dst_qp & 0xffff);
	p = put32(p, (f->ack_request ? 0x80000000u : 0) | (f->psn & 0xffffff));
	if (reth) {
		p = put32(put32(p, (uint32_t)(f->address >> 32)), (uint32_t)f->address);
		p = put32(put32(p, 0x1000 + f->dst_qp), f->message);
	} else if (f->kind == FRAME_ACK || f->kind == FRAME_NAK)
		p = put32(p, (f->kind == FRAME_ACK ? 0x1fu : 0x60u) << 24 | (f->msn & 0xffffff));
	else if (f->kind == FRAME_CNP)
		p += CNP_RESERVED;
	if (!data) {
		const uint32_t icrc = icrc_of(ip, length - ICRC);
		for (int i = 0; i < 4; i++)
			*p++ = (uint8_t)(icrc >> 8 * i); /* least significant byte first */
	}
	const size_t n = (size_t)(p - head), all = ETH + length, kept = all < size ? all : size;
	memset(buf, 0, kept);
	memcpy(buf, head, n < kept ? n : kept);
	return all;
}
