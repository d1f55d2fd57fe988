/* terminal - ncurses: the alternate screen, colours, keys. */
#include "agent/surface/terminal.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/surface/screen.h"

enum { ESCAPE_DELAY_MS = 25 };

static SCREEN *terminal;
static attr_t terminal_attributes[STYLE_COUNT];

bool terminal_is_utf8(void)
{
	/* Only the kind of characters: numbers keep their decimal point. */
	setlocale(LC_CTYPE, "");
	return str_eq(nl_langinfo(CODESET), "UTF-8");
}

int terminal_cols(void)
{
	struct winsize size;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return size.ws_col;
}

/* Without colours, bold and reverse tell apart what must be seen; the words say the rest. */
static void terminal_fill_attributes(bool color)
{
	static const struct {
		attr_t plain, colored;
		short foreground, background;
	} rows[STYLE_COUNT] = {
		[STYLE_PLAIN] = {A_NORMAL, A_NORMAL, -1, -1},
		[STYLE_DIM] = {A_NORMAL, A_DIM, -1, -1},
		[STYLE_BOLD] = {A_BOLD, A_BOLD, -1, -1},
		[STYLE_WARNING] = {A_BOLD, A_BOLD, COLOR_YELLOW, -1},
		[STYLE_CRITICAL] = {A_REVERSE | A_BOLD, A_BOLD, COLOR_WHITE, COLOR_RED},
		[STYLE_UNKNOWN] = {A_BOLD, A_BOLD, COLOR_MAGENTA, -1},
		[STYLE_ALARM] = {A_BOLD, A_BOLD, COLOR_RED, -1},
		[STYLE_SELECTED] = {A_REVERSE, A_REVERSE, -1, -1},
		[STYLE_BAR] = {A_REVERSE, A_REVERSE, -1, -1},
	};
	bool has = color && has_colors() && start_color() == OK && use_default_colors() == OK;
	for (short i = 0; i < STYLE_COUNT; i++) {
		terminal_attributes[i] = rows[i].plain;
		if (!has)
			continue;
		init_pair((short)(i + 1), rows[i].foreground, rows[i].background);
		terminal_attributes[i] = rows[i].colored | (attr_t)COLOR_PAIR(i + 1);
	}
}

int terminal_open(bool color, struct err *e)
{
	terminal_is_utf8();
	terminal = newterm(NULL, stdout, stdin);
	if (!terminal)
		return err_set(e, -ENOTSUP,
			"cannot use this terminal (TERM=%s): set TERM to its kind, such as xterm, "
			"or use --once",
			str_or(getenv("TERM"), ""));
	set_term(terminal);
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(ESCAPE_DELAY_MS);
	curs_set(0);
	terminal_fill_attributes(color);
	return 0;
}

void terminal_close(void)
{
	if (!terminal)
		return;
	endwin();
	delscreen(terminal);
	terminal = NULL;
}

void terminal_size(int *ret_cols, int *ret_rows)
{
	getmaxyx(stdscr, *ret_rows, *ret_cols);
}

static void terminal_show_row(const struct canvas *canvas, int row)
{
	for (int i = 0; i < canvas->cols; i++) {
		const struct canvas_cell *cell = canvas_at(canvas, row, i);
		attrset((int)terminal_attributes[cell->style]);
		mvaddstr(row, i, cell->text);
	}
}

void terminal_show(const struct canvas *canvas)
{
	erase();
	for (int row = 0; row < canvas->rows; row++)
		terminal_show_row(canvas, row);
	refresh();
}

static int terminal_key_of(int code)
{
	static const struct {
		int code, key;
	} keys[] = {
		{KEY_UP, SCREEN_KEY_UP},
		{KEY_DOWN, SCREEN_KEY_DOWN},
		{KEY_LEFT, SCREEN_KEY_LEFT},
		{KEY_RIGHT, SCREEN_KEY_RIGHT},
		{KEY_PPAGE, SCREEN_KEY_PAGE_UP},
		{KEY_NPAGE, SCREEN_KEY_PAGE_DOWN},
		{KEY_HOME, SCREEN_KEY_HOME},
		{KEY_END, SCREEN_KEY_END},
		{KEY_BACKSPACE, SCREEN_KEY_BACKSPACE},
		{KEY_ENTER, SCREEN_KEY_ENTER},
		{KEY_RESIZE, SCREEN_KEY_RESIZE},
		{'\r', SCREEN_KEY_ENTER},
	};
	for (size_t i = 0; i < rw_countof(keys); i++)
		if (keys[i].code == code)
			return keys[i].key;
	if (code > 0 && code < 256)
		return code;
	return SCREEN_KEY_NONE;
}

int terminal_key(int wake_fd, int wait_ms)
{
	/* A key that ncurses has read already makes no descriptor readable. */
	int code = getch();
	if (code != ERR)
		return terminal_key_of(code);
	struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {wake_fd, POLLIN, 0}};
	int n = poll(fds, rw_countof(fds), wait_ms);
	if (n > 0 && (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL)))
		return SCREEN_KEY_GONE;
	code = getch();
	/* Readable without a character is the end of the input. */
	if (code == ERR && n > 0 && (fds[0].revents & POLLIN) && errno != EINTR && errno != EAGAIN)
		return SCREEN_KEY_GONE;
	if (code == ERR)
		return SCREEN_KEY_NONE;
	return terminal_key_of(code);
}
