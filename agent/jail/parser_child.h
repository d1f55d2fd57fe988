/*
 * parser_child - the process that reads packets for the agent: the other end of parser_monitor.
 *
 *      settings and map come -> the capture is opened -> every right is given up -> packets are
 * read
 *
 * What it collects with is the collector's own row, as it would run in the agent; what that
 * delivers is written to the socket. A message for which there is no room is dropped and counted
 * (figure "unsent"). It ends when the agent says so (it hands over the interval under way first),
 * when the capture is lost (the agent starts a new one, which has the rights to open it), and with
 * the agent, whatever happens to that. It has nothing of the agent's memory, no file, no right.
 */
#pragma once

/* parser_child_run - @fd: its end of the socket. The process's exit code. */
int parser_child_run(int fd);
