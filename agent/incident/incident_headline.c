/* incident_headline - fills the headline of a cause with the values of an incident. */
#include "agent/incident/incident_headline.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/quantity.h"

/* ---- values -------------------------------------------------------------- */

static const struct evidence *headline_evidence(const struct incident *incident, const char *metric)
{
	for (size_t k = 0; k < incident->n_evidence; k++)
		if (str_eq(incident->evidence[k].metric, metric))
			return &incident->evidence[k];
	return NULL;
}

static bool headline_add_text(struct str *out, const char *text)
{
	if (!text || !*text)
		return false;
	str_add(out, text);
	return true;
}

/* "8 switches" of "8 switches: ...": how a finding about several devices begins. */
static bool add_several(struct str *out, const struct incident *incident)
{
	static const char word[] = " switches:";
	const char *summary = str_or(incident->summary, "");
	const size_t digits = strspn(summary, "0123456789");
	if (digits == 0 || strncmp(summary + digits, word, strlen(word)) != 0)
		return false;
	str_addn(out, summary, digits + strlen(word) - 1);
	return true;
}

static bool headline_device(struct str *out, const struct incident *incident)
{
	if (add_several(out, incident) || headline_add_text(out, incident->device))
		return true;
	str_add(out, "the fabric");
	return true;
}

static bool headline_host(struct str *out, const struct incident *incident)
{
	return headline_add_text(out, incident->host);
}

static bool headline_group(struct str *out, const struct incident *incident)
{
	return headline_add_text(out, incident->group);
}

static bool add_port(struct str *out, const struct incident *incident, const char *port)
{
	if (!incident->device || !port || !*port)
		return false;
	str_addf(out, "%s:%s", incident->device, port);
	return true;
}

static bool headline_port(struct str *out, const struct incident *incident)
{
	return add_port(out, incident, incident->port);
}

static bool headline_member(struct str *out, const struct incident *incident)
{
	return add_port(out, incident, str_or(incident->member, incident->port));
}

static bool headline_place(struct str *out, const struct incident *incident)
{
	if (headline_port(out, incident))
		return true;
	if (!incident->device && incident->group && !add_several(out, incident))
		return headline_group(out, incident);
	if (incident->device || !incident->group)
		return headline_device(out, incident);
	return true;
}

static bool headline_job(struct str *out, const struct incident *incident)
{
	static const char prefix[] = "job:";
	const char *group = str_or(incident->group, "");
	if (strncmp(group, prefix, strlen(prefix)) != 0)
		return false;
	return headline_add_text(out, group + strlen(prefix));
}

/* Share of the window that the switch measured; NAN when it did not. */
static double measured_share(const struct incident *incident, const char *way)
{
	char name[32];
	snprintf(name, sizeof(name), "pfc.%s_pause_ratio", way);
	const struct evidence *e = headline_evidence(incident, name);
	if (e)
		return e->value;
	snprintf(name, sizeof(name), "pfc.%s_pause_ns", way);
	e = headline_evidence(incident, name);
	if (!e || e->to_ns <= e->from_ns)
		return NAN;
	return fmin(e->value / (double)(e->to_ns - e->from_ns), 1);
}

/* A measured share, or the upper bound that frames give. */
static bool add_pause(struct str *out, const struct incident *incident, const char *way)
{
	char name[32];
	double share = measured_share(incident, way);
	if (isnan(share)) {
		snprintf(name, sizeof(name), "pfc.%s_pause_ratio_hi", way);
		const struct evidence *e = headline_evidence(incident, name);
		if (!e)
			return false;
		share = e->value;
		str_add(out, "at most ");
	}
	str_add_quantity(out, share, "ratio");
	return true;
}

static bool headline_rx_pause(struct str *out, const struct incident *incident)
{
	return add_pause(out, incident, "rx");
}

static bool headline_tx_pause(struct str *out, const struct incident *incident)
{
	return add_pause(out, incident, "tx");
}

static bool headline_fair_share(struct str *out, const struct incident *incident)
{
	const struct evidence *share = headline_evidence(incident, "ecmp.share_ratio");
	const struct evidence *e = headline_evidence(incident, "ecmp.imbalance_ratio");
	if (!share && !e)
		return false;
	str_addf(out, "%.1f", share ? share->value : 1 + e->value);
	return true;
}

/* The sentence of the finding up to the first semicolon. */
static bool headline_summary(struct str *out, const struct incident *incident)
{
	const char *summary = str_or(incident->summary, cause_name(incident->cause));
	if (!summary)
		return false;
	const char *end = strstr(summary, "; ");
	if (end)
		str_addn(out, summary, (size_t)(end - summary));
	else
		str_add(out, summary);
	return true;
}

static const struct headline_value {
	const char *name;
	bool (*add)(struct str *out, const struct incident *incident);
} values[] = {
	{"device", headline_device},
	{"host", headline_host},
	{"group", headline_group},
	{"port", headline_port},
	{"member", headline_member},
	{"place", headline_place},
	{"job", headline_job},
	{"rx_pause", headline_rx_pause},
	{"tx_pause", headline_tx_pause},
	{"fair_share", headline_fair_share},
	{"summary", headline_summary},
};

/* False when the value is not known. */
static bool headline_add_value(struct str *out, const struct incident *incident, const char *name)
{
	for (size_t k = 0; k < rw_countof(values); k++)
		if (str_eq(values[k].name, name))
			return values[k].add(out, incident);
	const struct evidence *e = headline_evidence(incident, name);
	if (!e)
		return false;
	str_add_quantity(out, e->value, e->unit);
	return true;
}

/* ---- templates ----------------------------------------------------------- */

/* The text between @from and @end, with its values. False when one is not known. */
static bool headline_fill(
	struct str *out, const struct incident *incident, const char *from, const char *end)
{
	while (from < end) {
		const char *close = NULL;
		if (*from == '{')
			close = memchr(from, '}', (size_t)(end - from));
		if (!close) {
			str_addn(out, from++, 1);
			continue;
		}
		rw_cleanup(freep) char *name = strndup(from + 1, (size_t)(close - from - 1));
		if (!headline_add_value(out, incident, name))
			return false;
		from = close + 1;
	}
	return true;
}

/* One alternative of a template; its parts in brackets only with @options. */
static bool headline_render(struct str *out, const struct incident *incident, const char *from,
	const char *end, bool options)
{
	while (from < end) {
		const char *open = memchr(from, '[', (size_t)(end - from));
		if (!open)
			return headline_fill(out, incident, from, end);
		if (!headline_fill(out, incident, from, open))
			return false;
		const char *close = memchr(open, ']', (size_t)(end - open));
		rw_cleanup(str_done) struct str part = {0};
		str_add(&part, "");
		if (options && headline_fill(&part, incident, open + 1, close))
			str_add(out, part.s);
		from = close + 1;
	}
	return true;
}

/* Cut behind a word, with three dots. */
static void headline_cut(struct str *line)
{
	if (line->n <= INCIDENT_HEADLINE_MAX)
		return;
	size_t n = INCIDENT_HEADLINE_MAX - 3;
	while (n > 0 && line->s[n] != ' ')
		n--;
	if (n == 0)
		n = INCIDENT_HEADLINE_MAX - 3;
	while (n > 0 && strchr(" ,;:(", line->s[n - 1]))
		n--;
	line->n = n;
	str_add(line, "...");
}

/* The first alternative whose values are known, complete or without its options. */
static bool headline_choose(struct str *out, const struct incident *incident, const char *headline)
{
	while (*headline) {
		const char *end = headline + strcspn(headline, "|");
		for (int options = 1; options >= 0; options--) {
			rw_cleanup(str_done) struct str line = {0};
			const bool known = headline_render(&line, incident, headline, end, options);
			if (!known || (options && line.n > INCIDENT_HEADLINE_MAX))
				continue;
			str_add(out, line.s);
			return true;
		}
		headline = end + (*end == '|');
	}
	return false;
}

char *incident_headline(const struct incident *incident)
{
	struct str line = {0};
	const char *headline = str_or(cause_info(incident->cause)->headline, "{summary}");
	str_add(&line, "");
	if (!headline_choose(&line, incident, headline) && !headline_summary(&line, incident))
		str_add(&line, "unknown cause");
	headline_cut(&line);
	return line.s;
}
