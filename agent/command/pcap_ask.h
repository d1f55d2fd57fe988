/* pcap_ask - the options of "rocewatch pcap". */
#ifndef RW_COMMAND_PCAP_ASK_H
#define RW_COMMAND_PCAP_ASK_H

#include "agent/capture/pcap_report.h"
#include "agent/command/command.h"
#include "collectors/packet/capture_files.h"

/* pcap_ask_read - all options but the times. -EINVAL with @e. */
int pcap_ask_read(struct pcap_ask *ask, const struct command *command,
	const struct command_args *args, struct err *e);

/* pcap_ask_timed - was a time given? */
bool pcap_ask_timed(const struct globals *globals);
/*
 * pcap_ask_times - --since, --until, --around and --span into the selection of @ask: RFC 3339 as
 * everywhere; "5m" is that long before the newest packet, "+5m" that long after the first one.
 * -EINVAL with @e.
 */
int pcap_ask_times(struct pcap_ask *ask, const struct globals *globals,
	const struct capture_files *files, struct err *e);

#endif
