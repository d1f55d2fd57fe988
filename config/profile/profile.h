/*
 * profile - what a kind of switch answers and what it means, as data: which table, which column,
 * which part of the index is the port, the priority or the queue, in what unit, and which of its
 * habits need care. A vendor is one YAML file under config/profiles/; the files are compiled into
 * the binary, and a site directory may replace them or add to them by name.
 *
 *   name: eos
 *   doc: one line
 *   match:                         # alternatives; all that one entry says must hold
 *     - { object_id: 1.3.6.1.4.1.30065.1, descr: "Arista*" }
 *   extends: generic               # its SNMP tables and settings come first
 *   tc_map: { 0: 0, 5: 3 }         # queue or traffic class -> 802.1p priority; absent: the same
 *                                  # number; a number that is not in it: port#qN
 *   cell_bytes: 254                # or cell_oid: the object that holds it
 *   quirks:                        # evidence is required: where this was read or seen
 *     - { name: ..., doc: ..., evidence: ... }
 *   management_ports: ["mgmt*"]    # names of ports that are no part of the fabric; globs
 *   neighbors:                     # what LLDP neighbours of a kind say, of all profiles together
 *     network_os: ["*NX-OS*"]      # system descriptions of switches, beside those of "match"
 *     host_os: ["*Ubuntu*"]        # of servers and their NICs
 *     switch_ports: ["swp[0-9]*"]  # names of switch ports; all of these are globs
 *   commands:                      # read-only commands that a person copies; evidence is required
 *     - { topic: pause, run: "show ... {port} {priority}", evidence: ... }
 *                                    # topics: pause watchdog queues ecn errors optic
 *   snmp:
 *     evidence: "document: X-MIB"  # how its tables are known: config/profile/profile_evidence.h
 *     inherited: { interfaces: recorded } # how those of the extended profile are
 *     min_interval: 5s             # polling faster brings nothing new
 *     refresh: 5s                  # how old an answer may be: the device's own cache
 *     without: [etherlike]         # tables of the extended profile that this one does not use
 *     port_names:                  # native names from ifIndex, where ifName is an alias
 *       - { first: 1, last: 999, subtract: 1, name: "Ethernet{n}" }
 *     tables:
 *       - name: pfc
 *         cadence: fast            # or slow (names, configuration); background: as often as
 *                                  # slow, but behind the fast tables and in pieces, so that a
 *                                  # long table delays nothing
 *         oid: 1.3.6.1.4.1.30065.3.11.1.1.1
 *         index: [port, priority]  # parts: port priority queue group pool, or any word, to be
 *                                  # fixed by "where" or summed over
 *         unless: queues           # asked only where that table, which stands before it, has no
 *                                  # row: an older table for older releases
 *         behind: optic lanes      # read in any case; what that table, which stands before it,
 *                                  # told of a port is not told again
 *         first_queue: 1           # number of the first queue in the index; 0 if absent
 *         columns:
 *           - { column: 4, metric: pfc.rx_frames, doc: "Indications: PFC received" }
 *
 * A column has "column" (relative to the table's oid) or "oid" (absolute), and one of "metric" and
 * "attribute" (port_name, port_descr, port_alias, discontinuity). Optional:
 *
 *   where     { part: n }: only rows whose index has this value
 *   priority  the same for all rows
 *   unit      ns us ms s ticks (10 ms) Mbps kB KiB cells; mw: milliwatts as text, which become dBm
 *   divide    by this number
 *   equals    the value is 1 when the raw one equals this, else 0
 *   ignore    [raw values that mean "not there"]
 *   when      { column, equals }: valid only in rows where that holds
 *   subtract  taken away from the other columns of this metric
 *   fallback  used in rows where no other column gave the metric
 *   width     32 when the device counts in 32 bits but does not say so
 *   fold      min or max of the rows that speak of one thing (lanes), instead of their sum
 *   text      the number is written as text ("-2.34"); of metrics that are no whole numbers
 *   sensor    the table is laid out as entPhySensorTable (RFC 3433): type, scale, precision and
 *             status of the value are columns 1, 2, 3 and 5; watts become dBm. As type also
 *             dBm (14) of CISCO-ENTITY-SENSOR-MIB, which has the same columns
 *
 * Columns that name the same metric of the same thing are added up.
 *
 * A table with an index of its own has the port's name in a column: "port: { column: 1 }". Where
 * the name is a part of a longer text, "port: { oid: 1.3.6.1.2.1.47.1.1.1.1.7, text: "{port} Lane *
 * Transceiver * Sensor" }" says where; * is anything. "parent" is the column with the index of the
 * row that contains this one (entPhysicalContainedIn): where the row's own text names no port, the
 * text of the rows around it does. A column of such a table may have "named", a glob: it is for
 * rows with such a text only. Rows that name no port of this switch are counted, and told.
 *
 * A table whose index is one number that holds several says so: "decimal: { base: 1000000000, by:
 * [100, 10, 1] }" beside "index: [port, kind, lane]" reads 1000000531 as port 5, kind 3, lane 1;
 * rows below the base are of another kind of thing.
 *
 * What it answers by gNMI stands in "gnmi", beside "snmp": config/profile/profile_gnmi.h; how its
 * thresholds are written, in "tuning": config/profile/profile_tune.h; what it pushes by itself, in
 * "push": config/profile/profile_push.h.
 *
 * Notifications that only this kind of switch sends stand in "traps", beside the tables; without
 * evidence none is accepted:
 *
 *     traps:
 *       - oid: 1.3.6.1.4.1.33049.8.1.0.7   # snmpTrapOID; a v1 trap is enterprise.0.specific
 *         kind: pfc_state                  # or pfc_storm, pfc_restore: the kind of the event
 *         doc: words of the event
 *         at: 1.3.6.1.4.1.33049.8.1.1.3.1.5   # an object it carries: its instance says where,
 *                                             # its value what
 *         index: [port]                    # parts of that instance: port priority queue, or
 *                                          # any word
 *         states: { 1: enabled, 2: disabled } # words for that value
 *         evidence: where this was read or seen
 */
#pragma once

#include "base/base.h"

#include "config/profile/profile_evidence.h"
#include "config/profile/profile_fold.h"

#define PROFILE_PARTS_MAX 8
#define PROFILE_OID_MAX 64 /* arcs of a column */
#define PROFILE_COLUMNS_MAX 64 /* of a table */
#define PROFILE_IGNORE_MAX 4
#define PROFILE_TC_MAX 64
#define PROFILE_TRAP_STATES 8 /* words for the values of a notification's object */
#define PROFILE_ANY (-1)
#define PROFILE_PORT_WORD "{port}" /* stands for a port's name in a text */

struct profile_oid {
	const uint32_t *v;
	size_t n;
};

enum profile_cadence { CADENCE_FAST, CADENCE_SLOW, CADENCE_BACKGROUND };
const char *profile_cadence_name(enum profile_cadence cadence); /* "fast" */
enum profile_part { PART_PORT, PART_PRIORITY, PART_QUEUE, PART_GROUP, PART_POOL, PART_OTHER };
enum profile_attribute {
	ATTRIBUTE_NONE,
	ATTRIBUTE_PORT_NAME,
	ATTRIBUTE_PORT_DESCR,
	ATTRIBUTE_PORT_ALIAS,
	ATTRIBUTE_DISCONTINUITY
};

const char *profile_attribute_name(enum profile_attribute attribute); /* "port_name" */

enum { SENSOR_TYPE, SENSOR_SCALE, SENSOR_PRECISION, SENSOR_STATUS, PROFILE_SENSOR_COLUMNS };

struct profile_value { /* one meaning of one column */
	size_t column; /* into the table's columns */
	enum profile_attribute attribute;
	int metric; /* enum metric; -1 = an attribute */
	const char *doc; /* "" */
	int64_t where[PROFILE_PARTS_MAX]; /* PROFILE_ANY, or what this index part must be */
	int priority; /* constant, or PRIO_NONE: from the index */
	uint64_t mul, div; /* value = raw * mul / div */
	bool cells; /* and times the cell size */
	bool has_equals;
	uint64_t equals;
	uint64_t ignore[PROFILE_IGNORE_MAX];
	size_t n_ignore;
	const char *named; /* glob of the text that names the row's port; NULL = any */
	int when_column; /* into columns, -1 = always valid */
	uint64_t when_equals;
	bool subtract, fallback;
	enum profile_fold fold;
	bool text; /* the device writes the number as text */
	bool milliwatts; /* of a .text; becomes dBm */
	bool sensor; /* its type, scale, precision and status are in .sensor_columns */
	size_t sensor_columns[PROFILE_SENSOR_COLUMNS];
	/* part of a difference: how many columns it takes; 0 = any number adds up */
	unsigned needed;
	unsigned width; /* 0 = as the wire says, else 32 or 64 */
	struct profile_evidence evidence;
	/* its place among the contributors to its metric in this table; 0 when it is the only one
	 */
	uint64_t bit;
};

struct profile_table {
	const char *name, *doc;
	enum profile_cadence cadence;
	struct profile_oid *columns; /* fetched; each once */
	size_t n_columns;
	enum profile_part parts[PROFILE_PARTS_MAX];
	const char *part_names[PROFILE_PARTS_MAX];
	size_t n_parts;
	/* the parts are in one number of the index; by[0] 0 = each has its own */
	uint32_t decimal_base, decimal_by[PROFILE_PARTS_MAX];
	unsigned first_queue;
	int port_column; /* into columns: its text names the port; -1 = the index does */
	const char *port_text; /* how, with {port} */
	int parent_column; /* into columns: the row that contains this one; -1 = none */
	const char *unless; /* a table before it; NULL = always asked */
	const char *behind; /* a table before it whose values hold; NULL = none */
	bool sums_rows; /* several rows may speak of one thing: add them up */
	struct profile_value *values; /* fallbacks last */
	size_t n_values;
	struct profile_evidence evidence; /* default of its values */
	int line;
};

struct profile_port_name {
	uint32_t first, last, subtract; /* ifIndex range; {n} = ifIndex - subtract */
	const char *name;
};

struct profile_command {
	const char *topic, *run, *evidence; /* run: with {port} and {priority} */
};

struct profile_quirk {
	const char *name, *doc, *evidence;
};

struct profile_trap {
	struct profile_oid oid;
	const char *kind, *doc, *evidence;
	bool about_port; /* "port" is a part of the index */
	struct profile_oid at; /* n 0 = none */
	enum profile_part parts[PROFILE_PARTS_MAX];
	size_t n_parts;
	struct {
		uint64_t value;
		const char *word;
	} states[PROFILE_TRAP_STATES];
	size_t n_states;
};

struct profile_match {
	uint32_t *object_id;
	size_t n_object_id; /* subtree; 0 = not asked */
	const char *descr; /* glob; NULL = not asked */
};

struct profile_globs {
	const char **v;
	size_t n;
};

struct profile {
	const char *name, *doc, *file, *extends; /* file: as in messages; extends NULL */
	struct profile_match *matches;
	size_t n_matches;
	struct profile_quirk *quirks;
	size_t n_quirks;
	struct profile_command *commands; /* not inherited: they are a vendor's own words */
	size_t n_commands;
	bool has_tc_map;
	int8_t tc_map[PROFILE_TC_MAX]; /* PRIO_NONE = unmapped */
	uint64_t cell_bytes; /* 0 = unknown */
	struct profile_oid cell_oid; /* n 0 = none */
	int64_t min_interval_ns, refresh_ns; /* 0 = not said */
	struct profile_port_name *port_names;
	size_t n_port_names;
	const char **management_ports; /* globs; own ones, then those of .extends */
	size_t n_management_ports;
	struct profile_globs network_os, host_os, switch_ports; /* of neighbours; not inherited */
	struct profile_table **tables;
	size_t n_tables; /* own and inherited; the inherited ones come first */
	size_t n_tables_inherited;
	struct profile_inherited inherited;
	struct profile_trap *traps;
	size_t n_traps;
	bool snmp; /* has SNMP tables */
	/* config/profile/profile_gnmi.h; NULL = is not asked by gNMI */
	struct profile_gnmi *gnmi;
	struct profile_push_group **push; /* config/profile/profile_push.h */
	size_t n_push;
	/* config/profile/profile_tune.h; NULL = nothing is known of its thresholds */
	struct profile_tune *tune;
	struct tune_asic *asics;
	size_t n_asics;
	const char *text; /* the file */
};

struct profiles;

/* profile_command_of - the command of a topic; NULL where none is known. */
const char *profile_command_of(const struct profile *profile, const char *topic);

/* profiles_load - the built-in ones, then *.yaml of @site_dir (NULL = none), which replace by name.
 * Mistakes of all files are added to
 * @errors (file:line:column). 0, or -EINVAL with nothing built. */
int profiles_load(const char *site_dir, struct profiles **ret, struct err_list *errors);
/* profiles_parse - one text, for tests and fuzzing; "extends" is looked up among the built-in ones.
 */
int profiles_parse(const char *text, size_t n, const char *file, struct profiles **ret,
	struct err_list *errors);
/* profiles_parse_over - the same over profiles that were read before, for tests of many texts
 * (fuzzing); the result borrows from @base, which has to live longer. */
int profiles_parse_over(const struct profiles *base, const char *text, size_t n, const char *file,
	struct profiles **ret, struct err_list *errors);
void profiles_free(struct profiles *profiles); /* NULL is fine */

size_t profiles_count(const struct profiles *profiles);
/* generic first, then by name */
const struct profile *profiles_at(const struct profiles *profiles, size_t i);
const struct profile *profiles_get(
	const struct profiles *profiles, const char *name); /* NULL if absent */

/* profiles_match - the profile for a device that says this of itself: a description that fits beats
 * an object id (SONiC answers with net-snmp's), a longer object id beats a shorter one; "generic"
 * when none fits. */
const struct profile *profiles_match(
	const struct profiles *profiles, const uint32_t *object_id, size_t n, const char *descr);

/* profiles_match_models - the profile with a gNMI half that most of its "models" globs speak for,
 * counted over what the device's Capabilities list; "openconfig" when none does. NULL only when
 * there is no such profile. */
const struct profile *profiles_match_models(
	const struct profiles *profiles, const char *const *models, size_t n);

/* profile_priority - of a queue, traffic class or priority group: 0..7, or PRIO_NONE when unmapped.
 */
int profile_priority(const struct profile *profile, uint32_t queue);
/* profile_port_name - the native name of @ifindex by the profile's rule into @buf, or false when it
 * has none. */
bool profile_port_name_of(const struct profile *profile, uint32_t ifindex, char *buf, size_t size);

/* profile_port_name_told - is @text, which the device itself tells of the port @ifindex, its native
 * name? It is when it looks like one of the profile's names, unless the rule for this very index
 * makes another number of it: then it is an alias that only looks so (the fifth port of a front
 * panel, whose native number counts lanes). */
bool profile_port_name_told(const struct profile *profile, uint32_t ifindex, const char *text);
/* profile_is_management - by its native name, is @port a port of management, and so no part of the
 * fabric? */
bool profile_is_management(const struct profile *profile, const char *port);

/* profiles_neighbor_signs - what the texts of an LLDP neighbour tell of its kind, by the words of
 * all profiles: @descr of the system, @port_id and @port_descr of its port; each may be "". Adds to
 * @ret, whose capabilities are the caller's. */
struct neighbor_signs;
void profiles_neighbor_signs(const struct profiles *profiles, const char *descr,
	const char *port_id, const char *port_descr, struct neighbor_signs *ret);
