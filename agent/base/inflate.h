/*
 * inflate - unpacks gzip (RFC 1952) and zlib (RFC 1950), as far as a bound allows: a small message
 * of others must not become a large one. And packs. Any thread.
 */
#ifndef RW_BASE_INFLATE_H
#define RW_BASE_INFLATE_H

#include <stddef.h>
#include <stdint.h>

/* inflate_bytes - *@ret is the caller's to free. 0; -EMSGSIZE: more than @most bytes come out;
 * -EBADMSG: it is neither. */
int inflate_bytes(const uint8_t *data, size_t n, size_t most, uint8_t **ret, size_t *ret_n);

/* deflate_bytes - adds the packed bytes to @out, quickly rather than tightly. The same bytes give
 * the same packed ones as long as the library is the same. */
struct str;
enum deflate_form { DEFLATE_ZLIB, DEFLATE_GZIP };
void deflate_bytes(enum deflate_form form, const void *data, size_t n, struct str *out);

#endif
