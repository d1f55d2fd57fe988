/* siphash - of any number of bytes, with any number of rounds. */
#include "agent/base/siphash.h"

#include <string.h>
#include <sys/auxv.h>

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
