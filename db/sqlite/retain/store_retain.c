/*
 * store_retain - deletes what is older than retention allows, and more of it when the file is over
 * its quota. One chunk in one short transaction at a time, so that writing never
 * waits long; a pass goes on where the last chunk stopped.
 *
 * A pass: the tiers of samples (retain_blocks.c), the other tables, names that are
 * over. Kept however old: what open recommendations and incidents rest on
 * (retain_blocks.c), the newest of each configuration state, and what the rows of retain_lists say.
 */

#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"

/* retain_lists - what may go from each table but the sample tables, and in which order. */

/* Large rows go in few at a time: a transaction takes some 20 ms. */
#define CHUNK_ROWS 4000
#define CHUNK_SHEETS 200

/*
 * What is open, what somebody waits for, and what a kept row refers to, stays: so the referring
 * table stands before the one that it refers to. Of what says how things are (the configuration in
 * force, the agent's last start, a refused reload), the newest stays however old it is.
 */
static const struct retain_list retain_lists[RETAIN_LISTS] = {
	{"flow", "to_ns", NULL, RETAIN_RAW, true, CHUNK_ROWS},
	{"finding", "to_ns", NULL, RETAIN_RAW, true, CHUNK_ROWS},
	{"recommendation", "updated_ns",
		"(r.state IN ('rejected','expired','undone') OR (r.state='verified' AND EXISTS("
		"SELECT 1 FROM recommendation n WHERE n.device IS r.device AND n.port IS r.port "
		"AND n.priority IS r.priority AND n.state IN ('applied','verified') AND "
		"n.updated_ns>r.updated_ns)))",
		RETAIN_INCIDENTS, false, CHUNK_SHEETS},
	{"incident", "updated_ns",
		"r.state='closed' AND NOT EXISTS(SELECT 1 FROM recommendation c WHERE "
		"c.incident_id=r.id) AND NOT EXISTS(SELECT 1 FROM alert a WHERE "
		"a.incident_id=r.id AND a.pending<>'')",
		RETAIN_INCIDENTS, false, CHUNK_SHEETS},
	{"alert", "updated_ns",
		"COALESCE(r.pending,'')='' AND NOT EXISTS(SELECT 1 FROM incident i WHERE "
		"i.id=r.incident_id)",
		RETAIN_INCIDENTS, false, CHUNK_ROWS},
	{"event", "t_ns",
		"NOT EXISTS(SELECT 1 FROM incident i WHERE i.id=r.incident_id) AND (r.kind IS NULL "
		"OR r.kind NOT IN ('agent_start','agent_stop','config_refused','config_reloaded') "
		"OR r.t_ns<(SELECT n.t_ns FROM event n WHERE n.kind IN "
		"('agent_start','agent_stop','config_refused','config_reloaded') "
		"ORDER BY n.t_ns DESC LIMIT 1))",
		RETAIN_EVENTS, false, CHUNK_ROWS},
	{"burst", "t_ns", "NOT EXISTS(SELECT 1 FROM incident i WHERE i.id=r.incident_id)",
		RETAIN_RAW, false, CHUNK_SHEETS},
	{"silence", "until_ns", NULL, RETAIN_EVENTS, false, CHUNK_ROWS},
	{"fabric_history", "t_ns",
		"EXISTS(SELECT 1 FROM fabric_history n WHERE n.t_ns>r.t_ns AND n.t_ns<?3)",
		RETAIN_CONFIG, false, CHUNK_SHEETS},
	{"device_attr", "t_ns",
		"EXISTS(SELECT 1 FROM device_attr n WHERE n.device=r.device AND n.t_ns>r.t_ns AND "
		"n.t_ns<?3)",
		RETAIN_RAW, false, CHUNK_ROWS},
	/* a target that an agent polls is written every few seconds */
	{"target", "updated_ns", NULL, RETAIN_RAW, false, CHUNK_ROWS},
};

/* " FROM t AS r WHERE ..." for rows from ?1 on and before ?2 that may go. */
static void retain_add_rows(const struct retain_list *list, struct str *out)
{
	str_addf(out, " FROM %s AS r WHERE r.%s>=?1 AND r.%s<?2", list->table, list->time,
		list->time);
	if (list->may)
		str_addf(out, " AND %s", list->may);
}

/* The time of row ?4 from the first one on, of those that may go. */
static int retain_list_edge(struct store_writer *writer, unsigned list, sqlite3_stmt **ret)
{
	const struct retain_list *row = &retain_lists[list];
	rw_cleanup(str_done) struct str sql = {0};

	if (!*ret) {
		str_addf(&sql, "SELECT r.%s", row->time);
		retain_add_rows(row, &sql);
		str_addf(&sql, " ORDER BY r.%s LIMIT 1 OFFSET ?4", row->time);
		return sqlite_prepare(writer->db, sql.s, ret);
	}
	return SQLITE_OK;
}

/* The statements of row @list of retain_lists, prepared into *@ret when it is NULL: the edge of a
 * chunk, and the deletion of the rows before it. ?1 from, ?2 until, ?3 cutoff, ?4 rows. SQLite's
 * code. store_retain.c */
static int retain_list_rows(struct store_writer *writer, unsigned list, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str sql = {0};

	if (!*ret) {
		str_add(&sql, "DELETE");
		retain_add_rows(&retain_lists[list], &sql);
		return sqlite_prepare(writer->db, sql.s, ret);
	}
	return SQLITE_OK;
}

/*
 * store_quota - keeps the pages in use below the quota. What costs most and is worth least goes
 * first: one stage after the other, each a tenth of its time at once, until enough is free. When
 * all stages are through, it counts what fills the file, so that people can be told.
 *
 * Deleted rows leave free pages that SQLite fills again: the file stops growing rather than shrink.
 */

#define QUOTA_SHARE 10 /* the oldest tenth of the time goes */
#define DAY_NS (24 * 3600 * NS_PER_S)
/* Counting a table reads all its pages: not in a file that takes minutes to read. */
#define COUNTED_BYTES 4294967296ull

static const struct {
	unsigned group; /* enum store_tier or enum retain_group */
	int64_t keep_ns; /* the newest that this stage leaves alone */
} quota_stages[] = {
	{STORE_RAW, DAY_NS},
	{STORE_MINUTE, 7 * DAY_NS},
	{STORE_HOUR, 90 * DAY_NS},
	{RETAIN_RECORDS, 30 * DAY_NS},
	{STORE_RAW, 3600 * NS_PER_S},
	{STORE_MINUTE, DAY_NS},
	{STORE_HOUR, 7 * DAY_NS},
	{RETAIN_RECORDS, DAY_NS},
	{STORE_RAW, 60 * NS_PER_S},
	{STORE_MINUTE, 60 * NS_PER_S},
	{STORE_HOUR, 3600 * NS_PER_S},
};

/* The oldest time of a group from ?1 on, of rows outside of blocks; NULL: there are none. */
static const char *const quota_oldest[RETAIN_GROUPS] = {
	[STORE_RAW] = "SELECT min(t) FROM (SELECT min(to_ns) AS t FROM flow WHERE to_ns>=?1 "
		      "UNION ALL SELECT min(to_ns) FROM finding WHERE to_ns>=?1)",
	[RETAIN_RECORDS] =
		"SELECT min(t) FROM (SELECT min(t_ns) AS t FROM event WHERE t_ns>=?1 "
		"UNION ALL SELECT min(updated_ns) FROM incident WHERE state='closed' AND "
		"updated_ns>=?1 "
		"UNION ALL SELECT min(updated_ns) FROM recommendation WHERE updated_ns>=?1 "
		"UNION ALL SELECT min(updated_ns) FROM alert WHERE updated_ns>=?1 "
		"UNION ALL SELECT min(until_ns) FROM silence WHERE until_ns>=?1 "
		"UNION ALL SELECT min(t_ns) FROM burst WHERE t_ns>=?1 "
		"UNION ALL SELECT min(t_ns) FROM fabric_history WHERE t_ns>=?1)",
};

enum { FILE_PAGES, FILE_FREE, FILE_PAGE_SIZE, FILE_SHRINKS, FILE_FACTS };

static int quota_file(struct store_writer *writer, uint64_t ret[FILE_FACTS])
{
	static const char *const pragmas[FILE_FACTS] = {"PRAGMA page_count",
		"PRAGMA freelist_count", "PRAGMA page_size", "PRAGMA auto_vacuum"};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < FILE_FACTS; i++)
		ret[i] = (uint64_t)sqlite_int(writer->db, pragmas[i], 0, &rc);
	return rc;
}

static int quota_used_bytes(struct store_writer *writer, uint64_t *ret)
{
	uint64_t file[FILE_FACTS] = {0};
	const int rc = quota_file(writer, file);

	*ret = (file[FILE_PAGES] - file[FILE_FREE]) * file[FILE_PAGE_SIZE];
	return rc;
}

#define SHRINK_PAGES 256 /* of one transaction */

/* Free pages at the end of a file that is more than a tenth above the quota are given back, some at
 * a time; *ret_more: there are others. Not those of a file from before it could: it fills them. */
static int quota_shrink(struct store_writer *writer, bool *ret_more)
{
	uint64_t file[FILE_FACTS] = {0}, n = SHRINK_PAGES;
	int rc = quota_file(writer, file);

	*ret_more = false;
	if (rc != SQLITE_OK || writer->o.quota_bytes == 0 || file[FILE_SHRINKS] == 0)
		return rc;
	const uint64_t most = writer->o.quota_bytes / 10 * 11 / file[FILE_PAGE_SIZE];
	if (file[FILE_PAGES] <= most || file[FILE_FREE] == 0)
		return SQLITE_OK;
	if (file[FILE_PAGES] - most < n)
		n = file[FILE_PAGES] - most;
	rc = writer_begin(writer);
	if (rc == SQLITE_OK)
		rc = sqlite_execf(
			writer->db, "PRAGMA incremental_vacuum(%llu)", (unsigned long long)n);
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	*ret_more = rc == SQLITE_OK && file[FILE_FREE] > n && file[FILE_PAGES] > most + n;
	return rc;
}

/* Above the quota: what goes beyond retention's own ages, and what cannot go. SQLite's codes.
 * store_retain.c */
static int writer_over_quota(struct store_writer *writer, bool *ret)
{
	uint64_t used_bytes;
	int rc;

	*ret = false;
	if (writer->o.quota_bytes == 0)
		return SQLITE_OK;
	rc = quota_used_bytes(writer, &used_bytes);
	*ret = rc == SQLITE_OK && used_bytes > writer->o.quota_bytes;
	return rc;
}

/* ---- what goes ----------------------------------------------------------- */

/* Of the rows of a group; INT64_MAX: there is none. */
static int quota_oldest_row(
	struct store_writer *writer, unsigned group, int64_t from_ns, int64_t *ret_ns)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;

	*ret_ns = INT64_MAX;
	if (!quota_oldest[group])
		return SQLITE_OK;
	int rc = sqlite3_prepare_v2(writer->db, quota_oldest[group], -1, &st, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, from_ns);
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL)
		*ret_ns = sqlite3_column_int64(st, 0);
	return sqlite3_reset(st);
}

/* The oldest of the group that no pin keeps; *ret_known false: blocks were not looked at yet. */
static int quota_first_ns(
	struct store_writer *writer, unsigned group, int64_t *ret_ns, bool *ret_known)
{
	const struct retain *retain = &writer->retain;
	int64_t block_ns = INT64_MAX;
	int rc = quota_oldest_row(writer, group, retain->taken_ns[group], ret_ns);

	*ret_known = true;
	if (group >= STORE_TIERS)
		return rc;
	for (size_t i = 0; rc == SQLITE_OK && i < retain->n_pins; i++) {
		const struct retain_pin *pin = &retain->pins[i];
		if (*ret_ns >= pin->from_ns && *ret_ns <= pin->to_ns)
			rc = quota_oldest_row(writer, group, pin->to_ns + 1, ret_ns);
	}
	*ret_known = retain_blocks_oldest(retain, (enum store_tier)group, &block_ns);
	if (block_ns < *ret_ns)
		*ret_ns = block_ns;
	return rc;
}

static void quota_move_span(struct retain *retain, enum retain_span span, int64_t cutoff_ns)
{
	if (cutoff_ns > retain->cutoff_ns[span])
		retain->cutoff_ns[span] = cutoff_ns;
}

static void quota_move(struct retain *retain, unsigned group, int64_t cutoff_ns)
{
	retain->taken_ns[group] = cutoff_ns;
	if (group == RETAIN_RECORDS) {
		quota_move_span(retain, RETAIN_EVENTS, cutoff_ns);
		quota_move_span(retain, RETAIN_INCIDENTS, cutoff_ns);
		return;
	}
	quota_move_span(retain, (enum retain_span)group, cutoff_ns);
	retain->quota_ns[group] = cutoff_ns;
}

/* writer_quota_cut - moves the cutoffs of the next pass nearer to @now_ns; *ret_found: false when
 * nothing is left that may go, or, with *ret_known false, when a pass by age has to look first. */
static int writer_quota_cut(
	struct store_writer *writer, int64_t now_ns, bool *ret_found, bool *ret_known)
{
	int rc = SQLITE_OK;

	*ret_found = false;
	*ret_known = true;
	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(quota_stages); i++) {
		const unsigned group = quota_stages[i].group;
		const int64_t until_ns = now_ns - quota_stages[i].keep_ns;
		int64_t first_ns;
		rc = quota_first_ns(writer, group, &first_ns, ret_known);
		if (rc != SQLITE_OK || !*ret_known)
			return rc; /* a pass by age looks first */
		if (first_ns >= until_ns)
			continue;
		int64_t cutoff_ns = first_ns + (now_ns - first_ns) / QUOTA_SHARE + 1;
		if (cutoff_ns > until_ns)
			cutoff_ns = until_ns;
		quota_move(&writer->retain, group, cutoff_ns);
		*ret_found = true;
		return SQLITE_OK;
	}
	return rc;
}

/* ---- what does not go ---------------------------------------------------- */

/* What the tables are to people; all others are samples. */
static const struct {
	const char *table;
	enum store_use use;
} quota_uses[] = {
	{"entity", STORE_USE_NAMES},
	{"series", STORE_USE_NAMES},
	{"text", STORE_USE_NAMES},
	{"port_attr", STORE_USE_NAMES},
	{"device_attr", STORE_USE_NAMES},
	{"incident", STORE_USE_INCIDENTS},
	{"recommendation", STORE_USE_INCIDENTS},
	{"alert", STORE_USE_INCIDENTS},
	{"silence", STORE_USE_INCIDENTS},
	{"burst", STORE_USE_INCIDENTS},
	{"event", STORE_USE_EVENTS},
	{"flow", STORE_USE_FLOWS},
	{"finding", STORE_USE_FINDINGS},
	{"fabric_history", STORE_USE_CONFIGURATION},
};

/* The bytes of a table with its indexes. Table dbstat: https://www.sqlite.org/dbstat.html; with a
 * name it reads the pages of that tree only. */
static int quota_table_bytes(struct store_writer *writer, const char *table, uint64_t *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	static const char sql[] =
		"SELECT sum((SELECT sum(pgsize) FROM dbstat WHERE dbstat.name=m.name AND "
		"aggregate=1)) FROM sqlite_master m WHERE m.tbl_name=?1 AND m.rootpage>0";
	int rc = sqlite3_prepare_v2(writer->db, sql, -1, &st, NULL);

	*ret = 0;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	return sqlite3_reset(st);
}

static int quota_count(struct store_writer *writer, struct store_usage *usage)
{
	uint64_t known_bytes = 0, bytes;
	int rc = SQLITE_OK;

	memset(usage->by, 0, sizeof(usage->by));
	usage->counted = false;
	if (usage->used_bytes > COUNTED_BYTES || !sqlite3_compileoption_used("ENABLE_DBSTAT_VTAB"))
		return SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(quota_uses); i++) {
		rc = quota_table_bytes(writer, quota_uses[i].table, &bytes);
		usage->by[quota_uses[i].use] += bytes;
		known_bytes += bytes;
	}
	if (usage->used_bytes > known_bytes)
		usage->by[STORE_USE_SAMPLES] = usage->used_bytes - known_bytes;
	usage->counted = rc == SQLITE_OK;
	return rc;
}

/* How far each tier reaches back, and whether the quota is why. A tier that its age cuts again is
 * not cut by the quota any more. */
static void quota_reach(const struct store_writer *writer, struct store_usage *usage)
{
	const struct retain *retain = &writer->retain;

	for (unsigned tier = 0; tier < STORE_TIERS; tier++) {
		int64_t oldest_ns;
		const bool known = retain_blocks_oldest(retain, (enum store_tier)tier, &oldest_ns);
		usage->oldest_ns[tier] = 0;
		if (known && oldest_ns != INT64_MAX)
			usage->oldest_ns[tier] = oldest_ns;
		usage->cut[tier] = retain->quota_ns[tier] != 0 &&
			retain->quota_ns[tier] >= retain->cutoff_ns[tier];
	}
}

int writer_usage(struct store_writer *writer, struct store_usage *ret)
{
	struct retain *retain = &writer->retain;
	const bool was_stuck = retain->usage.stuck;
	int rc = quota_used_bytes(writer, &retain->usage.used_bytes);

	retain->usage.quota_bytes = writer->o.quota_bytes;
	retain->usage.stuck = retain->stuck;
	retain->usage.damaged_devices = writer_seal_damaged(writer);
	retain->usage.damaged_hours = writer->rollup.n_damaged;
	quota_reach(writer, &retain->usage);
	if (rc == SQLITE_OK && retain->stuck && !was_stuck)
		rc = quota_count(writer, &retain->usage);
	*ret = retain->usage;
	return rc;
}

/*
 * store_names_retain - deletes names that are over: those that the agent released, of which
 * retention has left nothing, with everything that belongs to them; and attributes of ports and
 * devices that later ones had replaced before the cutoff. Inside the transactions of retention
 * (store_retain.c), one chunk at a time.
 *
 * The largest id stays, so that SQLite, which gives the largest plus one, never gives one twice.
 */

#define CHUNK_NAMES 500 /* in one transaction */
#define SWEEP_NS (3600 * NS_PER_S)

/* ---- a name ---------------------------------------------------------------- */

struct old_name {
	int64_t id, made_ns, gone_ns;
};

static bool name_pinned(const struct store_writer *writer, const struct old_name *name)
{
	for (size_t i = 0; i < writer->retain.n_pins; i++)
		if (name->made_ns <= writer->retain.pins[i].to_ns &&
			name->gone_ns >= writer->retain.pins[i].from_ns)
			return true;
	return false;
}

static int delete_for(struct store_writer *writer, const char *sql, int64_t id)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const int rc = sqlite_prepare(writer->db, sql, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, id);
	return sqlite_run(st);
}

/* The newest of each configuration state, which retention of samples keeps; what was known of a
 * port; and the name itself, last. */
static int delete_name(struct store_writer *writer, int64_t id)
{
	static const char *const rest[] = {
		("UPDATE series_count SET n=n-1 WHERE device=(SELECT d.id FROM entity e CROSS JOIN "
		 "entity d ON d.device=e.device AND d.port='' AND d.priority=-1 WHERE e.id=?1) "
		 "AND metric IN (SELECT m.id FROM series s CROSS JOIN metric_name m ON "
		 "m.name=s.metric WHERE s.entity=?1)"),
		"DELETE FROM series WHERE entity=?1",
		"DELETE FROM series_count WHERE device=?1",
		"DELETE FROM block WHERE device=?1",
		"DELETE FROM block_minute WHERE device=?1",
		"DELETE FROM block_hour WHERE device=?1",
		("DELETE FROM port_attr WHERE (device, port) IN "
		 "(SELECT device, port FROM entity WHERE id=?1 AND port<>'' AND priority=-1)"),
		"DELETE FROM entity WHERE id=?1",
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(rest); i++)
		rc = delete_for(writer, rest[i], id);
	return rc;
}

static int list_names(struct store_writer *writer, int64_t cutoff_ns,
	struct old_name ret[CHUNK_NAMES], size_t *ret_n)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(writer->db,
		"SELECT id, made_ns, gone_ns FROM entity WHERE gone_ns<?1 "
		"AND (gone_ns, id)>(?2, ?3) AND id<(SELECT max(id) FROM entity) "
		"ORDER BY gone_ns, id LIMIT ?4",
		&st);

	*ret_n = 0;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, cutoff_ns);
	sqlite3_bind_int64(st, 2, writer->retain_gone_ns);
	sqlite3_bind_int64(st, 3, writer->retain_gone_id);
	sqlite3_bind_int(st, 4, CHUNK_NAMES);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && *ret_n < CHUNK_NAMES)
		ret[(*ret_n)++] = (struct old_name){.id = sqlite3_column_int64(st, 0),
			.made_ns = sqlite3_column_int64(st, 1),
			.gone_ns = sqlite3_column_int64(st, 2)};
	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		return SQLITE_OK;
	return rc;
}

static int delete_names(struct store_writer *writer, int64_t cutoff_ns, bool *ret_more)
{
	struct old_name names[CHUNK_NAMES];
	size_t n;
	int rc = list_names(writer, cutoff_ns, names, &n);

	*ret_more = n == CHUNK_NAMES;
	for (size_t i = 0; rc == SQLITE_OK && i < n; i++) {
		if (name_pinned(writer, &names[i]))
			continue;
		rc = delete_name(writer, names[i].id);
		writer->names_changed = true;
	}
	if (*ret_more) {
		writer->retain_gone_ns = names[n - 1].gone_ns;
		writer->retain_gone_id = names[n - 1].id;
	} else {
		writer->retain_gone_ns = writer->retain_gone_id = 0;
	}
	return rc;
}

/* ---- attributes and texts ---------------------------------------------------- */

/* Rows of ?1 or before that a later one, itself not after ?1, replaced; and what was said of ports
 * of which no sample ever came. At most ?2 of each. */
static const char *const attribute_sql[] = {
	"DELETE FROM port_attr WHERE (device, port, t_ns) IN "
	"(SELECT a.device, a.port, a.t_ns FROM port_attr a WHERE a.t_ns<?1 AND EXISTS "
	"(SELECT 1 FROM port_attr n WHERE n.device=a.device AND n.port=a.port AND n.t_ns>a.t_ns "
	"AND n.t_ns<=?1) LIMIT ?2)",
	"DELETE FROM device_attr WHERE (device, t_ns) IN "
	"(SELECT a.device, a.t_ns FROM device_attr a WHERE a.t_ns<?1 AND EXISTS "
	"(SELECT 1 FROM device_attr n WHERE n.device=a.device AND n.t_ns>a.t_ns AND n.t_ns<=?1) "
	"LIMIT ?2)",
	"DELETE FROM port_attr WHERE (device, port, t_ns) IN "
	"(SELECT a.device, a.port, a.t_ns FROM port_attr a WHERE a.t_ns<?1 "
	"AND EXISTS (SELECT 1 FROM entity d WHERE d.device=a.device AND d.port='' "
	"AND d.priority=-1) AND NOT EXISTS (SELECT 1 FROM entity p WHERE p.device=a.device "
	"AND p.port=a.port AND p.priority=-1) LIMIT ?2)",
};

static int delete_attributes(struct store_writer *writer, int64_t cutoff_ns, bool *ret_more)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(attribute_sql); i++) {
		rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
		rc = sqlite_prepare(writer->db, attribute_sql[i], &st);
		if (rc != SQLITE_OK)
			break;
		sqlite3_bind_int64(st, 1, cutoff_ns);
		sqlite3_bind_int(st, 2, CHUNK_ROWS);
		rc = sqlite_run(st);
		*ret_more |= rc == SQLITE_OK && sqlite3_changes(writer->db) >= CHUNK_ROWS;
	}
	return rc;
}

/* writer_retain_names - deletes one chunk of names that were gone before @cutoff_ns, with all that
 * belongs to them, and attributes that were over by then. store_retain.c */
static int writer_retain_names(struct store_writer *writer, int64_t cutoff_ns, bool *ret_more)
{
	bool more = false;
	int rc = delete_names(writer, cutoff_ns, &more);
	const int64_t now_ns = mono_now().ns;
	const bool due = writer->names_swept_ns == 0 || now_ns - writer->names_swept_ns > SWEEP_NS;

	if (rc == SQLITE_OK && !more && due) {
		rc = delete_attributes(writer, cutoff_ns, &more);
		if (rc == SQLITE_OK && !more)
			writer->names_swept_ns = now_ns;
	}
	*ret_more = more;
	return rc;
}

#define CHUNK_LOOKS 1000 /* ranges looked at in one transaction */

/* ---- one list ------------------------------------------------------------ */

static void bind_range(sqlite3_stmt *st, int64_t from, int64_t until, int64_t cutoff)
{
	sqlite3_bind_int64(st, 1, from);
	sqlite3_bind_int64(st, 2, until);
	sqlite3_bind_int64(st, 3, cutoff); /* not every statement has it */
}

/* One chunk of a table: from @from, before @until and @cutoff. */
struct retain_range {
	int64_t from, until, cutoff;
	int chunk;
};

/* Where the chunk ends; *ret_more: it is not the last one. */
static int chunk_end(
	sqlite3_stmt *edge, const struct retain_range *range, int64_t *ret_end, bool *ret_more)
{
	*ret_end = range->until;
	*ret_more = range->until < range->cutoff; /* behind a pin it goes on */
	bind_range(edge, range->from, range->until, range->cutoff);
	sqlite3_bind_int(edge, 4, range->chunk);
	if (sqlite3_step(edge) == SQLITE_ROW) {
		*ret_end = sqlite3_column_int64(edge, 0);
		if (*ret_end <= range->from) /* an instant with more rows goes whole */
			*ret_end = range->from + 1;
		*ret_more = true;
	}
	return sqlite3_reset(edge);
}

/* One chunk of the table of a list. */
static int delete_rows(struct store_writer *writer, unsigned number, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	const struct retain_list *list = &retain_lists[number];
	struct retain_range range = {.chunk = list->chunk, .from = retain->from_ns};
	int64_t end;

	range.until = range.cutoff = retain->cutoff_ns[list->span];
	*ret_more = false;
	if (list->pinned &&
		!retain_free_range(retain, range.from, range.cutoff, &range.from, &range.until))
		return SQLITE_OK;
	if (range.from >= range.until)
		return SQLITE_OK;
	int rc = retain_list_edge(writer, number, &retain->edge[number]);
	if (rc == SQLITE_OK)
		rc = retain_list_rows(writer, number, &retain->rows[number]);
	if (rc == SQLITE_OK)
		rc = chunk_end(retain->edge[number], &range, &end, ret_more);
	if (rc != SQLITE_OK)
		return rc;
	bind_range(retain->rows[number], range.from, end, range.cutoff);
	retain->from_ns = end;
	return sqlite_run(retain->rows[number]);
}

/* ---- a pass -------------------------------------------------------------- */

static int retain_step(struct store_writer *writer, bool *ret_more)
{
	const unsigned step = writer->retain.step;

	if (step < STORE_TIERS)
		return retain_blocks(writer, (enum store_tier)step, ret_more);
	if (step == RETAIN_STEP_NAMES)
		return writer_retain_names(
			writer, writer->retain.cutoff_ns[RETAIN_NAMES], ret_more);
	return delete_rows(writer, step - RETAIN_STEP_LISTS, ret_more);
}

/* Goes on where the last chunk stopped. */
static int retain_chunk(struct store_writer *writer, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	int looked = 0;

	for (*ret_more = true; retain->step < RETAIN_STEP_END;) {
		const int before = sqlite3_total_changes(writer->db);
		const bool tier = retain->step < STORE_TIERS;
		bool more;
		const int rc = retain_step(writer, &more);
		if (rc != SQLITE_OK)
			return rc;
		if (!more) {
			retain->step++;
			retain->from_ns = INT64_MIN;
		}
		/* ranges between pins that hold nothing are no piece of their own */
		const bool changed = sqlite3_total_changes(writer->db) != before;
		if (changed || (tier && more) || ++looked >= CHUNK_LOOKS)
			return SQLITE_OK;
	}
	*ret_more = false;
	return SQLITE_OK;
}

static int64_t retain_age(int64_t now_ns, int64_t age_ns)
{
	if (age_ns <= 0)
		return INT64_MIN; /* for ever */
	return now_ns - age_ns;
}

static int64_t earlier_ns(int64_t one, int64_t other)
{
	return one < other ? one : other;
}

static void retain_cutoffs(struct store_writer *writer, int64_t now_ns)
{
	int64_t *cutoff_ns = writer->retain.cutoff_ns;

	cutoff_ns[RETAIN_RAW] = retain_age(now_ns, writer->o.raw_ns);
	cutoff_ns[RETAIN_MINUTES] = retain_age(now_ns, writer->o.minute_ns);
	cutoff_ns[RETAIN_HOURS] = retain_age(now_ns, writer->o.hour_ns);
	cutoff_ns[RETAIN_EVENTS] = retain_age(now_ns, writer->o.events_ns);
	cutoff_ns[RETAIN_INCIDENTS] = retain_age(now_ns, writer->o.incidents_ns);
}

/* Where the quota takes what may go. */
static int retain_quota(struct store_writer *writer, int64_t now_ns)
{
	struct retain *retain = &writer->retain;
	bool over, found = false, known = true;
	int rc = writer_over_quota(writer, &over);

	if (!over || retain->stuck)
		for (unsigned group = 0; group < RETAIN_GROUPS; group++)
			retain->taken_ns[group] = INT64_MIN;
	if (rc == SQLITE_OK && over)
		rc = writer_quota_cut(writer, now_ns, &found, &known);
	retain->stuck = over && known && !found;
	return rc;
}

/* The cutoffs of a new pass. */
static int retain_begin(struct store_writer *writer, int64_t now_ns)
{
	struct retain *retain = &writer->retain;
	int64_t *cutoff_ns = retain->cutoff_ns;

	retain_cutoffs(writer, now_ns);
	int rc = retain_quota(writer, now_ns);
	cutoff_ns[RETAIN_CONFIG] = earlier_ns(cutoff_ns[RETAIN_RAW], cutoff_ns[RETAIN_EVENTS]);
	cutoff_ns[RETAIN_NAMES] = cutoff_ns[RETAIN_RAW];
	for (unsigned tier = 0; tier < STORE_TIERS; tier++)
		cutoff_ns[RETAIN_NAMES] = earlier_ns(cutoff_ns[RETAIN_NAMES], cutoff_ns[tier]);
	if (rc == SQLITE_OK)
		rc = retain_blocks_begin(writer);
	retain->from_ns = INT64_MIN;
	retain->step = 0;
	retain->running = rc == SQLITE_OK;
	return rc;
}

int writer_retain(struct store_writer *writer, int64_t now_ns, bool *ret_more)
{
	struct retain *retain = &writer->retain;
	bool more = false;

	*ret_more = false;
	if (retain->shrinking && !retain->running) {
		const int shrunk = quota_shrink(writer, &more);
		retain->shrinking = *ret_more = more;
		return shrunk;
	}
	int rc = retain_pins_load(writer); /* without them it would delete what must stay */
	if (rc == SQLITE_OK && !retain->running)
		rc = retain_begin(writer, now_ns);
	if (rc != SQLITE_OK)
		return rc;
	rc = writer_begin(writer);
	if (rc == SQLITE_OK)
		rc = retain_chunk(writer, &more);
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	if (rc != SQLITE_OK) {
		retain->running = false;
		retain_blocks_forget(
			retain); /* the notes name blocks that the rollback brought back */
		return rc;
	}
	retain->running = more;
	*ret_more = more;
	if (!more && !retain->stuck)
		rc = writer_over_quota(writer, ret_more); /* the next tenth at once */
	if (rc == SQLITE_OK && !more && !*ret_more)
		retain->shrinking = *ret_more = writer->o.quota_bytes > 0;
	return rc;
}
