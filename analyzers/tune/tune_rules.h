/*
 * tune_rules - diagnosis before dose: which signs the evidence shows at one lossless priority of
 * one switch, the decision table they are matched against, and what has to be mended before any
 * threshold is touched. Pure; lives in the arena of tune_in.
 *
 * A sign is yes, no or not known; a row asks for some and excludes others, and the first that fits
 * names the diagnosis. Pause between switches moves on, so switches that pause one another form one
 * pause tree: what holds the tree up (a host that pauses us, a ring, a damaged link) explains the
 * pause of all of it, and the thresholds of the queue where it begins are judged, not those of the
 * switches that only pass it on.
 *
 * The table and its sources are printed into docs/tuning.md ("Decision table"). Directions: tx
 * pause = we paused the neighbour.
 */
#pragma once

#include "analyzers/tune/tune.h"
#include "analyzers/tune/tune_evidence.h"

enum tune_family {
	FAMILY_NONE,
	FAMILY_HEADROOM,
	FAMILY_LESS_HEADROOM,
	FAMILY_ALPHA_THEN_ECN,
	FAMILY_ECN_UP,
	FAMILY_XON
};

enum tune_sign {
	/* we pause hosts in this tree: above 0.1 % in 3 of the last 5 busy windows, and over the
	   range or in all 5 */
	T_HOSTS_PAUSED = 1 << 0,
	T_PAUSES = 1 << 1, /* this switch pauses neighbours */
	T_PASSED_ON = 1 << 2, /* ... because switches further on pause it */
	T_NO_MARKS = 1 << 3, /* next to nothing is marked while we pause */
	/* the queue that marks most marks more than 5 % of what it sends, in 3 of the last 5 */
	T_MANY_MARKS = 1 << 4,
	T_WIDESPREAD = 1 << 5, /* ... and so do most of the busy queues */
	T_TO_HOST = 1 << 6, /* ... and it leads to a host, which does not pause it */
	T_LATE = 1 << 7, /* settings: Kmin above half of the depth at which PFC fires */
	T_PFC_FIRST = 1 << 8, /* settings: Kmin at or above that depth */
	T_EARLY = 1 << 9, /* settings: Kmin below one bandwidth-delay product */
	/* frames of the priority were lost at ingress although we paused the sender */
	T_LOST = 1 << 10,
	T_FULL = 1 << 11, /* headroom was used by 90 % or more */
	T_POOL_FULL = 1 << 12, /* the shared pool was full */
	T_SHORT = 1 << 13, /* pauses end within two round trips of the link */
	/* settings: less than two lossless packets between XOFF and XON */
	T_CLOSE = 1 << 14,
	/* headroom peaks below a quarter of its size at all ports, for a week */
	T_IDLE_ROOM = 1 << 15,
	T_FROM_HOST = 1 << 16, /* a host pauses the tree */
	T_INCIDENT = 1 << 17, /* an open incident names the row's cause here */
	/* settings: Kmax above the depth at which PFC fires: marks are too few before that */
	T_FLAT = 1 << 19,
	/* settings: Kmin below a quarter of one bandwidth-delay product */
	T_FAR_EARLY = 1 << 18,
	/* settings: one port alone may take more than half of the pool (alpha above 1) */
	T_GREEDY = 1 << 20,
	/* some switch of the class holds another back for more than 5 % of busy time */
	T_LINKS_PAUSED = 1 << 21,
};
struct tune_signs {
	uint32_t known, yes;
	/* causes that open incidents name here; T_INCIDENT is of the row that is tried */
	enum cause named[4];
	size_t n_named;
	/* something else than DCQCN holds the senders of the class back: rows that turn ECN are
	 * not tried, so that they hide no row that may be advised */
	bool without_ecn;
};
static inline void tune_sign_set(struct tune_signs *signs, uint32_t what, bool yes)
{
	signs->known |= what;
	if (yes)
		signs->yes = signs->yes | what;
	else
		signs->yes = signs->yes & ~what;
}

struct tune_rule {
	int row; /* of the decision table; 0: of ours, where the table says nothing */
	enum cause cause; /* CAUSE_NONE: nothing is wrong, look no further */
	uint32_t yes; /* all of these are known to be so */
	uint32_t no; /* all of these are known not to be so */
	uint32_t not_yes; /* none of these is known to be so */
	enum tune_family family;
	double confidence;
	/* false: the settings that would prove it are not known: watch, with what to collect */
	bool certain;
	const char *rests_on, *do_not, *risk;
};

struct tune_site { /* one lossless priority of one switch */
	const struct tune_device *device;
	int priority;
	/* places of one priority whose switches pause one another have the same */
	unsigned tree;
	struct tune_signs signs;
	const struct tune_prio *paused; /* the neighbour we pause most, hosts first; NULL */
	/* the queue that marks most, else the deepest: where the pressure is; NULL */
	const struct tune_prio *hot;
	/* the priority group that lost most, or whose headroom was fullest; NULL */
	const struct tune_prio *short_of;
	const struct tune_prio *flapping; /* the one that pauses and resumes most often; NULL */
	/* largest share of time we paused a host of the tree, busy windows, upper bound; NAN */
	double host_pause;
	const struct tune_prio *host_paused; /* the port here that has it; NULL: another site's */
	bool measured; /* ... by the device, not a bound from frames */
	double marks; /* of .hot; NAN */
	/* depth at which PFC fires, by the settings; where watermarks say that it fires earlier, by
	 * these. NAN unknown */
	/* what one slice shares; halved where slicing is not known */
	double pool_bytes;
	bool slices_unknown, by_watermark;
	/* residual: |watermark - model| / model; NAN nothing to compare */
	double inputs, q_pfc, q_pfc_model, residual;
	double q_pfc_most; /* by the settings, with all of the pool in one slice */
	double speed_bps, bdp; /* of the fastest port with the priority; NAN */
	/* of the newest five windows, those in which the symptom stands */
	unsigned agreeing;
	const struct tune_rule *is; /* NULL: nothing of the table */
};

/* What has to be mended first: rows 6-10, 12 and 13, from incidents, and from evidence where none
 * was raised. */
struct tune_fault {
	int row;
	/* id: of the incident, NULL: seen in the evidence only */
	enum cause cause;
	const char *device, *port, *host, *id;
	int priority; /* PRIO_NONE: all */
	bool everywhere; /* its place is not told: it may touch any pause tree */
	double confidence;
	const char *summary;
	const char *steps[4];
	size_t n_steps;
	struct evidence proof; /* .metric NULL: the incident's own */
};

struct tune_case { /* all that is known, sorted out */
	const struct tune_in *in;
	struct tune_site *sites;
	size_t n_sites; /* by priority, then in the fabric's order */
	struct tune_fault *faults;
	size_t n_faults; /* incidents first */
};

/* A row of the decision table: what it is about, and where that is published. */
struct tune_row {
	const char *about, *source;
	const char *cite; /* "docs/tuning.md, row 3; DCQCN, SIGCOMM 2015, section 4" */
};
enum { TUNE_ROWS = 14 }; /* row 0: what the table has no number for */
const struct tune_row *tune_row(int row);

/* tune_sign_name - "hosts paused", for docs/tuning.md; NULL: no such bit. */
const char *tune_sign_name(uint32_t sign);
/* tune_family_name - "alpha, then Kmin and Kmax", for docs/tuning.md. */
const char *tune_family_name(enum tune_family family);

/* For tests and for the manual: the rule that fits, NULL. */
const struct tune_rule *tune_rule_match(const struct tune_signs *signs);
extern const struct tune_rule tune_rules[];
extern const size_t tune_n_rules;

/* Lanes of a place: for (const struct tune_prio *l = NULL; (l = tune_next_prio(p, l));) */
const struct tune_prio *tune_next_prio(const struct tune_site *site, const struct tune_prio *prio);
const struct tune_port *tune_port_at(
	const struct tune_device *device, const struct fabric_port *port);
/* What is known of the kind of switch; NULL: nothing. */
const struct tune_platform *tune_platform_of(
	const struct tune_in *in, const struct tune_device *device);
/* Does the port of @prio lead to a host that is in none of the declared jobs: storage? false where
 * no job is declared. @prio may be NULL. */
bool tune_is_storage(const struct fabric *fabric, const struct tune_prio *prio);
/* The queue to storage that a switch of the pause tree of @site pauses for; NULL: none. */
const struct tune_prio *tune_storage_of(
	const struct tune_case *tune_case, const struct tune_site *site);
/* The same kind of neighbour (host or switch), the same cable and the same known speed? */
bool tune_same_link(const struct tune_device *left, const struct fabric_port *left_port,
	const struct tune_device *right, const struct fabric_port *right_port);
/* Declared speed, else that read back; NAN. */
double tune_speed(const struct tune_device *device, const struct fabric_port *port);
/* Do hosts of several speeds share the switch? */
bool tune_has_mixed_speeds(const struct tune_device *device);
/* How many of the newest five busy windows have the bit. */
unsigned tune_recent(const struct tune_prio *prio, uint8_t bits);

enum { TUNE_NEEDED = 3, TUNE_OF = 5 };
#define TUNE_ALPHA_MOST 1.0 /* one port alone gets half of a free pool; nobody needs more */
/* Where frames are lost alpha goes down no further than that: one port alone may take four fifths
 * of a free pool. Less pauses those that are not congested. */
#define TUNE_ALPHA_GREEDY 4.0

/* ---- tune_words ------------------------------------------------------------ */

/*
 * tune_words - sizes, shares, thresholds and pause as the sentences of a sheet say them. Sentences
 * are the switch's: "we paused X" is tx pause. Text lives in the arena.
 */

const char *tune_size_text(struct arena *a, double bytes); /* "1.46 MB", "730 KB", "512 B" */
const char *tune_percent(struct arena *a, double ratio); /* "0.25 %", "33 %" */
/* tune_value_text - a threshold in its unit: "730.0 KB", "10 %", "1/8", "unknown". */
const char *tune_value_text(struct arena *a, enum tune_knob knob, double value);
/* tune_neighbour - name of the host or switch at the other end of the port. */
const char *tune_neighbour(const struct tune_prio *prio);
/* tune_pause_text - "leaf1 paused h2 12 % of busy time at Ethernet8 (priority 3)" */
const char *tune_pause_text(struct arena *a, const struct tune_site *site);

/* tune_need_text - what is missing, and how this kind of switch tells it. tune_need_how - only how
 * it is reported or set there; NULL: the profile does not say, or the kind of switch is not known.
 */
const char *tune_need_text(
	struct arena *a, enum tune_need need, const struct tune_platform *platform);
const char *tune_need_how(enum tune_need need, const struct tune_platform *platform);
