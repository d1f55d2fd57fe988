/* live_agentx - see live_agentx.h. Numbers in comments are sections of RFC 2741. */
#include "tests/fabric/live_agentx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/cleanup.h"

/* 6.1 */
enum { HEADER = 20, VERSION = 1, FLAG_CONTEXT = 0x08, FLAG_NETWORK_ORDER = 0x10 };
enum pdu {
	PDU_OPEN = 1,
	PDU_CLOSE = 2,
	PDU_REGISTER = 3,
	PDU_GET = 5,
	PDU_GETNEXT = 6,
	PDU_GETBULK = 7,
	PDU_TESTSET = 8,
	PDU_RESPONSE = 18
};
enum { TYPE_NO_INSTANCE = 129, TYPE_END_OF_VIEW = 130 };
enum { ERROR_NOT_WRITABLE = 17, ERROR_PARSE = 266, ERROR_CONTEXT = 262 };
enum { REASON_SHUTDOWN = 5, TIMEOUT_S = 5, PRIORITY_DEFAULT = 127 };

int agentx_oid_order(const struct agentx_oid *a, const struct agentx_oid *b)
{
	for (uint32_t i = 0; i < a->n && i < b->n; i++)
		if (a->v[i] != b->v[i])
			return a->v[i] < b->v[i] ? -1 : 1;
	return a->n == b->n ? 0 : a->n < b->n ? -1 : 1;
}

bool agentx_oid_read(const char *text, struct agentx_oid *ret)
{
	ret->n = 0;
	for (const char *p = text; ret->n < AGENTX_OID_MAX; p++) {
		char *end;
		ret->v[ret->n++] = (uint32_t)strtoul(p, &end, 10);
		if (end == p)
			return false;
		if (*end == '\0')
			return true;
		if (*end != '.')
			return false;
		p = end;
	}
	return false;
}

/* ---- reading: 5.1 to 5.3; each PDU says its own byte order --------------- */

struct pdu_in {
	struct bytes b;
	bool network;
	uint8_t type, flags;
	uint32_t session, transaction, packet;
};
static uint16_t in16(struct pdu_in *p)
{
	const uint16_t v = bytes_be16(&p->b);
	return p->network ? v : __builtin_bswap16(v);
}
static uint32_t in32(struct pdu_in *p)
{
	const uint32_t v = bytes_be32(&p->b);
	return p->network ? v : __builtin_bswap32(v);
}
static bool in_oid(struct pdu_in *p, struct agentx_oid *ret)
{
	static const uint32_t internet[] = {1, 3, 6, 1};
	const uint8_t n = bytes_u8(&p->b), prefix = bytes_u8(&p->b), include = bytes_u8(&p->b);
	bytes_skip(&p->b, 1);
	ret->n = 0;
	if (prefix) {
		memcpy(ret->v, internet, sizeof(internet));
		ret->v[4] = prefix;
		ret->n = 5;
	}
	for (unsigned i = 0; i < n; i++) {
		const uint32_t arc = in32(p);
		/* none of ours is that long: what is cut cannot change the order against ours */
		if (ret->n == AGENTX_OID_MAX) {
			continue;
		}
		ret->v[ret->n++] = arc;
	}
	return include != 0;
}

/* ---- writing ------------------------------------------------------------- */

struct pdu_out {
	uint8_t *v;
	size_t n, cap;
};
static void out_donep(struct pdu_out *o)
{
	free(o->v);
}
static void out8(struct pdu_out *o, unsigned v)
{
	rw_grow(o->v, o->n, o->cap);
	o->v[o->n++] = (uint8_t)v;
}
static void out16(struct pdu_out *o, unsigned v)
{
	out8(o, v >> 8 & 0xff);
	out8(o, v & 0xff);
}
static void out32(struct pdu_out *o, uint32_t v)
{
	out16(o, v >> 16);
	out16(o, v & 0xffff);
}
static void out_oid(struct pdu_out *o, const struct agentx_oid *oid)
{
	out8(o, oid->n);
	out8(o, 0); /* no prefix: spelt out */
	out16(o, 0);
	for (uint32_t i = 0; i < oid->n; i++)
		out32(o, oid->v[i]);
}
static void out_octets(struct pdu_out *o, const char *s, size_t n)
{
	out32(o, (uint32_t)n);
	for (size_t i = 0; i < n; i++)
		out8(o, (uint8_t)s[i]);
	while (n++ % 4)
		out8(o, 0);
}
static void out_header(
	struct pdu_out *o, enum pdu type, uint32_t session, uint32_t transaction, uint32_t packet)
{
	out8(o, VERSION);
	out8(o, type);
	out8(o, FLAG_NETWORK_ORDER);
	out8(o, 0);
	out32(o, session);
	out32(o, transaction);
	out32(o, packet);
	out32(o, 0); /* the length, when it is known */
}
static void out_value(
	struct pdu_out *o, const struct agentx_oid *name, const struct agentx_value *v)
{
	out16(o, v->type);
	out16(o, 0);
	out_oid(o, name);
	if (v->type == AGENTX_OCTETS)
		out_octets(o, v->text, v->n_text);
	else if (v->type == AGENTX_COUNTER64) {
		out32(o, (uint32_t)(v->number >> 32));
		out32(o, (uint32_t)v->number);
	} else
		out32(o, (uint32_t)v->number);
}
static void out_nothing(struct pdu_out *o, unsigned type, const struct agentx_oid *name)
{
	out16(o, type);
	out16(o, 0);
	out_oid(o, name);
}

static int send_pdu(int fd, struct pdu_out *o)
{
	const uint32_t n = (uint32_t)(o->n - HEADER);
	for (unsigned i = 0; i < 4; i++)
		o->v[16 + i] = (uint8_t)(n >> (24 - 8 * i));
	for (size_t at = 0; at < o->n;) {
		const ssize_t w = send(fd, o->v + at, o->n - at, MSG_NOSIGNAL);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return w < 0 ? -errno : -EPIPE;
		at += (size_t)w;
	}
	return 0;
}

/* ---- answers: 7.2.3 ------------------------------------------------------ */

static void answer_get(struct agentx *x, struct pdu_in *p, struct pdu_out *o)
{
	struct agentx_oid name, end;
	struct agentx_value v;
	while (bytes_left(&p->b) > 0) {
		in_oid(p, &name);
		in_oid(p, &end);
		if (!bytes_ok(&p->b))
			return;
		if (x->ops->get(x->data, &name, &v))
			out_value(o, &name, &v);
		else
			out_nothing(o, TYPE_NO_INSTANCE, &name);
	}
}

struct range {
	struct agentx_oid at, end;
	bool include, over;
};

static void answer_next(struct agentx *x, struct range *r, struct pdu_out *o)
{
	struct agentx_oid name;
	struct agentx_value v;
	if (!r->over && x->ops->next(x->data, &r->at, r->include, &r->end, &name, &v)) {
		out_value(o, &name, &v);
		r->at = name;
		r->include = false;
		return;
	}
	r->over = true;
	out_nothing(o, TYPE_END_OF_VIEW, &r->at);
}

/* GETNEXT is a GETBULK whose ranges are all asked once. */
static void answer_bulk(struct agentx *x, struct pdu_in *p, struct pdu_out *o)
{
	unsigned once = UINT16_MAX, times = 0;
	rw_cleanup(freep) struct range *ranges = NULL;
	size_t n = 0, cap = 0;
	if (p->type == PDU_GETBULK) {
		once = in16(p);
		times = in16(p);
	}
	while (bytes_left(&p->b) > 0) {
		rw_grow(ranges, n, cap);
		ranges[n].include = in_oid(p, &ranges[n].at);
		in_oid(p, &ranges[n].end);
		ranges[n].over = false;
		if (!bytes_ok(&p->b))
			return;
		n++;
	}
	for (size_t i = 0; i < n && i < once; i++)
		answer_next(x, &ranges[i], o);
	for (unsigned k = 0; k < times && o->n < AGENTX_PDU_MAX / 2; k++)
		for (size_t i = once; i < n; i++)
			answer_next(x, &ranges[i], o);
}

static int answer(struct agentx *x, struct pdu_in *p)
{
	rw_cleanup(out_donep) struct pdu_out o = {0};
	unsigned error = 0;
	out_header(&o, PDU_RESPONSE, p->session, p->transaction, p->packet);
	out32(&o, 0);
	out32(&o, 0); /* error and index */
	if (p->flags & FLAG_CONTEXT)
		error = ERROR_CONTEXT;
	else if (p->type == PDU_GET)
		answer_get(x, p, &o);
	else if (p->type == PDU_GETNEXT || p->type == PDU_GETBULK)
		answer_bulk(x, p, &o);
	else if (p->type == PDU_TESTSET)
		error = ERROR_NOT_WRITABLE;
	else
		return 0; /* CommitSet and the like follow a test that was passed; none is */
	if (!bytes_ok(&p->b))
		error = ERROR_PARSE;
	if (error) {
		o.n = HEADER + 8;
		o.v[HEADER + 4] = (uint8_t)(error >> 8);
		o.v[HEADER + 5] = (uint8_t)error;
	}
	x->requests++;
	return send_pdu(x->fd, &o);
}

static void take_header(const uint8_t *v, struct pdu_in *p, uint32_t *ret_length)
{
	*p = (struct pdu_in){.b = bytes_of(v, HEADER)};
	bytes_skip(&p->b, 1);
	p->type = bytes_u8(&p->b);
	p->flags = bytes_u8(&p->b);
	p->network = p->flags & FLAG_NETWORK_ORDER;
	bytes_skip(&p->b, 1);
	p->session = in32(p);
	p->transaction = in32(p);
	p->packet = in32(p);
	*ret_length = in32(p);
}

/* receive - one read; -EAGAIN when nothing is there. */
static int receive(struct agentx *x, int flags)
{
	if (x->cap_in - x->n_in < 4096) {
		x->cap_in = x->cap_in ? x->cap_in * 2 : 16384;
		x->in = rw_realloc(x->in, x->cap_in);
	}
	const ssize_t n = recv(x->fd, x->in + x->n_in, x->cap_in - x->n_in, flags);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (n == 0)
		return -EPIPE;
	x->n_in += (size_t)n;
	return 0;
}

/* whole - the first PDU received, if all of it is there: 1, else 0; -EPROTO when it cannot be one.
 */
static int whole(const struct agentx *x, struct pdu_in *p, size_t *ret_n)
{
	uint32_t length;
	if (x->n_in < HEADER)
		return 0;
	take_header(x->in, p, &length);
	if (x->in[0] != VERSION || length > AGENTX_PDU_MAX || length % 4)
		return -EPROTO;
	if (x->n_in < HEADER + length)
		return 0;
	p->b = bytes_of(x->in + HEADER, length);
	*ret_n = HEADER + length;
	return 1;
}

static void drop(struct agentx *x, size_t n)
{
	x->n_in -= n;
	memmove(x->in, x->in + n, x->n_in);
}

int agentx_serve(struct agentx *x)
{
	struct pdu_in p;
	size_t n;
	int rc = receive(x, MSG_DONTWAIT);
	if (rc != 0)
		return rc == -EAGAIN ? 0 : rc;
	while ((rc = whole(x, &p, &n)) == 1) {
		if (p.type == PDU_CLOSE)
			return -EPIPE;
		if (p.type != PDU_RESPONSE && (rc = answer(x, &p)) != 0)
			return rc;
		drop(x, n);
	}
	return rc;
}

/* ask - send @o and wait for its response: 0, -EPROTO when the master refuses. Requests that come
 * meanwhile wait in the buffer of the socket. */
static int ask(struct agentx *x, struct pdu_out *o, uint32_t *ret_session)
{
	struct pdu_in p;
	size_t n;
	int rc = send_pdu(x->fd, o);
	while (rc == 0) {
		while ((rc = whole(x, &p, &n)) == 0)
			if ((rc = receive(x, 0)) != 0)
				return rc;
		if (rc < 0)
			return rc;
		if (p.type == PDU_RESPONSE) {
			bytes_skip(&p.b, 4);
			rc = in16(&p) == 0 && bytes_ok(&p.b) ? 0 : -EPROTO;
			*ret_session = p.session;
			drop(x, n);
			return rc;
		}
		rc = answer(x, &p);
		drop(x, n);
	}
	return rc;
}

static int session_open(struct agentx *x, const char *name)
{
	rw_cleanup(out_donep) struct pdu_out o = {0};
	const struct agentx_oid none = {0};
	out_header(&o, PDU_OPEN, 0, 0, x->packet++);
	out32(&o, (uint32_t)TIMEOUT_S << 24);
	out_oid(&o, &none);
	out_octets(&o, name, strlen(name));
	return ask(x, &o, &x->session);
}

static int subtree_register(struct agentx *x, const char *subtree)
{
	rw_cleanup(out_donep) struct pdu_out o = {0};
	struct agentx_oid oid;
	uint32_t session;
	if (!agentx_oid_read(subtree, &oid))
		return -EINVAL;
	out_header(&o, PDU_REGISTER, x->session, 0, x->packet++);
	out8(&o, 0); /* the session's timeout */
	out8(&o, PRIORITY_DEFAULT);
	out16(&o, 0);
	out_oid(&o, &oid);
	return ask(x, &o, &session);
}

int agentx_open(struct agentx *x, const char *path, const char *name, const char *const *subtrees,
	size_t n_subtrees, const struct agentx_ops *ops, void *data)
{
	const struct timeval wait = {.tv_sec = TIMEOUT_S};
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	*x = (struct agentx){.fd = -1, .ops = ops, .data = data};
	if (strlen(path) >= sizeof(a.sun_path))
		return -ENAMETOOLONG;
	strcpy(a.sun_path, path);
	x->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (x->fd < 0)
		return -errno;
	setsockopt(x->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
	setsockopt(x->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
	if (connect(x->fd, (const struct sockaddr *)&a, sizeof(a)) != 0)
		return -errno;
	int rc = session_open(x, name);
	for (size_t i = 0; i < n_subtrees && rc == 0; i++)
		rc = subtree_register(x, subtrees[i]);
	return rc;
}

void agentx_close(struct agentx *x)
{
	if (x->fd >= 0 && x->session) {
		rw_cleanup(out_donep) struct pdu_out o = {0};
		out_header(&o, PDU_CLOSE, x->session, 0, x->packet++);
		out32(&o, (uint32_t)REASON_SHUTDOWN << 24);
		send_pdu(x->fd, &o); /* a master that is gone already does not mind */
	}
	if (x->fd >= 0)
		close(x->fd);
	free(x->in);
	*x = (struct agentx){.fd = -1};
}
