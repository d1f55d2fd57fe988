/* ship_cursor - how far a sink is: a small file, replaced as a whole. */
#ifndef RW_DB_SHIP_CURSOR_H
#define RW_DB_SHIP_CURSOR_H

#include <stdint.h>

struct err;

struct ship_cursor {
	int64_t sent; /* rows of the spool up to this one are at the sink */
	int64_t flight; /* the range behind .sent that was sent last and may be there: up to this */
};
/* ship_cursor_read - zeros when there is no file. ship_cursor_write - on the disk when it returns.
 * 0 or negative errno. */
int ship_cursor_read(const char *path, struct ship_cursor *ret, struct err *e);
int ship_cursor_write(const char *path, const struct ship_cursor *cursor, struct err *e);

#endif
