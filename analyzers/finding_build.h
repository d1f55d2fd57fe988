/*
 * tell - findings put together piece by piece: evidence, what the confidence rests on, what was
 * ruled out, roles, next steps. Everything lives in the arena given to tell_new(); texts handed
 * over as const char * are borrowed as long.
 *
 *     struct tell t = tell_new(out, in, "link_health", FINDING_OVER, hold);
 *     t.f->device = ...;
 *     tell_evidence(&t, "port.fcs_errors", port, PRIO_NONE, 40, "frames", QUALITY_EXACT);
 */
#ifndef RW_ANALYZERS_TELL_H
#define RW_ANALYZERS_TELL_H

#include <stdint.h>

#include "analyzers/analyzer.h"
#include "analyzers/measure/observe.h"
#include "db/model/entity.h"
#include "db/model/finding.h"

struct tell {
	struct finding *f; /* until the next finding is added to the same list */
	struct arena *a;
};

/* tell_new - a finding of this window; subject, cause and numbers are the caller's. */
struct tell tell_new(struct finding_list *out, const struct analyzer_in *in, const char *analyzer,
	enum finding_verdict verdict, int64_t hold);

/* The subject: a port of a switch and, where it faces one, its host. */
void tell_subject(struct tell *tell, const struct port_seen *port);

/* NAN is not evidence: nothing is added. @port may be NULL (@device then names what it is about).
 */
void tell_evidence(struct tell *tell, const char *metric, const struct port_seen *port,
	int priority, double value, const char *unit, enum quality quality);
void tell_evidence_device(struct tell *tell, const char *metric, const char *device, double value,
	const char *unit, enum quality quality);
void tell_amount(struct tell *tell, const char *metric, const struct port_seen *port, int priority,
	const struct amount *amount, const char *unit);

void tell_rests_on(struct tell *tell, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tell_ruled_out(struct tell *tell, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void tell_role(struct tell *tell, const char *role, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void tell_step(struct tell *tell, const char *text, const char *risk);
/* The next steps of the cause's row that hold for @facts (enum cause_fact). */
void tell_steps(struct tell *tell, enum cause cause, unsigned facts);

/* "leaf1:Ethernet49"; what is at its other end: "spine1:Ethernet1", "node-001 (rail0)", or "its
 * neighbour". */
const char *tell_port(const struct port_seen *port, struct arena *a);
const char *tell_far(const struct port_seen *near, struct arena *a);
const char *tell_speed(double bps, struct arena *a);

#endif
