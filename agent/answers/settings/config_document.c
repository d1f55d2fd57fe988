/* config_document - the configuration in force as a document. */
#include "agent/answers/settings/config_document.h"

#include "config/config.h"
#include "config/yaml.h"
#include "agent/document/json_value.h"
#include "config/profile/profile.h"
#include "config/profile/profile_coverage.h"
#include "db/model/metric.h"

/* ---- profile_document - profiles as a document. */

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

json_t *config_derived_groups(const struct fabric *fabric)
{
	json_t *list = json_array();
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *d = fabric->devices[i];
		for (size_t k = 0; k < d->n_groups; k++) {
			const struct fabric_group *g = &d->groups[k];
			if (g->given)
				continue;
			json_t *members = json_array();
			for (size_t m = 0; m < g->n_members; m++) {
				const struct fabric_port *p = g->members[m];
				json_array_append_new(members,
					json_string(p->lag && strncmp(g->id, "lag:", 4) != 0
							? p->lag
							: p->name));
			}
			json_array_append_new(list,
				json_pack("{s:s, s:s, s:o}", "device", d->name, "group", g->id,
					"members", members));
		}
	}
	return list;
}

/* A number such as 0.05; a name that begins with digits is none. */
static json_t *config_real_of(const char *text)
{
	char *end;
	const double value = strtod(text, &end);
	if (!*text || *end || strspn(text, "0123456789.-") != strlen(text))
		return NULL;
	return json_real(value);
}

/* As any converter of YAML would have it: true, false and numbers are such, everything else is text
 * with its unit. */
static json_t *config_json_of(const struct yaml_node *node)
{
	json_t *v;
	int64_t number;
	switch (node->kind) {
	case YAML_NULL: return json_null();
	case YAML_TEXT:
		if (!node->quoted &&
			(strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0))
			return json_boolean(node->text[0] == 't');
		if (!node->quoted && unit_int(node->text, &number, NULL) == 0)
			return json_integer(number);
		v = NULL;
		if (!node->quoted)
			v = config_real_of(node->text);
		if (v)
			return v;
		return json_string(node->text);
	case YAML_LIST:
		v = json_array();
		for (size_t i = 0; i < node->n; i++)
			json_array_append_new(v, config_json_of(node->items[i].value));
		return v;
	case YAML_MAP:
		v = json_object();
		for (size_t i = 0; i < node->n; i++)
			json_object_set_new(
				v, node->items[i].key, config_json_of(node->items[i].value));
		return v;
	}
	return json_null();
}

/* What show prints is read again, so that both forms say the same. */
int config_document(const struct config *config, json_t **ret, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(freep) char *text = config_text(config);
	const struct yaml_node *root = NULL;
	int rc = -ENOMEM;
	if (text)
		rc = yaml_read(text, strlen(text), config->path, a, &root, &errors);
	if (rc == 0 && root->kind != YAML_MAP)
		rc = -EINVAL;
	if (rc < 0) {
		/* config_text() writes what config_load() accepts, unless the defaults made it too
		 * long */
		const char *why = "it is no map of keys";
		if (errors.n)
			why = errors.v[0].text;
		return err_set(e, -EIO, "%s: cannot be shown as JSON: %s", config->path, why);
	}
	json_t *doc = config_json_of(root);
	json_object_set_new(doc, "derived_groups", config_derived_groups(config->fabric));
	*ret = doc;
	return 0;
}
