/*
 * profile_test - "profile test": asks one device what its profile promises and reports column by
 * column what came. profile_test.c decides what to ask and prints; one file per protocol asks
 * (profile_test.c, profile_test.c).
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/command/command.h"
#include "db/model/metric.h"

struct config_device;
struct loop;
struct loop_timer;
struct target;

/* profile_test - the command `profile test TARGET`; @config may be NULL. Returns the exit code. */
int profile_test(const struct command *command, struct command_args *args,
	const struct config *config, const char *target);

/*
 * profile_test_snmp, profile_test_gnmi, profile_test_scrape - ask @device for @run_ns and make the
 * document. 0 with a new reference in @ret, -EINVAL when the device cannot be asked like this, or
 * another negative errno when it does not answer; @e says why.
 */
int profile_test_snmp(const struct config_device *device, const struct config *config,
	int64_t run_ns, json_t **ret, struct err *e);
int profile_test_gnmi(const struct config_device *device, const struct config *config,
	int64_t run_ns, json_t **ret, struct err *e);
int profile_test_scrape(const struct config_device *device, const struct config *config,
	int64_t run_ns, json_t **ret, struct err *e); /* of a host that is scraped */

/* ---- what both protocols collect ------------------------------------------ */

struct profile_test {
	struct loop *loop;
	struct loop_timer *limit; /* the device gets no longer than this */
	struct entities *entities;
	int64_t run_ns;
	json_t *columns, *implausible, *identity; /* owned */
	struct map *first; /* (entity, metric) -> index into .readings */
	struct sample_list readings; /* the first one of each series */
	size_t n_samples, n_moved;
	char reason[256]; /* why it failed; "" while it has not */
};

/* profile_test_begin - 0 or negative errno. profile_test_done also after a failure. */
int profile_test_begin(struct profile_test *test, int64_t run_ns, int64_t limit_ns,
	void (*on_limit)(void *arg), void *arg, struct err *e);
void profile_test_done(struct profile_test *test);

/* profile_test_first - where the first reading of this series stands; -1 when @sample is the first,
 * which is then kept. */
ptrdiff_t profile_test_first(struct profile_test *test, const struct sample *sample);
/* profile_test_implausible - one line for a value that cannot be right; at most a hundred. */
void profile_test_implausible(
	struct profile_test *test, const struct sample *sample, const char *why, double value);
void profile_test_identity(
	struct profile_test *test, const char *profile, const char *sysname, const char *descr);
/* profile_test_wrong - the verdict on a column or leaf with values of a wrong type: all of them, or
 * some. */
struct collector_value;
const char *profile_test_wrong(const struct collector_value *value);
/* profile_test_fallbacks - "not needed" stays the verdict of a fallback only where another column
 * gave its value; else it is "empty" like any other. */
void profile_test_fallbacks(json_t *columns);
/* profile_test_fail - ends the run with a reason. */
void profile_test_fail(struct profile_test *test, const char *reason);
/* profile_test_error - that reason as an error, -EIO: with the device's name once, and without the
 * advice to run this very command. */
int profile_test_error(const struct profile_test *test, const char *device, struct err *e);
/* profile_test_target_failed - ends the run when the target could not be reached. */
bool profile_test_target_failed(struct profile_test *test, const struct target *target);
