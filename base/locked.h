/*
 * locked - memory for secrets: never in the swap, never in a core file, overwritten when it is
 * freed.
 *
 * What a library copies (net-snmp its community, gRPC its headers, curl its log-in) is not ours to
 * lock; docs/security.md says which. Where the kernel locks no more memory (RLIMIT_MEMLOCK), it is
 * given all the same, and the log says so once. Thread-safe.
 */
#pragma once

#include <stddef.h>

struct err;

/* locked_new - @size bytes, zeroed. Never NULL. */
void *locked_new(size_t size);
char *locked_dup(const char *text);
/* locked_free - overwritten, then given back; NULL is fine. */
void locked_free(void *memory);
/* locked_freep - for rw_cleanup(), on a variable that holds a pointer; sets it to NULL. */
void locked_freep(void *pointer);

/* locked_read_file - the whole file as text with a NUL behind, at most @max bytes; no other buffer
 * of this process sees it. 0 or negative errno with @e (may be NULL) and its place. */
int locked_read_file(const char *path, size_t max, char **ret, size_t *ret_n, struct err *e);
