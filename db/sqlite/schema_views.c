/*
 * schema_views - the SQL of the documented views (docs/database.md). For people, Grafana and "query
 * sql". samples and rates stand on the table that samples_table.c makes of the blocks: a connection
 * without it (a plain sqlite3 shell that did not load the extension) can read all other views.
 */
#include "db/sqlite/read/samples_table.h"
#include "db/sqlite/schema/schema.h"

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

/* ---- samples ------------------------------------------------------------- */

static const char *const sample_views[] = {
	"CREATE VIEW samples AS SELECT time, t_ns, device, port, priority, metric, value, unit, "
	"kind, "
	"flags, source, window_s FROM " SAMPLES_TABLE,

	"CREATE VIEW rates AS SELECT time, t_ns, device, port, priority, metric, unit||'/s' AS "
	"unit, "
	"rate, interval_s, flags FROM " SAMPLES_TABLE
	" WHERE kind='counter' AND interval_s IS NOT NULL",
};

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
	"f.capture_lost AS capture_lost, f.spray_octets AS spray_octets, "
	"ifnull(f.lost_before,0) AS lost_before, ifnull(f.lost_beyond,0) AS lost_beyond, "
	"ifnull(f.lost_read,0) AS lost_read, ifnull(f.lost_timer,0) AS lost_timer, "
	"ifnull(f.lost_ack,0) AS lost_ack, ifnull(f.lost_rnr,0) AS lost_rnr, "
	"ifnull(f.missing,0) AS missing, "
	"CASE f.reacts WHEN 1 THEN 'slows' WHEN 2 THEN 'does_not_slow' END AS reacts "
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

void schema_views(struct str *out)
{
	for (size_t i = 0; i < rw_countof(sample_views); i++) {
		str_add(out, sample_views[i]);
		str_add(out, ";");
	}
	for (size_t i = 0; i < rw_countof(other_views); i++) {
		add_sql(out, other_views[i]);
		str_add(out, ";");
	}
}
