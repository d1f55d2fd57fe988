/*
 * mirror_gen - a switch's mirror session, for the lab: takes the frames that leave one interface
 *and sends copies of them, wrapped as switches wrap them.
 *
 *	mirror_gen erspan1|erspan2|erspan3|vxlan FROM TO      frames on interface TO
 *	mirror_gen sflow FROM ADDRESS:PORT N                  sFlow datagrams, one packet in N
 *
 * Written from the specifications and apart from the decoder that it tests:
 * draft-foschiano-erspan-03 (ERSPAN I, II, III), RFC 7348 (VXLAN), sFlow version 5 (sflow.org).
 * ERSPAN I has no header of its own: its GRE header has no sequence number. Ends at SIGTERM.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_MAX = 16384, OUTER_MAX = 64, SAMPLE_BYTES = 128, SAMPLES = 4 };

static volatile sig_atomic_t stopped;

static void on_signal(int signum)
{
	stopped = 1;
}

static void need(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "mirror_gen: %s: %s\n", what, strerror(errno));
	exit(2);
}

struct out {
	uint8_t *p;
	size_t n;
};

static void put8(struct out *out, unsigned v)
{
	out->p[out->n++] = (uint8_t)v;
}
static void put16(struct out *out, unsigned v)
{
	put8(out, v >> 8 & 255);
	put8(out, v & 255);
}
static void put32(struct out *out, uint32_t v)
{
	put16(out, v >> 16);
	put16(out, v & 65535);
}
static void put_bytes(struct out *out, const void *p, size_t n)
{
	memcpy(out->p + out->n, p, n);
	out->n += n;
}

static uint64_t now_us(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

/* ---- wrapped frames --------------------------------------------------------- */

/* Ethernet and IPv4 of the mirror session, for @n bytes behind the IP header. */
static void put_outer(struct out *out, uint8_t protocol, size_t n)
{
	static const uint8_t macs[] = {2, 0, 0, 0, 9, 1, 2, 0, 0, 0, 9, 2};
	static const uint8_t addresses[] = {192, 0, 2, 1, 192, 0, 2, 2};
	put_bytes(out, macs, sizeof(macs));
	put16(out, 0x0800);
	const size_t ip = out->n;
	put8(out, 0x45);
	put8(out, 0);
	put16(out, (unsigned)(20 + n));
	put32(out, 0);
	put8(out, 64);
	put8(out, protocol);
	put16(out, 0);
	put_bytes(out, addresses, sizeof(addresses));
	uint32_t sum = 0;
	for (size_t i = ip; i < ip + 20; i += 2)
		sum += (uint32_t)out->p[i] << 8 | out->p[i + 1];
	sum = (sum & 65535) + (sum >> 16);
	sum = ~(sum + (sum >> 16)) & 65535;
	out->p[ip + 10] = (uint8_t)(sum >> 8);
	out->p[ip + 11] = (uint8_t)sum;
}

static void wrap_erspan1(struct out *out, size_t n, uint32_t sequence)
{
	put_outer(out, 47, 4 + n);
	put16(out, 0);
	put16(out, 0x88be);
}

static void wrap_erspan2(struct out *out, size_t n, uint32_t sequence)
{
	put_outer(out, 47, 16 + n);
	put16(out, 0x1000); /* sequence number present */
	put16(out, 0x88be);
	put32(out, sequence);
	put16(out, 1u << 12); /* version 1, VLAN 0 */
	put16(out, 3u << 11 | 42); /* encapsulation type: as in the frame; session 42 */
	put32(out, 7); /* port index */
}

static void wrap_erspan3(struct out *out, size_t n, uint32_t sequence)
{
	put_outer(out, 47, 20 + n);
	put16(out, 0x1000);
	put16(out, 0x22eb);
	put32(out, sequence);
	put16(out, 2u << 12); /* version 2, VLAN 0 */
	put16(out, 42); /* session */
	put32(out, (uint32_t)(now_us() * 10)); /* time stamp in 100 us, not used */
	put16(out, 0); /* security group */
	put16(out, 1u << 3); /* Ethernet frame, direction: egress */
}

static void wrap_vxlan(struct out *out, size_t n, uint32_t sequence)
{
	put_outer(out, 17, 16 + n);
	put16(out, 49152 + sequence % 1000);
	put16(out, 4789);
	put16(out, (unsigned)(16 + n));
	put16(out, 0);
	put32(out, 0x08000000); /* network identifier present */
	put32(out, 4242u << 8);
}

static const struct wrap {
	const char *name;
	void (*fn)(struct out *out, size_t n, uint32_t sequence);
} wraps[] = {{"erspan1", wrap_erspan1}, {"erspan2", wrap_erspan2}, {"erspan3", wrap_erspan3},
	{"vxlan", wrap_vxlan}, {NULL, NULL}};

/* ---- sFlow -------------------------------------------------------------------- */

struct sampler {
	int fd; /* connected UDP socket */
	uint32_t agent; /* our address on that way, network order */
	uint32_t ifindex, n; /* one packet in n */
	uint32_t pool, sequence, datagrams;
	uint64_t random;
	uint32_t waiting; /* samples in .samples */
	struct out samples;
	uint8_t bytes[SAMPLES * (SAMPLE_BYTES + 96)];
};

static void sampler_open(struct sampler *sampler, char *to, const char *from, const char *n)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t size = sizeof(address);
	char *colon = strrchr(to, ':');
	need(colon != NULL, "ADDRESS:PORT");
	*colon = 0;
	address.sin_port = htons((uint16_t)atoi(colon + 1));
	need(inet_pton(AF_INET, to, &address.sin_addr) == 1, to);
	sampler->fd = socket(AF_INET, SOCK_DGRAM, 0);
	need(connect(sampler->fd, (struct sockaddr *)&address, size) == 0, "connect");
	need(getsockname(sampler->fd, (struct sockaddr *)&address, &size) == 0, "getsockname");
	sampler->agent = address.sin_addr.s_addr;
	sampler->ifindex = if_nametoindex(from);
	sampler->n = (uint32_t)atoi(n);
	need(sampler->n > 0, "N");
	sampler->random = 88172645463325252u;
	sampler->samples.p = sampler->bytes;
}

static void sampler_send(struct sampler *sampler)
{
	uint8_t bytes[sizeof(sampler->bytes) + 64];
	struct out out = {.p = bytes};
	put32(&out, 5); /* version */
	put32(&out, 1); /* agent address: IPv4 */
	put_bytes(&out, &sampler->agent, 4);
	put32(&out, 0); /* sub-agent */
	put32(&out, ++sampler->datagrams);
	put32(&out, (uint32_t)(now_us() / 1000));
	put32(&out, sampler->waiting);
	put_bytes(&out, sampler->samples.p, sampler->samples.n);
	send(sampler->fd, bytes, out.n, 0); /* nobody listens yet: the next one may arrive */
	sampler->waiting = 0;
	sampler->samples.n = 0;
}

/* A flow sample with one record, the raw header of the packet. */
static void sampler_add(struct sampler *sampler, const uint8_t *frame, size_t n, size_t wire)
{
	struct out *out = &sampler->samples;
	size_t header = n;
	if (header > SAMPLE_BYTES)
		header = SAMPLE_BYTES;
	const size_t padded = (header + 3) / 4 * 4;
	put32(out, 1); /* flow sample */
	put32(out, (uint32_t)(32 + 8 + 16 + padded));
	put32(out, ++sampler->sequence);
	put32(out, sampler->ifindex); /* source: the interface that samples */
	put32(out, sampler->n);
	put32(out, sampler->pool);
	put32(out, 0); /* drops */
	put32(out, 0); /* input: not known */
	put32(out, sampler->ifindex); /* output */
	put32(out, 1); /* records */
	put32(out, 1); /* raw packet header */
	put32(out, (uint32_t)(16 + padded));
	put32(out, 1); /* Ethernet */
	put32(out, (uint32_t)wire + 4); /* with FCS */
	put32(out, 4); /* stripped */
	put32(out, (uint32_t)header);
	put_bytes(out, frame, header);
	for (size_t i = header; i < padded; i++)
		put8(out, 0);
	sampler->waiting++;
	if (sampler->waiting == SAMPLES)
		sampler_send(sampler);
}

static void sampler_take(struct sampler *sampler, const uint8_t *frame, size_t n, size_t wire)
{
	sampler->pool++;
	uint64_t x = sampler->random; /* xorshift (Marsaglia 2003) */
	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	sampler->random = x;
	if (x % sampler->n == 0)
		sampler_add(sampler, frame, n, wire);
}

/* ---- the interface -------------------------------------------------------------- */

static int packet_socket(const char *interface, int protocol)
{
	struct sockaddr_ll address = {.sll_family = AF_PACKET,
		.sll_protocol = htons((uint16_t)protocol),
		.sll_ifindex = (int)if_nametoindex(interface)};
	const int fd = socket(AF_PACKET, SOCK_RAW, htons((uint16_t)protocol));
	const int room = 16 << 20;
	const struct timeval patience = {.tv_usec = 200000};
	need(fd >= 0 && address.sll_ifindex > 0, interface);
	need(bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0, interface);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

int main(int argc, char **argv)
{
	static uint8_t bytes[OUTER_MAX + FRAME_MAX];
	static struct sampler sampler;
	const struct wrap *wrap = wraps;
	const bool sflow = argc == 5 && strcmp(argv[1], "sflow") == 0;
	int to = -1;
	uint32_t sequence = 0;
	while (argc == 4 && wrap->name && strcmp(wrap->name, argv[1]) != 0)
		wrap++;
	if (!sflow && (argc != 4 || !wrap->name)) {
		fputs("usage: mirror_gen erspan1|erspan2|erspan3|vxlan FROM TO\n"
		      "       mirror_gen sflow FROM ADDRESS:PORT N\n",
			stderr);
		return 2;
	}
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	if (sflow)
		sampler_open(&sampler, argv[3], argv[2], argv[4]);
	else
		to = packet_socket(argv[3], 0);
	const int from = packet_socket(argv[2], ETH_P_ALL);
	while (!stopped) {
		struct sockaddr_ll address;
		socklen_t size = sizeof(address);
		uint8_t *frame = bytes + OUTER_MAX;
		const ssize_t got = recvfrom(
			from, frame, FRAME_MAX, MSG_TRUNC, (struct sockaddr *)&address, &size);
		if (got <= 0 || got > FRAME_MAX || address.sll_pkttype != PACKET_OUTGOING)
			continue;
		if (sflow) {
			sampler_take(&sampler, frame, (size_t)got, (size_t)got);
			continue;
		}
		uint8_t head[OUTER_MAX];
		struct out out = {.p = head};
		wrap->fn(&out, (size_t)got, sequence++);
		memcpy(frame - out.n, head, out.n);
		send(to, frame - out.n, out.n + (size_t)got, 0);
	}
	return 0;
}
