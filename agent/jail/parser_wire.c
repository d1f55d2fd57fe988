/* parser_wire - writes and reads the messages between the agent and its parsers. */
#include "agent/jail/parser_wire.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loop.h"

enum { CHANNEL_TURN_MESSAGES = 8 };

#define COUNT_MAX ((uint64_t)1 << 53) /* exact as a double; no interval counts further */
#define SQUARES_MAX 1e60
#define QP_MAX 0xffffffu /* 24 bits */

enum { TEXT_NONE, TEXT_GIVEN };

/* ---- writing ------------------------------------------------------------- */

void parser_out_begin(struct parser_out *out, enum parser_kind kind)
{
	out->n = 0;
	out->full = false;
	parser_put_u8(out, (uint8_t)kind);
}

void parser_put_bytes(struct parser_out *out, const void *data, size_t n)
{
	if (out->full || sizeof(out->b) - out->n < n) {
		out->full = true;
		return;
	}
	memcpy(out->b + out->n, data, n);
	out->n += n;
}

static void parser_put_number(struct parser_out *out, uint64_t value, int octets)
{
	uint8_t b[8];
	for (int i = 0; i < octets; i++)
		b[i] = (uint8_t)(value >> 8 * (octets - 1 - i));
	parser_put_bytes(out, b, (size_t)octets);
}

void parser_put_u8(struct parser_out *out, uint8_t value)
{
	parser_put_number(out, value, 1);
}

static void parser_put_u16(struct parser_out *out, uint16_t value)
{
	parser_put_number(out, value, 2);
}

void parser_put_u32(struct parser_out *out, uint32_t value)
{
	parser_put_number(out, value, 4);
}

void parser_put_u64(struct parser_out *out, uint64_t value)
{
	parser_put_number(out, value, 8);
}

void parser_put_f64(struct parser_out *out, double value)
{
	parser_put_u64(out, sample_of_f64(value));
}

void parser_put_text(struct parser_out *out, const char *text)
{
	if (!text) {
		parser_put_u8(out, TEXT_NONE);
		return;
	}
	const size_t n = strnlen(text, PARSER_TEXT_MAX - 1);
	parser_put_u8(out, TEXT_GIVEN);
	parser_put_u16(out, (uint16_t)n);
	parser_put_bytes(out, text, n);
}

/* ---- reading ------------------------------------------------------------- */

double parser_get_f64(struct bytes *in)
{
	const double value = sample_f64(bytes_be64(in));
	if (isfinite(value))
		return value;
	in->bad = true;
	return 0;
}

bool parser_get_bool(struct bytes *in)
{
	const uint8_t value = bytes_u8(in);
	if (value > 1)
		in->bad = true;
	return value == 1;
}

const char *parser_get_text(struct bytes *in, char buf[PARSER_TEXT_MAX])
{
	buf[0] = '\0';
	const uint8_t given = bytes_u8(in);
	if (given == TEXT_NONE)
		return NULL;
	const size_t n = bytes_be16(in);
	const uint8_t *text = NULL;
	if (given == TEXT_GIVEN && n < PARSER_TEXT_MAX)
		text = bytes_take(in, n);
	if (!text || memchr(text, '\0', n)) {
		in->bad = true;
		return buf;
	}
	memcpy(buf, text, n);
	buf[n] = '\0';
	return buf;
}

static uint64_t parser_get_count(struct bytes *in)
{
	const uint64_t value = bytes_be64(in);
	if (value <= COUNT_MAX)
		return value;
	in->bad = true;
	return 0;
}

static double parser_get_sum(struct bytes *in)
{
	const double value = parser_get_f64(in);
	if (value >= 0 && value <= SQUARES_MAX)
		return value;
	in->bad = true;
	return 0;
}

/* ---- rows of flows --------------------------------------------------------- */

static void parser_put_key(struct parser_out *out, const struct flow_key *key)
{
	parser_put_u8(out, key->family);
	parser_put_bytes(out, key->src, sizeof(key->src));
	parser_put_bytes(out, key->dst, sizeof(key->dst));
	parser_put_u16(out, key->src_port);
	parser_put_u32(out, key->dst_qp);
}

static void parser_get_key(struct bytes *in, struct flow_key *key)
{
	key->family = bytes_u8(in);
	if (key->family != 0 && key->family != 4 && key->family != 6)
		in->bad = true;
	const uint8_t *src = bytes_take(in, sizeof(key->src));
	const uint8_t *dst = bytes_take(in, sizeof(key->dst));
	if (src && dst) {
		memcpy(key->src, src, sizeof(key->src));
		memcpy(key->dst, dst, sizeof(key->dst));
	}
	key->src_port = bytes_be16(in);
	key->dst_qp = bytes_be32(in);
	if (key->dst_qp > QP_MAX)
		in->bad = true;
}

/* Where the numbers of a row are, in the order of the wire: one table for both directions. */
#define AT(field) offsetof(struct flow_sample, field)
#define PAIRS_AT(pairs)                                                                            \
	AT(pairs.before), AT(pairs.after), AT(pairs.before_sq), AT(pairs.after_sq),                \
		AT(pairs.product)
static const size_t flow_counts[] = {AT(packets), AT(octets), AT(ce), AT(ect), AT(cnp), AT(nak),
	AT(retransmits), AT(psn_gaps), AT(data_packets), AT(data_ect), AT(burst_bps), AT(copies),
	AT(capture_lost), AT(spray_octets), AT(lost[FLOW_LOST_BEFORE]), AT(lost[FLOW_LOST_BEYOND]),
	AT(lost[FLOW_LOST_READ]), AT(lost[FLOW_LOST_TIMER]), AT(lost[FLOW_LOST_ACK]),
	AT(lost[FLOW_LOST_RNR]), AT(missing), AT(reacts)};
static const size_t host_counts[] = {AT(answer.ce), AT(answer.slots), AT(answer.cnp),
	AT(answer.directions), AT(answer.answered), AT(reaction.cnp), AT(reaction.unattributed),
	AT(reaction.left_out), AT(reaction.all.n), AT(reaction.alone.n), AT(reaction.clear),
	AT(reaction.pressed), AT(reaction.spacings)};
static const size_t host_sums[] = {PAIRS_AT(reaction.all), PAIRS_AT(reaction.alone),
	AT(reaction.held), AT(reaction.held_sq), AT(reaction.allowed), AT(reaction.peak_bps),
	AT(reaction.spacing_s)};

static void parser_put_counts(
	struct parser_out *out, const struct flow_sample *flow, const size_t *offsets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value;
		memcpy(&value, (const uint8_t *)flow + offsets[i], sizeof(value));
		parser_put_u64(out, value);
	}
}

static void parser_get_counts(
	struct bytes *in, struct flow_sample *flow, const size_t *offsets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t value = parser_get_count(in);
		memcpy((uint8_t *)flow + offsets[i], &value, sizeof(value));
	}
}

static void parser_get_sums(struct bytes *in, struct flow_sample *flow)
{
	for (size_t i = 0; i < rw_countof(host_sums); i++) {
		const double value = parser_get_sum(in);
		memcpy((uint8_t *)flow + host_sums[i], &value, sizeof(value));
	}
}

void parser_put_flow(struct parser_out *out, const struct flow_sample *flow)
{
	parser_put_u64(out, (uint64_t)flow->from_ns);
	parser_put_u64(out, (uint64_t)flow->to_ns);
	parser_put_u32(out, flow->entity);
	parser_put_u32(out, flow->sampling);
	parser_put_u8(out, flow->dir);
	parser_put_u8(out, flow->total);
	parser_put_u8(out, flow->host);
	parser_put_key(out, &flow->key);
	parser_put_counts(out, flow, flow_counts, rw_countof(flow_counts));
	parser_put_u32(out, flow->flows);
	parser_put_f64(out, flow->sum_sq_octets);
	if (!flow->host)
		return;
	parser_put_counts(out, flow, host_counts, rw_countof(host_counts));
	parser_put_counts(out, flow, host_sums, rw_countof(host_sums)); /* as their bits */
}

static bool flow_interval_sane(const struct flow_sample *flow)
{
	return flow->from_ns >= 0 && flow->to_ns > flow->from_ns;
}

bool parser_get_flow(struct bytes *in, struct flow_sample *ret)
{
	struct flow_sample *flow = ret;
	memset(flow, 0, sizeof(*flow));
	flow->from_ns = (int64_t)bytes_be64(in);
	flow->to_ns = (int64_t)bytes_be64(in);
	flow->entity = bytes_be32(in);
	flow->sampling = bytes_be32(in);
	flow->dir = bytes_u8(in);
	flow->total = parser_get_bool(in);
	flow->host = parser_get_bool(in);
	parser_get_key(in, &flow->key);
	parser_get_counts(in, flow, flow_counts, rw_countof(flow_counts));
	flow->flows = bytes_be32(in);
	flow->sum_sq_octets = parser_get_sum(in);
	if (flow->host) {
		parser_get_counts(in, flow, host_counts, rw_countof(host_counts));
		parser_get_sums(in, flow);
	}
	if (flow->total && flow->host)
		in->bad = true;
	if (flow->reacts > REACTION_DOES_NOT_SLOW)
		in->bad = true;
	if (flow->dir > FLOW_DIR_OUT || !flow_interval_sane(flow))
		in->bad = true;
	return bytes_ok(in);
}

/* ---- samples ------------------------------------------------------------- */

void parser_put_sample(struct parser_out *out, const struct sample *sample)
{
	parser_put_u64(out, (uint64_t)sample->t_ns);
	parser_put_u64(out, sample->value);
	parser_put_u32(out, sample->entity);
	parser_put_u16(out, sample->metric);
	parser_put_u16(out, sample->flags);
	parser_put_u32(out, sample->window_ms);
}

#define FLAGS_KNOWN (SF_RESTART | SF_WRAP32 | SF_ESTIMATED | SF_SUSPECT | SF_LATE | SF_DECLARED)

bool parser_get_sample(struct bytes *in, bool pushed, struct sample *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->t_ns = (int64_t)bytes_be64(in);
	ret->value = bytes_be64(in);
	ret->entity = bytes_be32(in);
	ret->metric = bytes_be16(in);
	ret->flags = bytes_be16(in);
	ret->window_ms = bytes_be32(in);
	ret->source = SOURCE_SFLOW;
	if (pushed)
		ret->source = SOURCE_PUSH;
	const struct metric_info *metric = metric_info(ret->metric);
	if (!metric || metric->type == TYPE_TEXT || (metric->scope != SCOPE_PORT && !pushed))
		in->bad = true;
	else if (metric->type == TYPE_F64 && !isfinite(sample_f64(ret->value)))
		in->bad = true;
	if (ret->flags & ~(unsigned)FLAGS_KNOWN || ret->t_ns < 0)
		in->bad = true;
	return bytes_ok(in);
}

/* parser_channel - a socket of datagrams that arrive whole and in order, with a bounded queue. */

struct channel_waiting { /* one message, its bytes behind it */
	struct channel_waiting *next;
	size_t n;
	uint8_t data[];
};

struct parser_channel {
	int fd;
	struct loop_fd *watch;
	struct parser_channel_options options;
	struct channel_waiting *first, **last;
	size_t waiting; /* bytes */
	bool held, closed, told;
	uint64_t received;
	uint8_t in[PARSER_MESSAGE_MAX];
};

/* ---- sending ------------------------------------------------------------- */

static void channel_events(struct parser_channel *channel)
{
	int events = 0;
	if (channel->closed)
		return;
	if (!channel->held)
		events |= LOOP_READ;
	if (channel->first)
		events |= LOOP_WRITE;
	loop_fd_events(channel->watch, events);
}

static void channel_close(struct parser_channel *channel)
{
	if (channel->closed)
		return;
	loop_fd_events(channel->watch, 0);
	channel->closed = true;
}

static void channel_tell_closed(struct parser_channel *channel)
{
	channel_close(channel);
	if (channel->told)
		return;
	channel->told = true;
	channel->options.closed(channel->options.arg);
}

/* 1 sent, 0 there is no room now, -1 the other end is gone. */
static int channel_send_now(struct parser_channel *channel, const void *data, size_t n)
{
	ssize_t sent;
	do
		sent = send(channel->fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return 1;
	if (errno == EAGAIN || errno == ENOBUFS)
		return 0;
	return -1;
}

static void channel_drop_first(struct parser_channel *channel)
{
	struct channel_waiting *first = channel->first;
	channel->first = first->next;
	if (!channel->first)
		channel->last = &channel->first;
	channel->waiting -= first->n;
	free(first);
}

static void channel_send_waiting(struct parser_channel *channel)
{
	while (channel->first && !channel->closed) {
		const int rc = channel_send_now(channel, channel->first->data, channel->first->n);
		if (rc == 0)
			break;
		if (rc < 0) {
			/* what it sent before it went is still to be read */
			while (channel->first)
				channel_drop_first(channel);
			break;
		}
		channel_drop_first(channel);
	}
	channel_events(channel);
}

bool parser_channel_send(struct parser_channel *channel, const struct parser_out *out)
{
	if (out->full || channel->closed)
		return false;
	if (!channel->first) {
		const int rc = channel_send_now(channel, out->b, out->n);
		if (rc != 0)
			return rc > 0;
	}
	if (channel->waiting + out->n > channel->options.queue_max)
		return false;
	struct channel_waiting *w = rw_calloc(1, sizeof(*w) + out->n);
	w->n = out->n;
	memcpy(w->data, out->b, out->n);
	*channel->last = w;
	channel->last = &w->next;
	channel->waiting += w->n;
	channel_events(channel);
	return true;
}

/* ---- receiving ----------------------------------------------------------- */

/* False when there is nothing more now. */
static bool channel_take_one(struct parser_channel *channel)
{
	ssize_t n;
	/* ECONNRESET comes once, when the other end went without having read all: what it sent
	 * before is still there */
	do
		n = recv(channel->fd, channel->in, sizeof(channel->in), MSG_DONTWAIT | MSG_TRUNC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n < 0 && errno == EAGAIN)
		return false;
	if (n <= 0) {
		channel_tell_closed(channel);
		return false;
	}
	channel->received += (uint64_t)n;
	/* longer than any message: it arrives as one without a kind, which nobody accepts */
	if ((size_t)n > sizeof(channel->in))
		n = 0;
	channel->options.message(channel->options.arg, channel->in, (size_t)n);
	return true;
}

static void channel_on_ready(void *arg, int events)
{
	struct parser_channel *channel = arg;
	if (events & LOOP_WRITE)
		channel_send_waiting(channel);
	if (!(events & LOOP_READ))
		return;
	for (int i = 0; i < CHANNEL_TURN_MESSAGES && !channel->held && !channel->closed; i++)
		if (!channel_take_one(channel))
			return;
}

void parser_channel_hold(struct parser_channel *channel, bool hold)
{
	channel->held = hold;
	channel_events(channel);
}

void parser_channel_flush(struct parser_channel *channel, int ms)
{
	const int64_t until_ns = mono_now().ns + ms * NS_PER_MS;
	while (channel->first && !channel->closed) {
		struct pollfd p = {.fd = channel->fd, .events = POLLOUT};
		const int64_t left_ns = until_ns - mono_now().ns;
		if (left_ns <= 0)
			return;
		poll(&p, 1, (int)(left_ns / NS_PER_MS) + 1);
		channel_send_waiting(channel);
	}
}

void parser_channel_drain(struct parser_channel *channel, mono_t until, bool (*enough)(void *arg))
{
	while (!channel->closed && !enough(channel->options.arg)) {
		struct pollfd p = {.fd = channel->fd, .events = POLLIN};
		const int64_t left_ns = until.ns - mono_now().ns;
		if (left_ns <= 0)
			return;
		if (channel->first)
			channel_send_waiting(channel);
		poll(&p, 1, (int)(left_ns / NS_PER_MS) + 1);
		channel_take_one(channel);
	}
}

size_t parser_channel_waiting(const struct parser_channel *channel)
{
	return channel->waiting;
}

uint64_t parser_channel_received(const struct parser_channel *channel)
{
	return channel->received;
}

/* ---- life ---------------------------------------------------------------- */

struct parser_channel *parser_channel_new(
	struct loop *loop, int fd, const struct parser_channel_options *options)
{
	struct parser_channel *c = rw_calloc(1, sizeof(*c));
	c->fd = fd;
	c->options = *options;
	c->last = &c->first;
	c->watch = loop_fd_new(loop, fd, LOOP_READ, channel_on_ready, c);
	if (c->watch)
		return c;
	free(c);
	return NULL;
}

void parser_channel_free(struct parser_channel *channel)
{
	if (!channel)
		return;
	loop_fd_free(channel->watch);
	while (channel->first)
		channel_drop_first(channel);
	close(channel->fd);
	free(channel);
}
