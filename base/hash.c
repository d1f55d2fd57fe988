/* hash - keyed hashes: SipHash of any number of bytes with any number of rounds, and HMAC-SHA256 by
 * OpenSSL. */
#include "base/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>

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
