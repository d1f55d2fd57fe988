/*
 * screen_reader - makes documents in a thread of its own, so that a slow database never delays a
 * key. It opens the database for each document, as every reading command does, and hands the result
 * over; the two threads share nothing else.
 */
#ifndef RW_SURFACE_SCREEN_READER_H
#define RW_SURFACE_SCREEN_READER_H

#include <jansson.h>
#include <stdbool.h>

#include "agent/base/clock.h"
#include "agent/client/client.h"
#include "agent/surface/screen.h"

/* A question has its slot: a newer one replaces it while it waits. The page is answered first. */
#define SCREEN_ERROR_MAX 1400 /* place and text of struct err */
enum screen_slot { SCREEN_SLOT_PAGE, SCREEN_SLOT_WALL, SCREEN_SLOTS };

struct screen_question {
	const char *path; /* of a served document */
	const char *param; /* NULL none */
	char subject[SCREEN_TEXT_MAX]; /* the value of @param */
	const struct view *view; /* NULL: no text is wanted */
};

struct screen_answer {
	struct screen_question question;
	int code; /* 0 or negative errno */
	json_t *doc; /* NULL on failure */
	char *text; /* by the view, or NULL */
	char error[SCREEN_ERROR_MAX]; /* why it failed */
};

struct screen_reader;

/* screen_reader_new - @globals and what it points to must outlive the reader. NULL: no thread. */
struct screen_reader *screen_reader_new(const struct globals *globals);
/* screen_reader_free - waits a second for the thread; one that hangs in the file system is left to
 * the end of the process, with its memory. */
void screen_reader_free(struct screen_reader *reader);

/* screen_reader_fd - readable when an answer is there. */
int screen_reader_fd(const struct screen_reader *reader);
void screen_reader_ask(struct screen_reader *reader, enum screen_slot slot,
	const struct screen_question *question);
/* screen_reader_take - the answer of a slot, if there is a new one; screen_answer_done() it. */
bool screen_reader_take(
	struct screen_reader *reader, enum screen_slot slot, struct screen_answer *ret);
/* screen_reader_since - since when a question of the slot waits; false: none does. */
bool screen_reader_since(struct screen_reader *reader, enum screen_slot slot, mono_t *ret);

/* screen_read - one question, here and now. */
void screen_read(const struct globals *globals, const struct screen_question *question,
	struct screen_answer *ret);
void screen_answer_done(struct screen_answer *answer);

#endif
