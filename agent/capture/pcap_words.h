/* pcap_words - numbers and paragraphs of the text report. What is null is "unknown", never 0. */
#pragma once

#include <jansson.h>
#include "base/base.h"

/* words_grouped - 1234567 as "1,234,567", added to @out. */
void words_grouped(struct str *out, uint64_t value);
/* words_percent - a share as "1.23 %"; less than a hundred-thousandth is "0 %". */
void words_percent(struct str *out, double ratio);
/* words_share - "1.23 % (95 %: 1.01..1.45 %)". */
void words_share(struct str *out, double ratio, double low, double high);
/* words_time - an RFC 3339 time as "2026-11-22 03:14:05.123456"; "unknown". */
void words_time(struct str *out, const char *text);
/* words_clock - the same without its date; "unknown". */
void words_clock(struct str *out, const char *text);
/* words_counts - "NAME 12, NAME 3" of the counters in @object, the largest first, at most @most
 * names. Returns how many counters are above 0. */
size_t words_counts(struct str *out, const json_t *object, size_t most);
/* words_qp - "10.0.0.1 > 10.0.0.2 QP 0x000045". */
void words_qp(struct str *out, const json_t *row);

/* words_number - a counter; 0 when it is missing, null or negative. */
uint64_t words_number(const json_t *object, const char *key);

/* words_put - a label of WORDS_LABEL columns and a paragraph beside it, within @width columns.
 * Control characters become blanks. */
enum { WORDS_LABEL = 11 };
void words_put(FILE *out, size_t width, const char *label, const char *text);
