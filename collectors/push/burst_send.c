/* burst_send - a queue of rings, and the parts of the first one. */
#include "collectors/push/burst_send.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "collectors/push/burst.h"

#define PAUSE (10 * NS_PER_MS)
#define PARTS_PER_TURN 2 /* 9 MB a second */
enum { ID_MAX = 32 };

struct send_item {
	char id[ID_MAX];
	const char *device;
	struct burst *burst;
	int64_t from_ns, to_ns;
};

struct burst_send {
	struct sink sink;
	struct loop_timer *timer;
	struct send_item items[BURST_SEND_MAX];
	size_t n;
	uint8_t *data; /* of the first one; NULL: not begun */
	size_t n_data;
	int64_t t_ns, from_ns, to_ns; /* of .data */
	unsigned part, parts;
	uint64_t refused;
};

uint64_t burst_send_refused(const struct burst_send *send)
{
	return send->refused;
}

static void send_span(void *arg, const struct burst_field *field, const int64_t *t_ns,
	const uint64_t *v, size_t n)
{
	struct burst_send *send = arg;
	if (send->from_ns == 0 || t_ns[0] < send->from_ns)
		send->from_ns = t_ns[0];
	if (t_ns[n - 1] > send->to_ns)
		send->to_ns = t_ns[n - 1];
}

static void send_done(struct burst_send *send)
{
	free(send->data);
	send->data = NULL;
	for (size_t i = 1; i < send->n; i++)
		send->items[i - 1] = send->items[i];
	send->n--;
}

/* False: the first ring holds nothing of that time. */
static bool send_begin(struct burst_send *send)
{
	const struct send_item *item = &send->items[0];
	send->n_data = burst_write(item->burst, item->from_ns, item->to_ns, &send->data);
	if (send->n_data == 0)
		return false;
	send->from_ns = send->to_ns = 0;
	burst_read(send->data, send->n_data, send_span, send);
	send->t_ns = wall_now().ns;
	send->part = 0;
	send->parts = (unsigned)((send->n_data + BURST_PART - 1) / BURST_PART);
	return true;
}

static void send_part(struct burst_send *send)
{
	const struct send_item *item = &send->items[0];
	if (!send->data && !send_begin(send)) {
		send_done(send);
		return;
	}
	const size_t at = (size_t)send->part * BURST_PART;
	size_t n = send->n_data - at;
	if (n > BURST_PART)
		n = BURST_PART;
	const struct collector_burst part = {.incident = item->id,
		.device = item->device,
		.t_ns = send->t_ns,
		.from_ns = send->from_ns,
		.to_ns = send->to_ns,
		.part = send->part++,
		.parts = send->parts,
		.data = send->data + at,
		.n = n};
	if (send->sink.burst)
		send->sink.burst(send->sink.arg, &part);
	if (send->part == send->parts)
		send_done(send);
}

static void send_on_timer(void *arg)
{
	struct burst_send *send = arg;
	for (int i = 0; i < PARTS_PER_TURN && send->n > 0; i++)
		send_part(send);
	if (send->n == 0)
		loop_timer_stop(send->timer);
}

void burst_send_add(struct burst_send *send, const char *id, const char *device,
	struct burst *burst, int64_t from_ns, int64_t to_ns)
{
	if (send->n == BURST_SEND_MAX) {
		send->refused++;
		return;
	}
	struct send_item *item = &send->items[send->n++];
	*item = (struct send_item){
		.device = device, .burst = burst, .from_ns = from_ns, .to_ns = to_ns};
	snprintf(item->id, sizeof(item->id), "%s", id);
	if (send->n == 1)
		loop_timer_start(send->timer, 0, PAUSE);
}

struct burst_send *burst_send_new(struct loop *loop, const struct sink *sink)
{
	struct burst_send *send = rw_calloc(1, sizeof(*send));
	send->sink = *sink;
	send->timer = loop_timer_new(loop, send_on_timer, send);
	return send;
}

void burst_send_free(struct burst_send *send)
{
	if (!send)
		return;
	loop_timer_free(send->timer);
	free(send->data);
	free(send);
}
