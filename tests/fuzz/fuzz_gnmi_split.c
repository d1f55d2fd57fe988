/*
 * A large message from the input: repeated until it is worth cutting, with and without a length in
 * front. Pieces end, stay within their bounds, and hold no more than the message.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "proto/gnmi_walk.h"

static void put_varint(struct str *out, uint64_t value)
{
	char byte;
	for (; value > 0x7f; value >>= 7) {
		byte = (char)(value | 0x80);
		str_addn(out, &byte, 1);
	}
	byte = (char)value;
	str_addn(out, &byte, 1);
}

static void cut(const uint8_t *data, size_t n)
{
	struct gnmi_split split;
	struct str piece = {0};
	const uint8_t *p;
	size_t got, all = 0, pieces = 0, sum = 0;
	gnmi_split_begin(&split, data, n);
	while (gnmi_split_next(&split, &piece, &p, &got)) {
		for (size_t i = 0; i < got; i++) /* readable to the end */
			sum += p[i];
		all += got;
		if (++pieces > n)
			abort();
	}
	if (pieces == 0 || (all == 0 && n > 0 && sum > 0))
		abort();
	str_done(&piece);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str body = {0}, message = {0};
	if (size == 0 || size > 4096)
		return 0;
	while (body.n <= 3 * GNMI_SPLIT_BYTES)
		str_addn(&body, (const char *)data, size);
	cut((const uint8_t *)body.s, body.n);
	str_addn(&message, "\x0a", 1);
	put_varint(&message, body.n);
	str_addn(&message, body.s, body.n);
	cut((const uint8_t *)message.s, message.n);
	str_done(&body);
	str_done(&message);
	return 0;
}
