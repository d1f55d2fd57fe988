/* profile_document - profiles as a document. */
#include "agent/reports/profile_document.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/document/json_value.h"
#include "config/profile/profile.h"
#include "config/profile/profile_gnmi.h"
#include "db/model/metric.h"

static json_t *profile_matches_json(const struct profile *profile)
{
	json_t *list = json_array();
	for (size_t i = 0; i < profile->n_matches; i++) {
		char oid[PROFILE_OID_MAX * 11] = "";
		for (size_t k = 0; k < profile->matches[i].n_object_id; k++)
			snprintf(oid + strlen(oid), sizeof(oid) - strlen(oid), k ? ".%u" : "%u",
				profile->matches[i].object_id[k]);
		json_array_append_new(list,
			json_pack("{s:o, s:o}", "object_id", json_string_or_null(*oid ? oid : NULL),
				"descr", json_string_or_null(profile->matches[i].descr)));
	}
	return list;
}

static bool profile_gnmi_has(const struct profile *profile, unsigned metric)
{
	for (size_t i = 0; profile->gnmi && i < profile->gnmi->n_streams; i++)
		for (size_t k = 0; k < profile->gnmi->streams[i]->n_values; k++)
			if (profile->gnmi->streams[i]->values[k].metric == (int)metric)
				return true;
	return false;
}

static json_t *profile_metrics_json(const struct profile *profile)
{
	json_t *list = json_array();
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		bool has = profile_gnmi_has(profile, m);
		for (size_t i = 0; i < profile->n_tables && !has; i++)
			for (size_t k = 0; k < profile->tables[i]->n_values && !has; k++)
				has = profile->tables[i]->values[k].metric == (int)m;
		if (has)
			json_array_append_new(list, json_string(metric_info(m)->name));
	}
	return list;
}

json_t *profile_json(const struct profile *profile)
{
	json_t *protocols = json_array();
	if (profile->snmp)
		json_array_append_new(protocols, json_string("snmp"));
	if (profile->gnmi)
		json_array_append_new(protocols, json_string("gnmi"));
	return json_pack("{s:s, s:o, s:s, s:i, s:o, s:o}", "name", profile->name, "protocols",
		protocols, "doc", profile->doc, "tables", (int)profile->n_tables, "metrics",
		profile_metrics_json(profile), "match", profile_matches_json(profile));
}

json_t *profile_list_json(const struct profiles *profiles)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < profiles_count(profiles); i++)
		json_array_append_new(rows, profile_json(profiles_at(profiles, i)));
	return json_pack("{s:o}", "profiles", rows);
}
