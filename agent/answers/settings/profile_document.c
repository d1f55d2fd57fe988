/* profile_document - profiles as a document. */
#include "agent/answers/settings/profile_document.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "agent/document/json_value.h"
#include "config/profile/profile.h"
#include "config/profile/profile_coverage.h"
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

/* Over any protocol: is it told, and which is the strongest evidence? */
static bool metric_is_covered(
	const struct profile *profile, unsigned metric, enum evidence_kind *ret_kind)
{
	bool told = false;
	*ret_kind = EVIDENCE_DOCUMENT;
	for (int p = 0; p < COVERAGE_PROTOCOLS; p++) {
		struct coverage_cell cell;
		profile_coverage(profile, metric, (enum coverage_protocol)p, &cell);
		if (!cell.told)
			continue;
		told = true;
		if (cell.evidence.kind > *ret_kind)
			*ret_kind = cell.evidence.kind;
	}
	return told;
}

static json_t *profile_metrics_json(const struct profile *profile)
{
	json_t *list = json_array();
	enum evidence_kind kind;
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		if (metric_is_covered(profile, m, &kind))
			json_array_append_new(list, json_string(metric_info(m)->name));
	return list;
}

/* How many of its metrics are known in which way. */
static json_t *profile_evidence_json(const struct profile *profile)
{
	json_int_t counts[EVIDENCE_KINDS] = {0};
	json_t *object = json_object();
	enum evidence_kind kind;
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		if (metric_is_covered(profile, m, &kind))
			counts[kind]++;
	for (int k = 0; k < EVIDENCE_KINDS; k++)
		json_object_set_new(
			object, evidence_kind_name((enum evidence_kind)k), json_integer(counts[k]));
	return object;
}

json_t *profile_coverage_json(const struct profile *profile)
{
	json_t *list = json_array();
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		for (int p = 0; p < COVERAGE_PROTOCOLS; p++) {
			struct coverage_cell cell;
			profile_coverage(profile, m, (enum coverage_protocol)p, &cell);
			if (!cell.told)
				continue;
			json_array_append_new(list,
				json_pack("{s:s, s:s, s:s, s:s, s:o, s:b}", "metric",
					metric_info(m)->name, "protocol",
					coverage_protocol_name((enum coverage_protocol)p), "table",
					cell.table, "evidence",
					evidence_kind_name(cell.evidence.kind), "source",
					json_string_or_null(cell.evidence.source), "fallback",
					cell.only_fallback));
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
	if (profile->n_push > 0)
		json_array_append_new(protocols, json_string("push"));
	return json_pack("{s:s, s:o, s:s, s:i, s:o, s:o, s:o}", "name", profile->name, "protocols",
		protocols, "doc", profile->doc, "tables", (int)profile->n_tables, "metrics",
		profile_metrics_json(profile), "match", profile_matches_json(profile), "evidence",
		profile_evidence_json(profile));
}

json_t *profile_list_json(const struct profiles *profiles)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < profiles_count(profiles); i++)
		json_array_append_new(rows, profile_json(profiles_at(profiles, i)));
	return json_pack("{s:o}", "profiles", rows);
}
