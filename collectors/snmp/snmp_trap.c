/* snmp_trap - the standard traps, and those of the sender's profile, become events. */
#include "collectors/snmp/snmp_trap.h"

#include "collectors/snmp/snmp_rows.h"
#include "config/profile/profile.h"

#define OID(a) ((struct snmp_oid){(a), rw_countof(a)})

static const uint32_t trap_oid[] = {1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0};
static const uint32_t snmp_traps[] = {1, 3, 6, 1, 6, 3, 1, 1, 5};
static const uint32_t if_entry[] = {1, 3, 6, 1, 2, 1, 2, 2, 1};
static const uint32_t if_x_entry[] = {1, 3, 6, 1, 2, 1, 31, 1, 1, 1};
enum { IF_INDEX = 1, IF_DESCR = 2, IF_ADMIN = 7, IF_OPER = 8, IFX_NAME = 1 };

/* snmpTraps (RFC 3418 section 2, RFC 2863 section 6), by their last arc. authenticationFailure, 5,
 * says nothing about the fabric. */
static const struct {
	uint32_t arc;
	const char *kind, *text;
	bool about_port, poll_soon;
} standard[] = {
	{1, "cold_start",
		"coldStart: the device or its agent restarted, its configuration may have changed",
		false, true},
	{2, "warm_start",
		"warmStart: the device or its agent restarted with the configuration it had", false,
		true},
	{3, "link_down", "linkDown", true, true},
	{4, "link_up", "linkUp", true, true},
};

/* Which notification it is: snmpTrapOID, for v1 as RFC 3584 section 3.1 makes it. False when the
 * message has none. @buf holds the arcs where they have to be made. */
static bool snmp_trap_oid(
	const struct snmp_trap_pdu *pdu, uint32_t buf[SNMP_OID_MAX], struct snmp_oid *ret)
{
	if (pdu->version != 1) {
		for (size_t i = 0; i < pdu->n; i++)
			if (pdu->v[i].type == SNMP_OBJECT_ID &&
				snmp_oid_order(pdu->v[i].oid, OID(trap_oid)) == 0) {
				*ret = pdu->v[i].object;
				return ret->n > 0;
			}
		return false;
	}
	bool is_generic = pdu->generic >= 0 && pdu->generic <= 5;
	struct snmp_oid root;
	if (is_generic)
		root = OID(snmp_traps);
	else
		root = pdu->enterprise;
	if ((!is_generic && pdu->generic != 6) || pdu->specific < 0 || pdu->specific > UINT32_MAX ||
		root.n == 0 || root.n + 2 > SNMP_OID_MAX)
		return false;
	memcpy(buf, root.v, root.n * sizeof(*buf));
	size_t n = root.n;
	if (is_generic) {
		buf[n++] = (uint32_t)pdu->generic + 1;
	} else {
		buf[n++] = 0;
		buf[n++] = (uint32_t)pdu->specific;
	}
	*ret = (struct snmp_oid){buf, n};
	return true;
}

/* snmp_trap_below - the varbind that lies under @root (and @column of it, 0 = any); its instance is
 * what follows. NULL if there is none. */
static const struct snmp_varbind *snmp_trap_below(
	const struct snmp_trap_pdu *pdu, struct snmp_oid root, uint32_t column)
{
	for (size_t i = 0; i < pdu->n; i++) {
		struct snmp_oid o = pdu->v[i].oid;
		if (o.n > root.n && snmp_oid_under(o, root) &&
			(column == 0 || o.v[root.n] == column))
			return &pdu->v[i];
	}
	return NULL;
}

static bool snmp_trap_index_of(const struct snmp_varbind *varbind, uint32_t *ret)
{
	if (!varbind || !snmp_type_is_number(varbind->type) || varbind->number == 0 ||
		varbind->number > INT32_MAX)
		return false;
	*ret = (uint32_t)varbind->number;
	return true;
}

/* ifindex_of - the value of ifIndex, else the instance of anything from ifTable or ifXTable. */
static bool ifindex_of(const struct snmp_trap_pdu *pdu, uint32_t *ret)
{
	if (snmp_trap_index_of(snmp_trap_below(pdu, OID(if_entry), IF_INDEX), ret))
		return true;
	const struct snmp_oid roots[] = {OID(if_entry), OID(if_x_entry)};
	for (size_t i = 0; i < rw_countof(roots); i++) {
		const struct snmp_varbind *v = snmp_trap_below(pdu, roots[i], 0);
		if (v && v->oid.n == roots[i].n + 2 && v->oid.v[roots[i].n + 1] > 0) {
			*ret = v->oid.v[roots[i].n + 1];
			return true;
		}
	}
	return false;
}

struct trap_subject {
	uint32_t ifindex; /* 0 = not given */
	int priority, queue; /* -1 = not given */
};

static bool name_from(const struct snmp_varbind *varbind, char *buf, size_t size)
{
	if (varbind && varbind->type == SNMP_STRING)
		snmp_text_clean(buf, size, varbind->bytes, varbind->n_bytes);
	return *buf != '\0';
}

static void snmp_trap_port_name(const struct snmp_trap_pdu *pdu,
	const struct snmp_trap_sender *sender, uint32_t ifindex, char *buf, size_t size)
{
	const char *ours = NULL;
	if (ifindex && sender->port_name)
		ours = sender->port_name(sender->arg, ifindex);
	*buf = '\0';
	if (ours)
		snprintf(buf, size, "%s", ours);
	else if (!name_from(snmp_trap_below(pdu, OID(if_x_entry), IFX_NAME), buf, size))
		name_from(snmp_trap_below(pdu, OID(if_entry), IF_DESCR), buf, size);
}

__attribute__((format(printf, 2, 3))) static void text_add(
	struct snmp_trap_event *event, const char *fmt, ...)
{
	size_t n = strlen(event->text);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(event->text + n, sizeof(event->text) - n, fmt, ap);
	va_end(ap);
}

static void snmp_trap_port_take(const struct snmp_trap_pdu *pdu,
	const struct snmp_trap_sender *sender, const struct trap_subject *subject,
	struct snmp_trap_event *event)
{
	snmp_trap_port_name(pdu, sender, subject->ifindex, event->port, sizeof(event->port));
	if (!*event->port && subject->ifindex)
		text_add(event, ", ifIndex %u, a port whose name is unknown", subject->ifindex);
	else if (!*event->port)
		text_add(event, ", without saying which port");
}

/* The states that a linkDown carries (RFC 2863): administratively down is intended, not a fault. */
static void states_add(const struct snmp_trap_pdu *pdu, struct snmp_trap_event *event)
{
	static const char *const words[] = {
		"?", "up", "down", "testing", "unknown", "dormant", "notPresent", "lowerLayerDown"};
	static const struct {
		uint32_t column;
		const char *name;
	} states[] = {{IF_ADMIN, "administratively"}, {IF_OPER, "operationally"}};
	for (size_t i = 0; i < rw_countof(states); i++) {
		const struct snmp_varbind *v =
			snmp_trap_below(pdu, OID(if_entry), states[i].column);
		if (v && snmp_type_is_number(v->type) && v->number > 0 &&
			v->number < rw_countof(words))
			text_add(event, ", %s %s", states[i].name, words[v->number]);
	}
}

static bool standard_read(const struct snmp_trap_pdu *pdu, const struct snmp_trap_sender *sender,
	struct snmp_oid oid, struct snmp_trap_event *ret)
{
	if (oid.n != rw_countof(snmp_traps) + 1 || !snmp_oid_under(oid, OID(snmp_traps)))
		return false;
	for (size_t i = 0; i < rw_countof(standard); i++) {
		if (standard[i].arc != oid.v[oid.n - 1])
			continue;
		struct trap_subject w = {0};
		snprintf(ret->kind, sizeof(ret->kind), "%s", standard[i].kind);
		snprintf(ret->text, sizeof(ret->text), "%s", standard[i].text);
		ret->poll_soon = standard[i].poll_soon;
		if (standard[i].about_port) {
			ifindex_of(pdu, &w.ifindex);
			snmp_trap_port_take(pdu, sender, &w, ret);
			states_add(pdu, ret);
		}
		return true;
	}
	return false;
}

/* The port, priority and queue in the instance of the profile's column. */
static void instance_read(const struct profile_trap *trap, const struct snmp_varbind *varbind,
	struct trap_subject *subject)
{
	for (size_t i = 0; i < trap->n_parts && trap->at.n + i < varbind->oid.n; i++) {
		uint32_t arc = varbind->oid.v[trap->at.n + i];
		if (trap->parts[i] == PART_PORT)
			subject->ifindex = arc;
		else if (trap->parts[i] == PART_PRIORITY)
			subject->priority = (int)(arc & 0xff);
		else if (trap->parts[i] == PART_QUEUE)
			subject->queue = (int)(arc & 0xff);
	}
}

static void profile_read_trap(const struct snmp_trap_pdu *pdu,
	const struct snmp_trap_sender *sender, const struct profile_trap *trap,
	struct snmp_trap_event *ret)
{
	struct trap_subject w = {.priority = -1, .queue = -1};
	const struct snmp_varbind *at = NULL;
	if (trap->at.n)
		at = snmp_trap_below(pdu, (struct snmp_oid){trap->at.v, trap->at.n}, 0);
	snprintf(ret->kind, sizeof(ret->kind), "%s", trap->kind);
	snprintf(ret->text, sizeof(ret->text), "%s", trap->doc);
	ifindex_of(pdu, &w.ifindex);
	if (at)
		instance_read(trap, at, &w);
	for (size_t i = 0; at && snmp_type_is_number(at->type) && i < trap->n_states; i++)
		if (trap->states[i].value == at->number)
			text_add(ret, ": %s", trap->states[i].word);
	if (trap->about_port)
		snmp_trap_port_take(pdu, sender, &w, ret);
	if (w.priority >= 0)
		text_add(ret, ", priority %d", w.priority);
	if (w.queue >= 0)
		text_add(ret, ", queue %d", w.queue);
}

int snmp_trap_read(const struct snmp_trap_pdu *pdu, const struct snmp_trap_sender *sender,
	struct snmp_trap_event *ret)
{
	uint32_t buf[SNMP_OID_MAX];
	struct snmp_oid oid;
	*ret = (struct snmp_trap_event){0};
	if (!snmp_trap_oid(pdu, buf, &oid))
		return -EBADMSG;
	if (standard_read(pdu, sender, oid, ret))
		return 0;
	for (size_t i = 0; sender->profile && i < sender->profile->n_traps; i++) {
		const struct profile_trap *t = &sender->profile->traps[i];
		if (snmp_oid_order(oid, (struct snmp_oid){t->oid.v, t->oid.n}) != 0)
			continue;
		profile_read_trap(pdu, sender, t, ret);
		return 0;
	}
	return -ENOENT;
}
