/*
 * make_captures - writes the golden captures into a folder: small, each about one thing an operator
 * meets. Made anew for each test run, so that no binary lies in the repository; deterministic.
 */
#include <stdlib.h>

#include "tests/unit/collectors/packet/packets.h"

#define MS 1000000ull
#define T0 1700000000000000000ull

static struct capfile cap;
static uint64_t now;

static void begin(int ng, int link)
{
	free(cap.b);
	cap = (struct capfile){.ng = ng, .nano = 1};
	now = T0;
	cap_begin(&cap, link);
}

static void frame(struct frame_spec s, size_t snap)
{
	struct built b;
	frame_build(&s, &b);
	cap_packet(&cap, 0, now += 20000, b.b, b.n, snap);
}

static void end(const char *dir, const char *name, size_t cut)
{
	char path[4096];
	snprintf(path, sizeof(path), "%s/%s", dir, name);
	FILE *f = fopen(path, "wb");
	if (!f || fwrite(cap.b, 1, cap.n - cut, f) != cap.n - cut || fclose(f)) {
		perror(path);
		exit(1);
	}
}

/* One healthy write of 24 MB's beginning: FIRST, MIDDLE ..., LAST, acknowledged. */
static void healthy(const char *dir)
{
	begin(0, 1);
	for (uint32_t i = 0; i < 40; i++) {
		struct frame_spec s = spec_write_only(0x11, 5000 + i, 1024);
		s.opcode = i == 0 ? 0x06 : i == 39 ? 0x08 : 0x07;
		s.ack_req = i == 39;
		if (i)
			s.ext_bytes = 0;
		frame(s, 0);
	}
	frame(spec_back(0x11, 0x21, 5039, 0x1f), 0);
	end(dir, "healthy.pcap", 0);
}

/* Loss before the capture point: a gap, a NAK, go-back-N. Loss beyond it: no gap, and the same. An
 * RNR NAK. A copy. */
static void loss(const char *dir)
{
	static const uint32_t before[] = {100, 101, 102, 105, 106, 103, 104, 105, 106, 107},
			      beyond[] = {16777214, 16777215, 0, 1, 16777215, 0, 1, 2, 2};
	begin(1, 1);
	for (size_t i = 0; i < sizeof(before) / sizeof(*before); i++) {
		frame(spec_write_only(0x11, before[i], 256), 0);
		if (i == 4)
			frame(spec_back(0x11, 0x21, 103, 0x60), 0);
	}
	for (size_t i = 0; i < sizeof(beyond) / sizeof(*beyond); i++) {
		struct frame_spec s = spec_write_only(0x12, beyond[i], 256);
		s.src_port = 49153;
		frame(s, 0);
		if (i == 3)
			frame(spec_back(0x11, 0x22, 16777215, 0x60), 0);
	}
	frame(spec_back(0x11, 0x22, 2, 0x2e), 0);
	end(dir, "loss.pcapng", 0);
}

/* Congestion: CE marks, CNPs back, PFC from the neighbour, a pause frame; IPv6 and tags. */
static void congestion(const char *dir)
{
	struct built b;
	begin(1, 1);
	for (uint32_t i = 0; i < 60; i++) {
		struct frame_spec s = spec_write_only(0x31 + i % 3, i / 3, 512);
		s.v6 = i % 3 == 1;
		s.n_vlan = (int)(i % 3);
		s.src_port = (uint16_t)(50000 + i % 3);
		s.tos = i % 10 == 9 ? 0x6b : i % 10 == 8 ? 0x68 : 0x6a;
		frame(s, 0);
		if (i % 10 == 9) {
			s = spec_cnp(0x41 + i % 3);
			s.v6 = i % 3 == 1;
			frame(s, 0);
		}
		if (i % 20 == 0) {
			frame_pfc(0x0101, i ? 0x08 : 0x18, i == 40 ? 0 : 0xffff, &b);
			cap_packet(&cap, 0, now += 1000, b.b, b.n, 0);
		}
	}
	frame_pfc(0x0001, 0, 100, &b);
	cap_packet(&cap, 0, now, b.b, b.n, 0);
	end(dir, "congestion.pcapng", 0);
}

/* What is broken or foreign: wrong ICRC, cut frames, fragments, another version, unknown opcodes,
 * RoCEv1, other traffic. */
static void odd(const char *dir)
{
	begin(0, 113);
	struct frame_spec s = spec_write_only(0x11, 1, 64);
	s.link = 113;
	frame(s, 0);
	s.icrc = 1;
	s.psn = 2;
	frame(s, 0);
	s.icrc = 0;
	s.psn = 3;
	frame(s, 96); /* cut behind the headers */
	frame(s, 50); /* and within */
	s.psn = 4;
	s.fragment = 0x00b9;
	frame(s, 0);
	s.fragment = 0;
	s.bth_flags = 0x41;
	frame(s, 0);
	s.bth_flags = 0x40;
	s.opcode = 0x1f;
	frame(s, 0);
	s.opcode = 0x24;
	s.ext_bytes = 0;
	frame(s, 0);
	s.dst_port = 53;
	frame(s, 0);
	s.proto = 6;
	frame(s, 0);
	struct built b;
	frame_build(&(struct frame_spec){.link = 113, .opcode = 4}, &b);
	b.b[14] = 0x89;
	b.b[15] = 0x15;
	cap_packet(&cap, 0, now, b.b, b.n, 0);
	end(dir, "odd.pcap", 0);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: make_captures DIR\n");
		return 2;
	}
	healthy(argv[1]);
	end(argv[1], "truncated.pcap", 5);
	loss(argv[1]);
	end(argv[1], "truncated.pcapng", 5);
	congestion(argv[1]);
	odd(argv[1]);
	free(cap.b);
	return 0;
}
