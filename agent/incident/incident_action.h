/*
 * incident_action - what people do to an incident, by the words of 'rocewatch incident' and of the
 * agent's socket.
 */
#ifndef RW_INCIDENT_INCIDENT_ACTION_H
#define RW_INCIDENT_INCIDENT_ACTION_H

enum incident_action { ACTION_ACK, ACTION_ASSIGN, ACTION_NOTE, ACTION_CLOSE, ACTION_MERGE };

/* incident_action_parse - 0, or -EINVAL when @word (NULL is fine) is no such action. */
int incident_action_parse(const char *word, enum incident_action *ret);

/* incident_action_error - why ledger_action() refused, as a sentence; @error is what it returned.
 */
const char *incident_action_error(int error);

#endif
