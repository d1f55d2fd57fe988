/* metrics_page - what the families of the page share: what was read, and how a sample is written.
 * For agent/exporter/metrics*.c only. */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/answers/watch/watch_frame.h"
#include "agent/answers/watch/watch_now.h"
#include "agent/client/peek.h"
#include "agent/exporter/metrics.h"

enum { METRICS_LABELS_MAX = 8 };

struct metrics_label {
	const char *name, *value; /* value NULL: the label is left out */
};

struct metrics_cut { /* a family that was cut */
	const char *family;
	size_t dropped;
};

struct metrics_page {
	FILE *out;
	struct client *client;
	struct metrics_options options;
	struct arena *arena;
	const struct watch_answer *frame; /* NULL: no database could be read */
	const struct watch_now *now;
	const json_t *health; /* key -> number, what the agent says of itself */
	struct canary_state canary;
	const struct metrics_family *family; /* the one that is being written */
	struct metrics_cut *cuts;
	size_t n_cuts, cap_cuts;
};

/* Families that belong together, one file each. */
struct metrics_group {
	const struct metrics_family *rows;
	size_t n_rows;
};
extern const struct metrics_group metrics_agent_group, metrics_alert_group, metrics_ship_group,
	metrics_fabric_group, metrics_port_group;

/* metrics_suffix - what a sample's name has after the name of its family. */
const char *metrics_suffix(enum metrics_type type);
/* metrics_put - one sample of the family under way; NAN is not written. @labels ends with a NULL
 * name; NULL: none. */
void metrics_put(struct metrics_page *page, const struct metrics_label *labels, double value);
/* metrics_put_states - for each of @names a sample that is 1 where it is @state, else 0; the label
 * @key is added to @labels. */
void metrics_put_states(struct metrics_page *page, const struct metrics_label *labels,
	const char *key, const char *const *names, size_t n, const char *state);
/* metrics_cut - @dropped subjects of the family under way do not stand on the page. */
void metrics_cut(struct metrics_page *page, size_t dropped);
/* metrics_is_stale - is the data too old to say anything about now? Then numbers of the fabric are
 * left out: a monitoring system would take them for new. */
bool metrics_is_stale(const struct metrics_page *page);
/* metrics_member - the number at byte @at of a struct. */
static inline double metrics_member(const void *row, size_t at)
{
	return *(const double *)(const void *)((const char *)row + at);
}
/* metrics_health - a number the agent says of itself; NAN unknown. */
double metrics_health(const struct metrics_page *page, const char *key);

/* What rows of families name as .emit: metrics_put_health() writes the number .key of the agent's
 * report about itself. metrics_put_named() writes one line for each NAME where the report says
 * "FAMILY/NAME/WORD", with .key "FAMILY/?/WORD"; .labels is what NAME is called; a name has no
 * '/'. metrics_put_named_well() writes 1 where that number is 0, else 0. */
void metrics_put_health(struct metrics_page *page);
void metrics_put_named(struct metrics_page *page);
void metrics_put_named_well(struct metrics_page *page);
