/* unjudged - the reasons for which nothing is open. */
#include "agent/answers/status/unjudged.h"

#include "agent/answers/status/status.h"
#include "agent/answers/status/verdict.h"
#include "agent/client/client.h"
#include "config/config.h"
#include "db/series/history.h"

enum { PLACE_SHOWN = 60 };

/* ---- what is open ------------------------------------------------------------- */

static bool unjudged_is_cause(const struct unjudged *what, const char *word)
{
	const enum cause cause = cause_by_name(str_or(word, ""));
	for (size_t i = 0; what->causes[i] != CAUSE_NONE; i++)
		if (what->causes[i] == cause)
			return true;
	return false;
}

static bool unjudged_is_silenced(const struct open_incident *incident)
{
	return *str_or(incident->silenced, "");
}

/* Does it stand at the place? A whole device stands for its ports. */
static bool unjudged_is_there(const struct unjudged *what, const struct open_incident *incident)
{
	const char *port = str_or(incident->port, "");
	if (!what->device || !str_eq(what->device, str_or(incident->device, "")))
		return false;
	return !what->port || !*port || str_eq(what->port, port);
}

/* "incident ID at leaf1:Ethernet2" */
static void unjudged_name(struct str *out, const char *id, const char *device, const char *port)
{
	str_addf(out, "incident %s", str_or(id, ""));
	if (!*str_or(device, ""))
		return;
	str_addf(out, " at %.*s", PLACE_SHOWN, device);
	if (*str_or(port, ""))
		str_addf(out, ":%.*s", PLACE_SHOWN, port);
}

static bool unjudged_silenced(const struct unjudged *what, struct str *out)
{
	for (size_t i = 0; i < what->n_incidents; i++) {
		const struct open_incident *incident = &what->incidents[i];
		if (!unjudged_is_silenced(incident) || !unjudged_is_cause(what, incident->cause))
			continue;
		unjudged_name(out, incident->id, incident->device, incident->port);
		str_addf(out, " is silenced %s", incident->silenced);
		return true;
	}
	return false;
}

static bool unjudged_elsewhere(const struct unjudged *what, struct str *out)
{
	for (size_t i = 0; i < what->n_incidents; i++) {
		const struct open_incident *incident = &what->incidents[i];
		if (unjudged_is_silenced(incident) || !unjudged_is_cause(what, incident->cause))
			continue;
		unjudged_name(out, incident->id, incident->device, incident->port);
		str_add(out, " is of this kind");
		return true;
	}
	return false;
}

/* ---- what was open ------------------------------------------------------------ */

static int unjudged_take_ended(void *arg, int n, char *const *words, char *const *names)
{
	struct str *out = arg;
	if (n < 4 || !words[0] || !words[3])
		return 0;
	char ended[WALL_TEXT_MAX];
	unjudged_name(out, words[0], words[1], words[2]);
	str_addf(out, " ended %s", wall_text(ended, (wall_t){strtoll(words[3], NULL, 10)}, 0));
	return 1;
}

/* In the time that is measured: at the place, or else the last. */
static bool unjudged_ended(const struct unjudged *what, struct str *out)
{
	const struct client *client = what->client;
	rw_cleanup(str_done) struct str sql = {0};
	const size_t before = out->n;
	const char *device = str_or(what->device, "");
	if (!client || !client->history || strchr(device, '\''))
		return false;
	str_add(&sql, "SELECT id, device, port, closed_ns FROM incidents WHERE cause IN (''");
	for (size_t i = 0; what->causes[i] != CAUSE_NONE; i++)
		str_addf(&sql, ", '%s'", cause_name(what->causes[i]));
	str_addf(&sql,
		") AND closed_ns > %lld AND closed_ns <= %lld ORDER BY device IS NOT '%s', "
		"closed_ns DESC LIMIT 1",
		(long long)client->from_ns, (long long)client->at_ns, device);
	(void)history_sql(client->history, sql.s, unjudged_take_ended, out, NULL);
	return out->n > before;
}

/* ---- who judges --------------------------------------------------------------- */

/* The detector of the first cause. */
static const char *unjudged_analyzer(const struct unjudged *what, char *buf, size_t size)
{
	const char *names = cause_info(what->causes[0])->reported_by;
	snprintf(buf, size, "%.*s", (int)strcspn(names, " "), names);
	return buf;
}

static bool unjudged_by_judge(const struct unjudged *what, struct str *out)
{
	if (!what->client || !config_judged_elsewhere(what->client->config))
		return false;
	str_add(out, "the judge's database holds what is open");
	return true;
}

static bool unjudged_capture(const struct unjudged *what, struct str *out)
{
	if (!what->is_capture)
		return false;
	str_add(out, "no analyzer judges a capture");
	return true;
}

static bool unjudged_never_answered(const struct unjudged *what, struct str *out)
{
	if (!what->never_answered)
		return false;
	str_add(out, "no sample of it is stored");
	return true;
}

/* ---- since when ---------------------------------------------------------------- */

/* How long a fault must last until its detector reports it. */
static int64_t unjudged_asked_ns(const struct unjudged *what, const char *analyzer)
{
	const struct config *config = what->client->config;
	return config_hold(config, analyzer) * config_window(config, analyzer);
}

static void unjudged_add_windows(const struct unjudged *what, const char *analyzer, struct str *out)
{
	const struct config *config = what->client->config;
	char text[32];
	const int64_t hold = config_hold(config, analyzer);
	str_addf(out, "analyzers.%s asks for %lld window%s of %s", analyzer, (long long)hold,
		plural((size_t)hold),
		duration_format(text, sizeof(text), config_window(config, analyzer)));
}

static bool unjudged_young(const struct unjudged *what, struct str *out)
{
	char analyzer[32];
	int64_t first_ns, last_ns, lasted_ns = (int64_t)(what->lasted_s * (double)NS_PER_S);
	const struct client *client = what->client;
	if (!client || !client->history)
		return false;
	unjudged_analyzer(what, analyzer, sizeof(analyzer));
	const int64_t asked_ns = unjudged_asked_ns(what, analyzer);
	if (lasted_ns > 0 && lasted_ns < asked_ns) {
		str_add(out, "it is younger than that: ");
		unjudged_add_windows(what, analyzer, out);
		return true;
	}
	if (history_range(client->history, &first_ns, &last_ns, NULL) < 0)
		return false;
	if (last_ns > client->at_ns)
		last_ns = client->at_ns;
	if (last_ns - first_ns >= asked_ns)
		return false;
	str_add(out, "the data is younger than that: ");
	unjudged_add_windows(what, analyzer, out);
	return true;
}

/* Its detector looked, and what is open there may say more. */
static bool unjudged_no_fault(const struct unjudged *what, struct str *out)
{
	char analyzer[32];
	str_addf(out, "analyzers.%s found no fault in its windows",
		unjudged_analyzer(what, analyzer, sizeof(analyzer)));
	for (size_t i = 0; i < what->n_incidents; i++) {
		const struct open_incident *incident = &what->incidents[i];
		if (!unjudged_is_there(what, incident))
			continue;
		str_addf(out, "; incident %s there is %s", str_or(incident->id, ""),
			str_or(incident->cause, ""));
		break;
	}
	return true;
}

/* ---- the table ------------------------------------------------------------------- */

typedef bool unjudged_fn(const struct unjudged *what, struct str *out);

static unjudged_fn *const unjudged_reasons[] = {
	unjudged_by_judge, unjudged_silenced, unjudged_elsewhere, unjudged_ended, unjudged_capture,
	unjudged_never_answered, unjudged_young, unjudged_no_fault, /* always */
};

struct unjudged unjudged_device(const struct client *client, const struct status_device *device,
	const struct open_incident *incidents, size_t n)
{
	static const enum cause causes[] = {CAUSE_DEVICE_DOWN, CAUSE_TELEMETRY_GAP, CAUSE_NONE};
	struct unjudged what = {.client = client,
		.incidents = incidents,
		.n_incidents = n,
		.causes = causes,
		.device = device->name,
		.is_capture = device->is_capture,
		.never_answered = isnan(device->age_s)};
	if (device->age_s > 0)
		what.lasted_s = device->age_s;
	return what;
}

void unjudged_say(const struct unjudged *what, struct str *out)
{
	str_add(out, "no incident is about it: ");
	for (size_t i = 0; i < rw_countof(unjudged_reasons); i++)
		if (unjudged_reasons[i](what, out))
			return;
}

void unjudged_over(const struct unjudged *what, struct str *out)
{
	str_add(out, "over its limit, and ");
	unjudged_say(what, out);
}
