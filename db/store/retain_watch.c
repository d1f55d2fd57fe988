/* retain_watch - what retention and quota decide by: a clock that is believed only after it stayed,
 * and how fast the file grows. */
#include "db/store/retain_watch.h"

#define RETAIN_LEAP_NS (24 * 3600 * NS_PER_S) /* the most that is believed without a hold */
#define RETAIN_HOLD_NS (24 * 3600 * NS_PER_S)

/* store_growth_rate - bytes a day, from the oldest point to @used_bytes at @now_ns; negative while
 * it shrinks. NAN before GROWTH_LEAST_NS were seen. */
#define GROWTH_LEAST_NS (3 * 3600 * INT64_C(1000000000))

/* retain_clock - does not believe a clock that leaps ahead until it has stayed there. */

#define LEAP_LEAST_NS (600 * NS_PER_S)
#define LEAP_SHARE 7 /* of the time that samples are kept: a day of a week */
#define FORMER_NS (3600 * NS_PER_S)

static int64_t clock_within(int64_t ns, int64_t least, int64_t most)
{
	if (ns < least)
		return least;
	if (ns > most)
		return most;
	return ns;
}

void retain_clock_limit(struct retain_clock *clock, int64_t raw_ns)
{
	clock->leap_ns = RETAIN_LEAP_NS;
	clock->hold_ns = RETAIN_HOLD_NS;
	if (raw_ns <= 0)
		return;
	clock->leap_ns = clock_within(raw_ns / LEAP_SHARE, LEAP_LEAST_NS, RETAIN_LEAP_NS);
	clock->hold_ns = clock_within(raw_ns, LEAP_LEAST_NS, RETAIN_HOLD_NS);
}

/* Time that passed since the last look counts for all that was believed. */
static void clock_pass(struct retain_clock *clock, int64_t boot_ns)
{
	int64_t passed_ns = 0;

	if (clock->looked && boot_ns > clock->boot_ns)
		passed_ns = boot_ns - clock->boot_ns;
	clock->looked = true;
	clock->boot_ns = boot_ns;
	clock->trusted_ns += passed_ns;
	if (clock->ahead)
		clock->ahead_ran_ns += passed_ns;
	if (clock->former_ns == 0)
		return;
	clock->former_ns += passed_ns;
	clock->former_ran_ns += passed_ns;
	if (clock->former_ran_ns > FORMER_NS)
		clock->former_ns = 0;
}

static bool clock_near(const struct retain_clock *clock, int64_t one_ns, int64_t other_ns)
{
	const int64_t apart_ns = one_ns - other_ns;

	return apart_ns <= clock->leap_ns && apart_ns >= -clock->leap_ns;
}

static int64_t clock_believe(struct retain_clock *clock, int64_t wall_ns)
{
	clock->ahead = false;
	clock->trusted_ns = wall_ns;
	return wall_ns;
}

static int64_t clock_hold(struct retain_clock *clock, int64_t wall_ns)
{
	const int64_t by_ns = wall_ns - clock->trusted_ns;

	if (!clock->ahead || !clock_near(clock, by_ns, clock->ahead_by_ns)) {
		clock->ahead = true; /* a leap, or another one */
		clock->ahead_ran_ns = 0;
		clock->ahead_by_ns = by_ns;
	}
	if (clock->ahead_ran_ns >= clock->hold_ns)
		return clock_believe(clock, wall_ns);
	return clock->trusted_ns;
}

int64_t retain_clock_now(
	struct retain_clock *clock, int64_t newest_ns, wall_t wall, int64_t boot_ns)
{
	if (clock->leap_ns == 0)
		retain_clock_limit(clock, 0);
	if (clock->trusted_ns == 0)
		clock->trusted_ns = newest_ns;
	if (clock->trusted_ns == 0)
		clock->trusted_ns = wall.ns;
	clock_pass(clock, boot_ns);
	if (clock_near(clock, wall.ns, clock->trusted_ns))
		return clock_believe(clock, wall.ns);
	if (wall.ns > clock->trusted_ns) {
		if (clock->former_ns == 0 || !clock_near(clock, wall.ns, clock->former_ns))
			return clock_hold(clock, wall.ns);
		clock->former_ns = 0;
		return clock_believe(clock, wall.ns);
	}
	clock->former_ns = clock->trusted_ns;
	clock->former_ran_ns = 0;
	return clock_believe(clock, wall.ns);
}

void retain_clock_print(const struct retain_clock *clock, char *buf, size_t size)
{
	snprintf(buf, size, "1 %" PRId64 " %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
		clock->trusted_ns, clock->ahead, clock->ahead_ran_ns, clock->ahead_by_ns,
		clock->former_ns, clock->former_ran_ns);
}

bool retain_clock_parse(struct retain_clock *clock, const char *text)
{
	struct retain_clock read = {0};
	int ahead, version;

	if (sscanf(text, "%d %" SCNd64 " %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &version,
		    &read.trusted_ns, &ahead, &read.ahead_ran_ns, &read.ahead_by_ns,
		    &read.former_ns, &read.former_ran_ns) != 7)
		return false;
	const bool sane = read.trusted_ns >= 0 && read.ahead_ran_ns >= 0 && read.former_ns >= 0;
	if (version != 1 || !sane)
		return false;
	read.ahead = ahead != 0;
	read.leap_ns = clock->leap_ns;
	read.hold_ns = clock->hold_ns;
	*clock = read;
	return true;
}

#define POINT_EVERY_NS (3600 * NS_PER_S)
#define POINT_GAP_NS (6 * 3600 * NS_PER_S) /* no agent ran, or the clock was set */
#define DAY_NS (24 * 3600 * NS_PER_S)
#define FORESEEN_DAYS 3650.0

bool store_growth_note(struct store_growth *growth, int64_t now_ns, uint64_t used_bytes)
{
	int64_t since_ns = 0;

	if (growth->n > 0)
		since_ns = now_ns - growth->points[growth->n - 1].t_ns;
	if (since_ns < 0 || since_ns > POINT_GAP_NS)
		growth->n = 0;
	if (growth->n > 0 && since_ns < POINT_EVERY_NS)
		return false;
	if (growth->n == GROWTH_POINTS) {
		memmove(&growth->points[0], &growth->points[1],
			(GROWTH_POINTS - 1) * sizeof(growth->points[0]));
		growth->n--;
	}
	growth->points[growth->n++] = (struct growth_point){now_ns, used_bytes};
	return true;
}

double store_growth_rate(const struct store_growth *growth, int64_t now_ns, uint64_t used_bytes)
{
	const struct growth_point *first = &growth->points[0];

	if (growth->n == 0 || now_ns - first->t_ns < GROWTH_LEAST_NS)
		return NAN;
	return ((double)used_bytes - (double)first->used_bytes) * (double)DAY_NS /
		(double)(now_ns - first->t_ns);
}

int64_t store_growth_full(int64_t now_ns, uint64_t used_bytes, uint64_t quota_bytes,
	double bytes_day, int64_t raw_full_ns)
{
	if (quota_bytes == 0 || !(bytes_day > 0))
		return 0;
	if (used_bytes >= quota_bytes)
		return now_ns;
	const double days = (double)(quota_bytes - used_bytes) / bytes_day;
	if (days > FORESEEN_DAYS)
		return 0;
	const int64_t full_ns = now_ns + (int64_t)(days * (double)DAY_NS);
	if (raw_full_ns > now_ns && full_ns > raw_full_ns)
		return 0;
	return full_ns;
}

void store_growth_print(const struct store_growth *growth, char *buf, size_t size)
{
	size_t n = (size_t)snprintf(buf, size, "1");

	for (size_t i = 0; i < growth->n && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, " %" PRId64 ":%" PRIu64,
			growth->points[i].t_ns, growth->points[i].used_bytes);
}

bool store_growth_parse(struct store_growth *growth, const char *text)
{
	struct store_growth read = {0};
	int at = 0;

	if (text[0] != '1' || (text[1] != ' ' && text[1] != '\0'))
		return false;
	for (const char *p = text + 1; *p; p += at) {
		struct growth_point point;
		if (read.n == GROWTH_POINTS ||
			sscanf(p, " %" SCNd64 ":%" SCNu64 "%n", &point.t_ns, &point.used_bytes,
				&at) != 2)
			return false;
		if (read.n > 0 && point.t_ns <= read.points[read.n - 1].t_ns)
			return false;
		read.points[read.n++] = point;
	}
	*growth = read;
	return true;
}

#define GROWTH_KEY "store_growth"
#define SOON_NS (30 * 24 * 3600 * NS_PER_S) /* a month is enough to order a disk */
/* Samples are kept in blocks of an hour at most, and until their minutes are made. */
#define BLOCK_NS (3 * 3600 * NS_PER_S)
#define SAY_EVERY_NS (24 * 3600 * NS_PER_S)
#define LEAST_BYTES 100000

const char *const store_tier_names[STORE_TIERS] = {
	[STORE_RAW] = "raw", [STORE_MINUTE] = "minute", [STORE_HOUR] = "hour"};

const char *const store_use_names[STORE_USES] = {
	[STORE_USE_SAMPLES] = "samples",
	[STORE_USE_FLOWS] = "flows",
	[STORE_USE_FINDINGS] = "findings",
	[STORE_USE_EVENTS] = "events",
	[STORE_USE_INCIDENTS] = "incidents",
	[STORE_USE_NAMES] = "names",
	[STORE_USE_CONFIGURATION] = "configuration",
};

static int64_t tier_age_ns(const struct store_options *options, enum store_tier tier)
{
	const int64_t ages[STORE_TIERS] = {[STORE_RAW] = options->raw_ns,
		[STORE_MINUTE] = options->minute_ns,
		[STORE_HOUR] = options->hour_ns};

	return ages[tier];
}

/* ---- growth -------------------------------------------------------------- */

static void watch_growth(struct quota_watch *watch, const struct store_backend *backend,
	void *state, const struct store_options *options, int64_t now_ns, struct store_usage *usage)
{
	char text[GROWTH_TEXT_MAX];
	int64_t raw_full_ns = 0;

	if (!watch->known && backend->recall(state, GROWTH_KEY, text, sizeof(text)) == 0)
		store_growth_parse(&watch->growth, text);
	watch->known = true;
	if (store_growth_note(&watch->growth, now_ns, usage->used_bytes)) {
		store_growth_print(&watch->growth, text, sizeof(text));
		if (backend->remember(state, GROWTH_KEY, text) < 0)
			log_debug("store", "%s: its growth could not be kept", options->path);
	}
	if (options->raw_ns > 0 && usage->oldest_ns[STORE_RAW] > 0)
		raw_full_ns = usage->oldest_ns[STORE_RAW] + options->raw_ns - BLOCK_NS;
	usage->growth_bytes_day = store_growth_rate(&watch->growth, now_ns, usage->used_bytes);
	usage->full_ns = store_growth_full(now_ns, usage->used_bytes, usage->quota_bytes,
		usage->growth_bytes_day, raw_full_ns);
}

/* ---- what is said -------------------------------------------------------- */

static void say_stuck(struct quota_watch *watch, const char *path, const struct store_usage *usage)
{
	rw_cleanup(str_done) struct str what = {0};

	if (!usage->stuck) {
		complaint_over(&watch->stuck, mono_now(), "store", "the quota is kept");
		return;
	}
	for (unsigned use = 0; usage->counted && use < STORE_USES; use++)
		if (usage->by[use] >= LEAST_BYTES)
			str_addf(&what, ", %.1f MB %s", (double)usage->by[use] / 1e6,
				store_use_names[use]);
	complain(&watch->stuck, mono_now(), LOG_ERROR_, "store",
		"%s: the quota is %.1f MB, but %.1f MB are in use that may not be deleted (open, "
		"newest, or needed by what is kept)%s; raise store.quota, or close what is open",
		path, (double)usage->quota_bytes / 1e6, (double)usage->used_bytes / 1e6,
		what.n > 0 ? what.s : "");
}

/* A state that lasts is said when it begins, and once a day. */
static bool say_again(int64_t *said_ns)
{
	const int64_t now_ns = mono_now().ns;

	if (*said_ns != 0 && now_ns - *said_ns < SAY_EVERY_NS)
		return false;
	*said_ns = now_ns;
	return true;
}

/* Which tiers reach back less far than they are configured to. */
static void say_cut(struct quota_watch *watch, const struct store_options *options, int64_t now_ns,
	const struct store_usage *usage)
{
	rw_cleanup(str_done) struct str what = {0};
	char reach[32], age[32];

	for (unsigned tier = 0; tier < STORE_TIERS; tier++) {
		if (!usage->cut[tier] || usage->oldest_ns[tier] == 0)
			continue;
		duration_format(reach, sizeof(reach), now_ns - usage->oldest_ns[tier]);
		str_addf(&what, "%s%s samples reach back %s", str_if(what.n > 0, ", "),
			store_tier_names[tier], reach);
		if (tier_age_ns(options, tier) > 0)
			str_addf(&what, " of %s",
				duration_format(age, sizeof(age), tier_age_ns(options, tier)));
	}
	if (what.n == 0) {
		if (watch->cut_said_ns != 0)
			log_info("store", "the quota holds as much as store.retention asks for");
		watch->cut_said_ns = 0;
		return;
	}
	if (say_again(&watch->cut_said_ns))
		log_warn("store",
			"%s: the quota of %.1f MB holds less than store.retention asks for: %s; "
			"raise store.quota, or lower store.retention",
			options->path, (double)usage->quota_bytes / 1e6, what.s);
}

static void say_soon(struct quota_watch *watch, const char *path, int64_t now_ns,
	const struct store_usage *usage)
{
	char when[WALL_TEXT_MAX];

	if (usage->full_ns == 0 || usage->full_ns - now_ns > SOON_NS || usage->cut[STORE_RAW])
		return;
	if (!say_again(&watch->soon_said_ns))
		return;
	wall_text(when, (wall_t){usage->full_ns}, 0);
	log_warn("store",
		"%s: %.1f of %.1f MB are in use; growing by %.1f MB a day, the quota is reached "
		"about %s, and raw samples then go before their time; raise store.quota, or lower "
		"store.retention",
		path, (double)usage->used_bytes / 1e6, (double)usage->quota_bytes / 1e6,
		usage->growth_bytes_day / 1e6, when);
}

void quota_watch(struct quota_watch *watch, const struct store_backend *backend, void *state,
	const struct store_options *options, int64_t now_ns, struct store_usage *usage)
{
	watch_growth(watch, backend, state, options, now_ns, usage);
	say_stuck(watch, options->path, usage);
	say_cut(watch, options, now_ns, usage);
	say_soon(watch, options->path, now_ns, usage);
}
