/* manual_program - rocewatch(1), and what the agent's page has beside its options. */
#include "agent/base/cleanup.h"
#include "agent/command/cli_help.h"
#include "agent/manual/manual.h"
#include "agent/manual/manual_page.h"

static void program_commands(struct str *out)
{
	roff_heading(out, "COMMANDS");
	for (size_t i = 0; commands[i]; i++) {
		rw_cleanup(str_done) struct str term = {0};
		if (commands[i]->hidden)
			continue;
		str_addf(&term, "rocewatch-%s(%d)", commands[i]->name, manual_section(commands[i]));
		roff_item(out, term.s, commands[i]->summary);
	}
}

static void program_options(struct str *out)
{
	roff_heading(out, "GLOBAL OPTIONS");
	roff_text(out,
		"They may stand before or after the command. One that means nothing to a command "
		"is refused.");
	for (size_t i = 0; i < n_global_options; i++) {
		const struct command_option *o = &global_options[i].o;
		rw_cleanup(str_done) struct str term = {0};
		if (o->letter)
			str_addf(&term, "-%c, ", o->letter);
		str_addf(&term, "--%s%s%s", o->name, str_if(o->arg, " "), str_or(o->arg, ""));
		roff_item(out, term.s, o->doc);
	}
}

void manual_program(struct str *out)
{
	static const char *const see[] = {"rocewatch-agent(8)", "rocewatch.yaml(5)",
		"rocewatch-db(5)", "rocewatch-causes(7)", "rocewatch-metrics(7)", NULL};
	roff_begin(out, "rocewatch", 1,
		"watches RoCEv2 fabrics: names the link, host and flows that make training wait");
	roff_heading(out, "SYNOPSIS");
	str_add(out, ".B rocewatch\n[options]\n.I command\n[arguments]\n");
	roff_heading(out, "DESCRIPTION");
	roff_text(out,
		"rocewatch reads counters of switches (SNMP, gNMI, pushed telemetry), packets and "
		"sFlow, finds what makes RoCEv2 traffic wait or get lost, and says which link, "
		"host and flows it is, what it costs and what to do. It changes nothing on a "
		"switch.\n\nThe agent collects and judges; every other command reads its database. "
		"'rocewatch lab' simulates a fabric to try everything without switches.");
	program_commands(out);
	program_options(out);
	for (const struct help_topic *t = help_topics; t->name; t++) {
		rw_cleanup(str_done) struct str title = {0};
		for (const char *p = t->name; *p; p++)
			str_addf(&title, "%c", *p == '-' ? ' ' : *p & ~0x20);
		roff_heading(out, title.s);
		roff_literal(out, t->text);
	}
	roff_see(out, see);
}

void manual_agent_sections(struct str *out)
{
	static const struct {
		const char *term, *text;
	} signals[] = {{"SIGHUP",
			       "Read the configuration again. A file with mistakes is refused as a "
			       "whole and the configuration in force stays; the log, an event and "
			       "'rocewatch status' say so."},
		{"SIGTERM, SIGINT",
			"Stop in order: sources, windows that have ended, the database, the "
			"socket."}};
	static const struct {
		const char *term, *text;
	} files[] = {{"/etc/rocewatch/rocewatch.yaml", "The configuration; rocewatch.yaml(5)."},
		{"/var/lib/rocewatch/rocewatch.db",
			"The database (store.path), with FILE-wal, FILE-shm, FILE.lock and "
			"FILE.state beside it; rocewatch-db(5)."},
		{"/lib/systemd/system/rocewatch.service",
			"The service: Type=notify with a watchdog; reload sends SIGHUP."},
		{"/usr/share/rocewatch/system",
			"Drop-ins for what a site may need more: capture.conf, netns.conf, "
			"addresses.conf, secrets.conf. Each says at its top where it goes."}};
	roff_heading(out, "SIGNALS");
	for (size_t i = 0; i < rw_countof(signals); i++)
		roff_item(out, signals[i].term, signals[i].text);
	roff_heading(out, "FILES");
	for (size_t i = 0; i < rw_countof(files); i++)
		roff_item(out, files[i].term, files[i].text);
	roff_heading(out, "SERVICE");
	roff_text(out,
		"The Debian package makes the user rocewatch and its directories. Write the "
		"configuration, then:");
	roff_literal(out,
		"rocewatch config check\n"
		"systemctl enable --now rocewatch\n"
		"rocewatch doctor\n");
	roff_text(out,
		"Exit 2 (wrong configuration) is not restarted; other failures are, after 2 s.");
}
