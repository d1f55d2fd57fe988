/*
 * pushed - a device that pushes its values, as a collector: nothing is asked of it. The receivers
 * deliver what it sends; this is its state:
 *
 *      STARTING --first values--> UP --three intervals without any--> BACKOFF --values--> UP
 *          '--three intervals without any--> BACKOFF
 */
#include "collectors/push/pushed.h"

#include "base/loop.h"
#include "collectors/target/collector.h"
#include "config/config.h"

/* ---- push_hub -------------------------------------------------------------- */

/* push_hub - a table of devices. */

typedef void push_hub_fn(void *arg, const struct sample *samples, size_t n);

struct hub_member {
	char *device;
	push_hub_fn *fn; /* NULL: left */
	void *arg;
};

struct push_hub {
	struct smap *index;
	struct hub_member *v;
	size_t n, cap;
};

struct push_hub *push_hub_new(void)
{
	struct push_hub *hub = rw_calloc(1, sizeof(*hub));
	hub->index = smap_new();
	return hub;
}

void push_hub_free(struct push_hub *hub)
{
	if (!hub)
		return;
	for (size_t i = 0; i < hub->n; i++)
		free(hub->v[i].device);
	free(hub->v);
	smap_free(hub->index);
	free(hub);
}

static struct hub_member *hub_member(const struct push_hub *hub, const char *device)
{
	uint64_t at;
	if (!smap_get(hub->index, device, strlen(device), &at))
		return NULL;
	return &hub->v[at];
}

/* From now on samples of @device go to @fn; one at a time. Both are lent. */
static void push_hub_join(struct push_hub *hub, const char *device, push_hub_fn *fn, void *arg)
{
	struct hub_member *member = hub_member(hub, device);
	if (!member) {
		rw_grow(hub->v, hub->n, hub->cap);
		smap_put(hub->index, device, strlen(device), hub->n);
		member = &hub->v[hub->n++];
		*member = (struct hub_member){.device = rw_strdup(device)};
	}
	member->fn = fn;
	member->arg = arg;
}

static void push_hub_leave(struct push_hub *hub, const char *device)
{
	struct hub_member *member = hub_member(hub, device);
	if (member)
		member->fn = NULL;
}

bool push_hub_deliver(
	struct push_hub *hub, const char *device, const struct sample *samples, size_t n)
{
	const struct hub_member *member = hub_member(hub, device);
	if (!member || !member->fn)
		return false;
	member->fn(member->arg, samples, n);
	return true;
}

/* ---- pushed ---------------------------------------------------------------- */

#define TICK_NS (250 * NS_PER_MS)
#define SILENT_INTERVALS 3

struct pushed {
	struct loop *loop;
	struct push_hub *hub;
	struct sink sink;
	struct loop_timer *tick;
	char *device, *address;
	struct target target;
	bool ever; /* something has come */
	bool fresh; /* since the last tick */
	int64_t heard_ns; /* monotonic */
	int64_t told_ns; /* monotonic: the last time that an interval was counted */
};

static void pushed_report(struct pushed *pushed)
{
	if (pushed->sink.target)
		pushed->sink.target(pushed->sink.arg, &pushed->target);
}

static void pushed_on_samples(void *arg, const struct sample *samples, size_t n)
{
	struct pushed *pushed = arg;
	pushed->fresh = true;
	pushed->ever = true;
	pushed->heard_ns = mono_now().ns;
	pushed->target.values += n;
	if (pushed->target.state != TARGET_UP) {
		target_change(&pushed->target, TARGET_UP, mono_now(), wall_now(), NULL);
		pushed_report(pushed);
	}
	if (pushed->sink.samples)
		pushed->sink.samples(pushed->sink.arg, samples, n);
}

static void pushed_silent(struct pushed *pushed)
{
	struct reason reason;
	const double seconds = (double)pushed->target.interval_ns / 1e9;
	if (pushed->ever)
		reason_set(&reason, PUSH_SILENT, pushed->device, SILENT_INTERVALS, seconds);
	else
		reason_set(&reason, PUSH_NOTHING, pushed->device);
	target_change(&pushed->target, TARGET_BACKOFF, mono_now(), wall_now(), &reason);
	pushed->target.errors++;
	pushed_report(pushed);
}

/* An interval in which values came counts as a poll. */
static void pushed_on_tick(void *arg)
{
	struct pushed *pushed = arg;
	const int64_t now_ns = mono_now().ns, interval_ns = pushed->target.interval_ns;
	if (pushed->fresh && now_ns - pushed->told_ns >= interval_ns) {
		pushed->fresh = false;
		pushed->told_ns = now_ns;
		target_polled(&pushed->target, 0, mono_now(), wall_now());
		pushed_report(pushed);
	}
	if (pushed->target.state != TARGET_BACKOFF &&
		now_ns - pushed->heard_ns > SILENT_INTERVALS * interval_ns)
		pushed_silent(pushed);
}

/* ---- the collector ----------------------------------------------------------- */

static const char *pushed_address(const struct config_device *device)
{
	if (device->push->address)
		return device->push->address;
	if (device->snmp)
		return device->snmp->address;
	if (device->gnmi)
		return device->gnmi->address;
	return device->name;
}

static bool pushed_place(const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_devices)
		return false;
	const struct config_device *device = &config->devices[i];
	*ret = (struct collector_place){.name = device->name, .address = ""};
	if (!device->push)
		return true;
	ret->config = device;
	ret->address = pushed_address(device);
	return true;
}

static int pushed_open(
	const struct collector_env *env, const void *config, void **ret, struct err *e)
{
	const struct config_device *device = config;
	struct pushed *pushed = rw_calloc(1, sizeof(*pushed));
	pushed->loop = env->loop;
	pushed->hub = env->hub;
	pushed->sink = *env->sink;
	pushed->device = rw_strdup(device->name);
	pushed->address = rw_strdup(pushed_address(device));
	pushed->heard_ns = pushed->told_ns = mono_now().ns;
	pushed->target = (struct target){.device = pushed->device,
		.protocol = "push",
		.address = pushed->address,
		.interval_ns = device->push->interval_ns};
	push_hub_join(pushed->hub, pushed->device, pushed_on_samples, pushed);
	pushed->tick = loop_timer_new(pushed->loop, pushed_on_tick, pushed);
	loop_timer_start(pushed->tick, TICK_NS, TICK_NS);
	target_change(&pushed->target, TARGET_STARTING, mono_now(), wall_now(), NULL);
	pushed_report(pushed);
	*ret = pushed;
	return 0;
}

static bool pushed_same(const void *instance, const void *place, const struct config *config)
{
	const struct pushed *pushed = instance;
	const struct config_device *device = place;
	return str_eq(pushed->device, device->name) &&
		str_eq(pushed->address, pushed_address(device)) &&
		pushed->target.interval_ns == device->push->interval_ns;
}

static void pushed_update(void *instance, const void *place, const struct config *config)
{
}

static void pushed_close(void *instance)
{
	struct pushed *pushed = instance;
	push_hub_leave(pushed->hub, pushed->device);
	loop_timer_free(pushed->tick);
	free(pushed->device);
	free(pushed->address);
	free(pushed);
}

static const struct target *pushed_state(const void *instance)
{
	return &((const struct pushed *)instance)->target;
}

extern const struct collector collector_pushed;
const struct collector collector_pushed = {.name = "push",
	.role = COLLECTS_DEVICE_PUSHED,
	.place = pushed_place,
	.open = pushed_open,
	.same = pushed_same,
	.update = pushed_update,
	.close = pushed_close,
	.state = pushed_state};
