/* class_worlds - reads a minute of the history and says of each class what follows. */
#include "agent/reports/class_worlds.h"

#include <errno.h>
#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/reports/capture_facts.h"
#include "analyzers/measure/class_world.h"
#include "analyzers/measure/input.h"
#include "config/config.h"
#include "db/series/history.h"

#define LEAST_NS (60 * NS_PER_S)

static json_t *world_word_json(const char *word, const struct world_word *from)
{
	json_t *o = json_object();
	json_object_set_new(o, "word", json_string(word));
	json_object_set_new(o, "source", json_string(world_source_name(from->source)));
	json_object_set_new(o, "seen", json_boolean(from->seen));
	return o;
}

static const char *control_word(const struct class_world *world)
{
	if (world->control.source == WORLD_ASSUMED)
		return "unknown";
	return congestion_policy_name((enum congestion_policy)(world->control.value - 1));
}

static json_t *class_world_json(const struct class_world *world, struct arena *a)
{
	json_t *o = json_object(), *differences = json_array();
	for (size_t i = 0; i < world->n_differences; i++)
		json_array_append_new(differences, json_string_or_null(world->differences[i]));
	const char *paths = world_paths_name((enum world_paths)world->paths.value);
	if (world->paths.source == WORLD_ASSUMED)
		paths = "unknown";
	const struct {
		const char *key, *word;
		const struct world_word *from;
	} words[] = {
		{"lossless_by", world_lossless_name((enum world_lossless)world->lossless.value),
			&world->lossless},
		{"ecn", world_ecn_name((enum world_ecn)world->ecn.value), &world->ecn},
		{"congestion", control_word(world), &world->control},
		{"load_balancing", paths, &world->paths},
		{"trimming", world_trim_name((enum world_trim)world->trim.value), &world->trim},
	};
	json_object_set_new(o, "priority", json_integer(world->priority));
	json_object_set_new(o, "line", json_string_or_null(class_world_line(world, a)));
	for (size_t i = 0; i < rw_countof(words); i++)
		json_object_set_new(o, words[i].key, world_word_json(words[i].word, words[i].from));
	json_object_set_new(o, "differences", differences);
	return o;
}

/* The agent's captures count what no flow row holds. */
static void add_captures(
	const struct client *client, const json_t *health, struct world_facts *facts)
{
	const struct config *config = client->config;
	for (size_t i = 0; health && i < config->n_captures; i++) {
		const double uet = capture_fact(health, config->captures[i].name, "uet");
		const double srv6 = capture_fact(health, config->captures[i].name, "srv6");
		if (!isnan(uet))
			facts->uet = uet + (isnan(facts->uet) ? 0 : facts->uet);
		const double trimmed = capture_fact(health, config->captures[i].name, "trimmed");
		if (trimmed > 0)
			facts->trimmed = trimmed + (isnan(facts->trimmed) ? 0 : facts->trimmed);
		if (!isnan(srv6))
			facts->srv6 = srv6 + (isnan(facts->srv6) ? 0 : facts->srv6);
	}
}

/* The newest samples, at least a minute of them; an empty window where there is none. */
static int read_newest(struct client *client, struct arena *a, struct window *ret, struct err *e)
{
	int64_t first_ns, last_ns, length_ns = 3 * config_interval(client->config);
	const int rc = history_range(client->history, &first_ns, &last_ns, e);
	*ret = (struct window){.entities = history_entities(client->history)};
	if (rc == -ENODATA)
		return 0;
	if (rc < 0)
		return rc;
	if (last_ns > client->at_ns)
		last_ns = client->at_ns;
	if (length_ns < LEAST_NS)
		length_ns = LEAST_NS;
	const struct window_spec spec = {
		.metrics = class_world_metrics, .n_metrics = class_world_n_metrics, .flows = true};
	ret->from_ns = last_ns - length_ns;
	ret->to_ns = last_ns;
	return history_window(client->history, a, &spec, ret->from_ns, last_ns, ret, e);
}

json_t *class_worlds_json(struct client *client, const json_t *health, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct fabric *fabric = client->config->fabric;
	struct window window;
	if (read_newest(client, a, &window, e) < 0)
		return NULL;
	const struct analyzer_in in = {.fabric = fabric,
		.window = &window,
		.interval_ns = config_interval(client->config),
		.arena = a};
	const struct observed *observed = observe(&in);
	json_t *rows = json_array();
	for (int priority = 0; priority < FABRIC_CLASSES; priority++) {
		struct world_facts facts;
		struct class_world world;
		if (!(fabric->lossless_mask >> priority & 1))
			continue;
		class_world_facts(observed, priority, &facts);
		add_captures(client, health, &facts);
		class_world_of(&facts, a, &world);
		json_array_append_new(rows, class_world_json(&world, a));
	}
	return rows;
}

void class_worlds_print(FILE *out, const json_t *classes)
{
	size_t i, k;
	json_t *row, *text;
	json_array_foreach (classes, i, row) {
		fprintf(out, "CLASS       %s\n", doc_word(row, "line"));
		json_array_foreach (json_object_get(row, "differences"), k, text)
			fprintf(out, "%-11s differs: %s\n", "", json_string_value(text));
	}
}
