/* manual - what rocewatch-manual makes of the tables of the program. */
#pragma once

#include "agent/command/command.h"
#include "base/base.h"

/* Pages, each added to @out. */
void manual_program(struct str *out); /* rocewatch(1) */
void manual_command(struct str *out, const struct command *command); /* rocewatch-NAME */
void manual_configuration(struct str *out); /* rocewatch.yaml(5) */
/* rocewatch-db(5), with the table of views of docs/database.md, whose text is @database. */
void manual_database(struct str *out, const char *database);
void manual_causes(struct str *out); /* rocewatch-causes(7) */
void manual_metrics(struct str *out); /* rocewatch-metrics(7) */

/* manual_section - of the page of a command: 8 of a service, else 1. */
int manual_section(const struct command *command);
