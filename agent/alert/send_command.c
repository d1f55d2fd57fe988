/* send_command - starts a program of the site for each message: the JSON of the incident on its
 * standard input, the most needed words in its environment. */
#include "agent/alert/sender.h"
#include "config/receiver_rows.h"

static int command_send(const struct sender_ask *ask, struct err *e)
{
	const struct alert_message *m = ask->messages[0];
	const struct {
		const char *name, *value;
	} words[] = {
		{"EVENT", alert_event_name(m->event)},
		{"INCIDENT", m->id},
		{"DELIVERY", m->delivery},
		{"STATE", alert_message_word(m)},
		{"SEVERITY", severity_name(m->severity)},
		{"CAUSE", m->cause},
		{"FABRIC", m->fabric},
		{"DEVICE", m->device},
		{"PORT", m->port},
		{"HOST", m->host},
		{"HEADLINE", m->headline},
		{"URL", m->url},
		{"RUNBOOK", m->runbook},
	};
	struct str texts[rw_countof(words)] = {0};
	const char *env[rw_countof(words)];
	for (size_t i = 0; i < rw_countof(words); i++) {
		str_addf(&texts[i], "ROCEWATCH_%s=%s", words[i].name, str_or(words[i].value, ""));
		env[i] = texts[i].s;
	}
	const int rc = sender_run(ask, &ask->to->run, m->document, env, rw_countof(words), e);
	for (size_t i = 0; i < rw_countof(words); i++)
		str_done(&texts[i]);
	return rc;
}

/* ---- its section of the configuration ---- */

static const struct field command_rows[] = {
	LIST(config_receiver, run.v, run.n, "run", NULL, schema_check_text,
		"The program with its whole path, and its arguments. No shell is involved. The "
		"incident comes as JSON on its standard input.",
		.flags = FIELD_REQUIRED),
	RECEIVER_ROWS,
};
TABLE(command_section, config_receiver, command_rows, "A program that is started for each alert.");

static void command_complete(struct build *build, struct config_receiver *receiver)
{
	config_check_program(build, receiver->node, "run", &receiver->run);
}

const struct sender sender_command = {
	.options = {.section = "alerts",
		.name = "command",
		.receiver = &command_section,
		.complete = command_complete},
	.batch = 1,
	.send = command_send,
};
