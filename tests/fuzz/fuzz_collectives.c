/* fuzz_collectives - what a job says of its collectives, from anyone: two texts that meet are
 * judged, or one is refused with a sentence. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "agent/ranks/rank_answer.h"
#include "base/arena.h"
#include "base/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena *a = arena_new();
	struct collective_set set;
	struct rank_answer answer;
	struct err e = {0};
	collective_set_init(&set, a);
	int rc = collective_read(&set, (const char *)data, size, "trace_1.json", &e);
	if (rc == 0)
		rc = collective_read(&set, (const char *)data, size, "trace_2.json", &e);
	if (rc == 0)
		rc = rank_answer_make(&set, &(struct rank_ask){.client_why = "none"}, &answer, &e);
	if (rc < 0 && !*e.text)
		abort();
	collective_set_done(&set);
	arena_free(a);
	return 0;
}
