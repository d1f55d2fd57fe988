/*
 * cause - what can be wrong in a fabric: one row per cause, printed from cause.def. In memory a
 * cause is a number; the word is for what leaves the process (JSON, database, command line).
 *
 * A word that cause.def does not have, read from an older or newer database, becomes a number of
 * its own at or above CAUSE_COUNT. It keeps its name, may cost money, explains nothing and is
 * explained by nothing.
 */
#pragma once

#include "base/base.h"

enum cause {
	CAUSE_NONE, /* none was named */
#define CAUSE(symbol, ...) CAUSE_##symbol,
#include "db/model/cause.def"
	CAUSE_COUNT
};

enum cause_family {
	CAUSE_FAMILY_WIRE,
	CAUSE_FAMILY_DEVICE,
	CAUSE_FAMILY_PATH,
	CAUSE_FAMILY_HOST,
	CAUSE_FAMILY_CONGESTION,
	CAUSE_FAMILY_LOSS,
	CAUSE_FAMILY_SETTINGS,
	CAUSE_FAMILY_JOB,
	CAUSE_FAMILY_TELEMETRY
};

/* What each flag means stands at the top of cause.def. */
enum cause_flag {
	CAUSE_MAY_COST = 1,
	CAUSE_IS_CHANGE = 2,
	CAUSE_IS_SYMPTOM = 4,
	CAUSE_IS_EFFECT = 8,
	CAUSE_IS_PLANNED = 16,
	CAUSE_IS_BEHIND = 32,
};

/* What a detector must know before a step makes sense. */
enum cause_fact {
	FACT_SENT_POWER = 1, /* the optical power that the other end sends */
	FACT_LINK_DOWN = 2, /* the link is down, not only idle */
	FACT_HASHED = 4, /* the site spreads flows by a hash */
	FACT_HASHED_PACKETS = 8, /* ... and packets of the flows were captured */
	FACT_NEAR_END = 16, /* this switch does not use the link */
	FACT_FAR_END = 32, /* the switch at the other end does not use the link */
	FACT_STORM = 64, /* the host pauses 90 % of the time or more */
	FACT_NO_NAMES = 128, /* the finding does not name the ports itself */
	FACT_NO_PAUSE = 256, /* the class works without pause frames */
	FACT_OTHER_PRIORITY = 512, /* the priority is not one of the lossless ones */
	FACT_BYTES = 1024, /* Kmin and Kmax in bytes are what counts */
	FACT_SHARES = 2048, /* ... or shares of the queue's quota are (relative ECN) */
	FACT_PFC = 4096, /* pause frames keep the class lossless */
	FACT_ONE_SLOW = 8192, /* this link is slower than its class */
	FACT_TWO_CLASSES = 16384, /* links of its kind run at two speeds, none declared */
	FACT_UNREAD = 32768, /* no setting of marking is read */
	FACT_ALL = ~0
};

struct cause_step {
	unsigned needs; /* enum cause_fact, all of them; 0: always */
	const char *text, *risk;
};

enum { CAUSE_STEPS_MAX = 4 };

struct cause_info {
	const char *name, *symbol;
	enum cause_family family;
	unsigned flags; /* enum cause_flag */
	int tune_row; /* of the decision table; 0: it does not hold up threshold tuning */
	const char *reported_by; /* names separated by blanks */
	const char *headline; /* a template: agent/incident/incident.h */
	const char *not_proved; /* what no finding of this cause can know */
	const char *checks; /* commands to copy: the top of cause.def */
	const char *means, *needs; /* one sentence; what it takes to see it */
	struct cause_step steps[CAUSE_STEPS_MAX]; /* .text NULL: no more */
};

/* cause_info - static; of CAUSE_NONE, and of a word that cause.def does not have, a row without
 * name and steps. */
const struct cause_info *cause_info(enum cause cause);
/* cause_name - the word; NULL for CAUSE_NONE. Static, or kept until the process ends. */
const char *cause_name(enum cause cause);
/* cause_by_name - @name NULL or "": CAUSE_NONE. A name that cause.def does not have gets a number
 * of its own, which lasts until the process ends. Main thread only. */
enum cause cause_by_name(const char *name);

static inline bool cause_has(enum cause cause, enum cause_flag flag)
{
	return cause_info(cause)->flags & (unsigned)flag;
}

/* How near to a cause its consequence must be. */
enum cause_near {
	NEAR_LINK = 1, /* the same port, or the other end of its link */
	NEAR_DEVICE = 2, /* the same device, or the device at the other end of the port */
	/* the port is a member of the group, seen from either end; a device without a port counts
	 * by what its members lead to */
	NEAR_GROUP = 4,
	NEAR_HOST = 8, /* the same host */
	NEAR_TREE = 16, /* it is named among the roles of the cause */
	NEAR_FABRIC = 32, /* anywhere */
	/* both are about groups of one device, and the group of the cause holds all members of the
	 * other one and more */
	NEAR_WIDER = 64,
	/* the consequence is about a group of a tier further from the hosts: what arrives there was
	 * spread before */
	NEAR_BEYOND = 128,
	/* the cause is about all devices together (it names none), the consequence about one */
	NEAR_WHOLE = 256,
	/* both are about groups of switches of one tier; of two groups of one switch, of which
	 * none is a part of the other, the first by name */
	NEAR_TIER = 512,
	/* so, and both began within a minute, and the cause is no much smaller one: a family that
	 * has one reason */
	NEAR_TOGETHER = 1024,
};

/* cause_explains - how near @other must be to be taken for a consequence of @cause: enum
 * cause_near, any of them; 0: it never is. */
unsigned cause_explains(enum cause cause, enum cause other);

/*
 * need - which counters each cause needs, and which causes a switch can show by the counters that
 * it delivers. Pure; the rows stand in need.def.
 */

enum need_kind { NEED_MUST, NEED_HELPS, NEED_NO_COUNTER };

struct need {
	enum cause cause;
	enum need_kind kind;
	const char *words; /* the metrics in plain words */
	const uint16_t *metrics; /* any of these is enough */
	size_t n_metrics; /* 0 with NEED_NO_COUNTER */
};

/* needs_all - every row, those of one cause together; for docs/detectors.md and for tests. Static.
 */
size_t needs_all(const struct need **ret);

enum need_sight {
	NEED_SEES,
	NEED_WEAK, /* seen later, or less surely */
	NEED_BLIND,
	NEED_OTHER /* not seen by counters of a switch: captured packets, or that it answers */
};

#define NEED_MISSING_MAX 8 /* rows of one cause */

/* need_judge - what a switch shows of @cause. @delivered has METRIC_COUNT places. Fills @missing
 * with the rows that are not met and @ret_n with how many: NEED_MUST rows where it is blind, else
 * NEED_HELPS rows. NEED_OTHER for a cause without rows. */
enum need_sight need_judge(enum cause cause, const bool *delivered,
	const struct need *missing[static NEED_MISSING_MAX], size_t *ret_n);

/* need_wants - marks every metric that some row names. @wanted has METRIC_COUNT places. */
void need_wants(bool *wanted);
