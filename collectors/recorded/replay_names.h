/*
 * replay_names - what the four names of a line (device, port, priority, metric) stand for. A
 * recording repeats the same lines at every poll, so the names that followed last time are compared
 * first, and a known line costs one memcmp. One thread.
 */
#ifndef RW_COLLECTORS_REPLAY_NAMES_H
#define RW_COLLECTORS_REPLAY_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct replay_names;

struct replay_names *replay_names_new(void);
void replay_names_free(struct replay_names *names);

/* replay_names_find - @text are the four columns with their tabs. False: they were never added. */
bool replay_names_find(struct replay_names *names, const char *text, size_t n, uint32_t *ret_entity,
	uint16_t *ret_metric);

/* replay_names_add - after a search in vain; @text is copied. */
void replay_names_add(
	struct replay_names *names, const char *text, size_t n, uint32_t entity, uint16_t metric);

#endif
