/*
 * schema_views - the SQL of the documented views (docs/database.md), generated from metric.def. For
 * people, Grafana and "query sql"; the program itself reads the tables.
 *
 * samples and rates are one branch per metric and table. "metric" is a constant in each, so a
 * condition on it switches whole branches off before they read anything; CROSS JOIN fixes the
 * order: entity, whether it has the metric at all, its device's instants, rows. Device, port,
 * priority and time thus become seeks. Configuration states, rare among the rows, are found by
 * their partial index.
 */
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
	"events",
	NULL,
};

/* RFC 3339 with milliseconds, cut, not rounded; NULL stays NULL. */
#define TIME(col)                                                                                  \
	"strftime('%Y-%m-%dT%H:%M:%S', (" col ")/1000000000, 'unixepoch')||printf('.%03dZ', (" col \
	")/1000000%1000)"
#define TIME_OR_NULL(col) "CASE WHEN (" col ")<>0 THEN " TIME(col) " END"

/* A value of a row (x, its flags rf and source rs, and the column's name c): what x says of it,
 * else what the row says. */
#define ROW_FLAGS                                                                                  \
	"CASE WHEN x IS NULL THEN rf ELSE coalesce(json_extract(x,'$.'||c||'.flags'),rf) END"
#define ROW_SOURCE                                                                                 \
	"CASE WHEN x IS NULL THEN rs ELSE coalesce(json_extract(x,'$.'||c||'.source'),rs) END"
#define ENTITY                                                                                     \
	TIME("t_ns")                                                                               \
	" AS time, t_ns, device, NULLIF(port,'') AS port, NULLIF(priority,-1) AS priority"

/* flags as text: a small table in the view, so that the plain sqlite3 shell needs nothing of ours.
 */
#define FLAGS_TEXT "(SELECT text FROM flag_names WHERE flags=(" ROW_FLAGS "))"

static void add_source_text(struct str *out)
{
	str_add(out, "CASE " ROW_SOURCE);
	for (unsigned i = SOURCE_UNKNOWN + 1; sample_source_name(i); i++)
		str_addf(out, " WHEN %u THEN '%s'", i, sample_source_name(i));
	str_add(out, " END");
}

/* The value of a metric in row @row; in the table of lanes, of the entity's priority. */
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

/* Columns that all branches share, and what is joined up to row r; ends within the WHERE. @more:
 * further columns and tables. */
static void schema_views_add_rows(
	struct str *out, unsigned metric, unsigned table, const char *more, const char *tables)
{
	char column[SCHEMA_COLUMN_MAX];
	bool lanes = table == TABLE_PRIOS, cfg = schema_is_cfg(metric);

	str_add(out,
		"SELECT r.t_ns AS t_ns, e.device AS device, e.port AS port, e.priority AS "
		"priority, r.flags AS rf, r.source AS rs, r.x AS x, ");
	str_addf(out, lanes ? "'%s_p'||e.priority" : "'%s'", schema_column(column, metric));
	str_add(out, " AS c, ");
	add_column(out, metric, table, 'r');
	str_addf(out, " AS v%s FROM entity e CROSS JOIN series s%s%s CROSS JOIN %s r%s%s%s", more,
		str_if(lanes, " CROSS JOIN entity k"),
		str_if(!cfg, " CROSS JOIN entity d CROSS JOIN instant i"), schema_table[table],
		str_if(cfg, " INDEXED BY "), cfg ? schema_table[table] : "", str_if(cfg, "_cfg"));
	str_addf(
		out, "%s WHERE s.entity=e.id AND s.metric='%s'", tables, metric_info(metric)->name);
	if (lanes)
		str_add(out,
			" AND e.priority BETWEEN 0 AND 7 AND k.device=e.device AND k.port=e.port "
			"AND k.priority=-1 AND r.entity=k.id");
	else
		str_add(out, " AND r.entity=e.id");
	str_add(out,
		cfg ? " AND r.cfg IS NOT NULL"
		    : " AND d.device=e.device AND d.port='' AND d.priority=-1 AND i.device=d.id "
		      "AND r.t_ns=i.t_ns");
	str_add(out, " AND ");
	add_column(out, metric, table, 'r');
	str_add(out, " IS NOT NULL");
}

static bool table_has(unsigned table, const struct metric_info *info)
{
	return (unsigned)info->scope == schema_table_scope(table);
}

/* u64 is kept as its two's-complement; the rare value from 2^63 on is shown as a real. */
static const char *const shown[] = {
	[TYPE_U64] = "CASE WHEN v>=0 THEN v ELSE v+18446744073709551616.0 END",
	[TYPE_F64] = "v",
	[TYPE_TEXT] = "(SELECT text FROM text WHERE id=v)",
};

static void add_samples(struct str *out)
{
	const char *sep = "CREATE VIEW samples AS ";

	for (unsigned table = 0; table < SCHEMA_TABLES; table++) {
		for (unsigned m = 0; m < METRIC_COUNT; m++) {
			const struct metric_info *info = metric_info(m);
			if (!table_has(table, info))
				continue;
			str_add(out, sep);
			str_add(out, "SELECT " ENTITY);
			str_addf(out, ", '%s' AS metric, %s AS value, '%s' AS unit, '%s' AS kind, ",
				info->name, shown[info->type], info->unit,
				metric_kind_name(info->kind));
			str_add(out, FLAGS_TEXT " AS flags, ");
			sep = " UNION ALL ";
			add_source_text(out);
			str_add(out,
				" AS source, CASE WHEN x IS NOT NULL THEN "
				"json_extract(x,'$.'||c||'.window_ms')/1000.0 END AS window_s FROM "
				"(");
			schema_views_add_rows(out, m, table, "", "");
			str_add(out, ")");
		}
	}
	str_add(out, ";");
}

/*
 * The sample before is found by walking the device's instants back rather than by LAG(): a
 * condition on time cannot be pushed below a window function, so LAG() would read all history for
 * every query. NULL over a restart, a decrease that is no 32-bit wrap, and a suspect value.
 */
static void add_rates(struct str *out)
{
	const char *sep = "";

	str_add(out,
		"CREATE VIEW rates AS SELECT time, t_ns, device, port, priority, metric, unit,"
		" CASE WHEN (bits & 9)<>0 THEN NULL WHEN v>=before THEN "
		"(v-before)*1e9/(t_ns-before_ns)"
		" WHEN (bits & 2)<>0 AND before<4294967296 AND v+4294967296-before<2147483648 THEN "
		"(v+4294967296-before)*1e9/(t_ns-before_ns) END AS rate,"
		" (t_ns-before_ns)/1e9 AS interval_s, flags FROM (");
	for (unsigned table = 0; table < SCHEMA_TABLES; table++) {
		for (unsigned m = 0; m < METRIC_COUNT; m++) {
			const struct metric_info *info = metric_info(m);
			rw_cleanup(str_done) struct str before = {0}, tables = {0};
			if (!table_has(table, info) || info->kind != METRIC_COUNTER)
				continue;
			str_add(out, sep);
			str_add(out, "SELECT " ENTITY);
			str_addf(out, ", '%s' AS metric, '%s/s' AS unit, v, before, before_ns, ",
				info->name, info->unit);
			str_add(out, ROW_FLAGS " AS bits, " FLAGS_TEXT " AS flags FROM (");
			sep = " UNION ALL ";
			str_add(&before, ", p.t_ns AS before_ns, ");
			add_column(&before, m, table, 'p');
			str_add(&before, " AS before");
			str_addf(&tables, " CROSS JOIN %s p", schema_table[table]);
			schema_views_add_rows(out, m, table, before.s, tables.s);
			str_addf(out,
				" AND p.entity=r.entity AND p.t_ns=(SELECT j.t_ns FROM instant j "
				"CROSS JOIN %s q WHERE j.device=d.id AND j.t_ns<i.t_ns"
				" AND q.t_ns=j.t_ns AND q.entity=r.entity AND ",
				schema_table[table]);
			add_column(out, m, table, 'q');
			str_add(out, " IS NOT NULL ORDER BY j.t_ns DESC LIMIT 1))");
		}
	}
	str_add(out, ");");
}

#define NEWEST_PORT                                                                                \
	" FROM port_attr a WHERE a.t_ns=(SELECT max(t_ns) FROM port_attr WHERE device=a.device "   \
	"AND port=a.port)"

static const char
	other_views
		[] = "CREATE VIEW ports AS SELECT a.device AS device, a.port AS port, "
		     "NULLIF(a.alias,'') AS alias, NULLIF(a.peer_device,'') AS peer_device,"
		     " NULLIF(a.peer_port,'') AS peer_port, NULLIF(a.speed_bps,0) AS "
		     "speed_bps, " TIME(
			     "a.t_ns") " AS since, a.t_ns AS since_ns" NEWEST_PORT ";"
				       "CREATE VIEW links AS SELECT a.device AS device, a.port AS "
				       "port, a.peer_device AS peer_device, NULLIF(a.peer_port,'') "
				       "AS peer_port,"
				       " NULLIF(a.speed_bps,0) AS speed_bps, " TIME("a.t_ns") " AS "
											      "sinc"
											      "e, "
											      "a.t_"
											      "ns "
											      "AS "
											      "sinc"
											      "e_"
											      "n"
											      "s" NEWEST_PORT
											      " AND"
											      " a."
											      "peer"
											      "_dev"
											      "ice<"
											      ">'';"
											      "CREA"
											      "TE "
											      "VIEW"
											      " dev"
											      "ices"
											      " AS "
											      "WITH"
											      " d("
											      "devi"
											      "ce) "
											      "AS "
											      "(SEL"
											      "ECT "
											      "devi"
											      "ce "
											      "FROM"
											      " dev"
											      "ice_"
											      "attr"
											      " UNI"
											      "ON "
											      "SELE"
											      "CT "
											      "devi"
											      "ce "
											      "FROM"
											      " tar"
											      "get)"
											      " SEL"
											      "ECT "
											      "d."
											      "devi"
											      "ce "
											      "AS "
											      "devi"
											      "ce, "
											      "NULL"
											      "IF("
											      "a."
											      "role"
											      ",'')"
											      " AS "
											      "role"
											      ", "
											      "NULL"
											      "IF("
											      "a."
											      "prof"
											      "ile,"
											      "'') "
											      "AS "
											      "prof"
											      "ile,"
											      " NUL"
											      "LIF("
											      "a."
											      "sysn"
											      "ame,"
											      "'') "
											      "AS "
											      "sysn"
											      "ame,"
											      " NUL"
											      "LIF("
											      "a."
											      "desc"
											      "r,''"
											      ") "
											      "AS "
											      "desc"
											      "r, "
											      "t."
											      "prot"
											      "ocol"
											      " AS "
											      "prot"
											      "ocol"
											      ", "
											      "t."
											      "addr"
											      "ess "
											      "AS "
											      "addr"
											      "ess,"
											      " t."
											      "stat"
											      "e "
											      "AS "
											      "stat"
											      "e, "
											      "t."
											      "up "
											      "AS "
											      "up, "
											      "NULL"
											      "IF("
											      "t."
											      "reas"
											      "on,'"
											      "') "
											      "AS "
											      "reas"
											      "on,"
											      " " TIME_OR_NULL(
												      "t.since_ns") " AS since, " TIME_OR_NULL("t.last_success_ns") " AS last_success, " TIME_OR_NULL("t.updated_ns") " AS updated,"
																										      " t.poll_p50_s AS poll_p50_s, t.poll_p95_s AS poll_p95_s, t.polls AS polls, t.timeouts AS timeouts, t.errors AS errors, t.value_count AS value_count"
																										      " FROM d LEFT JOIN device_attr a ON a.device=d.device AND a.t_ns=(SELECT max(t_ns) FROM device_attr WHERE device=d.device)"
																										      " LEFT JOIN target t ON t.device=d.device;"
																										      "CREATE VIEW incidents AS SELECT id, cause, severity, state, " TIME_OR_NULL("opened_ns") " AS opened, " TIME_OR_NULL("closed_ns") " AS closed,"
																																											" device, port, NULLIF(priority,-1) AS priority, ecmp_group, host, summary, usd_per_hour, usd_total, confidence AS confidence_ratio, acked_by,"
																																											" NULLIF(opened_ns,0) AS opened_ns, NULLIF(closed_ns,0) AS closed_ns, updated_ns, json FROM incident;"
																																											"CREATE VIEW findings AS SELECT " TIME(
																																												"to_ns") " AS time, from_ns, to_ns, analyzer, cause, verdict, severity, device, port,"
																																													 " NULLIF(priority,-1) AS priority, ecmp_group, host, value, warn, confidence AS confidence_ratio, summary FROM finding;"
																																													 "CREATE VIEW recommendations AS SELECT id, " TIME(
																																														 "t_ns") " AS time, t_ns, incident_id, device, port, NULLIF(priority,-1) AS priority, state,"
																																															 " advice, summary, json, diagnosis, who, " TIME_OR_NULL(
																																																 "updated_ns") " AS updated, updated_ns, from_ns AS evidence_from_ns, to_ns AS evidence_to_ns"
																																																	       " FROM recommendation;"
																																																	       "CREATE VIEW config_history AS SELECT " TIME(
																																																		       "t_ns") " AS time, t_ns, yaml FROM fabric_history;"
																																																			       "CREATE VIEW flows AS SELECT " TIME(
																																																				       "f.from_ns") " AS time, f.from_ns AS from_ns, f.to_ns AS to_ns, e.device AS device, NULLIF(e.port,'') AS port,"
																																																						    " CASE f.dir WHEN 1 THEN 'in' WHEN 2 THEN 'out' END AS direction, f.total AS total, f.src AS src, f.dst AS dst, f.src_port AS src_port,"
																																																						    " f.dst_qp AS dst_qp, f.packets AS packets, f.octets AS octets, f.ce AS ce, f.ect AS ect, f.cnp AS cnp, f.nak AS nak, f.retransmits AS retransmits,"
																																																						    " f.psn_gaps AS psn_gaps, NULLIF(f.burst_bps,0) AS burst_bps, f.flows AS flows, f.sum_sq_octets AS sum_sq_octets, f.sampling AS sampling"
																																																						    " FROM flow f JOIN entity e ON e.id=f.entity;"
																																																						    "CREATE VIEW events AS SELECT " TIME(
																																																							    "t_ns") " AS time, t_ns, kind, incident_id, who, text, device, port FROM event;";

/* All sets of flags, as text. A table rather than a view: looked up once per shown value. */
static void add_flag_names(struct str *out)
{
	char text[SAMPLE_FLAGS_TEXT_MAX];

	str_add(out,
		"DROP TABLE IF EXISTS flag_names; CREATE TABLE flag_names(flags INTEGER PRIMARY "
		"KEY, text TEXT NOT NULL); INSERT INTO flag_names VALUES ");
	for (unsigned f = 0; f < SF_DECLARED << 1; f++)
		str_addf(out, "%s(%u,'%s')", str_if(f, ","), f, sample_flags_text(text, f));
	str_add(out, ";");
}

void schema_views(struct str *out)
{
	add_flag_names(out);
	add_samples(out);
	add_rates(out);
	str_add(out, other_views);
}
