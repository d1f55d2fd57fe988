/* threshold - alert ranges of checks, in the syntax of the monitoring-plugins guidelines. Pure. */
#ifndef RW_AGENT_THRESHOLD_H
#define RW_AGENT_THRESHOLD_H

#include <stdbool.h>
#include <stddef.h>

struct err;

/*
 * A range names what is in order; what lies outside alerts:
 *   "0.2" = 0..0.2   "0.2:" = 0.2 and above   "~:0.2" = up to 0.2   "0.1:0.2" between   "@0.1:0.2"
 * = alert inside, ends included Numbers may be written as a percentage: "20%" = 0.2.
 */
struct threshold {
	double low, high; /* -INFINITY / INFINITY where open */
	bool inside; /* '@' */
	bool set;
};

/* 0, or -EINVAL with what was read and what was expected. */
int threshold_parse(const char *text, struct threshold *ret, struct err *e);
/* false when not set or @value is NAN */
bool threshold_alerts(const struct threshold *threshold, double value);
/* The range as perfdata wants it: "0.2", "0.1:0.2", "@0:5"; "" when not set. */
#define THRESHOLD_TEXT_MAX 64
char *threshold_text(char buf[THRESHOLD_TEXT_MAX], const struct threshold *threshold);

enum check_state { CHECK_OK, CHECK_WARNING, CHECK_CRITICAL, CHECK_UNKNOWN }; /* the exit codes */
const char *check_state_name(enum check_state state);

#endif
