/* spine_price - puts the prices of incidents into the report. */
#include "agent/reports/spine_price.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/reports/incident_read.h"

static int64_t spine_time(const json_t *object, const char *key, int64_t otherwise_ns)
{
	wall_t t;
	if (wall_parse(doc_word(object, key), (wall_t){0}, &t) != 0)
		return otherwise_ns;
	return t.ns;
}

static bool is_within(const json_t *incident, const json_t *doc)
{
	const int64_t from_ns = spine_time(doc, "from", INT64_MIN);
	const int64_t to_ns = spine_time(doc, "to", INT64_MAX);
	return spine_time(incident, "first", INT64_MIN) <= to_ns &&
		spine_time(incident, "closed", INT64_MAX) >= from_ns;
}

/* The worst incident about the group with a price; NULL when there is none. */
static const json_t *incident_of_group(
	const json_t *incidents, const json_t *doc, const json_t *group)
{
	const json_t *incident;
	size_t k;
	json_array_foreach (incidents, k, incident) {
		const json_t *subject = json_object_get(incident, "subject");
		if (str_eq(doc_word(subject, "device"), doc_word(group, "device")) &&
			str_eq(doc_word(subject, "group"), doc_word(group, "group")) &&
			*doc_word(subject, "group") && is_within(incident, doc) &&
			!isnan(doc_number(incident, "usd_total")))
			return incident;
	}
	return NULL;
}

int spine_price(struct client *client, json_t *doc, struct err *e)
{
	json_t *incidents = incidents_load(client, NULL, e), *group;
	double total = 0;
	size_t k, n = 0;
	if (!incidents)
		return e->code ? e->code : -EIO;
	json_array_foreach (json_object_get(doc, "groups"), k, group) {
		const json_t *incident = incident_of_group(incidents, doc, group);
		json_object_set_new(group, "incident", json_null());
		if (!incident)
			continue;
		const double usd = doc_number(incident, "usd_total");
		json_object_set_new(group, "incident", json_string(doc_word(incident, "id")));
		json_object_set_new(group, "usd", json_number_or_null(usd));
		total += usd;
		n++;
	}
	json_object_set_new(doc, "usd_source", json_string(n ? "incidents" : "upper bound"));
	if (n)
		json_object_set_new(doc, "usd_total", json_number_or_null(total));
	json_decref(incidents);
	return 0;
}
