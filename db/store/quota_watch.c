/* quota_watch - see quota_watch.h. */
#include "db/store/quota_watch.h"

#include <math.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"

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
