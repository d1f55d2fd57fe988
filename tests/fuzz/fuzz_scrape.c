/* Any bytes as a page of an exporter: no crash, nothing beyond the bounds, each sample of a metric
 * that exists, of the host that was asked, and none about one thing twice. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "collectors/scrape/scrape_reader.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS (1795860000LL * 1000000000)

static struct push_map *names;

static void scrape_check(const struct scrape_reader *reader, const struct entities *entities)
{
	size_t n;
	const struct sample *samples = scrape_reader_samples(reader, &n);
	const struct scrape_counts *counts = scrape_reader_counts(reader);
	if (n > SCRAPE_SERIES_MAX || counts->bad_lines > counts->lines || counts->samples != n ||
		strlen(counts->first_unknown) >= SCRAPE_NAME_MAX)
		abort();
	for (size_t i = 0; i < n; i++) {
		const struct entity *entity = entity_get(entities, samples[i].entity);
		const struct metric_info *metric = metric_info(samples[i].metric);
		if (!entity || !metric || strcmp(entity->device, "gpu1") != 0)
			abort();
		if (metric->type == TYPE_F64 && !isfinite(sample_f64(samples[i].value)))
			abort();
		for (size_t k = 0; k < i && n < 100; k++)
			if (samples[k].entity == samples[i].entity &&
				samples[k].metric == samples[i].metric)
				abort();
	}
}

/* Input: a byte that says which format and how large the pieces are, then the page. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct entity_limits limits = {.per_device = 256};
	struct err_list errors = {0};
	static struct profiles *profiles; /* what the names are of: as long as they */
	if (!names && profiles_load(NULL, &profiles, &errors) < 0)
		abort();
	if (!names)
		names = push_map_new(profiles);
	if (size == 0)
		return 0;
	struct entities *entities = entities_new();
	entities_limit(entities, &limits);
	struct scrape_reader *reader = scrape_reader_new(entities, "gpu1", names);
	scrape_reader_begin(reader, NOW_NS);
	scrape_reader_text(reader, (const char *)data + 1, size - 1, data[0] & 1);
	while (scrape_reader_step(reader, 1u + data[0] / 2))
		;
	scrape_check(reader, entities);
	scrape_reader_free(reader);
	entities_free(entities);
	return 0;
}
