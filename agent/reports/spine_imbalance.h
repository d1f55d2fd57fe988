/*
 * spine_imbalance - how even the ECMP groups were over a time range. It is fed the measures of one
 * window at a time and gives the document of `report spine-imbalance`. It knows no database and no
 * analyzer. The names in the measures must outlive it (they are the fabric's).
 */
#ifndef RW_REPORTS_SPINE_IMBALANCE_H
#define RW_REPORTS_SPINE_IMBALANCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config/fabric.h"
#include "db/model/ecmp.h"

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
const struct spine_options *spine_imbalance_options(const struct spine_imbalance *imbalance);

/* spine_imbalance_add - one group in one window; windows in order. Returns true when this is the
 * group's most uneven busy window so far: then hand over the flows of its hot member. */
bool spine_imbalance_add(struct spine_imbalance *imbalance, const struct ecmp_measure *measure);
/* spine_imbalance_flows - of the group that was just added; copied. */
void spine_imbalance_flows(
	struct spine_imbalance *imbalance, const struct finding_flow *flows, size_t n);

/*
 * How even one group was. NAN without busy windows.
 *
 * imbalance_ratio   max/mean-1 of the busy windows together
 * sustained_ratio   the highest value that held for `hold` busy windows in a row (for all of them,
 *                   when there are fewer): what an incident would have opened on
 */
struct spine_group {
	/* member: persistent, else hot in the worst window; NULL */
	const char *device, *group, *member, *peer;
	/* out_of_limits: what an incident would have opened on, by the verdicts of the windows.
	 * chosen: the senders chose the path of each packet, and nothing is judged */
	bool out_of_limits, chosen;
	/* packets are spread one by one: the furthest from its fair share that .member was, and the
	 * limit of that; NAN where a hash chooses, or never over the limit */
	bool spread;
	double spread_ratio, spread_limit_ratio;
	double imbalance_ratio, sustained_ratio, expected_ratio, expected_p999_ratio, flows;
	uint64_t windows, over, idle, unknown;
	uint32_t unknown_last; /* windows without data at the end */
	size_t n_down;
};
size_t spine_imbalance_groups(const struct spine_imbalance *imbalance);
void spine_imbalance_group(
	const struct spine_imbalance *imbalance, size_t i, struct spine_group *ret);

/* spine_group_ratio - what a group is judged by: the higher of imbalance_ratio and sustained_ratio;
 * -1 without a busy window, or where the senders choose the paths. */
double spine_group_ratio(const struct spine_group *group);
/* spine_group_windows - in which it was looked at, with or without traffic and data. */
uint64_t spine_group_windows(const struct spine_group *group);
/* spine_group_lacks_data - missing data is not OK: none at all, more than a quarter of the windows,
 * or none at the end. */
bool spine_group_lacks_data(const struct spine_group *group);

/* spine_imbalance_json - the document without the frame of a report; the caller owns it. */
json_t *spine_imbalance_json(const struct spine_imbalance *imbalance, const struct fabric *fabric,
	int64_t from_ns, int64_t to_ns);

#endif
