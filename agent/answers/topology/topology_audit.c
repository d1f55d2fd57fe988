/*
 * topology_audit - checks the fabric graph and its links: speeds, MTU, PFC, LLDP, missing members.
 * Each check is one function that adds findings. A check is skipped where a value is not known.
 */
#include <strings.h>
#include "agent/answers/common/text.h"
#include "config/address.h"
#include "agent/answers/topology/topology_views.h"
#include "db/model/cause.h"

#define OVERSUBSCRIBED                                                                             \
	1.05 /* hosts' capacity over the uplinks'; rounding of speeds is no finding */
#define MTU_HEADER_BYTES 22 /* Ethernet header, VLAN tag, FCS: some devices count them */
#define TEXT_MAX 32

enum { CRITICAL, WARNING, INFO, SEVERITIES };
static const char *const severities[SEVERITIES] = {"critical", "warning", "info"};

#define SHAPE struct topology_finding
static const struct field topology_finding_fields[] = {
	TEXT(severity, "How bad it is.", .type = "severity", .known = true, .state = true),
	TEXT(kind, "What it is, which never changes.", .known = true),
	TEXT(device, "Device.", .known = true),
	TEXT(port, "Port."),
	TEXT(peer, "Other end."),
	TEXT(text, "What was found.", .known = true),
	TEXT(remedy, "What to do.", .known = true),
};
SHAPE_OF(topology_finding, "TopoFinding", "A finding.", .common = true);
#undef SHAPE

#define SHAPE struct topology_leaf
static const struct field topology_leaf_fields[] = {
	TEXT(device, "Leaf.", .known = true),
	COUNT(host_bps, "Speed of all host ports.", .unit = UNIT_BITS_PER_S, .unknown = true),
	COUNT(uplink_bps, "Speed of all uplinks.", .unit = UNIT_BITS_PER_S, .unknown = true),
	NUMBER(oversubscription_ratio, UNIT_RATIO, "Their quotient; 1: none."),
	COUNT(uplinks, "Uplinks."),
	COUNT(uplinks_up, "Uplinks that are up."),
	COUNT(uplinks_usual, "Uplinks that most leaves have."),
};
static SHAPE_OF(topology_leaf, "TopoLeaf", "A leaf.");
#undef SHAPE

#define SHAPE struct topology_checked
static const struct field topology_checked_fields[] = {
	COUNT(links, "All links."),
	COUNT(speed, "With the speed of both ends."),
	COUNT(mtu, "With the MTU of both ends."),
	COUNT(pfc, "With the PFC priorities of both ends."),
	COUNT(classes, "With the DSCP maps of both ends."),
	COUNT(switch_links, "Links between two switches."),
};
SHAPE_OF(topology_checked, "Checked", "Links that could be compared.", .common = true);
#undef SHAPE

#define SHAPE struct topology_audit
static const struct field topology_audit_fields[] = {
	TEXT(fabric, "Name of the fabric.", .known = true),
	ROWS(findings, topology_finding, "What does not fit; empty: all does."),
	ROWS(leaves, topology_leaf, "Oversubscription of each leaf."),
	PART(checked, topology_checked, "What could be compared."),
};
SHAPE_OF(topology_audit, "TopologyCheck", "Audit of the fabric graph.");
#undef SHAPE

struct audit_list { /* of one severity */
	struct topology_finding *v;
	size_t n, cap;
};

struct audit {
	struct arena *arena; /* texts of findings */
	const struct fabric *f;
	const struct topology_facts *facts;
	struct audit_list findings[SEVERITIES];
	struct topology_leaf *leaves;
	size_t n_leaves;
	struct topology_checked checked;
	bool *links_up; /* [device][device above] */
	size_t usual;
};

/* ---- findings ------------------------------------------------------------ */

struct where {
	const char *device, *port, *peer;
};

__attribute__((format(printf, 6, 7))) static void audit_add(struct audit *audit, int severity,
	const char *kind, struct where where, const char *remedy, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	struct audit_list *list = &audit->findings[severity];
	rw_grow(list->v, list->n, list->cap);
	list->v[list->n++] = (struct topology_finding){.severity = severities[severity],
		.kind = kind,
		.device = arena_strdup(audit->arena, where.device),
		.port = where.port ? arena_strdup(audit->arena, where.port) : NULL,
		.peer = where.peer ? arena_strdup(audit->arena, where.peer) : NULL,
		.text = arena_strdup(audit->arena, text),
		.remedy = arena_strdup(audit->arena, remedy)};
}

static char *topology_audit_rate(char buf[TEXT_MAX], uint64_t bps)
{
	return unit_bitrate_text(buf, TEXT_MAX, bps);
}

/* What is declared of @port, where the device says nothing. */
static void facts_declare(
	const struct fabric *fabric, const struct fabric_port *port, struct port_facts *x)
{
	const struct fabric_port_setting *given = fabric_port_setting_of(fabric, port);
	if (!given)
		return;
	if (!x->speed_bps)
		x->speed_bps = given->speed_bps;
	if (!x->mtu_bytes)
		x->mtu_bytes = given->mtu_bytes;
	if (!x->pfc_known && given->pfc && class_priorities_read(given->pfc, &x->pfc_on, NULL) == 0)
		x->pfc_known = UINT8_MAX;
	if (!x->trust && given->trust >= 0)
		x->trust = class_trust_words[given->trust];
	if (!x->dscp_known && given->dscp)
		x->dscp_known = class_map_read(given->dscp, CLASS_DSCPS, x->dscp, NULL) == 0;
	if (!x->groups_known && given->groups)
		x->groups_known =
			class_map_read(given->groups, FABRIC_CLASSES, x->groups, NULL) == 0;
	if (!x->class_map)
		x->class_map = given->name;
}

static struct port_facts topology_audit_facts_of(
	const struct audit *audit, const struct fabric_port *port)
{
	struct port_facts x = audit->facts->port(audit->facts->arg, port->device->name, port->name);
	if (audit->f->n_port_settings > 0)
		facts_declare(audit->f, port, &x);
	return x;
}

/* What the device says of its speed, else what the configuration does. */
static uint64_t topology_audit_speed_of(const struct audit *audit, const struct fabric_port *port)
{
	struct port_facts x = topology_audit_facts_of(audit, port);
	if (x.speed_bps)
		return x.speed_bps;
	if (port->peer)
		x.speed_bps = topology_audit_facts_of(audit, port->peer).speed_bps;
	else
		x.speed_bps = 0;
	if (x.speed_bps)
		return x.speed_bps;
	return port->speed_bps;
}

static bool is_uplink(const struct fabric_port *port)
{
	return port->peer &&
		((port->device->role == ROLE_LEAF && port->peer->device->role == ROLE_SPINE) ||
			(port->device->role == ROLE_SPINE &&
				port->peer->device->role == ROLE_SUPERSPINE));
}

/* ---- one link ------------------------------------------------------------ */

static void check_state(struct audit *audit, const struct fabric_port *port,
	const struct port_facts *left, const struct port_facts *right, struct where where)
{
	const char *down = NULL;
	if (left->up == 0 && right->up == 0)
		down = "the link";
	else if (left->up == 0)
		down = "this end";
	else if (right->up == 0)
		down = "the other end";
	if (down)
		audit_add(audit, WARNING, "link_down", where,
			"check cable, optics and the port's admin state at both ends", "%s is down",
			down);
	if (port->speed_bps && left->speed_bps && port->speed_bps != left->speed_bps) {
		rw_cleanup(str_done) struct str speeds = {0};
		text_add_speeds(&speeds, (double)left->speed_bps, (double)port->speed_bps);
		audit_add(audit, WARNING, "speed_declared", where,
			"correct 'speed' of the link in the configuration, or find out why it runs "
			"at another one (breakout, "
			"autonegotiation, optics)",
			"%s", speeds.s);
	}
}

static void check_speed(struct audit *audit, const struct port_facts *left,
	const struct port_facts *right, struct where where)
{
	char one[TEXT_MAX], two[TEXT_MAX];
	if (!left->speed_bps || !right->speed_bps)
		return;
	audit->checked.speed++;
	if (left->speed_bps != right->speed_bps)
		audit_add(audit, CRITICAL, "speed_mismatch", where,
			"set both ends to the same speed and FEC, or check that these two ports "
			"are one link",
			"%s here, %s at the other end", topology_audit_rate(one, left->speed_bps),
			topology_audit_rate(two, right->speed_bps));
}

static void check_mtu(struct audit *audit, const struct port_facts *left,
	const struct port_facts *right, struct where where)
{
	if (!left->mtu_bytes || !right->mtu_bytes)
		return;
	audit->checked.mtu++;
	uint64_t low = right->mtu_bytes;
	if (left->mtu_bytes < right->mtu_bytes)
		low = left->mtu_bytes;
	uint64_t high = left->mtu_bytes + right->mtu_bytes - low;
	if (low == high)
		return;
	int severity = CRITICAL;
	const char *remedy = "set the larger MTU at both ends: frames above the smaller one are "
			     "dropped without any message";
	if (high - low <= MTU_HEADER_BYTES) {
		severity = INFO;
		remedy = "vendors count the Ethernet header differently: compare the largest frame "
			 "that each end accepts";
	}
	audit_add(audit, severity, cause_name(CAUSE_MTU_MISMATCH), where, remedy,
		"MTU %llu bytes here, %llu at the other end", (unsigned long long)left->mtu_bytes,
		(unsigned long long)right->mtu_bytes);
}

/* The RoCE MTU is of the payload's packet: a port's must be larger. */
static void check_lossless_mtu(
	struct audit *audit, const struct port_facts *facts, struct where where)
{
	if (facts->mtu_bytes && audit->f->lossless_mtu_bytes &&
		facts->mtu_bytes < audit->f->lossless_mtu_bytes)
		audit_add(audit, CRITICAL, "mtu_small", where,
			"raise the port's MTU, or correct lossless.mtu",
			"MTU %llu bytes is below lossless.mtu, %llu",
			(unsigned long long)facts->mtu_bytes,
			(unsigned long long)audit->f->lossless_mtu_bytes);
}

static const char *topology_audit_priorities(char buf[TEXT_MAX], unsigned mask)
{
	size_t n = 0;
	for (unsigned i = 0; i < 8; i++)
		if (mask & 1u << i)
			n += (size_t)snprintf(buf + n, TEXT_MAX - n, n ? ",%u" : "%u", i);
	if (n)
		return buf;
	return "none";
}

static void check_pfc(struct audit *audit, const struct port_facts *left,
	const struct port_facts *right, struct where where)
{
	unsigned both = left->pfc_known & right->pfc_known,
		 differ = (left->pfc_on ^ right->pfc_on) & both;
	char one[TEXT_MAX], two[TEXT_MAX];
	if (!both)
		return;
	audit->checked.pfc++;
	if (differ)
		audit_add(audit, CRITICAL, cause_name(CAUSE_PFC_MISMATCH), where,
			"enable PFC for the same priorities at both ends: an end without it "
			"ignores pause and overruns its neighbour",
			"PFC is on for priorities %s here, for %s at the other end",
			topology_audit_priorities(one, left->pfc_on & both),
			topology_audit_priorities(two, right->pfc_on & both));
	unsigned off =
		audit->f->lossless_mask & both & ~(unsigned)left->pfc_on & ~(unsigned)right->pfc_on;
	if (off)
		audit_add(audit, WARNING, "pfc_off", where,
			"enable PFC for them, or correct lossless.priorities",
			"PFC is off at both ends for the lossless priorities %s",
			topology_audit_priorities(one, off));
}

/* ---- the class of a packet at both ends ------------------------------------ */

static bool is_lossless(const struct audit *audit, uint8_t priority)
{
	return priority < FABRIC_CLASSES && audit->f->lossless_mask >> priority & 1;
}

/* Do rows of two maps differ? One that only one map has differs where it makes packets lossless:
 * the other end puts them where what has no row goes. */
static bool class_row_differs(const struct audit *audit, uint8_t left, uint8_t right)
{
	if (left == CLASS_NO_ROW || right == CLASS_NO_ROW)
		return left != right && (is_lossless(audit, left) || is_lossless(audit, right));
	return left != right;
}

static const char *class_row_text(char buf[TEXT_MAX], const char *what, uint8_t value)
{
	if (value == CLASS_NO_ROW)
		return "in no row";
	snprintf(buf, TEXT_MAX, "%s %u", what, value);
	return buf;
}

static void check_dscp(struct audit *audit, const struct port_facts *left,
	const struct port_facts *right, struct where where)
{
	unsigned first = CLASS_DSCPS, n = 0;
	bool lossless = false;
	char one[TEXT_MAX], two[TEXT_MAX], more[TEXT_MAX] = "";
	for (unsigned i = CLASS_DSCPS; i-- > 0;) {
		const uint8_t here = left->dscp[i], there = right->dscp[i];
		const bool counts = is_lossless(audit, here) || is_lossless(audit, there);
		if (!class_row_differs(audit, here, there) || (lossless && !counts))
			continue;
		if (counts && !lossless)
			n = 0;
		lossless = counts;
		first = i;
		n++;
	}
	if (n == 0)
		return;
	if (n > 1)
		snprintf(more, sizeof(more), "; %u more DSCPs differ", n - 1);
	audit_add(audit, lossless ? CRITICAL : WARNING, cause_name(CAUSE_DSCP_MISMATCH), where,
		"give both ends the same DSCP map: a packet that changes its priority leaves its "
		"lossless queue, or fills another one's",
		"DSCP %u is %s here, %s at the other end%s", first,
		class_row_text(one, "priority", left->dscp[first]),
		class_row_text(two, "priority", right->dscp[first]), more);
}

static void check_groups(struct audit *audit, const struct port_facts *left,
	const struct port_facts *right, struct where where)
{
	char one[TEXT_MAX], two[TEXT_MAX];
	for (unsigned i = 0; i < FABRIC_CLASSES; i++) {
		if (!is_lossless(audit, (uint8_t)i) || left->groups[i] == right->groups[i])
			continue;
		audit_add(audit, WARNING, "group_mismatch", where,
			"map the priority to the same group at both ends, or check that headroom "
			"and alpha of each end are those of its own group",
			"priority %u is %s here, %s at the other end", i,
			class_row_text(one, "group", left->groups[i]),
			class_row_text(two, "group", right->groups[i]));
		return;
	}
}

static void check_classes(struct audit *audit, const struct port_facts *left,
	const struct port_facts *right, struct where where)
{
	const bool maps = left->dscp_known && right->dscp_known;
	audit->checked.switch_links++;
	audit->checked.classes += maps;
	if (left->trust && right->trust && !str_eq(left->trust, right->trust))
		audit_add(audit, CRITICAL, cause_name(CAUSE_DSCP_MISMATCH), where,
			"let both ends classify packets by DSCP: routed packets carry no PCP",
			"packets are classified by %s here, by %s at the other end", left->trust,
			right->trust);
	if (maps)
		check_dscp(audit, left, right, where);
	else if (left->class_map && right->class_map && !str_eq(left->class_map, right->class_map))
		audit_add(audit, INFO, "class_names", where,
			"check that both maps give each DSCP the same priority, or declare what "
			"they hold (port_settings[].dscp)",
			"the class map is %.80s here, %.80s at the other end; what they hold is "
			"not known",
			left->class_map, right->class_map);
	if (left->groups_known && right->groups_known)
		check_groups(audit, left, right, where);
}

static void check_link(struct audit *audit, const struct fabric_port *port)
{
	struct port_facts x = topology_audit_facts_of(audit, port);
	struct port_facts y;
	if (port->peer)
		y = topology_audit_facts_of(audit, port->peer);
	else
		y = (struct port_facts){.up = -1};
	rw_cleanup(str_done) struct str peer = {0};
	if (port->peer)
		str_addf(&peer, "%s:%s", port->peer->device->name, port->peer->name);
	else if (port->host)
		str_addf(&peer, "host:%s%s%s", port->host, str_if(*port->host_nic, ":"),
			port->host_nic);
	else
		str_add(&peer, topology_outside_text((char[TOPOLOGY_OUTSIDE_MAX]){0}, port));
	struct where w = {port->device->name, port->name, peer.s};
	audit->checked.links++;
	check_state(audit, port, &x, &y, w);
	check_lossless_mtu(audit, &x, w);
	if (!port->peer)
		return;
	check_speed(audit, &x, &y, w);
	check_mtu(audit, &x, &y, w);
	check_pfc(audit, &x, &y, w);
	check_classes(audit, &x, &y, w);
}

/* ---- LLDP ---------------------------------------------------------------- */

static bool lldp_agrees(const struct port_facts *facts, const struct fabric_port *port)
{
	if (port->peer)
		return str_eq(facts->lldp_device, port->peer->device->name) &&
			str_eq(facts->lldp_port, port->peer->name);
	/* NICs have many names; and of what is declared here LLDP need not know the kind */
	return endpoint_kind(facts->lldp_device, NULL) &&
		str_eq(strchr(facts->lldp_device, ':') + 1, str_or(port->host, port->outsider));
}

static void check_lldp(struct audit *audit, const struct fabric_port *port)
{
	struct port_facts x = topology_audit_facts_of(audit, port);
	rw_cleanup(str_done) struct str seen = {0};
	if (!x.lldp_device || !*x.lldp_device)
		return;
	str_addf(&seen, "%s%s%s", x.lldp_device, str_if(x.lldp_port && *x.lldp_port, ":"),
		str_or(x.lldp_port, ""));
	if ((!port->peer && !port->host && !port->outsider) || lldp_agrees(&x, port))
		return;
	struct where w = {port->device->name, port->name, seen.s};
	rw_cleanup(str_done) struct str known = {0};
	if (port->peer)
		str_addf(&known, "%s:%s", port->peer->device->name, port->peer->name);
	else if (port->host)
		str_addf(&known, "host:%s", port->host);
	else
		str_add(&known, topology_outside_text((char[TOPOLOGY_OUTSIDE_MAX]){0}, port));
	if (port->discovered)
		audit_add(audit, WARNING, "lldp_mismatch", w,
			"two devices disagree about this cable: check it, or wait until both have "
			"sent LLDP",
			"LLDP hears %s, the known link leads to %s", seen.s, known.s);
	else
		audit_add(audit, WARNING, "lldp_mismatch", w,
			"correct the link in the configuration, or the cabling",
			"LLDP hears %s, the declared link leads to %s", seen.s, known.s);
}

/* A host that is not declared is no finding: the configuration may list the fabric links only. */
static void check_undeclared(
	void *arg, const char *device, const char *port, const struct port_facts *facts)
{
	struct audit *a = arg;
	const struct fabric_device *d = fabric_device(a->f, device);
	const struct fabric_port *p = NULL;
	if (d)
		p = fabric_port(d, port);
	rw_cleanup(str_done) struct str seen = {0};
	if (!d || (p && (p->peer || p->host || p->outsider)) ||
		endpoint_kind(facts->lldp_device, NULL))
		return;
	str_addf(&seen, "%s:%s", facts->lldp_device, facts->lldp_port);
	audit_add(a, WARNING, "link_undeclared", (struct where){device, port, seen.s},
		"add the link to the configuration (rocewatch topology discover prints "
		"it): without it the port is in no ECMP group",
		"LLDP hears %s, but no link is known here", seen.s);
}

static bool same_system(const char *left, const char *right)
{
	size_t na = strcspn(left, "."), nb = strcspn(right, ".");
	return na == nb && strncasecmp(left, right, na) == 0;
}

/* ---- groups and leaves --------------------------------------------------- */

static void check_group(struct audit *audit, const struct fabric_group *group)
{
	const struct fabric_port *low = NULL, *high = NULL;
	uint64_t slow = 0, fast = 0;
	for (size_t i = 0; i < group->n_members; i++) {
		uint64_t v = topology_audit_speed_of(audit, group->members[i]);
		if (!v)
			continue;
		if (!low || v < slow) {
			low = group->members[i];
			slow = v;
		}
		if (!high || v > fast) {
			high = group->members[i];
			fast = v;
		}
	}
	char one[TEXT_MAX], two[TEXT_MAX];
	if (low && slow != fast)
		audit_add(audit, WARNING, "group_speed",
			(struct where){group->device->name, low->name, NULL},
			"ECMP gives each member the same share: bring all members of the "
			"group to one speed, or weigh them",
			"group %s: %s runs at %s, %s at %s", group->id, low->name,
			topology_audit_rate(one, slow), high->name, topology_audit_rate(two, fast));
}

static size_t uplinks_of(const struct fabric_device *device)
{
	size_t n = 0;
	for (size_t i = 0; i < device->n_ports; i++)
		n += is_uplink(device->ports[i]);
	return n;
}

/* The number of uplinks that most leaves have; the larger one when two are as common. */
static size_t usual_uplinks(const struct fabric *fabric)
{
	size_t best = 0, best_count = 0;
	struct map *counts = map_new();
	for (size_t i = 0; i < fabric->n_devices; i++) {
		size_t n = 0;
		if (fabric->devices[i]->role == ROLE_LEAF)
			n = uplinks_of(fabric->devices[i]);
		uint64_t count = 0;
		if (n == 0)
			continue;
		map_get(counts, n, &count);
		map_put(counts, n, ++count);
		if (count > best_count || (count == best_count && n > best)) {
			best = n;
			best_count = count;
		}
	}
	map_free(counts);
	return best;
}

static size_t links_between(const struct fabric_device *device, const struct fabric_device *up)
{
	size_t n = 0;
	for (size_t i = 0; i < device->n_ports; i++)
		n += device->ports[i]->peer && device->ports[i]->peer->device == up;
	return n;
}

/* Which devices have links to which of a higher role. */
static void links_up_fill(struct audit *audit)
{
	const struct fabric *f = audit->f;
	audit->links_up = rw_calloc(f->n_devices * f->n_devices + 1, sizeof(*audit->links_up));
	for (size_t i = 0; i < f->n_devices; i++)
		for (size_t k = 0; k < f->n_devices; k++)
			audit->links_up[i * f->n_devices + k] =
				f->devices[k]->role > f->devices[i]->role &&
				f->devices[k]->role < ROLE_OTHER &&
				links_between(f->devices[i], f->devices[k]) > 0;
}

/* [device]: is it of the role of device @at, and does a device above lead to both? Leaves of two
 * rails or planes share none. Who has no link up is compared with all. The caller frees. */
static bool *reach_kin(const struct audit *audit, size_t at)
{
	const struct fabric *f = audit->f;
	const bool *own = &audit->links_up[at * f->n_devices];
	const bool alone = !memchr(own, true, f->n_devices);
	bool *kin = rw_calloc(f->n_devices, sizeof(*kin));
	for (size_t i = 0; i < f->n_devices; i++) {
		if (i == at || f->devices[i]->role != f->devices[at]->role)
			continue;
		kin[i] = alone;
		for (size_t k = 0; k < f->n_devices && !kin[i]; k++)
			kin[i] = own[k] && audit->links_up[i * f->n_devices + k];
	}
	return kin;
}

/* Devices of the next tier that most of its kin reach, and device @at does not. */
static void check_reach(struct audit *audit, size_t at)
{
	const struct fabric *f = audit->f;
	const struct fabric_device *device = f->devices[at];
	rw_cleanup(freep) bool *kin = reach_kin(audit, at);
	enum device_role above = ROLE_SUPERSPINE;
	if (device->role == ROLE_LEAF)
		above = ROLE_SPINE;
	else if (device->role != ROLE_SPINE)
		return;
	for (size_t i = 0; i < f->n_devices; i++) {
		const struct fabric_device *up = f->devices[i];
		size_t n = 0, reach = 0;
		if (up->role != above || audit->links_up[at * f->n_devices + i])
			continue;
		for (size_t k = 0; k < f->n_devices; k++) {
			n += kin[k];
			reach += kin[k] && audit->links_up[k * f->n_devices + i];
		}
		if (reach * 2 > n)
			audit_add(audit, WARNING, "missing_member",
				(struct where){device->name, NULL, up->name},
				"connect it, or check that LLDP sees the neighbour, or that it is "
				"declared",
				"no link to %s, which %zu of %zu others have", up->name, reach, n);
	}
}

/* Capacity of a leaf to its hosts and to the next tier. */
struct leaf_sums {
	uint64_t hosts_bps, uplinks_bps;
	size_t uplinks, up; /* up: not known to be down */
	bool known; /* all speeds are known */
};

static struct leaf_sums leaf_sums_of(const struct audit *audit, const struct fabric_device *device)
{
	struct leaf_sums sums = {.known = true};
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct fabric_port *port = device->ports[i];
		if (!port->host && !is_uplink(port))
			continue;
		uint64_t speed_bps = topology_audit_speed_of(audit, port);
		sums.known = sums.known && speed_bps;
		if (port->host)
			sums.hosts_bps += speed_bps;
		if (is_uplink(port)) {
			sums.uplinks_bps += speed_bps;
			sums.uplinks++;
			sums.up += topology_audit_facts_of(audit, port).up != 0;
		}
	}
	return sums;
}

static void check_leaf(struct audit *audit, const struct fabric_device *device)
{
	const struct where where = {device->name, NULL, NULL};
	const struct leaf_sums sums = leaf_sums_of(audit, device);
	double ratio = NAN;
	if (sums.known && sums.hosts_bps && sums.uplinks_bps)
		ratio = (double)sums.hosts_bps / (double)sums.uplinks_bps;
	char hosts[TEXT_MAX], uplinks[TEXT_MAX];
	if (ratio > OVERSUBSCRIBED)
		audit_add(audit, WARNING, cause_name(CAUSE_OVERSUBSCRIPTION), where,
			"add uplinks, or accept that all hosts together cannot send at line rate "
			"over the spines",
			"hosts can send %s into uplinks of %s: %.2f : 1",
			topology_audit_rate(hosts, sums.hosts_bps),
			topology_audit_rate(uplinks, sums.uplinks_bps), ratio);
	if (sums.uplinks < audit->usual)
		audit_add(audit, WARNING, "ecmp_width", where,
			"find the missing uplinks: the others of this tier have them",
			"%zu uplinks, most %ss have %zu", sums.uplinks,
			device_role_name(device->role), audit->usual);
	audit->leaves[audit->n_leaves++] = (struct topology_leaf){.device = device->name,
		.host_bps = count_or_unknown(sums.hosts_bps),
		.uplink_bps = count_or_unknown(sums.uplinks_bps),
		.oversubscription_ratio = ratio,
		.uplinks = sums.uplinks,
		.uplinks_up = sums.up,
		.uplinks_usual = audit->usual};
}

/* Each link is checked from one of its ends: that of a host's port, or the first by name. A member
 * of a LAG has a peer that points back at the LAG, and is checked too. */
static bool is_first_end(const struct fabric_port *port)
{
	if (port->host || port->outsider)
		return true;
	const struct fabric_port *peer = port->peer;
	if (!peer)
		return false;
	if (peer->peer != port)
		return true;
	if (port->device == peer->device)
		return name_compare(port->name, peer->name) < 0;
	return name_compare(port->device->name, peer->device->name) < 0;
}

static void topology_audit_check_device(struct audit *audit, const struct fabric_device *device)
{
	size_t links = 0;
	const char *sysname = audit->facts->sysname(audit->facts->arg, device->name);
	if (sysname && *sysname && !same_system(sysname, device->name))
		audit_add(audit, WARNING, "sysname", (struct where){device->name, NULL, NULL},
			"check that the address is the right device's, or give both the same name",
			"the device calls itself %.200s", sysname);
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct fabric_port *p = device->ports[i];
		links += p->peer || p->host || p->outsider;
		if (is_first_end(p))
			check_link(audit, p);
		check_lldp(audit, p);
	}
	for (size_t i = 0; i < device->n_groups; i++)
		check_group(audit, &device->groups[i]);
	if (!links)
		audit_add(audit, WARNING, "no_links", (struct where){device->name, NULL, NULL},
			audit->f->discover ? "enable LLDP on it, and check in 'rocewatch doctor' "
					     "that it answers"
					   : "declare its links, or write 'links: discover'",
			"no link of this device is known");
	if (device->role == ROLE_LEAF)
		check_leaf(audit, device);
}

/* Each thing outside once: of what a switch that is not asked does, nothing is known. */
static void check_outside(struct audit *audit)
{
	size_t n;
	const struct topo_outside *rows = topology_outside(audit->f, audit->arena, &n);
	for (size_t i = 0; i < n; i++) {
		const char *name = rows[i].name;
		const unsigned long long links = rows[i].links;
		const bool known = str_eq(rows[i].kind, neighbor_kind_word(NEIGHBOR_SWITCH));
		const struct where where = {rows[i].devices[0], NULL, name};
		const char *lead =
			arena_printf(audit->arena, "%llu link%s of %zu device%s %s to it", links,
				plural(links), rows[i].n_devices, plural(rows[i].n_devices),
				links == 1 ? "leads" : "lead");
		if (known)
			audit_add(audit, INFO, "outside_switch", where,
				"add it to devices, or leave the ports towards it out "
				"(devices[].ports.exclude)",
				"%s is a switch that is not in the configuration; %s", name, lead);
		else
			audit_add(audit, INFO, "outside_unknown", where,
				"declare it in links as \"host:NAME\" or \"switch:NAME\", or add "
				"it "
				"to devices",
				"%s may be a switch or a host: LLDP does not tell; %s, and "
				"detectors about hosts leave them out",
				name, lead);
	}
}

/* The worst first, each severity in the order in which it was found. */
static void topology_audit_sort(struct audit *audit, struct topology_audit *ret)
{
	size_t n = 0;
	for (int s = 0; s < SEVERITIES; s++)
		n += audit->findings[s].n;
	ret->findings = arena_array(audit->arena, struct topology_finding, n + 1);
	for (int s = 0; s < SEVERITIES; s++) {
		for (size_t i = 0; i < audit->findings[s].n; i++)
			ret->findings[ret->n_findings++] = audit->findings[s].v[i];
		free(audit->findings[s].v);
	}
}

json_t *topology_check_json(const struct fabric *fabric, const struct topology_facts *facts)
{
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	struct audit a = {.arena = arena,
		.f = fabric,
		.facts = facts,
		.leaves = arena_array(arena, struct topology_leaf, fabric->n_devices + 1),
		.usual = usual_uplinks(fabric)};
	links_up_fill(&a);
	for (size_t i = 0; i < fabric->n_devices; i++) {
		topology_audit_check_device(&a, fabric->devices[i]);
		check_reach(&a, i);
	}
	facts->each_lldp(facts->arg, check_undeclared, &a);
	check_outside(&a);
	free(a.links_up);
	struct topology_audit answer = {.fabric = fabric->name,
		.leaves = a.leaves,
		.n_leaves = a.n_leaves,
		.checked = a.checked};
	topology_audit_sort(&a, &answer);
	return shape_json(&topology_audit_shape, &answer);
}

/* ---- as text ------------------------------------------------------------- */

static void topology_audit_check_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	static const struct column leaf_columns[] = {
		{"device", "LEAF", COL_TEXT, false},
		{"host_bps", "TO HOSTS", COL_BPS, true},
		{"uplink_bps", "UPLINKS", COL_BPS, true},
		{"oversubscription_ratio", "RATIO", COL_NUMBER, true},
		{"uplinks", "WIDTH", COL_INT, true},
		{"uplinks_up", "UP", COL_INT, true},
		{"uplinks_usual", "USUAL", COL_INT, true},
	};
	static const struct view leaf_view = {
		NULL, "leaves", leaf_columns, rw_countof(leaf_columns), NULL, "no leaves"};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct topology_audit answer;
	shape_read(&topology_audit_shape, doc, a, &answer);
	for (size_t i = 0; i < answer.n_findings; i++) {
		const struct topology_finding *x = &answer.findings[i];
		fprintf(out, "%-8s  %s%s%s%s%s: %s (%s)\n          %s\n", x->severity, x->device,
			str_if(x->port, ":"), str_or(x->port, ""), str_if(x->peer, " - "),
			str_or(x->peer, ""), x->text, x->kind, x->remedy);
	}
	if (!header)
		return;
	fprintf(out,
		"%s%zu findings. Links with both ends known, of %llu: speed %llu, MTU %llu, PFC "
		"%llu, DSCP maps %llu. The others were not checked.\n\n",
		str_if(answer.n_findings, "\n"), answer.n_findings,
		(unsigned long long)answer.checked.links, (unsigned long long)answer.checked.speed,
		(unsigned long long)answer.checked.mtu, (unsigned long long)answer.checked.pfc,
		(unsigned long long)answer.checked.classes);
	report_print(out, doc, &leaf_view, FORMAT_TABLE, header, color);
}

static const struct column check_columns[] = {
	{"severity", "SEVERITY", COL_TEXT, false},
	{"kind", "KIND", COL_TEXT, false},
	{"device", "DEVICE", COL_TEXT, false},
	{"port", "PORT", COL_TEXT, false},
	{"peer", "PEER", COL_TEXT, false},
	{"text", "WHAT", COL_TEXT, false},
	{"remedy", "REMEDY", COL_TEXT, false},
};
const struct view topology_check_view = {"topology check", "findings", check_columns,
	rw_countof(check_columns), topology_audit_check_text, "nothing found"};
