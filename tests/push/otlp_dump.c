/* otlp_dump - what the receiver makes of a message: one line for each sample, and one that counts.
 * For tests. Devices: 0 calls itself leaf1, 1 host7. usage: otlp_dump FILE NOW_NS */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "collectors/push/push_feed.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

static void dump_sample(const struct entities *entities, const struct sample *sample)
{
	const struct entity *entity = entity_get(entities, sample->entity);
	const struct metric_info *metric = metric_info(sample->metric);
	char flags[SAMPLE_FLAGS_TEXT_MAX];
	printf("%s\t%s\t%d\t%s\t%" PRId64 "\t", entity->device, entity->port, entity->priority,
		metric->name, sample->t_ns);
	if (metric->type == TYPE_F64)
		printf("%.6f", sample_f64(sample->value));
	else
		printf("%" PRIu64, sample->value);
	printf("\t%s\n", sample_flags_text(flags, sample->flags));
}

int main(int argc, char **argv)
{
	static const char *const leaf_names[] = {"leaf1"}, *const host_names[] = {"host7"};
	struct config_device_push leaf = {.names = leaf_names, .n_names = 1},
				  host = {.names = host_names, .n_names = 1};
	struct config_device devices[] = {
		{.name = "d0", .push = &leaf}, {.name = "d1", .push = &host}};
	const struct config config = {.devices = devices, .n_devices = 2};
	const uint8_t address[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1};
	struct err_list errors = {0};
	struct profiles *profiles;
	struct push_feed_result result;
	char *data;
	size_t n;
	if (argc < 3 || str_read_file(argv[1], 64 << 20, &data, &n, NULL) < 0 ||
		profiles_load(NULL, &profiles, &errors) < 0)
		return 2;
	struct entities *entities = entities_new();
	const struct push_feed_options options = {
		.entities = entities, .profiles = profiles, .source = SOURCE_PUSH, .seed = 7};
	struct push_feed *feed = push_feed_new(&options);
	push_feed_devices(feed, &config);
	const int rc = push_feed_take(
		feed, address, (const uint8_t *)data, n, strtoll(argv[2], NULL, 10), &result);
	const struct push_feed_counts *counts = push_feed_counts(feed);
	const struct sample *samples = push_feed_samples(feed, &n);
	for (size_t i = 0; i < n; i++)
		dump_sample(entities, &samples[i]);
	printf("rc=%d points=%" PRIu64 " refused=%" PRIu64 " unknown=%" PRIu64
	       " unsupported=%" PRIu64 " delta=%" PRIu64 " no_device=%" PRIu64 " %s\n",
		rc, result.points, result.refused, counts->unknown_points, counts->unsupported,
		counts->delta, counts->no_device, result.message);
	push_feed_free(feed);
	entities_free(entities);
	profiles_free(profiles);
	free(data);
	return 0;
}
