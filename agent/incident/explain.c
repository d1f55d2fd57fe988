/* explain - an index of the incidents under way. By cause: lists in the order of preference, for
 * what explains anywhere. By place: for what explains only what is near. A place is a hash, so a
 * list may hold a stranger; each candidate is compared in full before it counts. */
#include "agent/incident/explain.h"

/* Of whole windows: an incident of which its analyzer spoke less lately explains nothing. */
#define EXPLAIN_UNHEARD 1.0

/* correlate - how near two incidents are: by link, device, ECMP group, host, or pause tree. */

/* ---- what an incident is about ------------------------------------------- */

static const struct fabric_device *device_of(
	const struct fabric *fabric, const struct incident *incident)
{
	if (!incident->device)
		return NULL;
	return fabric_device(fabric, incident->device);
}

/* correlate_port - the port that it is about, or the hot member of its group; NULL: none, or it is
 * not in the fabric.
 * Its port, or the hot member of its group. */
static const struct fabric_port *correlate_port(
	const struct fabric *fabric, const struct incident *incident)
{
	const struct fabric_device *device = device_of(fabric, incident);
	const char *port = str_or(incident->port, incident->member);
	if (!device || !port)
		return NULL;
	return fabric_port(device, port);
}

static const struct fabric_group *correlate_group_of(
	const struct fabric *fabric, const struct incident *incident)
{
	const struct fabric_device *device = device_of(fabric, incident);
	if (!device || !incident->group)
		return NULL;
	return fabric_group(device, incident->group);
}

/* ---- how near ------------------------------------------------------------ */

static bool correlate_same_link(const struct fabric_port *left, const struct fabric_port *right)
{
	return left && right && (left == right || left->peer == right);
}

/* Does the port lead to the device with that name? */
static bool leads_to_device(const struct fabric_port *port, const char *device)
{
	return port && port->peer && str_eq(port->peer->device->name, device);
}

static bool same_device(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	if (left->device && str_eq(left->device, right->device))
		return true;
	return leads_to_device(correlate_port(fabric, left), right->device) ||
		leads_to_device(correlate_port(fabric, right), left->device);
}

/* Is the port a member of the group, seen from either end, or part of a LAG that is? */
static bool group_holds(const struct fabric_group *group, const struct fabric_port *port)
{
	for (size_t i = 0; i < group->n_members; i++) {
		const struct fabric_port *member = group->members[i];
		if (correlate_same_link(member, port))
			return true;
		if (port->lag && member->device == port->device && str_eq(member->lag, port->lag))
			return true;
	}
	return false;
}

static bool groups_meet(const struct fabric_group *left, const struct fabric_group *right)
{
	for (size_t i = 0; i < right->n_members; i++)
		if (group_holds(left, right->members[i]))
			return true;
	return false;
}

static bool has_link_to(const struct fabric_device *device, const struct fabric_device *to)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (device->ports[i]->peer && device->ports[i]->peer->device == to)
			return true;
	return false;
}

/*
 * Does the loss of @device change what the group carries? Yes when a member leads to another device
 * of the same tier although the group's device is linked to @device (the path through it is gone);
 * or when a member leads to a device nearer to the hosts that is linked to @device (it spreads anew
 * what it sends).
 */
static bool group_feels(const struct fabric_group *group, const struct fabric_device *device)
{
	for (size_t i = 0; i < group->n_members; i++) {
		if (!group->members[i]->peer)
			continue;
		const struct fabric_device *near = group->members[i]->device;
		const struct fabric_device *far = group->members[i]->peer->device;
		if (far->role == device->role && has_link_to(near, device))
			return true;
		if (far->role < device->role && has_link_to(far, device))
			return true;
	}
	return false;
}

static bool share_a_group(const struct fabric_port *left, const struct fabric_port *right)
{
	const struct fabric_device *device = left->device;
	for (size_t i = 0; i < device->n_groups; i++) {
		const struct fabric_group *group = &device->groups[i];
		if (group_holds(group, left) && group_holds(group, right))
			return true;
	}
	return false;
}

/* Are both in one ECMP group? */
static bool same_group(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	const struct fabric_group *left_group = correlate_group_of(fabric, left);
	const struct fabric_group *right_group = correlate_group_of(fabric, right);
	const struct fabric_port *left_port = correlate_port(fabric, left);
	const struct fabric_port *right_port = correlate_port(fabric, right);
	const struct fabric_device *left_device = device_of(fabric, left);
	/* 1. two groups: they have a member in common */
	if (left_group && right_group)
		return groups_meet(left_group, right_group);
	/* 2. a group and a port: it is a member */
	if (left_group && right_port)
		return group_holds(left_group, right_port);
	if (right_group && left_port)
		return group_holds(right_group, left_port);
	/* 3. a whole device and a group */
	if (right_group && left_device && !left->group && !left->port)
		return group_feels(right_group, left_device);
	/* 4. two ports: some group of the device has both */
	return left_port && right_port && share_a_group(left_port, right_port);
}

/* Both are about groups of one device, and the left one holds all members of the right one and
 * more. */
static bool wider_group(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	if (!left->device || !str_eq(left->device, right->device))
		return false;
	const struct fabric_group *wide = correlate_group_of(fabric, left);
	const struct fabric_group *narrow = correlate_group_of(fabric, right);
	if (!wide || !narrow || wide->n_members <= narrow->n_members)
		return false;
	for (size_t i = 0; i < narrow->n_members; i++)
		if (!group_holds(wide, narrow->members[i]))
			return false;
	return true;
}

/* The right one is about a group of a tier further from the hosts. */
static bool correlate_beyond(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	const struct fabric_device *here = device_of(fabric, left);
	const struct fabric_device *there = device_of(fabric, right);
	if (!here || !there || !right->group)
		return false;
	return here->role < there->role && there->role != ROLE_OTHER;
}

/* Does the role's entity name the subject of @incident? Roles name a port as "device:port", a
 * device by its name, a host as "host:NAME" or NAME. */
static bool correlate_names(const char *entity, const struct incident *incident)
{
	static const char host_prefix[] = "host:";
	if (!entity)
		return false;
	if (incident->port) {
		char port[256];
		snprintf(port, sizeof(port), "%s:%s", str_or(incident->device, ""), incident->port);
		if (str_eq(entity, port))
			return true;
	} else if (incident->device && str_eq(entity, incident->device)) {
		return true;
	}
	if (!incident->host)
		return false;
	if (strncmp(entity, host_prefix, strlen(host_prefix)) == 0)
		entity += strlen(host_prefix);
	return str_eq(entity, incident->host);
}

static bool correlate_in_tree(const struct incident *left, const struct incident *right)
{
	for (size_t i = 0; i < left->n_roles; i++)
		if (correlate_names(left->roles[i].entity, right))
			return true;
	return false;
}

static bool same_host(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return left->host && str_eq(left->host, right->host);
}

static bool same_link(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return correlate_same_link(correlate_port(fabric, left), correlate_port(fabric, right));
}

static bool in_tree(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return correlate_in_tree(left, right);
}

static bool correlate_anywhere(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return true;
}

/* The left one is about all devices together, the right one about one of them. */
static bool correlate_whole(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return !left->device && !left->host && right->device;
}

/* A family of groups. Never both ways: else the two would wait for each other. */
static bool correlate_tier(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	const struct fabric_device *here = device_of(fabric, left);
	const struct fabric_device *there = device_of(fabric, right);
	if (!here || !there || here->role != there->role || !left->group || !right->group)
		return false;
	if (here != there)
		return true;
	return !wider_group(fabric, left, right) && !wider_group(fabric, right, left) &&
		name_compare(left->group, right->group) < 0;
}

/* What began with another one of a family, and is about as large. */
#define TOGETHER_NS (60 * NS_PER_S)
#define TOGETHER_LEAST 0.5 /* of the value of what it explains */

static bool correlate_together(
	const struct fabric *fabric, const struct incident *left, const struct incident *right)
{
	return correlate_tier(fabric, left, right) &&
		llabs(left->first_ns - right->first_ns) <= TOGETHER_NS &&
		left->value >= TOGETHER_LEAST * right->value;
}

/* correlate_near - is @other as near to @cause_of_it as @near asks (enum cause_near, any of them)?
 */
static bool correlate_near(const struct fabric *fabric, unsigned near, const struct incident *left,
	const struct incident *right)
{
	/* the cheap ones first */
	static const struct {
		unsigned near; /* enum cause_near */
		bool (*fn)(const struct fabric *fabric, const struct incident *left,
			const struct incident *right);
	} tests[] = {
		{NEAR_FABRIC, correlate_anywhere},
		{NEAR_HOST, same_host},
		{NEAR_LINK, same_link},
		{NEAR_DEVICE, same_device},
		{NEAR_GROUP, same_group},
		{NEAR_TREE, in_tree},
		{NEAR_WIDER, wider_group},
		{NEAR_BEYOND, correlate_beyond},
		{NEAR_WHOLE, correlate_whole},
		{NEAR_TIER, correlate_tier},
		{NEAR_TOGETHER, correlate_together},
	};
	for (size_t i = 0; i < rw_countof(tests); i++)
		if ((near & tests[i].near) && tests[i].fn(fabric, left, right))
			return true;
	return false;
}

bool explains(const struct fabric *fabric, const struct incident *cause_of_it,
	const struct incident *other)
{
	const unsigned near = cause_explains(cause_of_it->cause, other->cause);
	return near && correlate_near(fabric, near, cause_of_it, other);
}

/* Of confidence: an incident with less does not explain another. */
#define FAR_LESS_SURE 0.3
/* What began so much before another incident is no consequence of it. Some causes show later than
 * what they do: the past that they are compared with, or more flows, must come first. */
#define LATER_NS (10 * 60 * NS_PER_S)

/* Kinds of nearness that are no place: all incidents of the cause are looked at. */
#define ANYWHERE (NEAR_FABRIC | NEAR_BEYOND | NEAR_WHOLE | NEAR_TIER | NEAR_TOGETHER)
/* Kinds that both ends share a device for, each its own or one that it is linked to. */
#define BY_DEVICE (NEAR_DEVICE | NEAR_GROUP | NEAR_WIDER)

enum explain_side { SIDE_EXPLAINS, SIDE_EXPLAINED };

struct explain_list {
	struct incident_record **v;
	size_t n, cap;
};

struct explain_cause {
	struct explain_list open, pending; /* the older first, then by order */
	struct explain_list orphans; /* of the open ones those without a parent; so too */
};

struct explain {
	struct explain_cause causes[CAUSE_COUNT];
	unsigned near[CAUSE_COUNT][CAUSE_COUNT]; /* cause_explains(), looked up once */
	struct map *places; /* side, cause and place -> index into lists */
	struct explain_list *lists; /* in no order */
	size_t n_lists, cap_lists;
	struct explain_list found; /* the answer of explain_orphans() */
	uint64_t compared;
};

struct explain *explain_new(void)
{
	struct explain *x = rw_calloc(1, sizeof(*x));
	x->places = map_new();
	for (int cause = 0; cause < CAUSE_COUNT; cause++)
		for (int other = 0; other < CAUSE_COUNT; other++)
			x->near[cause][other] =
				cause_explains((enum cause)cause, (enum cause)other);
	return x;
}

void explain_free(struct explain *explain)
{
	if (!explain)
		return;
	for (int cause = 0; cause < CAUSE_COUNT; cause++) {
		free(explain->causes[cause].open.v);
		free(explain->causes[cause].pending.v);
		free(explain->causes[cause].orphans.v);
	}
	for (size_t k = 0; k < explain->n_lists; k++)
		free(explain->lists[k].v);
	free(explain->lists);
	free(explain->found.v);
	map_free(explain->places);
	free(explain);
}

uint64_t explain_compared(const struct explain *explain)
{
	return explain->compared;
}

/* ---- places --------------------------------------------------------------- */

/* Several links to one switch follow each other; what is left twice does no harm. */
static void place_add(struct incident_places *places, unsigned near, uint64_t hash)
{
	const struct incident_place *last = NULL;
	if (places->n > 0)
		last = &places->v[places->n - 1];
	if (last && last->near == near && last->hash == hash)
		return;
	rw_grow(places->v, places->n, places->cap);
	places->v[places->n++] = (struct incident_place){near, hash};
}

static void place_add_text(struct incident_places *places, unsigned near, const char *text)
{
	place_add(places, near, hash_bytes(text, strlen(text), near));
}

static void place_add_device(struct incident_places *places, const struct fabric_port *end)
{
	if (end)
		place_add(places, BY_DEVICE, end->device->index);
}

/* Its device, and those that it, or what it names there, is linked to. */
static void place_add_devices(struct incident_places *places, const struct fabric *fabric,
	const struct incident *incident, const struct fabric_port *port)
{
	const struct fabric_device *device = NULL;
	const struct fabric_group *group = NULL;
	if (incident->device)
		device = fabric_device(fabric, incident->device);
	if (!device)
		return;
	place_add(places, BY_DEVICE, device->index);
	if (port)
		place_add_device(places, port->peer);
	if (incident->group)
		group = fabric_group(device, incident->group);
	for (size_t k = 0; group && k < group->n_members; k++)
		place_add_device(places, group->members[k]->peer);
	if (incident->port || incident->group)
		return;
	for (size_t k = 0; k < device->n_ports; k++)
		place_add_device(places, device->ports[k]->peer);
}

static void place_add_link(struct incident_places *places, const struct fabric_port *port)
{
	if (!port)
		return;
	uint32_t link = port->index;
	if (port->peer && port->peer->index < link)
		link = port->peer->index;
	place_add(places, NEAR_LINK, link);
}

/* The names that a role of a pause tree has for it. */
static void place_add_names(struct incident_places *places, const struct incident *incident)
{
	if (incident->port) {
		rw_cleanup(str_done) struct str name = {0};
		str_addf(&name, "%s:%s", str_or(incident->device, ""), incident->port);
		place_add_text(places, NEAR_TREE, name.s);
	} else if (incident->device) {
		place_add_text(places, NEAR_TREE, incident->device);
	}
	if (incident->host)
		place_add_text(places, NEAR_TREE, incident->host);
}

static void place_add_roles(struct incident_places *places, const struct incident *incident)
{
	static const char host[] = "host:";
	for (size_t k = 0; k < incident->n_roles; k++) {
		const char *entity = incident->roles[k].entity;
		if (entity && strncmp(entity, host, strlen(host)) == 0)
			entity += strlen(host);
		if (entity)
			place_add_text(places, NEAR_TREE, entity);
	}
}

/* Where an incident is found by the other @side, as far as its cause asks for it: @near, of all
 * pairs that it may be in. */
static struct incident_places places_of(const struct fabric *fabric,
	const struct incident *incident, unsigned near, enum explain_side side)
{
	struct incident_places places = {0};
	const struct fabric_port *port = NULL;
	if (near & (NEAR_LINK | BY_DEVICE))
		port = correlate_port(fabric, incident);
	if ((near & NEAR_HOST) && incident->host)
		place_add_text(&places, NEAR_HOST, incident->host);
	if (near & NEAR_LINK)
		place_add_link(&places, port);
	if ((near & NEAR_TREE) && side == SIDE_EXPLAINS)
		place_add_roles(&places, incident);
	if ((near & NEAR_TREE) && side == SIDE_EXPLAINED)
		place_add_names(&places, incident);
	if (near & BY_DEVICE)
		place_add_devices(&places, fabric, incident, port);
	return places;
}

static uint64_t place_key(enum explain_side side, enum cause cause, const struct incident_place *at)
{
	const uint64_t whose = 2 * (uint64_t)cause + (uint64_t)side;
	return hash_u64(at->hash ^ hash_u64(at->near ^ whose << 16));
}

/* NULL: nobody is there. */
static struct explain_list *explain_at(const struct explain *explain, enum explain_side side,
	enum cause cause, const struct incident_place *at)
{
	uint64_t index;
	if (!map_get(explain->places, place_key(side, cause, at), &index))
		return NULL;
	return &explain->lists[index];
}

static void explain_list_add(struct explain_list *list, struct incident_record *record)
{
	rw_grow(list->v, list->n, list->cap);
	list->v[list->n++] = record;
}

static void explain_settle(struct explain *explain, enum explain_side side,
	struct incident_record *record, const struct incident_places *places)
{
	for (size_t k = 0; k < places->n; k++) {
		const uint64_t key = place_key(side, record->place.cause, &places->v[k]);
		uint64_t index;
		if (!map_get(explain->places, key, &index)) {
			index = explain->n_lists;
			rw_grow(explain->lists, explain->n_lists, explain->cap_lists);
			explain->lists[explain->n_lists++] = (struct explain_list){0};
			map_put(explain->places, key, index);
		}
		explain_list_add(&explain->lists[index], record);
	}
}

static void explain_leave(struct explain *explain, enum explain_side side,
	struct incident_record *record, const struct incident_places *places)
{
	for (size_t k = 0; k < places->n; k++) {
		struct explain_list *list =
			explain_at(explain, side, record->place.cause, &places->v[k]);
		size_t at = list->n;
		while (at > 0 && list->v[at - 1] != record)
			at--;
		assert(at > 0);
		list->v[at - 1] = list->v[--list->n];
	}
}

/* ---- lists of a cause ------------------------------------------------------- */

/* Which of two equally good explanations is taken. By what was put, not by what is true by now. */
static bool place_before(const struct incident_record *left, const struct incident_record *right)
{
	if (left->place.first_ns != right->place.first_ns)
		return left->place.first_ns < right->place.first_ns;
	return left->place.order < right->place.order;
}

static size_t explain_list_place(const struct explain_list *list, const struct incident_record *r)
{
	size_t lo = 0, hi = list->n;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (place_before(list->v[mid], r))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static void explain_list_insert(struct explain_list *list, struct incident_record *record)
{
	const size_t at = explain_list_place(list, record);
	rw_grow(list->v, list->n, list->cap);
	memmove(list->v + at + 1, list->v + at, (list->n - at) * sizeof(*list->v));
	list->v[at] = record;
	list->n++;
}

static void explain_list_remove(struct explain_list *list, const struct incident_record *record)
{
	const size_t at = explain_list_place(list, record);
	assert(at < list->n && list->v[at] == record);
	list->n--;
	memmove(list->v + at, list->v + at + 1, (list->n - at) * sizeof(*list->v));
}

/* ---- putting --------------------------------------------------------------- */

static void places_done(struct incident_places *places)
{
	free(places->v);
	*places = (struct incident_places){0};
}

static bool places_same(const struct incident_places *left, const struct incident_places *right)
{
	if (left->n != right->n)
		return false;
	for (size_t k = 0; k < left->n; k++)
		if (left->v[k].near != right->v[k].near || left->v[k].hash != right->v[k].hash)
			return false;
	return true;
}

static struct explain_list *explain_list_of(
	struct explain *explain, const struct incident_record *r)
{
	struct explain_cause *c = &explain->causes[r->place.cause];
	if (r->place.pending)
		return &c->pending;
	return &c->open;
}

void explain_drop(struct explain *explain, struct incident_record *record)
{
	struct incident_mark *place = &record->place;
	if (!place->put)
		return;
	explain_list_remove(explain_list_of(explain, record), record);
	explain_leave(explain, SIDE_EXPLAINS, record, &place->explains);
	if (place->orphan) {
		explain_list_remove(&explain->causes[place->cause].orphans, record);
		explain_leave(explain, SIDE_EXPLAINED, record, &place->explained);
	}
	places_done(&place->explains);
	places_done(&place->explained);
	place->put = false;
}

/* Of all pairs that the cause may be in, on one side. */
static unsigned explain_reach(
	const struct explain *explain, enum cause cause, enum explain_side side)
{
	unsigned near = 0;
	for (int other = 0; other < CAUSE_COUNT; other++) {
		if (side == SIDE_EXPLAINS)
			near |= explain->near[cause][other];
		else
			near |= explain->near[other][cause];
	}
	return near;
}

void explain_put(
	struct explain *explain, const struct fabric *fabric, struct incident_record *record)
{
	const struct incident *i = &record->i;
	struct incident_mark next = {.put = true,
		.order = record->place.order,
		.cause = i->cause,
		.first_ns = i->first_ns,
		.pending = i->state == INCIDENT_PENDING,
		.orphan = i->state != INCIDENT_PENDING && !i->parent};
	/* a word of another version: it explains nothing, and nothing explains it */
	if (i->cause >= CAUSE_COUNT) {
		explain_drop(explain, record);
		return;
	}
	next.explains = places_of(
		fabric, i, explain_reach(explain, i->cause, SIDE_EXPLAINS), SIDE_EXPLAINS);
	next.explained = places_of(
		fabric, i, explain_reach(explain, i->cause, SIDE_EXPLAINED), SIDE_EXPLAINED);
	const struct incident_mark *now = &record->place;
	const bool same = now->put && now->cause == next.cause && now->first_ns == next.first_ns &&
		now->pending == next.pending && now->orphan == next.orphan;
	if (same && places_same(&now->explains, &next.explains) &&
		places_same(&now->explained, &next.explained)) {
		places_done(&next.explains);
		places_done(&next.explained);
		return;
	}
	explain_drop(explain, record);
	record->place = next;
	explain_list_insert(explain_list_of(explain, record), record);
	explain_settle(explain, SIDE_EXPLAINS, record, &record->place.explains);
	if (!next.orphan)
		return;
	explain_list_insert(&explain->causes[next.cause].orphans, record);
	explain_settle(explain, SIDE_EXPLAINED, record, &record->place.explained);
}

/* ---- who explains whom ----------------------------------------------------- */

/* How much of its subject an incident names: a host, a switch, or nothing. */
static int names_of(const struct incident *incident)
{
	if (incident->host)
		return 2;
	return incident->device != NULL;
}

/* About the fabric, or about several switches together. */
static bool is_of_many(const struct incident *incident)
{
	return !incident->device && !incident->host;
}

/* Of two with the same cause only one explains the other: the one about several switches, for it
 * speaks of the single one, too; else the older one, else the device, port or priority that comes
 * first. Two groups of one device: the table of db/model/cause.def alone
 * decides. */
static bool speaks_first(const struct incident *left, const struct incident *right)
{
	if (left->cause != right->cause)
		return true;
	/* of two things unknown, the one that names more says more */
	if (left->cause == CAUSE_UNKNOWN && names_of(left) != names_of(right))
		return names_of(left) > names_of(right);
	if (is_of_many(left) != is_of_many(right))
		return is_of_many(left);
	if (left->first_ns != right->first_ns)
		return left->first_ns < right->first_ns;
	const int by_device = name_compare(str_or(left->device, ""), str_or(right->device, ""));
	if (by_device != 0)
		return by_device < 0;
	if (left->group || right->group)
		return true;
	const int by_port = name_compare(str_or(left->port, ""), str_or(right->port, ""));
	if (by_port != 0)
		return by_port < 0;
	return left->priority < right->priority;
}

/* What does no harm is no explanation of harm; anything else is as bad as its worst part. But when
 * a job became slower as it began, it is not harmless, whatever it looks like by itself. */
static bool is_bad_enough(const struct incident *by, const struct incident *incident)
{
	if (by->severity > SEV_INFO || incident->severity == SEV_INFO)
		return true;
	return cause_has(incident->cause, CAUSE_IS_SYMPTOM) &&
		cause_info(by->cause)->family == CAUSE_FAMILY_CONGESTION &&
		llabs(by->first_ns - incident->first_ns) <= TOGETHER_NS;
}

static bool could_explain(struct explain *explain, const struct fabric *fabric,
	const struct incident_record *by, const struct incident_record *record)
{
	explain->compared++;
	if (by == record || str_eq(by->i.parent, record->i.id))
		return false;
	if (by->i.state == INCIDENT_PENDING && !(weight_sum(&by->weight) > 0))
		return false;
	if (by->unheard >= EXPLAIN_UNHEARD - WEIGHT_SHARE_ERROR)
		return false;
	if (!is_bad_enough(&by->i, &record->i))
		return false;
	if (by->i.confidence_ratio < record->i.confidence_ratio - FAR_LESS_SURE)
		return false;
	if (by->i.first_ns - record->i.first_ns > LATER_NS)
		return false;
	const unsigned near = explain->near[by->i.cause][record->i.cause];
	return speaks_first(&by->i, &record->i) && correlate_near(fabric, near, &by->i, &record->i);
}

/* Is @by a better explanation than @best? An open one before a pending one, then the older. */
static bool better_explanation(const struct incident_record *by, const struct incident_record *best)
{
	if (!best)
		return true;
	if (by->place.pending != best->place.pending)
		return best->place.pending;
	return place_before(by, best);
}

/* The first of a list in the order of preference. */
static struct incident_record *explain_first(struct explain *explain, const struct fabric *fabric,
	const struct explain_list *list, const struct incident_record *record)
{
	for (size_t k = 0; k < list->n; k++)
		if (could_explain(explain, fabric, list->v[k], record))
			return list->v[k];
	return NULL;
}

/* How many would have to be compared at the places; SIZE_MAX: places do not say it. */
static size_t explain_crowd(const struct explain *explain, enum explain_side side, enum cause cause,
	unsigned near, const struct incident_places *places)
{
	if (near & ANYWHERE)
		return SIZE_MAX;
	size_t n = 0;
	for (size_t k = 0; k < places->n; k++) {
		const struct explain_list *list = NULL;
		if (places->v[k].near & near)
			list = explain_at(explain, side, cause, &places->v[k]);
		if (list)
			n += list->n;
	}
	return n;
}

static struct incident_record *explain_find_near(struct explain *explain,
	const struct fabric *fabric, enum cause cause, const struct incident_record *record,
	const struct incident_places *places)
{
	const unsigned near = explain->near[cause][record->i.cause];
	struct incident_record *best = NULL;
	for (size_t k = 0; k < places->n; k++) {
		const struct explain_list *list = NULL;
		if (places->v[k].near & near)
			list = explain_at(explain, SIDE_EXPLAINS, cause, &places->v[k]);
		for (size_t n = 0; list && n < list->n; n++)
			if (better_explanation(list->v[n], best) &&
				could_explain(explain, fabric, list->v[n], record))
				best = list->v[n];
	}
	return best;
}

struct incident_record *explain_find(
	struct explain *explain, const struct fabric *fabric, const struct incident_record *record)
{
	struct incident_record *best = NULL;
	if (!record->place.put)
		return NULL;
	for (int c = 0; c < CAUSE_COUNT; c++) {
		const enum cause cause = (enum cause)c;
		const struct explain_cause *all = &explain->causes[c];
		const unsigned near = explain->near[c][record->i.cause];
		const size_t n = all->open.n + all->pending.n;
		if (!near || n == 0)
			continue;
		const struct incident_places *places = &record->place.explained;
		struct incident_record *by;
		if (explain_crowd(explain, SIDE_EXPLAINS, cause, near, places) < n) {
			by = explain_find_near(explain, fabric, cause, record, places);
		} else {
			by = explain_first(explain, fabric, &all->open, record);
			if (!by)
				by = explain_first(explain, fabric, &all->pending, record);
		}
		if (by && better_explanation(by, best))
			best = by;
	}
	return best;
}

/* ---- whom one explains ------------------------------------------------------ */

static void explain_take(struct explain *explain, const struct fabric *fabric,
	const struct incident_record *by, struct incident_record *record)
{
	if (could_explain(explain, fabric, by, record))
		explain_list_add(&explain->found, record);
}

static void explain_take_near(struct explain *explain, const struct fabric *fabric,
	const struct incident_record *by, enum cause cause, unsigned near)
{
	const struct incident_places *places = &by->place.explains;
	for (size_t k = 0; k < places->n; k++) {
		const struct explain_list *list = NULL;
		if (places->v[k].near & near)
			list = explain_at(explain, SIDE_EXPLAINED, cause, &places->v[k]);
		for (size_t n = 0; list && n < list->n; n++)
			explain_take(explain, fabric, by, list->v[n]);
	}
}

static int explain_order(const void *left, const void *right)
{
	const struct incident_record *x = *(struct incident_record *const *)left;
	const struct incident_record *y = *(struct incident_record *const *)right;
	return (x->place.order > y->place.order) - (x->place.order < y->place.order);
}

size_t explain_orphans(struct explain *explain, const struct fabric *fabric,
	const struct incident_record *by, struct incident_record *const **ret)
{
	struct explain_list *found = &explain->found;
	found->n = 0;
	*ret = found->v;
	if (!by->place.put)
		return 0;
	for (int c = 0; c < CAUSE_COUNT; c++) {
		const enum cause cause = (enum cause)c;
		const struct explain_list *orphans = &explain->causes[c].orphans;
		const unsigned near = explain->near[by->i.cause][c];
		if (!near || orphans->n == 0)
			continue;
		const struct incident_places *places = &by->place.explains;
		if (explain_crowd(explain, SIDE_EXPLAINED, cause, near, places) < orphans->n) {
			explain_take_near(explain, fabric, by, cause, near);
			continue;
		}
		/* the newest first: what began long before is no consequence */
		for (size_t k = orphans->n; k-- > 0;) {
			if (by->i.first_ns - orphans->v[k]->place.first_ns > LATER_NS)
				break;
			explain_take(explain, fabric, by, orphans->v[k]);
		}
	}
	if (found->n > 1)
		qsort(found->v, found->n, sizeof(*found->v), explain_order);
	size_t n = 0;
	for (size_t k = 0; k < found->n; k++)
		if (n == 0 || found->v[n - 1] != found->v[k])
			found->v[n++] = found->v[k];
	found->n = n;
	*ret = found->v;
	return n;
}

size_t explain_pending(
	const struct explain *explain, enum cause cause, struct incident_record *const **ret)
{
	*ret = NULL;
	if (cause >= CAUSE_COUNT)
		return 0;
	*ret = explain->causes[cause].pending.v;
	return explain->causes[cause].pending.n;
}
