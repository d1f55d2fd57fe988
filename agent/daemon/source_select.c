/* source_select - passes samples of a device on, or leaves them to its other protocol. */
#include "agent/daemon/source_select.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/model/metric.h"

#define GRACE_INTERVALS 3
#define INTERVAL_UNKNOWN_NS (10 * NS_PER_S)

enum side { SIDE_PLAIN, SIDE_PREFERRED, SIDE_PUSHED, SIDES };

struct device_sides;
struct side_sink {
	struct sink sink;
	struct device_sides *of;
	enum side side;
	bool asked; /* there is such a target */
	bool up;
	bool neighbors; /* its last LLDP report had some */
	/* while down: its series stay its own from one time to the other (wall clock) */
	int64_t since_ns, until_ns;
	struct map *gave; /* (entity, metric) of the series it has given */
};

struct device_sides {
	struct source_choice *choice;
	char *name;
	struct side_sink side[SIDES];
	bool prefers_plain[METRIC_COUNT];
};

struct source_choice {
	struct sink to;
	bool (*prefers_plain)(void *arg, const char *device, unsigned metric);
	void *arg;
	struct device_sides **v;
	size_t n, cap;
};

struct source_choice *source_choice_new(const struct sink *to,
	bool (*prefers_plain)(void *arg, const char *device, unsigned metric), void *arg)
{
	struct source_choice *c = rw_calloc(1, sizeof(*c));
	*c = (struct source_choice){.to = *to, .prefers_plain = prefers_plain, .arg = arg};
	return c;
}

void source_choice_free(struct source_choice *choice)
{
	if (!choice)
		return;
	for (size_t i = 0; i < choice->n; i++) {
		for (int k = 0; k < SIDES; k++)
			map_free(choice->v[i]->side[k].gave);
		free(choice->v[i]->name);
		free(choice->v[i]);
	}
	free(choice->v);
	free(choice);
}

/* ---- samples ------------------------------------------------------------- */

/* The larger the better: what is pushed, then the preferred protocol, unless the profile leaves the
 * metric to the plain one. */
static int side_rank(const struct device_sides *sides, enum side side, unsigned metric)
{
	if (side == SIDE_PUSHED)
		return 3;
	if (side == SIDE_PREFERRED)
		return 1;
	if (sides->prefers_plain[metric])
		return 2;
	return 0;
}

/* Does this series come from @other at the moment? */
static bool other_has(
	const struct side_sink *sink, const struct side_sink *other, const struct sample *sample)
{
	const int rank = side_rank(sink->of, sink->side, sample->metric);
	if (!other->asked || side_rank(sink->of, other->side, sample->metric) < rank)
		return false;
	/* earlier than it went down: the clock was set back, and nobody waits for it to come round
	 */
	const bool spared = sample->t_ns < other->until_ns &&
		sample->t_ns > other->since_ns - INTERVAL_UNKNOWN_NS;
	const bool other_alive = other->up || spared;
	if (!other_alive)
		return false;
	uint64_t at;
	return map_get(other->gave, (uint64_t)sample->entity << 16 | sample->metric, &at);
}

static bool others_have(const struct side_sink *sink, const struct sample *sample)
{
	for (int k = 0; k < SIDES; k++) {
		const struct side_sink *other = &sink->of->side[k];
		if (other != sink && other_has(sink, other, sample))
			return true;
	}
	return false;
}

static bool others_asked(const struct side_sink *sink)
{
	for (int k = 0; k < SIDES; k++)
		if (&sink->of->side[k] != sink && sink->of->side[k].asked)
			return true;
	return false;
}

static void source_select_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct side_sink *s = arg;
	struct source_choice *c = s->of->choice;
	size_t from = 0;
	if (!others_asked(s)) { /* the device has one protocol only */
		c->to.samples(c->to.arg, samples, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		map_put(s->gave, (uint64_t)samples[i].entity << 16 | samples[i].metric, 1);
		if (!others_have(s, &samples[i]))
			continue;
		if (i > from)
			c->to.samples(c->to.arg, samples + from, i - from);
		from = i + 1;
	}
	if (n > from)
		c->to.samples(c->to.arg, samples + from, n - from);
}

/* ---- the rest ------------------------------------------------------------ */

static void source_select_on_target(void *arg, const struct target *target)
{
	struct side_sink *s = arg;
	struct source_choice *c = s->of->choice;
	int64_t interval_ns = INTERVAL_UNKNOWN_NS;
	if (target->interval_ns > 0)
		interval_ns = target->interval_ns;
	if (s->up && target->state != TARGET_UP) {
		s->since_ns = wall_now().ns;
		s->until_ns = s->since_ns + GRACE_INTERVALS * interval_ns;
	}
	s->up = target->state == TARGET_UP;
	c->to.target(c->to.arg, target);
}

static void source_select_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
	const struct side_sink *s = arg;
	s->of->choice->to.flows(s->of->choice->to.arg, flows, n);
}

static void source_select_on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	struct side_sink *s = arg;
	struct source_choice *c = s->of->choice;
	for (unsigned m = 0; s->side == SIDE_PREFERRED && m < METRIC_COUNT; m++)
		s->of->prefers_plain[m] = c->prefers_plain(c->arg, device, m);
	/* the plain one (SNMP) knows the device's name and description */
	if (s->side == SIDE_PLAIN || !s->of->side[SIDE_PLAIN].asked)
		c->to.device(c->to.arg, device, profile, sysname, descr);
}

static void source_select_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	const struct side_sink *s = arg;
	if (s->side == SIDE_PLAIN || !s->of->side[SIDE_PLAIN].up)
		s->of->choice->to.port(s->of->choice->to.arg, device, port, alias, speed_bps);
}

static void source_select_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	const struct side_sink *s = arg;
	s->of->choice->to.event(s->of->choice->to.arg, t_ns, kind, device, port, text);
}

static void source_select_on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *neighbors, size_t n)
{
	struct side_sink *s = arg;
	s->neighbors = n > 0;
	/* The plain one (SNMP) knows more of the ports: MAC address, description, index. Where its
	 * agent has no LLDP, the neighbors come from the preferred one. */
	const bool plain_has = s->of->side[SIDE_PLAIN].neighbors;
	const bool preferred_has = s->of->side[SIDE_PREFERRED].neighbors;
	if (s->side == SIDE_PREFERRED && plain_has)
		return;
	if (s->side == SIDE_PLAIN && n == 0 && preferred_has)
		return;
	s->of->choice->to.neighbors(s->of->choice->to.arg, self, neighbors, n);
}

static struct device_sides *source_select_sides_of(struct source_choice *choice, const char *device)
{
	for (size_t i = 0; i < choice->n; i++)
		if (str_eq(choice->v[i]->name, device))
			return choice->v[i];
	struct device_sides *d = rw_calloc(1, sizeof(*d));
	d->choice = choice;
	d->name = rw_strdup(device);
	for (int k = 0; k < SIDES; k++) {
		struct side_sink *s = &d->side[k];
		*s = (struct side_sink){.of = d,
			.side = (enum side)k,
			.gave = map_new(),
			.sink = {s, source_select_on_samples, source_select_on_flows,
				source_select_on_target, source_select_on_device,
				source_select_on_port, source_select_on_event,
				choice->to.neighbors ? source_select_on_neighbors : NULL}};
	}
	rw_grow(choice->v, choice->n, choice->cap);
	choice->v[choice->n++] = d;
	return d;
}

static struct side_sink *side_of(
	struct source_choice *choice, const char *device, enum collector_role role)
{
	enum side side = SIDE_PLAIN;
	if (role == COLLECTS_DEVICE_PREFERRED)
		side = SIDE_PREFERRED;
	else if (role == COLLECTS_DEVICE_PUSHED)
		side = SIDE_PUSHED;
	return &source_select_sides_of(choice, device)->side[side];
}

const struct sink *source_choice_sink(
	struct source_choice *choice, const char *device, enum collector_role role)
{
	struct side_sink *s = side_of(choice, device, role);
	s->asked = true;
	return &s->sink;
}

void source_choice_gone(struct source_choice *choice, const char *device, enum collector_role role)
{
	struct side_sink *s = side_of(choice, device, role);
	s->asked = s->up = s->neighbors = false;
	map_clear(s->gave);
}
