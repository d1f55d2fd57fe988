/*
 * format - the formats in which a document can be printed, by the names of --format.
 */
#ifndef RW_DOCUMENT_FORMAT_H
#define RW_DOCUMENT_FORMAT_H

enum report_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_JSONL, FORMAT_HTML, FORMAT_MD };

/* report_format_parse - 0, or -EINVAL when @text is not such a name. */
int report_format_parse(const char *text, enum report_format *ret);

#endif
