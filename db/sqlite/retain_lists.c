/* retain_lists - what may go from each table but the sample tables, and in which order. */
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

/* Large rows go in few at a time: a transaction takes some 20 ms. */
#define CHUNK_ROWS 4000
#define CHUNK_SHEETS 200

/*
 * What is open, what somebody waits for, and what a kept row refers to, stays: so the referring
 * table stands before the one that it refers to. Of what says how things are (the configuration in
 * force, the agent's last start, a refused reload), the newest stays however old it is.
 */
const struct retain_list retain_lists[RETAIN_LISTS] = {
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
int retain_list_edge(struct store_writer *writer, unsigned list, sqlite3_stmt **ret)
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

int retain_list_rows(struct store_writer *writer, unsigned list, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str sql = {0};

	if (!*ret) {
		str_add(&sql, "DELETE");
		retain_add_rows(&retain_lists[list], &sql);
		return sqlite_prepare(writer->db, sql.s, ret);
	}
	return SQLITE_OK;
}
