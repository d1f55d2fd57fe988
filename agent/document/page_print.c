/* page_print - a page in the format that was asked for. */
#include <errno.h>

#include "agent/document/page.h"
#include "agent/document/page_writers.h"

int page_print(FILE *out, const struct page *page, const struct page_style *style)
{
	if (style->format == FORMAT_HTML)
		page_write_html(out, page);
	else if (style->format == FORMAT_MD)
		page_write_md(out, page);
	else
		page_write_text(out, page, style);
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return -EIO;
}
