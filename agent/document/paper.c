/* paper - size of the terminal, and the characters of the locale. */
#include "agent/document/paper.h"

#include <langinfo.h>
#include <locale.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"

size_t paper_width(FILE *out, size_t usual, size_t most)
{
	enum { WIDTH_MIN = 80 };
	struct winsize w;
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &w) != 0 || w.ws_col == 0)
		return usual;
	if (w.ws_col < WIDTH_MIN)
		return WIDTH_MIN;
	if (w.ws_col > most)
		return most;
	return w.ws_col;
}

size_t paper_height(FILE *out)
{
	struct winsize w;
	if (!isatty(fileno(out)) || ioctl(fileno(out), TIOCGWINSZ, &w) != 0)
		return 0;
	return w.ws_row;
}

bool paper_is_utf8(void)
{
	/* The process keeps its own locale: numbers keep their decimal point. */
	locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	if (!locale)
		return false;
	const bool is = str_eq(nl_langinfo_l(CODESET, locale), "UTF-8");
	freelocale(locale);
	return is;
}
