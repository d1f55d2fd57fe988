/*
 * schema_views - the SQL of the documented views (docs/database.md), generated from metric.def. For people, Grafana and
 * "query sql"; the program itself reads the tables.
 *
 * samples and rates are one branch per metric. "metric" is a constant in each, so a condition on it switches whole branches off
 * before they read anything; CROSS JOIN fixes the order entity, then rows, so that device, port and time become seeks in the
 * (entity, t_ns) key.
 */
#include "agent/base/str.h"
#include "db/schema.h"

const char *const schema_view_names[] = {
	"samples", "rates", "ports", "links", "devices", "incidents", "findings", "recommendations", "config_history", "flows", "events", NULL,
};

/* RFC 3339 with milliseconds, cut, not rounded; NULL stays NULL. */
#define TIME(col) "strftime('%Y-%m-%dT%H:%M:%S', (" col ")/1000000000, 'unixepoch')||printf('.%03dZ', (" col ")/1000000%1000)"
#define TIME_OR_NULL(col) "CASE WHEN (" col ")<>0 THEN " TIME(col) " END"

/* A value of a row: what x says of it, else what the row says. %s: column. */
#define ROW_FLAGS "CASE WHEN r.x IS NULL THEN r.flags ELSE coalesce(json_extract(r.x,'$.%s.flags'),r.flags) END"
#define ROW_SOURCE "CASE WHEN r.x IS NULL THEN r.source ELSE coalesce(json_extract(r.x,'$.%s.source'),r.source) END"

/* flags as text: a small table in the view, so that the plain sqlite3 shell needs nothing of ours. */
static void add_flags_text(struct str *out, const char *column)
{
	str_addf(out, "(SELECT text FROM flag_names WHERE flags=(" ROW_FLAGS "))", column);
}

static void add_source_text(struct str *out, const char *column)
{
	str_addf(out, "CASE " ROW_SOURCE, column);
	for (unsigned i = SOURCE_UNKNOWN + 1; sample_source_name(i); i++)
		str_addf(out, " WHEN %u THEN '%s'", i, sample_source_name(i));
	str_add(out, " END");
}

static void add_entity(struct str *out)
{
	str_add(out, TIME("r.t_ns") " AS time, r.t_ns AS t_ns, e.device AS device, NULLIF(e.port,'') AS port, NULLIF(e.priority,-1) AS priority");
}

/* u64 is kept as its two's-complement; the rare value from 2^63 on is shown as a real. */
static void add_value(struct str *out, const struct metric_info *info, const char *column)
{
	switch (info->type) {
	case TYPE_TEXT:
		str_addf(out, "(SELECT text FROM text WHERE id=r.%s)", column);
		break;
	case TYPE_F64:
		str_addf(out, "r.%s", column);
		break;
	case TYPE_U64:
		str_addf(out, "CASE WHEN r.%s>=0 THEN r.%s ELSE r.%s+18446744073709551616.0 END", column, column, column);
		break;
	}
}

static void add_samples(struct str *out)
{
	char column[SCHEMA_COLUMN_MAX];

	str_add(out, "CREATE VIEW samples AS ");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		schema_column(column, m);
		str_add(out, m ? " UNION ALL SELECT " : "SELECT ");
		add_entity(out);
		str_addf(out, ", '%s' AS metric, ", info->name);
		add_value(out, info, column);
		str_addf(out, " AS value, '%s' AS unit, '%s' AS kind, ", info->unit, metric_kind_name(info->kind));
		add_flags_text(out, column);
		str_add(out, " AS flags, ");
		add_source_text(out, column);
		str_addf(out, " AS source, CASE WHEN r.x IS NOT NULL THEN json_extract(r.x,'$.%s.window_ms')/1000.0 END AS window_s", column);
		str_addf(out, " FROM entity e CROSS JOIN %s r WHERE r.entity=e.id AND r.%s IS NOT NULL", schema_table[info->scope], column);
	}
	str_add(out, ";");
}

/*
 * The sample before is found by one seek in the key rather than by LAG(): a condition on time cannot be pushed below a window
 * function, so LAG() would read all history for every query. NULL over a restart, a decrease that is no 32-bit wrap, and a suspect value.
 */
static void add_rates(struct str *out)
{
	char column[SCHEMA_COLUMN_MAX];
	bool first = true;

	str_add(out, "CREATE VIEW rates AS SELECT time, t_ns, device, port, priority, metric, unit,"
		" CASE WHEN (bits & 9)<>0 THEN NULL WHEN value>=before THEN (value-before)*1e9/(t_ns-before_ns)"
		" WHEN (bits & 2)<>0 AND before<4294967296 AND value+4294967296-before<2147483648 THEN (value+4294967296-before)*1e9/(t_ns-before_ns) END AS rate,"
		" (t_ns-before_ns)/1e9 AS interval_s, flags FROM (");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		if (info->kind != METRIC_COUNTER)
			continue;
		schema_column(column, m);
		str_add(out, first ? "SELECT " : " UNION ALL SELECT ");
		first = false;
		add_entity(out);
		str_addf(out, ", '%s' AS metric, '%s/s' AS unit, r.%s AS value, p.%s AS before, p.t_ns AS before_ns, " ROW_FLAGS " AS bits, ",
			info->name, info->unit, column, column, column);
		add_flags_text(out, column);
		str_addf(out, " AS flags FROM entity e CROSS JOIN %s r CROSS JOIN %s p WHERE r.entity=e.id AND r.%s IS NOT NULL AND p.entity=r.entity"
			" AND p.t_ns=(SELECT q.t_ns FROM %s q WHERE q.entity=r.entity AND q.t_ns<r.t_ns AND q.%s IS NOT NULL ORDER BY q.t_ns DESC LIMIT 1)",
			schema_table[info->scope], schema_table[info->scope], column, schema_table[info->scope], column);
	}
	str_add(out, ");");
}

#define NEWEST_PORT " FROM port_attr a WHERE a.t_ns=(SELECT max(t_ns) FROM port_attr WHERE device=a.device AND port=a.port)"

static const char other_views[] =
	"CREATE VIEW ports AS SELECT a.device AS device, a.port AS port, NULLIF(a.alias,'') AS alias, NULLIF(a.peer_device,'') AS peer_device,"
	" NULLIF(a.peer_port,'') AS peer_port, NULLIF(a.speed_bps,0) AS speed_bps, " TIME("a.t_ns") " AS since, a.t_ns AS since_ns" NEWEST_PORT ";"
	"CREATE VIEW links AS SELECT a.device AS device, a.port AS port, a.peer_device AS peer_device, NULLIF(a.peer_port,'') AS peer_port,"
	" NULLIF(a.speed_bps,0) AS speed_bps, " TIME("a.t_ns") " AS since, a.t_ns AS since_ns" NEWEST_PORT " AND a.peer_device<>'';"
	"CREATE VIEW devices AS WITH d(device) AS (SELECT device FROM device_attr UNION SELECT device FROM target)"
	" SELECT d.device AS device, NULLIF(a.role,'') AS role, NULLIF(a.profile,'') AS profile, NULLIF(a.sysname,'') AS sysname,"
	" NULLIF(a.descr,'') AS descr, t.protocol AS protocol, t.address AS address, t.state AS state, t.up AS up, NULLIF(t.reason,'') AS reason,"
	" " TIME_OR_NULL("t.since_ns") " AS since, " TIME_OR_NULL("t.last_success_ns") " AS last_success, " TIME_OR_NULL("t.updated_ns") " AS updated,"
	" t.poll_p50_s AS poll_p50_s, t.poll_p95_s AS poll_p95_s, t.polls AS polls, t.timeouts AS timeouts, t.errors AS errors, t.value_count AS value_count"
	" FROM d LEFT JOIN device_attr a ON a.device=d.device AND a.t_ns=(SELECT max(t_ns) FROM device_attr WHERE device=d.device)"
	" LEFT JOIN target t ON t.device=d.device;"
	"CREATE VIEW incidents AS SELECT id, cause, severity, state, " TIME_OR_NULL("opened_ns") " AS opened, " TIME_OR_NULL("closed_ns") " AS closed,"
	" device, port, NULLIF(priority,-1) AS priority, ecmp_group, host, summary, usd_per_hour, usd_total, confidence AS confidence_ratio, acked_by,"
	" NULLIF(opened_ns,0) AS opened_ns, NULLIF(closed_ns,0) AS closed_ns, updated_ns, json FROM incident;"
	"CREATE VIEW findings AS SELECT " TIME("to_ns") " AS time, from_ns, to_ns, analyzer, cause, verdict, severity, device, port,"
	" NULLIF(priority,-1) AS priority, ecmp_group, host, value, warn, confidence AS confidence_ratio, summary FROM finding;"
	"CREATE VIEW recommendations AS SELECT id, " TIME("t_ns") " AS time, t_ns, incident_id, device, port, NULLIF(priority,-1) AS priority, state,"
	" advice, summary, json FROM recommendation;"
	"CREATE VIEW config_history AS SELECT " TIME("t_ns") " AS time, t_ns, yaml FROM fabric_history;"
	"CREATE VIEW flows AS SELECT " TIME("f.from_ns") " AS time, f.from_ns AS from_ns, f.to_ns AS to_ns, e.device AS device, NULLIF(e.port,'') AS port,"
	" CASE f.dir WHEN 1 THEN 'in' WHEN 2 THEN 'out' END AS direction, f.total AS total, f.src AS src, f.dst AS dst, f.src_port AS src_port,"
	" f.dst_qp AS dst_qp, f.packets AS packets, f.octets AS octets, f.ce AS ce, f.ect AS ect, f.cnp AS cnp, f.nak AS nak, f.retransmits AS retransmits,"
	" f.psn_gaps AS psn_gaps, NULLIF(f.burst_bps,0) AS burst_bps, f.flows AS flows, f.sum_sq_octets AS sum_sq_octets, f.sampling AS sampling"
	" FROM flow f JOIN entity e ON e.id=f.entity;"
	"CREATE VIEW events AS SELECT " TIME("t_ns") " AS time, t_ns, kind, incident_id, who, text, device, port FROM event;";

/* All sets of flags, as text. A table rather than a view: looked up once per shown value. */
static void add_flag_names(struct str *out)
{
	char text[SAMPLE_FLAGS_TEXT_MAX];

	str_add(out, "DROP TABLE IF EXISTS flag_names; CREATE TABLE flag_names(flags INTEGER PRIMARY KEY, text TEXT NOT NULL); INSERT INTO flag_names VALUES ");
	for (unsigned f = 0; f < SF_DECLARED << 1; f++)
		str_addf(out, "%s(%u,'%s')", f ? "," : "", f, sample_flags_text(text, f));
	str_add(out, ";");
}

void schema_views(struct str *out)
{
	add_flag_names(out);
	add_samples(out);
	add_rates(out);
	str_add(out, other_views);
}
