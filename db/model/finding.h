/*
 * finding - what an analyzer reports about one subject in one window, and the words it may use.
 * Made in an arena by an analyzer; read by the ledger, the store and the reports.
 */
#pragma once

#include "base/base.h"

#include "db/model/cause.h"

enum severity { SEV_INFO, SEV_WARNING, SEV_CRITICAL };
const char *severity_name(enum severity severity);

/* OVER: the condition holds in this window. UNDER: it does not. IDLE: nothing to judge (below the
 * load floor); the window is ignored. UNKNOWN: data is missing; freezes an incident, never closes
 * it. */
enum finding_verdict { FINDING_OVER, FINDING_UNDER, FINDING_IDLE, FINDING_UNKNOWN };
const char *finding_verdict_name(enum finding_verdict verdict);

enum quality { QUALITY_EXACT, QUALITY_ESTIMATED, QUALITY_SUSPECT, QUALITY_UNKNOWN };
extern const char *const quality_names[QUALITY_UNKNOWN + 1];
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
	 * fewer where .value is further above .warn: agent/incident/cost.h */
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
	/* what the ports move since a change over what the steps do, where some were left out of
	 * .rate for it; 0: none was, or the change lies further back than the blocks */
	double surplus_ratio;
	/* the same in shorter blocks; NULL: these are as short as blocks can be */
	const struct job_rate *fine;
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

/* ecmp - what one ECMP group did in one window. Measured by analyzers/measure/ecmp_measure.c, read
 * by detectors and reports. */

enum ecmp_verdict {
	ECMP_IDLE,
	ECMP_UNKNOWN,
	ECMP_CHOSEN, /* senders write the path into each packet: nothing here to judge */
	ECMP_EVEN,
	ECMP_WITHIN_CHANCE,
	ECMP_UNLUCKY,
	ECMP_LOW_ENTROPY,
	ECMP_SKEWED
};
/* "idle" "unknown" "source routed" "even" "within chance" "unlucky placement" "low entropy"
 * "skewed" */
const char *ecmp_verdict_name(enum ecmp_verdict verdict);

/* absent: no usable sample in the window */
enum ecmp_link { ECMP_LINK_UP, ECMP_LINK_DOWN, ECMP_LINK_ABSENT };

struct ecmp_member {
	/* borrowed from the fabric; peer is the neighbouring device or host, "" unknown */
	const char *port, *peer;
	uint64_t octets; /* sent in the window */
	/* 0 unknown; the smaller of declared and read where both are known */
	uint64_t speed_bps;
	double utilization_ratio; /* NAN unknown */
	enum quality quality;
	uint64_t declared_bps, read_bps; /* 0 unknown */
	double rate_bps; /* over the time the samples cover; NAN unknown */
	/* load over the mean of the group, weighed by capacity: 1 = its fair share; NAN not judged
	 */
	double share_ratio;
	double coverage_ratio;
	/* highest 1 ms rate of its packets over its capacity; NAN without an unsampled capture */
	double burst_ratio;
	uint64_t discards; /* frames dropped at its egress in the window */
	bool discards_known; /* the device counts them */
	uint64_t ce_packets; /* captured packets that carried CE, as seen */
	uint64_t packets; /* captured RoCE packets, as seen */
	enum ecmp_link link;
};

struct ecmp_measure {
	const char *device, *group;
	int64_t from_ns, to_ns;
	struct ecmp_member *members;
	size_t n_members, n_known;
	size_t hot; /* index of the member with the most load for its capacity */
	size_t cold; /* ... with the least */
	/* max/mean - 1 over members weighed by capacity; NAN unknown */
	double imbalance_ratio;
	double max_minus_min_ratio, cov_ratio, jain_ratio;
	double load_ratio; /* mean utilisation */
	double n_eff; /* NAN: no packets */
	uint32_t tuples; /* 5-tuples seen, what the hash sees; 0 = no packets */
	/* .tuples is a lower bound: an interval had more flows than it kept by name */
	bool tuples_more;
	uint32_t flows; /* 5-tuples with destination QP; lower bound */
	/* the one UDP source port of all flows by name; 0: several, or no packets */
	uint16_t only_src_port;
	/* hash chance for n_eff; NAN unknown */
	double expected_ratio, expected_p95_ratio, expected_p999_ratio;
	double coverage_ratio;
	enum ecmp_verdict verdict;
	/* a static hash chooses the member: only then is there a baseline by chance */
	bool hashed;
	/* a member ever had a sample; false for devices that are declared and never polled */
	bool observed;
	bool equal_weights; /* a capacity is unknown: members count alike */
	size_t n_down, n_absent; /* members without a link, without samples */
	size_t n_live; /* members the imbalance is taken over */
	uint32_t sampling; /* highest one-in-N of the captures used, 0 = none */
	uint64_t packets; /* captured packets behind n_eff, as seen */
	/* probability of such an imbalance, or more, by chance alone; NAN unknown */
	double chance_p;
	/* imbalance that chance exceeds once in 1,000 group windows, corrected for the groups
	 * judged; NAN */
	double chance_limit_ratio;
	const char *flows_note; /* why n_eff is unknown, or NULL; static or in the arena */
	/* what the hash reads, as read back from the device: "src_ip,dst_ip"; NULL unknown */
	const char *hash_fields;
	/* .hash_fields are known, and the UDP source port is not among them: all RoCE flows between
	 * two addresses take one member */
	bool hash_blind;
	/* most captured octets belong to queue pairs whose packets choose their path one by one: a
	 * hash has little to say then, and chance of a hash means nothing */
	bool sprayed;
	/* packets are spread one by one, as declared, read back or captured: all members must carry
	 * the same, but for .spread_limit_ratio */
	bool even;
	/* 1 - the least share, where .even; NAN */
	double low_ratio;
	/* deviation from the fair share that is a fault, where .even; NAN */
	double spread_limit_ratio;
	/* how the device says it spreads load, as it says it; NULL: it does not */
	const char *lb_told;
};
