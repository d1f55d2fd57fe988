/* manual_list - every row with its examples as JSON: what the tests of help and examples read. */
#include <stdlib.h>

#include <jansson.h>

#include "agent/base/cleanup.h"
#include "agent/command/cli_help.h"
#include "agent/manual/manual.h"

static json_t *list_examples(const struct example *examples)
{
	json_t *list = json_array();
	for (size_t i = 0; i < 2 && examples[i].line; i++)
		json_array_append_new(list,
			json_pack("{s:s, s:s, s:i, s:s?}", "line", examples[i].line, "does",
				examples[i].does, "exit", examples[i].exit, "not_run",
				examples[i].not_run));
	return list;
}

static void list_row(json_t *list, const struct command *command, const struct subcommand *sub)
{
	json_t *options = json_array(), *globals = json_array();
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (command_shows_option(command, sub, o))
			json_array_append_new(options, json_string(o->name));
	for (size_t i = 0; i < n_global_options; i++)
		if (global_is_for(&global_options[i], command, sub))
			json_array_append_new(globals, json_string(global_options[i].o.name));
	rw_cleanup(freep) char *page = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&page, &size);
	if (sub->name)
		help_of_sub(file, command, sub);
	else
		help_of_command(file, command);
	fclose(file);
	json_array_append_new(list,
		json_pack("{s:s, s:s, s:s?, s:s?, s:s, s:s?, s:s?, s:o, s:o, s:i, s:o}", "page",
			page, "command", command->name, "subcommand", sub->name, "arguments",
			sub->args, "summary", sub->summary, "help", sub->help, "other_format",
			sub->other_format, "options", options, "global_options", globals, "formats",
			(int)sub->formats, "examples", list_examples(sub->examples)));
}

void manual_list(struct str *out)
{
	json_t *list = json_array();
	for (size_t i = 0; commands[i]; i++) {
		struct subcommand sub;
		if (commands[i]->hidden)
			continue;
		command_self(commands[i], &sub);
		if (commands[i]->run)
			list_row(list, commands[i], &sub);
		for (size_t k = 0; command_sub(commands[i], k, &sub); k++)
			list_row(list, commands[i], &sub);
	}
	rw_cleanup(freep) char *text = json_dumps(list, JSON_INDENT(1));
	str_addf(out, "%s\n", text);
	json_decref(list);
}
