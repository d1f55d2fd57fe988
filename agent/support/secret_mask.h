/*
 * secret_mask - takes secrets out of texts, and addresses where that is asked for. Secrets are
 * found as they are, in base64 at any of its three offsets, in hexadecimal and percent-encoded;
 * beside the words that are known, private keys (PEM), log-ins in addresses and what follows
 * "Authorization:", "Bearer" and the like are masked wherever they stand.
 */
#pragma once

#include "base/base.h"

struct secret_words;
struct secret_mask;

/* secret_mask_new - of @words, which must outlive it. @anonymize: IP addresses too, each always by
 * the same other one (198.18.0.0/15 of RFC 2544, 2001:db8::/32 of RFC 3849). */
struct secret_mask *secret_mask_new(const struct secret_words *words, bool anonymize);
void secret_mask_free(struct secret_mask *mask);
/* secret_mask_text - @text with its secrets replaced by "MASKED". */
void secret_mask_text(struct secret_mask *mask, struct str *text);
/* secret_mask_count - how many places were masked so far. */
size_t secret_mask_count(const struct secret_mask *mask);

/*
 * secret_words - what must not leave this machine: the contents of the files, variables and
 * credentials that a configuration names, secrets that somebody wrote into it, log-ins and tokens
 * of its addresses, and variables of the environment that look like secrets. The configuration may
 * be broken: it is searched as text.
 *
 * The words are held in plain memory for the life of the list, like in any program that reads them
 * to use them; the list is wiped when it is freed.
 */

struct secret_words *secret_words_new(void);
void secret_words_free(struct secret_words *words);
/* secret_words_config - learns from the text of a configuration and from what it names. */
void secret_words_config(struct secret_words *words, const char *text);
/* secret_words_environment - learns from the environment of this process. */
void secret_words_environment(struct secret_words *words);
