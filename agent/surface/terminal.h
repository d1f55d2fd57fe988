/*
 * terminal - the terminal as ncurses gives it: a canvas goes out, keys come in. The one file that
 * knows curses. One terminal a process; one thread.
 */
#ifndef RW_SURFACE_TERMINAL_H
#define RW_SURFACE_TERMINAL_H

#include <stdbool.h>

#include "agent/base/err.h"
#include "agent/surface/canvas.h"

/* terminal_is_utf8 - does the locale of the environment (LC_ALL, LC_CTYPE, LANG) show UTF-8? */
bool terminal_is_utf8(void);

/* terminal_cols - columns of the terminal behind standard output; 0 when it is none. */
int terminal_cols(void);

/* terminal_open - switches to the alternate screen. 0, or -ENOTSUP with @e: the kind of terminal is
 * not known. terminal_close() gives the screen back as it was. */
int terminal_open(bool color, struct err *e);
void terminal_close(void);

/* terminal_size - at the moment. */
void terminal_size(int *ret_cols, int *ret_rows);

/* terminal_show - paints what changed. */
void terminal_show(const struct canvas *canvas);

/*
 * terminal_key - the next key (enum screen_key, or the character), at the latest after @wait_ms.
 * SCREEN_KEY_NONE: no key in that time, or @wake_fd became readable. SCREEN_KEY_GONE: the terminal
 * hung up.
 */
int terminal_key(int wake_fd, int wait_ms);

#endif
