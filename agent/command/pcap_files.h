/* pcap_files - "rocewatch pcap FILE...": files and directories, as one report or as one each. */
#ifndef RW_COMMAND_PCAP_FILES_H
#define RW_COMMAND_PCAP_FILES_H

#include "agent/capture/pcap_print.h"
#include "agent/command/command.h"

/*
 * pcap_files_run - reads what @args names and prints it. @ask gets the times of @args.
 * @per_file: a report for each file. Returns the exit code: EXIT_FAILED when not all could be read;
 * EXIT_USAGE for a time that cannot be meant.
 */
int pcap_files_run(const struct command *command, const struct command_args *args,
	struct pcap_ask *ask, bool per_file, struct pcap_printer *printer);

#endif
