/* check_audit - findings of the topology audit. */
#include "agent/check/check_audit.h"

#include "agent/document/json_value.h"

static bool audit_is_kind(const char *const *kinds, enum cause cause, const char *kind)
{
	if (str_eq(cause_name(cause), kind))
		return true;
	for (size_t i = 0; kinds[i]; i++)
		if (str_eq(kinds[i], kind))
			return true;
	return false;
}

/* What an incident is about is as bad as that. */
static void audit_say(
	struct check_line *line, enum check_state state, size_t n_incidents, const json_t *row)
{
	const bool alone = state != CHECK_OK && n_incidents == 0;
	if (!alone)
		state = CHECK_OK;
	check_say(line, state, "%s:%s %s%s", doc_word(row, "device"), doc_word(row, "port"),
		doc_word(row, "text"),
		str_if(alone, " (no incident: settings are compared, no harm is measured)"));
}

size_t check_audit(const struct check_source *source, const json_t *audit, const char *const *kinds,
	enum cause cause, size_t n_incidents, struct check_line *line)
{
	const json_t *row;
	size_t i, n = 0;
	json_array_foreach (json_object_get(audit, "findings"), i, row) {
		enum check_state state = CHECK_OK;
		if (!audit_is_kind(kinds, cause, doc_word(row, "kind")) ||
			!check_in_scope(source, row))
			continue;
		if (str_eq(doc_word(row, "severity"), "critical"))
			state = CHECK_CRITICAL;
		if (str_eq(doc_word(row, "severity"), "warning"))
			state = CHECK_WARNING;
		n += state != CHECK_OK;
		if (n <= 3 || state == CHECK_CRITICAL)
			audit_say(line, state, n_incidents, row);
	}
	return n;
}

size_t check_audit_known(const json_t *audit, const char *name)
{
	return (size_t)json_integer_value(json_object_get(json_object_get(audit, "checked"), name));
}
