/*
 * host_text - lines of what was printed on hosts (nccl-tests, NCCL_DEBUG, ethtool), as people keep
 * it: with the tags that pdsh ("node-001: ") and mpirun ("[1,0]<stdout>:") put before each line, or
 * without. Every line is cleaned (agent/base/text_clean.h) and cut to HOST_LINE_MAX. One thread.
 */
#ifndef RW_AGENT_HOST_TEXT_H
#define RW_AGENT_HOST_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOST_LINE_MAX = 4096, HOST_NAME_LEN = 64, HOST_WORDS_MAX = 64 };

struct host_text {
	const char *at, *end;
	unsigned number; /* of the line, from 1 */
	char host[HOST_NAME_LEN]; /* its tag; "" none */
	char line[HOST_LINE_MAX]; /* without tags; leading blanks are kept */
};

void host_text_begin(struct host_text *text, const char *data, size_t n);
bool host_text_next(struct host_text *text);

/* host_words - splits @line at blanks, in place. Returns how many words are in @words. */
size_t host_words(char *line, char *words[HOST_WORDS_MAX]);

/* host_number, host_real - the whole word is a number. */
bool host_number(const char *word, uint64_t *ret);
bool host_real(const char *word, double *ret);

/* host_name_copy - @n bytes as a name: cut, and "" when it holds anything but letters, digits and
 * . _ - */
void host_name_copy(char ret[HOST_NAME_LEN], const char *text, size_t n);

#endif
