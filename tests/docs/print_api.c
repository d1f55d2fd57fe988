/* print_api - the table of documents in docs/api.md, from the rows that are served. */
#include <stdio.h>

#include "agent/answers/common/served.h"

static void print_row(void *arg, const struct served_document *row)
{
	const char *separator = "";
	printf("| `%s` | ", row->path);
	for (const struct served_param *param = row->params; param && param->name; param++) {
		printf("%s`%s`", separator, param->name);
		if (param->required)
			printf(" (required)");
		separator = ", ";
	}
	printf(" | %s |\n", row->summary);
}

int main(void)
{
	printf("| path below `/api/v1/` | parameters | what it is |\n|---|---|---|\n");
	served_each(print_row, NULL);
	printf("\n");
	return 0;
}
