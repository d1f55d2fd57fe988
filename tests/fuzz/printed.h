/* printed - what a fuzz target asks of text that a person, a spreadsheet or a program will read. */
#ifndef RW_TESTS_FUZZ_PRINTED_H
#define RW_TESTS_FUZZ_PRINTED_H

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_clean.h"

static inline void printed_fault(const char *what, const char *text)
{
	fprintf(stderr, "printed: %s: %s\n", what, text);
	abort();
}

/* One line that steers nothing. */
static inline void printed_line(const char *text)
{
	if (text && !text_is_clean(text))
		printed_fault("a control character, or one that hides text", text);
}

/* Lines, each as above. */
static inline void printed_lines(const char *text)
{
	while (text && *text) {
		const size_t n = strcspn(text, "\n");
		char *line = strndup(text, n);
		printed_line(line);
		free(line);
		text += n + (text[n] == '\n');
	}
}

/* What is typed into a switch: it has lines. */
static inline void printed_configuration(const json_t *value)
{
	const char *key;
	const json_t *member;
	printed_lines(json_string_value(value));
	json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
		printed_line(key);
		printed_configuration(member);
	}
}

/* Every string and name in a document. */
static inline void printed_document(const json_t *value)
{
	const char *key;
	const json_t *member;
	size_t i;
	if (json_is_string(value))
		printed_line(json_string_value(value));
	json_array_foreach (value, i, member)
		printed_document(member);
	json_object_foreach ((json_t *)(uintptr_t)value, key, member) {
		printed_line(key);
		if (strcmp(key, "render") == 0 || strcmp(key, "undo") == 0)
			printed_configuration(member);
		else
			printed_document(member);
	}
}

#endif
