/* life - reads the signs of life of former agents from the database, and writes this agent's. */
#include "agent/daemon/life.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "agent/sources/sources.h"
#include "base/log.h"
#include "collectors/target/collector.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"

#define CLOCK_STEP_NS (2 * 1000000000LL)

/* clock_watch - compares the wall clock with the boot clock from look to look. */

#define SLEW_SHARE 1000 /* slewing moves the wall clock by at most a thousandth of the time */
#define AT_ONCE_NS (50 * NS_PER_MS)
#define READ_TRIES 5

/* The part of @drift_ns that slewing explains. */
static int64_t clock_slewed(int64_t drift_ns, int64_t boot_moved_ns)
{
	const int64_t most_ns = boot_moved_ns / SLEW_SHARE;
	if (drift_ns > most_ns)
		return most_ns;
	if (drift_ns < -most_ns)
		return -most_ns;
	return drift_ns;
}

struct clock_change clock_look(
	struct clock_watch *watch, int64_t wall_ns, int64_t boot_ns, int64_t away_ns)
{
	struct clock_change change = {0};
	const int64_t offset_ns = wall_ns - boot_ns;
	if (!watch->known)
		watch->offset_ns = offset_ns;
	const int64_t drift_ns = offset_ns - watch->offset_ns;
	if (watch->known) {
		const int64_t boot_moved_ns = boot_ns - watch->boot_ns;
		change.since_ns = watch->wall_ns;
		if (drift_ns >= CLOCK_STEP_NS || drift_ns <= -CLOCK_STEP_NS) {
			change.step_ns = drift_ns;
			change.since_ns = wall_ns - boot_moved_ns;
			watch->offset_ns = offset_ns;
		} else {
			watch->offset_ns += clock_slewed(drift_ns, boot_moved_ns);
		}
		if (boot_moved_ns > away_ns)
			change.away_ns = boot_moved_ns;
	}
	watch->known = true;
	watch->wall_ns = wall_ns;
	watch->boot_ns = boot_ns;
	return change;
}

void clock_read(int64_t *ret_wall_ns, int64_t *ret_boot_ns)
{
	for (int i = 0; i < READ_TRIES; i++) {
		const int64_t before_ns = clock_boot_ns();
		*ret_wall_ns = wall_now().ns;
		*ret_boot_ns = clock_boot_ns();
		if (*ret_boot_ns - before_ns < AT_ONCE_NS)
			return;
	}
}

#define DURATION_MAX 32
/* after so long an absence and a restart of the machine, its clock may be wrong as well */
#define DOUBTFUL_NS (24 * 3600 * NS_PER_S)

/* Log and store. */
static void life_event(
	struct store *store, enum log_level level, int64_t t_ns, const char *kind, const char *text)
{
	log_event(level, "agent", "%s", text);
	store_event(store, t_ns, kind, NULL, NULL, text);
}

/* ---- what was before ----------------------------------------------------- */

static int take_sign(void *arg, int n, char *const *values, char *const *names)
{
	struct life_past *past = arg;
	if (n < 3 || !values[0])
		return 0;
	const int64_t t_ns = strtoll(values[0], NULL, 10);
	if (t_ns > past->seen_ns)
		past->seen_ns = t_ns;
	past->stopped = str_eq(values[1], "agent_stop");
	snprintf(past->why, sizeof(past->why), "%s", str_or(values[2], ""));
	return 0;
}

/* ---- was the clock set meanwhile? ---------------------------------------- */

/* random(4): a text that is the same as long as the machine runs. */
static void life_boot_id(char ret[LIFE_BOOT_MAX])
{
	rw_cleanup(freep) char *text = NULL;
	struct err e;
	size_t n;
	*ret = '\0';
	if (str_read_file("/proc/sys/kernel/random/boot_id", LIFE_BOOT_MAX - 1, &text, &n, &e) < 0)
		return;
	snprintf(ret, LIFE_BOOT_MAX, "%.*s", (int)strcspn(text, "\n"), text);
}

struct life_boot life_boot_now(int64_t now_ns)
{
	struct life_boot boot = {.booted_ns = now_ns - clock_boot_ns()};
	life_boot_id(boot.id);
	return boot;
}

#define LIFE_BOOT_KEY "process/boot/"

struct life_health {
	int64_t t_ns;
	char boot[LIFE_BOOT_MAX]; /* "": the agent before did not say */
	double booted_s;
};

static int life_take_health(void *arg, int n, char *const *values, char *const *names)
{
	struct life_health *health = arg;
	if (n < 3 || !values[0] || !values[1] || !values[2])
		return 0;
	if (strncmp(values[0], LIFE_BOOT_KEY, strlen(LIFE_BOOT_KEY)) == 0)
		snprintf(health->boot, sizeof(health->boot), "%s",
			values[0] + strlen(LIFE_BOOT_KEY));
	else
		health->booted_s = strtod(values[1], NULL);
	health->t_ns = strtoll(values[2], NULL, 10);
	return 0;
}

/* The boot clock goes on while no agent runs: with it, the last sign of the agent before is dated
 * by the present clock. */
static int life_read_boot(struct history *history, const struct life_boot *boot,
	struct life_past *past, struct err *e)
{
	struct life_health health = {.booted_s = NAN};
	const int rc = history_sql(history,
		"SELECT key, value, t_ns FROM health WHERE key GLOB '" LIFE_BOOT_KEY
		"*' OR key='process/booted_s'",
		life_take_health, &health, e);
	if (rc != 0 || !*health.boot || isnan(health.booted_s) || !*boot->id)
		return rc;
	past->other_boot = !str_eq(health.boot, boot->id);
	if (past->other_boot)
		return 0;
	const int64_t step_ns = boot->booted_ns - (int64_t)(health.booted_s * 1e9);
	if (step_ns < CLOCK_STEP_NS && step_ns > -CLOCK_STEP_NS)
		return 0;
	past->step_ns = step_ns;
	past->seen_ns = health.t_ns + step_ns;
	return 0;
}

static void life_close_history(struct history **history)
{
	history_close(*history);
}

int life_read(const char *path, int64_t now_ns, const struct life_boot *boot, struct life_past *ret,
	struct err *e)
{
	rw_cleanup(life_close_history) struct history *history = NULL;
	struct life_past past = {0};
	int64_t last_ns;
	*ret = past;
	int rc = db_history_open(path, &history, e);
	if (rc != 0)
		return rc;
	/* The newest event of an agent's life, and the last time it reported about itself. */
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql,
		"SELECT t_ns, kind, text FROM ("
		"SELECT max(t_ns) AS t_ns, '' AS kind, '' AS text FROM health WHERE t_ns<=%lld "
		"UNION ALL SELECT * FROM (SELECT t_ns, kind, text FROM events "
		"WHERE kind IN ('agent_start','agent_stop') AND t_ns<=%lld "
		"ORDER BY t_ns DESC LIMIT 1)) WHERE t_ns IS NOT NULL ORDER BY kind",
		(long long)now_ns, (long long)now_ns);
	rc = history_sql(history, sql.s, take_sign, &past, e);
	if (rc != 0)
		return rc;
	rc = history_range(history, NULL, &last_ns, e);
	if (rc == 0 && last_ns > now_ns + CLOCK_STEP_NS)
		past.ahead_ns = last_ns - now_ns;
	else if (rc == 0 && last_ns > past.seen_ns)
		past.seen_ns = last_ns;
	if (rc == -ENODATA)
		rc = 0;
	if (rc == 0)
		rc = life_read_boot(history, boot, &past, e);
	if (rc == 0)
		*ret = past;
	return rc;
}

/* ---- events -------------------------------------------------------------- */

static void life_write_away(struct store *store, int64_t from_ns, int64_t to_ns, const char *why)
{
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX], lasted[DURATION_MAX], text[512];
	duration_format(lasted, sizeof(lasted), to_ns - from_ns);
	snprintf(text, sizeof(text), "nothing was collected for %s, from %s to %s: %s", lasted,
		wall_text(from, (wall_t){from_ns}, 0), wall_text(to, (wall_t){to_ns}, 0), why);
	life_event(store, LOG_WARN_, to_ns, "agent_away", text);
}

/* By how much is known: the boot clock went on. */
static void life_write_step(struct store *store, int64_t now_ns, const struct life_past *past)
{
	char by[DURATION_MAX], text[256];
	const char *how = "forward";
	const char *then = "no difference is drawn across the step";
	int64_t size_ns = past->step_ns;
	if (past->step_ns < 0) {
		how = "back";
		then = "samples ahead of the clock are kept and not analysed";
		size_ns = -past->step_ns;
	}
	duration_format(by, sizeof(by), (size_ns + NS_PER_S / 2) / NS_PER_S * NS_PER_S);
	snprintf(text, sizeof(text), "the clock was set %s by %s while no agent ran; %s", how, by,
		then);
	life_event(store, LOG_WARN_, now_ns, "clock_step", text);
}

static void life_write_ahead(struct store *store, int64_t now_ns, int64_t ahead_ns)
{
	char ahead[DURATION_MAX], text[256];
	duration_format(ahead, sizeof(ahead), ahead_ns);
	snprintf(text, sizeof(text),
		"the clock was set back while no agent ran: the newest stored sample is %s ahead "
		"of "
		"it; samples ahead of the clock are kept and not analysed",
		ahead);
	life_event(store, LOG_WARN_, now_ns, "clock_step", text);
}

void life_started(struct store *store, const struct life_past *past, int64_t now_ns, int64_t gap_ns)
{
	char text[256], away[DURATION_MAX], doubt[256];
	const int64_t gap = now_ns - past->seen_ns;
	const bool was_away = past->seen_ns > 0 && gap > gap_ns;
	if (past->step_ns != 0)
		life_write_step(store, now_ns, past);
	else if (past->ahead_ns > 0)
		life_write_ahead(store, now_ns, past->ahead_ns);
	if (was_away) {
		const char *why = "the agent had not been stopped; it crashed, was killed, or the "
				  "machine lost power";
		if (past->stopped)
			why = past->why;
		if (past->other_boot && gap >= DOUBTFUL_NS) {
			snprintf(doubt, sizeof(doubt),
				"%s; the machine was restarted too: check that its clock is right",
				why);
			why = doubt;
		}
		life_write_away(store, past->seen_ns, now_ns, why);
	}
	if (was_away)
		snprintf(text, sizeof(text), "rocewatch %s started, pid %d, after %s away",
			RW_VERSION, (int)getpid(), duration_format(away, sizeof(away), gap));
	else
		snprintf(text, sizeof(text), "rocewatch %s started, pid %d", RW_VERSION,
			(int)getpid());
	store_event(store, now_ns, "agent_start", NULL, NULL, text);
}

void life_stopped(struct store *store, int64_t now_ns, const char *why)
{
	char text[160];
	snprintf(text, sizeof(text), "the agent was stopped: %s", why);
	store_event(store, now_ns, "agent_stop", NULL, NULL, text);
}

void life_away(struct store *store, int64_t now_ns, int64_t away_ns)
{
	life_write_away(store, now_ns - away_ns, now_ns,
		"the agent did not run: its process was stopped, or the machine slept or was "
		"overloaded");
}

void life_clock_step(struct store *store, int64_t now_ns, int64_t step_ns)
{
	char by[DURATION_MAX], text[256];
	const char *how = "forward";
	const char *then = "no sample is missing: the time between was left out";
	int64_t size_ns = step_ns;
	if (step_ns < 0) {
		how = "back";
		then = "samples taken before, whose times are now ahead, are kept and no longer "
		       "analysed";
		size_ns = -step_ns;
	}
	/* to the second: a tick lies between what was before and what is now */
	duration_format(by, sizeof(by), (size_ns + NS_PER_S / 2) / NS_PER_S * NS_PER_S);
	snprintf(text, sizeof(text), "the clock was set %s by %s; %s", how, by, then);
	life_event(store, LOG_WARN_, now_ns, "clock_step", text);
}

void life_memory(struct store *store, int64_t now_ns, const char *what)
{
	life_event(store, LOG_WARN_, now_ns, "memory_pressure", what);
}

void life_web_down(struct store *store, int64_t now_ns, const char *why)
{
	store_event(store, now_ns, "web_down", NULL, NULL, why);
}

/* ---- the configuration --------------------------------------------------- */

/* The length of the section at @text: its line and the lines that are indented, or part of a list,
 * below it. */
static size_t section_length(const char *text)
{
	const char *at = strchr(text, '\n');
	while (at && (at[1] == ' ' || at[1] == '-' || at[1] == '#' || at[1] == '\n'))
		at = strchr(at + 1, '\n');
	if (!at)
		return strlen(text);
	return (size_t)(at + 1 - text);
}

/* The section of @text whose key is the one at @key; "" when there is none. */
static const char *section_find(const char *text, const char *key)
{
	const size_t n = strcspn(key, ":\n") + 1;
	for (const char *at = text; *at; at += section_length(at))
		if (strncmp(at, key, n) == 0)
			return at;
	return "";
}

static void sections_add(struct str *out, const char *section)
{
	if (out->n > 0)
		str_add(out, ", ");
	str_addn(out, section, strcspn(section, ":\n"));
}

/* The keys of all sections that differ, in the order of @is; those that went away last. */
static void sections_changed(const char *was, const char *is, struct str *out)
{
	for (const char *at = is; *at; at += section_length(at)) {
		const char *before = section_find(was, at);
		const size_t n = section_length(at);
		if (section_length(before) != n || strncmp(before, at, n) != 0)
			sections_add(out, at);
	}
	for (const char *at = was; *at; at += section_length(at))
		if (!*section_find(is, at))
			sections_add(out, at);
}

void life_reloaded(struct store *store, int64_t now_ns, const char *was, const char *is,
	const struct source_changes *changes)
{
	rw_cleanup(str_done) struct str changed = {0};
	rw_cleanup(str_done) struct str text = {0};
	sections_changed(str_or(was, ""), str_or(is, ""), &changed);
	str_addf(&text, "configuration reloaded: %s changed",
		changed.n > 0 ? changed.s : "nothing that it shows");
	str_addf(&text, "; sources: %u added, %u removed, %u changed, %u unchanged", changes->added,
		changes->removed, changes->changed, changes->unchanged);
	life_event(store, LOG_INFO_, now_ns, "config_reloaded", text.s);
}

void life_refused(struct store *store, int64_t now_ns, const struct err_list *errors)
{
	rw_cleanup(str_done) struct str text = {0};
	const size_t n = errors->n + errors->more;
	str_addf(&text, "reload refused, the running configuration stays: %zu mistake%s", n,
		plural(n));
	if (errors->n > 0) {
		const struct err *first = &errors->v[0];
		str_addf(&text, "; the first: %s", first->file);
		if (first->line > 0)
			str_addf(&text, ":%d:%d", first->line, first->col);
		str_addf(&text, ": %s", first->text);
	}
	life_event(store, LOG_ERROR_, now_ns, "config_refused", text.s);
}

/* pulse - sends agent.canary and agent.moved. */

#define EARLY_NS (NS_PER_S / 10) /* the tick that is due comes some milliseconds early or late */

void pulse_beat(struct pulse *pulse, struct entities *entities, const struct sink *sink,
	const char *name, int64_t now_ns, int64_t boot_ns, int64_t interval_ns, uint64_t moved)
{
	if (boot_ns < pulse->next_ns - EARLY_NS)
		return;
	pulse->next_ns = boot_ns + interval_ns;
	const uint32_t self = entities_intern(entities, ENTITY_AGENT, name, PRIO_NONE);
	const struct sample samples[] = {
		{.t_ns = now_ns,
			.value = sample_of_f64((double)boot_ns / 1e9),
			.entity = self,
			.metric = M_AGENT_CANARY,
			.source = SOURCE_AGENT},
		{.t_ns = now_ns,
			.value = moved,
			.entity = self,
			.metric = M_AGENT_MOVED,
			.source = SOURCE_AGENT},
	};
	sink->samples(sink->arg, samples, rw_countof(samples));
}

/* sd_notify - sends systemd's notifications: an AF_UNIX datagram, sd_notify(3). A leading '@' means
 * the abstract namespace. */

/* Half of what systemd asks for, as sd_watchdog_enabled(3) advises; 0 = it asks nothing of us. */
static int64_t watchdog_interval(void)
{
	const char *watchdog = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	int64_t usec;
	if (!watchdog || (pid && atol(pid) != (long)getpid()))
		return 0;
	if (unit_int(watchdog, &usec, NULL) != 0 || usec <= 0 || usec >= INT64_MAX / NS_PER_US)
		return 0;
	return usec * NS_PER_US / 2;
}

void notify_take(struct notify *notify)
{
	const char *path = str_or(getenv("NOTIFY_SOCKET"), "");
	memset(notify, 0, sizeof(*notify));
	if ((path[0] == '/' || path[0] == '@') && path[1] && strlen(path) < sizeof(notify->path))
		strcpy(notify->path, path);
	if (*notify->path)
		notify->watchdog_ns = watchdog_interval();
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
}

void notify_send(const struct notify *notify, const char *text)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	if (!*notify->path)
		return;
	size_t length = strlen(notify->path);
	memcpy(to.sun_path, notify->path, length);
	if (to.sun_path[0] == '@')
		to.sun_path[0] = '\0';
	rw_cleanup(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}
