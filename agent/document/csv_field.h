/* csv_field - one field of a csv line, for every writer of csv. */
#ifndef RW_DOCUMENT_CSV_FIELD_H
#define RW_DOCUMENT_CSV_FIELD_H

#include <stdio.h>

/* csv_field_print - RFC 4180, but lines end with LF instead of CRLF: that is what tools here
 * expect. What a spreadsheet would run as a formula gets a single quote in front
 * (text_is_formula()). */
void csv_field_print(FILE *out, const char *text);

#endif
