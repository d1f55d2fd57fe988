/* screen_reader - the thread that makes documents for the screen. */
#include "agent/surface/screen_reader.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/writer.h"
#include "agent/reports/served.h"

enum { READER_JOIN_S = 1 };

struct reader_slot {
	struct screen_question question;
	struct screen_answer answer;
	mono_t since;
	bool asked, running, answered;
};

struct screen_reader {
	const struct globals *globals;
	pthread_t thread;
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t changed;
	struct reader_slot slots[SCREEN_SLOTS];
	bool stop;
	int fd;
};

void screen_answer_done(struct screen_answer *answer)
{
	json_decref(answer->doc);
	free(answer->text);
	*answer = (struct screen_answer){0};
}

/* ---- one document --------------------------------------------------------- */

static char *reader_text(const json_t *doc, const struct view *view)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return NULL;
	report_print(out, doc, view, FORMAT_TABLE, true, false);
	fclose(out);
	return text;
}

static int reader_make(const struct globals *globals, const struct screen_question *question,
	json_t **ret, struct err *e)
{
	struct client client;
	const struct served_given given = {question->param, question->subject};
	const struct served_ask ask = {&given, question->param != NULL};
	const struct served_document *row = served_find(question->path);
	if (!row)
		return err_set(e, -ENOENT, "this version has no document '%s'", question->path);
	int r = client_open(&client, globals, row->span_ns, e);
	if (r < 0)
		return r;
	r = row->make(&client, &ask, ret, e);
	client_done(&client);
	return r;
}

static void reader_put_error(struct screen_answer *answer, const struct err *e)
{
	char place[16] = "";
	const char *text = e->text;
	if (!*text)
		text = strerror(-answer->code);
	if (e->line)
		snprintf(place, sizeof(place), ":%d", e->line);
	snprintf(answer->error, sizeof(answer->error), "%s%s%s%s", e->file, place,
		str_if(*e->file, ": "), text);
}

void screen_read(const struct globals *globals, const struct screen_question *question,
	struct screen_answer *ret)
{
	struct err e = {0};
	*ret = (struct screen_answer){.question = *question};
	ret->code = reader_make(globals, question, &ret->doc, &e);
	if (ret->code < 0)
		reader_put_error(ret, &e);
	if (ret->doc && question->view)
		ret->text = reader_text(ret->doc, question->view);
}

/* ---- the thread ------------------------------------------------------------ */

static void reader_wake(const struct screen_reader *reader)
{
	const uint64_t one = 1;
	/* A full counter wakes as well. */
	if (write(reader->fd, &one, sizeof(one)) < 0)
		return;
}

static struct reader_slot *reader_next(struct screen_reader *reader)
{
	for (size_t i = 0; i < SCREEN_SLOTS; i++)
		if (reader->slots[i].asked)
			return &reader->slots[i];
	return NULL;
}

/* Answers one question, with the lock held except while it reads. */
static void reader_answer(struct screen_reader *reader, struct reader_slot *slot)
{
	const struct screen_question question = slot->question;
	struct screen_answer answer;
	slot->asked = false;
	slot->running = true;
	pthread_mutex_unlock(&reader->lock);
	screen_read(reader->globals, &question, &answer);
	pthread_mutex_lock(&reader->lock);
	slot->running = false;
	if (slot->answered)
		screen_answer_done(&slot->answer);
	slot->answer = answer;
	slot->answered = true;
	reader_wake(reader);
}

static void *reader_run(void *arg)
{
	struct screen_reader *reader = arg;
	pthread_mutex_lock(&reader->lock);
	while (!reader->stop) {
		struct reader_slot *slot = reader_next(reader);
		if (slot)
			reader_answer(reader, slot);
		else
			pthread_cond_wait(&reader->changed, &reader->lock);
	}
	pthread_mutex_unlock(&reader->lock);
	return NULL;
}

/* ---- the screen's side ------------------------------------------------------- */

struct screen_reader *screen_reader_new(const struct globals *globals)
{
	sigset_t all, before;
	struct screen_reader *reader = rw_calloc(1, sizeof(*reader));
	reader->globals = globals;
	reader->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&reader->lock, NULL);
	pthread_cond_init(&reader->changed, NULL);
	/* Signals belong to the screen: a new size must interrupt its wait for a key. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&reader->thread, NULL, reader_run, reader);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (r == 0 && reader->fd >= 0)
		return reader;
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader);
	return NULL;
}

void screen_reader_free(struct screen_reader *reader)
{
	struct timespec until;
	if (!reader)
		return;
	pthread_mutex_lock(&reader->lock);
	reader->stop = true;
	pthread_cond_signal(&reader->changed);
	pthread_mutex_unlock(&reader->lock);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += READER_JOIN_S;
	if (pthread_timedjoin_np(reader->thread, NULL, &until) != 0)
		return;
	for (size_t i = 0; i < SCREEN_SLOTS; i++)
		screen_answer_done(&reader->slots[i].answer);
	close(reader->fd);
	pthread_mutex_destroy(&reader->lock);
	pthread_cond_destroy(&reader->changed);
	free(reader);
}

int screen_reader_fd(const struct screen_reader *reader)
{
	return reader->fd;
}

void screen_reader_ask(
	struct screen_reader *reader, enum screen_slot slot, const struct screen_question *question)
{
	struct reader_slot *own = &reader->slots[slot];
	pthread_mutex_lock(&reader->lock);
	if (!own->asked && !own->running)
		own->since = mono_now();
	own->question = *question;
	own->asked = true;
	pthread_cond_signal(&reader->changed);
	pthread_mutex_unlock(&reader->lock);
}

bool screen_reader_take(
	struct screen_reader *reader, enum screen_slot slot, struct screen_answer *ret)
{
	struct reader_slot *own = &reader->slots[slot];
	uint64_t count;
	pthread_mutex_lock(&reader->lock);
	bool has = own->answered;
	if (has)
		*ret = own->answer;
	own->answered = false;
	own->answer = (struct screen_answer){0};
	pthread_mutex_unlock(&reader->lock);
	/* The counter of the eventfd goes back to zero; an empty one is no error. */
	if (read(reader->fd, &count, sizeof(count)) < 0)
		return has;
	return has;
}

bool screen_reader_since(struct screen_reader *reader, enum screen_slot slot, mono_t *ret)
{
	pthread_mutex_lock(&reader->lock);
	const struct reader_slot *own = &reader->slots[slot];
	bool waits = own->asked || own->running;
	*ret = own->since;
	pthread_mutex_unlock(&reader->lock);
	return waits;
}
