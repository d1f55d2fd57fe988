/*
 * target - what a device polled over SNMP and one streamed over gNMI have in common: names, timers,
 * the pause before the next try, the profiles, and the comparison of two configurations. Each
 * protocol embeds one struct target_machine and gives it hooks. The states are drawn in
 * collectors/target/collector.h. Loop thread.
 */
#pragma once

#include "collectors/target/collector.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "base/base.h"

struct loop_timer;
struct target_machine;

/* profile_set - the profiles of a configuration, loaded once for all of its targets. Loop thread.
 */

#define PROFILE_SLOTS 4 /* protocols that keep something */

struct profile_slot {
	void *data;
	void (*free)(void *data); /* NULL = unused */
};

struct profile_set {
	const struct config *config;
	struct profiles *profiles;
	size_t refs;
	struct profile_slot slots[PROFILE_SLOTS]; /* see profile_set_slot() */
};
/* profile_set_slot - what a protocol keeps once for all targets of these profiles: compiled
 * patterns, a scratch. The slot is the protocol's by its free function, holds NULL at first, and is
 * freed with the set. */
void **profile_set_slot(struct profile_set *set, void (*free_data)(void *data));

/* ---- target ---------------------------------------------------------------- */

struct target_hooks { /* @owner is the protocol's own struct */
	const char *protocol; /* "snmp" */
	void (*due)(void *owner); /* timer: the next poll, or the next try */
	void (*deadline)(void *owner); /* timer: the poll or call under way takes too long */
	void (*session_end)(void *owner); /* drop all that is under way */
	int64_t (*interval_ns)(const struct target_machine *machine);
	bool (*profile_serves)(const struct profile *profile); /* has rows of this protocol */
	const char *profile_rows; /* what those rows are called: "SNMP tables" */
	int64_t backoff_min_ns, backoff_max_ns; /* bounds of the pause before a try; max 0 = none */
};

struct target_machine {
	struct loop *loop;
	struct entities *entities;
	struct sink sink;
	const struct config_device *device; /* borrowed, as .config: see target_update() */
	const struct config *config;
	char *name, *address; /* copies */
	struct target state;
	struct profile_set *set;
	const struct profile *profile; /* NULL before the device was identified */
	struct loop_timer *timer; /* next poll or next try */
	struct loop_timer *deadline; /* of the poll or call under way: target_limit() */
	int64_t away_ns; /* loop_away_ns() when it was set */
	unsigned failures; /* sessions lost in a row */
	uint64_t random; /* state of target_jittered() */
	const struct target_hooks *hooks;
	void *owner;
};

struct target_setup {
	struct loop *loop;
	struct entities *entities;
	const struct config_device *device;
	const struct config *config;
	const struct sink *sink; /* copied */
	const char *host;
	unsigned port;
};

/*
 * target_init - names, timers and profiles; no timer runs yet. 0, or -EINVAL with @e when the
 * device's profile does not exist or has no rows of this protocol. target_done() also after a
 * failure.
 */
int target_init(struct target_machine *machine, const struct target_hooks *hooks, void *owner,
	const struct target_setup *setup, struct err *e);
void target_done(struct target_machine *machine);

/* target_start_spread - the first try, after a random part of @interval_ns and of at most 1 s, so
 * that a thousand targets do not start in step. */
void target_start_spread(struct target_machine *machine, int64_t interval_ns);
/* target_jittered - @ns plus or minus 10 %, so that a thousand targets do not poll in step. */
int64_t target_jittered(struct target_machine *machine, int64_t ns);
/* target_backoff_ns - the pause after @failures in a row: one interval each, at most three, within
 * the bounds of the hooks. A short outage must not become a long one. */
int64_t target_backoff_ns(const struct target_hooks *hooks, unsigned failures, int64_t interval_ns);

/* target_limit - the poll or call under way has @limit_ns from now on. Time in which the agent
 * itself was busy with something else does not count: the device may have answered long ago. */
void target_limit(struct target_machine *machine, int64_t limit_ns);

/* target_lost_for - the session ends; the state becomes BACKOFF, and the next try is set. */
void target_lost_for(struct target_machine *machine, const struct reason *reason);
/* target_lost_text - the same for an error of the set-up: its row is found by the text. */
void target_lost_text(struct target_machine *machine, const char *text);
/* target_lost(machine, SNMP_REFUSED, peer): the same for a row of reason.def. */
#define target_lost(machine, CODE, ...)                                                            \
	do {                                                                                       \
		struct reason reason_;                                                             \
		reason_set(&reason_, CODE, ##__VA_ARGS__);                                         \
		target_lost_for(machine, &reason_);                                                \
	} while (0)
/* target_interval_ns - how often the device is asked, by its configuration and its profile. */
int64_t target_interval_ns(const struct target_machine *machine);
/* target_report - state and statistics to the sink. */
void target_report(struct target_machine *machine);

/* target_same - would @device in @config be known, profiled and decoded as now? The protocol
 * compares its own section. */
bool target_same(const struct target_machine *machine, const struct config_device *device,
	const struct config *config);
/* target_update - borrow from @config from now on; after target_same(). */
void target_update(struct target_machine *machine, const struct config_device *device,
	const struct config *config);
/* target_secret_wipe - overwrite and free; for rw_cleanup(). *@text may be NULL. */
void target_secret_wipe(char **text);
bool target_secret_same(const struct config_secret *left, const struct config_secret *right);

struct login_secrets { /* wiped when freed */
	char *password, *token, *ca, *cert,
		*key; /* the last three are PEM texts; all may be NULL */
	bool read; /* once at least, without a mistake */
};
/* login_secrets_renew - reads what @login names; at each try, so that a new secret needs no reload.
 * When a file cannot be read any more (rights were given up after the start), what was read before
 * stays in use. 0 or negative errno with @e. */
int login_secrets_renew(
	const struct config_login *login, struct login_secrets *secrets, struct err *e);
void login_secrets_done(struct login_secrets *secrets);
/* login_same - the same log-in, read from the same places? Either may be NULL. */
bool login_same(const struct config_login *left, const struct config_login *right);

/* target_cell_bytes - the size of a buffer cell that the configuration declares for this device
 * (thresholds[].cell), bytes; 0 = none. */
uint64_t target_cell_bytes(const struct config_device *device, const struct config *config);
