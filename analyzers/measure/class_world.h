/*
 * class_world - in which congestion world a class (priority) lives: what keeps it lossless, how its
 * queues mark, what slows its senders down, whether switches trim, who chooses the path. Each word
 * comes with its source, and a word that nothing says is unknown.
 *
 * A pure function of facts: what the configuration declares, what devices report of their settings,
 * what counters and packets show. What was read back goes before what was declared, and a
 * difference between them is told. Advice asks this before it speaks of a threshold.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/observe.h"
#include "config/class_policy.h"
#include "config/fabric.h"
#include "db/series/series.h"

/* ---- lb_read --------------------------------------------------------------- */

/*
 * lb_read - how a device spreads load over equal paths: what it reports (cfg.lb_mode) wins over
 * what is declared. Pure.
 */

/*
 * lb_parse - the policy that a device's word for its balancing means: a word of
 * policy.load_balancing, or a vendor's (SAI_ARS_MODE_PER_PACKET_QUALITY, "dynamic"). False: not
 * known.
 */
bool lb_parse(const char *text, enum lb_policy *ret);

/* lb_read - what @device reports in the window, as it says it; NULL: nothing. @ret is set where the
 * word is known; @ret_known says whether. */
const char *lb_read(
	const struct window *window, const char *device, enum lb_policy *ret, bool *ret_known);

/* lb_contradicts - can what a device reports not be what was declared? */
bool lb_contradicts(enum lb_policy declared, enum lb_policy told);

/* lb_of_group - what holds for a group: its own declaration, else what its device reports, else
 * what is declared for the device. */
enum lb_policy lb_of_group(const struct window *window, const struct fabric_group *group);

/* lb_sprays - are packets of one flow spread one by one, so that members must carry the same? */
static inline bool lb_sprays(enum lb_policy lb)
{
	return lb == LB_PACKET;
}

/* ---- class_world ----------------------------------------------------------- */

/* Where a word comes from. ASSUMED: the default of a key that nobody wrote down. */
enum world_source { WORLD_UNKNOWN, WORLD_ASSUMED, WORLD_DECLARED, WORLD_SEEN, WORLD_READ };
const char *world_source_name(enum world_source source); /* "unknown" ... "read back" */

enum world_lossless { WORLD_LOSSLESS_UNKNOWN, WORLD_BY_PFC, WORLD_BY_CREDITS, WORLD_NOT_LOSSLESS };
/* ON: it marks, and whether bytes or shares count is not known */
enum world_ecn {
	WORLD_ECN_UNKNOWN,
	WORLD_ECN_OFF,
	WORLD_ECN_ON,
	WORLD_ECN_ABSOLUTE,
	WORLD_ECN_RELATIVE,
	WORLD_ECN_MIXED
};
enum world_trim { WORLD_TRIM_UNKNOWN, WORLD_TRIM_OFF, WORLD_TRIM_ON };
/* in the order of enum lb_policy, from 1 on; MIXED: devices differ */
enum world_paths { WORLD_PATHS_UNKNOWN, WORLD_PATHS_FIRST, WORLD_PATHS_MIXED = LB_COUNT + 1 };

/* The words, as documents have them; "unknown" for 0. */
const char *world_lossless_name(enum world_lossless lossless); /* "pfc" "credits" "none" */
const char *world_ecn_name(enum world_ecn ecn); /* "off" "on" "absolute" "relative" "mixed" */
const char *world_trim_name(enum world_trim trim); /* "off" "on" */
const char *world_paths_name(enum world_paths paths); /* "static" ... "source_routed" "mixed" */

/* What is known of one class, before anything is concluded. Counts are of ports or devices. */
struct world_facts {
	const struct fabric *fabric;
	int priority;
	/* ports of the class that report a setting, by its value */
	unsigned pfc_on, pfc_off, credit_on, credit_off, ecn_on, ecn_off, relative, absolute,
		kmin_bytes, trim_on, trim_off;
	unsigned lb[LB_COUNT]; /* devices by what they report */
	unsigned lb_mixed, lb_strange; /* whose parts differ; whose word is not known */
	const char *lb_strange_text; /* of one whose word is not known */
	/* counters that moved, over the class; NAN: not told */
	double pause_frames, marked, trimmed;
	/* captured packets, as seen; NAN: no capture */
	double cnp, uet, srv6;
	double spray_ratio; /* of captured octets whose packets choose their path one by one */
};

struct world_word {
	int value; /* of the enumeration; 0 unknown */
	enum world_source source;
	bool seen; /* counters or packets agree */
};

enum { WORLD_DIFFERENCES = 8 };

struct class_world {
	int priority;
	struct world_word lossless; /* enum world_lossless */
	struct world_word ecn; /* enum world_ecn */
	struct world_word control; /* enum congestion_policy + 1 */
	struct world_word trim; /* enum world_trim */
	struct world_word paths; /* enum world_paths */
	/* what is declared and what devices, counters or packets say cannot both be true; sentences
	 * in the arena */
	const char *differences[WORLD_DIFFERENCES];
	size_t n_differences;
};

/* class_world_of - what follows from @facts. Sentences live in @a. */
void class_world_of(const struct world_facts *facts, struct arena *a, struct class_world *ret);

/* class_world_facts - the facts of one window: settings, counters, and the flows of captures. What
 * only the agent's own counts know (UET, SRv6) is left NAN. */
void class_world_facts(const struct observed *observed, int priority, struct world_facts *ret);

/*
 * class_world_tell - each number of @facts that is known, with a name; a strange word of a device
 * is a part of its name. class_world_take - the same back, into facts that class_world_blank()
 * made; the name lives in @a. False: no such fact. So facts of one process are facts of another.
 */
typedef void class_fact_fn(void *arg, const char *name, double value);
void class_world_tell(const struct world_facts *facts, class_fact_fn *fn, void *arg);
bool class_world_take(struct world_facts *facts, const char *name, double value, struct arena *a);

/* class_world_blank - nothing is known of the class yet. */
struct world_facts class_world_blank(const struct fabric *fabric, int priority);

/*
 * class_world_line - one line for people:
 * "priority 3: lossless by PFC (read back), ECN absolute (read back), DCQCN (declared, CNPs seen),
 * static hash (assumed)".
 */
const char *class_world_line(const struct class_world *world, struct arena *a);

/* The part of the line behind "priority 3: ". */
const char *class_world_words(const struct class_world *world, struct arena *a);

/* The metrics that the facts rest on, for a window of their own. */
extern const uint16_t class_world_metrics[];
extern const size_t class_world_n_metrics;
