/*
 * claims - several incidents may slow the same job at the same time: each claims a part of its
 * loss, and the loss is shared among them (agent/incident/cost.h), so that it is never counted
 * twice. An incident that is part of another one claims nothing; a symptom claims nothing beside
 * an incident with a real cause.
 */
#ifndef RW_INCIDENT_CLAIMS_H
#define RW_INCIDENT_CLAIMS_H

#include <stddef.h>
#include "agent/incident/incident_record.h"
#include "config/fabric.h"

/* claims_count - what @rate's job lost, counted for each of @records, all incidents under way, by
 * its share. When all jobs are counted the caller moves .cost.to_ns on, as for cost_count(). */
void claims_count(struct incident_record *const *records, size_t n, const struct fabric *fabric,
	const struct job_rate *rate);

#endif
