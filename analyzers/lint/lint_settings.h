/*
 * lint_settings - what is declared or read back, held against what the fabric can bring: headroom
 * of each lossless priority and of the whole pool, ECN before PFC for every number of busy queues,
 * and what is left of the paths after one failure. Pure: the formulas are those of
 * analyzers/measure/formulas.h.
 */
#pragma once

#include "analyzers/lint/lint_graph.h"
#include "analyzers/measure/observe.h"

enum lint_severity { LINT_CRITICAL, LINT_WARNING, LINT_INFO, LINT_SEVERITIES };
extern const char *const lint_severity_words[LINT_SEVERITIES];

struct lint_finding {
	enum lint_severity severity;
	const char *check; /* what was judged; never changes: "headroom" */
	const char *device, *port; /* NULL: of the whole fabric, of the whole device */
	int priority; /* -1: none */
	const char *text, *remedy;
	double by; /* how far it is off: more is worse, of the same check; 0: it is or it is not */
	const char *same; /* findings alike in this are one row; NULL: in .text */
};
struct lint_list {
	struct arena *arena; /* of texts and rows */
	struct lint_finding *findings;
	size_t n, cap;
	const char **unjudged; /* sentences: what could not be judged, and what it would take */
	size_t n_unjudged, cap_unjudged;
};

/* lint_found - adds a finding; texts are copied. */
void lint_found(struct lint_list *list, const struct lint_finding *finding, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* lint_unjudged - adds a sentence. */
void lint_unjudged(struct lint_list *list, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

struct lint_change { /* of thresholds, as a sheet would make it; NAN: stays */
	const char *device;
	const char *const *ports; /* native names */
	size_t n_ports; /* 0: all of the device */
	int priority;
	double kmin_bytes, alpha, headroom_bytes;
};
struct lint_settings_in {
	const struct lint_graph *graph;
	/* what was read back wins over what is declared; NULL: nothing was */
	const struct observed *observed;
	const struct lint_change *changes; /* and they win over both */
	size_t n_changes;
};
/* lint_paused_priorities - which are lossless by PFC: bit n = priority n. */
unsigned lint_paused_priorities(const struct fabric *fabric);
struct lint_class { /* priorities whose PFC is set alike */
	const bool *lossless; /* by .first_port + port; NULL: all */
	int priority; /* the first of them; -1: all that are lossless */
};
/* lint_classes - fills @ret, of FABRIC_CLASSES, by what @observed says of PFC (NULL: as declared);
 * in @a. How many, at least one. */
size_t lint_classes(const struct lint_graph *graph, const struct observed *observed,
	struct arena *a, struct lint_class *ret);
/* lint_settings - everything above, of all devices of the fabric. */
void lint_settings(const struct lint_settings_in *in, struct lint_list *list);

/* lint_worsened - what @after finds and @before does not, or less badly; infos do not count. NULL:
 * nothing. Lent from @after. */
const struct lint_finding *lint_worsened(
	const struct lint_list *before, const struct lint_list *after);
