/* incident_store - writes what the ledger reports of an incident to the store. */
#include "agent/incident/incident_store.h"

#include "agent/base/cleanup.h"
#include "agent/incident/incident_json.h"
#include "db/store/store.h"

void incident_store(void *store, const struct incident *incident, enum incident_state from)
{
	if (!store)
		return;
	rw_cleanup(freep) char *json = incident_json_text(incident);
	store_incident(store,
		&(struct store_incident){
			.id = incident->id,
			.cause = cause_name(incident->cause),
			.severity = severity_name(incident->severity),
			.state = incident_state_name(incident->state),
			.device = incident->device,
			.port = incident->port,
			.group = incident->group,
			.host = incident->host,
			.summary = incident->summary,
			.json = json,
			.priority = incident->priority,
			.opened_ns = incident->opened_ns,
			.closed_ns = incident->closed_ns,
			.updated_ns = incident->updated_ns,
			.usd_per_hour = incident->usd_per_hour,
			.usd_total = incident->usd_total,
			.confidence = incident->confidence_ratio,
			.acked_by = incident->acked_by,
		});
	if (incident->note)
		store_event(store, incident->note_ns, "incident", incident->id, "", incident->note);
}
