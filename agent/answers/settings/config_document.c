/* config_document - the configuration in force as a document. */
#include "agent/answers/settings/config_document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "config/config.h"
#include "config/yaml.h"

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
