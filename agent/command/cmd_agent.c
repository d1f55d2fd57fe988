/* cmd_agent - "rocewatch agent": collectors, store and analyzers in the foreground. */
#include <sys/socket.h>
#include <unistd.h>

#include "agent/command/command.h"
#include "agent/daemon/agent.h"
#include "agent/daemon/reload.h"
#include "agent/jail/parser_child.h"

/* ---- cmd_parser - "rocewatch parser": reads packets for the agent that started it. */

static int cmd_parser_run(struct command_args *args)
{
	int type = 0;
	socklen_t n = sizeof(type);
	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &n) < 0 ||
		type != SOCK_SEQPACKET) {
		fprintf(stderr,
			"this command is for the agent, which starts it for each capture\n");
		return EXIT_USAGE;
	}
	return parser_child_run(STDIN_FILENO);
}

const struct command command_parser = {
	.name = "parser",
	.summary = "reads the packets of one capture for the agent that starts it",
	.hidden = true,
	.usage_exit = EXIT_USAGE,
	.run = cmd_parser_run,
};

static const struct command_option options[] = {
	{"for", 0, "DURATION",
		"stop by itself after this long, such as 10m (default: run until SIGTERM)"},
	{"name", 0, "NAME",
		"which of the agents of 'agents:' this is: it asks the devices that are listed "
		"there for it"},
	{"judge", 0, NULL,
		"ask no device; judge what the agents of 'agents:' collect, read from "
		"'judge.from'"},
	{"no-sandbox", 0, NULL,
		"leave system calls, files and memory open, for a debugger: the agent is then only "
		"as "
		"safe as its user"},
	{0},
};

extern const struct command command_agent;

static int cmd_agent_run(struct command_args *args)
{
	struct agent_options o = {.config_path = args->g->config_path, .db = args->g->db};
	o.sandbox = !command_opt(&command_agent, args, "no-sandbox");
	o.name = command_opt(&command_agent, args, "name");
	o.judge = command_opt(&command_agent, args, "judge");
	const char *for_text = command_opt(&command_agent, args, "for");
	struct err_list errors = {0};
	struct config *config = NULL;
	struct err e = {0};
	if (for_text && (unit_duration(for_text, &o.for_ns, &e) != 0 || o.for_ns <= 0))
		return usage_error(&command_agent, "--for: %s",
			*e.text ? e.text : "expected a duration above zero, such as 10m");

	if (o.name && o.judge)
		return usage_error(&command_agent,
			"--name and --judge are two processes: an agent asks devices, the judge "
			"reads what they collect");
	if (agent_config(&o, &config, &errors) != 0) {
		for (size_t k = 0; k < errors.n; k++)
			err_print(stderr, &errors.v[k]);
		err_list_done(&errors);
		return EXIT_USAGE;
	}
	err_list_done(&errors);
	if (agent_run(&o, config, &e) != 0) {
		fprintf(stderr, "rocewatch agent: ");
		err_print(stderr, &e);
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

const struct command command_agent = {
	.name = "agent",
	.summary = "collect, store and analyze; runs in the foreground",
	.help = "SIGHUP reads the configuration again: it is checked first, and only the "
		"differences are applied; a file with mistakes is refused as a whole.\n"
		"SIGTERM and SIGINT stop in order. Reports readiness and liveness to systemd "
		"(NOTIFY_SOCKET, WATCHDOG_USEC).\n"
		"Exit: 0 stopped as asked, 1 could not start (another agent writes the database, "
		"...), 2 bad usage or configuration.",
	.options = options,
	.takes = TAKES_DB,
	.examples = {{"agent -c /etc/rocewatch/rocewatch.yaml",
			     "runs until it is stopped, as systemd does it",
			     .not_run = "asks switches, runs until stopped"},
		{"agent -c lab/rocewatch.yaml --for 10m",
			"watches a simulated fabric for ten minutes",
			.not_run = "needs a running lab"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_agent_run,
};
