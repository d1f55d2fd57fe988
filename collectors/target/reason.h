/*
 * reason - why a target or a capture is not up: a code, and a sentence for people. All of them
 * stand in reason.def, each with the next step that mends it; collectors fill in the arguments,
 * doctor shows the step. Pure.
 */
#pragma once

#include "base/base.h"

#define REASON_TEXT_MAX 200

enum reason_code {
	REASON_NONE,
#define REASON(code, protocol, sentence, next) REASON_##code,
#include "collectors/target/reason.def"
#undef REASON
	REASON_UNKNOWN, /* a text that no row has */
	REASON_COUNT
};

/* The sentences by name, so that the compiler checks the arguments of reason_set(). */
#define REASON(code, protocol, sentence, next)                                                     \
	static const char reason_text_##code[] __attribute__((unused)) = sentence;
#include "collectors/target/reason.def"
#undef REASON

struct reason {
	enum reason_code code;
	char text[REASON_TEXT_MAX];
};

/* reason_set(&reason, SNMP_REFUSED, peer): the row's sentence with these arguments. */
#define reason_set(reason, CODE, ...)                                                              \
	reason_format(reason, REASON_##CODE, reason_text_##CODE, ##__VA_ARGS__)
/* reason_err(e, -EINVAL, SNMP_RESOLVE, host, why): the same sentence in a struct err, for functions
 * below that return one; reason_from() finds the row again. Returns the code. */
#define reason_err(e, errnum, CODE, ...) err_set(e, errnum, reason_text_##CODE, ##__VA_ARGS__)

void reason_format(struct reason *reason, enum reason_code code, const char *sentence, ...)
	__attribute__((format(printf, 3, 4)));

/* reason_of_word - a row whose only argument is one string, chosen by its code. */
void reason_of_word(struct reason *reason, enum reason_code code, const char *word);

/* reason_from - @text with the code of the row of @protocol that it was made of: an error of the
 * set-up, or a sentence that the database has kept. REASON_UNKNOWN when no row fits. */
void reason_from(struct reason *reason, const char *protocol, const char *text);

struct reason_row {
	const char *protocol; /* "" = any */
	const char *sentence, *next;
};
/* NULL for REASON_NONE, REASON_UNKNOWN and numbers that are no code. */
const struct reason_row *reason_row(enum reason_code code);

/* reason_next_step - what to do about a target of @protocol that is down for @text. Never NULL:
 * without a row, where to look. Both may be NULL. */
const char *reason_next_step(const char *protocol, const char *text);
