/* spine_problems - what the spine-imbalance report calls a problem, which data it misses, and its
 * figures. */
#ifndef RW_REPORTS_SPINE_PROBLEMS_H
#define RW_REPORTS_SPINE_PROBLEMS_H

#include <jansson.h>

struct config;
struct spine_imbalance;

/* spine_problems - completes the frame (report_frame.h) of @doc, which has the groups of @sums in
 * their order. A group is judged as `check ecmp` judges it. */
void spine_problems(const struct config *config, const struct spine_imbalance *sums, json_t *doc);

#endif
