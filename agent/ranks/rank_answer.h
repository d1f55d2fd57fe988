/*
 * rank_answer - which rank the others waited for, where it hangs in the fabric, and what the fabric
 * did there at that time: what the database's incidents say, or that it was innocent and how that
 * was seen. Texts are in the arena of the set.
 */
#pragma once

#include "agent/document/shape.h"
#include "agent/document/writer.h"
#include "agent/ranks/collective_set.h"
#include "agent/ranks/late_rank.h"

struct client;

struct rank_row { /* ranks of one host that were late alike, in one operation */
	enum late_kind kind;
	uint64_t rank; /* the first of them */
	const char *ranks; /* all, as "8-15"; of a communicator with own numbers "3 of 0xabc" */
	const char *host, *host_by, *nic, *port, *port_by; /* NULL not known */
	const char *op;
	uint64_t sequence; /* of the worst; COUNT_UNKNOWN */
	const char *comm;
	double octets, late_s, total_s; /* of the worst; of all: NAN not known */
	uint64_t times, of; /* collectives of that operation: such ones, and those judged */
	const char *by; /* "order", "durations" */
	wall_t from, to; /* of all of them, by the ranks' clocks */
	const char *network; /* "named", "path", "innocent", "unknown" */
	const char **incidents; /* ids */
	size_t n_incidents;
	const char *looked; /* what was looked at, or why nothing could be */
	const char *text; /* the row in a sentence */
};

struct rank_answer {
	const char *verdict;
	uint64_t ranks, hosts, collectives, judged, undecided, skipped, incomplete;
	double offset_s;
	const char *job; /* of the fabric, that runs on all these hosts; NULL not known */
	double step_s, exchange_s, waiting_s; /* of struct late_step */
	wall_t to; /* of the last collective */
	struct rank_row *rows; /* most time lost first */
	size_t n_rows;
	const char **notes;
	size_t n_notes;
};
extern const struct shape rank_answer_shape;
extern const char *const rank_kinds[LATE_KINDS];
extern const struct view rank_view; /* of struct rank_answer */

struct rank_ask {
	struct client *client; /* NULL: no fabric is known */
	const char *client_why; /* why not */
	const char *job_file; /* NULL */
	const char *job; /* NULL: the one with as many GPUs as there are ranks */
};

/* rank_answer_make - of a set after its last text. 0, or a negative errno with @e. */
int rank_answer_make(struct collective_set *set, const struct rank_ask *ask,
	struct rank_answer *ret, struct err *e);
