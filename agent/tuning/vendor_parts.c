/* vendor_parts - see the header. */
#include "agent/tuning/vendor_parts.h"

#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

static struct tune_sheet part_begin(const struct tune_sheet *sheet, struct arena *a)
{
	struct tune_sheet part = *sheet;
	part.changes = arena_array(a, struct tune_change, sheet->n_changes + 1);
	part.n_changes = 0;
	return part;
}

static struct tune_sheet part_of_change(
	const struct tune_sheet *sheet, const struct tune_change *change, struct arena *a)
{
	struct tune_sheet part = part_begin(sheet, a);
	part.changes[part.n_changes++] = *change;
	part.ports = change->ports;
	part.n_ports = change->n_ports;
	part.port_group = change->port_group;
	return part;
}

size_t vendor_parts(const struct tune_sheet *sheet, struct arena *a, struct tune_sheet **ret)
{
	struct tune_sheet all = part_begin(sheet, a);
	size_t n = 0;
	*ret = arena_array(a, struct tune_sheet, sheet->n_changes + 1);
	for (size_t i = 0; i < sheet->n_changes; i++) {
		if (sheet->changes[i].n_ports)
			(*ret)[n++] = part_of_change(sheet, &sheet->changes[i], a);
		else
			all.changes[all.n_changes++] = sheet->changes[i];
	}
	if (all.n_changes || n == 0)
		(*ret)[n++] = all;
	return n;
}

static json_t *parts_join_texts(const json_t *left, const json_t *right)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "%s\n%s", json_string_value(left), json_string_value(right));
	return json_string(text.s);
}

/* What several parts say is said once. */
static void parts_join_lists(json_t *into, const json_t *list)
{
	size_t i, k;
	json_t *value, *known;
	json_array_foreach (list, i, value) {
		bool is_new = true;
		json_array_foreach (into, k, known)
			is_new = is_new && !json_equal(known, value);
		if (is_new)
			json_array_append(into, value);
	}
}

/* Forms of one vendor: texts stand one after the other, documents of the same objects are one. */
static void parts_join_value(json_t *into, const char *key, json_t *value)
{
	json_t *had = json_object_get(into, key);
	if (!had || json_is_null(had)) {
		json_object_set(into, key, value);
	} else if (json_is_string(had) && json_is_string(value)) {
		json_object_set_new(into, key, parts_join_texts(had, value));
	} else if (json_is_array(had) && json_is_array(value)) {
		parts_join_lists(had, value);
	}
}

json_t *vendor_parts_join(json_t *into, json_t *part)
{
	const char *key, *form;
	json_t *value, *inner;
	if (!into)
		return part;
	json_object_foreach (part, key, value) {
		json_t *had = json_object_get(into, key);
		if (str_eq(key, "native") || str_eq(key, "shown"))
			continue; /* words about the device, the same in all parts */
		if (!json_is_object(had) || !json_is_object(value)) {
			parts_join_value(into, key, value);
			continue;
		}
		json_object_foreach (value, form, inner) {
			json_t *before = json_object_get(had, form);
			if (json_is_object(before) && json_is_object(inner))
				json_object_update_recursive(before, inner);
			else
				parts_join_value(had, form, inner);
		}
	}
	json_decref(part);
	return into;
}
