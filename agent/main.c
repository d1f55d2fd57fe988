/* main - the commands are rows (command.h), the command line is read in cli.c. */
#include "agent/command/command.h"

int main(int argc, char **argv)
{
	return cli_run(argc, argv, commands);
}
