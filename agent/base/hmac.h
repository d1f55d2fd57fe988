/* hmac - the keyed hash by which a receiver knows that a message is ours, and the plain one. Pure;
 * any thread. */
#ifndef RW_BASE_HMAC_H
#define RW_BASE_HMAC_H

#include <stddef.h>

#define HMAC_HEX_MAX 65 /* 32 bytes as hexadecimal digits, and the NUL */

/* hmac_sha256 - RFC 2104 with SHA-256, as lower-case hexadecimal digits. */
void hmac_sha256(const void *key, size_t n_key, const void *data, size_t n, char ret[HMAC_HEX_MAX]);

/* sha256_hex - SHA-256 (FIPS 180-4), as lower-case hexadecimal digits. */
void sha256_hex(const void *data, size_t n, char ret[HMAC_HEX_MAX]);

#endif
