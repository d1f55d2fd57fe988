/* served - finds rows in the table of documents. */
#include "agent/reports/served.h"

#include "agent/base/cleanup.h"
#include "agent/base/str.h"

const char *served_get(const struct served_ask *ask, const char *name)
{
	for (size_t i = 0; i < ask->n_given; i++)
		if (str_eq(ask->given[i].name, name))
			return ask->given[i].value;
	return NULL;
}

bool served_flag(const struct served_ask *ask, const char *name)
{
	static const char *const yes[] = {"", "1", "true", "yes"};
	const char *value = served_get(ask, name);
	for (size_t i = 0; value && i < rw_countof(yes); i++)
		if (str_eq(value, yes[i]))
			return true;
	return false;
}

const struct served_document *served_find(const char *path)
{
	for (size_t g = 0; served_groups[g]; g++)
		for (size_t i = 0; i < served_groups[g]->n_rows; i++)
			if (str_eq(served_groups[g]->rows[i].path, path))
				return &served_groups[g]->rows[i];
	return NULL;
}

void served_each(served_fn *fn, void *arg)
{
	for (size_t g = 0; served_groups[g]; g++)
		for (size_t i = 0; i < served_groups[g]->n_rows; i++)
			fn(arg, &served_groups[g]->rows[i]);
}
