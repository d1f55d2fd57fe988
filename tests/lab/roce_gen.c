/*
 * roce_gen - makes valid RoCEv2 traffic for the lab: what a training job's hosts put on the wire,
 * without RDMA NICs.
 *
 * Each queue pair is an endless run of RDMA WRITE messages to one destination: correct BTH, RETH on
 * FIRST and ONLY, PSNs in sequence, payload, ICRC. All hosts burst together at multiples of the
 * period on the wall clock, as a bulk-synchronous job does, so that generators in different
 * namespaces need no channel between them.
 *
 * Packets leave through ordinary UDP sockets bound to the source port: the kernel's own route
 * lookup and ECMP hash decide the path, which is what the lab is about. Of the headers the kernel
 * writes, ICRC covers only what is known beforehand: addresses, ports, lengths, and the IPv4
 * identification, which Linux leaves 0 on unconnected sockets that set "don't fragment".
 *
 * With --sink it is the other end: holds port 4791, so that no ICMP errors come back, and discards.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "collectors/packet/frame/icrc.h"

enum {
	ROCE_PORT = 4791,
	IP4_BYTES = 20,
	IP6_BYTES = 40,
	UDP_BYTES = 8,
	BTH_BYTES = 12,
	RETH_BYTES = 16,
	ETH_BYTES = 14,
	MTU_MAX = 4096,
	MESSAGE_MAX = 64, /* packets a message */
	DST_MAX = 64,
	SPORTS_MAX = 65536,
	QPS_MAX = 65536,
};
#define NS 1000000000LL
#define CATCH_UP_NS                                                                                \
	2000000LL /* after a stall, make up for this much; the rest is lost, or the catch-up would \
		     be a burst of its own */

enum { OP_WRITE_FIRST = 0x06, OP_WRITE_MIDDLE = 0x07, OP_WRITE_LAST = 0x08, OP_WRITE_ONLY = 0x0a };

struct options {
	struct sockaddr_storage dst[DST_MAX];
	const char *dst_text[DST_MAX];
	int n_dst;
	struct sockaddr_storage src; /* family 0 = as routed */
	uint16_t *sports;
	int n_sports;
	int qps; /* per destination */
	uint32_t first_qpn;
	double rate_bps; /* of Ethernet frames without FCS, inside a burst */
	int64_t period_ns, duration_ns;
	double duty; /* 0..1 */
	int mtu, message; /* payload bytes of a packet; packets of a message */
	int ecn, dscp;
	uint64_t seed;
	bool sink;
};

struct qp {
	int socket, dst, sport; /* indices */
	uint32_t qpn, psn;
	uint64_t va;
};

struct sender { /* one socket: a source address and port */
	int fd;
	struct sockaddr_storage src;
	int sport;
};

struct count {
	uint64_t packets, octets;
};

static volatile sig_atomic_t stopped;

static void on_signal(int signum)
{
	stopped = 1;
}

static void die(const char *fmt, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("roce_gen: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(2);
}

static void *need(void *p)
{
	if (!p)
		die("out of memory");
	return p;
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return ts.tv_sec * NS + ts.tv_nsec;
}

/* In slices: a signal that comes just before the sleep must not be slept over. */
static void sleep_until(int64_t mono_ns)
{
	for (int64_t now; !stopped && (now = now_ns(CLOCK_MONOTONIC)) < mono_ns;) {
		int64_t wake = mono_ns - now > NS / 5 ? now + NS / 5 : mono_ns;
		struct timespec ts = {wake / NS, wake % NS};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
}

static uint64_t mix(uint64_t *state) /* splitmix64 (Steele, Lea, Flood 2014) */
{
	uint64_t z = *state += 0x9E3779B97F4A7C15ull;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
	z = (z ^ z >> 27) * 0x94D049BB133111EBull;
	return z ^ z >> 31;
}

/* ---- options ------------------------------------------------------------- */

struct suffix {
	const char *text;
	double factor;
};
static const struct suffix rate_suffix[] = {{"", 1}, {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9},
	{"kbps", 1e3}, {"Mbps", 1e6}, {"Gbps", 1e9}, {NULL}};
static const struct suffix period_suffix[] = {
	{"", 1e6}, {"ms", 1e6}, {"s", 1e9}, {"us", 1e3}, {NULL}};
static const struct suffix duration_suffix[] = {
	{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"m", 60e9}, {NULL}};
static const struct suffix percent_suffix[] = {{"", 0.01}, {"%", 0.01}, {NULL}};

static double number(
	const char *option, const char *text, const struct suffix *suffixes, double min, double max)
{
	char *end;
	double v = strtod(text, &end);
	for (const struct suffix *s = suffixes; end != text && s->text; s++)
		if (strcmp(end, s->text) == 0) {
			v *= s->factor;
			if (v >= min && v <= max)
				return v;
			die("%s %s is out of range", option, text);
		}
	die("%s: '%s' is not valid; expected a number%s%s", option, text,
		suffixes[1].text ? " with a unit such as " : "",
		suffixes[1].text ? suffixes[1].text : "");
}

static long integer(const char *option, const char *text, long min, long max)
{
	char *end;
	errno = 0;
	long v = strtol(text, &end, 0);
	if (end == text || *end || errno || v < min || v > max)
		die("%s: '%s' is not valid; expected a whole number from %ld to %ld", option, text,
			min, max);
	return v;
}

static void address(
	const char *option, const char *text, uint16_t port, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	memset(ret, 0, sizeof(*ret));
	if (inet_pton(AF_INET, text, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
	} else if (inet_pton(AF_INET6, text, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(port);
	} else {
		die("%s: '%s' is not valid; expected an IPv4 or IPv6 address", option, text);
	}
}

static void sports_range(struct options *o, const char *text)
{
	char first[16];
	const char *dash = strchr(text, '-');
	if (!dash || (size_t)(dash - text) >= sizeof(first))
		die("--sports: '%s' is not valid; expected FIRST-LAST", text);
	memcpy(first, text, (size_t)(dash - text));
	first[dash - text] = '\0';
	long a = integer("--sports", first, 1, 65535), b = integer("--sports", dash + 1, a, 65535);
	o->n_sports = 0;
	for (long p = a; p <= b; p++)
		o->sports[o->n_sports++] = (uint16_t)p;
}

static void sports_list(struct options *o, const char *text)
{
	char *copy = need(strdup(text)), *save = NULL;
	o->n_sports = 0;
	for (char *word = strtok_r(copy, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		if (o->n_sports == SPORTS_MAX)
			die("--sport-list: too many ports");
		o->sports[o->n_sports++] = (uint16_t)integer("--sport-list", word, 1, 65535);
	}
	free(copy);
	if (o->n_sports == 0)
		die("--sport-list: no port given");
}

static const char help[] =
	"usage: roce_gen --dst IP [--dst IP ...] [options]     send RoCEv2 RDMA writes\n"
	"       roce_gen --sink [--duration S]                 receive and discard on UDP port "
	"4791\n"
	"  --dst IP            destination; repeatable\n"
	"  --src IP            source address (default: as routed)\n"
	"  --qps N             queue pairs per destination (default: one per source port)\n"
	"  --qpn N             first destination queue pair number (default 0x1000)\n"
	"  --sports A-B        source ports, given to the queue pairs in turn (default "
	"49152-50175)\n"
	"  --sport-list A,B,C  the same as a list\n"
	"  --rate BPS          rate inside a burst, Ethernet frames, of all queue pairs together; "
	"20M, 1.5G (default 10M)\n"
	"  --period MS         bursts start at multiples of this on the wall clock; 100, 100ms, 1s "
	"(default 100)\n"
	"  --duty PERCENT      part of the period that a burst lasts (default 50; 100 = steady)\n"
	"  --mtu BYTES         payload of a packet, a multiple of 4 up to 4096 (default 1024)\n"
	"  --message N         packets a message: FIRST, MIDDLE ..., LAST; 1 = ONLY (default 4)\n"
	"  --duration S        stop by itself; 10, 10s, 500ms, 2m (default: until SIGTERM)\n"
	"  --ecn ect0|ce|none  ECN bits sent (default ect0)\n"
	"  --dscp N            (default 26)\n"
	"  --seed N            first PSNs (default 1)\n"
	"At the end a summary in JSON goes to stdout. Octets are Ethernet frames without FCS.\n"
	"Exit code: 0 sent something, 1 could not send at all, 2 bad usage.\n";

static void parse(int argc, char **argv, struct options *o)
{
	enum {
		DST = 256,
		SRC,
		QPS,
		QPN,
		SPORTS,
		SPORT_LIST,
		RATE,
		PERIOD,
		DUTY,
		MTU,
		MESSAGE,
		DURATION,
		ECN,
		DSCP,
		SEED,
		SINK,
		HELP
	};
	static const struct option longs[] = {
		{"dst", 1, 0, DST},
		{"src", 1, 0, SRC},
		{"qps", 1, 0, QPS},
		{"qpn", 1, 0, QPN},
		{"sports", 1, 0, SPORTS},
		{"sport-list", 1, 0, SPORT_LIST},
		{"rate", 1, 0, RATE},
		{"period", 1, 0, PERIOD},
		{"duty", 1, 0, DUTY},
		{"mtu", 1, 0, MTU},
		{"message", 1, 0, MESSAGE},
		{"duration", 1, 0, DURATION},
		{"ecn", 1, 0, ECN},
		{"dscp", 1, 0, DSCP},
		{"seed", 1, 0, SEED},
		{"sink", 0, 0, SINK},
		{"help", 0, 0, HELP},
		{0},
	};
	*o = (struct options){.first_qpn = 0x1000,
		.rate_bps = 10e6,
		.period_ns = 100000000,
		.duty = 0.5,
		.mtu = 1024,
		.message = 4,
		.ecn = 2,
		.dscp = 26,
		.seed = 1};
	o->sports = need(calloc(SPORTS_MAX, sizeof(*o->sports)));
	sports_range(o, "49152-50175");

	for (int c; (c = getopt_long(argc, argv, "", longs, NULL)) != -1;)
		switch (c) {
		case DST:
			if (o->n_dst == DST_MAX)
				die("--dst: at most %d", DST_MAX);
			o->dst_text[o->n_dst] = optarg;
			address("--dst", optarg, ROCE_PORT, &o->dst[o->n_dst++]);
			break;
		case SRC: address("--src", optarg, 0, &o->src); break;
		case QPS: o->qps = (int)integer("--qps", optarg, 1, QPS_MAX); break;
		case QPN: o->first_qpn = (uint32_t)integer("--qpn", optarg, 2, 0xffffff); break;
		case SPORTS: sports_range(o, optarg); break;
		case SPORT_LIST: sports_list(o, optarg); break;
		case RATE: o->rate_bps = number("--rate", optarg, rate_suffix, 1e3, 1e11); break;
		case PERIOD:
			o->period_ns =
				(int64_t)number("--period", optarg, period_suffix, 1e6, 3600e9);
			break;
		case DUTY: o->duty = number("--duty", optarg, percent_suffix, 0.001, 1); break;
		case MTU: o->mtu = (int)integer("--mtu", optarg, 4, MTU_MAX); break;
		case MESSAGE: o->message = (int)integer("--message", optarg, 1, MESSAGE_MAX); break;
		case DURATION:
			o->duration_ns =
				(int64_t)number("--duration", optarg, duration_suffix, 1e6, 1e15);
			break;
		case ECN:
			o->ecn = strcmp(optarg, "none") == 0  ? 0
				: strcmp(optarg, "ect0") == 0 ? 2
				: strcmp(optarg, "ce") == 0   ? 3
							      : -1;
			if (o->ecn < 0)
				die("--ecn: '%s' is not valid; expected ect0, ce or none", optarg);
			break;
		case DSCP: o->dscp = (int)integer("--dscp", optarg, 0, 63); break;
		case SEED: o->seed = (uint64_t)integer("--seed", optarg, 0, INT64_MAX); break;
		case SINK: o->sink = true; break;
		case HELP: fputs(help, stdout); exit(0);
		default: exit(2);
		}
	if (optind < argc)
		die("unexpected argument '%s'; try --help", argv[optind]);
	if (!o->sink && o->n_dst == 0)
		die("no --dst given; try --help");
	if (o->mtu % 4)
		die("--mtu %d is not a multiple of 4", o->mtu);
	if (o->qps == 0)
		o->qps = o->n_sports;
	if ((int64_t)o->qps * o->n_dst > QPS_MAX ||
		o->first_qpn + (uint64_t)o->qps * (uint64_t)o->n_dst > 0xffffff)
		die("too many queue pairs: %d for each of %d destinations", o->qps, o->n_dst);
}

/* ---- sockets ------------------------------------------------------------- */

static socklen_t address_size(const struct sockaddr_storage *a)
{
	return a->ss_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

static void set(int fd, int level, int name, int value, const char *what)
{
	if (setsockopt(fd, level, name, &value, sizeof(value)))
		die("cannot set %s: %s", what, strerror(errno));
}

/* The address the kernel will put into packets to @dst: ICRC covers it, so it is bound, not left to
 * each send. */
static void source_of(const struct options *o, const struct sockaddr_storage *dst,
	const char *dst_text, struct sockaddr_storage *ret)
{
	if (o->src.ss_family) {
		if (o->src.ss_family != dst->ss_family)
			die("--src and --dst %s are of different families", dst_text);
		*ret = o->src;
		return;
	}
	int fd = socket(dst->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t n = sizeof(*ret);
	memset(ret, 0, sizeof(*ret));
	if (fd < 0 || connect(fd, (const struct sockaddr *)dst, address_size(dst)) ||
		getsockname(fd, (struct sockaddr *)ret, &n))
		die("no route to %s: %s", dst_text, strerror(errno));
	close(fd);
}

static bool same_source(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((const struct sockaddr_in *)a)->sin_addr.s_addr ==
			((const struct sockaddr_in *)b)->sin_addr.s_addr;
	return memcmp(&((const struct sockaddr_in6 *)a)->sin6_addr,
		       &((const struct sockaddr_in6 *)b)->sin6_addr, 16) == 0;
}

static int sender_open(const struct options *o, struct sockaddr_storage *src, uint16_t sport)
{
	int fd = socket(src->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		die("cannot open a socket: %s%s", strerror(errno),
			errno == EMFILE ? " (raise ulimit -n or use fewer source ports)" : "");
	int tos = o->dscp << 2 | o->ecn;
	if (src->ss_family == AF_INET) {
		((struct sockaddr_in *)src)->sin_port = htons(sport);
		set(fd, IPPROTO_IP, IP_TOS, tos, "IP_TOS");
		/* DF: identification 0, never fragments */
		set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO, "IP_MTU_DISCOVER");
	} else {
		((struct sockaddr_in6 *)src)->sin6_port = htons(sport);
		set(fd, IPPROTO_IPV6, IPV6_TCLASS, tos, "IPV6_TCLASS");
		set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO, "IPV6_MTU_DISCOVER");
	}
	if (bind(fd, (struct sockaddr *)src, address_size(src)))
		die("cannot bind source port %u: %s", sport, strerror(errno));
	return fd;
}

/* ---- packets ------------------------------------------------------------- */

static void put16(uint8_t *p, unsigned v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}
static void put32(uint8_t *p, uint32_t v)
{
	put16(p, v >> 16);
	put16(p + 2, v & 0xffff);
}

/*
 * One packet as ICRC sees it, IP header included, into @buf. Returns the offset of the BTH; *ret_n
 * is the UDP payload with ICRC.
 */
static size_t packet_make(const struct options *o, const struct sender *s, const struct qp *q,
	int index, uint8_t *buf, size_t *ret_n)
{
	const struct sockaddr_storage *dst = &o->dst[q->dst];
	bool v4 = dst->ss_family == AF_INET, only = o->message == 1, first = index == 0,
	     last = index == o->message - 1;
	size_t ip_bytes = v4 ? IP4_BYTES : IP6_BYTES;
	size_t n = BTH_BYTES + (first ? RETH_BYTES : 0) + (size_t)o->mtu + ICRC_BYTES;
	memset(buf, 0, ip_bytes + UDP_BYTES + BTH_BYTES);
	if (v4) {
		buf[0] = 0x45;
		put16(buf + 2, (unsigned)(ip_bytes + UDP_BYTES + n));
		buf[6] = 0x40; /* DF */
		buf[9] = IPPROTO_UDP;
		memcpy(buf + 12, &((const struct sockaddr_in *)&s->src)->sin_addr, 4);
		memcpy(buf + 16, &((const struct sockaddr_in *)dst)->sin_addr, 4);
	} else {
		buf[0] = 0x60;
		put16(buf + 4, (unsigned)(UDP_BYTES + n));
		buf[6] = IPPROTO_UDP;
		memcpy(buf + 8, &((const struct sockaddr_in6 *)&s->src)->sin6_addr, 16);
		memcpy(buf + 24, &((const struct sockaddr_in6 *)dst)->sin6_addr, 16);
	}
	uint8_t *udp = buf + ip_bytes, *bth = udp + UDP_BYTES;
	put16(udp, o->sports[q->sport]);
	put16(udp + 2, ROCE_PORT);
	put16(udp + 4, (unsigned)(UDP_BYTES + n));
	bth[0] = only   ? OP_WRITE_ONLY
		: first ? OP_WRITE_FIRST
		: last  ? OP_WRITE_LAST
			: OP_WRITE_MIDDLE;
	bth[1] = 0x40; /* MigReq, as connections without path migration have it */
	put16(bth + 2, 0xffff);
	put32(bth + 4, q->qpn);
	put32(bth + 8, (last ? 0x80000000u : 0) | ((q->psn + (uint32_t)index) & 0xffffff));
	uint8_t *payload = bth + BTH_BYTES;
	if (first) {
		put32(payload, (uint32_t)(q->va >> 32));
		put32(payload + 4, (uint32_t)q->va);
		put32(payload + 8, 0x1234);
		put32(payload + 12, (uint32_t)(o->mtu * o->message));
		payload += RETH_BYTES;
	}
	memset(payload, (int)(q->qpn + (uint32_t)index) & 0xff, (size_t)o->mtu);
	uint32_t icrc;
	if (icrc_compute(buf, ip_bytes + UDP_BYTES + n - ICRC_BYTES, &icrc))
		abort();
	icrc_put(bth + n - ICRC_BYTES, icrc);
	*ret_n = n;
	return ip_bytes + UDP_BYTES;
}

struct run {
	const struct options *o;
	struct sender *senders;
	int n_senders;
	struct qp *qps;
	int n_qps, next;
	struct count *by_sport, total;
	uint64_t errors, bursts, messages;
	int last_errno;
};

/*
 * Sends the next queue pair's message. Returns its Ethernet octets, sent or not, so that a broken
 * path does not turn the pacing into a busy loop.
 */
static uint64_t message_send(struct run *r)
{
	static uint8_t buf[MESSAGE_MAX]
			  [IP6_BYTES + UDP_BYTES + BTH_BYTES + RETH_BYTES + MTU_MAX + ICRC_BYTES];
	struct mmsghdr msg[MESSAGE_MAX];
	struct iovec iov[MESSAGE_MAX];
	uint64_t octets[MESSAGE_MAX], paced = 0;
	struct qp *q = &r->qps[r->next];
	const struct sender *s = &r->senders[q->socket];
	int n = r->o->message;

	r->next = (r->next + 1) % r->n_qps;
	memset(msg, 0, sizeof(msg[0]) * (size_t)n);
	for (int i = 0; i < n; i++) {
		size_t size, at = packet_make(r->o, s, q, i, buf[i], &size);
		iov[i] = (struct iovec){buf[i] + at, size};
		msg[i].msg_hdr = (struct msghdr){.msg_name = (void *)&r->o->dst[q->dst],
			.msg_namelen = address_size(&r->o->dst[q->dst]),
			.msg_iov = &iov[i],
			.msg_iovlen = 1};
		octets[i] = ETH_BYTES + at + size;
		paced += octets[i];
	}
	/* A packet that the kernel refuses is a packet lost on the way: the sequence goes on
	 * without it. */
	for (int i = 0; i < n && !stopped;) {
		int k = sendmmsg(s->fd, msg + i, (unsigned)(n - i), 0);
		if (k <= 0) {
			if (k < 0 && errno == EINTR)
				continue;
			if (errno == EMSGSIZE)
				die("packets of %d bytes do not fit the path to %s: raise the "
				    "links' MTU or lower --mtu",
					r->o->mtu, r->o->dst_text[q->dst]);
			r->last_errno = errno;
			r->errors++;
			i++;
			continue;
		}
		for (int end = i + k; i < end; i++) {
			r->by_sport[q->sport].packets++;
			r->by_sport[q->sport].octets += octets[i];
			r->total.packets++;
			r->total.octets += octets[i];
		}
	}
	q->psn = (q->psn + (uint32_t)n) & 0xffffff;
	q->va += (uint64_t)r->o->mtu * (uint64_t)n;
	r->messages++;
	return paced;
}

/* ---- running ------------------------------------------------------------- */

static void run_init(struct run *r, const struct options *o)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_NOFILE, &lim) == 0) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
	*r = (struct run){.o = o, .n_qps = o->qps * o->n_dst};
	r->by_sport = need(calloc((size_t)o->n_sports, sizeof(*r->by_sport)));
	r->qps = need(calloc((size_t)r->n_qps, sizeof(*r->qps)));
	r->senders = need(calloc((size_t)o->n_sports * (size_t)o->n_dst, sizeof(*r->senders)));
	int used = o->qps < o->n_sports ? o->qps : o->n_sports;
	/* first sender of each destination; destinations with the same source share them */
	int base[DST_MAX];
	struct sockaddr_storage src[DST_MAX];
	for (int d = 0; d < o->n_dst; d++) {
		source_of(o, &o->dst[d], o->dst_text[d], &src[d]);
		int same = 0;
		while (same < d && !same_source(&src[same], &src[d]))
			same++;
		base[d] = same < d ? base[same] : r->n_senders;
		for (int p = 0; same == d && p < used; p++) {
			struct sender *s = &r->senders[r->n_senders++];
			*s = (struct sender){.src = src[d], .sport = p};
			s->fd = sender_open(o, &s->src, o->sports[p]);
		}
	}
	uint64_t random = o->seed;
	for (int i = 0, k = 0; i < o->qps; i++)
		for (int d = 0; d < o->n_dst; d++, k++)
			r->qps[k] = (struct qp){.socket = base[d] + i % used,
				.dst = d,
				.sport = i % used,
				.qpn = o->first_qpn + (uint32_t)k,
				.psn = (uint32_t)(mix(&random) & 0xffffff),
				.va = 0x7f0000000000ull + ((uint64_t)k << 24)};
}

static void run_done(struct run *r)
{
	for (int i = 0; i < r->n_senders; i++)
		close(r->senders[i].fd);
	free(r->senders);
	free(r->qps);
	free(r->by_sport);
}

static void burst(struct run *r, int64_t from_ns, int64_t to_ns)
{
	double bytes_per_ns = r->o->rate_bps / 8e9;
	int64_t zero_ns = from_ns; /* moves forward when a stall is forgiven */
	uint64_t octets = 0;
	r->bursts++;
	while (!stopped) {
		int64_t now = now_ns(CLOCK_MONOTONIC),
			due = zero_ns + (int64_t)((double)octets / bytes_per_ns);
		if (now >= to_ns || due >= to_ns)
			return;
		if (now < due) {
			sleep_until(due);
			continue;
		}
		if (now - due > CATCH_UP_NS)
			zero_ns += now - due - CATCH_UP_NS;
		octets += message_send(r);
	}
}

static void run(struct run *r)
{
	const struct options *o = r->o;
	int64_t begin = now_ns(CLOCK_MONOTONIC),
		end = o->duration_ns ? begin + o->duration_ns : INT64_MAX;
	if (o->duty >= 1) {
		burst(r, begin, end);
		return;
	}
	int64_t length = (int64_t)((double)o->period_ns * o->duty), next = 0;
	while (!stopped) {
		/* The wall clock is asked again each period: it may be stepped, and generators must
		 * stay together. */
		int64_t wall = now_ns(CLOCK_REALTIME), mono = now_ns(CLOCK_MONOTONIC);
		int64_t start = mono + (o->period_ns - wall % o->period_ns) % o->period_ns;
		if (start < next) /* the same edge again, after an early wake-up */
			start += o->period_ns;
		if (start >= end) {
			sleep_until(end);
			return;
		}
		sleep_until(start);
		burst(r, start, start + length < end ? start + length : end);
		next = start + o->period_ns / 2;
	}
}

static void summary(const struct run *r, double elapsed_s)
{
	const struct options *o = r->o;
	printf("{\"dst\": [");
	for (int d = 0; d < o->n_dst; d++)
		printf("%s\"%s\"", d ? ", " : "", o->dst_text[d]);
	printf("], \"qps\": %d, \"mtu\": %d, \"bursts\": %" PRIu64 ", \"messages\": %" PRIu64
	       ", \"packets\": %" PRIu64 ", \"octets\": %" PRIu64 ", \"errors\": %" PRIu64
	       ", \"elapsed_s\": %.3f, \"source_ports\": {",
		r->n_qps, o->mtu, r->bursts, r->messages, r->total.packets, r->total.octets,
		r->errors, elapsed_s);
	const char *comma = "";
	for (int p = 0; p < o->n_sports; p++)
		if (r->by_sport[p].packets) {
			printf("%s\"%u\": {\"packets\": %" PRIu64 ", \"octets\": %" PRIu64 "}",
				comma, o->sports[p], r->by_sport[p].packets, r->by_sport[p].octets);
			comma = ", ";
		}
	printf("}}\n");
}

/* Receiving costs CPU that the lab does not have: the socket's queue fills and the kernel drops the
 * rest, without ICMP. */
static int sink(const struct options *o)
{
	int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(ROCE_PORT)};
	const struct sockaddr *a = (struct sockaddr *)&any;
	socklen_t n = sizeof(any);
	struct sockaddr_in any4 = {.sin_family = AF_INET, .sin_port = htons(ROCE_PORT)};
	if (fd < 0) { /* a kernel without IPv6 */
		fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		a = (struct sockaddr *)&any4;
		n = sizeof(any4);
	} else {
		set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0, "IPV6_V6ONLY");
	}
	if (fd < 0)
		die("cannot open a socket: %s", strerror(errno));
	set(fd, SOL_SOCKET, SO_RCVBUF, 1, "SO_RCVBUF");
	if (bind(fd, a, n))
		die("cannot bind UDP port %d: %s", ROCE_PORT, strerror(errno));
	int64_t end = o->duration_ns ? now_ns(CLOCK_MONOTONIC) + o->duration_ns : INT64_MAX;
	sleep_until(end);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o;
	parse(argc, argv, &o);
	struct sigaction sa = {.sa_handler = on_signal}; /* no SA_RESTART: sleeps and sends end */
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	prctl(PR_SET_TIMERSLACK, 1000UL);
	if (o.sink) {
		int rc = sink(&o);
		free(o.sports);
		return rc;
	}
	struct run r;
	run_init(&r, &o);
	int64_t begin = now_ns(CLOCK_MONOTONIC);
	run(&r);
	summary(&r, (double)(now_ns(CLOCK_MONOTONIC) - begin) / 1e9);
	int rc = r.total.packets == 0 && r.errors > 0;
	if (r.errors)
		fprintf(stderr, "roce_gen: %" PRIu64 " packets refused by the kernel, last: %s\n",
			r.errors, strerror(r.last_errno));
	run_done(&r);
	free(o.sports);
	return rc;
}
