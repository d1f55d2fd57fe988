/* xray_answer - what `rocewatch xray` answers: which function each switch follows, where flows go,
 * and source ports that spread them. Texts are in the arena of the set. */
#pragma once

#include "agent/document/shape.h"
#include "agent/document/writer.h"
#include "agent/xray/xray_set.h"

struct xray_group_row { /* a group of a switch */
	const char *device, *group; /* group: NULL where the samples name none */
	uint64_t family, samples, flows, members;
	bool learned;
	const char *verdict; /* learned, or a word of the refusal */
	const char *why; /* in a sentence */
	const char *by, *hash; /* NULL: refused; any linear function */
	const char **fields; /* that the hash reads, where it is named */
	size_t n_fields;
	double right_ratio, decided_ratio; /* of the samples held back */
	uint64_t varying, unsure;
	double moved_ratio; /* of repeated flows; NAN: none repeated */
	wall_t changed; /* TIME_UNKNOWN: it did not change, or there are no times */
	uint64_t changed_sample; /* counted from 1; COUNT_UNKNOWN */
};
struct xray_tier_row { /* two switches in a row */
	const char *first, *second, *verdict;
	uint64_t paths, possible, least, rank, bits; /* rank, bits: COUNT_UNKNOWN */
};
struct xray_learn_answer {
	const char *verdict;
	uint64_t samples, left_out;
	struct xray_group_row *groups;
	size_t n_groups;
	struct xray_tier_row *tiers;
	size_t n_tiers;
};
extern const struct shape xray_learn_answer_shape;
extern const struct view xray_learn_view;

struct xray_flow_row {
	const char *device, *src, *dst;
	uint64_t dst_qp, src_port, flow_label; /* COUNT_UNKNOWN: none */
	double weight;
	const char **path; /* "leaf1:Ethernet48" */
	size_t n_path;
	const char *unknown; /* why the path is not known to its end; NULL: it is */
};
struct xray_load_row { /* of a group */
	const char *device, *group;
	uint64_t flows, members;
	double before_ratio, after_ratio; /* max/mean - 1; NAN unknown */
	const char *busiest;
	uint64_t idle; /* members without a flow */
};
struct xray_paths_answer {
	const char *verdict;
	uint64_t known, unknown; /* flows */
	struct xray_flow_row *flows;
	size_t n_flows;
	struct xray_load_row *loads;
	size_t n_loads;
};
extern const struct shape xray_paths_answer_shape;
extern const struct view xray_paths_view;

/* xray_learn_all - learns each group of the set, and finds what lies behind its members. 0, or
 * -EINVAL with @e: a link names what no sample has. */
int xray_learn_all(struct xray_set *set, struct err *e);
/* xray_say_learned - after xray_learn_all(). True: each group was learned, and no two tiers are
 * polarised. */
bool xray_say_learned(struct xray_set *set, struct xray_learn_answer *ret);

struct xray_ports { /* of a prescription */
	uint16_t low, high;
	double goal; /* max/mean - 1 */
};
/* xray_ports_read - from the words of the command or of a request, NULL: not given. 0, or -EINVAL
 * with @e. */
int xray_ports_read(const char *range, const char *goal, struct xray_ports *ret, struct err *e);
/* xray_say_paths - where the flows of the set go. @ports: NULL, or source ports are prescribed
 * first. 0 with *ret_good: all is known, and the goal is reached; -EINVAL with @e: a flow begins at
 * a switch without samples. */
int xray_say_paths(struct xray_set *set, const struct xray_ports *ports,
	struct xray_paths_answer *ret, bool *ret_good, struct err *e);
