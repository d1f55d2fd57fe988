/*
 * capture_facts - what a capture has counted since it was opened, as the agent's health keeps it:
 * the same keys in doctor and status.
 */
#ifndef RW_REPORTS_CAPTURE_FACTS_H
#define RW_REPORTS_CAPTURE_FACTS_H

#include <jansson.h>

/* capture_fact - one of them by its key in the agent's health; NAN when it is not there. @health:
 * object of numbers by key, "capture/NAME/frames". */
double capture_fact(const json_t *health, const char *capture, const char *key);

/* capture_facts_put - all of them into @row; an unknown one is null. */
void capture_facts_put(json_t *row, const json_t *health, const char *capture);

#endif
