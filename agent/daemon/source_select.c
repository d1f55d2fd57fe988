/* source_choice - see the header. */
#include "agent/daemon/source_select.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/model/metric.h"

#define GRACE_INTERVALS 3

enum side { SIDE_SNMP, SIDE_GNMI, SIDES };
static const char *const side_names[SIDES] = {"snmp", "gnmi"};

struct device_sides;
struct side_sink {
	struct sink sink;
	struct device_sides *of;
	enum side side;
	bool asked; /* there is such a target */
	bool up;
	bool heard; /* neighbours, when it was last told of them */
	int64_t until_ns; /* while down: what it gave is still its own until then (UTC) */
	struct map *gave; /* (entity, metric) it gave */
};

struct device_sides {
	struct source_choice *choice;
	char *name;
	struct side_sink side[SIDES];
	bool prefers_snmp[METRIC_COUNT];
};

struct source_choice {
	struct sink to;
	bool (*prefers_snmp)(void *arg, const char *device, unsigned metric);
	void *arg;
	struct device_sides **v;
	size_t n, cap;
	uint64_t left;
};

struct source_choice *source_choice_new(const struct sink *to,
	bool (*prefers_snmp)(void *arg, const char *device, unsigned metric), void *arg)
{
	struct source_choice *c = rw_calloc(1, sizeof(*c));
	*c = (struct source_choice){.to = *to, .prefers_snmp = prefers_snmp, .arg = arg};
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

uint64_t source_choice_left(const struct source_choice *choice)
{
	return choice->left;
}

/* ---- samples ------------------------------------------------------------- */

/* other_has - does this series come from the other source at the moment? */
static bool other_has(const struct side_sink *sink, const struct sample *sample)
{
	const struct side_sink *other = &sink->of->side[1 - sink->side];
	enum side better = SIDE_GNMI;
	if (sink->of->prefers_snmp[sample->metric])
		better = SIDE_SNMP;
	uint64_t at;
	if (sink->side == better || !other->asked ||
		(!other->up && sample->t_ns >= other->until_ns))
		return false;
	return map_get(other->gave, (uint64_t)sample->entity << 16 | sample->metric, &at);
}

static void source_select_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct side_sink *s = arg;
	struct source_choice *c = s->of->choice;
	size_t from = 0;
	if (!s->of->side[1 - s->side].asked) { /* alone: nobody to leave anything to */
		c->to.samples(c->to.arg, samples, n);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		map_put(s->gave, (uint64_t)samples[i].entity << 16 | samples[i].metric, 1);
		if (!other_has(s, &samples[i]))
			continue;
		c->left++;
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
	if (s->up && target->state != TARGET_UP)
		s->until_ns = wall_now().ns +
			GRACE_INTERVALS *
				(target->interval_ns > 0 ? target->interval_ns : 10 * NS_PER_S);
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
	for (unsigned m = 0; s->side == SIDE_GNMI && m < METRIC_COUNT; m++)
		s->of->prefers_snmp[m] = c->prefers_snmp(c->arg, device, m);
	/* SNMP knows the device's name and description */
	if (s->side == SIDE_SNMP || !s->of->side[SIDE_SNMP].asked)
		c->to.device(c->to.arg, device, profile, sysname, descr);
}

static void source_select_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
	const struct side_sink *s = arg;
	if (s->side == SIDE_SNMP || !s->of->side[SIDE_SNMP].up)
		s->of->choice->to.port(s->of->choice->to.arg, device, port, alias, speed_bps);
}

static void source_select_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	const struct side_sink *s = arg;
	s->of->choice->to.event(s->of->choice->to.arg, t_ns, kind, device, port, text);
}

static void source_select_on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n)
{
	struct side_sink *s = arg;
	s->heard = n > 0;
	/* SNMP tells more of the ports (MAC address, description, index); where its agent knows no
	 * LLDP, gNMI is all there is */
	if (s->side == SIDE_GNMI ? s->of->side[SIDE_SNMP].heard
				 : n == 0 && s->of->side[SIDE_GNMI].heard)
		return;
	s->of->choice->to.neighbors(s->of->choice->to.arg, self, heard, n);
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
	struct source_choice *choice, const char *device, const char *protocol)
{
	return &source_select_sides_of(choice, device)
			->side[str_eq(protocol, side_names[SIDE_GNMI]) ? SIDE_GNMI : SIDE_SNMP];
}

const struct sink *source_choice_sink(
	struct source_choice *choice, const char *device, const char *protocol)
{
	struct side_sink *s = side_of(choice, device, protocol);
	s->asked = true;
	return &s->sink;
}

void source_choice_gone(struct source_choice *choice, const char *device, const char *protocol)
{
	struct side_sink *s = side_of(choice, device, protocol);
	s->asked = s->up = s->heard = false;
	map_clear(s->gave);
}
