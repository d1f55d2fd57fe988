/*
 * tunnel_frame - RoCEv2 packets in tunnels and mirrors, for fuzzing: encoders that share nothing
 * with the decoder. Layers are put round a packet from the inside out.
 *
 * Sources: InfiniBand Architecture Specification volume 1, chapter 9 and annex A17; RFC 3032, 4385,
 * 2784, 7348, 8926, 2003, 8754; draft-foschiano-erspan; draft-ietf-nvo3-vxlan-gpe.
 */
#ifndef RW_FUZZ_TUNNEL_FRAME_H
#define RW_FUZZ_TUNNEL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum tunnel_kind {
	WRAP_VLAN,
	WRAP_MPLS, /* labels before an IP packet */
	WRAP_PSEUDOWIRE, /* labels and a control word before a frame */
	WRAP_GRE, /* an IP packet in GRE with a key */
	WRAP_GRE_BRIDGE, /* a frame in GRE */
	WRAP_ERSPAN1,
	WRAP_ERSPAN2,
	WRAP_ERSPAN3,
	WRAP_VXLAN,
	WRAP_VXLAN_GPE,
	WRAP_GENEVE,
	WRAP_IPIP,
	WRAP_SRV6,
	WRAP_KINDS,
};

enum { TUNNEL_FRAME_MAX = 2048 };

/* What the buffer begins with. */
enum tunnel_front { FRONT_ETHERNET, FRONT_IP4, FRONT_IP6 };

struct tunnel_frame {
	uint8_t data[TUNNEL_FRAME_MAX];
	size_t first; /* the packet is data[first] to the end */
	enum tunnel_front front;
	unsigned tunnels; /* VLAN tags do not count */
};

/* tunnel_frame_roce - an RC WRITE ONLY of @payload bytes, at most 256, with @psn and @dst_qp. */
void tunnel_frame_roce(
	struct tunnel_frame *ret, bool ip6, uint32_t psn, uint32_t dst_qp, size_t payload);

/* tunnel_frame_wrap - put one layer round it, over IPv6 when @ip6 and the layer can. */
void tunnel_frame_wrap(struct tunnel_frame *frame, enum tunnel_kind kind, bool ip6);

/* tunnel_frame_ethernet - see to it that it begins with an Ethernet header. */
void tunnel_frame_ethernet(struct tunnel_frame *frame);

#endif
