/*
 * ledger_fold - one fault, one incident: what is part of what, and that nothing is part of
 * something milder (agent/incident/ledger.h). Who may explain whom is decided in
 * agent/incident/explain.c.
 */
#include "agent/incident/ledger_inside.h"

#include "agent/incident/explain.h"

bool ledger_list_also(struct incident_record *by, const struct incident_record *other)
{
	const bool fresh = incident_record_also(by,
		&(struct incident_also){
			.cause = other->i.cause,
			.device = other->i.device,
			.port = other->i.port,
			.host = other->i.host,
			.group = other->i.group,
			.summary = other->i.summary,
		});
	if (fresh)
		incident_record_spread(by);
	return fresh;
}

bool ledger_goes_on(const struct ledger *ledger, const struct incident_record *record)
{
	struct incident_record *const *others;
	if (!record->lists)
		return false;
	const size_t n = explain_pending(ledger->explain, record->i.cause, &others);
	for (size_t k = 0; k < n; k++)
		if (str_eq(others[k]->folded, record->i.id) && incident_record_recent(others[k]))
			return true;
	return false;
}

bool ledger_is_part(const struct ledger *ledger, const struct incident_record *record)
{
	const struct incident_record *by = NULL;
	if (record->i.parent)
		by = ledger_record(ledger, record->i.parent);
	return by && by->i.state != INCIDENT_CLOSED;
}

/* An incident is as bad as its worst part. True when it became worse. */
static bool ledger_worsen(
	struct incident_record *record, const struct incident_record *part, int64_t t_ns)
{
	if (part->i.severity <= record->i.severity)
		return false;
	record->i.severity = part->i.severity;
	incident_record_note(record, t_ns, "severity: %s", severity_name(record->i.severity));
	return true;
}

void ledger_outgrow(struct ledger *ledger, struct incident_record *record, int64_t t_ns)
{
	struct incident_record *parent = NULL;
	if (record->i.parent)
		parent = ledger_record(ledger, record->i.parent);
	if (!parent || parent->i.severity >= record->i.severity)
		return;
	if (parent->i.severity > SEV_INFO) {
		ledger_worsen(parent, record, t_ns);
		ledger_publish(ledger, parent, parent->i.state);
		return;
	}
	incident_record_set(&record->i.parent, NULL);
	ledger_place(ledger, record);
	incident_record_note(record, t_ns, "no part of %s any more: it is worse", parent->i.id);
}

bool ledger_stands_alone(
	struct ledger *ledger, struct incident_record *record, const struct finding *finding)
{
	struct incident_record *by = explain_find(ledger->explain, ledger->fabric, record);
	if (!by)
		return true;
	if (by->i.state == INCIDENT_PENDING) {
		const double waited = record->waited;
		record->waited += weight_share(finding);
		return waited > by->hold + 1;
	}
	bool told = ledger_worsen(by, record, finding->to_ns);
	if (str_eq(record->folded, by->i.id)) {
		if (told)
			ledger_publish(ledger, by, by->i.state);
		return false;
	}
	memcpy(record->folded, by->i.id, sizeof(record->folded));
	by->lists = true;
	if (ledger_list_also(by, record)) {
		incident_record_note(
			by, finding->to_ns, "related finding: %s", ledger_headline(&record->i));
		told = true;
	}
	if (told)
		ledger_publish(ledger, by, by->i.state);
	return false;
}

bool ledger_adopt(struct ledger *ledger, struct incident_record *record, int64_t t_ns)
{
	if (record->i.parent)
		return false;
	struct incident_record *by = explain_find(ledger->explain, ledger->fabric, record);
	if (!by || by->i.state == INCIDENT_PENDING)
		return false;
	incident_record_set(&record->i.parent, str_or(by->i.parent, by->i.id));
	ledger_place(ledger, record);
	incident_record_note(
		record, t_ns, "explained by %s: %s", by->i.id, ledger_headline(&by->i));
	bool told = ledger_worsen(by, record, t_ns);
	if (ledger_list_also(by, record)) {
		incident_record_note(
			by, t_ns, "explains %s: %s", record->i.id, ledger_headline(&record->i));
		told = true;
	}
	if (told)
		ledger_publish(ledger, by, by->i.state);
	return true;
}

void ledger_part_again(struct ledger *ledger, struct incident_record *record, int64_t t_ns)
{
	char before[sizeof(record->folded)];
	if (!record->i.parent)
		return;
	snprintf(before, sizeof(before), "%s", record->i.parent);
	incident_record_set(&record->i.parent, NULL);
	ledger_place(ledger, record);
	const struct incident_record *by = explain_find(ledger->explain, ledger->fabric, record);
	if (by && str_eq(str_or(by->i.parent, by->i.id), before)) {
		incident_record_set(&record->i.parent, before);
		ledger_place(ledger, record);
		return;
	}
	incident_record_note(record, t_ns, "no part of %s any more: its cause is another", before);
}

void ledger_absorb(struct ledger *ledger, const struct incident_record *by, int64_t t_ns)
{
	struct incident_record *const *orphans;
	const size_t n = explain_orphans(ledger->explain, ledger->fabric, by, &orphans);
	for (size_t k = 0; k < n; k++)
		if (ledger_adopt(ledger, orphans[k], t_ns))
			ledger_publish(ledger, orphans[k], orphans[k]->i.state);
}

void ledger_weigh_anew(struct ledger *ledger, const struct incident_record *ended)
{
	for (size_t k = 0; ended->lists && k < ledger->n_active; k++) {
		struct incident_record *part = ledger_active(ledger, k);
		if (part->i.state != INCIDENT_PENDING || !str_eq(part->folded, ended->i.id))
			continue;
		weight_done(&part->weight);
		part->owes = part->hold + 2;
		part->folded[0] = '\0';
	}
}

void ledger_release_parts(struct ledger *ledger, const struct incident_record *gone, int64_t t_ns)
{
	for (size_t k = 0; k < ledger->n_active; k++) {
		struct incident_record *part = ledger_active(ledger, k);
		if (!str_eq(part->i.parent, gone->i.id))
			continue;
		incident_record_set(&part->i.parent, NULL);
		ledger_place(ledger, part);
		incident_record_note(part, t_ns,
			"no part of %s any more: nobody judges that any more", gone->i.id);
		ledger_adopt(ledger, part, t_ns);
		ledger_publish(ledger, part, part->i.state);
	}
}
