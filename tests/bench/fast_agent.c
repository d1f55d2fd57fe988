/*
 * fast_agent N PORTS [UDPPORT] - N simulated switches with PORTS ports each, answering SNMPv2c on
 * 127.1.x.y.
 *
 * Exists because snmpd is the bottleneck when a poller is measured: here each varbind is encoded
 * once, and a GETBULK is a search and a copy. Every switch answers the same tables: system, ifTable
 * and ifXTable, CISCO-PFC-EXT-MIB per priority (8) and CISCO-SWITCH-QOS-MIB's queue statistics (8
 * queues x 8 types), as a SONiC switch does. sysUpTime moves with real time; counters stand still
 * unless -g (then low bytes grow with time, same length, so nothing is encoded again). -d K: of the
 * N switches the last K are silent. -m BYTES: largest answer (default 1472; agents differ).
 *
 * SNMP message: RFC 1157 / RFC 3416, BER definite lengths. Test code: what it does not understand
 * it drops.
 */
#include <arpa/inet.h>
#include <err.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define OID_MAX 24
#define VB_MAX 96

struct entry {
	uint32_t oid[OID_MAX];
	uint8_t n;
	uint8_t vb[VB_MAX]; /* encoded SEQUENCE { name, value } */
	uint8_t n_vb;
	uint8_t grow; /* offset of the value's lowest byte, 0 = constant */
};
static struct entry *entries;
static size_t n_entries, cap_entries;
static size_t uptime_entry;

static size_t put_oid(uint8_t *p, const uint32_t *oid, size_t n)
{
	size_t k = 2;
	p[0] = 6;
	p[k++] = (uint8_t)(oid[0] * 40 + oid[1]);
	for (size_t i = 2; i < n; i++) {
		uint8_t tmp[5];
		int t = 0;
		uint32_t v = oid[i];
		do
			tmp[t++] = v & 0x7f;
		while (v >>= 7);
		while (t--)
			p[k++] = (uint8_t)(tmp[t] | (t ? 0x80 : 0));
	}
	p[1] = (uint8_t)(k - 2);
	return k;
}

static void add(const char *text, uint8_t tag, uint64_t number, const char *string)
{
	if (n_entries == cap_entries) {
		cap_entries = cap_entries ? cap_entries * 2 : 4096;
		entries = realloc(entries, cap_entries * sizeof(*entries));
		if (!entries)
			err(1, "entries");
	}
	struct entry *e = &entries[n_entries++];
	memset(e, 0, sizeof(*e));
	for (const char *p = text; *p;) {
		char *end;
		e->oid[e->n++] = (uint32_t)strtoul(p, &end, 10);
		p = *end ? end + 1 : end;
	}
	size_t k = 2 + put_oid(e->vb + 2, e->oid, e->n);
	e->vb[k++] = tag;
	if (string) {
		const size_t n = strlen(string);
		e->vb[k++] = (uint8_t)n;
		memcpy(e->vb + k, string, n);
		k += n;
	} else {
		/* leading zero keeps it positive; Counter64 below 2^56 */
		const int n = tag == 0x46 ? 8 : 5;
		e->vb[k++] = (uint8_t)n;
		for (int i = n - 1; i >= 0; i--)
			e->vb[k++] = (uint8_t)(i < 8 ? number >> (8 * i) : 0);
		e->grow = tag == 0x46 ? (uint8_t)(k - 1) : 0;
	}
	e->vb[0] = 0x30;
	e->vb[1] = (uint8_t)(k - 2);
	e->n_vb = (uint8_t)k;
}

static int compare(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	for (int i = 0; i < x->n && i < y->n; i++)
		if (x->oid[i] != y->oid[i])
			return x->oid[i] < y->oid[i] ? -1 : 1;
	return (x->n > y->n) - (x->n < y->n);
}

static void build(int ports)
{
	char o[160], name[32];
	add("1.3.6.1.2.1.1.1.0", 4, 0, "SONiC Software Version: SONiC.202511 - HwSku: bench");
	add("1.3.6.1.2.1.1.2.0", 4, 0, ""); /* overwritten below: an OID value */
	struct entry *e = &entries[n_entries - 1];
	const uint32_t object[] = {1, 3, 6, 1, 4, 1, 8072, 3, 2, 10};
	e->n_vb = (uint8_t)(e->n_vb - 2 + put_oid(e->vb + e->n_vb - 2, object, 10));
	e->vb[1] = (uint8_t)(e->n_vb - 2);
	add("1.3.6.1.2.1.1.3.0", 0x43, 1000, NULL);
	add("1.3.6.1.2.1.1.5.0", 4, 0, "bench");
	add("1.3.6.1.2.1.2.1.0", 2, (uint64_t)ports, NULL);
	add("1.3.6.1.2.1.31.1.5.0", 0x43, 0, NULL);
	for (int i = 1; i <= ports; i++) {
		const int suffix = (i - 1) * 4 + 1;
		snprintf(name, sizeof(name), "etp%d", i);
		static const struct {
			int column;
			uint8_t tag;
		} columns[] = {{1, 2}, {3, 2}, {4, 2}, {5, 0x42}, {7, 2}, {8, 2}, {9, 0x43},
			{13, 0x41}, {14, 0x41}, {19, 0x41}, {20, 0x41}};
		for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
			const int col = columns[c].column;
			const uint64_t v = col == 1    ? (uint64_t)suffix - 1
				: col == 3             ? 6
				: col == 4             ? 9216
				: col == 5             ? 4294967295u
				: col == 7 || col == 8 ? 1
				: col == 9             ? 0
						       : (uint64_t)(i * 100 + col);
			snprintf(o, sizeof(o), "1.3.6.1.2.1.2.2.1.%d.%d", col, suffix);
			add(o, columns[c].tag, v, NULL);
		}
		snprintf(o, sizeof(o), "1.3.6.1.2.1.2.2.1.2.%d", suffix);
		add(o, 4, 0, name);
		snprintf(o, sizeof(o), "1.3.6.1.2.1.31.1.1.1.1.%d", suffix);
		add(o, 4, 0, name);
		for (int col = 6; col <= 13; col++) {
			snprintf(o, sizeof(o), "1.3.6.1.2.1.31.1.1.1.%d.%d", col, suffix);
			add(o, 0x46, ((uint64_t)i << 40) + (uint64_t)col * 65536, NULL);
		}
		snprintf(o, sizeof(o), "1.3.6.1.2.1.31.1.1.1.15.%d", suffix);
		add(o, 0x42, 400000, NULL);
		snprintf(o, sizeof(o), "1.3.6.1.2.1.31.1.1.1.18.%d", suffix);
		add(o, 4, 0, "");
		snprintf(o, sizeof(o), "1.3.6.1.2.1.31.1.1.1.19.%d", suffix);
		add(o, 0x43, 0, NULL);
		for (int q = 0; q < 8; q++) {
			for (int col = 2; col <= 3; col++) {
				snprintf(o, sizeof(o), "1.3.6.1.4.1.9.9.813.1.2.1.%d.%d.%d", col,
					suffix, q);
				add(o, 0x46, ((uint64_t)i << 32) + (uint64_t)(q * 65536 + col),
					NULL);
			}
			for (int t = 1; t <= 8; t++) {
				snprintf(o, sizeof(o), "1.3.6.1.4.1.9.9.580.1.5.5.1.4.%d.2.%d.%d",
					suffix, q + 1, t);
				add(o, 0x46, ((uint64_t)i << 36) + (uint64_t)(q * 65536 + t), NULL);
			}
		}
	}
	qsort(entries, n_entries, sizeof(*entries), compare);
	for (size_t i = 0; i < n_entries; i++)
		if (entries[i].n == 9 && entries[i].oid[7] == 3 && entries[i].oid[6] == 1 &&
			entries[i].oid[5] == 1)
			uptime_entry = i;
}

/* One TLV: tag checked by the caller. Lengths up to 65535. */
static const uint8_t *tlv(const uint8_t *p, const uint8_t *end, uint8_t *tag, size_t *n)
{
	if (end - p < 2)
		return NULL;
	*tag = *p++;
	*n = *p++;
	if (*n == 0x81 && end - p >= 1) {
		*n = *p++;
	} else if (*n == 0x82 && end - p >= 2) {
		*n = (size_t)(p[0] << 8 | p[1]);
		p += 2;
	} else if (*n > 0x7f) {
		return NULL;
	}
	return (size_t)(end - p) >= *n ? p : NULL;
}
static int32_t integer(const uint8_t *p, size_t n)
{
	int32_t v = n && (p[0] & 0x80) ? -1 : 0;
	for (size_t i = 0; i < n; i++)
		v = (int32_t)((uint32_t)v << 8 | p[i]);
	return v;
}
static size_t put_len(uint8_t *p, size_t n) /* always three bytes: a header can be written last */
{
	p[0] = 0x82;
	p[1] = (uint8_t)(n >> 8);
	p[2] = (uint8_t)n;
	return 3;
}

static size_t max_answer = 1472;
static bool growing;
static uint32_t ticks;
static uint64_t served;

static size_t find(const uint32_t *oid, uint8_t n, bool next)
{
	struct entry key = {.n = n};
	memcpy(key.oid, oid, n * sizeof(*oid));
	size_t lo = 0, hi = n_entries;
	while (lo < hi) {
		const size_t mid = (lo + hi) / 2;
		const int c = compare(&entries[mid], &key);
		if (c < 0 || (c == 0 && next))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static size_t put_missing(uint8_t *p, const uint32_t *oid, uint8_t n, uint8_t tag)
{
	size_t k = 2 + put_oid(p + 2, oid, n);
	p[k++] = tag;
	p[k++] = 0;
	p[0] = 0x30;
	p[1] = (uint8_t)(k - 2);
	return k;
}

static size_t put_entry(uint8_t *p, size_t i)
{
	const struct entry *e = &entries[i];
	memcpy(p, e->vb, e->n_vb);
	if (i == uptime_entry) {
		for (int b = 0; b < 4; b++)
			p[e->n_vb - 1 - b] = (uint8_t)(ticks >> (8 * b));
	} else if (e->grow && growing) {
		p[e->grow] = (uint8_t)ticks;
		p[e->grow - 1] = (uint8_t)(ticks >> 8);
	}
	served++;
	return e->n_vb;
}

/* The answer to one request, or 0. */
static size_t answer(const uint8_t *in, size_t n_in, uint8_t *out)
{
	const uint8_t *end = in + n_in, *p, *community, *pdu_end;
	uint8_t tag, pdu;
	size_t n, n_community;
	if (!(p = tlv(in, end, &tag, &n)) || tag != 0x30)
		return 0;
	end = p + n;
	if (!(p = tlv(p, end, &tag, &n)) || tag != 2 || integer(p, n) != 1)
		return 0;
	if (!(p = community = tlv(p + n, end, &tag, &n_community)) || tag != 4)
		return 0;
	if (!(p = tlv(p + n_community, end, &pdu, &n)))
		return 0;
	pdu_end = p + n;
	int32_t head[3];
	for (int i = 0; i < 3; i++) {
		if (!(p = tlv(p, pdu_end, &tag, &n)) || tag != 2)
			return 0;
		head[i] = integer(p, n);
		p += n;
	}
	if (!(p = tlv(p, pdu_end, &tag, &n)) || tag != 0x30)
		return 0;
	const int non_repeaters = pdu == 0xa5 ? head[1] : 0;
	int repetitions = pdu == 0xa5 ? head[2] : 1;

	uint8_t *o = out + 4 + 3 + 2 + n_community + 4 + 6 + 3 + 3 + 4, *const body = o;
	uint32_t oids[128][OID_MAX];
	uint8_t n_oids[128];
	size_t at[128], count = 0;
	while (p < pdu_end && count < 128) {
		const uint8_t *vb, *q;
		size_t n_vb, n_name;
		if (!(vb = tlv(p, pdu_end, &tag, &n_vb)) ||
			!(q = tlv(vb, vb + n_vb, &tag, &n_name)) || tag != 6 || n_name == 0)
			return 0;
		uint32_t *oid = oids[count];
		uint8_t k = 2;
		oid[0] = q[0] / 40;
		oid[1] = q[0] % 40;
		for (size_t i = 1; i < n_name && k < OID_MAX; i++) {
			uint32_t v = 0;
			do
				v = v << 7 | (q[i] & 0x7f);
			while ((q[i] & 0x80) && ++i < n_name);
			oid[k++] = v;
		}
		n_oids[count++] = k;
		p = vb + n_vb;
	}
	const size_t room = max_answer - (size_t)(body - out);
	for (size_t c = 0; c < count; c++)
		at[c] = find(oids[c], n_oids[c], pdu != 0xa0);
	bool full = false;
	for (int r = 0; r < (repetitions < 1 ? 1 : repetitions) && !full; r++) {
		for (size_t c = 0; c < count && !full; c++) {
			if (r > 0 && (int)c < non_repeaters)
				continue;
			const size_t i = at[c] + (size_t)r;
			if ((size_t)(o - body) + VB_MAX + 8 > room) {
				full = true;
			} else if (pdu == 0xa0) {
				const bool hit = i < n_entries && entries[i].n == n_oids[c] &&
					memcmp(entries[i].oid, oids[c],
						n_oids[c] * sizeof(uint32_t)) == 0;
				o += hit ? put_entry(o, i)
					 : put_missing(o, oids[c], n_oids[c], 0x81);
			} else if (i < n_entries) {
				o += put_entry(o, i);
			} else {
				o += put_missing(o, entries[n_entries - 1].oid,
					entries[n_entries - 1].n, 0x82);
			}
		}
	}
	/* headers, written backwards now that lengths are known */
	uint8_t *h = body;
	const size_t n_body = (size_t)(o - body);
	h -= 4;
	h[0] = 0x30;
	put_len(h + 1, n_body);
	h -= 6;
	memcpy(h, (uint8_t[]){2, 1, 0, 2, 1, 0}, 6);
	h -= 6;
	h[0] = 2;
	h[1] = 4;
	for (int b = 0; b < 4; b++)
		h[2 + b] = (uint8_t)((uint32_t)head[0] >> (8 * (3 - b)));
	const size_t n_pdu = (size_t)(o - h);
	h -= 4;
	h[0] = 0xa2;
	put_len(h + 1, n_pdu);
	h -= 2 + n_community;
	h[0] = 4;
	h[1] = (uint8_t)n_community;
	memcpy(h + 2, community, n_community);
	h -= 3;
	memcpy(h, (uint8_t[]){2, 1, 1}, 3);
	const size_t n_message = (size_t)(o - h);
	h -= 4;
	h[0] = 0x30;
	put_len(h + 1, n_message);
	memmove(out, h, (size_t)(o - h));
	return (size_t)(o - h);
}

static volatile sig_atomic_t stop;
static void on_signal(int s)
{
	(void)s;
	stop = 1;
}

int main(int argc, char **argv)
{
	int silent = 0;
	for (int c; (c = getopt(argc, argv, "d:m:g")) != -1;) {
		if (c == 'd')
			silent = atoi(optarg);
		else if (c == 'm')
			max_answer = (size_t)atoi(optarg);
		else if (c == 'g')
			growing = true;
		else
			return 2;
	}
	if (argc - optind < 2)
		errx(2, "usage: fast_agent [-d SILENT] [-m BYTES] [-g] SWITCHES PORTS [UDPPORT]");
	const int n = atoi(argv[optind]), ports = atoi(argv[optind + 1]),
		  udp = argc - optind > 2 ? atoi(argv[optind + 2]) : 1161;
	if (n < 1 || n > 4000 || ports < 1 || max_answer < 256 || max_answer > 60000)
		errx(2, "1..4000 switches, 1.. ports, answers of 256..60000 bytes");
	struct rlimit rl = {8192, 8192};
	setrlimit(RLIMIT_NOFILE, &rl);
	build(ports);
	const int ep = epoll_create1(0);
	for (int i = 0; i < n; i++) {
		const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
		struct sockaddr_in a = {.sin_family = AF_INET,
			.sin_port = htons((uint16_t)udp),
			.sin_addr.s_addr =
				htonl(0x7f010000u + (uint32_t)(i / 250 * 256 + i % 250 + 1))};
		if (fd < 0 || bind(fd, (struct sockaddr *)&a, sizeof(a)))
			err(1, "%s:%d", inet_ntoa(a.sin_addr), udp);
		struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
		if (i < n - silent && epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev))
			err(1, "epoll");
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	printf("%d switches (%d silent) at 127.1.0.1.., port %d, %zu varbinds each\n", n, silent,
		udp, n_entries);
	fflush(stdout);
	static uint8_t in[65536], out[65536];
	while (!stop) {
		struct epoll_event ev[64];
		const int k = epoll_wait(ep, ev, 64, 500);
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		ticks = (uint32_t)(t.tv_sec * 100 + t.tv_nsec / 10000000);
		for (int i = 0; i < k; i++) {
			struct sockaddr_in from;
			for (int burst = 0; burst < 16; burst++) {
				socklen_t n_from = sizeof(from);
				const ssize_t got = recvfrom(ev[i].data.fd, in, sizeof(in), 0,
					(struct sockaddr *)&from, &n_from);
				if (got < 0)
					break;
				const size_t n_out = answer(in, (size_t)got, out);
				if (n_out)
					sendto(ev[i].data.fd, out, n_out, 0,
						(struct sockaddr *)&from, n_from);
			}
		}
	}
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	printf("served %llu varbinds, cpu %.2f s\n", (unsigned long long)served,
		(double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	return 0;
}
