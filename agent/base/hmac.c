/* hmac - HMAC-SHA256 by OpenSSL. */
#include "agent/base/hmac.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

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
