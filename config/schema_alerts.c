/* schema_alerts - the keys of 'alerts:': one section per kind of receiver. */
#include "config/schema_rows.h"

#include <math.h>

/* in the order of enum severity (db/model/finding.h) */
static const char *const severities[] = {"info", "warning", "critical", NULL};

/* RFC 5424 section 6.2.1, in the order of its numbers */
static const char *const facilities[] = {"kern", "user", "mail", "daemon", "auth", "syslog", "lpr",
	"news", "uucp", "cron", "authpriv", "ftp", "ntp", "audit", "alert", "clock", "local0",
	"local1", "local2", "local3", "local4", "local5", "local6", "local7", NULL};

static const struct field alert_tls_rows[] = {
	TEXT(tree_alert_tls, ca, "ca",
		"File with the certificates of the authorities to trust; the system's when not "
		"given.",
		.check = schema_check_text),
	TEXT(tree_alert_tls, cert, "cert",
		"File with our own certificate, for receivers that ask for one.",
		.check = schema_check_text),
	TEXT(tree_alert_tls, key, "key", "File with the private key of cert.",
		.check = schema_check_text),
	VALUE(tree_alert_tls, skip_verify, "skip_verify", OPT_BOOL, "false", NULL, NULL,
		"Do not check the receiver's certificate: anyone in between can pose as it."),
};
TABLE(alert_tls_section, tree_alert_tls, alert_tls_rows, "Encryption towards the receiver.");

/* What every receiver has. */
#define RECEIVER_ROWS                                                                              \
	TEXT(tree_receiver, name, "name",                                                          \
		"Name of the receiver in lists and messages; the kind when not given.",            \
		.check = schema_check_name),                                                       \
		CHOICE(tree_receiver, min_severity, "min_severity", severities, NULL,              \
			"Incidents below it are not sent; alerts.min_severity when not given."),   \
		VALUE(tree_receiver, resend_ns, "resend", OPT_DURATION, NULL, "1s", "30d",         \
			"An open incident that nobody has acknowledged is sent again this often. " \
			"When not given: alerts.resend, and 1m for an Alertmanager, which "        \
			"forgets "                                                                 \
			"alerts that are not repeated."),                                          \
		VALUE(tree_receiver, retry_ns, "retry", OPT_DURATION, "1m", "1s", "1h",            \
			"Longest time between two attempts at a receiver that does not answer; "   \
			"the first ones follow after 1, 2, 4, ... s."),                            \
		VALUE(tree_receiver, timeout_ns, "timeout", OPT_DURATION, "10s", "100ms", "5m",    \
			"How long one attempt may take."),                                         \
		VALUE(tree_receiver, spool, "spool", OPT_INT, "1000", "10", "100000",              \
			"Alerts that may wait for a receiver that does not answer; the oldest "    \
			"are dropped beyond, and the log says so."),                               \
		LIST(tree_receiver, causes, "causes", schema_check_text,                           \
			"Only incidents of these causes, with * and ?; all when not given."),      \
		LIST(tree_receiver, devices, "devices", schema_check_text,                         \
			"Only incidents of these devices or hosts, with * and ?; all when not "    \
			"given."),                                                                 \
		LIST(tree_receiver, jobs, "jobs", schema_check_text,                               \
			"Only incidents that slow these jobs, with * and ?; all when not given.")

#define PASSWORD_ROWS                                                                              \
	TEXT(tree_receiver, username, "username", "User name (basic authentication).",             \
		.check = schema_check_text),                                                       \
		SECRET(tree_receiver, password, "password", "Password of that user"),              \
		NEVER_INLINE("password")
#define LOGIN_ROWS                                                                                 \
	PASSWORD_ROWS, SECRET(tree_receiver, token, "token", "Bearer token, instead of a user"),   \
		NEVER_INLINE("token"), SECTION(tree_receiver, tls, "tls", alert_tls_section)

static const struct field alertmanager_rows[] = {
	TEXT(tree_receiver, url, "url", "Where alerts are sent (/api/v2/alerts is added).",
		.flags = FIELD_REQUIRED, .check = schema_check_url),
	LOGIN_ROWS,
	RECEIVER_ROWS,
};
TABLE(alertmanager_section, tree_receiver, alertmanager_rows,
	"A Prometheus Alertmanager, or several that do not know each other. Of a cluster name one "
	"receiver per member.");

static const struct field webhook_rows[] = {
	TEXT(tree_receiver, url, "url", "Where each alert is posted as JSON.",
		.flags = FIELD_REQUIRED, .check = schema_check_url),
	SECRET(tree_receiver, secret, "secret",
		"Key of the HMAC-SHA256 signature in X-Rocewatch-Signature; not signed when not "
		"given"),
	NEVER_INLINE("secret"),
	LOGIN_ROWS,
	RECEIVER_ROWS,
};
TABLE(webhook_section, tree_receiver, webhook_rows, "A program of the site that takes JSON.");

static const struct field syslog_rows[] = {
	VALUE(tree_receiver, address, "address", OPT_STRING, "unix:/dev/log", NULL, NULL,
		"Where messages go: udp://HOST:514, tcp://HOST:601 (RFC 6587, octet counting) or "
		"unix:PATH.",
		.check = schema_check_syslog),
	CHOICE(tree_receiver, facility, "facility", facilities, "daemon", "Facility of RFC 5424."),
	RECEIVER_ROWS,
};
TABLE(syslog_section, tree_receiver, syslog_rows, "A syslog server (RFC 5424).");

static const struct field mail_rows[] = {
	LIST(tree_receiver, to, "to", schema_check_mail_address, "Who gets the mail.",
		.flags = FIELD_REQUIRED),
	TEXT(tree_receiver, from, "from", "Sender; rocewatch@HOSTNAME when not given.",
		.check = schema_check_mail_address),
	TEXT(tree_receiver, url, "server",
		"Mail server: smtp://HOST:PORT or smtps://HOST:PORT; the one of this machine, "
		"smtp://127.0.0.1:25, when not given.",
		.check = schema_check_smtp_url),
	LIST(tree_receiver, run, "command", schema_check_text,
		"Instead of a server: a program that takes the mail on its standard input, such "
		"as [/usr/sbin/sendmail, -t, -i]."),
	PASSWORD_ROWS,
	SECTION(tree_receiver, tls, "tls", alert_tls_section),
	RECEIVER_ROWS,
};
TABLE(mail_section, tree_receiver, mail_rows, "Mail. The messages of one incident are one thread.");

static const struct field command_rows[] = {
	LIST(tree_receiver, run, "run", schema_check_text,
		"The program with its whole path, and its arguments. No shell is involved. The "
		"incident comes as JSON on its standard input.",
		.flags = FIELD_REQUIRED),
	RECEIVER_ROWS,
};
TABLE(command_section, tree_receiver, command_rows, "A program that is started for each alert.");

#define RECEIVERS(kind, key, s) SECTIONS(FIELD_ONE_OR_MORE, tree_alerts, receivers[kind], key, s)
static const struct field alerts_rows[] = {
	CHOICE(tree_alerts, min_severity, "min_severity", severities, "warning",
		"Incidents below it are not sent, except to receivers that set their own "
		"min_severity."),
	VALUE(tree_alerts, resend_ns, "resend", OPT_DURATION, "4h", "1s", "30d",
		"An open incident that nobody has acknowledged is sent again this often."),
	TEXT(tree_alerts, web_url, "web_url",
		"Where people reach the web page, such as https://noc.example.org/rocewatch: "
		"alerts link to it.",
		.check = schema_check_url),
	TEXT(tree_alerts, runbook_url, "runbook_url",
		"Where the site keeps its own runbooks, such as https://wiki.example.org/{cause}: "
		"incidents and alerts link there. When not given: the runbooks of the web page "
		"at web_url, else the command that prints them.",
		.check = schema_check_runbook_url),
	RECEIVERS(RECEIVER_ALERTMANAGER, "alertmanager", alertmanager_section),
	RECEIVERS(RECEIVER_WEBHOOK, "webhook", webhook_section),
	RECEIVERS(RECEIVER_SYSLOG, "syslog", syslog_section),
	RECEIVERS(RECEIVER_MAIL, "mail", mail_section),
	RECEIVERS(RECEIVER_COMMAND, "command", command_section),
};
const struct section alerts_section = {
	.size = sizeof(struct tree_alerts),
	.fields = alerts_rows,
	.n_fields = rw_countof(alerts_rows),
	.doc = "Who is informed when an incident opens, grows worse or ends: one alert per root "
	       "cause.",
};
