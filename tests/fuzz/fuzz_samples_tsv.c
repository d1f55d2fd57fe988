/* fuzz_samples_tsv - any bytes as samples.tsv: refused with a place, or samples that the pipeline's
 * own gate lets through. */
#include <stdlib.h>

#include "base/err.h"
#include "collectors/recorded/replay.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct entities *entities = entities_new();
	struct sample_list out = {0};
	struct err e = {0};
	if (replay_parse((const char *)data, size, "fuzz", entities, &out, &e) == 0) {
		for (size_t k = 0; k < out.n; k++) {
			const struct entity *entity = entity_get(entities, out.v[k].entity);
			if (!entity || sample_scope_error(out.v[k].metric, entity) ||
				(k && out.v[k].t_ns < out.v[k - 1].t_ns))
				abort();
		}
		replay_interval(out.v, out.n);
	} else if (out.n != 0 || !e.line) {
		abort();
	}
	free(out.v);
	entities_free(entities);
	return 0;
}
