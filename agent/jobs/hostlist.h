/*
 * hostlist - names of hosts as Slurm writes them: "node-[001-016,20],gpu7", also several brackets
 * in one name ("rack[1-2]n[01-16]"). Ranges are of decimal numbers; their width is that of the
 * first number, filled with zeros (slurm.conf(5), squeue(1) "%N"). Pure.
 */
#ifndef RW_AGENT_HOSTLIST_H
#define RW_AGENT_HOSTLIST_H

#include <stddef.h>

struct arena;
struct err;
struct str;

enum { HOSTLIST_MAX = 65536 }; /* names that one list may stand for */

/* hostlist_expand - all names of @text, in @a, in the order written. 0, or -EINVAL with @e: what is
 * wrong at which character, or more than HOSTLIST_MAX names. */
int hostlist_expand(
	struct arena *a, const char *text, const char *const **ret, size_t *ret_n, struct err *e);

/* hostlist_join - the shortest common way to write @n names, sorted as people sort them: runs of
 * numbers of the same width become a range. Names are taken as they are; duplicates once. */
void hostlist_join(struct str *out, const char *const *names, size_t n);

#endif
