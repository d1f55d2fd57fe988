/*
 * bytes - a reader over foreign bytes that cannot pass the end. A read past the end sets .bad,
 * returns 0 and stays bad: parse first, ask bytes_ok() once. Network byte order.
 */
#pragma once

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
static inline uint64_t bytes_be64(struct bytes *bytes)
{
	const uint64_t high = bytes_be32(bytes);
	return high << 32 | bytes_be32(bytes);
}
/* bytes_varint - seven bits a byte, the lowest first; more than 10 bytes are bad. */
uint64_t bytes_varint(struct bytes *bytes);

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

/* hash - keyed hashes: SipHash of any number of bytes with any number of rounds, and HMAC-SHA256 by
 * OpenSSL. */

/*
 * siphash - a keyed hash for tables whose keys come from strangers: who does not know the key
 * cannot choose inputs that fall into one slot. Pure.
 *
 * SipHash-c-d of J.-P. Aumasson and D. J. Bernstein, "SipHash: a fast short-input PRF", Indocrypt
 * 2012: c rounds for each 8 bytes, d rounds at the end. 2-4 is the authors' proposal; 1-3 is what
 * hash tables of Rust, Python and Ruby use, and what ours use.
 */
struct siphash_key {
	uint64_t low, high; /* the 16 bytes of the key as two little-endian numbers */
};

/* siphash - the hash of @n bytes. @per_word, @final: the rounds c and d. */
uint64_t siphash(const struct siphash_key *key, unsigned per_word, unsigned final, const void *data,
	size_t n);

/* siphash_random_key - a key that the kernel drew for this process (AT_RANDOM): not known outside
 * of it. */
struct siphash_key siphash_random_key(void);

/* ---- for hot paths: messages of whole words ---------------------------------- */
struct siphash_state {
	uint64_t v0, v1, v2, v3;
};

static inline void siphash_round(struct siphash_state *state)
{
	uint64_t v0 = state->v0, v1 = state->v1, v2 = state->v2, v3 = state->v3;
	v0 += v1;
	v1 = (v1 << 13 | v1 >> 51) ^ v0;
	v0 = v0 << 32 | v0 >> 32;
	v2 += v3;
	v3 = (v3 << 16 | v3 >> 48) ^ v2;
	v0 += v3;
	v3 = (v3 << 21 | v3 >> 43) ^ v0;
	v2 += v1;
	v1 = (v1 << 17 | v1 >> 47) ^ v2;
	v2 = v2 << 32 | v2 >> 32;
	*state = (struct siphash_state){v0, v1, v2, v3};
}

static inline struct siphash_state siphash_begin(const struct siphash_key *key)
{
	return (struct siphash_state){key->low ^ 0x736f6d6570736575ull,
		key->high ^ 0x646f72616e646f6dull, key->low ^ 0x6c7967656e657261ull,
		key->high ^ 0x7465646279746573ull};
}

/* siphash13_word - one more 8 bytes of the message. */
static inline void siphash13_word(struct siphash_state *state, uint64_t word)
{
	state->v3 ^= word;
	siphash_round(state);
	state->v0 ^= word;
}

/* siphash13_end - @last: the length in bytes in its highest byte, below it the bytes after the last
 * whole word. */
static inline uint64_t siphash13_end(struct siphash_state *state, uint64_t last)
{
	siphash13_word(state, last);
	state->v2 ^= 0xff;
	siphash_round(state);
	siphash_round(state);
	siphash_round(state);
	return state->v0 ^ state->v1 ^ state->v2 ^ state->v3;
}

/* siphash13_two - SipHash-1-3 of the 16 bytes of two little-endian words. */
static inline uint64_t siphash13_two(const struct siphash_key *key, uint64_t first, uint64_t second)
{
	struct siphash_state state = siphash_begin(key);
	siphash13_word(&state, first);
	siphash13_word(&state, second);
	return siphash13_end(&state, 16ull << 56);
}

/* hmac - the keyed hash by which a receiver knows that a message is ours, and the plain one. Pure;
 * any thread. */
#define HMAC_HEX_MAX 65 /* 32 bytes as hexadecimal digits, and the NUL */

/* hmac_sha256 - RFC 2104 with SHA-256, as lower-case hexadecimal digits. */
void hmac_sha256(const void *key, size_t n_key, const void *data, size_t n, char ret[HMAC_HEX_MAX]);

/* sha256_hex - SHA-256 (FIPS 180-4), as lower-case hexadecimal digits. */
void sha256_hex(const void *data, size_t n, char ret[HMAC_HEX_MAX]);
