/* check_audit - the findings of the document "topology/check" in a check. */
#ifndef RW_CHECK_CHECK_AUDIT_H
#define RW_CHECK_CHECK_AUDIT_H

#include "agent/check/check_source.h"

/*
 * check_audit - raises @line by the findings of these kinds that are in scope, as severe as the
 * audit says, where no incident is about them. Returns how many are at least a warning.
 *
 * @kinds  ended by NULL
 * @cause  a finding that has the word of this cause for its kind counts, too; CAUSE_NONE: none does
 * @n_incidents  what check_incidents() returned
 */
size_t check_audit(const struct check_source *source, const json_t *audit, const char *const *kinds,
	enum cause cause, size_t n_incidents, struct check_line *line);

/* check_audit_known - links whose value of this name ("speed", "mtu", "pfc") is known at both
 * ends. */
size_t check_audit_known(const json_t *audit, const char *name);

#endif
