/* modules - see the header. */
#include "agent/modules.h"

#include "analyzers/analyzer.h"

enum { MAX_TABLES = 256 };

const struct option_table *const *module_tables(size_t *ret_n)
{
	static const struct option_table *tables[MAX_TABLES];
	size_t n = 0;

	for (; analyzers[n] && n < MAX_TABLES; n++)
		tables[n] = &analyzers[n]->options;
	*ret_n = n;
	return tables;
}
