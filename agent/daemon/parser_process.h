/*
 * parser_process - one process that reads packets for the agent: this program, run anew as the
 * command "parser", so that nothing of the agent's memory is in it. Its standard input is its end
 * of a socket pair; it inherits no other descriptor but standard error. Loop thread.
 *
 * While it starts it has the rights that opening a capture needs, as far as the agent has them
 * (privilege_lend()); it gives them up before it reads the first packet.
 */
#ifndef RW_AGENT_PARSER_PROCESS_H
#define RW_AGENT_PARSER_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

struct loop;
struct parser_process;

struct parser_process_options {
	const char *program; /* NULL = this program */
	bool lend_raw, lend_netns; /* rights that it needs while it opens */
	void (*ended)(void *arg); /* on the loop; parser_process_reap() says how */
	void *arg;
};

/* parser_process_prepare - while files can still be opened: when memory is short the kernel shall
 * end a parser rather than the agent. Once, at the start of the agent. */
void parser_process_prepare(void);

/* parser_process_start - *@ret_fd: the agent's end of the socket, the caller's. 0 or negative
 * errno. */
int parser_process_start(struct loop *loop, const struct parser_process_options *options,
	struct parser_process **ret, int *ret_fd);

/* parser_process_reap - has it ended? Then @ret_status is as of wait(2), once and for all. */
bool parser_process_reap(struct parser_process *process, int *ret_status);
/* parser_process_wait - the same, but waits up to @ms milliseconds. Blocks. */
bool parser_process_wait(struct parser_process *process, int ms, int *ret_status);
void parser_process_kill(struct parser_process *process); /* SIGKILL */
pid_t parser_process_pid(const struct parser_process *process);

/* parser_process_free - ends it with SIGKILL where it still runs. NULL is fine. */
void parser_process_free(struct parser_process *process);

#endif
