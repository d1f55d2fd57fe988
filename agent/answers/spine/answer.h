/*
 * spine/answer - how even the ECMP groups were over a time range. It is fed the measures of one
 * window at a time and gives the answer of `report spine-imbalance` and `ecmp`. It knows no
 * database and no analyzer. The names in the measures must outlive it (they are the fabric's).
 *
 * A column: its member here; its row and its value in answer.c.
 */
#pragma once

#include "agent/document/shape.h"
#include "config/fabric.h"
#include "db/model/finding.h"
#include "base/base.h"

struct client;
struct config;
struct view;

/* ---- the answer ------------------------------------------------------------------- */

struct spine_member {
	const char *port, *peer; /* peer: NULL unknown */
	double utilization_ratio;
	uint64_t octets;
	double rate_bps; /* mean of the windows in which its link was up */
	uint64_t speed_bps;
	double share_ratio; /* 1: its fair share */
	uint64_t windows_hot; /* over the limit, and this member the hottest */
	enum ecmp_link link; /* in the newest window */
};

struct spine_flow {
	const char *device, *group, *port, *peer, *src, *dst;
	uint64_t src_port, dst_qp, packets, octets, burst_bps;
};

/* The highest busy window of each part of the time range. */
struct spine_over_time {
	wall_t since, until;
	double *worst_ratio;
	size_t n_worst_ratio;
};

/*
 * How even one group was. NAN without busy windows.
 *
 * imbalance_ratio   max/mean-1 of the busy windows together
 * sustained_ratio   the highest value that held for `hold` busy windows in a row (for all of them,
 *                   when there are fewer): what an incident would have opened on
 */
struct spine_group {
	const char *device, *group;
	struct spine_member *members;
	size_t n_members;
	double imbalance_ratio, imbalance_max_minus_min_ratio, cov_ratio, jain_ratio;
	double utilization_ratio; /* NAN without speeds */
	double expected_by_chance_ratio, expected_p95_ratio, expected_p999_ratio, flows_estimate;
	const char *flows_note; /* why flows_estimate is not known */
	const char *persistent_member;
	double persistent_ratio;
	const char *persistent_peer;
	const char *hot_member; /* in the worst window */
	uint64_t windows, windows_over, windows_idle, windows_unknown, members_down;
	double worst_ratio;
	wall_t worst_at;
	double sustained_ratio;
	wall_t over_since;
	bool over_now;
	double coverage_ratio;
	enum maybe static_hash;
	bool out_of_limits; /* what an incident would have opened on, by the verdicts of windows */
	const char *verdict; /* ecmp_verdict_name() */
	struct spine_over_time *over_time; /* NULL: never over the limit */
	double wait_s, usd;
	uint64_t packets, sampling;
	struct spine_flow *flows;
	size_t n_flows;
	const char *incident, *severity; /* of the worst incident about it; NULL: none */
	bool usd_measured; /* .usd is the price of an incident */

	/* What it is judged by. */
	const char *member, *peer; /* persistent, else hot in the worst window; NULL */
	bool chosen; /* the senders chose the path of each packet, and nothing is judged */
	/* packets are spread one by one: the furthest from its fair share that .member was, and the
	 * limit of that; NAN where a hash chooses, or never over the limit */
	bool spread;
	double spread_ratio, spread_limit_ratio;
	uint64_t unknown_last; /* windows without data at the end */
};

struct spine_tiers {
	uint64_t leaves, spines;
};

struct spine_answer {
	wall_t from, to;
	struct spine_tiers tiers;
	double warn_ratio, critical_ratio, load_floor_ratio, window_s;
	uint64_t hold;
	double busy_ratio, coverage_ratio;
	struct spine_group *groups;
	size_t n_groups;
	double wait_s;
	uint64_t gpus;
	double usd_per_gpu_hour, usd_total;
	const char *usd_source;
	const char *summary; /* all groups in one line */
	wall_t since, until; /* the range that was asked for */
	const char *fabric, *verdict; /* verdict: of the report, in one line */
};
#define SPINE_NO_GROUPS                                                                            \
	"no ECMP group of two members or more, or no complete window in this time range"
extern const struct shape spine_answer_shape, spine_group_shape, spine_flow_shape;
extern const struct shape_table spine_table; /* of the groups */
extern const struct view spine_imbalance_view;

/* spine_group_ratio - what a group is judged by: the higher of imbalance_ratio and sustained_ratio;
 * -1 without a busy window, or where the senders choose the paths. */
double spine_group_ratio(const struct spine_group *group);
/* spine_group_windows - in which it was looked at, with or without traffic and data. */
uint64_t spine_group_windows(const struct spine_group *group);
/* spine_group_lacks_data - missing data is not OK: none at all, more than a quarter of the windows,
 * or none at the end. */
bool spine_group_lacks_data(const struct spine_group *group);
/* spine_rows - the groups, for a view. */
const void *spine_rows(const void *answer, size_t *ret_n);

/* spine_group_is_tier - towards a tier; those towards one neighbour or of a bundle are parts of
 * it. */
bool spine_group_is_tier(const struct spine_group *group);
/* spine_group_member - of this port, or NULL. */
const struct spine_member *spine_group_member(const struct spine_group *group, const char *port);

/* ---- how it is made ----------------------------------------------------------------- */

struct spine_options {
	double warn, critical; /* max/mean-1 */
	/* warn is not the one that the measures were judged by. It is that of groups whose members
	 * a hash chooses: where packets are spread one by one, or sent by routes that the senders
	 * chose, the verdict of the measure stays */
	bool own_warn;
	double load_floor; /* mean utilisation at or below which a window is idle */
	uint32_t hold; /* busy windows in a row after which an incident would open */
	int64_t window_ns;
	int64_t from_ns, to_ns; /* the time range, for values over time; 0, 0: none are kept */
};

struct spine_imbalance;
struct spine_imbalance *spine_imbalance_new(const struct spine_options *options);
void spine_imbalance_free(struct spine_imbalance *imbalance);
void spine_imbalance_freep(struct spine_imbalance **imbalance);

/* spine_imbalance_add - one group in one window; windows in order. Returns true when this is the
 * group's most uneven busy window so far: then hand over the flows of its hot member. */
bool spine_imbalance_add(struct spine_imbalance *imbalance, const struct ecmp_measure *measure);
/* spine_imbalance_flows - of the group that was just added; copied. */
void spine_imbalance_flows(
	struct spine_imbalance *imbalance, const struct finding_flow *flows, size_t n);

/* spine_answer_make - what the sums say; it lies in @a and borrows the names of the fabric. */
struct spine_answer *spine_answer_make(const struct spine_imbalance *imbalance,
	const struct fabric *fabric, int64_t from_ns, int64_t to_ns, struct arena *a);
/* spine_price - puts incidents and their prices into the answer. 0, or a negative errno with @e. */
int spine_price(struct client *client, struct spine_answer *answer, struct arena *a, struct err *e);
/* spine_problems - adds problems, missing data, figures and the verdict to the frame @doc, and the
 * verdict to the answer. @own: a user gave limits, which decide; else incidents do. */
void spine_problems(const struct config *config, struct spine_answer *answer, bool own,
	struct arena *a, json_t *doc);
