/* incident_words - what of an incident's card is a sentence. */
#include "agent/answers/incident/incident_words.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/answers/incident/incident_read.h"

void incident_age_text(char *text, size_t size, double age_s)
{
	static const struct {
		double below_s, unit_s;
		char letter;
	} units[] = {{60, 1, 's'}, {3600, 60, 'm'}, {48 * 3600, 3600, 'h'}, {INFINITY, 86400, 'd'}};
	size_t k = 0;
	if (isnan(age_s)) {
		snprintf(text, size, "-");
		return;
	}
	while (age_s >= units[k].below_s)
		k++;
	snprintf(text, size, "%.0f%c", floor(age_s / units[k].unit_s), units[k].letter);
}

const char *incident_confidence_word(double confidence)
{
	if (isnan(confidence))
		return "unknown";
	if (confidence >= 0.8)
		return "high";
	if (confidence >= 0.5)
		return "medium";
	return "low";
}

/* ---- head ---------------------------------------------------------------- */

static void add_money(struct str *out, const json_t *incident)
{
	const double per_hour = doc_number(incident, "usd_per_hour");
	const double total = doc_number(incident, "usd_total");
	if (isnan(per_hour)) {
		str_add(out, "  cost unknown");
		return;
	}
	str_addf(out, "  $%.*f/h", per_hour < 10 ? 2 : 0, per_hour);
	if (!isnan(total))
		str_addf(out, " ($%.*f%s)", total < 10 ? 2 : 0, total,
			str_if(incident_is_open(incident), " so far"));
}

void incident_add_head(struct str *out, const json_t *incident)
{
	char age[16];
	for (const char *s = doc_word(incident, "severity"); *s; s++)
		str_addf(out, "%c", toupper((unsigned char)*s));
	incident_age_text(age, sizeof(age), doc_number(incident, "age_s"));
	str_addf(out, " %s  %s  %s", doc_word(incident, "cause"), doc_word(incident, "id"),
		doc_word(incident, "state"));
	if (!isnan(doc_number(incident, "age_s")))
		str_addf(out, incident_is_open(incident) ? " %s" : " after %s", age);
	add_money(out, incident);
	const char *sure = incident_confidence_word(doc_number(incident, "confidence_ratio"));
	str_addf(out, "  conf %s", str_eq(sure, "medium") ? "med" : sure);
}

/* ---- spread -------------------------------------------------------------- */

static const char *words_entity(const json_t *role)
{
	return doc_word(role, "entity");
}

/* Is @name a switch? Roles name its ports as "NAME:PORT". */
static bool words_is_switch(const json_t *incident, const char *name)
{
	const size_t n = strlen(name);
	const json_t *o;
	size_t k;
	json_array_foreach (json_object_get(incident, "roles"), k, o) {
		const char *entity = words_entity(o);
		if (strncmp(entity, name, n) == 0 && entity[n] == ':')
			return true;
	}
	json_array_foreach (json_object_get(incident, "evidence"), k, o)
		if (str_eq(doc_word(o, "device"), name))
			return true;
	return false;
}

/* Who waits beside the switch that the incident is about, as its summary counts them: switches and
 * hosts among the victims; their ports are not counted. */
static void add_victims(struct str *out, const json_t *incident)
{
	static const char host_prefix[] = "host:", switch_prefix[] = "switch:";
	const char *own = doc_word(json_object_get(incident, "subject"), "device");
	const json_t *role;
	size_t k, switches = 0, hosts = 0;
	json_array_foreach (json_object_get(incident, "roles"), k, role) {
		const char *entity = words_entity(role);
		const bool named = strncmp(entity, host_prefix, strlen(host_prefix)) == 0;
		const bool outside = strncmp(entity, switch_prefix, strlen(switch_prefix)) == 0;
		if (str_eq(doc_word(role, "role"), "culprit") || str_eq(entity, own) ||
			(strchr(entity, ':') && !named && !outside))
			continue;
		if (outside || (!named && words_is_switch(incident, entity)))
			switches++;
		else
			hosts++;
	}
	if (switches + hosts == 0)
		return;
	str_add(out, "Spread: ");
	if (switches)
		str_addf(out, "%zu other switch%s", switches, str_if(switches != 1, "es"));
	if (switches && hosts)
		str_add(out, " and ");
	if (hosts)
		str_addf(out, "%zu host%s", hosts, str_if(hosts != 1, "s"));
	str_addf(out, " wait%s.  ", str_if(switches + hosts == 1, "s"));
}

static void add_loss(struct str *out, const json_t *loss)
{
	const double lost = doc_number(loss, "loss_ratio");
	const double before = doc_number(loss, "step_before_s"), now = doc_number(loss, "step_s");
	if (!(lost > 0))
		return;
	if (*doc_word(loss, "job"))
		str_addf(out, "Job %s: ", doc_word(loss, "job"));
	else
		str_add(out, "All hosts: ");
	if (lost >= 0.99)
		str_add(out, "stopped");
	else if (!isnan(before) && !isnan(now))
		str_addf(out, "steps %.3g s, were %.3g s", now, before);
	else
		str_addf(out, "%.1f %% of wall time lost", 100 * lost);
	str_add(out, ".  ");
}

static void add_jobs(struct str *out, const json_t *incident)
{
	const size_t before = out->n;
	const json_t *o;
	size_t k;
	json_array_foreach (json_object_get(incident, "loss"), k, o)
		add_loss(out, o);
	if (out->n > before)
		return;
	json_array_foreach (json_object_get(incident, "jobs"), k, o)
		if (json_is_string(o))
			str_addf(out, "Job %s: loss not measured.  ", json_string_value(o));
}

/* Of each cause that was ruled out its name: what stands in front of the colon. */
static void add_ruled_out(struct str *out, const json_t *incident)
{
	const json_t *o;
	size_t k, n = 0;
	json_array_foreach (json_object_get(incident, "ruled_out"), k, o) {
		const char *text = json_string_value(o);
		const size_t name = text ? strcspn(text, ":") : 0;
		if (name == 0 || !text[name] || name > 24)
			continue;
		str_add(out, n++ ? ", " : "Not: ");
		str_addn(out, text, name);
	}
	if (n)
		str_add(out, ".");
}

void incident_add_spread(struct str *out, const json_t *incident)
{
	add_victims(out, incident);
	add_jobs(out, incident);
	add_ruled_out(out, incident);
}

/* ---- the rest ------------------------------------------------------------ */

void incident_add_owner(struct str *out, const json_t *incident)
{
	const char *acked = doc_word(incident, "acked_by"), *note = doc_word(incident, "ack_note"),
		   *owner = doc_word(incident, "assigned_to"),
		   *silenced = doc_word(incident, "silenced");
	if (*acked)
		str_addf(out, "acknowledged by %s%s%s", acked, str_if(*note, ": "), note);
	if (*acked && *owner)
		str_add(out, "; ");
	if (*owner)
		str_addf(out, "assigned to %s", owner);
	if (*silenced)
		str_addf(out, "%s%s", str_if(*acked || *owner, "; "), silenced);
}

void incident_add_list(struct str *out, const json_t *list)
{
	const json_t *o;
	size_t k, n = 0;
	json_array_foreach (list, k, o)
		if (json_is_string(o))
			str_addf(out, "%s%s", str_if(n++, "; "), json_string_value(o));
}
