/* import_host - the sentences of a document. */
#include "agent/import/import_host.h"

#include <stdarg.h>
#include <stdio.h>

#include "agent/document/json_value.h"

json_t *import_document(const char *kind)
{
	return json_pack("{s:s, s:[], s:[], s:[]}", "kind", kind, "rows", "flagged", "notes");
}

void import_note(json_t *doc, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(json_object_get(doc, "notes"), json_string_or_null(text));
}

void import_flag(json_t *doc, const char *host, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(json_object_get(doc, "flagged"),
		json_pack("{s:o, s:o}", "host", json_string_or_null(host), "text",
			json_string_or_null(text)));
}
