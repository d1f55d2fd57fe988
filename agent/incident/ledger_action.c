/*
 * ledger_action - what people do to an incident: each kind is a row of the table in
 * ledger_action().
 */
#include "agent/incident/ledger_inside.h"

struct action {
	struct ledger *ledger;
	struct incident_record *record;
	const char *who, *text; /* text: "" when there is none */
	int64_t t_ns;
};

static int action_ack(const struct action *action)
{
	struct incident_record *record = action->record;
	incident_record_set(&record->i.acked_by, action->who);
	if (*action->text) {
		incident_record_set(&record->i.ack_note, action->text);
		incident_record_note(
			record, action->t_ns, "acknowledged by %s: %s", action->who, action->text);
	} else {
		incident_record_set(&record->i.ack_note, NULL);
		incident_record_note(record, action->t_ns, "acknowledged by %s", action->who);
	}
	return 0;
}

static int action_assign(const struct action *action)
{
	incident_record_set(&action->record->i.assigned_to, action->text);
	incident_record_note(
		action->record, action->t_ns, "assigned to %s by %s", action->text, action->who);
	return 0;
}

static int action_note(const struct action *action)
{
	incident_record_note(action->record, action->t_ns, "%s: %s", action->who, action->text);
	return 0;
}

static int action_close(const struct action *action)
{
	struct ledger *ledger = action->ledger;
	if (action->record->i.state == INCIDENT_CLOSED)
		return -EALREADY;
	for (size_t k = 0; k < ledger->n_active; k++) {
		if (ledger_active(ledger, k) == action->record) {
			struct ledger_slot *slot = &ledger->slots[ledger->active[k]];
			ledger_slot_end(ledger, slot);
			slot->closed = action->record;
			break;
		}
	}
	char note[640];
	snprintf(note, sizeof(note), "by %s%s%s", action->who, str_if(*action->text, ": "),
		action->text);
	ledger_change(ledger, action->record, INCIDENT_CLOSED, action->t_ns, note);
	return 0;
}

static int action_merge(const struct action *action)
{
	struct incident_record *record = action->record;
	struct incident_record *into = ledger_record(action->ledger, action->text);
	if (!into)
		return -ENOENT;
	if (into == record || str_eq(into->i.parent, record->i.id))
		return -EINVAL;
	incident_record_set(&record->i.parent, into->i.id);
	if (record->place.put)
		ledger_place(action->ledger, record);
	incident_record_note(record, action->t_ns, "part of %s, says %s", into->i.id, action->who);
	ledger_list_also(into, record);
	incident_record_note(
		into, action->t_ns, "%s is part of it, says %s", record->i.id, action->who);
	ledger_publish(action->ledger, into, into->i.state);
	return 0;
}

int ledger_action(struct ledger *ledger, const char *id, enum incident_action action,
	const char *who, const char *text, int64_t t_ns)
{
	static const struct {
		int (*fn)(const struct action *action);
		bool needs_text;
	} actions[] = {
		[ACTION_ACK] = {action_ack, false},
		[ACTION_ASSIGN] = {action_assign, true},
		[ACTION_NOTE] = {action_note, true},
		[ACTION_CLOSE] = {action_close, false},
		[ACTION_MERGE] = {action_merge, true},
	};
	struct incident_record *record = ledger_record(ledger, id);
	if (!record)
		return -ENOENT;
	const struct action asked = {ledger, record, who, str_or(text, ""), t_ns};
	if (actions[action].needs_text && !*asked.text)
		return -EINVAL;
	const enum incident_state from = record->i.state;
	const int rc = actions[action].fn(&asked);
	if (rc == 0 && record->i.state == from)
		ledger_publish(ledger, record, from);
	return rc;
}
