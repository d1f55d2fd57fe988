/* bundle_parts - what is in a bundle: the table of parts, and the commands that make them. */
#ifndef RW_SUPPORT_BUNDLE_PARTS_H
#define RW_SUPPORT_BUNDLE_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/support/bundle.h"

enum { BUNDLE_WORDS = 12 };

struct bundle_part {
	char name[100]; /* of the file in the bundle */
	const char *what; /* one line of the README */
	/* a program and its words, ended by NULL; [0] NULL: this program with the words behind */
	const char *words[BUNDLE_WORDS];
	int seconds; /* it may take */
};

/* bundle_part_at - row @i for @ask; false behind the last. Texts are borrowed from @ask. */
bool bundle_part_at(const struct bundle_ask *ask, size_t i, struct bundle_part *ret);

#endif
