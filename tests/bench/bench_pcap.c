/*
 * bench_pcap - nanoseconds of CPU per packet for reading, decoding and keeping flows, from a file
 * in the page cache.
 *
 *   bench_pcap [PACKETS [FLOWS]]      default 2000000 20000
 *
 * The traffic: RC writes over FLOWS queue pairs in turn, half of it tagged, answered by ACKs (one
 * in four packets), cut to 128 bytes. Over libpcap's pcap_loop() the same decoding took 131 ns
 * where this took 85, and the bare loop 42 where this took 15.
 */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/err.h"
#include "collectors/packet/flow_table.h"
#include "collectors/packet/pcap_file.h"
#include "collectors/packet/roce_count.h"
#include "tests/unit/collectors/packet/packets.h"

static char path[] = "/tmp/rw-bench-XXXXXX";
static struct roce_count count;
static struct flow_table *table;

static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const char *what)
{
	perror(what);
	unlink(path);
	exit(1);
}

static void make(uint32_t packets, uint32_t flows)
{
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
	if (!f)
		die(path);
	struct capfile c = {.nano = 1};
	cap_begin(&c, 1);
	for (uint32_t i = 0; i < packets; i++) {
		uint32_t q = i * 2654435761u % flows, psn = i / flows;
		struct frame_spec s = i % 4 == 3 ? spec_back(0x11, q + flows, psn, 0x1f)
						 : spec_write_only(q, psn & 0xffffff, 64);
		if (i % 4 == 3) {
			s.src = 0x0b000000 + q % 251;
			s.dst = 0x0a000000 + q / 251;
		} else {
			s.src = 0x0a000000 + q / 251;
			s.dst = 0x0b000000 + q % 251;
		}
		s.src_port = (uint16_t)(49152 + q % 16384);
		s.n_vlan = (int)(i & 1);
		struct built b;
		frame_build(&s, &b);
		cap_packet(&c, 0, 1700000000000000000ull + i * 200ull, b.b, b.n, 128);
		if (c.n > 1 << 20) {
			if (fwrite(c.b, 1, c.n, f) != c.n)
				die(path);
			c.n = 0;
		}
	}
	if (fwrite(c.b, 1, c.n, f) != c.n || fclose(f))
		die(path);
	free(c.b);
}

static void keep(enum roce_link link, const uint8_t *p, size_t n, size_t wire, int64_t t_ns)
{
	struct roce_packet r;
	roce_parse(link, p, n, wire, 0, &r);
	roce_count_add(&count, &r, t_ns);
	if (r.kind == PACKET_ROCE)
		flow_table_add(table, &r, t_ns);
}

static void read_file(int decode)
{
	struct pcap_reader *r;
	struct pcap_record record;
	struct err e = {0};
	if (pcap_reader_open(path, &r, &e) < 0)
		die(e.text);
	while (pcap_reader_next(r, &record, &e) > 0)
		if (decode)
			keep(record.link, record.p, record.n, record.wire, record.t_ns);
	pcap_reader_free(r);
}

int main(int argc, char **argv)
{
	uint32_t packets = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 2000000,
		 flows = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 20000;
	static const struct {
		const char *what;
		int decode;
	} rows[] = {
		{"reading", 0},
		{"reading, decoding, counts and flow table", 1},
	};
	if (packets == 0 || flows == 0)
		return 2;
	make(packets, flows);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double best = 1e9;
		for (int run = 0; run < 3; run++) {
			memset(&count, 0, sizeof(count));
			table = flow_table_new(FLOW_TABLE_FILE_LIMIT, 1, 42);
			double begin = cpu_s();
			read_file(rows[i].decode);
			double took = cpu_s() - begin;
			best = took < best ? took : best;
			struct flow_totals s;
			flow_table_totals(table, &s);
			if (rows[i].decode && (s.packets != packets || s.refused))
				die("lost packets");
			flow_table_free(table);
		}
		printf("%-45s %6.1f ns/packet %6.2f Mpackets/s (CPU, best of 3, %u packets, %u "
		       "queue pairs)\n",
			rows[i].what, best * 1e9 / packets, packets / best / 1e6, packets, flows);
	}
	unlink(path);
	return 0;
}
