/*
 * parser_monitor - a collector that runs in a process of its own: captures and sFlow, which parse
 * what anybody can send. The agent sees an ordinary instance of a collector.
 *
 *      WAITING --start--> RUNNING --it lost its capture, or ended--> WAITING (the pause grows)
 *                            '--it must end--> KILLED --gone--> WAITING
 *
 * A parser that was ended by a signal, that did not answer for PARSER_SILENT_S, or that said what
 * it may not say, is started again after 1 s, 2 s, 4 s and so on up to PARSER_GAP_MAX_S; a run of a
 * minute begins the pauses anew. The target is down meanwhile, with the reason; a log line and an
 * event "parser_down" say it too. The rows of the interval under way are lost: there are none, and
 * none is not 0. An interface that is gone, and a capture that cannot be opened, are waited for as
 * collectors/packet/capture/pcap.h says; only who starts has the rights to open.
 *
 * Nothing here waits for the parser, but for close(): at most PARSER_STOP_MS, for the interval
 * under way, and not at all for one that has been silent. Loop thread.
 */
#pragma once

#include "base/base.h"
#include <sys/types.h>

#include "collectors/target/collector.h"

enum { PARSER_SILENT_S = 30, PARSER_STOP_MS = 2000, PARSER_GAP_MAX_S = 60 };

/* Opens env.row, whose .own_process is set, in a process of its own. */
extern const struct collector parser_monitor_collector;

/* parser_monitor_patience - PARSER_SILENT_S in other words, for all from now on. For tests. */
void parser_monitor_patience(unsigned seconds);

/* parser_monitor_pid - of the process of an instance; 0 = there is none now. For tests. */
int parser_monitor_pid(const void *instance);

/*
 * parser_process - one process that reads packets for the agent: this program, run anew as the
 * command "parser", so that nothing of the agent's memory is in it. Its standard input is its end
 * of a socket pair; it inherits no other descriptor but standard error. Loop thread.
 *
 * While it starts it has the rights that opening a capture needs, as far as the agent has them
 * (privilege_lend()); it gives them up before it reads the first packet.
 */

/* parser_process_prepare - while files can still be opened: when memory is short the kernel shall
 * end a parser rather than the agent. Once, at the start of the agent. */
void parser_process_prepare(void);
