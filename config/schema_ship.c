/* schema_ship - the keys of 'store.ship': where what is stored goes as well. Part of schema.c's
 * tables. */
#include "config/schema_rows.h"

static const struct field ship_tls_rows[] = {
	TEXT(tree_alert_tls, ca, "ca",
		"File with the certificates of the authorities to trust; the system's when not "
		"given.",
		.check = schema_check_text),
	TEXT(tree_alert_tls, cert, "cert",
		"File with our own certificate, for servers that ask for one.",
		.check = schema_check_text),
	TEXT(tree_alert_tls, key, "key", "File with the private key of cert.",
		.check = schema_check_text),
	VALUE(tree_alert_tls, skip_verify, "skip_verify", OPT_BOOL, "false", NULL, NULL,
		"Do not check the server's certificate: anyone in between can pose as it."),
};
TABLE(ship_tls_section, tree_alert_tls, ship_tls_rows, "Encryption towards the server.");

#define SINK_ROWS                                                                                  \
	TEXT(tree_sink, name, "name", "Name in lists and messages; the kind when not given.",      \
		.check = schema_check_name),                                                       \
		TEXT(tree_sink, username, "username", "User name (basic authentication).",         \
			.check = schema_check_text),                                               \
		SECRET(tree_sink, password, "password", "Password of that user"),                  \
		NEVER_INLINE("password"), SECTION(tree_sink, tls, "tls", ship_tls_section),        \
		VALUE(tree_sink, interval_ns, "interval", OPT_DURATION, "1s", "100ms", "10m",      \
			"Time between two requests while little comes."),                          \
		VALUE(tree_sink, batch, "batch", OPT_INT, "200000", "1000", "1000000",             \
			"Samples in one request, about."),                                         \
		VALUE(tree_sink, retry_ns, "retry", OPT_DURATION, "1m", "1s", "1h",                \
			"Longest time between two attempts at a server that does not answer; the " \
			"first ones follow after 1, 2, 4, ... s."),                                \
		VALUE(tree_sink, timeout_ns, "timeout", OPT_DURATION, "60s", "1s", "10m",          \
			"How long one request may take.")

static const struct field ship_clickhouse_rows[] = {
	TEXT(tree_sink, url, "url", "The server, such as http://HOST:8123.",
		.flags = FIELD_REQUIRED, .check = schema_check_url),
	VALUE(tree_sink, database, "database", OPT_STRING, "rocewatch", NULL, NULL,
		"Database; it and its tables are made when they are not there.",
		.check = schema_check_name),
	SINK_ROWS,
};
TABLE(ship_clickhouse_section, tree_sink, ship_clickhouse_rows,
	"A ClickHouse server, or one of a cluster.");

static const struct field ship_remote_rows[] = {
	TEXT(tree_sink, url, "url",
		"Where samples are posted, such as http://HOST:9090/api/v1/write.",
		.flags = FIELD_REQUIRED, .check = schema_check_url),
	SINK_ROWS,
};
TABLE(ship_remote_section, tree_sink, ship_remote_rows,
	"What takes Prometheus' remote write. It gets the samples; records have no place there.");

static const struct field ship_rows[] = {
	TEXT(tree_ship, agent, "agent",
		"Whose data they are; the agent's name, or the machine's, when not given. Two "
		"agents need two names.",
		.check = schema_check_name),
	VALUE(tree_ship, spool_bytes, "spool", OPT_SIZE, "4GB", "1MB", "100TB",
		"What may wait in the store's file for a server that does not answer; beyond, the "
		"oldest is not sent any more (and stays in the file's own history)."),
	SECTIONS(FIELD_ONE_OR_MORE, tree_ship, sinks[SINK_CLICKHOUSE], "clickhouse",
		ship_clickhouse_section),
	SECTIONS(FIELD_ONE_OR_MORE, tree_ship, sinks[SINK_REMOTE_WRITE], "remote_write",
		ship_remote_section),
};
const struct section ship_section = {
	.size = sizeof(struct tree_ship),
	.fields = ship_rows,
	.n_fields = rw_countof(ship_rows),
	.doc = "Where everything that is stored goes as well.",
};
