/* pcap_row - values of a row, as text or as JSON. */
#include "agent/capture/pcap_row.h"

#include "agent/document/json_value.h"

#define REAL_PLAIN_MAX 9e14 /* has REAL_DIGITS digits before the point */

enum {
	COUNT_DIGITS = 20,
	REAL_DIGITS = 15,
	REAL_TEXT = 32,
	ROW_MARKS = 6, /* ", ", two quotes, ": " */
};

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

/* row_copy - @n bytes, most often few. Returns where they end. */
static char *row_copy(char *to, const char *from, size_t n)
{
	if (n >= 8) {
		for (size_t i = 0; i + 8 < n; i += 8)
			memcpy(to + i, from + i, 8);
		memcpy(to + n - 8, from + n - 8, 8);
	} else if (n >= 4) {
		memcpy(to, from, 4);
		memcpy(to + n - 4, from + n - 4, 4);
	} else if (n) {
		to[0] = from[0];
		to[n / 2] = from[n / 2];
		to[n - 1] = from[n - 1];
	}
	return to + n;
}

/* row_key - what stands before a value of at most @room bytes. Returns where it goes; row_end() at
 * its end. */
static char *row_key(struct pcap_row *row, const char *key, size_t key_n, size_t room)
{
	const struct str *text = row->text;
	char *at;
	if (text->cap - text->n > key_n + room + ROW_MARKS)
		at = text->s + text->n;
	else
		at = str_room(row->text, key_n + room + ROW_MARKS);
	if (row->more) {
		memcpy(at, ", ", 2);
		at += row->compact ? 1 : 2;
	}
	row->more = true;
	if (!key)
		return at;
	*at++ = '"';
	at = row_copy(at, key, key_n);
	memcpy(at, "\": ", 3);
	return at + (row->compact ? 2 : 3);
}

static void row_end(struct pcap_row *row, char *at)
{
	*at = '\0';
	row->text->n = (size_t)(at - row->text->s);
}

static void row_say(
	struct pcap_row *row, const char *key, size_t key_n, const char *value, size_t n)
{
	row_end(row, row_copy(row_key(row, key, key_n, n), value, n));
}

/* row_digits - Returns where they end. */
static char *row_digits(char *at, uint64_t value)
{
	char digits[COUNT_DIGITS];
	size_t first = sizeof(digits);
	do {
		digits[--first] = (char)('0' + value % 10);
		value /= 10;
	} while (value);
	return row_copy(at, digits + first, sizeof(digits) - first);
}

void pcap_row_count_n(struct pcap_row *row, const char *key, size_t key_n, uint64_t value)
{
	if (row->text)
		row_end(row, row_digits(row_key(row, key, key_n, COUNT_DIGITS), value));
	else
		row_put(row, key, json_integer((json_int_t)value));
}

void pcap_row_null_n(struct pcap_row *row, const char *key, size_t key_n)
{
	if (row->text)
		row_say(row, key, key_n, "null", 4);
	else
		row_put(row, key, json_null());
}

void pcap_row_word_n(struct pcap_row *row, const char *key, size_t key_n, const char *text)
{
	if (!text) {
		pcap_row_null_n(row, key, key_n);
		return;
	}
	if (!row->text) {
		row_put(row, key, json_string(text));
		return;
	}
	const size_t n = strlen(text);
	char *at = row_key(row, key, key_n, n + 2);
	*at++ = '"';
	at = row_copy(at, text, n);
	*at++ = '"';
	row_end(row, at);
}

void pcap_row_time_n(struct pcap_row *row, const char *key, size_t key_n, int64_t t_ns)
{
	char text[WALL_TEXT_MAX];
	if (row->text)
		pcap_row_word_n(row, key, key_n, json_time_text(text, t_ns));
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
		row_say(row, key, pcap_row_key_n(key), text, strlen(text));
	json_decref(value);
}

/* A number of REAL_DIGITS digits as printf's "%.15g" writes it: rounded to the nearest, halves to
 * even, without zeros at the end; and with a point. Exact: the mantissa and a power of ten are one
 * whole number of 103 bits at most. */
static char *row_real(char *at, double value)
{
	uint64_t bits, power = 1;
	memcpy(&bits, &value, sizeof(bits));
	const uint64_t mantissa = (bits & ((1ull << 52) - 1)) | 1ull << 52;
	const unsigned shift = 1075 - (unsigned)(bits >> 52); /* value = mantissa / 2^shift */
	unsigned places = REAL_DIGITS;
	for (uint64_t whole = mantissa >> shift; whole; whole /= 10)
		places--;
	for (unsigned i = 0; i < places; i++)
		power *= 10;
	const unsigned __int128 product = (unsigned __int128)mantissa * power;
	uint64_t digits = (uint64_t)(product >> shift);
	const unsigned __int128 rest = product - ((unsigned __int128)digits << shift);
	const unsigned __int128 half = (unsigned __int128)1 << (shift - 1);
	digits += rest > half || (rest == half && digits & 1);
	at = row_digits(at, digits / power);
	*at++ = '.';
	uint64_t fraction = digits % power;
	do {
		power /= 10;
		if (power == 0)
			power = 1;
		*at++ = (char)('0' + fraction / power);
		fraction %= power;
	} while (fraction);
	return at;
}

void pcap_row_real(struct pcap_row *row, const char *key, double value)
{
	if (!row->text || !isfinite(value)) {
		pcap_row_value(row, key, json_number_or_null(value));
	} else if (value == 0 && !signbit(value)) {
		row_say(row, key, pcap_row_key_n(key), "0.0", 3);
	} else if (value >= 1 && value <= REAL_PLAIN_MAX) {
		char *at = row_key(row, key, pcap_row_key_n(key), REAL_TEXT);
		row_end(row, row_real(at, value));
	} else {
		pcap_row_value(row, key, json_real(value));
	}
}

/* ---- parts ----------------------------------------------------------------------- */

static void row_open(struct pcap_row *row, const char *key, const char brackets[2])
{
	assert(row->depth + 1 < PCAP_ROW_DEPTH);
	if (row->text) {
		row_say(row, key, pcap_row_key_n(key), brackets, 1);
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

/* ---- single values of an object -------------------------------------------- */

void pcap_count_put(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

static char *address_number(char *at, unsigned number)
{
	if (number >= 100)
		*at++ = (char)('0' + number / 100);
	if (number >= 10)
		*at++ = (char)('0' + number / 10 % 10);
	*at++ = (char)('0' + number % 10);
	return at;
}

const char *pcap_address_text(char buf[INET6_ADDRSTRLEN], uint8_t family, const uint8_t address[16])
{
	char *at = buf;
	if (family != 4) {
		buf[0] = '\0';
		inet_ntop(AF_INET6, address, buf, INET6_ADDRSTRLEN);
		return buf;
	}
	for (int i = 0; i < 4; i++) {
		at = address_number(at, address[i]);
		*at++ = '.';
	}
	at[-1] = '\0';
	return buf;
}

void pcap_address_put(json_t *object, const char *key, uint8_t family, const uint8_t address[16])
{
	char text[INET6_ADDRSTRLEN];
	json_object_set_new(object, key, json_string(pcap_address_text(text, family, address)));
}
