/* target - the part of a target's life that does not depend on the protocol: start, pause between
 * tries, report, and whether a new configuration changes anything. */
#include "collectors/target/target.h"

#include "base/locked.h"
#include "base/loop.h"

/* profile_set - loads the profiles of a configuration when its first target asks, and frees them
 * with its last. */

static struct profile_set *newest;

/* profile_set_get - NULL with the first mistake in @e (may be NULL). */
static struct profile_set *profile_set_get(const struct config *config, struct err *e)
{
	if (newest && newest->config == config) {
		newest->refs++;
		return newest;
	}
	struct err_list errors = {0};
	struct profiles *profiles;
	int rc = profiles_load(config->profile_dir, &profiles, &errors);
	if (rc < 0 && e && errors.n)
		*e = errors.v[0];
	err_list_done(&errors);
	if (rc < 0)
		return NULL;
	struct profile_set *s = rw_calloc(1, sizeof(*s));
	*s = (struct profile_set){.config = config, .profiles = profiles, .refs = 1};
	newest = s;
	return s;
}

static void profile_set_put(struct profile_set *set)
{
	if (!set || --set->refs > 0)
		return;
	if (newest == set)
		newest = NULL;
	for (size_t i = 0; i < PROFILE_SLOTS && set->slots[i].free; i++)
		set->slots[i].free(set->slots[i].data);
	profiles_free(set->profiles);
	free(set);
}

void **profile_set_slot(struct profile_set *set, void (*free_data)(void *data))
{
	size_t i = 0;
	while (i < PROFILE_SLOTS && set->slots[i].free && set->slots[i].free != free_data)
		i++;
	assert(i < PROFILE_SLOTS);
	set->slots[i].free = free_data;
	return &set->slots[i].data;
}

/* texts_same - the same files, word for word? */
static bool texts_same(const struct profiles *left, const struct profiles *right)
{
	if (profiles_count(left) != profiles_count(right))
		return false;
	for (size_t i = 0; i < profiles_count(left); i++)
		if (!str_eq(profiles_at(left, i)->text, profiles_at(right, i)->text))
			return false;
	return true;
}

/* profile_set_same - would a target of @config find the profiles of @set, used under @before? */
static bool profile_set_same(
	const struct profile_set *set, const struct config *before, const struct config *config)
{
	if (!before->profile_dir && !config->profile_dir)
		return true;
	struct profile_set *now = profile_set_get(config, NULL);
	bool same = now && (now == set || texts_same(set->profiles, now->profiles));
	profile_set_put(now);
	return same;
}

/* ---- target ---------------------------------------------------------------- */

#define BACKOFF_INTERVALS 3
#define START_SPREAD_MAX_NS NS_PER_S
#define RANDOM_STEPS 1024

/* ---- new and free -------------------------------------------------------- */

static bool profile_named(const char *wanted)
{
	return wanted && !str_eq(wanted, "auto");
}

/* target_profile_check - a profile that is named must exist and serve the protocol; "auto" is
 * chosen when the device was identified. */
static int target_profile_check(const struct target_machine *machine, struct err *e)
{
	const char *wanted = machine->device->profile;
	if (!profile_named(wanted))
		return 0;
	const struct profile *p = profiles_get(machine->set->profiles, wanted);
	if (!p)
		return reason_err(e, -EINVAL, NO_PROFILE, machine->name, wanted);
	if (!machine->hooks->profile_serves(p))
		return reason_err(e, -EINVAL, PROFILE_LACKS, machine->name, wanted,
			machine->hooks->profile_rows);
	return 0;
}

void target_limit(struct target_machine *machine, int64_t limit_ns)
{
	machine->away_ns = loop_away_ns(machine->loop);
	loop_timer_start(machine->deadline, limit_ns, 0);
}

static void target_on_deadline(void *arg)
{
	struct target_machine *machine = arg;
	const int64_t away_ns = loop_away_ns(machine->loop) - machine->away_ns;
	if (away_ns > 0)
		target_limit(machine, away_ns);
	else
		machine->hooks->deadline(machine->owner);
}

int target_init(struct target_machine *machine, const struct target_hooks *hooks, void *owner,
	const struct target_setup *setup, struct err *e)
{
	const bool ipv6 = strchr(setup->host, ':') != NULL;
	char address[300];
	snprintf(address, sizeof(address), ipv6 ? "[%s]:%u" : "%s:%u", setup->host, setup->port);
	*machine = (struct target_machine){.loop = setup->loop,
		.entities = setup->entities,
		.sink = *setup->sink,
		.device = setup->device,
		.config = setup->config,
		.name = rw_strdup(setup->device->name),
		.address = rw_strdup(address),
		.hooks = hooks,
		.owner = owner};
	machine->state.device = machine->name;
	machine->state.protocol = hooks->protocol;
	machine->state.address = machine->address;
	machine->random =
		hash_bytes(machine->name, strlen(machine->name), (uint64_t)wall_now().ns) |
		1; /* xorshift never leaves 0 */
	machine->timer = loop_timer_new(setup->loop, hooks->due, owner);
	machine->deadline = loop_timer_new(setup->loop, target_on_deadline, machine);
	machine->set = profile_set_get(setup->config, e);
	if (!machine->set)
		return -EINVAL;
	return target_profile_check(machine, e);
}

void target_done(struct target_machine *machine)
{
	loop_timer_free(machine->timer);
	loop_timer_free(machine->deadline);
	profile_set_put(machine->set);
	free(machine->address);
	free(machine->name);
}

/* ---- time ---------------------------------------------------------------- */

void target_start_spread(struct target_machine *machine, int64_t interval_ns)
{
	int64_t spread = START_SPREAD_MAX_NS;
	if (interval_ns < spread)
		spread = interval_ns;
	int64_t step = (int64_t)(machine->random % RANDOM_STEPS);
	loop_timer_start(machine->timer, step * spread / RANDOM_STEPS, 0);
}

int64_t target_jittered(struct target_machine *machine, int64_t ns)
{
	/* xorshift64: fast, and nobody gains by predicting it */
	machine->random ^= machine->random << 13;
	machine->random ^= machine->random >> 7;
	machine->random ^= machine->random << 17;
	int64_t step = (int64_t)(machine->random % RANDOM_STEPS);
	return ns - ns / 10 + step * (ns / 5) / RANDOM_STEPS;
}

int64_t target_backoff_ns(const struct target_hooks *hooks, unsigned failures, int64_t interval_ns)
{
	unsigned intervals = BACKOFF_INTERVALS;
	if (failures < intervals)
		intervals = failures;
	int64_t ns = interval_ns * (int64_t)intervals;
	if (hooks->backoff_max_ns && ns > hooks->backoff_max_ns)
		return hooks->backoff_max_ns;
	if (ns < hooks->backoff_min_ns)
		return hooks->backoff_min_ns;
	return ns;
}

/* ---- failure and report -------------------------------------------------- */

void target_lost_for(struct target_machine *machine, const struct reason *reason)
{
	loop_timer_stop(machine->deadline);
	machine->hooks->session_end(machine->owner);
	machine->failures++;
	int64_t pause =
		target_backoff_ns(machine->hooks, machine->failures, target_interval_ns(machine));
	loop_timer_start(machine->timer, target_jittered(machine, pause), 0);
	target_change(&machine->state, TARGET_BACKOFF, loop_now(machine->loop), wall_now(), reason);
	target_report(machine);
}

void target_lost_text(struct target_machine *machine, const char *text)
{
	struct reason reason;
	reason_from(&reason, machine->hooks->protocol, text);
	target_lost_for(machine, &reason);
}

int64_t target_interval_ns(const struct target_machine *machine)
{
	return machine->hooks->interval_ns(machine);
}

void target_report(struct target_machine *machine)
{
	machine->sink.target(machine->sink.arg, &machine->state);
}

/* ---- a new configuration ------------------------------------------------- */

bool target_same(const struct target_machine *machine, const struct config_device *device,
	const struct config *config)
{
	if (!str_eq(machine->device->name, device->name) ||
		!str_eq(machine->device->profile, device->profile))
		return false;
	if (!profile_set_same(machine->set, machine->config, config))
		return false;
	return target_cell_bytes(machine->device, machine->config) ==
		target_cell_bytes(device, config);
}

void target_update(struct target_machine *machine, const struct config_device *device,
	const struct config *config)
{
	machine->device = device;
	machine->config = config;
	/* The profiles are equal, as target_same() found. The set must not be found by the old
	 * configuration's address, which may be used again. */
	machine->set->config = config;
}

void target_secret_wipe(char **text)
{
	locked_freep(text);
}

bool target_secret_same(const struct config_secret *left, const struct config_secret *right)
{
	return left->from == right->from && str_eq(left->name, right->name);
}

/* ---- log-ins --------------------------------------------------------------- */

#define PEM_MAX (1u << 20)
#define KEY_MAX (64u << 10)

void login_secrets_done(struct login_secrets *secrets)
{
	target_secret_wipe(&secrets->password);
	target_secret_wipe(&secrets->token);
	target_secret_wipe(&secrets->key);
	free(rw_take(secrets->ca));
	free(rw_take(secrets->cert));
	secrets->read = false;
}

static int login_pem_read(const char *path, char **ret, struct err *e)
{
	size_t n;
	if (path)
		return str_read_file(path, PEM_MAX, ret, &n, e);
	return 0;
}

static int login_secret_read(const struct config_secret *secret, char **ret, struct err *e)
{
	if (secret->from == SECRET_NONE)
		return 0;
	return secret_read(secret, ret, e);
}

static int login_secrets_read(
	const struct config_login *login, struct login_secrets *ret, struct err *e)
{
	size_t n;
	int rc = login_secret_read(&login->password, &ret->password, e);
	if (rc == 0)
		rc = login_secret_read(&login->token, &ret->token, e);
	if (rc == 0 && !login->tls_off && !login->tls_skip_verify)
		rc = login_pem_read(login->tls_ca, &ret->ca, e);
	if (rc == 0 && !login->tls_off)
		rc = login_pem_read(login->tls_cert, &ret->cert, e);
	if (rc == 0 && !login->tls_off && login->tls_key)
		rc = locked_read_file(login->tls_key, KEY_MAX, &ret->key, &n, e);
	return rc;
}

int login_secrets_renew(
	const struct config_login *login, struct login_secrets *secrets, struct err *e)
{
	struct login_secrets now = {0};
	const int rc = login_secrets_read(login, &now, e);
	if (rc == -EACCES && secrets->read) {
		login_secrets_done(&now);
		return 0;
	}
	login_secrets_done(secrets);
	*secrets = now;
	secrets->read = rc == 0;
	return rc;
}

bool login_same(const struct config_login *left, const struct config_login *right)
{
	if (!left || !right)
		return left == right;
	if (!str_eq(left->username, right->username) ||
		!target_secret_same(&left->password, &right->password) ||
		!target_secret_same(&left->token, &right->token))
		return false;
	if (left->tls_off != right->tls_off || left->tls_skip_verify != right->tls_skip_verify)
		return false;
	return str_eq(left->tls_ca, right->tls_ca) && str_eq(left->tls_cert, right->tls_cert) &&
		str_eq(left->tls_key, right->tls_key) &&
		str_eq(left->tls_server_name, right->tls_server_name);
}

uint64_t target_cell_bytes(const struct config_device *device, const struct config *config)
{
	const struct fabric *f = config->fabric;
	if (!f)
		return 0;
	/* a cell is a property of the ASIC: the port and priority of the row do not matter */
	for (size_t i = 0; i < f->n_thresholds; i++)
		if (f->thresholds[i].cell_bytes && str_glob(f->thresholds[i].devices, device->name))
			return f->thresholds[i].cell_bytes;
	return 0;
}
