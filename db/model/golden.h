/*
 * golden - the golden signals of a fabric and which causes show in them, printed from golden.def.
 * A noun: measured by analyzers/measure/golden_measure, shown by the reports.
 */
#pragma once

#include "base/base.h"

#include "db/model/cause.h"
#include "db/model/finding.h"

enum golden {
#define GOLDEN(symbol, ...) GOLDEN_##symbol,
#include "db/model/golden.def"
	GOLDEN_COUNT
};

enum { GOLDEN_CAUSES_MAX = 20 };

struct golden_info {
	const char *name, *title, *unit, *meaning;
	enum cause causes[GOLDEN_CAUSES_MAX]; /* CAUSE_NONE: no more */
};

/* golden_info - static; NULL when @signal is out of range. */
const struct golden_info *golden_info(unsigned signal);
/* golden_shows - does an open incident of @cause show in @signal? */
bool golden_shows(enum golden signal, enum cause cause);

/* The series agent.signal belong to this device, which no switch can be called. It is not that of
 * the agent's pulse: a device's samples are found by its instants, and these come once a minute. */
#define ENTITY_SIGNALS "(fabric)"

/*
 * What the agent keeps of a job once a minute, beside the signals: as agent.signal of the port
 * "job:NAME rate" and so on. A signal's own port is its name.
 */
enum golden_job {
	GOLDEN_JOB_RATE, /* octets per second in the newest blocks, idle ones included */
	GOLDEN_JOB_LEVEL, /* octets per second of its current level, without idle blocks */
	GOLDEN_JOB_STEP, /* seconds; where samples are frequent enough to see it */
	GOLDEN_JOB_EXCHANGE, /* seconds of that in which it exchanges data */
	GOLDEN_JOB_IDLE, /* seconds for which it has moved next to nothing, up to then */
	GOLDEN_JOB_COUNT
};
enum { GOLDEN_PORT_MAX = 256 };
/* golden_job_port - the port of @what of @job (NULL: no job is configured, all hosts). @buf has
 * GOLDEN_PORT_MAX bytes and is returned. */
char *golden_job_port(char buf[GOLDEN_PORT_MAX], const char *job, enum golden_job what);

/* What the marks say where switches pause and no queue marks. */
#define ECN_ORDER_WRONG "PFC fires and no queue marks: thresholds in the wrong order, or ECN is off"

/* What may be said of a signal. IDLE: nothing to judge, such as a fabric without load. */
enum golden_state { GOLDEN_UNKNOWN, GOLDEN_IDLE, GOLDEN_OK, GOLDEN_WARNING, GOLDEN_CRITICAL };
/* "unknown" "idle" "ok" "warning" "critical" */
enum { GOLDEN_STATES = GOLDEN_CRITICAL + 1 };
extern const char *const golden_state_names[GOLDEN_STATES];
const char *golden_state_name(enum golden_state state);
/* golden_state_of - the state of what shows an incident of @severity: an information is in order.
 */
enum golden_state golden_state_of(enum severity severity);
