/* tunnel_frame - see tunnel_frame.h. */
#include "tests/fuzz/tunnel_frame.h"

#include <string.h>

static uint8_t *grow(struct tunnel_frame *frame, size_t n)
{
	frame->first -= n;
	memset(frame->data + frame->first, 0, n);
	return frame->data + frame->first;
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, value >> 16);
	put16(at + 2, value & 0xffff);
}

static size_t frame_bytes(const struct tunnel_frame *frame)
{
	return sizeof(frame->data) - frame->first;
}

static void put_ip(struct tunnel_frame *frame, bool ip6, unsigned protocol)
{
	const size_t n = frame_bytes(frame);
	if (ip6) {
		uint8_t *head = grow(frame, 40);
		head[0] = 0x60;
		put16(head + 4, (unsigned)n);
		head[6] = (uint8_t)protocol;
		head[7] = 64;
		head[8] = head[24] = 0xfd;
		head[23] = 1;
		head[39] = 2;
		frame->front = FRONT_IP6;
		return;
	}
	uint8_t *head = grow(frame, 20);
	head[0] = 0x45;
	put16(head + 2, (unsigned)n + 20);
	head[6] = 0x40;
	head[8] = 64;
	head[9] = (uint8_t)protocol;
	put32(head + 12, 0x0a000001);
	put32(head + 16, 0x0a000002);
	frame->front = FRONT_IP4;
}

static void put_udp(struct tunnel_frame *frame, bool ip6, unsigned port)
{
	const size_t n = frame_bytes(frame) + 8;
	uint8_t *head = grow(frame, 8);
	put16(head, 50000);
	put16(head + 2, port);
	put16(head + 4, (unsigned)n);
	put_ip(frame, ip6, 17);
}

static unsigned ethertype_of(const struct tunnel_frame *frame)
{
	if (frame->front == FRONT_IP6)
		return 0x86dd;
	return 0x0800;
}

static void put_ethernet(struct tunnel_frame *frame, unsigned ethertype)
{
	uint8_t *head = grow(frame, 14);
	head[0] = head[6] = 2;
	head[5] = 1;
	head[11] = 2;
	put16(head + 12, ethertype);
	frame->front = FRONT_ETHERNET;
}

void tunnel_frame_ethernet(struct tunnel_frame *frame)
{
	if (frame->front != FRONT_ETHERNET)
		put_ethernet(frame, ethertype_of(frame));
}

/* An IP packet in front: the Ethernet header is taken away again. */
static void strip_ethernet(struct tunnel_frame *frame)
{
	if (frame->front != FRONT_ETHERNET)
		return;
	const uint8_t *type = frame->data + frame->first + 12;
	const unsigned ethertype = (unsigned)type[0] << 8 | type[1];
	if (ethertype == 0x0800)
		frame->front = FRONT_IP4;
	else if (ethertype == 0x86dd)
		frame->front = FRONT_IP6;
	else
		return;
	frame->first += 14;
}

void tunnel_frame_roce(
	struct tunnel_frame *ret, bool ip6, uint32_t psn, uint32_t dst_qp, size_t payload)
{
	memset(ret, 0, sizeof(*ret));
	ret->first = sizeof(ret->data);
	if (payload > 256)
		payload = 256;
	payload &= ~(size_t)3;
	grow(ret, payload + 4);
	uint8_t *reth = grow(ret, 16);
	put32(reth + 12, (uint32_t)payload);
	uint8_t *bth = grow(ret, 12);
	bth[0] = 0x0a;
	put16(bth + 2, 0xffff);
	put32(bth + 4, dst_qp & 0xffffff);
	put32(bth + 8, psn & 0xffffff);
	bth[8] = 0x80;
	put_udp(ret, ip6, 4791);
	put_ethernet(ret, ethertype_of(ret));
}

static void wrap_vlan(struct tunnel_frame *frame, bool ip6)
{
	(void)ip6;
	tunnel_frame_ethernet(frame);
	uint8_t *head = grow(frame, 4);
	memmove(head, head + 4, 12);
	put16(head + 12, 0x8100);
	put16(head + 14, 0x6064);
	frame->tunnels--;
}

static void wrap_pseudowire(struct tunnel_frame *frame, bool ip6)
{
	(void)ip6;
	tunnel_frame_ethernet(frame);
	grow(frame, 4);
	uint8_t *head = grow(frame, 4);
	put32(head, 300u << 12 | 1u << 8 | 64);
	put_ethernet(frame, 0x8847);
}

/* Labels stand before IP only; any other frame becomes a pseudowire. */
static void wrap_mpls(struct tunnel_frame *frame, bool ip6)
{
	strip_ethernet(frame);
	if (frame->front == FRONT_ETHERNET) {
		wrap_pseudowire(frame, ip6);
		return;
	}
	uint8_t *head = grow(frame, 8);
	put32(head, 100u << 12 | 64);
	put32(head + 4, 200u << 12 | 1u << 8 | 64);
	put_ethernet(frame, 0x8847);
}

static void put_gre(struct tunnel_frame *frame, bool ip6, unsigned flags, unsigned protocol)
{
	const size_t key = (flags & 0x2000) / 0x2000 * 4;
	const size_t number = (flags & 0x1000) / 0x1000 * 4;
	uint8_t *head = grow(frame, 4 + key + number);
	put16(head, flags);
	put16(head + 2, protocol);
	put_ip(frame, ip6, 47);
}

static void wrap_gre(struct tunnel_frame *frame, bool ip6)
{
	strip_ethernet(frame);
	unsigned protocol = 0x6558;
	if (frame->front != FRONT_ETHERNET)
		protocol = ethertype_of(frame);
	put_gre(frame, ip6, 0x2000, protocol);
}

static void wrap_gre_bridge(struct tunnel_frame *frame, bool ip6)
{
	tunnel_frame_ethernet(frame);
	put_gre(frame, ip6, 0, 0x6558);
}

static void wrap_erspan1(struct tunnel_frame *frame, bool ip6)
{
	tunnel_frame_ethernet(frame);
	put_gre(frame, ip6, 0, 0x88be);
}

static void wrap_erspan2(struct tunnel_frame *frame, bool ip6)
{
	tunnel_frame_ethernet(frame);
	uint8_t *head = grow(frame, 8);
	put16(head, 0x1064);
	put16(head + 2, 0x0007);
	put32(head + 4, 5);
	put_gre(frame, ip6, 0x1000, 0x88be);
}

static void wrap_erspan3(struct tunnel_frame *frame, bool ip6)
{
	tunnel_frame_ethernet(frame);
	uint8_t *head = grow(frame, 12);
	put16(head, 0x2064);
	put16(head + 2, 0x0007);
	put32(head + 4, 12345);
	put_gre(frame, ip6, 0x1000, 0x22eb);
}

static void wrap_vxlan(struct tunnel_frame *frame, bool ip6)
{
	tunnel_frame_ethernet(frame);
	uint8_t *head = grow(frame, 8);
	head[0] = 0x08;
	put32(head + 4, 5000u << 8);
	put_udp(frame, ip6, 4789);
}

static void wrap_vxlan_gpe(struct tunnel_frame *frame, bool ip6)
{
	strip_ethernet(frame);
	const uint8_t protocols[] = {[FRONT_ETHERNET] = 3, [FRONT_IP4] = 1, [FRONT_IP6] = 2};
	uint8_t *head = grow(frame, 8);
	head[0] = 0x0c;
	head[3] = protocols[frame->front];
	put32(head + 4, 5000u << 8);
	put_udp(frame, ip6, 4790);
}

static void wrap_geneve(struct tunnel_frame *frame, bool ip6)
{
	tunnel_frame_ethernet(frame);
	uint8_t *head = grow(frame, 16);
	head[0] = 2; /* two words of options */
	put16(head + 2, 0x6558);
	put32(head + 4, 5000u << 8);
	put16(head + 8, 0x0102);
	head[11] = 1;
	put_udp(frame, ip6, 6081);
}

static void wrap_ipip(struct tunnel_frame *frame, bool ip6)
{
	strip_ethernet(frame);
	const uint8_t protocols[] = {[FRONT_ETHERNET] = 97, [FRONT_IP4] = 4, [FRONT_IP6] = 41};
	const unsigned protocol = protocols[frame->front];
	if (frame->front == FRONT_ETHERNET) { /* EtherIP, RFC 3378 */
		uint8_t *head = grow(frame, 2);
		head[0] = 0x30;
	}
	put_ip(frame, ip6, protocol);
}

static void wrap_srv6(struct tunnel_frame *frame, bool ip6)
{
	(void)ip6;
	strip_ethernet(frame);
	const uint8_t protocols[] = {[FRONT_ETHERNET] = 143, [FRONT_IP4] = 4, [FRONT_IP6] = 41};
	const unsigned protocol = protocols[frame->front];
	uint8_t *head = grow(frame, 24); /* one segment */
	head[0] = (uint8_t)protocol;
	head[1] = 2;
	head[2] = 4;
	head[8] = 0xfd;
	head[23] = 9;
	put_ip(frame, true, 43);
}

void tunnel_frame_wrap(struct tunnel_frame *frame, enum tunnel_kind kind, bool ip6)
{
	static void (*const wraps[WRAP_KINDS])(struct tunnel_frame *, bool) = {
		[WRAP_VLAN] = wrap_vlan,
		[WRAP_MPLS] = wrap_mpls,
		[WRAP_PSEUDOWIRE] = wrap_pseudowire,
		[WRAP_GRE] = wrap_gre,
		[WRAP_GRE_BRIDGE] = wrap_gre_bridge,
		[WRAP_ERSPAN1] = wrap_erspan1,
		[WRAP_ERSPAN2] = wrap_erspan2,
		[WRAP_ERSPAN3] = wrap_erspan3,
		[WRAP_VXLAN] = wrap_vxlan,
		[WRAP_VXLAN_GPE] = wrap_vxlan_gpe,
		[WRAP_GENEVE] = wrap_geneve,
		[WRAP_IPIP] = wrap_ipip,
		[WRAP_SRV6] = wrap_srv6,
	};
	frame->tunnels++;
	wraps[kind](frame, ip6);
}
