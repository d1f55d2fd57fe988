/* rowbinary - values to bytes and back. */
#include "db/clickhouse/rowbinary.h"

#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"

void rowbinary_put_fixed(struct str *out, uint64_t value, size_t n_bytes)
{
	char bytes[8];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(value >> (8 * i));
	if (out->n + sizeof(bytes) >= out->cap) {
		str_addn(out, bytes, n_bytes);
		return;
	}
	/* there is room: nearly always. What lies behind the end is overwritten later. */
	memcpy(out->s + out->n, bytes, sizeof(bytes));
	out->n += n_bytes;
	out->s[out->n] = '\0';
}

void rowbinary_put_f64(struct str *out, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	rowbinary_put_fixed(out, bits, sizeof(bits));
}

void rowbinary_put_text(struct str *out, const char *text)
{
	const size_t n = strlen(text);
	uint64_t length = n;
	while (length >= 0x80) {
		rowbinary_put_fixed(out, (length & 0x7f) | 0x80, 1);
		length >>= 7;
	}
	rowbinary_put_fixed(out, length, 1);
	str_addn(out, text, n);
}

void rowbinary_put_null(struct str *out, bool null)
{
	rowbinary_put_fixed(out, null, 1);
}

uint64_t rowbinary_get_fixed(struct bytes *in, size_t n_bytes)
{
	const uint8_t *p = bytes_take(in, n_bytes);
	uint64_t value = 0;
	for (size_t i = 0; p && i < n_bytes; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}

double rowbinary_get_f64(struct bytes *in)
{
	const uint64_t bits = rowbinary_get_fixed(in, sizeof(bits));
	double value;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t rowbinary_get_length(struct bytes *in)
{
	uint64_t length = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = bytes_u8(in);
		length |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return length;
	}
	in->bad = true;
	return 0;
}

const char *rowbinary_get_text(struct bytes *in, struct arena *a)
{
	const uint64_t n = rowbinary_get_length(in);
	const uint8_t *p = NULL;
	if (n <= bytes_left(in))
		p = bytes_take(in, (size_t)n);
	else
		in->bad = true;
	if (!p)
		return "";
	return arena_strndup(a, (const char *)p, (size_t)n);
}

bool rowbinary_get_null(struct bytes *in)
{
	return bytes_u8(in) != 0;
}
