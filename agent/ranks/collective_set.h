/*
 * collective_set - which rank was in which collective, when and for how long, as the sources of a
 * job tell it:
 *
 *   flight recorder  PyTorch's ring of the last collectives, format 2.x, as JSON
 *                    (torch/csrc/distributed/c10d/FlightRecorder: dump_json). One file a rank.
 *   inspector        NCCL's profiler plug-in (ext-profiler/inspector, NCCL 2.28 on, output
 *                    format v4): a JSON object a collective and rank.
 *   RAS              what the RAS service of NCCL says of a running job (NCCL 2.24 on, as JSON
 *                    where ncclras knows --format): how many operations each rank has begun.
 *
 * Times are seconds on the clock of their source, counted from .base_ns. They are bounds: a rank
 * began at .begin_lo at the earliest and at .begin_hi at the latest; likewise its end. NAN: not
 * told. Texts come from anybody: they are cleaned and cut. All memory is the arena's. One thread.
 */
#pragma once

#include "base/base.h"

enum { COLLECTIVE_RANKS_MAX = 1 << 20 }; /* a rank's number is below it */

struct collective_rank { /* of the job, or of a communicator with numbers of its own */
	uint64_t rank;
	const char *domain; /* the communicator; "": the job */
	const char *host; /* as the source calls it; "" not told */
	const char *host_by; /* who says so */
	uint64_t gpu; /* of its host; COLLECTIVE_GPU_UNKNOWN */
};
#define COLLECTIVE_GPU_UNKNOWN UINT64_MAX

struct collective_part { /* one rank in one collective */
	uint32_t who; /* position in .ranks */
	uint32_t clock; /* whose clock; position in .clocks */
	double begin_lo, begin_hi, end_lo, end_hi, seconds;
	bool ended;
};

struct collective {
	uint32_t comm; /* position in .comms */
	uint64_t sequence;
	const char *op;
	bool joint; /* nobody's part of it ends before all have begun */
	double octets; /* NAN not told */
	struct collective_part *parts;
	size_t n, cap;
};

struct collective_comm {
	const char *name;
	uint64_t size; /* ranks; 0 not told */
};

struct collective_behind { /* a rank that has begun fewer operations than the others, by RAS */
	uint32_t who, comm;
	const char *op;
	uint64_t begun, others;
};

struct collective_set {
	struct arena *a;
	int64_t base_ns; /* wall; 0: no time was told */
	struct collective_rank *ranks;
	size_t n_ranks, cap_ranks;
	struct collective_comm *comms;
	size_t n_comms, cap_comms;
	const char **clocks;
	size_t n_clocks, cap_clocks;
	struct collective *v;
	size_t n, cap;
	struct collective_behind *behind;
	size_t n_behind, cap_behind;
	const char **notes; /* sentences: what cannot be said, and why */
	size_t n_notes, cap_notes;
	size_t n_parts;
	struct smap *names; /* everything above by its key */
};

void collective_set_init(struct collective_set *set, struct arena *a);
void collective_set_done(struct collective_set *set); /* frees .names; the rest is the arena's */

void collective_note(struct collective_set *set, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * collective_read - takes in one text of any of the three kinds. @name stands for it in messages
 * and is the name of its file: a flight recorder's says which rank it is by the number at its end.
 * 0, or -EINVAL with @e: file, line, what is wrong and what helps. Then @set may not be used.
 * A pickle is refused: it is code.
 */
int collective_read(
	struct collective_set *set, const char *text, size_t n, const char *name, struct err *e);

/*
 * collective_finish - after the last text: a communicator as large as the largest is the whole job,
 * so that its numbers are those of the job, and what several sources say of a rank meets.
 */
void collective_finish(struct collective_set *set);

/* collective_same_host - is @left the same host as @right, domain and case aside? */
bool collective_same_host(const char *left, const char *right);
/* collective_is_address - an address instead of a name; also "". */
bool collective_is_address(const char *host);

/*
 * collective_ras - asks the RAS service at @peer ("HOST", "HOST:PORT" or "[ADDRESS]:PORT"; port
 * 28028 when none is given) for its verbose status as JSON. At most @seconds in all and
 * COLLECTIVE_RAS_MAX bytes. 0 with *@ret (the caller frees) and its length, or a negative errno
 * with @e: peer, what it did, what helps.
 */
#define COLLECTIVE_RAS_MAX ((size_t)64 << 20)
int collective_ras(const char *peer, unsigned seconds, char **ret, size_t *ret_n, struct err *e);
