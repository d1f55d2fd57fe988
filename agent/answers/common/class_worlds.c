/* class_worlds - reads a minute of the history and says of each class what follows. */
#include "agent/answers/common/class_worlds.h"

#include "agent/client/client.h"
#include "agent/answers/common/agent_state.h"
#include "analyzers/measure/class_world.h"
#include "analyzers/measure/input.h"
#include "config/config.h"
#include "db/series/history.h"

#define LEAST_NS (60 * NS_PER_S)

#define SHAPE struct class_word
static const struct field class_word_fields[] = {
	TEXT(word, "What holds.", .known = true),
	TEXT(source, "How that is known.", .known = true),
	FLAG(seen, "Was it seen, not only declared?"),
};
static SHAPE_OF(class_word, "Word", "A word, and how it is known.", .common = true);
#undef SHAPE

#define SHAPE struct class_told
static const struct field class_told_fields[] = {
	COUNT(priority, "Priority, 0 to 7.", .type = "priority"),
	TEXT(line, "All of it as one sentence.", .known = true),
	PART(lossless_by, class_word, "What keeps it lossless: `pfc`, `credits` or `none`."),
	PART(ecn, class_word, "ECN marking: `on`, `off`, `relative` and others."),
	PART(congestion, class_word,
		"Congestion control of the senders: `dcqcn`, `pfc_only` and others."),
	PART(load_balancing, class_word,
		"How switches choose paths: `static`, `flowlet`, `packet`, `source_routed`."),
	PART(trimming, class_word, "Whether switches trim packets instead of dropping them."),
	TEXTS(differences, "Where what is declared and what is read back differ."),
};
SHAPE_OF(class_told, "ClassWorld", "How one lossless class is run.", .common = true);
#undef SHAPE

static struct class_word class_word_of(const char *word, const struct world_word *from)
{
	return (struct class_word){word, world_source_name(from->source), from->seen};
}

static const char *control_word(const struct class_world *world)
{
	if (world->control.source == WORLD_ASSUMED)
		return "unknown";
	return congestion_policy_name((enum congestion_policy)(world->control.value - 1));
}

static const char *paths_word(const struct class_world *world)
{
	if (world->paths.source == WORLD_ASSUMED)
		return "unknown";
	return world_paths_name((enum world_paths)world->paths.value);
}

static struct class_told class_told_of(const struct class_world *world, struct arena *a)
{
	struct class_told told = {.priority = (uint64_t)world->priority,
		.line = arena_strdup(a, class_world_line(world, a)),
		.lossless_by = class_word_of(
			world_lossless_name((enum world_lossless)world->lossless.value),
			&world->lossless),
		.ecn = class_word_of(world_ecn_name((enum world_ecn)world->ecn.value), &world->ecn),
		.congestion = class_word_of(control_word(world), &world->control),
		.load_balancing = class_word_of(paths_word(world), &world->paths),
		.trimming = class_word_of(
			world_trim_name((enum world_trim)world->trim.value), &world->trim),
		.differences = arena_array(a, const char *, world->n_differences),
		.n_differences = world->n_differences};
	for (size_t i = 0; i < world->n_differences; i++)
		told.differences[i] = arena_strdup(a, world->differences[i]);
	return told;
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
	int64_t last_ns, length_ns = 3 * config_interval(client->config);
	const int rc = history_range(client->history, NULL, &last_ns, e);
	*ret = (struct window){.entities = history_names(client->history)};
	if (rc == -ENODATA)
		return 0;
	if (rc < 0)
		return rc;
	if (last_ns > client->at_ns)
		last_ns = client->at_ns;
	if (length_ns < LEAST_NS)
		length_ns = LEAST_NS;
	const struct window_spec spec = {.metrics = class_world_metrics,
		.n_metrics = class_world_n_metrics,
		.flows = true,
		.lanes = WINDOW_LANES | client->config->fabric->lossless_mask};
	ret->from_ns = last_ns - length_ns;
	ret->to_ns = last_ns;
	return history_window(client->history, a, &spec, ret->from_ns, last_ns, ret, e);
}

/* The facts that a live agent keeps, by priority. */
struct kept_facts {
	struct arena *a;
	struct world_facts v[FABRIC_CLASSES];
	unsigned known; /* a bit for each priority */
};

static int kept_take(void *arg, int n, char *const *words, char *const *names)
{
	struct kept_facts *kept = arg;
	int priority, at = 0;
	if (!words[0] || !words[1] || sscanf(words[0], "class/%1d/%n", &priority, &at) != 1 || !at)
		return 0;
	if (priority >= FABRIC_CLASSES)
		return 0;
	const double value = strtod(words[1], NULL);
	if (class_world_take(&kept->v[priority], words[0] + at, value, kept->a))
		kept->known |= 1u << priority;
	return 0;
}

/* The agent measures each window: what it keeps of the newest one saves reading all ports again.
 * What one that has ended kept is good as long as nothing newer was written. */
static int kept_read(struct client *client, struct kept_facts *kept, struct err *e)
{
	const struct fabric *fabric = client->config->fabric;
	rw_cleanup(str_done) struct str sql = {0};
	int64_t last_ns = INT64_MIN + LEAST_NS;
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		kept->v[priority] = class_world_blank(fabric, priority);
	if (client->past)
		return 0;
	if (!client->agent_alive) {
		const int rc = history_range(client->history, NULL, &last_ns, e);
		if (rc < 0)
			return rc == -ENODATA ? 0 : rc;
	}
	str_addf(&sql, "SELECT key, value FROM health WHERE key GLOB 'class/*' AND t_ns>%lld",
		(long long)(last_ns - LEAST_NS));
	return history_sql(client->history, sql.s, kept_take, kept, e);
}

static int measured_read(
	struct client *client, struct arena *a, struct kept_facts *facts, struct err *e)
{
	struct window window;
	const int r = read_newest(client, a, &window, e);
	if (r < 0)
		return r;
	const struct analyzer_in in = {.fabric = client->config->fabric,
		.window = &window,
		.interval_ns = config_interval(client->config),
		.arena = a};
	const struct observed *observed = observe(&in);
	for (int priority = 0; priority < FABRIC_CLASSES; priority++)
		if (client->config->fabric->lossless_mask >> priority & 1)
			class_world_facts(observed, priority, &facts->v[priority]);
	return 0;
}

int class_worlds_read(struct client *client, const json_t *health, struct arena *a,
	struct class_told **ret, size_t *ret_n, struct err *e)
{
	const unsigned lossless = client->config->fabric->lossless_mask;
	struct kept_facts facts = {.a = a};
	*ret = arena_array(a, struct class_told, FABRIC_CLASSES);
	*ret_n = 0;
	int r = kept_read(client, &facts, e);
	if (r == 0 && (lossless & ~facts.known))
		r = measured_read(client, a, &facts, e);
	if (r < 0)
		return r;
	for (int priority = 0; priority < FABRIC_CLASSES; priority++) {
		struct class_world world;
		if (!(lossless >> priority & 1))
			continue;
		add_captures(client, health, &facts.v[priority]);
		class_world_of(&facts.v[priority], a, &world);
		(*ret)[(*ret_n)++] = class_told_of(&world, a);
	}
	return 0;
}

void class_worlds_print(FILE *out, const struct class_told *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "CLASS       %s\n", rows[i].line);
		for (size_t k = 0; k < rows[i].n_differences; k++)
			fprintf(out, "%-11s differs: %s\n", "", rows[i].differences[k]);
	}
}
