/* The interface of a collector: a fake one, registered with one word, is opened, updated, closed,
 * tried again and asked for its figures by the loop that the agent runs (agent/sources/sources.c).
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"
#include "agent/judge/health.h"
#include "agent/sources/sources.h"
#include "collectors/target/collector.h"
#include "config/config.h"
#include "db/open.h"
#include "db/store/store.h"

/* ---- the fake: its configuration is a capture's name and interface -------- */

struct fake {
	char name[16], interface[16];
	struct target state;
};

static unsigned n_opened, n_updated, n_closed;
static bool refuse; /* the next open() fails */

static bool fake_place(const struct config *config, size_t i, struct collector_place *ret)
{
	if (i >= config->n_captures)
		return false;
	const struct config_capture *c = &config->captures[i];
	*ret = (struct collector_place){.name = c->name, .address = c->interface, .config = c};
	return true;
}

static int fake_open(const struct collector_env *env, const void *place, void **ret, struct err *e)
{
	const struct config_capture *c = place;
	if (refuse)
		return err_set(e, -ENODEV, "%s: out of order", c->interface);
	struct fake *fake = rw_calloc(1, sizeof(*fake));
	snprintf(fake->name, sizeof(fake->name), "%s", c->name);
	snprintf(fake->interface, sizeof(fake->interface), "%s", c->interface);
	fake->state = (struct target){
		.device = fake->name, .protocol = "fake", .address = fake->interface};
	n_opened++;
	target_change(&fake->state, TARGET_UP, loop_now(env->loop), wall_now(), NULL);
	env->sink->target(env->sink->arg, &fake->state);
	*ret = fake;
	return 0;
}

static bool fake_same(const void *instance, const void *place, const struct config *config)
{
	const struct fake *fake = instance;
	return str_eq(fake->interface, ((const struct config_capture *)place)->interface);
}

static void fake_update(void *instance, const void *place, const struct config *config)
{
	n_updated++;
}

static void fake_close(void *instance)
{
	n_closed++;
	free(instance);
}

static const struct target *fake_state(const void *instance)
{
	return &((const struct fake *)instance)->state;
}

static void fake_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	fn(arg, "frames", "", 7);
}

const struct collector collector_fake = {.name = "fake",
	.role = COLLECTS_PACKETS,
	.family = "fake",
	.place = fake_place,
	.open = fake_open,
	.same = fake_same,
	.update = fake_update,
	.close = fake_close,
	.state = fake_state,
	.figures = fake_figures};

/* ---- the loop over it ---------------------------------------------------- */

static struct {
	enum target_state state;
	char reason[REASON_TEXT_MAX];
} seen;

static void on_target(void *arg, const struct target *target)
{
	seen.state = target->state;
	snprintf(seen.reason, sizeof(seen.reason), "%s", target->reason);
}

static void assert_calls(unsigned opened, unsigned updated, unsigned closed)
{
	assert_int_equal(n_opened, opened);
	assert_int_equal(n_updated, updated);
	assert_int_equal(n_closed, closed);
}

static void apply(struct sources *sources, const struct config *config, const char *expected)
{
	struct source_changes n = {0};
	char text[64];
	sources_apply(sources, config, &n);
	snprintf(text, sizeof(text), "%u added, %u removed, %u changed, %u unchanged", n.added,
		n.removed, n.changed, n.unchanged);
	assert_string_equal(text, expected);
}

static void test_life(void **state)
{
	char path[] = "/tmp/rw-fake-XXXXXX";
	assert_non_null(mkdtemp(path));
	rw_cleanup(str_done) struct str db = {0};
	str_addf(&db, "%s/rw.db", path);
	struct err e = {0};
	struct loop *loop;
	struct store *store;
	struct entities *entities = entities_new();
	const struct store_options options = {.path = db.s};
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(db_store_open(&options, entities, &store, &e), 0);
	const struct sink sink = {.target = on_target};
	struct sources *sources = sources_new(loop, entities, store, &sink);
	log_set_level(LOG_ERROR_);

	struct config_capture places[] = {
		{.name = "one", .interface = "a"}, {.name = "two", .interface = "b"}};
	struct config config = {.captures = places, .n_captures = 2};
	apply(sources, &config, "2 added, 0 removed, 0 changed, 0 unchanged");
	assert_calls(2, 0, 0);
	assert_int_equal(seen.state, TARGET_UP);
	assert_string_equal(sources_at(sources, 0).collector->name, "fake");

	/* one stays, one asks for something else */
	struct config_capture changed[] = {
		{.name = "one", .interface = "a"}, {.name = "two", .interface = "c"}};
	struct config second = {.captures = changed, .n_captures = 2};
	apply(sources, &second, "0 added, 0 removed, 1 changed, 1 unchanged");
	assert_calls(3, 1, 1);

	/* figures reach the agent's health */
	struct health *health = health_new(wall_now());
	health_begin(health, mono_now());
	sources_health(sources, health);
	health_free(health);

	/* what cannot be opened is shown with the reason, and tried again later */
	refuse = true;
	struct config third = {.captures = places, .n_captures = 2};
	apply(sources, &third, "0 added, 0 removed, 1 changed, 1 unchanged");
	assert_calls(3, 2, 2);
	assert_int_equal(seen.state, TARGET_BACKOFF);
	assert_string_equal(seen.reason, "b: out of order");
	assert_null(sources_at(sources, 1).instance);
	refuse = false;
	sources_retry(sources, mono_now());
	assert_calls(3, 2, 2); /* too early */
	sources_retry(sources, (mono_t){mono_now().ns + 60 * NS_PER_S});
	assert_calls(4, 2, 2);

	/* gone from the configuration; the end closes the rest */
	struct config fourth = {.captures = places, .n_captures = 1};
	apply(sources, &fourth, "0 added, 1 removed, 0 changed, 1 unchanged");
	assert_calls(4, 3, 3);
	sources_free(sources);
	assert_calls(4, 3, 4);
	store_close(store);
	entities_free(entities);
	loop_free(loop);
	rw_cleanup(str_done) struct str command = {0};
	str_addf(&command, "rm -rf %s", path);
	assert_int_equal(system(command.s), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_life)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
