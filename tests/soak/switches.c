/*
 * switches SWITCHES PORTS [UDPPORT [ADDRESS]] - simulated switches at 127.2.0.1.., which answer
 * SNMPv2c as the profile "generic" asks, honestly or not. Nothing is stored: each answer is
 * computed, so a switch may have 250,000 ports. Commands on standard input, one a line; the first
 * switch is 0:
 *
 *      KIND SWITCH       honest, mute, and the hostile kinds in the table below
 *      ports SWITCH N    so many ports from now on
 *      restart SWITCH    sysUpTime and all counters begin again
 *      rename SWITCH     its port 1 gets a new name
 *      pause SWITCH FIRST LAST RX TX
 *                        from now on these ports are paused, and pause their neighbour, so many
 *                        thousandths of the time (priority 3; asked by the profile "nxos")
 *      counts            prints how many polls each switch has answered, in one line
 *
 * It ends with its standard input. SNMP message: RFC 1157, RFC 3416, BER with definite lengths.
 */
#include <arpa/inet.h>
#include <err.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { OID_MAX = 20, ASKED_MAX = 128, ANSWER_MAX = 1400, HEAD_ROOM = 128, DATAGRAM_MAX = 65507 };
enum { PAUSES_MAX = 8, PAUSED_PRIORITY = 3, PAUSE_FRAME_US = 50 };
enum {
	INTEGER = 2,
	STRING = 4,
	OBJECT = 6,
	COUNTER = 0x41,
	GAUGE = 0x42,
	TICKS = 0x43,
	C64 = 0x46
};
enum { NO_INSTANCE = 0x81, END_OF_VIEW = 0x82, GET = 0xa0, RESPONSE = 0xa2, GETBULK = 0xa5 };

enum kind { HONEST, MUTE, CHURN, LONG_NAMES, GARBAGE, SLOW, ENDLESS, KINDS };
static const struct {
	const char *name, *doc;
} kinds[KINDS] = {
	[HONEST] = {"honest", "answers at once"},
	[MUTE] = {"mute", "never answers"},
	[CHURN] = {"churn", "all its ports have new names in each poll"},
	[LONG_NAMES] = {"long", "its names fill a datagram of 64 KB"},
	[GARBAGE] = {"garbage", "and sends rubbish to who asks, as fast as it can"},
	[SLOW] = {"slow", "answers after 0.9 s, one value at a time"},
	[ENDLESS] = {"endless", "its tables have no last row"},
};

struct pause {
	uint32_t first, last; /* ports */
	uint32_t rx, tx; /* thousandths of the time */
	int64_t since_ns;
};

struct device {
	int fd;
	enum kind kind;
	uint32_t ports, renamed;
	int64_t boot_ns;
	struct pause pauses[PAUSES_MAX];
	size_t n_pauses;
	uint64_t polls;
	struct sockaddr_in asker; /* who gets garbage */
};
static struct device *devices;
static int n_devices;

struct object {
	uint32_t oid[13];
	uint8_t n;
	uint8_t type;
	bool table;
	uint16_t column;
	bool by_priority; /* a row is a port and PAUSED_PRIORITY */
};
/* In the order of their OIDs. */
#define SCALAR(type, ...)                                                                          \
	{                                                                                          \
		{__VA_ARGS__}, sizeof((uint32_t[]){__VA_ARGS__}) / 4, type, false, 0, false        \
	}
#define IF(type, column)                                                                           \
	{                                                                                          \
		{1, 3, 6, 1, 2, 1, 2, 2, 1, column}, 10, type, true, column, false                 \
	}
#define IFX(type, column)                                                                          \
	{                                                                                          \
		{1, 3, 6, 1, 2, 1, 31, 1, 1, 1, column}, 11, type, true, 100 + column, false       \
	}
#define PFC(table, type, column)                                                                   \
	{                                                                                          \
		{1, 3, 6, 1, 4, 1, 9, 9, 813, 1, table, 1, column}, 13, type, true,                \
			200 + 10 * table + column, true                                            \
	}
static const struct object objects[] = {
	SCALAR(STRING, 1, 3, 6, 1, 2, 1, 1, 1, 0), /* sysDescr */
	SCALAR(OBJECT, 1, 3, 6, 1, 2, 1, 1, 2, 0), /* sysObjectID */
	SCALAR(TICKS, 1, 3, 6, 1, 2, 1, 1, 3, 0), /* sysUpTime */
	SCALAR(STRING, 1, 3, 6, 1, 2, 1, 1, 5, 0), /* sysName */
	SCALAR(INTEGER, 1, 3, 6, 1, 2, 1, 2, 1, 0), /* ifNumber */
	IF(INTEGER, 1), IF(STRING, 2), IF(INTEGER, 3), IF(INTEGER, 4), IF(GAUGE, 5), IF(INTEGER, 8),
	IF(COUNTER, 13), IF(COUNTER, 14), IF(COUNTER, 19), IF(COUNTER, 20), IFX(STRING, 1),
	IFX(C64, 6), IFX(C64, 7), IFX(C64, 8), IFX(C64, 9), IFX(C64, 10), IFX(C64, 11),
	IFX(C64, 12), IFX(C64, 13), IFX(GAUGE, 15), IFX(STRING, 18), IFX(TICKS, 19),
	SCALAR(TICKS, 1, 3, 6, 1, 2, 1, 31, 1, 5, 0), /* ifTableLastChange */
	PFC(2, C64, 2), PFC(2, C64, 3), /* frames sent, received: CISCO-PFC-EXT-MIB */
	PFC(4, C64, 2), PFC(4, C64, 3), /* us paused, pausing */
};
enum { OBJECTS = sizeof(objects) / sizeof(objects[0]), UPTIME = 2, IF_NUMBER = 4 };

static int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- writing BER --------------------------------------------------------- */

struct out {
	uint8_t v[HEAD_ROOM + DATAGRAM_MAX];
	size_t from, to; /* what is there */
};

static void put_length(struct out *out, size_t n)
{
	if (n > 0x7f) {
		out->v[out->to++] = 0x82;
		out->v[out->to++] = (uint8_t)(n >> 8);
	}
	out->v[out->to++] = (uint8_t)n;
}

/* Always four bytes, in front of what is there. */
static void wrap(struct out *out, uint8_t tag)
{
	const size_t n = out->to - out->from;
	out->from -= 4;
	out->v[out->from] = tag;
	out->v[out->from + 1] = 0x82;
	out->v[out->from + 2] = (uint8_t)(n >> 8);
	out->v[out->from + 3] = (uint8_t)n;
}

static size_t oid_bytes(uint8_t *to, const uint32_t *oid, size_t n)
{
	size_t k = 0;
	to[k++] = (uint8_t)(oid[0] * 40 + oid[1]);
	for (size_t i = 2; i < n; i++)
		for (int shift = 28; shift >= 0; shift -= 7)
			if (shift == 0 || oid[i] >> shift)
				to[k++] = (uint8_t)((oid[i] >> shift & 0x7f) | (shift ? 0x80 : 0));
	return k;
}

/* ---- what a switch says -------------------------------------------------- */

static size_t number_bytes(uint8_t *to, uint8_t type, uint64_t value)
{
	size_t n = type == C64 ? 8 : 5;
	if (type == C64)
		value &= INT64_MAX;
	else
		value &= type == INTEGER ? 0x7fffffff : 0xffffffff;
	for (size_t i = 0; i < n; i++)
		to[i] = i + 8 < n ? 0 : (uint8_t)(value >> (8 * (n - 1 - i)));
	return n;
}

static size_t name_bytes(const struct device *device, uint32_t port, uint8_t *to)
{
	char text[64];
	const uint64_t polls = device->polls;
	if (device->kind == CHURN)
		snprintf(text, sizeof(text), "x%llu-%u", (unsigned long long)polls, port);
	else if (port == 1 && device->renamed)
		snprintf(text, sizeof(text), "eth1-%u", device->renamed);
	else
		snprintf(text, sizeof(text), "eth%u", port);
	size_t n = strlen(text);
	memcpy(to, text, n);
	if (device->kind == LONG_NAMES) {
		memset(to + n, 'x', 60000 - n);
		n = 60000;
	}
	return n;
}

/* For how long @port has been paused so far (@rx), or has paused its neighbour. */
static uint64_t pause_us(const struct device *device, uint32_t port, bool rx)
{
	uint64_t us = 0;
	for (size_t k = 0; k < device->n_pauses; k++) {
		const struct pause *p = &device->pauses[k];
		if (port >= p->first && port <= p->last)
			us += (uint64_t)(now_ns() - p->since_ns) / 1000 * (rx ? p->rx : p->tx) /
				1000;
	}
	return us;
}

static uint64_t number_of(const struct device *device, const struct object *object, uint32_t port)
{
	uint64_t us = (uint64_t)(now_ns() - device->boot_ns) / 1000;
	const bool out = object->column >= 110 && object->column <= 113;
	if (out || (object->column >= 106 && object->column < 110))
		us -= pause_us(device, port, out); /* nothing moves while it is paused */
	const uint64_t moved = us / 1000 * 1000 * (port % 97 + 1) + object->column;
	switch (object->column) {
	case 1: return port;
	case 3: return 6;
	case 4: return 9216;
	case 5: return UINT32_MAX;
	case 8: return 1;
	case 13:
	case 14:
	case 19:
	case 20:
	case 119: return 0;
	case 115: return 400000;
	case 106:
	case 110: return moved * 1000;
	case 222: return pause_us(device, port, false) / PAUSE_FRAME_US;
	case 223: return pause_us(device, port, true) / PAUSE_FRAME_US;
	case 242: return pause_us(device, port, true);
	case 243: return pause_us(device, port, false);
	default: return moved;
	}
}

static size_t scalar_bytes(const struct device *device, size_t k, uint8_t *to)
{
	static const uint32_t net_snmp[] = {1, 3, 6, 1, 4, 1, 8072, 3, 2, 10};
	const char *text = k == 0 ? "simulated switch" : "soak";
	const uint64_t ticks = (uint64_t)(now_ns() - device->boot_ns) / 10000000;
	/* the names changed: in each poll, or with each command */
	const uint64_t changed = device->kind == CHURN ? device->polls : device->renamed;
	switch (objects[k].type) {
	case STRING: memcpy(to, text, strlen(text)); return strlen(text);
	case OBJECT: return oid_bytes(to, net_snmp, 10);
	case TICKS: return number_bytes(to, TICKS, k == UPTIME ? ticks + 1 : changed);
	default: return number_bytes(to, INTEGER, device->ports);
	}
}

static void put_value(struct out *out, const struct device *device, size_t k, uint32_t port)
{
	static uint8_t name[128], value[61000];
	uint32_t oid[OID_MAX];
	const struct object *o = &objects[k];
	size_t n = o->n, n_value;
	memcpy(oid, o->oid, sizeof(o->oid));
	if (o->table)
		oid[n++] = port;
	if (o->by_priority)
		oid[n++] = PAUSED_PRIORITY;
	const size_t n_name = oid_bytes(name, oid, n);
	if (!o->table)
		n_value = scalar_bytes(device, k, value);
	else if (o->type == STRING)
		n_value = o->column == 118 ? 0 : name_bytes(device, port, value);
	else
		n_value = number_bytes(value, o->type, number_of(device, o, port));
	const size_t head_value = n_value > 0x7f ? 4 : 2;
	out->v[out->to++] = 0x30;
	put_length(out, 2 + n_name + head_value + n_value);
	out->v[out->to++] = OBJECT;
	put_length(out, n_name);
	memcpy(out->v + out->to, name, n_name);
	out->to += n_name;
	out->v[out->to++] = o->type;
	put_length(out, n_value);
	memcpy(out->v + out->to, value, n_value);
	out->to += n_value;
}

static void put_nothing(struct out *out, const uint32_t *oid, size_t n, uint8_t tag)
{
	uint8_t name[128];
	const size_t n_name = oid_bytes(name, oid, n);
	const uint8_t head[] = {0x30, (uint8_t)(n_name + 4), OBJECT, (uint8_t)n_name};
	memcpy(out->v + out->to, head, sizeof(head));
	memcpy(out->v + out->to + 4, name, n_name);
	out->to += 4 + n_name;
	out->v[out->to++] = tag;
	out->v[out->to++] = 0;
}

/* ---- reading a request --------------------------------------------------- */

struct in {
	const uint8_t *at, *end;
};

static bool take(struct in *in, uint8_t *tag, struct in *ret)
{
	if (in->end - in->at < 2)
		return false;
	*tag = *in->at++;
	size_t n = *in->at++;
	if (n > 0x80 && n <= 0x83) {
		size_t more = n - 0x80;
		n = 0;
		while (more-- > 0 && in->at < in->end)
			n = n << 8 | *in->at++;
	}
	if ((size_t)(in->end - in->at) < n)
		return false;
	*ret = (struct in){in->at, in->at + n};
	in->at += n;
	return true;
}

static bool take_number(struct in *in, uint32_t *ret)
{
	uint8_t tag;
	struct in v;
	*ret = 0;
	if (!take(in, &tag, &v) || tag != INTEGER)
		return false;
	while (v.at < v.end)
		*ret = *ret << 8 | *v.at++;
	return true;
}

struct asked {
	uint32_t oid[OID_MAX];
	size_t n;
	size_t object; /* of the answer; OBJECTS: none */
	uint32_t port;
};
struct request {
	uint8_t type;
	struct in community;
	uint32_t id, once, times;
	struct asked v[ASKED_MAX];
	size_t n;
};

static bool take_oid(struct in *list, struct asked *ret)
{
	uint8_t tag;
	struct in pair, name;
	if (!take(list, &tag, &pair) || !take(&pair, &tag, &name) || tag != OBJECT ||
		name.at == name.end)
		return false;
	ret->oid[0] = *name.at / 40;
	ret->oid[1] = *name.at++ % 40;
	for (ret->n = 2; name.at < name.end && ret->n < OID_MAX; ret->n++) {
		uint32_t v = 0;
		do
			v = v << 7 | (*name.at & 0x7f);
		while ((*name.at++ & 0x80) && name.at < name.end);
		ret->oid[ret->n] = v;
	}
	return true;
}

static bool request_read(const uint8_t *bytes, size_t n, struct request *ret)
{
	struct in all = {bytes, bytes + n}, message, pdu, list;
	uint8_t tag;
	uint32_t version;
	ret->n = 0;
	if (!take(&all, &tag, &message) || !take_number(&message, &version) ||
		!take(&message, &tag, &ret->community) || !take(&message, &ret->type, &pdu))
		return false;
	if (!take_number(&pdu, &ret->id) || !take_number(&pdu, &ret->once) ||
		!take_number(&pdu, &ret->times) || !take(&pdu, &tag, &list))
		return false;
	while (list.at < list.end && ret->n < ASKED_MAX)
		if (!take_oid(&list, &ret->v[ret->n++]))
			return false;
	return true;
}

/* ---- answering ----------------------------------------------------------- */

static uint32_t last_port(const struct device *device)
{
	if (device->kind == ENDLESS)
		return UINT32_MAX - 1;
	return device->ports;
}

/* Is there a row of object @k behind (or at, with GET) @asked? */
static uint32_t row_of(const struct device *device, const struct asked *asked, size_t k, bool exact)
{
	const struct object *o = &objects[k];
	for (size_t i = 0; i < o->n; i++) {
		if (i == asked->n || asked->oid[i] < o->oid[i])
			return exact ? 0 : 1;
		if (asked->oid[i] > o->oid[i])
			return 0;
	}
	if (!o->table)
		return exact && asked->n == o->n;
	if (asked->n == o->n)
		return exact ? 0 : 1;
	bool behind = !exact;
	if (o->by_priority && !exact)
		behind = asked->n > o->n + 1u && asked->oid[o->n + 1] >= PAUSED_PRIORITY;
	const uint32_t row = asked->oid[o->n] + behind;
	if (row == 0 && !exact)
		return 1;
	return row <= last_port(device) ? row : 0;
}

static void look_up(const struct device *device, struct asked *asked, bool exact)
{
	for (asked->object = 0; asked->object < OBJECTS; asked->object++) {
		asked->port = row_of(device, asked, asked->object, exact);
		if (asked->port)
			return;
	}
}

static void step(const struct device *device, struct asked *asked)
{
	if (asked->object == OBJECTS)
		return;
	if (objects[asked->object].table && asked->port < last_port(device)) {
		asked->port++;
		return;
	}
	asked->object++;
	asked->port = 1;
}

static void put_asked(struct out *out, const struct device *device, const struct request *request,
	const struct asked *asked)
{
	if (asked->object < OBJECTS)
		put_value(out, device, asked->object, asked->port);
	else
		put_nothing(out, asked->oid, asked->n,
			request->type == GET ? NO_INSTANCE : END_OF_VIEW);
}

static bool asks_for(const struct request *request, size_t object)
{
	for (size_t i = 0; i < request->n; i++)
		if (request->v[i].object == object)
			return true;
	return false;
}

static void answer(struct device *device, struct request *request, struct out *out)
{
	const bool bulk = request->type == GETBULK;
	out->from = out->to = HEAD_ROOM;
	for (size_t i = 0; i < request->n; i++)
		look_up(device, &request->v[i], request->type == GET);
	if (request->type == GET && asks_for(request, UPTIME) && asks_for(request, IF_NUMBER))
		device->polls++;
	const uint32_t times = bulk && device->kind != SLOW ? request->times : 1;
	for (uint32_t k = 0; k < times || k == 0; k++)
		for (size_t i = 0; i < request->n; i++) {
			if (k > 0 && i < request->once)
				continue;
			if (out->to - out->from > ANSWER_MAX && k > 0)
				goto full;
			if (out->to + 62000 > sizeof(out->v))
				goto full;
			put_asked(out, device, request, &request->v[i]);
			step(device, &request->v[i]);
		}
full:
	wrap(out, 0x30);
	out->from -= 12;
	memcpy(out->v + out->from, (uint8_t[]){2, 4, 0, 0, 0, 0, 2, 1, 0, 2, 1, 0}, 12);
	for (int b = 0; b < 4; b++)
		out->v[out->from + 2 + b] = (uint8_t)(request->id >> (8 * (3 - b)));
	wrap(out, RESPONSE);
	const size_t n = (size_t)(request->community.end - request->community.at);
	out->from -= n + 5;
	memcpy(out->v + out->from, (uint8_t[]){2, 1, 1, 4, (uint8_t)n}, 5);
	memcpy(out->v + out->from + 5, request->community.at, n);
	wrap(out, 0x30);
}

static void send_late(struct device *device, const struct out *out, const struct sockaddr_in *to);

static void serve(struct device *device)
{
	static struct request request;
	static struct out out;
	static uint8_t in[DATAGRAM_MAX];
	for (int turn = 0; turn < 16; turn++) {
		struct sockaddr_in from;
		socklen_t n_from = sizeof(from);
		const ssize_t n =
			recvfrom(device->fd, in, sizeof(in), 0, (struct sockaddr *)&from, &n_from);
		if (n < 0)
			return;
		if (device->kind == MUTE || !request_read(in, (size_t)n, &request))
			continue;
		device->asker = from;
		answer(device, &request, &out);
		if (device->kind == SLOW)
			send_late(device, &out, &from);
		else
			sendto(device->fd, out.v + out.from, out.to - out.from, 0,
				(struct sockaddr *)&from, n_from);
	}
}

/* ---- what is late, and rubbish ------------------------------------------- */

enum { LATE_MAX = 64, LATE_NS = 900000000 };
static struct late {
	int fd;
	int64_t at_ns; /* 0: free */
	size_t n;
	uint8_t v[8192];
	struct sockaddr_in to;
} lates[LATE_MAX];

static void send_late(struct device *device, const struct out *out, const struct sockaddr_in *to)
{
	const size_t n = out->to - out->from;
	for (size_t i = 0; i < LATE_MAX; i++) {
		struct late *late = &lates[i];
		if (late->at_ns || n > sizeof(late->v))
			continue;
		*late = (struct late){
			.fd = device->fd, .at_ns = now_ns() + LATE_NS, .n = n, .to = *to};
		memcpy(late->v, out->v + out->from, n);
		return;
	}
}

static void send_due(void)
{
	const int64_t now = now_ns();
	for (size_t i = 0; i < LATE_MAX; i++) {
		struct late *late = &lates[i];
		if (!late->at_ns || late->at_ns > now)
			continue;
		sendto(late->fd, late->v, late->n, 0, (struct sockaddr *)&late->to,
			sizeof(late->to));
		late->at_ns = 0;
	}
}

/* True: something was sent. 64 datagrams a turn for each such switch. */
static bool send_garbage(void)
{
	static uint8_t bytes[1400];
	static uint64_t random = 88172645463325252u; /* xorshift64, Marsaglia 2003 */
	bool any = false;
	for (int i = 0; i < n_devices; i++) {
		struct device *d = &devices[i];
		if (d->kind != GARBAGE || !d->asker.sin_port)
			continue;
		any = true;
		for (int k = 0; k < 64; k++) {
			for (size_t b = 0; b < sizeof(bytes); b += 64) {
				random ^= random << 13;
				random ^= random >> 7;
				random ^= random << 17;
				memcpy(bytes + b, &random, sizeof(random));
			}
			bytes[0] = 0x30; /* every second one begins like a message */
			bytes[1] = k & 1 ? 0x82 : bytes[1];
			sendto(d->fd, bytes, sizeof(bytes), MSG_DONTWAIT,
				(struct sockaddr *)&d->asker, sizeof(d->asker));
		}
	}
	return any;
}

/* ---- commands ------------------------------------------------------------ */

static void print_counts(void)
{
	for (int i = 0; i < n_devices; i++)
		printf("%s%llu", i ? " " : "", (unsigned long long)devices[i].polls);
	printf("\n");
	fflush(stdout);
}

static void device_pause(struct device *device, const char *line)
{
	struct pause p = {.since_ns = now_ns()};
	if (device->n_pauses == PAUSES_MAX ||
		sscanf(line, "pause %*d %u %u %u %u", &p.first, &p.last, &p.rx, &p.tx) != 4)
		warnx("no such pause, or too many: %s", line);
	else
		device->pauses[device->n_pauses++] = p;
}

static void command(const char *line)
{
	char verb[16] = "";
	int which = -1;
	unsigned n = 0;
	if (sscanf(line, "%15s %d %u", verb, &which, &n) < 2 || which < 0 || which >= n_devices) {
		if (strncmp(line, "counts", 6) == 0)
			print_counts();
		else
			warnx("no such command: %s", line);
		return;
	}
	struct device *d = &devices[which];
	if (strcmp(verb, "ports") == 0)
		d->ports = n;
	else if (strcmp(verb, "pause") == 0)
		device_pause(d, line);
	else if (strcmp(verb, "restart") == 0)
		d->boot_ns = now_ns();
	else if (strcmp(verb, "rename") == 0)
		d->renamed++;
	for (enum kind k = 0; k < KINDS; k++)
		if (strcmp(verb, kinds[k].name) == 0)
			d->kind = k;
}

static bool read_commands(void)
{
	static char text[4096];
	static size_t used;
	const ssize_t n = read(0, text + used, sizeof(text) - 1 - used);
	if (n <= 0)
		return false;
	used += (size_t)n;
	text[used] = '\0';
	char *line = text, *newline;
	while ((newline = strchr(line, '\n'))) {
		*newline = '\0';
		command(line);
		line = newline + 1;
	}
	used -= (size_t)(line - text);
	memmove(text, line, used);
	return true;
}

static void open_devices(int ep, unsigned ports, unsigned udp, uint32_t first)
{
	devices = calloc((size_t)n_devices, sizeof(*devices));
	for (int i = 0; i < n_devices; i++) {
		struct device *d = &devices[i];
		const uint32_t address = first + (uint32_t)(i / 250 * 256 + i % 250);
		const struct sockaddr_in a = {.sin_family = AF_INET,
			.sin_port = htons((uint16_t)udp),
			.sin_addr.s_addr = htonl(address)};
		d->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		d->ports = ports;
		d->boot_ns = now_ns() - 86400LL * 1000000000;
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = d};
		if (d->fd < 0 || bind(d->fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
			epoll_ctl(ep, EPOLL_CTL_ADD, d->fd, &ev) < 0)
			err(1, "%s:%u", inet_ntoa(a.sin_addr), udp);
	}
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: switches SWITCHES PORTS [UDPPORT [ADDRESS]]; kinds:\n");
		for (enum kind k = 0; k < KINDS; k++)
			fprintf(stderr, "  %-8s %s\n", kinds[k].name, kinds[k].doc);
		return 2;
	}
	n_devices = atoi(argv[1]);
	const int ep = epoll_create1(EPOLL_CLOEXEC);
	open_devices(ep, (unsigned)atoi(argv[2]), argc > 3 ? (unsigned)atoi(argv[3]) : 1161,
		ntohl(inet_addr(argc > 4 ? argv[4] : "127.2.0.1")));
	struct epoll_event in = {.events = EPOLLIN};
	/* /dev/null and files end at once, and cannot be waited for */
	const bool commands = epoll_ctl(ep, EPOLL_CTL_ADD, 0, &in) == 0;
	if (!commands)
		err(1, "standard input must be a pipe");
	printf("serving\n");
	fflush(stdout);
	for (bool more = true; more;) {
		struct epoll_event ev[64];
		const int n = epoll_wait(ep, ev, 64, send_garbage() ? 0 : 100);
		for (int i = 0; i < n; i++) {
			if (ev[i].data.ptr)
				serve(ev[i].data.ptr);
			else
				more = read_commands();
		}
		send_due();
	}
	return 0;
}
