/* send_command - starts a program of the site for each message: the JSON of the incident on its
 * standard input, the most needed words in its environment. */
#include "agent/alert/sender.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

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

const struct sender sender_command = {
	.name = "command",
	.kind = RECEIVER_COMMAND,
	.batch = 1,
	.send = command_send,
};
