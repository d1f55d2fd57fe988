/* pcap_row - values of a row, as text or as JSON. */
#include "agent/capture/pcap_row.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/document/json_value.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"

enum { COUNT_DIGITS = 20, REAL_DIGITS = 15, REAL_TEXT = 32, ROW_PIECE = 96 };

void pcap_row_begin(struct pcap_row *row, struct str *text, bool compact)
{
	*row = (struct pcap_row){.text = text, .compact = compact};
	if (text)
		str_addn(text, "{", 1);
	else
		row->part[0] = json_object();
	row->closes[0] = '}';
}

json_t *pcap_row_end(struct pcap_row *row)
{
	assert(row->depth == 0);
	if (row->text)
		str_addn(row->text, "}", 1);
	return row->part[0];
}

/* ---- one value ------------------------------------------------------------------- */

static void row_put(struct pcap_row *row, const char *key, json_t *value)
{
	if (key)
		json_object_set_new(row->part[row->depth], key, value);
	else
		json_array_append_new(row->part[row->depth], value);
}

/* row_say - the key and @n bytes of its value. */
static void row_say(struct pcap_row *row, const char *key, const char *value, size_t n)
{
	char piece[ROW_PIECE];
	const size_t blank = row->compact ? 0 : 1;
	const size_t key_n = strlen(str_or(key, ""));
	size_t at = 0;
	assert(key_n + 6 <= sizeof(piece));
	if (row->more) {
		memcpy(piece, ", ", 2);
		at = 1 + blank;
	}
	row->more = true;
	if (key) {
		piece[at++] = '"';
		memcpy(piece + at, key, key_n);
		memcpy(piece + at + key_n, "\": ", 3);
		at += key_n + 2 + blank;
	}
	if (n > sizeof(piece) - at) {
		str_addn(row->text, piece, at);
		str_addn(row->text, value, n);
		return;
	}
	memcpy(piece + at, value, n);
	str_addn(row->text, piece, at + n);
}

void pcap_row_count(struct pcap_row *row, const char *key, uint64_t value)
{
	char digits[COUNT_DIGITS];
	size_t at = sizeof(digits);
	if (!row->text) {
		row_put(row, key, json_integer((json_int_t)value));
		return;
	}
	do {
		digits[--at] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	row_say(row, key, digits + at, sizeof(digits) - at);
}

void pcap_row_null(struct pcap_row *row, const char *key)
{
	if (row->text)
		row_say(row, key, "null", 4);
	else
		row_put(row, key, json_null());
}

void pcap_row_word(struct pcap_row *row, const char *key, const char *text)
{
	if (!text) {
		pcap_row_null(row, key);
		return;
	}
	if (!row->text) {
		row_put(row, key, json_string(text));
		return;
	}
	const size_t n = strlen(text);
	char quoted[ROW_PIECE];
	quoted[0] = '"';
	if (n + 2 > sizeof(quoted)) {
		row_say(row, key, "\"", 1);
		str_addn(row->text, text, n);
		str_addn(row->text, "\"", 1);
		return;
	}
	memcpy(quoted + 1, text, n);
	quoted[n + 1] = '"';
	row_say(row, key, quoted, n + 2);
}

void pcap_row_time(struct pcap_row *row, const char *key, int64_t t_ns)
{
	char text[WALL_TEXT_MAX];
	if (row->text)
		pcap_row_word(row, key, json_time_text(text, t_ns));
	else
		row_put(row, key, json_time(t_ns));
}

void pcap_row_value(struct pcap_row *row, const char *key, json_t *value)
{
	size_t flags = JSON_REAL_PRECISION(REAL_DIGITS) | JSON_ENCODE_ANY;
	if (!row->text) {
		row_put(row, key, value);
		return;
	}
	if (row->compact)
		flags |= JSON_COMPACT;
	rw_cleanup(freep) char *text = json_dumps(value, flags);
	if (text)
		row_say(row, key, text, strlen(text));
	json_decref(value);
}

/* As jansson writes it, without its objects: a number with a point. */
void pcap_row_real(struct pcap_row *row, const char *key, double value)
{
	char text[REAL_TEXT];
	if (!row->text || !isfinite(value)) {
		pcap_row_value(row, key, json_number_or_null(value));
		return;
	}
	int n = 3;
	memcpy(text, "0.0", 4);
	if (value != 0 || signbit(value))
		n = snprintf(text, sizeof(text), "%.*g", REAL_DIGITS, value);
	if (strcspn(text, "e") != (size_t)n) {
		pcap_row_value(row, key, json_real(value));
		return;
	}
	row_say(row, key, text, (size_t)n);
	if (!strchr(text, '.'))
		str_addn(row->text, ".0", 2);
}

/* ---- parts ----------------------------------------------------------------------- */

static void row_open(struct pcap_row *row, const char *key, const char brackets[2])
{
	assert(row->depth + 1 < PCAP_ROW_DEPTH);
	if (row->text) {
		row_say(row, key, brackets, 1);
		row->more = false;
	} else {
		json_t *part = brackets[0] == '{' ? json_object() : json_array();
		row_put(row, key, part);
		row->part[row->depth + 1] = part;
	}
	row->closes[++row->depth] = brackets[1];
}

void pcap_row_open(struct pcap_row *row, const char *key)
{
	row_open(row, key, "{}");
}

void pcap_row_open_list(struct pcap_row *row, const char *key)
{
	row_open(row, key, "[]");
}

void pcap_row_close(struct pcap_row *row)
{
	if (row->text)
		str_addn(row->text, &row->closes[row->depth], 1);
	row->depth--;
	row->more = true;
}
