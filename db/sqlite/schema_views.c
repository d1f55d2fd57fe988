/*
 * schema_views - the SQL of the documented views (docs/database.md), generated from metric.def. For
 * people, Grafana and "query sql"; the program itself reads the tables for samples.
 *
 * samples and rates have one branch per metric and table. "metric" is a constant in each branch, so
 * a condition on it switches whole branches off before they read anything. CROSS JOIN fixes the
 * order: the entity; whether it has the metric at all; its device's instants; the rows. A condition
 * on device, port, priority or time is then a seek. Configuration states, which are rare, are found
 * by their partial index.
 */
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/sqlite/schema.h"

const char *const schema_view_names[] = {
	"samples",
	"rates",
	"ports",
	"links",
	"devices",
	"incidents",
	"findings",
	"recommendations",
	"config_history",
	"flows",
	"flow_hosts",
	"events",
	"silences",
	"alerts",
	"bursts",
	NULL,
};

/* ---- pieces of SQL ------------------------------------------------------- */

/* Appends @sql, in which TIME(column) stands for RFC 3339 with milliseconds, cut and not rounded
 * (NULL stays NULL), and TIME0(column) for the same where 0 means "never". */
static void add_sql(struct str *out, const char *sql)
{
	static const char time[] =
		"strftime('%%Y-%%m-%%dT%%H:%%M:%%S', (%.*s)/1000000000, 'unixepoch')"
		"||printf('.%%03dZ', (%.*s)/1000000%%1000)";
	const char *at;

	while ((at = strstr(sql, "TIME"))) {
		bool or_null = at[4] == '0';
		const char *column = strchr(at, '(') + 1;
		int n = (int)strcspn(column, ")");
		str_addn(out, sql, (size_t)(at - sql));
		if (or_null)
			str_addf(out, "CASE WHEN (%.*s)<>0 THEN ", n, column);
		str_addf(out, time, n, column, n, column);
		if (or_null)
			str_add(out, " END");
		sql = column + n + 1;
	}
	str_add(out, sql);
}

/* A value of a row has the name c, and the row has x, flags rf and source rs: what x says of the
 * value, else what the row says. */
#define VALUE_FLAGS                                                                                \
	"CASE WHEN x IS NULL THEN rf ELSE coalesce(json_extract(x,'$.'||c||'.flags'),rf) END"
#define VALUE_SOURCE                                                                               \
	"CASE WHEN x IS NULL THEN rs ELSE coalesce(json_extract(x,'$.'||c||'.source'),rs) END"
/* Flags as text, by a small table in the file: the plain sqlite3 shell needs nothing of ours. */
#define FLAGS_TEXT "(SELECT text FROM flag_names WHERE flags=(" VALUE_FLAGS "))"

#define ENTITY_COLUMNS                                                                             \
	"TIME(t_ns) AS time, t_ns, device, NULLIF(port,'') AS port, "                              \
	"NULLIF(priority,-1) AS priority"

static void add_source_text(struct str *out)
{
	str_add(out, "CASE " VALUE_SOURCE);
	for (unsigned i = SOURCE_UNKNOWN + 1; sample_source_name(i); i++)
		str_addf(out, " WHEN %u THEN '%s'", i, sample_source_name(i));
	str_add(out, " END");
}

/* The value of a metric in row @row; in sample_lanes, of the entity's priority. */
static void add_column(struct str *out, unsigned metric, unsigned table, char row)
{
	char column[SCHEMA_COLUMN_MAX];

	schema_column(column, metric);
	if (table != TABLE_PRIOS) {
		str_addf(out, "%c.%s", row, column);
		return;
	}
	str_add(out, "CASE e.priority");
	for (unsigned p = 0; p < SCHEMA_PRIOS; p++)
		str_addf(out, " WHEN %u THEN %c.%s_p%u", p, row, column, p);
	str_add(out, " END");
}

/* ---- one metric of one table --------------------------------------------- */

/* The value, its name and what the row says of it. */
static void add_value_columns(struct str *out, unsigned metric, unsigned table)
{
	char column[SCHEMA_COLUMN_MAX];

	str_add(out,
		"SELECT r.t_ns AS t_ns, e.device AS device, e.port AS port, "
		"e.priority AS priority, r.flags AS rf, r.source AS rs, r.x AS x, ");
	str_addf(out, "'%s", schema_column(column, metric));
	if (table == TABLE_PRIOS)
		str_add(out, "_p'||e.priority AS c, ");
	else
		str_add(out, "' AS c, ");
	add_column(out, metric, table, 'r');
	str_add(out, " AS v");
}

static void add_from(struct str *out, unsigned metric, unsigned table)
{
	const char *name = schema_table[table];

	str_add(out, " FROM entity e CROSS JOIN series s");
	if (table == TABLE_PRIOS)
		str_add(out, " CROSS JOIN entity k"); /* the port */
	if (schema_is_cfg(metric))
		str_addf(out, " CROSS JOIN %s r INDEXED BY %s_cfg", name, name);
	else
		str_addf(out, " CROSS JOIN entity d CROSS JOIN instant i CROSS JOIN %s r", name);
}

static void add_where(struct str *out, unsigned metric, unsigned table)
{
	str_addf(out, " WHERE s.entity=e.id AND s.metric='%s'", metric_info(metric)->name);
	if (table == TABLE_PRIOS)
		str_add(out,
			" AND e.priority BETWEEN 0 AND 7 AND k.device=e.device "
			"AND k.port=e.port AND k.priority=-1 AND r.entity=k.id");
	else
		str_add(out, " AND r.entity=e.id");
	if (schema_is_cfg(metric))
		str_add(out, " AND r.cfg IS NOT NULL");
	else
		str_add(out,
			" AND d.device=e.device AND d.port='' AND d.priority=-1 "
			"AND i.device=d.id AND r.t_ns=i.t_ns");
	str_add(out, " AND ");
	add_column(out, metric, table, 'r');
	str_add(out, " IS NOT NULL");
}

static bool table_has(unsigned table, unsigned metric)
{
	return (unsigned)metric_info(metric)->scope == schema_table_scope(table);
}

/* ---- samples ------------------------------------------------------------- */

/* u64 is kept as its two's complement; a value from 2^63 on, which is rare, is shown as a real. */
static const char *const value_shown[] = {
	[TYPE_U64] = "CASE WHEN v>=0 THEN v ELSE v+18446744073709551616.0 END",
	[TYPE_F64] = "v",
	[TYPE_TEXT] = "(SELECT text FROM text WHERE id=v)",
};

static void add_samples_branch(struct str *out, unsigned metric, unsigned table)
{
	const struct metric_info *info = metric_info(metric);

	add_sql(out, "SELECT " ENTITY_COLUMNS);
	str_addf(out, ", '%s' AS metric, %s AS value, '%s' AS unit, '%s' AS kind, ", info->name,
		value_shown[info->type], info->unit, metric_kind_name(info->kind));
	str_add(out, FLAGS_TEXT " AS flags, ");
	add_source_text(out);
	str_add(out,
		" AS source, CASE WHEN x IS NOT NULL THEN "
		"json_extract(x,'$.'||c||'.window_ms')/1000.0 END AS window_s FROM (");
	add_value_columns(out, metric, table);
	add_from(out, metric, table);
	add_where(out, metric, table);
	str_add(out, ")");
}

static void add_samples(struct str *out)
{
	const char *between = "CREATE VIEW samples AS ";

	for (unsigned table = 0; table < SCHEMA_TABLES; table++) {
		for (unsigned m = 0; m < METRIC_COUNT; m++) {
			if (!table_has(table, m))
				continue;
			str_add(out, between);
			add_samples_branch(out, m, table);
			between = " UNION ALL ";
		}
	}
	str_add(out, ";");
}

/* ---- rates --------------------------------------------------------------- */

/*
 * The sample before is found by walking the device's instants back, not by LAG(): a condition on
 * time cannot be pushed below a window function, so LAG() would read all history for every query.
 */
static void add_rates_branch(struct str *out, unsigned metric, unsigned table)
{
	const struct metric_info *info = metric_info(metric);
	const char *name = schema_table[table];

	add_sql(out, "SELECT " ENTITY_COLUMNS);
	str_addf(out, ", '%s' AS metric, '%s/s' AS unit, v, before, before_ns, ", info->name,
		info->unit);
	str_add(out, VALUE_FLAGS " AS bits, " FLAGS_TEXT " AS flags FROM (");
	add_value_columns(out, metric, table);
	str_add(out, ", p.t_ns AS before_ns, ");
	add_column(out, metric, table, 'p');
	str_add(out, " AS before");
	add_from(out, metric, table);
	str_addf(out, " CROSS JOIN %s p", name);
	add_where(out, metric, table);
	str_addf(out,
		" AND p.entity=r.entity AND p.t_ns=(SELECT j.t_ns FROM instant j CROSS JOIN %s q "
		"WHERE j.device=d.id AND j.t_ns<i.t_ns "
		"AND q.t_ns=j.t_ns AND q.entity=r.entity AND ",
		name);
	add_column(out, metric, table, 'q');
	str_add(out, " IS NOT NULL ORDER BY j.t_ns DESC LIMIT 1))");
}

/* NULL over a restart (flag 1), for a suspect value (flag 8), and over a decrease that is no wrap
 * of 32 bits (flag 2). */
static const char rates_view[] =
	"CREATE VIEW rates AS SELECT time, t_ns, device, port, priority, metric, unit, "
	"CASE WHEN (bits & 9)<>0 THEN NULL "
	" WHEN v>=before THEN (v-before)*1e9/(t_ns-before_ns) "
	" WHEN (bits & 2)<>0 AND before<4294967296 AND v+4294967296-before<2147483648 "
	"  THEN (v+4294967296-before)*1e9/(t_ns-before_ns) END AS rate, "
	"(t_ns-before_ns)/1e9 AS interval_s, flags FROM (";

static void add_rates(struct str *out)
{
	const char *between = rates_view;

	for (unsigned table = 0; table < SCHEMA_TABLES; table++) {
		for (unsigned m = 0; m < METRIC_COUNT; m++) {
			if (!table_has(table, m) || metric_info(m)->kind != METRIC_COUNTER)
				continue;
			str_add(out, between);
			add_rates_branch(out, m, table);
			between = " UNION ALL ";
		}
	}
	str_add(out, ");");
}

/* ---- the others ---------------------------------------------------------- */

#define NEWEST_PORT                                                                                \
	"FROM port_attr a WHERE a.t_ns="                                                           \
	"(SELECT max(t_ns) FROM port_attr WHERE device=a.device AND port=a.port)"

static const char *const other_views[] = {
	"CREATE VIEW ports AS SELECT a.device AS device, a.port AS port, "
	"NULLIF(a.alias,'') AS alias, NULLIF(a.peer_device,'') AS peer_device, "
	"NULLIF(a.peer_port,'') AS peer_port, NULLIF(a.speed_bps,0) AS speed_bps, "
	"TIME(a.t_ns) AS since, a.t_ns AS since_ns " NEWEST_PORT,

	"CREATE VIEW links AS SELECT a.device AS device, a.port AS port, "
	"a.peer_device AS peer_device, NULLIF(a.peer_port,'') AS peer_port, "
	"NULLIF(a.speed_bps,0) AS speed_bps, TIME(a.t_ns) AS since, "
	"a.t_ns AS since_ns " NEWEST_PORT " AND a.peer_device<>''",

	"CREATE VIEW devices AS WITH d(device) AS "
	"(SELECT device FROM device_attr UNION SELECT device FROM target) "
	"SELECT d.device AS device, NULLIF(a.role,'') AS role, NULLIF(a.profile,'') AS profile, "
	"NULLIF(a.sysname,'') AS sysname, NULLIF(a.descr,'') AS descr, t.protocol AS protocol, "
	"t.address AS address, t.state AS state, t.up AS up, NULLIF(t.reason,'') AS reason, "
	"TIME0(t.since_ns) AS since, TIME0(t.last_success_ns) AS last_success, "
	"TIME0(t.updated_ns) AS updated, t.poll_p50_s AS poll_p50_s, t.poll_p95_s AS poll_p95_s, "
	"t.polls AS polls, t.timeouts AS timeouts, t.errors AS errors, "
	"t.value_count AS value_count "
	"FROM d LEFT JOIN device_attr a ON a.device=d.device AND a.t_ns="
	"(SELECT max(t_ns) FROM device_attr WHERE device=d.device) "
	"LEFT JOIN target t ON t.device=d.device",

	"CREATE VIEW incidents AS SELECT id, cause, severity, state, TIME0(opened_ns) AS opened, "
	"TIME0(closed_ns) AS closed, device, port, NULLIF(priority,-1) AS priority, ecmp_group, "
	"host, summary, usd_per_hour, usd_total, confidence AS confidence_ratio, acked_by, "
	"NULLIF(opened_ns,0) AS opened_ns, NULLIF(closed_ns,0) AS closed_ns, updated_ns, json "
	"FROM incident",

	"CREATE VIEW findings AS SELECT TIME(to_ns) AS time, from_ns, to_ns, analyzer, cause, "
	"verdict, severity, device, port, NULLIF(priority,-1) AS priority, ecmp_group, host, "
	"value, warn, confidence AS confidence_ratio, summary FROM finding",

	"CREATE VIEW recommendations AS SELECT id, TIME(t_ns) AS time, t_ns, incident_id, device, "
	"port, NULLIF(priority,-1) AS priority, state, advice, summary, json, diagnosis, who, "
	"TIME0(updated_ns) AS updated, updated_ns, from_ns AS evidence_from_ns, "
	"to_ns AS evidence_to_ns FROM recommendation",

	"CREATE VIEW config_history AS SELECT TIME(t_ns) AS time, t_ns, yaml FROM fabric_history",

	"CREATE VIEW flows AS SELECT TIME(f.from_ns) AS time, f.from_ns AS from_ns, "
	"f.to_ns AS to_ns, e.device AS device, NULLIF(e.port,'') AS port, "
	"CASE f.dir WHEN 1 THEN 'in' WHEN 2 THEN 'out' END AS direction, f.total AS total, "
	"f.src AS src, f.dst AS dst, f.src_port AS src_port, f.dst_qp AS dst_qp, "
	"f.packets AS packets, f.octets AS octets, f.ce AS ce, f.ect AS ect, f.cnp AS cnp, "
	"f.nak AS nak, f.retransmits AS retransmits, f.psn_gaps AS psn_gaps, "
	"NULLIF(f.burst_bps,0) AS burst_bps, f.flows AS flows, "
	"f.sum_sq_octets AS sum_sq_octets, f.sampling AS sampling, "
	"f.data_packets AS data_packets, f.data_ect AS data_ect, f.copies AS copies, "
	"f.capture_lost AS capture_lost, f.spray_octets AS spray_octets "
	"FROM flow f JOIN entity e ON e.id=f.entity WHERE f.host IS NULL",

	("CREATE VIEW flow_hosts AS SELECT TIME(f.from_ns) AS time, f.from_ns AS from_ns, "
	 "f.to_ns AS to_ns, e.device AS device, NULLIF(e.port,'') AS port, "
	 "CASE f.dir WHEN 1 THEN 'in' WHEN 2 THEN 'out' END AS direction, f.src AS host, "
	 "f.ce AS ce_sent, f.cnp AS cnp_got, f.ce_got AS ce_got, f.cnp_sent AS cnp_sent, "
	 "f.reactions AS reactions, f.after_bps / f.before_bps AS reaction_ratio, "
	 "f.before_bps / f.reactions AS rate_before_bps, "
	 "f.after_bps / f.reactions AS rate_after_bps, f.sampling AS sampling "
	 "FROM flow f JOIN entity e ON e.id=f.entity WHERE f.host IS NOT NULL"),

	("CREATE VIEW events AS SELECT TIME(t_ns) AS time, t_ns, kind, incident_id, who, text, "
	 "device, port, job FROM event"),

	"CREATE VIEW silences AS SELECT id, device, port, host, job, cause, TIME(from_ns) AS "
	"start, "
	"TIME(until_ns) AS until, who, why, ended_by, TIME(created_ns) AS created, from_ns, "
	"until_ns, created_ns FROM silence",

	"CREATE VIEW alerts AS SELECT receiver, incident_id, NULLIF(state,'') AS state, "
	"severity, cause, TIME0(sent_ns) AS sent_at, NULLIF(pending,'') AS pending, "
	"TIME0(pending_ns) AS pending_since, attempts, error, sent, acked, labels, sent_ns, "
	"pending_ns, updated_ns FROM alert",

	"CREATE VIEW bursts AS SELECT incident_id, device, TIME(from_ns) AS start, TIME(to_ns) AS "
	"until, part, parts, objects, data, t_ns, from_ns, to_ns FROM burst",
};

/* All sets of flags, as text. A table rather than a view: looked up once per shown value. */
static void add_flag_names(struct str *out)
{
	char text[SAMPLE_FLAGS_TEXT_MAX];

	str_add(out,
		"DROP TABLE IF EXISTS flag_names; "
		"CREATE TABLE flag_names(flags INTEGER PRIMARY KEY, text TEXT NOT NULL); "
		"INSERT INTO flag_names VALUES ");
	for (unsigned f = 0; f < SF_DECLARED << 1; f++)
		str_addf(out, "%s(%u,'%s')", str_if(f > 0, ","), f, sample_flags_text(text, f));
	str_add(out, ";");
}

void schema_views(struct str *out)
{
	add_flag_names(out);
	add_samples(out);
	add_rates(out);
	for (size_t i = 0; i < rw_countof(other_views); i++) {
		add_sql(out, other_views[i]);
		str_add(out, ";");
	}
}
