/*
 * class_worlds - in which congestion world each lossless class lives, by the newest stored minute
 * and by what captures have counted (analyzers/measure/class_world.h): "classes" of the documents
 * of doctor and status.
 */
#ifndef RW_REPORTS_CLASS_WORLDS_H
#define RW_REPORTS_CLASS_WORLDS_H

#include <jansson.h>
#include <stdio.h>

struct client;
struct err;

/* class_worlds_json - one row for each class; @health: what the agent wrote of itself, NULL: not
 * known. A new reference; NULL with @e on error. */
json_t *class_worlds_json(struct client *client, const json_t *health, struct err *e);

/* class_worlds_print - "CLASS  priority 3: ..." lines, and what differs below them. */
void class_worlds_print(FILE *out, const json_t *classes);

#endif
