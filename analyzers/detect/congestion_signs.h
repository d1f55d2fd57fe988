/*
 * congestion_signs - signs and signatures: what the analyzer congestion reads of a subject, and the
 * table that turns signs into a cause.
 *
 * A sign is yes, no or not known; a signature asks for some and excludes others. Rows are tried in
 * order, the first that fits names the cause.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/congestion_measure.h"
#include "analyzers/measure/ecn_order.h"

struct congestion_options {
	double pause; /* share of time from which a host's pause counts */
	double marks, marks_few; /* share of packets: many, next to none */
	double singled_out; /* times the median of the other hosts */
	int64_t rtt_ns; /* base round trip, for the bandwidth-delay product */
	int64_t window_ns, hold;
	int64_t past_ns; /* not an option: automatic */
};

/* SUSPECT_LEADER: a host that nothing else explains; judged after everything else. */
enum suspect_kind {
	SUSPECT_SWITCH,
	SUSPECT_NIC,
	SUSPECT_HOST,
	SUSPECT_LEADER,
	SUSPECT_GROUP,
	SUSPECT_QUEUE
};

enum sign {
	SINGLED = 1 << 0, /* a host: far more paused than the others */
	AHEAD = 1 << 1, /* ... and than every other input of its leaf */
	ALL_RAILS = 1 << 2, /* ... on all of several rails */
	MARKING = 1 << 3, /* packets are marked in the window */
	MANY_MARKS = 1 << 4, /* a large share of them */
	FEW_MARKS = 1 << 5, /* next to none */
	MARKS_ALIVE = 1 << 6, /* the counter has moved, or settings say that marking is on */
	SET_OFF = 1 << 7, /* settings say that marking is off */
	OTHERS_MARK = 1 << 8, /* other switches do mark */
	PAUSES = 1 << 9, /* we pause inputs of the switch */
	HOSTS_PAUSED = 1 << 10, /* ... hosts */
	LATE = 1 << 11, /* settings: Kmin lies above half of q_PFC */
	EARLY = 1 << 12, /* settings: Kmin lies below one bandwidth-delay product */
	SHALLOW = 1 << 13, /* the queue never got as deep as one */
	TO_HOST = 1 << 14, /* the queue leads to a host */
	SEVERAL_INPUTS = 1 << 15, /* two inputs at least are paused for it */
	FULL = 1 << 16, /* its port, or the group, runs near line rate over the window */
	SLOWER = 1 << 17, /* its port, or that of a receiver, runs below its peers */
	SKEWED = 1 << 18, /* its group is uneven */
	GROUP_MARKED = 1 << 19, /* most members of its group mark */
	NARROW = 1 << 20, /* the hosts of the leaf can send more than its uplinks */
	SHORT_PAUSES = 1 << 21, /* pauses end before their effect is back */
	FROM_HOST = 1 << 22, /* a host that pauses the fabric explains it */
	WIDESPREAD = 1 << 23, /* most of the busy queues are like this one */
	/* a queue: far more load than its peers have; a leaf: most of its hosts are paused */
	BUSY = 1 << 24,
	POLICY = 1 << 25, /* the site means to use ECN */
	/* the group: busier and more marked than the hosts' ports of its leaf */
	HOT = 1 << 26,
	/* ... its neighbours make it wait: the pressure comes from further downstream */
	HELD = 1 << 27,
	CNP_REACHES = 1 << 28, /* packets: CNPs are delivered to the host */
	NO_ECT = 1 << 29, /* packets: the host sends data that is not ECT */
	NO_CNP = 1 << 30, /* packets: the host gets CE and sends no CNP */
	/* packets, of a NIC and a host only: its rate stays, or falls, after CNPs */
	KEEPS_RATE = TO_HOST,
	SLOWS_DOWN = SEVERAL_INPUTS,
	/* of a switch only */
	HOST_PROVEN = NARROW, /* a host is proven not to slow down */
	XON_SET = FULL, /* settings put XON less than two frames below XOFF */
	/* of a host only; the bits say something else of other kinds */
	LEADS = NARROW, /* more paused than every other host */
	SQUEEZES = GROUP_MARKED, /* queues to other hosts mark far more than their peers */
	STRONG = SHORT_PAUSES, /* paused for long, and many times as long as every other host */
	FAR = SHALLOW, /* ... more than hosts that share an uplink differ */
	HEAVY = WIDESPREAD, /* it sends more than its peers, which is a reason to be paused */
	/* paused for a short, measured time, or no longer than a path that it shares with another
	 * host of its leaf explains; and no receiver marks more than its peers */
	BRIEF = EARLY,
	RECEIVER_MARKS = HOT, /* some queue to a host marks a large share of its packets */
	/* an uplink of its leaf carries half more than its fair share and marks a large share: that
	 * many bytes crowd it, whoever slows down */
	CROWDED = FULL,
};
struct signs {
	uint32_t known, yes;
};
/* The last call decides. */
static inline void sign_set(struct signs *signs, enum sign what, bool yes)
{
	signs->known |= what;
	if (yes)
		signs->yes = signs->yes | (uint32_t)what;
	else
		signs->yes = signs->yes & ~(uint32_t)what;
}

struct signature {
	enum suspect_kind kind;
	enum cause cause;
	uint32_t yes; /* all of these are known to be so */
	uint32_t no; /* all of these are known not to be so */
	uint32_t not_yes; /* none of these is known to be so */
	double confidence;
	/* at most info: nothing waits, or the share of time is not known to be lost */
	bool harmless;
	const char *rests_on; /* what the row's confidence comes from */
};
/* The first row that fits, NULL. */
const struct signature *signature_match(enum suspect_kind kind, const struct signs *signs);

/* A subject and its signs. One kind is judged at a time. */
struct suspect {
	enum suspect_kind kind;
	const struct device_seen *device;
	const struct port_prio *prio; /* switch: the input it pauses most, NULL when none */
	const struct paused_host *host; /* hosts only */
	struct host_packets packets;
	struct reaction_judged reaction; /* valid where KEEPS_RATE or SLOWS_DOWN is known */
	bool captured;
	/* queue: how clear it is; NULL when found by its marks alone */
	const struct pause_root *root;
	struct group_load group;
	size_t alike; /* queues: receivers that show the same at once */
	struct marks marks;
	/* NAN when there is none; q_pfc: PFC fires at this depth of a queue or before it: by the
	 * settings, for which all inputs and all of the pool are counted on, or because it did
	 * (q_pfc_seen) while no queue was deeper, as the review of thresholds takes it */
	bool q_pfc_seen;
	double q_pfc_bytes, kmin_bytes, bdp_bytes, episode_ns, episodes_per_s, episode_limit_ns;
	struct signs signs;
	const struct signature *is; /* NULL: nothing of the kind */
};
void suspect_switch(const struct congestion *congestion, const struct congestion_options *options,
	const struct device_seen *device, struct suspect *ret);
/* A host that is paused (congestion_nic.c). SUSPECT_HOST asks for proof that it does not slow
 * down; SUSPECT_LEADER names the host that leads when the proof is missing. */
void suspect_host(const struct congestion *congestion, const struct congestion_options *options,
	const struct paused_host *host, enum suspect_kind kind, struct suspect *ret);
/* host_lasts - has it led for several steps of its job, and ten seconds, not only in this window? A
 * host that does not may be in its turn of a step: it is accused of nothing, and nothing else of
 * what it may explain. */
bool host_lasts(const struct congestion *congestion, const struct paused_host *host);
/* Is some host proven not to slow down? Then pause without marks is no setting of a switch. */
bool hosts_prove(const struct congestion *congestion, const struct congestion_options *options);
/* The signs that several kinds share: of the site and the hosts, and of @marks. */
void congestion_signs_common(struct signs *signs, const struct congestion *congestion,
	const struct congestion_options *options);
void congestion_signs_marks(
	struct signs *signs, const struct marks *marks, const struct congestion_options *options);
/* A host's NIC as captures at its port show it; @prio is the prio of that port. */
void suspect_nic(const struct congestion *congestion, const struct congestion_options *options,
	const struct port_prio *prio, struct suspect *ret);
void suspect_group(const struct congestion *congestion, const struct congestion_options *options,
	const struct fabric_group *group, struct suspect *ret);
void suspect_queue(const struct congestion *congestion, const struct congestion_options *options,
	const struct port_prio *prio, const struct pause_root *root, struct suspect *ret);

/* congestion_report - the finding of a suspect that has a signature (congestion_finding.c).
 * @n_merged > 1: so many switches show the same, and the subject is the fabric. */
void congestion_report(const struct congestion *congestion,
	const struct congestion_options *options, const struct suspect *suspect, size_t n_merged,
	struct finding_list *out);
