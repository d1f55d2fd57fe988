/*
 * cost_json - the state of an incident's cost as JSON, so that a restart goes on where it was.
 */
#ifndef RW_INCIDENT_COST_JSON_H
#define RW_INCIDENT_COST_JSON_H

#include <jansson.h>
#include "agent/incident/cost.h"

json_t *cost_json(const struct cost *cost); /* the caller owns it */
/* cost_json_parse - the other way; cost_new() when @object does not come from cost_json(). */
struct cost cost_json_parse(const json_t *object);

#endif
