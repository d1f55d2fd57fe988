/* receiver - the thread of one receiver. The mutex guards the queue, the mailbox and .stop; all
 * else belongs to one thread or never changes. The last of loop and thread to release it frees it.
 */
#include "agent/alert/receiver.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include "base/loop.h"
#include "config/schema.h"

#define END_WAIT_NS (100 * NS_PER_MS)
#define BATCH_MAX 64

struct receiver {
	struct arena *arena;
	struct config_receiver config; /* texts in .arena */
	const struct sender *sender;
	int stop_fd; /* can be read from the end on */
	bool started, stopped; /* loop thread */
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t wake, ended;
	/* guarded by .mutex */
	struct mailbox *results; /* NULL: nobody waits for results */
	struct receiver_job *first, **end;
	bool stop, over;
	int holders;
};

/* ---- jobs ---------------------------------------------------------------- */

struct receiver_job *receiver_job_new(struct alert_message *message, const char *receiver)
{
	struct receiver_job *job = rw_calloc(1, sizeof(*job));
	job->message = message;
	job->receiver = arena_strdup(message->arena, receiver);
	return job;
}

void receiver_job_free(struct receiver_job *job)
{
	if (!job)
		return;
	alert_message_free(job->message);
	free(job);
}

static void jobs_done(struct receiver_job *job)
{
	while (job) {
		struct receiver_job *next = job->next;
		receiver_job_free(job);
		job = next;
	}
}

/* ---- the configuration, copied and compared ------------------------------- */

static void receiver_copy_secret(struct receiver *receiver, struct config_secret *secret)
{
	if (secret->name)
		secret->name = arena_strdup(receiver->arena, secret->name);
}

/* The rows of its section know what there is to copy, and below, to compare. */
static void receiver_copy(struct receiver *receiver, const struct config_receiver *config)
{
	struct config_receiver *to = &receiver->config;
	*to = *config;
	to->node = to->tls_node = NULL; /* they go with the configuration */
	schema_copy(config->kind->receiver, receiver->arena, to);
	receiver_copy_secret(receiver, &to->password);
	receiver_copy_secret(receiver, &to->token);
	receiver_copy_secret(receiver, &to->secret);
	receiver_copy_secret(receiver, &to->url_secret);
}

bool receiver_same(const struct receiver *receiver, const struct config_receiver *config)
{
	const struct config_receiver *ours = &receiver->config;
	return ours->kind == config->kind && schema_same(ours->kind->receiver, ours, config);
}

const struct config_receiver *receiver_config(const struct receiver *receiver)
{
	return &receiver->config;
}

/* ---- the thread ---------------------------------------------------------- */

/* Waits for jobs; takes a batch. NULL: the end. */
static struct receiver_job *receiver_next(struct receiver *receiver)
{
	struct receiver_job *batch = NULL, **end = &batch;
	pthread_mutex_lock(&receiver->mutex);
	while (!receiver->first && !receiver->stop)
		pthread_cond_wait(&receiver->wake, &receiver->mutex);
	for (size_t n = 0; !receiver->stop && receiver->first && n < receiver->sender->batch; n++) {
		struct receiver_job *job = receiver->first;
		receiver->first = job->next;
		job->next = NULL;
		*end = job;
		end = &job->next;
	}
	if (!receiver->first)
		receiver->end = &receiver->first;
	pthread_mutex_unlock(&receiver->mutex);
	return batch;
}

/* Sends up to @most of @jobs at once; all of them get the result. Returns how many. */
static size_t receiver_send(struct receiver *receiver, struct receiver_job *jobs, size_t most)
{
	const struct alert_message *messages[BATCH_MAX];
	size_t n = 0;
	struct err e = {0};
	for (struct receiver_job *job = jobs; job && n < most && n < BATCH_MAX; job = job->next)
		messages[n++] = job->message;
	const struct sender_ask ask = {&receiver->config, messages, n, receiver->stop_fd};
	const mono_t begin = mono_now();
	const int rc = receiver->sender->send(&ask, &e);
	struct receiver_job *job = jobs;
	for (size_t i = 0; i < n; i++, job = job->next) {
		job->rc = rc;
		job->took_ns = mono_now().ns - begin.ns;
		snprintf(job->error, sizeof(job->error), "%.*s", (int)sizeof(job->error) - 1,
			e.text);
	}
	return n;
}

static void receiver_post(struct receiver *receiver, struct receiver_job *jobs)
{
	while (jobs) {
		struct receiver_job *job = jobs;
		bool posted = false;
		jobs = job->next;
		job->next = NULL;
		pthread_mutex_lock(&receiver->mutex);
		if (receiver->results)
			posted = mailbox_post(receiver->results, job);
		pthread_mutex_unlock(&receiver->mutex);
		if (!posted)
			receiver_job_free(job);
	}
}

static void receiver_release(struct receiver *receiver)
{
	pthread_mutex_lock(&receiver->mutex);
	const int left = --receiver->holders;
	pthread_mutex_unlock(&receiver->mutex);
	if (left > 0)
		return;
	jobs_done(receiver->first);
	closep(&receiver->stop_fd);
	pthread_mutex_destroy(&receiver->mutex);
	pthread_cond_destroy(&receiver->wake);
	pthread_cond_destroy(&receiver->ended);
	arena_free(receiver->arena);
	free(receiver);
}

static void *receiver_main(void *arg)
{
	struct receiver *receiver = arg;
	struct receiver_job *batch;
	while ((batch = receiver_next(receiver))) {
		const size_t n = receiver_send(receiver, batch, BATCH_MAX);
		/* one message that is refused must not keep the others of its batch back */
		if (batch->rc == -EBADMSG && n > 1)
			for (struct receiver_job *job = batch; job; job = job->next)
				receiver_send(receiver, job, 1);
		receiver_post(receiver, batch);
	}
	pthread_mutex_lock(&receiver->mutex);
	receiver->over = true;
	pthread_cond_signal(&receiver->ended);
	pthread_mutex_unlock(&receiver->mutex);
	receiver_release(receiver);
	return NULL;
}

const struct sender *sender_find(const struct option_table *kind)
{
	for (size_t i = 0; senders[i]; i++)
		if (&senders[i]->options == kind)
			return senders[i];
	return NULL;
}

/* ---- the loop's side ----------------------------------------------------- */

struct receiver *receiver_new(const struct config_receiver *config, struct mailbox *results)
{
	struct receiver *r = rw_calloc(1, sizeof(*r));
	pthread_condattr_t attr;
	r->arena = arena_new();
	r->results = results;
	r->end = &r->first;
	r->sender = sender_find(config->kind);
	r->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->holders = 1;
	receiver_copy(r, config);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&r->mutex, NULL);
	pthread_cond_init(&r->wake, NULL);
	pthread_cond_init(&r->ended, &attr);
	pthread_condattr_destroy(&attr);
	return r;
}

static bool receiver_start(struct receiver *receiver)
{
	receiver->holders = 2;
	receiver->started = pthread_create(&receiver->thread, NULL, receiver_main, receiver) == 0;
	if (!receiver->started)
		receiver->holders = 1;
	return receiver->started;
}

bool receiver_give(struct receiver *receiver, struct receiver_job *job)
{
	if (!receiver->started && !receiver_start(receiver))
		return false;
	job->next = NULL;
	pthread_mutex_lock(&receiver->mutex);
	*receiver->end = job;
	receiver->end = &job->next;
	pthread_cond_signal(&receiver->wake);
	pthread_mutex_unlock(&receiver->mutex);
	return true;
}

/* Waits until the thread is over, at most @wait_ns; with the mutex held. */
static bool receiver_await(struct receiver *receiver, int64_t wait_ns)
{
	const int64_t until_ns = mono_now().ns + wait_ns;
	const struct timespec until = {until_ns / NS_PER_S, until_ns % NS_PER_S};
	int rc = 0;
	while (!receiver->over && rc == 0)
		rc = pthread_cond_timedwait(&receiver->ended, &receiver->mutex, &until);
	return receiver->over;
}

void receiver_stop(struct receiver *receiver, int64_t grace_ns)
{
	if (!receiver || !receiver->started || receiver->stopped)
		return;
	receiver->stopped = true;
	pthread_mutex_lock(&receiver->mutex);
	receiver->stop = true;
	pthread_cond_signal(&receiver->wake);
	bool over = receiver_await(receiver, grace_ns);
	receiver->results = NULL;
	if (!over) {
		eventfd_write(receiver->stop_fd, 1);
		over = receiver_await(receiver, END_WAIT_NS);
	}
	pthread_mutex_unlock(&receiver->mutex);
	if (over)
		pthread_join(receiver->thread, NULL);
	else
		pthread_detach(receiver->thread);
}

void receiver_free(struct receiver *receiver)
{
	if (!receiver)
		return;
	receiver_stop(receiver, 0);
	receiver_release(receiver);
}

/* alert_wish - a numbered list of decisions. */

static enum alert_event wish_unknown(const struct alert_fact *fact, const struct alert_known *known)
{
	if (!fact->fits || fact->silenced)
		return ALERT_NONE;
	if (fact->closed && known->waiting)
		return ALERT_RESOLVED;
	if (fact->closed || fact->covered)
		return ALERT_NONE;
	return ALERT_OPENED;
}

enum alert_event alert_wish(const struct alert_fact *fact, const struct alert_known *known,
	int64_t resend_ns, bool heartbeat)
{
	/* 1. it does not know the incident as open */
	if (known->told != TOLD_OPEN)
		return wish_unknown(fact, known);

	/* 2. what it knows as open is ended, silence or not */
	if (fact->closed || fact->covered || !fact->fits)
		return ALERT_RESOLVED;
	if (fact->silenced)
		return ALERT_NONE;

	/* 3. news */
	if (fact->severity > known->severity)
		return ALERT_ESCALATED;
	if (heartbeat && fact->cause != known->cause)
		return ALERT_CHANGED;
	if (heartbeat && fact->acked && !known->acked)
		return ALERT_ACKNOWLEDGED;
	if (known->muted && (heartbeat || !fact->acked))
		return ALERT_REMINDER;

	/* 4. nothing new */
	if (known->age_ns >= resend_ns && (heartbeat || !fact->acked))
		return ALERT_REMINDER;
	return ALERT_NONE;
}
