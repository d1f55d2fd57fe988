/*
 * subject - is what an incident is about still there, by the fabric's configuration? For the
 * ledger: of a subject that is not there no finding comes any more.
 */
#ifndef RW_INCIDENT_SUBJECT_H
#define RW_INCIDENT_SUBJECT_H

#include "agent/incident/incident.h"
#include "config/fabric.h"

/*
 * subject_gone - why no finding can come for the incident any more, as a sentence for its timeline;
 * NULL: as far as the fabric says, one can. What is not known proves nothing: a device without any
 * link may have links that were not discovered yet.
 */
const char *subject_gone(const struct fabric *fabric, const struct incident *incident);

/* subject_job_gone - the same for an incident about a job that @fabric does not have. Not at a
 * start, when the scheduler's files were not read yet. */
const char *subject_job_gone(const struct fabric *fabric, const struct incident *incident);

#endif
