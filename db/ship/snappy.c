/*
 * snappy - literals, and copies of 4 to 64 bytes from at most 64 KiB before (tag 2: two bytes of
 * offset). A table by hash of four bytes says where they stood last.
 */
#include "db/ship/snappy.h"

#include <stdint.h>
#include <string.h>

#include "agent/base/str.h"

enum { TAG_LITERAL = 0, TAG_COPY2 = 2 };
enum { TABLE_BITS = 14, LEAST = 4, MOST = 64, REACH = 65535, SHORT_LITERAL = 60 };

static void put_length(struct str *out, size_t n)
{
	for (; n >= 0x80; n >>= 7)
		str_addn(out, &(char){(char)(n | 0x80)}, 1);
	str_addn(out, &(char){(char)n}, 1);
}

static void put_literal(struct str *out, const uint8_t *data, size_t n)
{
	if (n == 0)
		return;
	const size_t length = n - 1;
	char tag[5];
	size_t extra = 0;
	if (length < SHORT_LITERAL) {
		tag[0] = (char)(length << 2 | TAG_LITERAL);
	} else {
		for (size_t rest = length; rest; rest >>= 8)
			tag[++extra] = (char)rest;
		tag[0] = (char)((SHORT_LITERAL - 1 + extra) << 2 | TAG_LITERAL);
	}
	str_addn(out, tag, 1 + extra);
	str_addn(out, (const char *)data, n);
}

static void put_copy(struct str *out, size_t offset, size_t n)
{
	const char copy[] = {
		(char)((n - 1) << 2 | TAG_COPY2), (char)(offset & 0xff), (char)(offset >> 8)};
	str_addn(out, copy, sizeof(copy));
}

static uint32_t four_bytes(const uint8_t *p)
{
	uint32_t word;
	memcpy(&word, p, sizeof(word));
	return word;
}

static size_t same_bytes(const uint8_t *left, const uint8_t *right, const uint8_t *end)
{
	size_t n = 0;
	while (n < MOST && right + n < end && left[n] == right[n])
		n++;
	return n;
}

void snappy_pack(const void *data, size_t n, struct str *out)
{
	uint32_t table[1 << TABLE_BITS] = {0}; /* position + 1 */
	const uint8_t *bytes = data, *end = bytes + n;
	size_t at = 0, literal = 0;
	put_length(out, n);
	while (at + LEAST <= n) {
		const uint32_t word = four_bytes(bytes + at);
		const uint32_t slot = word * 0x1e35a7bdu >> (32 - TABLE_BITS);
		const size_t before = table[slot];
		table[slot] = (uint32_t)at + 1;
		const bool match = before > 0 && at - (before - 1) <= REACH &&
			four_bytes(bytes + before - 1) == word;
		if (!match) {
			at++;
			continue;
		}
		const size_t length = same_bytes(bytes + before - 1, bytes + at, end);
		put_literal(out, bytes + literal, at - literal);
		put_copy(out, at - (before - 1), length);
		at += length;
		literal = at;
	}
	put_literal(out, bytes + literal, n - literal);
}
