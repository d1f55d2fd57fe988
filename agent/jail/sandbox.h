/*
 * sandbox - what a process of the agent can still do when somebody has taken it over: three walls,
 * each one-way, each inherited by children.
 *
 *   itself   no new privileges, no core file, not readable by others of the same user (no ptrace,
 *            no /proc/PID/mem)
 *   files    Landlock: the paths of a struct sandbox_paths and the system's own, nothing else. A
 *            kernel without Landlock leaves this wall out; the log says so once
 *   calls    seccomp: the system calls of the table in sandbox.c, nothing else
 *
 * Four kinds of process exist:
 *
 *   AGENT    polls, stores, judges, and starts the other two. A call that the table lacks fails as
 *            on a kernel that does not know it (ENOSYS): libraries are written for that, so the
 *            watch goes on
 *   WEB      answers HTTP from the database. The same, without programs and without new sockets
 *   PARSER   reads packets of others from descriptors that it has already. No file, no socket, no
 *            program. A call that the table lacks ends the process; its parent sees SIGSYS
 *   RECEIVER takes connections of others on sockets that listen already. As PARSER, with threads
 *
 * A right to files is bound to what is there when the wall is closed: a file system that is mounted
 * later over a directory is outside.
 *
 * In builds with assertions a refused call ends every kind of process by SIGSYS, and its number is
 * written to standard error unless the thread holds signals back: so tests find what the table
 * lacks. Published source of the interfaces: seccomp(2), landlock(7), prctl(2).
 */
#pragma once

#include "base/base.h"

struct config;

enum sandbox_kind { SANDBOX_AGENT, SANDBOX_WEB, SANDBOX_PARSER, SANDBOX_RECEIVER, SANDBOX_KINDS };

enum sandbox_use {
	SANDBOX_READ, /* files, directories, and programs to run */
	SANDBOX_EDIT, /* write into a file that exists, and read it */
	SANDBOX_WRITE, /* the same, make and remove files and sockets, and rename them */
};

/* What a process needs beside the system's own files. Zeroed at first. */
struct sandbox_paths {
	struct sandbox_path {
		char *path;
		enum sandbox_use use;
	} * v;
	size_t n, cap;
	bool netns; /* it enters network namespaces */
	bool free_files; /* it runs programs of the site, whose files nobody knows: only calls are
			    limited */
};

/* sandbox_add - @path, a file or a directory and what is beneath. Copied; NULL is ignored. One that
 * does not exist when the files are closed is left out. */
void sandbox_add(struct sandbox_paths *paths, const char *path, enum sandbox_use use);
/* sandbox_add_beside - the directory of @file, so that the file may be replaced; and the directory
 * of what it links to. NULL is ignored. */
void sandbox_add_beside(struct sandbox_paths *paths, const char *file, enum sandbox_use use);
void sandbox_paths_done(struct sandbox_paths *paths);

/* sandbox_self - the first wall, once at the start of a process. 0 or negative errno. */
int sandbox_self(struct err *e);

/*
 * sandbox_no_rings - from now on this thread and what it starts make no io_uring (ENOSYS): before
 * loop_new() in a process that sandbox_calls() will close. libuv from 1.45 on makes one for each
 * loop, and ends the process when the ring does not answer behind the wall; and what is asked for
 * by a ring passes no filter. 0 or negative errno.
 */
int sandbox_no_rings(struct err *e);

/*
 * sandbox_files - the second wall, for the calling thread and the threads that it starts from now
 * on: so before there are others. A PARSER gets no file at all, whatever @paths holds (NULL is
 * fine). From then on base/str.h knows words for what is hidden. 0 (also where the kernel
 * has no Landlock) or negative errno.
 */
int sandbox_files(enum sandbox_kind kind, const struct sandbox_paths *paths, struct err *e);

/*
 * sandbox_calls - the third wall, for all threads of the process. What needs rights (another user,
 * another root) has happened before. 0 or negative errno: then the process must not go on.
 */
int sandbox_calls(enum sandbox_kind kind, const struct sandbox_paths *paths, struct err *e);

/* ---- for tests and for docs/security.md ---------------------------------- */

enum sandbox_refusal { SANDBOX_REFUSE, SANDBOX_NAME_AND_END };

/* sandbox_calls_as - sandbox_calls() with what a refused call does: fail, or name itself on
 * standard error and end the process. A PARSER is ended in both. */
int sandbox_calls_as(enum sandbox_kind kind, const struct sandbox_paths *paths,
	enum sandbox_refusal refusal, struct err *e);
/* sandbox_calls_print - the table of calls as Markdown, for docs/security.md. */
void sandbox_calls_print(FILE *out);

/* sandbox_internal - what the files of the sandbox share. */

/* RW_SANITIZED - 1 in builds with a sanitizer, whose runtime maps shadow memory, traces its own
 * process, and runs a symbolizer. */
#define RW_SANITIZED 0
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#undef RW_SANITIZED
#define RW_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#undef RW_SANITIZED
#define RW_SANITIZED 1
#endif
#endif

/* sandbox_config - which files a configuration means for the agent and for its web server. */

/*
 * sandbox_of_agent - what an agent with @config (read from @config_path) reads and writes; into
 * @ret, which the caller ends with sandbox_paths_done(). Files that a later configuration names are
 * in reach unless they lie in /home, /root or /boot. Says in the log why files stay open, where
 * they do.
 */
void sandbox_of_agent(
	const struct config *config, const char *config_path, struct sandbox_paths *ret);

/* sandbox_of_reload - says in the log what @is, taken over by a reload, cannot have before a
 * restart. */
void sandbox_of_reload(const struct config *was, const struct config *is);

/*
 * sandbox_of_web - the same of the web server. @config may be NULL. @child: an agent writes
 * @db_path; then nothing can be written but the index of its log ("-shm"), through which SQLite's
 * readers and writer speak.
 */
void sandbox_of_web(const struct config *config, const char *config_path, const char *db_path,
	bool child, struct sandbox_paths *ret);

/* sandbox_index_inode - which file the index of @db_path is, 0 = none. When another one is there
 * than when the files were closed, the web server of an agent has to start anew. */
uint64_t sandbox_index_inode(const char *db_path);
