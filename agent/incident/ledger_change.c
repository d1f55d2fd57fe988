/*
 * ledger_change - a change of an incident is written down and told: its state, what was changed
 * shortly before it, and the callback of the ledger.
 */
#include "agent/incident/ledger_inside.h"

#define CHANGE_NS (30 * 60 * NS_PER_S)
#define CHANGES_TOLD 32 /* in one incident */

void ledger_publish(struct ledger *ledger, struct incident_record *record, enum incident_state from)
{
	if (ledger->changed)
		ledger->changed(ledger->arg, &record->i, from);
	incident_record_set(&record->i.note, NULL);
}

const char *ledger_headline(const struct incident *incident)
{
	return str_or(incident->summary, cause_name(incident->cause));
}

static bool shortly_before(const struct incident *change, const struct incident *incident)
{
	const int64_t before_ns = incident->first_ns - change->first_ns;
	return change != incident && cause_has(change->cause, CAUSE_IS_CHANGE) && before_ns >= 0 &&
		before_ns <= CHANGE_NS;
}

/* List what was changed, or happened to a device, in the half hour before the incident began: that
 * is the first thing a person asks for. Of very many, the newest. */
static void gather_changes(struct ledger *ledger, struct incident_record *record)
{
	const struct incident *found[CHANGES_TOLD];
	size_t n = 0, k = ledger->n_changes;
	for (; k > 0 && n < CHANGES_TOLD; k--)
		if (shortly_before(&ledger->changes[k - 1]->i, &record->i))
			found[n++] = &ledger->changes[k - 1]->i;
	if (n == CHANGES_TOLD && k > 0)
		incident_record_changed(
			record, "the latest changes; 'rocewatch incident list' has earlier ones");
	while (n-- > 0) {
		char t[WALL_TEXT_MAX];
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "%s %s: %s", wall_text(t, (wall_t){found[n]->first_ns}, 0),
			found[n]->id, ledger_headline(found[n]));
		incident_record_changed(record, text.s);
	}
}

void ledger_change(struct ledger *ledger, struct incident_record *record, enum incident_state to,
	int64_t t_ns, const char *note)
{
	enum incident_state from = record->i.state;
	assert(from != to && (from != INCIDENT_CLOSED || to == INCIDENT_OPEN));
	record->i.state = to;
	switch (to) {
	case INCIDENT_OPEN:
		record->i.clear = 0;
		record->quiet = 0;
		record->i.closed_ns = 0;
		if (from == INCIDENT_PENDING) {
			record->i.opened_ns = t_ns;
			record->folded[0] = '\0';
			incident_record_name(record, ledger->fabric);
			gather_changes(ledger, record);
			ledger_add_opened(ledger, record);
		}
		break;
	case INCIDENT_CLEARING: record->i.raised = 0; break;
	case INCIDENT_CLOSED: record->i.closed_ns = t_ns; break;
	case INCIDENT_PENDING: break;
	}
	if (to == INCIDENT_OPEN)
		ledger_place(ledger, record);
	const char *word = incident_state_name(to);
	if (from == INCIDENT_CLOSED)
		word = "opened again";
	incident_record_note(record, t_ns, "%s: %s", word, note);
	ledger_publish(ledger, record, from);
}
