/* bytes - bytes in other clothes: base64 (three bytes, four letters), and zlib with a bound when it
 * unpacks. */
#include "base/bytes.h"

#include <errno.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <zlib.h>

#include "base/cleanup.h"
#include "base/str.h"

/* ---- hash - keyed hashes: SipHash of any number of bytes with any number of rounds, and
 * HMAC-SHA256 by OpenSSL. */

/* siphash - of any number of bytes, with any number of rounds. */

static uint64_t siphash_le(const uint8_t *bytes, size_t n)
{
	uint64_t word = 0;
	for (size_t i = 0; i < n; i++)
		word |= (uint64_t)bytes[i] << 8 * i;
	return word;
}

uint64_t siphash(const struct siphash_key *key, unsigned per_word, unsigned final, const void *data,
	size_t n)
{
	const uint8_t *bytes = data;
	struct siphash_state state = siphash_begin(key);
	const size_t words = n / 8;
	for (size_t k = 0; k <= words; k++) {
		uint64_t word;
		if (k < words)
			word = siphash_le(bytes + k * 8, 8);
		else
			word = (uint64_t)n << 56 | siphash_le(bytes + k * 8, n % 8);
		state.v3 ^= word;
		for (unsigned i = 0; i < per_word; i++)
			siphash_round(&state);
		state.v0 ^= word;
	}
	state.v2 ^= 0xff;
	for (unsigned i = 0; i < final; i++)
		siphash_round(&state);
	return state.v0 ^ state.v1 ^ state.v2 ^ state.v3;
}

struct siphash_key siphash_random_key(void)
{
	struct siphash_key key = {0};
	const void *random = (const void *)getauxval(AT_RANDOM); /* 16 bytes */
	if (random)
		memcpy(&key, random, sizeof(key));
	return key;
}

uint64_t bytes_varint(struct bytes *bytes)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint8_t byte = bytes_u8(bytes);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	bytes->bad = true;
	return 0;
}

/* hmac - HMAC-SHA256 by OpenSSL. */

static void digest_hex(const unsigned char *digest, unsigned n, char ret[HMAC_HEX_MAX])
{
	for (unsigned i = 0; i < n && 2 * i + 2 < HMAC_HEX_MAX; i++)
		snprintf(ret + 2 * i, 3, "%02x", digest[i]);
}

void hmac_sha256(const void *key, size_t n_key, const void *data, size_t n, char ret[HMAC_HEX_MAX])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned n_digest = 0;
	ret[0] = '\0';
	if (HMAC(EVP_sha256(), key, (int)n_key, data, n, digest, &n_digest))
		digest_hex(digest, n_digest, ret);
}

void sha256_hex(const void *data, size_t n, char ret[HMAC_HEX_MAX])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned n_digest = 0;
	ret[0] = '\0';
	if (EVP_Digest(data, n, digest, &n_digest, EVP_sha256(), NULL) == 1)
		digest_hex(digest, n_digest, ret);
}

/* base64 - by OpenSSL, which reads more than RFC 4648 allows: line ends, padding anywhere. What it
 * may read is looked at first. */

char *base64_text(const void *data, size_t n)
{
	char *text = rw_calloc(1, (n + 2) / 3 * 4 + 1);
	EVP_EncodeBlock((unsigned char *)text, data, (int)n);
	return text;
}

uint8_t *base64_bytes(const char *text, size_t *ret_n)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const size_t n = strlen(text), padding = n - strspn(text, letters);
	if (n % 4 != 0 || padding > 2 || strspn(text + n - padding, "=") != padding)
		return NULL;
	uint8_t *bytes = rw_calloc(1, n / 4 * 3 + 1);
	EVP_DecodeBlock(bytes, (const unsigned char *)text, (int)n);
	*ret_n = n / 4 * 3 - padding;
	return bytes;
}

/* inflate - zlib, with a bound when it unpacks. */

enum { EITHER_HEADER = 32 }; /* zlib.h, inflateInit2(): gzip or zlib, whichever it is */
enum { FIRST_ROOM = 65536 };

/* More room, twice as much; false when it is as much as may be. */
static bool inflate_grow(uint8_t **out, size_t *room, size_t most)
{
	if (*room == most)
		return false;
	size_t larger = *room * 2;
	if (larger > most)
		larger = most;
	uint8_t *grown = rw_calloc(larger, 1);
	memcpy(grown, *out, *room);
	free(*out);
	*out = grown;
	*room = larger;
	return true;
}

static int inflate_run(z_stream *z, size_t most, uint8_t **ret, size_t *ret_n)
{
	size_t room = FIRST_ROOM;
	if (room > most)
		room = most;
	uint8_t *out = rw_calloc(room, 1);
	int rc = Z_OK, error = 0;
	while (rc == Z_OK && error == 0) {
		z->next_out = out + z->total_out;
		z->avail_out = (uInt)(room - z->total_out);
		rc = inflate(z, Z_NO_FLUSH);
		if (rc == Z_OK && z->avail_out > 0 && z->avail_in == 0)
			error = -EBADMSG; /* it ends in the middle */
		else if ((rc == Z_OK || rc == Z_BUF_ERROR) && z->avail_out == 0) {
			rc = Z_OK;
			if (!inflate_grow(&out, &room, most))
				error = -EMSGSIZE;
		}
	}
	if (error == 0 && rc != Z_STREAM_END)
		error = -EBADMSG;
	if (error < 0) {
		free(out);
		return error;
	}
	*ret = out;
	*ret_n = z->total_out;
	return 0;
}

int inflate_bytes(const uint8_t *data, size_t n, size_t most, uint8_t **ret, size_t *ret_n)
{
	z_stream z = {.next_in = (Bytef *)(uintptr_t)data, .avail_in = (uInt)n};
	if (n > UINT32_MAX || most == 0 || most > UINT32_MAX)
		return -EMSGSIZE;
	if (inflateInit2(&z, MAX_WBITS + EITHER_HEADER) != Z_OK)
		return -ENOMEM;
	const int rc = inflate_run(&z, most, ret, ret_n);
	inflateEnd(&z);
	return rc;
}

/* ---- packing --------------------------------------------------------------- */

enum { PACK_LEVEL = 1, PACK_BITS = 15, PACK_GZIP = 16, PACK_MEMORY = 8 };

void deflate_bytes(enum deflate_form form, const void *data, size_t n, struct str *out)
{
	z_stream z = {0};
	int bits = PACK_BITS;
	if (form == DEFLATE_GZIP)
		bits += PACK_GZIP; /* zlib.h, deflateInit2(): 16 more for a gzip header */
	if (deflateInit2(&z, PACK_LEVEL, Z_DEFLATED, bits, PACK_MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
		abort(); /* only for want of memory */
	const size_t room = deflateBound(&z, (uLong)n);
	rw_cleanup(freep) uint8_t *packed = rw_calloc(room, 1);
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)n;
	z.next_out = packed;
	z.avail_out = (uInt)room;
	deflate(&z, Z_FINISH);
	str_addn(out, (const char *)packed, z.total_out);
	deflateEnd(&z);
}
