/* verdict - the worst of what is open, and never better than what is known. */
#include "agent/answers/status/verdict.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/answers/common/agent_state.h"
#include "agent/answers/common/store_facts.h"
#include "agent/answers/status/open_incident.h"
#include "agent/answers/status/status.h"

struct verdict_words {
	enum golden_state state;
	struct str text;
};

/* UNKNOWN is worse than OK: it may be anything. */
static int verdict_rank(enum golden_state state)
{
	static const int ranks[GOLDEN_STATES] = {
		[GOLDEN_UNKNOWN] = 1, [GOLDEN_WARNING] = 2, [GOLDEN_CRITICAL] = 3};
	return ranks[state];
}

static bool verdict_is_silenced(const struct open_incident *incident)
{
	return *str_or(incident->silenced, "");
}

enum golden_state verdict_severity_state(const struct open_incident *incident)
{
	if (incident_is_critical(incident))
		return golden_state_of(SEV_CRITICAL);
	/* Of a past time it may not be known. */
	const char *severity = str_or(incident->severity, severity_name(SEV_WARNING));
	if (str_eq(severity, severity_name(SEV_WARNING)))
		return golden_state_of(SEV_WARNING);
	return golden_state_of(SEV_INFO);
}

enum golden_state verdict_incident_state(const struct open_incident *incident)
{
	if (verdict_is_silenced(incident))
		return GOLDEN_OK;
	return verdict_severity_state(incident);
}

/* ---- incidents ---------------------------------------------------------------- */

/* What is part of a silenced one stands for itself. */
static bool verdict_is_part(const struct verdict_in *in, const struct open_incident *incident)
{
	for (size_t i = 0; i < in->n_incidents; i++)
		if (str_eq(in->incidents[i].id, str_or(incident->parent, "")) &&
			!verdict_is_silenced(&in->incidents[i]))
			return true;
	return false;
}

/* Zero where it has no price. */
static double verdict_price(const struct open_incident *incident)
{
	if (isnan(incident->usd_per_hour))
		return 0;
	return incident->usd_per_hour;
}

/* By state, then by price, then the one that stands first by its id: the order of the rows, which
 * differs between faces, does not count. */
static bool verdict_is_worse(const struct open_incident *incident, const struct open_incident *than)
{
	const int left = verdict_rank(verdict_incident_state(incident));
	const int right = verdict_rank(verdict_incident_state(than));
	if (left != right)
		return left > right;
	if (verdict_price(incident) != verdict_price(than))
		return verdict_price(incident) > verdict_price(than);
	return strcmp(str_or(incident->id, ""), str_or(than->id, "")) < 0;
}

/* The worst; a part only where it is worse than all that are whole. */
static const struct open_incident *verdict_worst(const struct verdict_in *in)
{
	const struct open_incident *worst = NULL;
	for (int parts = 0; parts < 2; parts++)
		for (size_t i = 0; i < in->n_incidents; i++) {
			const struct open_incident *one = &in->incidents[i];
			if (verdict_is_silenced(one) || verdict_is_part(in, one) != (parts == 1))
				continue;
			const bool worse = worst &&
				verdict_rank(verdict_incident_state(one)) >
					verdict_rank(verdict_incident_state(worst));
			if (!worst || worse || (parts == 0 && verdict_is_worse(one, worst)))
				worst = one;
		}
	return worst;
}

static void verdict_add_money(double *sum, double value)
{
	if (isnan(value))
		return;
	if (isnan(*sum))
		*sum = 0;
	*sum += value;
}

static struct verdict_money verdict_money_of(const struct verdict_in *in)
{
	struct verdict_money money = {NAN, NAN};
	for (size_t i = 0; i < in->n_incidents; i++) {
		if (verdict_is_part(in, &in->incidents[i]))
			continue;
		verdict_add_money(&money.usd_per_hour, in->incidents[i].usd_per_hour);
		verdict_add_money(&money.usd_total, in->incidents[i].usd_total);
	}
	return money;
}

static void verdict_say_silenced(struct str *text, size_t n)
{
	if (n)
		str_addf(text, "; %zu silenced", n);
}

/* "2 incidents (1 part more) are open, $960/h, the worst: node-010 pauses ..." */
static void verdict_say_incidents(
	const struct verdict_in *in, const struct verdict_money *money, struct verdict_words *words)
{
	const struct open_incident *worst = verdict_worst(in);
	struct str *text = &words->text;
	size_t n = 0, n_parts = 0, n_silenced = 0;
	if (in->judged_elsewhere) {
		words->state = GOLDEN_UNKNOWN;
		str_add(text, "incidents are in the judge's database");
		return;
	}
	for (size_t i = 0; i < in->n_incidents; i++) {
		const struct open_incident *one = &in->incidents[i];
		if (verdict_is_silenced(one))
			n_silenced++;
		else if (verdict_is_part(in, one))
			n_parts++;
		else
			n++;
	}
	if (!worst) {
		str_add(text, "no incident is open");
		verdict_say_silenced(text, n_silenced);
		return;
	}
	words->state = verdict_incident_state(worst);
	str_addf(text, "%zu incident%s ", n, plural(n));
	if (n_parts)
		str_addf(text, "(with %zu part%s) ", n_parts, plural(n_parts));
	str_add(text, n == 1 ? "is open" : "are open");
	if (money->usd_per_hour > 0)
		str_addf(text, ", $%.*f/h", money->usd_per_hour < 10 ? 2 : 0, money->usd_per_hour);
	if (words->state == GOLDEN_OK)
		str_add(text, ", for information");
	if (n > 1)
		str_add(text, ", the worst");
	const char *what = str_or(worst->headline, "");
	if (!*what)
		what = str_or(worst->summary, "");
	str_addf(text, ": %s", what);
	verdict_say_silenced(text, n_silenced);
}

/* ---- what is known -------------------------------------------------------------- */

/* Detectors judge whole windows: before the first one nothing is known to be well. */
static void verdict_put_first_window(struct verdict_words *words, const struct verdict_in *in)
{
	const bool known = in->agent->has_data && in->quality->first_sample.ns != TIME_UNKNOWN.ns;
	if (in->window_ns == 0 || verdict_rank(words->state) >= verdict_rank(GOLDEN_UNKNOWN))
		return;
	if (known && in->agent->data_time.ns - in->quality->first_sample.ns >= in->window_ns)
		return;
	words->state = GOLDEN_UNKNOWN;
	str_done(&words->text);
	str_add(&words->text, "nothing is judged yet: the first window of data is not complete");
}

/* Devices may answer and tell nothing that a detector reads: silence is not health. */
static void verdict_put_nothing(struct verdict_words *words, const struct verdict_in *in)
{
	if (!in->nothing_to_judge || words->state != GOLDEN_OK)
		return;
	words->state = GOLDEN_UNKNOWN;
	str_done(&words->text);
	str_add(&words->text,
		"nothing is judged: no device delivers a counter that a detector reads ('rocewatch "
		"doctor' says what is missing)");
}

static void verdict_put_devices(struct verdict_words *words, enum golden_state state, uint64_t n,
	const char *what, bool any)
{
	if (!n || verdict_rank(state) <= verdict_rank(words->state))
		return;
	rw_cleanup(str_done) struct str rest = words->text;
	words->text = (struct str){0};
	words->state = state;
	str_addf(&words->text, "%llu device%s or capture%s %s%s; %s", (unsigned long long)n,
		plural(n), plural(n), what, str_if(any, ", and no incident is about it"), rest.s);
}

static void verdict_put_agent(struct verdict_words *words, const struct agent_state *agent)
{
	const bool stopped = agent->state == AGENT_STOPPED && !agent->past;
	const bool warns =
		agent_is_stuck(agent) && verdict_rank(words->state) < verdict_rank(GOLDEN_WARNING);
	if (!stopped && !agent->stale && !warns)
		return;
	/* What is open was so when the data ended; nobody knows whether it still is. A store that
	 * is stuck is a warning, and unknown once what was read is too old. */
	words->state = GOLDEN_WARNING;
	if (stopped || agent->stale)
		words->state = GOLDEN_UNKNOWN;
	str_done(&words->text);
	agent_state_text(agent, &words->text);
}

/* What the store cannot do is no fault of the fabric; but somebody has to act. */
static void verdict_put_alarms(struct verdict_words *words, const struct verdict_in *in)
{
	if (!in->n_alarms || verdict_rank(words->state) >= verdict_rank(GOLDEN_WARNING))
		return;
	rw_cleanup(str_done) struct str rest = words->text;
	words->text = (struct str){0};
	words->state = GOLDEN_WARNING;
	str_addf(&words->text, "%s: %s, which is no incident; %s", in->alarms[0].subject,
		in->alarms[0].what, rest.s);
}

void verdict_of(const struct verdict_in *in, struct arena *a, struct verdict *ret)
{
	const struct status_quality *quality = in->quality;
	struct verdict_words words = {.state = GOLDEN_OK};
	*ret = (struct verdict){.money = verdict_money_of(in)};
	verdict_say_incidents(in, &ret->money, &words);
	const bool any = in->n_incidents > 0;
	verdict_put_devices(
		&words, GOLDEN_WARNING, quality->down + quality->captures_down, "down", any);
	verdict_put_devices(&words, GOLDEN_UNKNOWN, quality->unknown + quality->captures_unknown,
		"not known to be up", any);
	verdict_put_first_window(&words, in);
	verdict_put_nothing(&words, in);
	verdict_put_agent(&words, in->agent);
	verdict_put_alarms(&words, in);
	ret->state = words.state;
	ret->why = arena_strdup(a, str_or(words.text.s, ""));
	str_done(&words.text);
}

void verdict_line(struct str *out, enum golden_state state, const char *why)
{
	for (const char *word = golden_state_name(state); *word; word++)
		str_addf(out, "%c", toupper((unsigned char)*word));
	str_addf(out, " - %s", str_or(why, ""));
}
