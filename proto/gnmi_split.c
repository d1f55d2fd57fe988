/* gnmi_split - see the header. A tag is (number << 3) + type, here always one byte. */
#include "proto/gnmi_split.h"

#include <string.h>

#include "agent/base/bytes.h"
#include "agent/base/str.h"

enum { TAG_UPDATE = 0x0a, TAG_TIME = 0x08, TAG_PREFIX = 0x12, TAG_ONE = 0x22, TAG_DELETE = 0x2a };
enum { VARINT_MAX = 10 };

static bool split_varint(struct bytes *bytes, uint64_t *ret)
{
	*ret = 0;
	for (unsigned i = 0; i < VARINT_MAX; i++) {
		const uint8_t byte = bytes_u8(bytes);
		*ret |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (!bytes_ok(bytes))
			return false;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* Steps over a field of bytes with this tag; false, and nothing is read, when another one follows.
 */
static bool split_chunk(struct bytes *bytes, uint8_t tag)
{
	struct bytes ahead = *bytes;
	uint64_t n;
	if (bytes_left(&ahead) == 0 || bytes_u8(&ahead) != tag || !split_varint(&ahead, &n))
		return false;
	if (n > bytes_left(&ahead) || !bytes_skip(&ahead, (size_t)n))
		return false;
	*bytes = ahead;
	return true;
}

static bool split_time(struct bytes *bytes)
{
	struct bytes ahead = *bytes;
	uint64_t t;
	if (bytes_left(&ahead) == 0 || bytes_u8(&ahead) != TAG_TIME || !split_varint(&ahead, &t))
		return false;
	*bytes = ahead;
	return true;
}

static size_t split_at(const struct gnmi_split *split, const struct bytes *bytes)
{
	return split->n - bytes_left(bytes);
}

/* False: a shape that is not cut. */
static bool split_shape(struct gnmi_split *split)
{
	struct bytes bytes = bytes_of(split->p, split->n);
	uint64_t n;
	size_t updates = 0;
	if (bytes_u8(&bytes) != TAG_UPDATE || !split_varint(&bytes, &n) || n != bytes_left(&bytes))
		return false;
	split->head = split_at(split, &bytes);
	split_time(&bytes);
	split_chunk(&bytes, TAG_PREFIX);
	split->head_end = split->at = split_at(split, &bytes);
	while (split_chunk(&bytes, TAG_ONE))
		updates++;
	split->deletes = split_at(split, &bytes);
	while (split_chunk(&bytes, TAG_DELETE))
		;
	split->end = split_at(split, &bytes);
	return split->end == split->n && updates > 1;
}

void gnmi_split_begin(struct gnmi_split *split, const void *data, size_t n)
{
	*split = (struct gnmi_split){.p = data, .n = n};
	split->whole = n <= GNMI_SPLIT_BYTES || !split_shape(split);
}

/* Where the updates of the piece that begins at .at end. */
static size_t split_piece_end(const struct gnmi_split *split)
{
	struct bytes bytes = bytes_of(split->p + split->at, split->deletes - split->at);
	for (unsigned i = 0; i < GNMI_SPLIT_UPDATES; i++) {
		const size_t done = split->deletes - split->at - bytes_left(&bytes);
		if (done >= GNMI_SPLIT_BYTES || !split_chunk(&bytes, TAG_ONE))
			break;
	}
	return split->deletes - bytes_left(&bytes);
}

static void split_put_varint(struct str *out, uint64_t value)
{
	char byte;
	for (; value > 0x7f; value >>= 7) {
		byte = (char)(value | 0x80);
		str_addn(out, &byte, 1);
	}
	byte = (char)value;
	str_addn(out, &byte, 1);
}

bool gnmi_split_next(
	struct gnmi_split *split, struct str *ret, const uint8_t **ret_p, size_t *ret_n)
{
	static const char tag = TAG_UPDATE;
	const bool first = !split->began;
	split->began = true;
	*ret_p = split->p;
	*ret_n = split->n;
	if (split->whole)
		return first;
	if (split->at >= split->deletes)
		return false;
	const size_t end = split_piece_end(split), head_n = split->head_end - split->head;
	size_t deletes_n = 0;
	if (first)
		deletes_n = split->end - split->deletes;
	ret->n = 0;
	str_addn(ret, &tag, 1);
	split_put_varint(ret, head_n + end - split->at + deletes_n);
	str_addn(ret, (const char *)split->p + split->head, head_n);
	str_addn(ret, (const char *)split->p + split->at, end - split->at);
	str_addn(ret, (const char *)split->p + split->deletes, deletes_n);
	split->at = end;
	*ret_p = (const uint8_t *)ret->s;
	*ret_n = ret->n;
	return true;
}
