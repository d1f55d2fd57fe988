/* json_print - a document as JSON text on a stream that may be a terminal. */
#ifndef RW_DOCUMENT_JSON_PRINT_H
#define RW_DOCUMENT_JSON_PRINT_H

#include <jansson.h>
#include <stdio.h>

/*
 * json_print - as json_dumpf(), with the same @flags. Characters that a terminal would act on, or
 * that hide and reorder text (DEL, C1, bidirectional overrides: text_is_clean()), are written as
 * \uXXXX: the document says the same, and shows it. 0, or -1 where it could not be written.
 */
int json_print(FILE *out, const json_t *value, size_t flags);

#endif
