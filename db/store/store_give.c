/* store_give - what the loop gives to the store beside samples: one record of its kind each, copied
 * and left to the writer. Loop thread. */
#include "db/store/store.h"

#include "db/store/store_records.h"

void store_flows(struct store *store, const struct flow_sample *flows, size_t n)
{
	const struct store_record record = {.kind = RECORD_FLOWS, .flows = {flows, n}};

	if (n > 0)
		store_hand_over(store, &record);
}

void store_fabric(struct store *store, int64_t t_ns, const char *yaml)
{
	store_hand_over(store,
		&(struct store_record){
			.kind = RECORD_FABRIC, .fabric = {.t_ns = t_ns, .yaml = yaml}});
}

void store_rewind(struct store *store, int64_t t_ns)
{
	store_hand_over(
		store, &(struct store_record){.kind = RECORD_REWIND, .rewind = {.t_ns = t_ns}});
}

void store_target(struct store *store, const struct store_target *target)
{
	store_hand_over(store, &(struct store_record){.kind = RECORD_TARGET, .target = *target});
}

void store_targets_gone(struct store *store, const char *device, const char *protocol)
{
	store_hand_over(store,
		&(struct store_record){
			.kind = RECORD_TARGET_GONE, .target_gone = {device, protocol}});
}

void store_device(struct store *store, const struct store_device *device)
{
	store_hand_over(store, &(struct store_record){.kind = RECORD_DEVICE, .device = *device});
}

void store_port(struct store *store, const struct store_port *port)
{
	store_hand_over(store, &(struct store_record){.kind = RECORD_PORT, .port = *port});
}

void store_incident(struct store *store, const struct store_incident *incident)
{
	store_hand_over(
		store, &(struct store_record){.kind = RECORD_INCIDENT, .incident = *incident});
}

void store_recommendation(struct store *store, const struct store_recommendation *recommendation)
{
	store_hand_over(store,
		&(struct store_record){
			.kind = RECORD_RECOMMENDATION, .recommendation = *recommendation});
}

void store_event(struct store *store, int64_t t_ns, const char *kind, const char *incident_id,
	const char *who, const char *text)
{
	store_hand_over(store,
		&(struct store_record){.kind = RECORD_EVENT,
			.event = {.t_ns = t_ns,
				.kind = kind,
				.incident_id = incident_id,
				.who = who,
				.text = text}});
}

void store_device_event(struct store *store, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
	store_hand_over(store,
		&(struct store_record){.kind = RECORD_EVENT,
			.event = {.t_ns = t_ns,
				.kind = kind,
				.device = device,
				.port = port,
				.text = text}});
}

void store_change_event(struct store *store, const struct store_change *change)
{
	store_hand_over(store,
		&(struct store_record){.kind = RECORD_EVENT,
			.event = {.t_ns = change->t_ns,
				.kind = change->kind,
				.who = change->who,
				.text = change->text,
				.device = change->device,
				.port = change->port,
				.job = change->job}});
}

void store_burst(struct store *store, const struct store_burst *burst)
{
	store_hand_over(store, &(struct store_record){.kind = RECORD_BURST, .burst = *burst});
}

void store_silence(struct store *store, const struct store_silence *silence)
{
	store_hand_over(store, &(struct store_record){.kind = RECORD_SILENCE, .silence = *silence});
}

void store_alert(struct store *store, const struct store_alert *alert)
{
	store_hand_over(store, &(struct store_record){.kind = RECORD_ALERT, .alert = *alert});
}

void store_alert_gone(struct store *store, const char *receiver, const char *incident_id)
{
	store_hand_over(store,
		&(struct store_record){
			.kind = RECORD_ALERT_GONE, .alert_gone = {receiver, incident_id}});
}

void store_finding(struct store *store, const struct store_finding *finding)
{
	store_hand_over(store, &(struct store_record){.kind = RECORD_FINDING, .finding = *finding});
}

void store_health(struct store *store, int64_t t_ns, const struct store_health *measures, size_t n)
{
	store_hand_over(store,
		&(struct store_record){
			.kind = RECORD_HEALTH, .health = {.v = measures, .n = n, .t_ns = t_ns}});
}
