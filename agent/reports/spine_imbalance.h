/*
 * spine_imbalance - ECMP groups over a stretch of time: fed one window's measures at a time, told
 * as a document (metrics.md) and as text. Knows no database and no analyzer. Names in the measures
 * must outlive the report (they are the fabric's).
 */
#ifndef RW_REPORTS_SPINE_IMBALANCE_H
#define RW_REPORTS_SPINE_IMBALANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/document/writer.h"
#include "config/fabric.h"
#include "db/model/ecmp.h"

struct spine_options {
	double warn, load_floor;
	uint32_t hold;
	int64_t window_ns;
};

struct spine_imbalance;
struct spine_imbalance *spine_imbalance_new(const struct spine_options *options);
void spine_imbalance_free(struct spine_imbalance *imbalance);
void spine_imbalance_freep(struct spine_imbalance **imbalance);

/* One group in one window; windows in order. Returns true when this is the group's most uneven busy
 * window so far: then the flows of its hot member are worth handing over. */
bool spine_imbalance_add(struct spine_imbalance *imbalance, const struct ecmp_measure *measure);
/* of the group just added; copied */
void spine_imbalance_flows(
	struct spine_imbalance *imbalance, const struct finding_flow *flows, size_t n);

/* How even one group was. imbalance_ratio is that of the busy windows together; sustained_ratio the
 * highest that held for `hold` busy windows in a row (all of them, when there are fewer): what an
 * incident would have opened on. NAN without busy windows. */
struct spine_group {
	/* member: persistent, else hot in the worst window; NULL */
	const char *device, *group, *member, *peer;
	double imbalance_ratio, sustained_ratio, expected_ratio, expected_p999_ratio, flows;
	uint64_t windows, over, idle, unknown;
	uint32_t unknown_last; /* windows without data at the end */
	size_t n_down;
};
size_t spine_imbalance_groups(const struct spine_imbalance *imbalance);
void spine_imbalance_group(
	const struct spine_imbalance *imbalance, size_t i, struct spine_group *ret);

/* The document of `report spine-imbalance`; the caller owns it. */
json_t *spine_imbalance_json(const struct spine_imbalance *imbalance, const struct fabric *fabric,
	int64_t from_ns, int64_t to_ns);
extern const struct view spine_imbalance_view;

#endif
