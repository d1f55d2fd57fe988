/* list_commands - each row of the command table that writes JSON, one a line: its words, a tab, and
 * "json" or "json jsonl". */
#include <stdio.h>

#include "agent/command/command.h"

static void row_print(const struct command *command, const struct subcommand *row)
{
	if (!(row->formats & 1 << FORMAT_JSON) || !(row->run || row->act))
		return;
	printf("%s", command->name);
	if (row->name)
		printf(" %s", row->name);
	printf("\tjson");
	if (row->formats & 1 << FORMAT_JSONL)
		printf(" jsonl");
	putchar('\n');
}

int main(void)
{
	for (const struct command *const *c = commands; *c; c++) {
		struct subcommand row;
		if ((*c)->hidden)
			continue;
		command_self(*c, &row);
		if ((*c)->run)
			row_print(*c, &row);
		for (size_t i = 0; command_sub(*c, i, &row); i++)
			row_print(*c, &row);
	}
	return 0;
}
