/*
 * receiver_rows - what the sections of all kinds of receivers of alerts have in common, for the
 * modules that bring one (agent/alert/send_<word>.c): a table of rows as schema.h explains them, of
 * struct config_receiver, handed over as .receiver of an option table of the section "alerts".
 */
#pragma once

#include "config/schema.h"

extern const struct section receiver_tls_section;

/* What every receiver has. */
#define RECEIVER_ROWS                                                                              \
	TEXT(config_receiver, name, "name",                                                        \
		"Name of the receiver in lists and messages; the kind when not given.",            \
		.check = schema_check_name),                                                       \
		CHOICE(config_receiver, min_severity, "min_severity", schema_severities, NULL,     \
			"Incidents below it are not sent; alerts.min_severity when not given."),   \
		VALUE(config_receiver, resend_ns, "resend", OPT_DURATION, NULL, "1s", "30d",       \
			"An open incident that nobody has acknowledged is sent again this often. " \
			"When not given: alerts.resend, and 1m for an Alertmanager, which "        \
			"forgets "                                                                 \
			"alerts that are not repeated."),                                          \
		VALUE(config_receiver, retry_ns, "retry", OPT_DURATION, "1m", "1s", "1h",          \
			"Longest time between two attempts at a receiver that does not answer; "   \
			"the first ones follow after 1, 2, 4, ... s."),                            \
		VALUE(config_receiver, timeout_ns, "timeout", OPT_DURATION, "10s", "100ms", "5m",  \
			"How long one attempt may take."),                                         \
		VALUE(config_receiver, spool, "spool", OPT_INT, "1000", "10", "100000",            \
			"Alerts that may wait for a receiver that does not answer; the oldest "    \
			"are dropped beyond, and the log says so."),                               \
		LIST(config_receiver, causes.v, causes.n, "causes", NULL, schema_check_text,       \
			"Only incidents of these causes, with * and ?; all when not given."),      \
		LIST(config_receiver, devices.v, devices.n, "devices", NULL, schema_check_text,    \
			"Only incidents of these devices or hosts, with * and ?; all when not "    \
			"given."),                                                                 \
		LIST(config_receiver, jobs.v, jobs.n, "jobs", NULL, schema_check_text,             \
			"Only incidents that slow these jobs, with * and ?; all when not given.")

#define PASSWORD_ROWS                                                                              \
	TEXT(config_receiver, username, "username", "User name (basic authentication).",           \
		.check = schema_check_text),                                                       \
		SECRET(config_receiver, password, "password", "Password of that user"),            \
		NEVER_INLINE("password")
#define LOGIN_ROWS                                                                                 \
	PASSWORD_ROWS, SECRET(config_receiver, token, "token", "Bearer token, instead of a user"), \
		NEVER_INLINE("token"),                                                             \
		INSIDE(config_receiver, tls_node, "tls", receiver_tls_section)
