/* served - finds rows in the table of documents. */
#include "agent/answers/common/served.h"

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
