/* snmp_lldp - walks four tables and makes neighbours of their rows. OIDs: LLDP-MIB
 * 1.0.8802.1.1.2.1 (IEEE 802.1AB-2005), IF-MIB (RFC 2863). */
#include "collectors/snmp/snmp_lldp.h"

#include "config/profile/profile.h"

#define TEXT_MAX 256
#define REPEATS_SLACK 64 /* rows that may come again before a walk counts as going round */

const uint32_t snmp_lldp_last_change[] = {1, 0, 8802, 1, 1, 2, 1, 2, 1, 0};
const size_t snmp_lldp_last_change_n = rw_countof(snmp_lldp_last_change);

enum table { TABLE_SELF, TABLE_INTERFACES, TABLE_PORTS, TABLE_NEIGHBORS, TABLES };
enum { SELF_CHASSIS_SUBTYPE, SELF_CHASSIS, SELF_SYSNAME };
enum { IF_NAME, IF_DESCR, IF_ALIAS, IF_PHYS, IF_MTU };
enum { PORT_SUBTYPE, PORT_ID, PORT_DESCR };
enum {
	REM_CHASSIS_SUBTYPE,
	REM_CHASSIS,
	REM_PORT_SUBTYPE,
	REM_PORT_ID,
	REM_PORT_DESCR,
	REM_SYSNAME,
	REM_SYSDESC,
	REM_CAPABILITIES /* enabled */
};
enum { INDEX_MARK, INDEX_PORT, INDEX_REM, INDEX_PARTS };

#define COLUMNS_MAX 8
#define ARCS_MAX 12
static const struct {
	/* end at 0: no column's OID has one after the first arcs */
	uint32_t arcs[COLUMNS_MAX][ARCS_MAX];
	size_t n;
} tables[TABLES] = {
	[TABLE_SELF] = {{{1, 0, 8802, 1, 1, 2, 1, 3, 1}, {1, 0, 8802, 1, 1, 2, 1, 3, 2},
				{1, 0, 8802, 1, 1, 2, 1, 3, 3}},
		3},
	[TABLE_INTERFACES] = {{{1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 1}, {1, 3, 6, 1, 2, 1, 2, 2, 1, 2},
				      {1, 3, 6, 1, 2, 1, 31, 1, 1, 1, 18},
				      {1, 3, 6, 1, 2, 1, 2, 2, 1, 6},
				      {1, 3, 6, 1, 2, 1, 2, 2, 1, 4}},
		5},
	[TABLE_PORTS] = {{{1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 2},
				 {1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 3},
				 {1, 0, 8802, 1, 1, 2, 1, 3, 7, 1, 4}},
		3},
	[TABLE_NEIGHBORS] =
		{{{1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 4}, {1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 5},
			 {1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 6}, {1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 7},
			 {1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 8}, {1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 9},
			 {1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 10},
			 {1, 0, 8802, 1, 1, 2, 1, 4, 1, 1, 12}},
			8},
};

struct snmp_lldp {
	struct snmp_rows *rows[TABLES];
	size_t at; /* the table under way */
};

static size_t snmp_lldp_arcs_of(const uint32_t *arcs)
{
	size_t n = 2; /* the second arc of LLDP-MIB is 0 */
	while (n < ARCS_MAX && arcs[n])
		n++;
	return n;
}

bool snmp_lldp_asked(size_t i, struct snmp_oid *ret, bool *ret_scalar)
{
	for (size_t t = 0; t < TABLES; t++) {
		if (i < tables[t].n) {
			const uint32_t *arcs = tables[t].arcs[i];
			*ret = (struct snmp_oid){arcs, snmp_lldp_arcs_of(arcs)};
			*ret_scalar = t == TABLE_SELF;
			return true;
		}
		i -= tables[t].n;
	}
	return false;
}

struct snmp_lldp *snmp_lldp_new(void)
{
	struct snmp_lldp *l = rw_calloc(1, sizeof(*l));
	for (size_t t = 0; t < TABLES; t++) {
		struct snmp_oid columns[COLUMNS_MAX];
		for (size_t i = 0; i < tables[t].n; i++)
			columns[i] = (struct snmp_oid){
				tables[t].arcs[i], snmp_lldp_arcs_of(tables[t].arcs[i])};
		l->rows[t] = snmp_rows_new(columns, tables[t].n);
		snmp_rows_begin(l->rows[t], NULL);
	}
	l->at = TABLES;
	return l;
}

void snmp_lldp_free(struct snmp_lldp *lldp)
{
	if (!lldp)
		return;
	for (size_t t = 0; t < TABLES; t++)
		snmp_rows_free(lldp->rows[t]);
	free(lldp);
}

void snmp_lldp_begin(struct snmp_lldp *lldp)
{
	for (size_t t = 0; t < TABLES; t++)
		snmp_rows_begin(lldp->rows[t], NULL);
	lldp->at = 0;
}

size_t snmp_lldp_next(struct snmp_lldp *lldp, struct snmp_oid *ret, size_t max)
{
	for (; lldp->at < TABLES; lldp->at++) {
		size_t n = snmp_rows_next(lldp->rows[lldp->at], ret, max);
		if (n > 0)
			return n;
	}
	return 0;
}

static uint64_t neighbor_key(struct snmp_oid index)
{
	return (uint64_t)index.v[INDEX_PORT] << 32 | index.v[INDEX_REM];
}

/* going_round - a TimeFilter taken at its word repeats every row for every mark up to now: when
 * rows come again, nothing new follows. */
static bool going_round(const struct snmp_rows *rows)
{
	size_t n = snmp_rows_count(rows);
	if (n < 2 * REPEATS_SLACK)
		return false;
	struct map *seen = map_new();
	for (size_t row = 0; row < n; row++) {
		struct snmp_oid index = snmp_rows_index(rows, row);
		if (index.n == INDEX_PARTS)
			map_put(seen, neighbor_key(index), row);
	}
	size_t known = map_count(seen);
	map_free(seen);
	return n > 2 * known + REPEATS_SLACK;
}

void snmp_lldp_take(struct snmp_lldp *lldp, const struct snmp_varbind *varbinds, size_t n)
{
	if (lldp->at >= TABLES)
		return;
	struct snmp_rows *r = lldp->rows[lldp->at];
	size_t before = snmp_rows_count(r);
	if (n == 0 || !snmp_rows_take(r, varbinds, n)) {
		lldp->at++;
		return;
	}
	size_t after = snmp_rows_count(r);
	/* checked when the rows pass a power of two: so the checks cost as much as the walk, not
	 * its square */
	const bool check =
		lldp->at == TABLE_NEIGHBORS && after > before && (before ^ after) > before;
	if (after > 4 * SNMP_LLDP_NEIGHBORS_MAX || (check && going_round(r)))
		lldp->at++;
}

void snmp_lldp_refuse(struct snmp_lldp *lldp, size_t i)
{
	if (lldp->at < TABLES)
		snmp_rows_refuse(lldp->rows[lldp->at], i);
}

void snmp_lldp_skip(struct snmp_lldp *lldp)
{
	if (lldp->at < TABLES)
		lldp->at++;
}

/* ---- reading values ------------------------------------------------------- */

static int row_number(const struct snmp_rows *rows, size_t row, size_t column)
{
	const struct snmp_value *c = snmp_rows_value(rows, row, column);
	if (c && snmp_type_is_number(c->type) && c->u <= 255)
		return (int)c->u;
	return 0;
}

static const uint8_t *row_bytes(
	const struct snmp_rows *rows, size_t row, size_t column, size_t *ret_n)
{
	const struct snmp_value *c = snmp_rows_value(rows, row, column);
	*ret_n = 0;
	if (c && c->type == SNMP_STRING)
		return snmp_rows_bytes(rows, c, ret_n);
	return NULL;
}

static const char *row_text(
	const struct snmp_rows *rows, struct arena *a, size_t row, size_t column)
{
	char buf[TEXT_MAX];
	size_t n;
	const uint8_t *p = row_bytes(rows, row, column, &n);
	if (p && *snmp_text_clean(buf, sizeof(buf), p, n))
		return arena_strdup(a, buf);
	return "";
}

static const char *row_id(const struct snmp_rows *rows, struct arena *a, size_t row, size_t column,
	bool chassis, int subtype)
{
	char buf[LLDP_ID_TEXT_MAX];
	size_t n;
	const uint8_t *p = row_bytes(rows, row, column, &n);
	if (p && *lldp_id_text(buf, chassis, subtype, p, n))
		return arena_strdup(a, buf);
	return "";
}

/* row_kind - what the neighbour of a row is, by what it says of itself. Some agents send their
 * capabilities as text, as people write bytes: "28 00". */
static enum neighbor_kind row_kind(const struct snmp_rows *r, struct arena *a, size_t row,
	const struct profiles *profiles, const struct topology_neighbor *neighbor)
{
	struct neighbor_signs signs = {0};
	size_t n;
	const uint8_t *bits = row_bytes(r, row, REM_CAPABILITIES, &n);
	if (n == 1 || n == 2)
		signs.capabilities = bits[0];
	else if (n > 2)
		signs.capabilities =
			neighbor_capabilities_hex(row_text(r, a, row, REM_CAPABILITIES));
	if (profiles)
		profiles_neighbor_signs(profiles, row_text(r, a, row, REM_SYSDESC),
			neighbor->port_id, neighbor->port_descr, &signs);
	return neighbor_kind_of(&signs);
}

/* ---- from the local port number to a port -------------------------------- */

struct lldp_interface { /* a row of IF-MIB */
	uint32_t ifindex;
	const char *name, *descr, *alias, *mac;
	uint64_t mtu_bytes;
};

struct lldp_interfaces {
	struct lldp_interface *v;
	size_t n;
};

static struct lldp_interfaces interfaces_read(const struct snmp_lldp *lldp, struct arena *a)
{
	const struct snmp_rows *r = lldp->rows[TABLE_INTERFACES];
	struct lldp_interfaces ret = {
		.v = arena_array(a, struct lldp_interface, snmp_rows_count(r) + 1)};
	for (size_t row = 0; row < snmp_rows_count(r); row++) {
		struct snmp_oid index = snmp_rows_index(r, row);
		if (index.n != 1)
			continue;
		size_t n_mac;
		row_bytes(r, row, IF_PHYS, &n_mac);
		const struct snmp_value *mtu = snmp_rows_value(r, row, IF_MTU);
		ret.v[ret.n++] = (struct lldp_interface){.ifindex = index.v[0],
			.name = row_text(r, a, row, IF_NAME),
			.descr = row_text(r, a, row, IF_DESCR),
			.alias = row_text(r, a, row, IF_ALIAS),
			.mac = ""};
		struct lldp_interface *interface = &ret.v[ret.n - 1];
		if (n_mac == 6)
			interface->mac = row_id(r, a, row, IF_PHYS, false, LLDP_PORT_MAC);
		if (mtu && snmp_type_is_number(mtu->type) && mtu->u <= INT32_MAX)
			interface->mtu_bytes = mtu->u;
	}
	return ret;
}

enum lldp_key { BY_NAME, BY_ALIAS, BY_DESCR, BY_MAC, BY_NUMBER, BY_END };

/* What to compare the id of a local port with, best first: IEEE 802.1AB-2005 section 9.5.3 says
 * what an id of each subtype holds. */
static const enum lldp_key keys_of[][5] = {
	[0] = {BY_NAME, BY_DESCR, BY_END}, /* not told: a restricted view, or an old agent */
	[LLDP_PORT_IFALIAS] = {BY_NAME, BY_ALIAS, BY_DESCR, BY_NUMBER, BY_END},
	[LLDP_PORT_COMPONENT] = {BY_NAME, BY_DESCR, BY_END},
	[LLDP_PORT_MAC] = {BY_MAC, BY_END},
	[LLDP_PORT_ADDRESS] = {BY_END},
	[LLDP_PORT_IFNAME] = {BY_NAME, BY_DESCR, BY_END},
	[LLDP_PORT_CIRCUIT] = {BY_END},
	[LLDP_PORT_LOCAL] = {BY_NAME, BY_ALIAS, BY_DESCR, BY_NUMBER, BY_END},
};

static bool interface_is(const struct lldp_interface *interface, enum lldp_key key, const char *id)
{
	const char *const texts[] = {[BY_NAME] = interface->name,
		[BY_ALIAS] = interface->alias,
		[BY_DESCR] = interface->descr,
		[BY_MAC] = interface->mac};
	char number[16];
	if (key == BY_NUMBER) {
		snprintf(number, sizeof(number), "%u", interface->ifindex);
		return strcmp(number, id) == 0;
	}
	return *texts[key] && strcmp(texts[key], id) == 0;
}

/* interface_by - the ifIndex of the interface that @id names; 0 = none. Of several with one id (a
 * MAC address shared by all ports, a description used twice) only the one with the port's own
 * number counts. */
static uint32_t interface_by(const struct lldp_interfaces *all, const enum lldp_key *keys,
	const char *id, uint32_t number)
{
	for (; *id && *keys != BY_END; keys++) {
		uint32_t found = 0;
		size_t n = 0;
		for (size_t i = 0; i < all->n; i++) {
			if (!interface_is(&all->v[i], *keys, id))
				continue;
			if (all->v[i].ifindex == number)
				return number;
			found = all->v[i].ifindex;
			n++;
		}
		if (n == 1)
			return found;
	}
	return 0;
}

static const enum lldp_key *keys_for(int subtype)
{
	if ((size_t)subtype < rw_countof(keys_of))
		return keys_of[subtype];
	return keys_of[0];
}

/* local_ports - lldpLocPortNum -> ifIndex, by the ids of the local port table. */
static void local_ports(const struct snmp_lldp *lldp, struct arena *a,
	const struct lldp_interfaces *all, struct map *ret)
{
	static const enum lldp_key by_descr[] = {BY_NAME, BY_DESCR, BY_ALIAS, BY_END};
	const struct snmp_rows *r = lldp->rows[TABLE_PORTS];
	for (size_t row = 0; row < snmp_rows_count(r); row++) {
		struct snmp_oid index = snmp_rows_index(r, row);
		if (index.n != 1)
			continue;
		int subtype = row_number(r, row, PORT_SUBTYPE);
		bool mac = subtype == LLDP_PORT_MAC;
		const char *id;
		if (mac)
			id = row_id(r, a, row, PORT_ID, false, subtype);
		else
			id = row_text(r, a, row, PORT_ID);
		uint32_t number = index.v[0];
		uint32_t ifindex = interface_by(all, keys_for(subtype), id, number);
		if (!ifindex)
			ifindex = interface_by(
				all, by_descr, row_text(r, a, row, PORT_DESCR), number);
		if (ifindex)
			map_put(ret, number, ifindex);
	}
}

/* ---- the result ---------------------------------------------------------- */

static void self_fill(const struct snmp_lldp *lldp, struct arena *a,
	const struct lldp_interfaces *all, const struct topology_port *ports, size_t n_ports,
	struct topology_device *self)
{
	const struct snmp_rows *r = lldp->rows[TABLE_SELF];
	struct map *by_index = map_new();
	uint64_t at;
	self->chassis = "";
	for (size_t row = 0; row < snmp_rows_count(r); row++) { /* scalars: the one row is .0 */
		if (snmp_rows_index(r, row).n != 1 || snmp_rows_index(r, row).v[0] != 0)
			continue;
		self->chassis = row_id(
			r, a, row, SELF_CHASSIS, true, row_number(r, row, SELF_CHASSIS_SUBTYPE));
		if (!*self->sysname)
			self->sysname = row_text(r, a, row, SELF_SYSNAME);
	}
	for (size_t i = 0; i < all->n; i++)
		map_put(by_index, all->v[i].ifindex, i);
	self->ports = arena_array(a, struct topology_port, n_ports + 1);
	self->n_ports = n_ports;
	for (size_t i = 0; i < n_ports; i++) {
		const struct lldp_interface none = {
			.name = "", .descr = "", .alias = "", .mac = ""};
		const struct lldp_interface *f;
		if (map_get(by_index, ports[i].ifindex, &at))
			f = &all->v[at];
		else
			f = &none;
		const char *alias;
		if (ports[i].alias && *ports[i].alias)
			alias = arena_strdup(a, ports[i].alias);
		else
			alias = f->alias;
		/* a port that is known by another name than ifName has ifName as its alias:
		 * neighbours may send either */
		if (*f->name && strcmp(f->name, ports[i].name) != 0)
			alias = f->name;
		self->ports[i] = (struct topology_port){.name = arena_strdup(a, ports[i].name),
			.alias = alias,
			.descr = f->descr,
			.mac = f->mac,
			.ifindex = ports[i].ifindex,
			.speed_bps = ports[i].speed_bps,
			.mtu_bytes = f->mtu_bytes,
			.outside = ports[i].outside};
		if (ports[i].mtu_bytes)
			self->ports[i].mtu_bytes = ports[i].mtu_bytes;
	}
	map_free(by_index);
}

/* newest_rows - of each (port, index) the row with the largest mark. Rows are in index order, so
 * the later one has it. */
static size_t newest_rows(const struct snmp_rows *snmp_rows, struct arena *a, size_t **ret)
{
	struct map *newest = map_new();
	size_t n = 0, count = snmp_rows_count(snmp_rows);
	size_t *rows = arena_array(a, size_t, count + 1);
	for (size_t row = 0; row < count; row++) {
		struct snmp_oid index = snmp_rows_index(snmp_rows, row);
		uint64_t at;
		if (index.n != INDEX_PARTS)
			continue;
		if (map_get(newest, neighbor_key(index), &at)) {
			rows[at] = row;
			continue;
		}
		if (n == SNMP_LLDP_NEIGHBORS_MAX)
			break;
		map_put(newest, neighbor_key(index), n);
		rows[n++] = row;
	}
	map_free(newest);
	*ret = rows;
	return n;
}

size_t snmp_lldp_result(const struct snmp_lldp *lldp, struct arena *a,
	const struct profiles *profiles, const char *device, const char *sysname,
	const struct topology_port *ports, size_t n_ports, struct topology_device *ret_self,
	struct topology_neighbor **ret_neighbors)
{
	const struct snmp_rows *r = lldp->rows[TABLE_NEIGHBORS];
	struct lldp_interfaces all = interfaces_read(lldp, a);
	struct map *ifindex_of = map_new(), *port_of = map_new();
	size_t *rows, n = 0, n_rows = newest_rows(r, a, &rows);
	uint64_t at;

	*ret_self = (struct topology_device){
		.name = arena_strdup(a, device), .sysname = arena_strdup(a, sysname)};
	self_fill(lldp, a, &all, ports, n_ports, ret_self);
	local_ports(lldp, a, &all, ifindex_of);
	for (size_t i = 0; i < n_ports; i++)
		map_put(port_of, ports[i].ifindex, i);
	*ret_neighbors = arena_array(a, struct topology_neighbor, n_rows + 1);
	for (size_t i = 0; i < n_rows; i++) {
		size_t row = rows[i];
		uint64_t ifindex = snmp_rows_index(r, row).v[INDEX_PORT];
		map_get(ifindex_of, ifindex, &ifindex);
		if (!map_get(port_of, ifindex, &at))
			continue;
		int chassis = row_number(r, row, REM_CHASSIS_SUBTYPE),
		    port = row_number(r, row, REM_PORT_SUBTYPE);
		(*ret_neighbors)[n++] = (struct topology_neighbor){.device = ret_self->name,
			.port = ret_self->ports[at].name,
			.sysname = row_text(r, a, row, REM_SYSNAME),
			.chassis_subtype = chassis,
			.port_subtype = port,
			.chassis = row_id(r, a, row, REM_CHASSIS, true, chassis),
			.port_id = row_id(r, a, row, REM_PORT_ID, false, port),
			.port_descr = row_text(r, a, row, REM_PORT_DESCR)};
		struct topology_neighbor *heard = &(*ret_neighbors)[n - 1];
		heard->kind = row_kind(r, a, row, profiles, heard);
	}
	map_free(ifindex_of);
	map_free(port_of);
	return n;
}
