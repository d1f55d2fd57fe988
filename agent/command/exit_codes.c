/* exit_codes - the table. */
#include "agent/command/exit_codes.h"

#include <stddef.h>

#include "agent/base/str.h"

const struct exit_code exit_codes[] = {
	{EXIT_ANY, 0, "Done. A list without a row is 0 as well."},
	{EXIT_ANY, 1,
		"Failed at run time: what was asked for does not exist, the database cannot be "
		"read, a device does not answer, the output cannot be written."},
	{EXIT_ANY, 2, "Wrong usage, or a configuration with mistakes."},

	{EXIT_CHECKS, 0, "OK. Idle is OK."},
	{EXIT_CHECKS, 1, "WARNING: beyond --warn, or a problem of this weight."},
	{EXIT_CHECKS, 2, "CRITICAL: beyond --crit, or a problem of this weight."},
	{EXIT_CHECKS, 3,
		"UNKNOWN: data is missing or too old, the configuration or the database cannot be "
		"used, or the usage is wrong. Never 0."},

	{"agent", 0, "Stopped as asked: SIGTERM, SIGINT, or --for is over."},
	{"agent", 1,
		"Could not start or go on: another agent writes the database, a socket is taken."},
	{"web", 0, "Stopped as asked."},
	{"web", 1, "Could not start: the address is taken, a certificate cannot be read."},
	{"doctor", 0, "The collection is in order."},
	{"doctor", 1,
		"Something is to be done; the list says what. Also: it could not be found out."},
	{"alert test", 1, "The receiver did not take the message."},
	{"config check", 0, "The configuration is right; warnings do not count."},
	{"config check", 2, "The configuration has mistakes, or cannot be read."},
	{"db stat", 1, "The file is damaged, or is no database."},
	{"db vacuum", 1, "Another process writes the database; stop the agent first."},
	{"incident burst", 1, "No single values are kept of this incident."},
	{"pcap", 1,
		"A file is truncated, damaged or no capture. The others are reported all the "
		"same."},
	{"profile test", 1, "The device does not answer."},
	{"topology check", 0, "The audit found nothing."},
	{"topology check", 1, "The audit found something; the rows say what."},
	{"topology discover", 1, "No device answered. Where some did, it is 0."},
	{NULL, 0, NULL},
};

const struct exit_code *exit_code_of(const char *command, int code)
{
	for (const struct exit_code *row = exit_codes; row->command; row++)
		if (str_eq(row->command, command) && row->code == code)
			return row;
	return NULL;
}
