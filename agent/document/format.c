/* format - the table of format names. */
#include "agent/document/format.h"

#include <errno.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/str.h"

static const char *const format_names[] = {
	[FORMAT_TABLE] = "table",
	[FORMAT_CSV] = "csv",
	[FORMAT_JSON] = "json",
	[FORMAT_JSONL] = "jsonl",
	[FORMAT_HTML] = "html",
	[FORMAT_MD] = "md",
};

int report_format_parse(const char *text, enum report_format *ret)
{
	for (size_t i = 0; i < rw_countof(format_names); i++)
		if (str_eq(text, format_names[i])) {
			*ret = (enum report_format)i;
			return 0;
		}
	return -EINVAL;
}
