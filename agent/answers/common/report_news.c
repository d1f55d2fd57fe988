/* report_news - reading the comparison in a report's document. */
#include "agent/answers/common/report_news.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"

const json_t *report_compared(const json_t *doc, const char *with)
{
	const json_t *entry;
	size_t i;
	json_array_foreach (json_object_get(doc, "compare"), i, entry)
		if (str_eq(doc_word(entry, "with"), with))
			return entry;
	return NULL;
}

static bool compare_holds(const json_t *entry, const char *list, const char *key)
{
	const json_t *one;
	size_t i;
	json_array_foreach (json_object_get(entry, list), i, one)
		if (str_eq(json_string_value(one), key))
			return true;
	return false;
}

bool report_is_new(const json_t *doc, const char *key)
{
	return compare_holds(report_compared(doc, "previous"), "new", key);
}

bool report_is_changed(const json_t *doc)
{
	static const char *const lists[] = {"new", "gone", "changed"};
	const json_t *previous = report_compared(doc, "previous");
	for (size_t i = 0; previous && i < rw_countof(lists); i++)
		if (json_array_size(json_object_get(previous, lists[i])) > 0)
			return true;
	return previous == NULL;
}
