/*
 * secret_words - what must not leave this machine: the contents of the files, variables and
 * credentials that a configuration names, secrets that somebody wrote into it, log-ins and tokens
 * of its addresses, and variables of the environment that look like secrets. The configuration may
 * be broken: it is searched as text.
 *
 * The words are held in plain memory for the life of the list, like in any program that reads them
 * to use them; the list is wiped when it is freed.
 */
#ifndef RW_SUPPORT_SECRET_WORDS_H
#define RW_SUPPORT_SECRET_WORDS_H

#include <stddef.h>

struct secret_words;

struct secret_words *secret_words_new(void);
void secret_words_free(struct secret_words *words);
/* secret_words_config - learns from the text of a configuration and from what it names. */
void secret_words_config(struct secret_words *words, const char *text);
/* secret_words_environment - learns from the environment of this process. */
void secret_words_environment(struct secret_words *words);
/* secret_words_add - one more; shorter than three bytes: nothing. */
void secret_words_add(struct secret_words *words, const char *word, size_t n);
size_t secret_words_count(const struct secret_words *words);
/* secret_words_at - borrowed, longest first. */
const char *secret_words_at(const struct secret_words *words, size_t i);

#endif
