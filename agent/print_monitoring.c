/*
 * print_monitoring - what Nagios and Icinga 2 need to call every check of the program, printed from
 * the table of checks at each build: print_monitoring nagios|icinga PROGRAM.
 *
 * Source of the forms: Nagios Core's object definitions; Icinga 2's object types (CheckCommand) and
 * apply rules.
 */

#include "agent/check/check.h"

/* Both read the database and the configuration, which belong to the group. */
static const char both[] =
	"# Who runs these checks reads the history and the configuration of rocewatch:\n"
	"#     usermod -aG rocewatch nagios     (with Icinga 2: nagios too, on Debian)\n"
	"# Exit codes are 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN: missing data is never OK. What "
	"a\n"
	"# check compares, and its limits when none are given: rocewatch help check NAME\n\n";

static bool takes(const struct check *check, const char *option)
{
	const size_t n = strlen(option);
	const char *at = check->options;
	while (at && *at) {
		if (strncmp(at, option, n) == 0 && (at[n] == ' ' || at[n] == '\0'))
			return true;
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return false;
}

static void nagios(const char *program)
{
	printf("# Nagios: a command and a service template for each check of rocewatch. Options "
	       "go behind '!':\n#\n"
	       "# define service {\n#\tuse\t\trocewatch-pfc,generic-service\n"
	       "#\thost_name\tnoc1\n"
	       "#\tcheck_command\tcheck_rocewatch_pfc!--device 'leaf*' --warn 1%% --crit 5%%\n"
	       "# }\n#\n%s",
		both);
	for (size_t i = 0; checks[i]; i++)
		printf("# %s\ndefine command "
		       "{\n\tcommand_name\tcheck_rocewatch_%s\n\tcommand_line\t%s "
		       "check %s $ARG1$\n}\n"
		       "define service {\n\tname\t\trocewatch-%s\n\tregister\t0\n"
		       "\tservice_description\trocewatch %s\n"
		       "\tcheck_command\tcheck_rocewatch_%s\n}\n\n",
			checks[i]->summary, checks[i]->name, program, checks[i]->name,
			checks[i]->name, checks[i]->name, checks[i]->name);
}

static void print_icinga(const struct check *check, const char *program)
{
	static const char *const options[] = {
		"warn", "crit", "device", "port", "group", "priority", "job"};
	printf("// %s\nobject CheckCommand \"rocewatch_%s\" {\n"
	       "\tcommand = [ \"%s\", \"check\", \"%s\" ]\n"
	       "\targuments = {\n\t\t\"--config\" = \"$rocewatch_config$\"\n",
		check->summary, check->name, program, check->name);
	for (size_t i = 0; i < rw_countof(options); i++)
		if (takes(check, options[i]))
			printf("\t\t\"--%s\" = \"$rocewatch_%s$\"\n", options[i], options[i]);
	printf("\t}\n}\n\n");
}

static void icinga(const char *program)
{
	printf("# Icinga 2: a CheckCommand for each check of rocewatch, and a service for each "
	       "that a host asks for:\n#\n"
	       "# object Host \"noc1\" {\n#\t...\n"
	       "#\tvars.rocewatch[\"fabric\"] = { }\n"
	       "#\tvars.rocewatch[\"pfc\"] = { rocewatch_device = \"leaf*\", rocewatch_warn = "
	       "\"1%%\", rocewatch_crit = \"5%%\" }\n"
	       "# }\n#\n%s",
		both);
	printf("apply Service \"rocewatch-\" for (name => settings in host.vars.rocewatch) {\n"
	       "\tcheck_command = \"rocewatch_\" + name\n\tcheck_interval = 1m\n"
	       "\tretry_interval = 30s\n\tvars += settings\n}\n\n");
	for (size_t i = 0; checks[i]; i++)
		print_icinga(checks[i], program);
}

int main(int argc, char **argv)
{
	if (argc == 3 && str_eq(argv[1], "nagios"))
		nagios(argv[2]);
	else if (argc == 3 && str_eq(argv[1], "icinga"))
		icinga(argv[2]);
	else {
		fprintf(stderr, "usage: print_monitoring nagios|icinga PROGRAM\n");
		return 2;
	}
	return fflush(stdout) == 0 ? 0 : 1;
}
