/* Any bytes as messages of OTLP: no crash, nothing beyond the bounds, every sample of a metric that
 * exists and of a subject that fits it; a message that is refused leaves nothing behind. */
#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "collectors/push/push_feed.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define NOW_NS (1732312800LL * 1000000000)

static struct profiles *profiles;

static void otlp_name(void *arg, const char *name, uint64_t points)
{
	if (points == 0 || strlen(name) >= FEED_NAME_MAX)
		abort();
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && !strchr("_.:-", *p))
			abort();
}

static void otlp_check(const struct push_feed *feed, const struct entities *entities)
{
	size_t n;
	const struct sample *samples = push_feed_samples(feed, &n);
	for (size_t i = 0; i < n; i++) {
		const struct entity *entity = entity_get(entities, samples[i].entity);
		const struct metric_info *metric = metric_info(samples[i].metric);
		if (!entity || !metric || metric->type == TYPE_TEXT)
			abort();
		if (metric->type == TYPE_F64 && !isfinite(sample_f64(samples[i].value)))
			abort();
		if (strcmp(entity->device, "d0") != 0)
			abort();
		const int64_t off_ns = samples[i].t_ns - NOW_NS;
		if (off_ns > 60000000000LL || off_ns < -86400000000000LL)
			abort();
	}
	for (enum push_feed_kind kind = 0; kind < FEED_KINDS; kind++)
		push_feed_named(feed, kind, otlp_name, NULL);
}

static void otlp_take(
	struct push_feed *feed, const struct entities *entities, const uint8_t *data, size_t n)
{
	static const uint8_t address[16] = {[15] = 1};
	struct push_feed_result result;
	size_t before, after;
	uint8_t answer[OTLP_ANSWER_MAX];
	push_feed_samples(feed, &before);
	const int rc = push_feed_take(feed, address, data, n, NOW_NS, &result);
	push_feed_samples(feed, &after);
	if (rc < 0 && after != before)
		abort();
	if (rc == 0 && (result.refused > result.points || after - before > result.points))
		abort();
	if (otlp_answer(answer, result.refused, result.message) > sizeof(answer))
		abort();
	otlp_check(feed, entities);
}

/* Input: messages, each after two bytes with its length; the last one also as something packed. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"leaf1", "10.0.0.1"};
	struct config_device_push push = {.names = names, .n_names = 2};
	struct config_device device = {.name = "d0", .push = &push};
	const struct config config = {.devices = &device, .n_devices = 1};
	struct err_list errors = {0};
	if (!profiles && profiles_load(NULL, &profiles, &errors) < 0)
		abort();
	struct entities *entities = entities_new();
	const struct push_feed_options options = {
		.entities = entities, .profiles = profiles, .source = SOURCE_PUSH, .seed = 7};
	struct push_feed *feed = push_feed_new(&options);
	push_feed_devices(feed, &config);
	while (size > 2) {
		size_t n = (size_t)data[0] << 8 | data[1];
		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		uint8_t *exact = malloc(n ? n : 1), *unpacked;
		size_t n_unpacked;
		memcpy(exact, data, n);
		otlp_take(feed, entities, exact, n);
		if (inflate_bytes(exact, n, 1 << 20, &unpacked, &n_unpacked) == 0) {
			otlp_take(feed, entities, unpacked, n_unpacked);
			free(unpacked);
		}
		free(exact);
		data += n;
		size -= n;
	}
	push_feed_free(feed);
	entities_free(entities);
	return 0;
}
