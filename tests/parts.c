/* parts - PROGRAM PART: runs that part, and ends as it ends. */
#include "tests/parts.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	for (const struct part *part = parts; argc == 2 && part->name; part++)
		if (strcmp(part->name, argv[1]) == 0)
			return part->run();
	fprintf(stderr, "usage: %s PART, one of:", argv[0]);
	for (const struct part *part = parts; part->name; part++)
		fprintf(stderr, " %s", part->name);
	fprintf(stderr, "\n");
	return 2;
}
