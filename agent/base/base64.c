/* base64 - three bytes, four letters. */
#include "agent/base/base64.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *base64_text(const void *data, size_t n)
{
	const uint8_t *p = data;
	char *text = rw_calloc(1, (n + 2) / 3 * 4 + 1), *out = text;
	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = (uint32_t)p[i] << 16;
		if (i + 1 < n)
			bits |= (uint32_t)p[i + 1] << 8;
		if (i + 2 < n)
			bits |= p[i + 2];
		for (int k = 0; k < 4; k++)
			*out++ = letters[bits >> (18 - 6 * k) & 63];
		if (i + 2 >= n)
			out[-1] = '=';
		if (i + 1 >= n)
			out[-2] = '=';
	}
	return text;
}

uint8_t *base64_bytes(const char *text, size_t *ret_n)
{
	size_t n = strlen(text), padding = 0, at = 0;
	if (n % 4 != 0)
		return NULL;
	while (padding < 2 && n > 0 && text[n - 1] == '=') {
		n--;
		padding++;
	}
	uint8_t *bytes = rw_calloc(1, n / 4 * 3 + 4);
	uint32_t bits = 0;
	for (size_t i = 0; i < n; i++) {
		const char *found = memchr(letters, text[i], 64);
		if (!found) {
			free(bytes);
			return NULL;
		}
		bits = bits << 6 | (uint32_t)(found - letters);
		if (i % 4 != 0)
			bytes[at++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	*ret_n = at;
	return bytes;
}
