/* slice - a thread that runs only while slice_run() waits for it. */
#include "agent/base/slice.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"

enum slice_turn { TURN_OWNER, TURN_WORK, TURN_END };

struct slice {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t turned;
	enum slice_turn turn;
	slice_fn *fn; /* NULL: nothing is under way */
	void *arg;
	int64_t until_ns; /* of the slice */
};

/* With the mutex held: @turn is the other's now; returns when it is ours again. */
static void slice_hand_over(struct slice *slice, enum slice_turn turn)
{
	const enum slice_turn ours = slice->turn;
	slice->turn = turn;
	pthread_cond_broadcast(&slice->turned);
	while (slice->turn != ours && slice->turn != TURN_END)
		pthread_cond_wait(&slice->turned, &slice->mutex);
}

static void *slice_main(void *arg)
{
	struct slice *slice = arg;
	pthread_mutex_lock(&slice->mutex);
	while (slice->turn == TURN_OWNER)
		pthread_cond_wait(&slice->turned, &slice->mutex);
	while (slice->turn == TURN_WORK) {
		slice_fn *fn = slice->fn;
		pthread_mutex_unlock(&slice->mutex);
		fn(slice->arg);
		pthread_mutex_lock(&slice->mutex);
		slice->fn = NULL;
		slice_hand_over(slice, TURN_OWNER);
	}
	pthread_mutex_unlock(&slice->mutex);
	return NULL;
}

struct slice *slice_new(void)
{
	sigset_t all, before;
	struct slice *slice = rw_calloc(1, sizeof(*slice));
	pthread_mutex_init(&slice->mutex, NULL);
	pthread_cond_init(&slice->turned, NULL);
	sigfillset(&all); /* signals are the loop thread's */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const bool made = pthread_create(&slice->thread, NULL, slice_main, slice) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (made)
		return slice;
	pthread_cond_destroy(&slice->turned);
	pthread_mutex_destroy(&slice->mutex);
	free(slice);
	return NULL;
}

void slice_free(struct slice *slice)
{
	if (!slice)
		return;
	pthread_mutex_lock(&slice->mutex);
	slice->turn = TURN_END;
	pthread_cond_broadcast(&slice->turned);
	pthread_mutex_unlock(&slice->mutex);
	pthread_join(slice->thread, NULL);
	pthread_cond_destroy(&slice->turned);
	pthread_mutex_destroy(&slice->mutex);
	free(slice);
}

void slice_begin(struct slice *slice, slice_fn *fn, void *arg)
{
	slice->fn = fn;
	slice->arg = arg;
}

bool slice_run(struct slice *slice, int64_t budget_ns)
{
	pthread_mutex_lock(&slice->mutex);
	const int64_t now_ns = mono_now().ns;
	slice->until_ns = INT64_MAX;
	if (budget_ns < INT64_MAX - now_ns)
		slice->until_ns = now_ns + budget_ns;
	slice_hand_over(slice, TURN_WORK);
	const bool ended = !slice->fn;
	pthread_mutex_unlock(&slice->mutex);
	return ended;
}

void slice_pause(struct slice *slice)
{
	if (!pthread_equal(pthread_self(), slice->thread) || mono_now().ns < slice->until_ns)
		return;
	pthread_mutex_lock(&slice->mutex);
	slice_hand_over(slice, TURN_OWNER);
	pthread_mutex_unlock(&slice->mutex);
}
