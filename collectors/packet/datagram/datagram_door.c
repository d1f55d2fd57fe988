/* datagram_door - from a socket to datagrams of those who may send, interval by interval. */
#include "collectors/packet/datagram/datagram_door.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"
#include "collectors/packet/datagram/datagram_io.h"

#define TICK (100 * NS_PER_MS)
#define SKIP_INTERVALS 16 /* a clock that jumps further leaves no empty intervals behind */

static void door_stranger(struct datagram_door *door, const uint8_t source[16])
{
	char host[ADDRESS_TEXT_MAX];
	address_text(host, source);
	door->from_strangers++;
	complain(&door->strange, loop_now(door->loop), LOG_WARN_, door->name,
		"%s from %s, which is not allowed: not read. %s", door->protocol->word, host,
		door->protocol->stranger_step);
	refused_add(&door->strangers, host);
}

static void door_datagram(void *arg, const uint8_t source[16], const uint8_t *data, size_t n)
{
	struct datagram_door *door = arg;
	if (!datagram_senders_allow(door->senders, source)) {
		door_stranger(door, source);
		return;
	}
	door->datagrams++;
	door->protocol->take(door->arg, source, data, n);
}

/* ---- intervals --------------------------------------------------------------- */

static void door_drops(struct datagram_door *door)
{
	char step[160];
	const uint64_t drops = datagram_io_drops(door->io);
	const mono_t now = loop_now(door->loop);
	if (drops > door->drops) {
		door->target.errors++;
		door->protocol->dropped_step(step, sizeof(step), datagram_io_buffer(door->io));
		complain(&door->dropped, now, LOG_WARN_, door->name,
			"the kernel dropped %llu %s datagrams that nobody read in time: %s",
			(unsigned long long)(drops - door->drops), door->protocol->word, step);
	} else {
		complaint_over(&door->dropped, now, door->name, "no more dropped datagrams");
	}
	door->drops = drops;
}

static void door_end(struct datagram_door *door, int64_t end_ns)
{
	const mono_t begin = mono_now();
	door->protocol->end(door->arg, end_ns);
	door_drops(door);
	const mono_t now = mono_now();
	target_polled(&door->target, (double)(now.ns - begin.ns) / NS_PER_S, now, (wall_t){end_ns});
	if (door->sink.target)
		door->sink.target(door->sink.arg, &door->target);
}

static void door_begin(struct datagram_door *door, int64_t now_ns)
{
	door->from_ns = now_ns;
	door->to_ns = (now_ns / door->interval_ns + 1) * door->interval_ns;
}

static void door_on_tick(void *arg)
{
	struct datagram_door *door = arg;
	const int64_t now_ns = wall_now().ns;
	const bool back = now_ns < door->from_ns - door->interval_ns;
	if (!back && now_ns < door->to_ns)
		return;
	if (!door->protocol->ends_each) {
		door_end(door, now_ns);
		door_begin(door, now_ns);
		return;
	}
	if (back || now_ns - door->to_ns > SKIP_INTERVALS * door->interval_ns) {
		/* the clock was set: what was counted so far keeps the old time */
		door_end(door, door->to_ns);
		door_begin(door, now_ns);
		return;
	}
	while (now_ns >= door->to_ns) {
		door_end(door, door->to_ns);
		door->from_ns = door->to_ns;
		door->to_ns += door->interval_ns;
	}
}

/* ---- life ---------------------------------------------------------------------- */

static int door_socket(struct datagram_door *door, struct err *e)
{
	const char *host, *why = "";
	uint16_t port;
	int rc = address_split(door->texts, door->address, 0, &host, &port, e);
	if (rc < 0)
		return rc;
	rc = datagram_io_new(
		door->loop, host, port, door->buffer_bytes, door_datagram, door, &door->io, &why);
	if (rc < 0)
		return door->protocol->bind_error(e, rc, host, port, why);
	return 0;
}

int datagram_door_open(struct datagram_door *door, const struct datagram_protocol *protocol,
	void *arg, const struct collector_env *env, const struct config_capture *capture,
	struct err *e)
{
	door->loop = env->loop;
	door->sink = *env->sink;
	door->lookup = env->lookup;
	door->protocol = protocol;
	door->arg = arg;
	door->texts = arena_new();
	door->name = arena_strdup(door->texts, capture->name);
	door->address = arena_strdup(door->texts, capture->listen);
	door->interval_ns = capture->interval_ns;
	door->buffer_bytes = capture->buffer_bytes;
	door->senders = datagram_senders_new(env->config, capture, &door->lookup);
	door->target = (struct target){.device = door->name,
		.protocol = protocol->name,
		.address = door->address,
		.interval_ns = door->interval_ns};
	const int rc = door_socket(door, e);
	if (rc < 0)
		return rc;
	door_begin(door, wall_now().ns);
	door->tick = loop_timer_new(door->loop, door_on_tick, door);
	loop_timer_start(door->tick, TICK, TICK);
	target_change(&door->target, TARGET_STARTING, loop_now(door->loop), wall_now(), NULL);
	target_change(&door->target, TARGET_UP, loop_now(door->loop), wall_now(), NULL);
	if (door->sink.target)
		door->sink.target(door->sink.arg, &door->target);
	return 0;
}

void datagram_door_close(struct datagram_door *door)
{
	if (door->tick) {
		const int64_t now_ns = wall_now().ns;
		int64_t end_ns = door->to_ns;
		if (now_ns < end_ns)
			end_ns = now_ns;
		door_end(door, end_ns);
	}
	loop_timer_free(door->tick);
	datagram_io_free(door->io);
	datagram_senders_free(door->senders);
	arena_free(door->texts);
}

bool datagram_door_same(const struct datagram_door *door, const struct config_capture *capture)
{
	return str_eq(door->name, capture->name) && str_eq(door->address, capture->listen) &&
		door->interval_ns == capture->interval_ns &&
		door->buffer_bytes == capture->buffer_bytes;
}

void datagram_door_update(struct datagram_door *door, const struct config *config,
	const struct config_capture *capture)
{
	datagram_senders_free(door->senders);
	door->senders = datagram_senders_new(config, capture, &door->lookup);
	door->strangers.n = 0; /* those that are allowed now need not be named any more */
}

uint64_t datagram_door_drops(const struct datagram_door *door)
{
	return datagram_io_drops(door->io);
}

uint64_t datagram_door_buffer(const struct datagram_door *door)
{
	return datagram_io_buffer(door->io);
}
