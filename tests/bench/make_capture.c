/*
 * make_capture - writes the capture that bench_pcap.sh reads: what a mirror port in the middle of a
 * fabric sees.
 *
 *   make_capture PACKETS FLOWS FILE
 *
 * A flow is one queue pair that writes: RC WRITE packets of 1024 bytes one way, ACKs, NAKs and CNPs
 * the other way, so FLOWS flows are 2 x FLOWS directions of queue pairs. Every packet belongs to a
 * flow drawn at random: neighbours in the file are strangers in memory, the worst case for a flow
 * table. 1 in 4 packets is an ACK, 1 in 250 a CNP, 1 in 50 UDP of something else, 1 in 100 TCP; 1.6
 * % of the writes carry CE; 1 in 20,000 writes is lost and comes again after a NAK. Half the flows
 * are tagged with a VLAN. pcap with nanoseconds, cut to 128 bytes. The same arguments give the same
 * bytes.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/packet/frame/icrc.h"

enum {
	SNAPLEN = 128,
	HOSTS = 1000,
	PAYLOAD = 1024,
	ROCE_PORT = 4791,
	OPCODE_WRITE_MIDDLE = 0x07,
	OPCODE_ACK = 0x11,
	OPCODE_CNP = 0x81,
	SYNDROME_ACK = 0x1f,
	SYNDROME_NAK = 0x60
};

struct made_flow {
	uint32_t psn;
	uint16_t nak_in; /* answers until the NAK of a lost packet; 0: nothing was lost */
	uint16_t back; /* packets to go back then */
};

static uint64_t made_state = 88172645463325252ull;

static uint64_t made_random(void) /* xorshift64, G. Marsaglia, J. Stat. Softw. 8(14), 2003 */
{
	made_state ^= made_state << 13;
	made_state ^= made_state >> 7;
	made_state ^= made_state << 17;
	return made_state;
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put24(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 16);
	put16(at + 1, value & 0xffff);
}

static void put_address(uint8_t *at, uint32_t host)
{
	at[0] = 10;
	at[1] = 0;
	put16(at + 2, host + 256);
}

/* Ethernet, VLAN or none, IPv4. Returns where the IP payload begins. */
static size_t put_ip(uint8_t *frame, int tagged, uint32_t src, uint32_t dst, unsigned ecn,
	unsigned protocol, size_t payload)
{
	static const uint8_t macs[12] = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2};
	size_t at = 12;
	memcpy(frame, macs, sizeof(macs));
	if (tagged) {
		put16(frame + at, 0x8100);
		put16(frame + at + 2, 3 << 13 | 100);
		at += 4;
	}
	put16(frame + at, 0x0800);
	uint8_t *ip = frame + at + 2;
	memset(ip, 0, 20);
	ip[0] = 0x45;
	ip[1] = (uint8_t)(26 << 2 | ecn);
	put16(ip + 2, (unsigned)(20 + payload));
	put16(ip + 4, (unsigned)made_random() & 0xffff);
	ip[6] = 0x40;
	ip[8] = 62;
	ip[9] = (uint8_t)protocol;
	put_address(ip + 12, src);
	put_address(ip + 16, dst);
	return at + 22;
}

static void put_udp(uint8_t *udp, unsigned src_port, unsigned dst_port, size_t bytes)
{
	put16(udp, src_port);
	put16(udp + 2, dst_port);
	put16(udp + 4, (unsigned)bytes);
	put16(udp + 6, 0);
}

static void put_bth(uint8_t *bth, unsigned opcode, uint32_t dst_qp, uint32_t psn)
{
	memset(bth, 0, 12);
	bth[0] = (uint8_t)opcode;
	put16(bth + 2, 0xffff);
	put24(bth + 5, dst_qp);
	put24(bth + 9, psn & 0xffffff);
}

/* The invariant CRC behind the last byte of a packet that begins at @ip and is whole. */
static void put_icrc(uint8_t *ip, uint8_t *end)
{
	uint32_t icrc = 0;
	icrc_compute(ip, (size_t)(end - ip), &icrc);
	memcpy(end, &icrc, sizeof(icrc)); /* little-endian */
}

static void put_record(FILE *out, uint64_t t_ns, const uint8_t *frame, size_t wire)
{
	size_t n = wire;
	if (n > SNAPLEN)
		n = SNAPLEN;
	const uint32_t head[4] = {(uint32_t)(t_ns / 1000000000), (uint32_t)(t_ns % 1000000000),
		(uint32_t)n, (uint32_t)wire};
	fwrite(head, sizeof(head), 1, out);
	fwrite(frame, n, 1, out);
}

/* The hosts of a flow: never the same one twice. */
static void hosts_of(uint32_t flow, uint32_t *src, uint32_t *dst)
{
	*src = flow % HOSTS;
	*dst = (*src + 1 + flow / HOSTS * 7 % (HOSTS - 1)) % HOSTS;
}

/* A write of @flow, or what its receiver answers. Returns the bytes on the wire. */
static size_t put_roce(uint8_t *frame, uint32_t flow, struct made_flow *state, unsigned draw)
{
	uint32_t src, dst;
	hosts_of(flow, &src, &dst);
	const int tagged = flow & 1;
	const unsigned port = 49152 + flow * 2654435761u % 16384;
	if (draw < 250 || draw >= 996) { /* ACK, NAK, CNP */
		const int cnp = draw >= 996;
		size_t bth_bytes = 12 + 4;
		if (cnp)
			bth_bytes = 12 + 16;
		const size_t udp_bytes = 8 + bth_bytes + 4;
		const size_t at = put_ip(frame, tagged, dst, src, 2, 17, udp_bytes);
		put_udp(frame + at, port, ROCE_PORT, udp_bytes);
		uint8_t *bth = frame + at + 8;
		memset(bth + 12, 0, 20);
		if (cnp) {
			put_bth(bth, OPCODE_CNP, 0x100 + flow * 2 + 1, 0);
			put_icrc(frame + at - 20, bth + bth_bytes);
			return at + udp_bytes;
		}
		unsigned syndrome = SYNDROME_ACK;
		uint32_t psn = state->psn - 1;
		if (state->nak_in && --state->nak_in == 0) {
			syndrome = SYNDROME_NAK;
			psn = state->psn - state->back;
			state->psn = psn; /* go-back-N */
		}
		put_bth(bth, OPCODE_ACK, 0x100 + flow * 2 + 1, psn);
		bth[12] = (uint8_t)syndrome;
		put_icrc(frame + at - 20, bth + bth_bytes);
		return at + udp_bytes;
	}
	const size_t udp_bytes = 8 + 12 + PAYLOAD + 4;
	const int mark = made_random() % 1000 < 16;
	if (!state->nak_in && made_random() % 20000 == 0) {
		state->psn++; /* lost before this place */
		state->nak_in = 1;
		state->back = 1;
	}
	if (state->nak_in)
		state->back++;
	size_t at = put_ip(frame, tagged, src, dst, 2u + (unsigned)mark, 17, udp_bytes);
	put_udp(frame + at, port, ROCE_PORT, udp_bytes);
	put_bth(frame + at + 8, OPCODE_WRITE_MIDDLE, 0x100 + flow * 2, state->psn++);
	return at + udp_bytes;
}

/* Other UDP (DNS) or TCP between the hosts of the flow. */
static size_t put_other(uint8_t *frame, uint32_t flow, int tcp)
{
	uint32_t src, dst;
	size_t at;
	hosts_of(flow, &src, &dst);
	if (tcp) {
		at = put_ip(frame, flow & 1, src, dst, 0, 6, 20 + 100);
		memset(frame + at, 0, 20 + 100);
		put_udp(frame + at, 40000 + flow % 20000, 443, 0);
		frame[at + 12] = 0x50;
		return at + 20 + 100;
	}
	at = put_ip(frame, flow & 1, src, dst, 0, 17, 8 + 40);
	memset(frame + at, 0, 8 + 40);
	put_udp(frame + at, 40000 + flow % 20000, 53, 8 + 40);
	return at + 8 + 40;
}

int main(int argc, char **argv)
{
	static uint8_t frame[2048];
	if (argc != 4)
		return 2;
	const uint64_t packets = strtoull(argv[1], NULL, 10);
	const uint32_t flows = (uint32_t)strtoul(argv[2], NULL, 10);
	FILE *out = fopen(argv[3], "wb");
	struct made_flow *states = calloc((size_t)flows + 1, sizeof(*states));
	if (!out || !states || flows == 0) {
		perror(argv[3]);
		return 1;
	}
	static const uint32_t head[6] = {0xa1b23c4d, 4 << 16 | 2, 0, 0, SNAPLEN, 1};
	fwrite(head, sizeof(head), 1, out);
	uint64_t t_ns = 1700000000000000000ull;
	for (uint64_t i = 0; i < packets; i++) {
		const uint64_t draw = made_random();
		/* the first ones one by one, so that every flow is there */
		uint32_t flow = (uint32_t)(draw >> 32) % flows;
		if (i < flows)
			flow = (uint32_t)i;
		const unsigned kind = (unsigned)(draw & 0xffff) % 1000;
		t_ns += 100 + (draw >> 20 & 127);
		size_t wire;
		if (i >= flows && kind >= 250 && kind < 280)
			wire = put_other(frame, flow, kind < 260);
		else if (i < flows)
			wire = put_roce(frame, flow, &states[flow], 500);
		else
			wire = put_roce(frame, flow, &states[flow], kind);
		put_record(out, t_ns, frame, wire);
	}
	free(states);
	if (fclose(out)) {
		perror(argv[3]);
		return 1;
	}
	return 0;
}
