/*
 * answer - what `rocewatch lint` answers: what would be wrong with a fabric before it is built or
 * changed. Rings of buffers with their witnesses, buffers and marks, the two ends of each link, the
 * paths that failures leave; what was assumed, and what was not judged.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/document/shape.h"
#include "agent/document/writer.h"
#include "analyzers/lint/lint_settings.h"

struct client;

struct lint_witness { /* a ring */
	const char *reroute; /* "converged", "local", "back", "tagged" */
	const char **failed; /* elements; none: the fabric as it stands */
	size_t n_failed;
	const char **ring; /* "leaf1:Ethernet28 -> spine7": the last leads to the first */
	size_t n_ring;
	const char **flows; /* the same steps: the leaf that the packets go to */
	size_t n_flows;
};
struct lint_rings { /* of one way to reroute */
	const char *reroute;
	int priority; /* and of others whose PFC is set alike; -1: of all */
	bool whole;
	uint64_t singles, cyclic_singles, pairs, cyclic_pairs, unjudged_pairs;
	bool walked;
};
struct lint_answer {
	const char *fabric, *source, *verdict;
	uint64_t switches, links, leaves, failures;
	struct lint_finding *findings;
	size_t n_findings;
	struct lint_rings *rings;
	size_t n_rings;
	struct lint_witness *witnesses;
	size_t n_witnesses;
	const char **assumptions, **unjudged;
	size_t n_assumptions, n_unjudged;
};
extern const struct shape lint_answer_shape;
extern const struct view lint_view;

struct lint_ask {
	const char *source; /* what is judged, in words */
	unsigned failures; /* 0 to 2 */
	bool as_read; /* the fabric in force: what switches told wins over what is declared */
	const char *routes; /* file with a table of next hops; NULL: all shortest paths */
	const char *sheet; /* whose changes these are; NULL: as it is */
	const struct lint_change *changes;
	size_t n_changes;
	const char *reroute; /* the way to reroute that is judged; NULL: converged and local */
};

/* lint_ask_read - fills .failures and .reroute from the words of the command or of a request; NULL:
 * not given. 0, or -EINVAL with @e. */
int lint_ask_read(struct lint_ask *ask, const char *failures, const char *reroute, struct err *e);

struct lint_table { /* of next hops */
	const uint64_t *next; /* as those of lint_routes */
	size_t missing; /* pairs of a switch and a leaf without one */
};
/*
 * lint_table_read - reads the table @path: rows "SWITCH LEAF PORT[,PORT...]", where '*' is every
 * leaf that has no row of its own, and '#' begins a comment. A switch and a leaf without a row: the
 * switch drops what is for that leaf. In @a. 0, or -EINVAL with @e.
 */
int lint_table_read(const char *path, const struct lint_graph *graph, struct arena *a,
	struct lint_table *ret, struct err *e);

/* lint_answer_make - judges the fabric of the client's configuration; where there is a database, by
 * what the switches answered last, too. Texts are in @a. 0, or negative errno with @e. */
int lint_answer_make(struct client *client, const struct lint_ask *ask, struct arena *a,
	struct lint_answer *ret, struct err *e);

/* lint_answer_fails - is something worse than an info among the findings? */
bool lint_answer_fails(const struct lint_answer *answer);

/* For a CI. lint_print_sarif - SARIF 2.1.0 (OASIS); lint_print_junit - the XML of JUnit, one case a
 * check. @file is the configuration that findings point to; NULL: none is. 0 or -EIO. */
int lint_print_sarif(FILE *out, const struct lint_answer *answer, const char *file);
int lint_print_junit(FILE *out, const struct lint_answer *answer);
