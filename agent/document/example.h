/*
 * example - one line of a shell that shows how a command is used. Rows of commands, reports and
 * checks have two; help and manual pages print them, and a test runs them on a recorded case.
 */
#pragma once

struct example {
	const char *line; /* as in sh(1), without "rocewatch ": "incident show 72drcj3l" */
	const char *does; /* one line, a verb first: "prints the card of one incident" */
	int exit; /* the exit code that it has on the recorded case of the test */
	/* why a test reads the line only and does not run it, such as "asks a switch"; NULL: runs
	 */
	const char *not_run;
};
