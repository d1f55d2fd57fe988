/* store_import - stub */
#include "db/sqlite/store_write.h"

int writer_import_step(struct store_writer *writer, bool *ret_more)
{
	(void)writer;
	*ret_more = false;
	return SQLITE_OK;
}
int writer_import(struct store_writer *writer, int64_t budget_ns)
{
	(void)writer;
	(void)budget_ns;
	return SQLITE_OK;
}
void writer_import_close(struct store_writer *writer)
{
	(void)writer;
}
