/*
 * finding - what an analyzer reports about one subject in one window, and the words it may use.
 * Made in an arena by an analyzer; read by the ledger, the store and the reports.
 */
#ifndef RW_DB_FINDING_H
#define RW_DB_FINDING_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/model/cause.h"

enum severity { SEV_INFO, SEV_WARNING, SEV_CRITICAL };
const char *severity_name(enum severity severity);

/* OVER: the condition holds in this window. UNDER: it does not. IDLE: nothing to judge (below the
 * load floor); the window is ignored. UNKNOWN: data is missing; freezes an incident, never closes
 * it. */
enum finding_verdict { FINDING_OVER, FINDING_UNDER, FINDING_IDLE, FINDING_UNKNOWN };
const char *finding_verdict_name(enum finding_verdict verdict);

enum quality { QUALITY_EXACT, QUALITY_ESTIMATED, QUALITY_SUSPECT, QUALITY_UNKNOWN };
const char *quality_name(enum quality quality);

struct evidence {
	const char *metric; /* canonical name, or a derived one ("ecmp.imbalance_ratio") */
	const char *device, *port; /* may be NULL */
	int priority; /* PRIO_NONE */
	int64_t from_ns, to_ns;
	double value;
	const char *unit;
	enum quality quality;
};

struct next_step {
	const char *text, *risk;
};

/* What a confidence rests on. FOR supports the finding; AGAINST lowers its confidence; OPEN was not
 * proved, and could not be with the data that was there. */
enum reason_sign { REASON_FOR, REASON_AGAINST, REASON_OPEN };

struct finding_reason {
	const char *text;
	enum reason_sign sign;
};

struct finding_flow { /* a flow that shares the hot member, as observed */
	char src[46], dst[46];
	uint32_t src_port, dst_qp;
	const char *device, *port;
	uint64_t packets, octets, burst_bps;
};

struct finding_role { /* role: "culprit" "direct_victim" "indirect_victim" */
	const char *entity, *role;
};

struct finding {
	const char *analyzer;
	enum cause cause;
	enum finding_verdict verdict;
	enum severity severity;
	int64_t from_ns, to_ns;
	/* how much of the window no window before it held; 0: all of it */
	int64_t new_ns;
	/* subject: NULL / PRIO_NONE where it does not apply. (analyzer, device, port, priority,
	 * host, group) identifies the incident. */
	const char *device, *port, *host, *group;
	int priority;
	/* whole windows OVER at the threshold (IDLE ones skipped) before the incident opens, >= 1;
	 * fewer where .value is further above .warn: agent/incident/weight.h */
	uint32_t hold;
	bool proven; /* an exact sign that noise cannot make: two windows open the incident */
	const char *member; /* hot member port of a group */
	struct finding_flow *flows;
	size_t n_flows;
	struct finding_role *roles;
	size_t n_roles;
	struct evidence *evidence;
	size_t n_evidence;
	struct finding_reason *reasons;
	size_t n_reasons;
	const char **ruled_out;
	size_t n_ruled_out;
	struct next_step *next_steps;
	size_t n_next_steps;
	const char *summary; /* one sentence */
	double confidence_ratio; /* 0..1 */
	double coverage_ratio; /* share of the expected samples that were there */
	/* share of wall time the waiting costs (1 = all of it); NAN unknown */
	double loss_ratio;
	double explained_ratio; /* NAN unknown */
	/* the headline number and its threshold, e.g. imbalance and 0.20 */
	double value, warn;
	/* kind of an event that happened at .event_ns, with the summary as its text; NULL: none */
	const char *event;
	int64_t event_ns;
};

/*
 * What a training job moved, block by block, oldest first. Published beside the findings, to
 * estimate what waiting costs (agent/incident/cost.h). In bulk-synchronous training every step
 * moves the same bytes, so this is proportional to steps per second.
 */
struct job_rate {
	const char *job; /* NULL: no job is configured, all hosts */
	/* block k is (from + k block, from + (k + 1) block]; the last one is the window that was
	 * judged */
	int64_t from_ns, block_ns;
	const double *rate; /* octets per second; NAN not seen */
	size_t n;
	/* no port of a host is counted, so leaf uplinks stand for them: a fall of these is a
	 * fall of the job, but no fall proves little */
	bool by_uplinks;
};

/* finding_is_aligned - does its window end at a multiple of its length? Of overlapping windows one
 * in each length does. */
static inline bool finding_is_aligned(const struct finding *finding)
{
	const int64_t length_ns = finding->to_ns - finding->from_ns;
	return length_ns <= 0 || finding->to_ns % length_ns == 0;
}

struct finding_list { /* in the turn arena */
	struct finding *v;
	size_t n, cap;
	/* UNDER findings that were counted and not made: nobody follows their subjects */
	size_t n_clear;
	struct { /* the last answer of analyzer_in.follows */
		const char *analyzer, *device;
		bool yes;
	} followed;
	const struct job_rate *jobs;
	size_t n_jobs;
};

#endif
