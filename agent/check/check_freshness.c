/* check_freshness - how old the newest data of each device is, and whether new data still arrives:
 * the agent's canary goes from the wire to the database. */

#include "agent/check/check_source.h"
#include "agent/client/client.h"
#include "agent/client/peek.h"
#include "agent/answers/status/unjudged.h"
#include "agent/answers/watch/watch_frame.h"
#include "config/config.h"
#include "db/series/history.h"

/* check_target - devices: does each one answer? */

struct target_counts {
	size_t up, down, unknown;
};

static const enum cause target_causes[] = {CAUSE_DEVICE_DOWN, CAUSE_TELEMETRY_GAP, CAUSE_NONE};

/* As the fabric is judged: a warning, until an incident says more. */
static enum check_state target_judge(
	const struct check_source *source, const struct check_ranges *ranges, size_t down)
{
	const enum check_state state = check_judge_value(ranges, (double)down);
	const bool own = source->given.warn.set || source->given.crit.set;
	if (!own && state == CHECK_CRITICAL)
		return CHECK_WARNING;
	return state;
}

/* ", and no incident is about it: why" where @n_incidents is zero. */
static void check_add_why(const struct check_source *source, const struct watch_answer *watch,
	const struct status_device *device, size_t n_incidents, struct str *out)
{
	const struct unjudged what =
		unjudged_device(source->client, device, watch->incidents, watch->n_incidents);
	if (n_incidents)
		return;
	str_add(out, ", and ");
	unjudged_say(&what, out);
}

static void target_count(const struct check_source *source, const struct watch_answer *watch,
	struct target_counts *counts, size_t n_incidents, struct check_line *line,
	const struct check_ranges *ranges)
{
	const struct status_answer *status = &watch->status;
	rw_cleanup(str_done) struct str why = {0};
	const struct status_device *first_down = NULL, *first_unknown = NULL;
	for (size_t i = 0; i < status->n_devices; i++) {
		const struct status_device *row = &status->devices[i];
		if (!check_device_in_scope(source, row->name))
			continue;
		counts->up += row->up == MAYBE_YES;
		counts->down += row->up == MAYBE_NO;
		counts->unknown += row->up == MAYBE_UNKNOWN;
		if (!first_down && row->up == MAYBE_NO)
			first_down = row;
		if (!first_unknown && row->up == MAYBE_UNKNOWN)
			first_unknown = row;
	}
	size_t all = counts->up + counts->down + counts->unknown;
	check_say(line, CHECK_OK, "%zu of %zu devices up", counts->up, all);
	if (first_down) {
		check_add_why(source, watch, first_down, n_incidents, &why);
		check_say(line, target_judge(source, ranges, counts->down), "%zu down, %s: %s%s",
			counts->down, first_down->name, str_or(first_down->reason, ""),
			str_or(why.s, ""));
	}
	if (first_unknown)
		check_say(line, CHECK_UNKNOWN, "%zu unknown, %s: %s", counts->unknown,
			first_unknown->name, str_or(first_unknown->reason, ""));
	if (all == 0)
		check_say(line, CHECK_UNKNOWN, "no device matches");
}

static int check_target_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct check_ranges usual = check_ranges_below(NAN, 0);
	const struct check_ranges ranges = check_ranges_of(source, &usual);
	const struct watch_answer *watch;
	struct target_counts counts = {0};
	int r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	const size_t n = check_incidents(source, watch, target_causes, ret);
	target_count(source, watch, &counts, n, ret, &ranges);
	double all = (double)(counts.up + counts.down + counts.unknown);
	check_line_value(ret, "up", (double)counts.up, 0, NULL, all);
	check_line_value(ret, "down", (double)counts.down, 0, &ranges, all);
	check_line_value(ret, "unknown", (double)counts.unknown, 0, NULL, all);
	return 0;
}

const struct check check_target = {
	.name = "target",
	.label = "TARGET",
	.summary = "devices that do not answer",
	.run = check_target_run,
	.help = "RANGE is the number of devices that are down. Without a RANGE any is a "
		"warning, and an open incident about it decides.",
	.options = "warn crit device job",
	.state = true,
	.examples = {{"check target", "alerts when a device does not answer"},
		{"check target --warn 0 --crit 2",
			"warns at one device that is down, is CRITICAL above two"}},
};

/* ---- check_freshness ----------------------------------------------------- */

/* In polling intervals; no less than some seconds for commits. */
enum { FRESH_WARN = 3, FRESH_CRIT = 10, FRESH_WARN_LEAST_S = 15, FRESH_CRIT_LEAST_S = 60 };

/* What is late may be told by an incident: a late answer alone is none. */
static const enum cause freshness_causes[] = {CAUSE_DEVICE_DOWN, CAUSE_TELEMETRY_GAP, CAUSE_NONE};

static struct check_ranges freshness_ranges(const struct check_source *source)
{
	double interval_s = (double)config_interval(source->client->config) / (double)NS_PER_S;
	const struct check_ranges usual =
		check_ranges_below(fmax(FRESH_WARN * interval_s, FRESH_WARN_LEAST_S),
			fmax(FRESH_CRIT * interval_s, FRESH_CRIT_LEAST_S));
	return check_ranges_of(source, &usual);
}

static void freshness_judge(const struct check_source *source, const struct watch_answer *watch,
	const struct check_ranges *ranges, size_t n_incidents, struct check_line *line)
{
	const struct status_answer *status = &watch->status;
	rw_cleanup(str_done) struct str why = {0};
	const struct status_device *oldest = NULL;
	size_t n = 0, n_silent = 0;
	double age_s = NAN;
	for (size_t i = 0; i < status->n_devices; i++) {
		const struct status_device *row = &status->devices[i];
		const double own_s = row->age_s;
		const struct fabric_device *device =
			fabric_device(source->client->config->fabric, row->name);
		if (!check_device_in_scope(source, row->name))
			continue;
		if (device && device->foreign) /* its data is another agent's */
			continue;
		n++;
		n_silent += isnan(own_s);
		if (!oldest || isnan(own_s) || own_s > age_s)
			oldest = row;
		age_s = fmax(age_s, own_s);
	}
	char text[32];
	/* What is too old says nothing of the present: that is unknown, not critical. */
	enum check_state state = check_judge_value(ranges, age_s);
	if (state == CHECK_CRITICAL)
		state = CHECK_UNKNOWN;
	if (state == CHECK_WARNING)
		check_add_why(source, watch, oldest, n_incidents, &why);
	if (n == 0)
		check_say(line, CHECK_UNKNOWN, "no device matches");
	else if (n_silent > 0)
		check_say(line, CHECK_UNKNOWN, "%zu of %zu devices never answered, one is %s",
			n_silent, n, oldest->name);
	else
		check_say(line, state, "oldest data %s, %s%s",
			duration_format(text, sizeof(text), llround(age_s) * NS_PER_S),
			oldest->name, str_or(why.s, ""));
	check_line_unit(line, "age", age_s, "s", 1, ranges, NAN);
}

static int freshness_take_until(void *arg, int n, char *const *words, char *const *names)
{
	if (words[0])
		*(double *)arg = strtod(words[0], NULL);
	return 0;
}

/* A judge asks no device: what counts is how far it has judged. */
static int freshness_of_judge(const struct check_source *source, const struct check_ranges *ranges,
	struct check_line *line, struct err *e)
{
	double until_s = NAN;
	char text[32];
	const int r = history_sql(source->client->history,
		"SELECT value FROM health WHERE key='judge/judge/until_s'", freshness_take_until,
		&until_s, e);
	if (r < 0)
		return r;
	const double age_s = (double)source->client->now_ns / NS_PER_S - until_s;
	enum check_state state = check_judge_value(ranges, age_s);
	if (state == CHECK_CRITICAL)
		state = CHECK_UNKNOWN;
	if (isnan(age_s))
		check_say(line, CHECK_UNKNOWN, "the judge has judged nothing yet");
	else
		check_say(line, state, "judged up to %s ago",
			duration_format(text, sizeof(text), llround(age_s) * NS_PER_S));
	check_line_unit(line, "age", age_s, "s", 1, ranges, NAN);
	return 0;
}

static int freshness_canary(struct check_source *source, struct check_line *line, struct err *e)
{
	struct canary_state canary;
	const struct client *client = source->client;
	if (client->agent == STORE_REPLAY)
		return 0;
	int r = canary_read(client, client->now_ns, &canary, e);
	if (r < 0)
		return r;
	const struct check_ranges limit = check_ranges_below(NAN, canary.limit_s);
	if (canary.known && !canary.moving && client->stuck_ns)
		check_say(line, CHECK_UNKNOWN, "the agent polls, but cannot write: %s",
			client->stuck_why);
	else if (canary.known && !canary.moving)
		check_say(line, CHECK_UNKNOWN,
			"nothing new arrives in the database: the canary is %.0f s old",
			canary.age_s);
	if (canary.known)
		check_line_unit(line, "canary", canary.age_s, "s", 1, &limit, NAN);
	return 0;
}

static int check_freshness_run(struct check_source *source, struct check_line *ret, struct err *e)
{
	const struct check_ranges ranges = freshness_ranges(source);
	const struct watch_answer *watch;
	int r = check_source_open(source, &watch, e);
	if (r < 0)
		return r;
	const size_t n = check_incidents(source, watch, freshness_causes, ret);
	if (source->client->config->judging)
		r = freshness_of_judge(source, &ranges, ret, e);
	else
		freshness_judge(source, watch, &ranges, n, ret);
	if (r < 0)
		return r;
	return freshness_canary(source, ret, e);
}

const struct check check_freshness = {
	.name = "freshness",
	.label = "FRESHNESS",
	.summary = "age of the newest data of each device, and whether new data arrives",
	.run = check_freshness_run,
	.help = "RANGE is an age in seconds; outside of --crit is UNKNOWN (default: 3 and 10 "
		"intervals).",
	.options = "warn crit device job",
	.state = true,
	.examples = {{"check freshness", "alerts when data of a device is old"},
		{"check freshness --warn 60 --crit 300", "warns after a minute"}},
};
