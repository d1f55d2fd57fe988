/*
 * bytes - a reader over foreign bytes that cannot pass the end. A read past the end sets .bad,
 * returns 0 and stays bad: parse first, ask bytes_ok() once. Network byte order.
 */
#ifndef RW_BASE_BYTES_H
#define RW_BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct str;

struct bytes {
	const uint8_t *p, *end;
	bool bad;
};

/* @data NULL: nothing is there; with @n > 0, as after a bytes_take() that failed, bad. */
static inline struct bytes bytes_of(const void *data, size_t n)
{
	struct bytes ret = {.p = data, .end = data, .bad = !data && n > 0};

	if (data)
		ret.end += n;
	return ret;
}
static inline bool bytes_ok(const struct bytes *bytes)
{
	return !bytes->bad;
}
static inline size_t bytes_left(const struct bytes *bytes)
{
	if (bytes->bad)
		return 0;
	return (size_t)(bytes->end - bytes->p);
}

/* bytes_take - borrow @n bytes and step over them, or NULL (and bad) when fewer are left. */
static inline const uint8_t *bytes_take(struct bytes *bytes, size_t n)
{
	if (bytes_left(bytes) < n) {
		bytes->bad = true;
		return NULL;
	}
	const uint8_t *p = bytes->p;
	if (n > 0)
		bytes->p += n;
	return p;
}
static inline bool bytes_skip(struct bytes *bytes, size_t n)
{
	return bytes_take(bytes, n) != NULL;
}
static inline uint8_t bytes_u8(struct bytes *bytes)
{
	const uint8_t *p = bytes_take(bytes, 1);
	if (p)
		return p[0];
	return 0;
}
static inline uint16_t bytes_be16(struct bytes *bytes)
{
	const uint8_t *p = bytes_take(bytes, 2);
	if (p)
		return (uint16_t)((p[0] << 8) | p[1]);
	return 0;
}
static inline uint32_t bytes_be24(struct bytes *bytes)
{
	const uint8_t *p = bytes_take(bytes, 3);
	if (p)
		return ((uint32_t)p[0] << 16) | ((uint32_t)p[1] << 8) | p[2];
	return 0;
}
static inline uint32_t bytes_be32(struct bytes *bytes)
{
	const uint8_t *p = bytes_take(bytes, 4);
	if (p)
		return ((uint32_t)p[0] << 24) | ((uint32_t)p[1] << 16) | ((uint32_t)p[2] << 8) |
			p[3];
	return 0;
}

/* base64 - bytes as text, RFC 4648 section 4, with padding. Pure. */

/* base64_text - malloc'd, ended by a zero byte. */
char *base64_text(const void *data, size_t n);
/* base64_bytes - malloc'd, *@ret_n bytes. NULL: this is no such text. */
uint8_t *base64_bytes(const char *text, size_t *ret_n);

/*
 * inflate - unpacks gzip (RFC 1952) and zlib (RFC 1950), as far as a bound allows: a small message
 * of others must not become a large one. And packs. Any thread.
 */

/* inflate_bytes - *@ret is the caller's to free. 0; -EMSGSIZE: more than @most bytes come out;
 * -EBADMSG: it is neither. */
int inflate_bytes(const uint8_t *data, size_t n, size_t most, uint8_t **ret, size_t *ret_n);
enum deflate_form { DEFLATE_ZLIB, DEFLATE_GZIP };
void deflate_bytes(enum deflate_form form, const void *data, size_t n, struct str *out);

#endif
