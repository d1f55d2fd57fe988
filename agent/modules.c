/* modules - see the header. */
#include "agent/modules.h"

#include <pthread.h>

#include "agent/alert/sender.h"
#include "analyzers/analyzer.h"

enum { MAX_TABLES = 256 };

static const struct option_table *module_rows[MAX_TABLES];
static size_t module_n;
static pthread_once_t module_once = PTHREAD_ONCE_INIT;

static void module_fill(void)
{
	for (size_t i = 0; analyzers[i] && module_n < MAX_TABLES; i++)
		module_rows[module_n++] = &analyzers[i]->options;
	for (size_t i = 0; senders[i] && module_n < MAX_TABLES; i++)
		module_rows[module_n++] = &senders[i]->options;
}

const struct option_table *const *module_tables(size_t *ret_n)
{
	pthread_once(&module_once, module_fill);
	*ret_n = module_n;
	return module_rows;
}
