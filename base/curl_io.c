/* curl_io - requests through libcurl's multi interface, so that a waiting one can be stopped, and
 * many can wait beside each other. */
#include "base/curl_io.h"

#include <errno.h>
#include <lazy/curl_calls.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/loop.h"
#include "base/str.h"

#define POLL_MS 1000
#define ANSWER_LIMIT (1024L * 1024)
#define SMTP_REFUSED 400 /* RFC 5321 section 4.2.1: 4yz for now, 5yz for good */

void curl_io_begin(void)
{
	/* not there: each exchange says so */
	if (curl_calls_load(NULL) == 0)
		curl_global_init(CURL_GLOBAL_DEFAULT);
}

/* One exchange. */
struct curl_run {
	CURL *easy;
	struct curl_slist *headers, *recipients;
	struct str *answer;
	size_t n_answer, keep, most; /* bytes of it: so far, to keep, too many */
	const char *text; /* of a mail, what is left to send */
	size_t n_text;
	char error[CURL_ERROR_SIZE];
};

static void curl_run_done(struct curl_run *run)
{
	curl_easy_cleanup(run->easy);
	curl_slist_free_all(run->headers);
	curl_slist_free_all(run->recipients);
}

/* More than .most: libcurl ends the exchange with CURLE_WRITE_ERROR. */
static size_t curl_take_answer(char *data, size_t size, size_t n, void *arg)
{
	struct curl_run *run = arg;
	const size_t bytes = size * n;
	size_t room = 0;
	run->n_answer += bytes;
	if (run->n_answer > run->most)
		return 0;
	if (run->answer && run->answer->n < run->keep)
		room = run->keep - run->answer->n;
	if (room > bytes)
		room = bytes;
	if (room)
		str_addn(run->answer, data, room);
	return bytes;
}

static size_t curl_give_text(char *data, size_t size, size_t n, void *arg)
{
	struct curl_run *run = arg;
	size_t bytes = size * n;
	if (bytes > run->n_text)
		bytes = run->n_text;
	memcpy(data, run->text, bytes);
	run->text += bytes;
	run->n_text -= bytes;
	return bytes;
}

/* ---- what every exchange has --------------------------------------------- */

static void curl_set_tls(CURL *easy, const struct curl_tls *tls)
{
	curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (tls->ca)
		curl_easy_setopt(easy, CURLOPT_CAINFO, tls->ca);
	if (tls->cert)
		curl_easy_setopt(easy, CURLOPT_SSLCERT, tls->cert);
	if (tls->key)
		curl_easy_setopt(easy, CURLOPT_SSLKEY, tls->key);
	if (tls->skip_verify) {
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
		curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
	}
}

static int curl_run_begin(
	struct curl_run *run, const struct curl_ask *ask, const char *protocols, struct err *e)
{
	if (curl_calls_load(e) < 0)
		return -ENOENT;
	run->easy = curl_easy_init();
	if (!run->easy)
		return err_set(e, -ENOMEM, "libcurl could not be started");
	CURL *easy = run->easy;
	if (run->most == 0) {
		run->keep = CURL_ANSWER_MAX;
		run->most = ANSWER_LIMIT;
	}
	curl_easy_setopt(easy, CURLOPT_URL, ask->url);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, protocols);
	curl_easy_setopt(easy, CURLOPT_PROXY, ""); /* not that of the environment */
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	/* a name server that does not answer must not hold up the end of the program */
	curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)(ask->timeout_ns / NS_PER_MS));
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, run->error);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, curl_take_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, run);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "rocewatch/" RW_VERSION);
	curl_set_tls(easy, &ask->tls);
	if (ask->token) {
		curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
		curl_easy_setopt(easy, CURLOPT_XOAUTH2_BEARER, ask->token);
	} else if (ask->username) {
		curl_easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BASIC);
		curl_easy_setopt(easy, CURLOPT_USERNAME, ask->username);
		curl_easy_setopt(easy, CURLOPT_PASSWORD, str_or(ask->password, ""));
	}
	return 0;
}

/* ---- the exchange -------------------------------------------------------- */

static const struct {
	CURLcode code;
	int error;
} curl_errors[] = {
	{CURLE_OPERATION_TIMEDOUT, -ETIMEDOUT},
	{CURLE_COULDNT_CONNECT, -ECONNREFUSED},
	{CURLE_COULDNT_RESOLVE_HOST, -EHOSTUNREACH},
	{CURLE_SSL_CONNECT_ERROR, -EACCES},
	{CURLE_PEER_FAILED_VERIFICATION, -EACCES},
	{CURLE_SSL_CERTPROBLEM, -EACCES},
	{CURLE_SSL_CACERT_BADFILE, -EACCES},
	{CURLE_USE_SSL_FAILED, -EACCES},
	{CURLE_LOGIN_DENIED, -EACCES},
};

static int curl_failed(const struct curl_run *run, CURLcode code, struct err *e)
{
	int error = -EIO;
	const char *why = curl_easy_strerror(code);
	for (size_t i = 0; i < rw_countof(curl_errors); i++)
		if (curl_errors[i].code == code)
			error = curl_errors[i].error;
	if (run->error[0])
		why = run->error;
	if (code == CURLE_WRITE_ERROR) {
		error = -EFBIG;
		why = "the answer is longer than what is read of it";
	}
	return err_set(e, error, "%s", why);
}

/* Runs it to its end. 0, or -ECANCELED when @stop_fd could be read. */
static int curl_drive(CURLM *multi, int stop_fd)
{
	int running = 1;
	for (;;) {
		if (curl_multi_perform(multi, &running) != CURLM_OK || running == 0)
			return 0;
		struct curl_waitfd stop = {.fd = stop_fd, .events = CURL_WAIT_POLLIN};
		unsigned n = 0;
		if (stop_fd >= 0)
			n = 1;
		curl_multi_poll(multi, &stop, n, POLL_MS, NULL);
		if (n && stop.revents)
			return -ECANCELED;
	}
}

static int curl_run(struct curl_run *run, int stop_fd, struct err *e)
{
	CURLM *multi = curl_multi_init();
	CURLcode code = CURLE_FAILED_INIT;
	if (!multi)
		return err_set(e, -ENOMEM, "libcurl could not be started");
	curl_multi_add_handle(multi, run->easy);
	const int rc = curl_drive(multi, stop_fd);
	int left;
	const CURLMsg *message = curl_multi_info_read(multi, &left);
	if (message && message->msg == CURLMSG_DONE)
		code = message->data.result;
	curl_multi_remove_handle(multi, run->easy);
	curl_multi_cleanup(multi);
	if (rc < 0)
		return err_set(e, rc, "stopped");
	if (code != CURLE_OK)
		return curl_failed(run, code, e);
	return 0;
}

void curl_io_escape(struct str *out, const char *text)
{
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;
		const bool plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
			(c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.' || c == '~';
		if (plain)
			str_addn(out, text, 1);
		else
			str_addf(out, "%%%02X", c);
	}
}

/* ---- POST ---------------------------------------------------------------- */

int curl_io_post(
	const struct curl_post *post, long *ret_status, struct str *ret_answer, struct err *e)
{
	rw_cleanup(curl_run_done) struct curl_run run = {
		.answer = ret_answer, .keep = post->answer_max, .most = post->answer_max};
	int rc = curl_run_begin(&run, &post->ask, "http,https", e);
	if (rc < 0)
		return rc;
	run.headers = curl_slist_append(NULL, "Expect:"); /* no question before the body */
	for (size_t i = 0; i < post->n_headers; i++)
		run.headers = curl_slist_append(run.headers, post->headers[i]);
	curl_easy_setopt(run.easy, CURLOPT_HTTPHEADER, run.headers);
	curl_easy_setopt(run.easy, CURLOPT_POST, 1L);
	curl_easy_setopt(run.easy, CURLOPT_POSTFIELDS, post->body);
	curl_easy_setopt(run.easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)post->n_body);
	rc = curl_run(&run, post->ask.stop_fd, e);
	if (rc == 0)
		curl_easy_getinfo(run.easy, CURLINFO_RESPONSE_CODE, ret_status);
	return rc;
}

/* ---- mail ---------------------------------------------------------------- */

int curl_io_mail(const struct curl_mail *mail, struct err *e)
{
	rw_cleanup(curl_run_done) struct curl_run run = {
		.text = mail->text, .n_text = strlen(mail->text)};
	int rc = curl_run_begin(&run, &mail->ask, "smtp,smtps", e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < mail->n_to; i++)
		run.recipients = curl_slist_append(run.recipients, mail->to[i]);
	if (mail->starttls)
		curl_easy_setopt(run.easy, CURLOPT_USE_SSL, (long)CURLUSESSL_ALL);
	curl_easy_setopt(run.easy, CURLOPT_MAIL_FROM, mail->from);
	curl_easy_setopt(run.easy, CURLOPT_MAIL_RCPT, run.recipients);
	curl_easy_setopt(run.easy, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(run.easy, CURLOPT_READFUNCTION, curl_give_text);
	curl_easy_setopt(run.easy, CURLOPT_READDATA, &run);
	rc = curl_run(&run, mail->ask.stop_fd, e);
	long reply = 0;
	curl_easy_getinfo(run.easy, CURLINFO_RESPONSE_CODE, &reply);
	if (rc == -EIO && reply >= SMTP_REFUSED)
		return err_set(e, rc, "the mail server refused it with reply %ld", reply);
	return rc;
}

/* ---- many GETs beside a loop ------------------------------------------------ */

struct curl_fetch {
	struct curl_fetcher *fetcher;
	struct curl_run run; /* the thread's, from the list until it is posted */
	struct str body;
	struct curl_got got;
	struct err why;
	curl_fetch_fn *done;
	void *arg;
	struct curl_fetch *next;
	atomic_bool given_up;
	bool posted; /* loop: done() was called, or is not wanted any more */
};

struct curl_fetcher {
	size_t refs, n; /* fetches that exist */
	struct mailbox *mailbox;
	CURLM *multi;
	pthread_t thread;
	pthread_mutex_t busy; /* of .added and .stop */
	struct curl_fetch *added;
	bool stop;
	struct curl_fetch *active; /* the thread's */
};

static struct curl_fetcher *the_fetcher;

static void fetch_release(struct curl_fetch *fetch)
{
	fetch->fetcher->n--;
	curl_run_done(&fetch->run);
	str_done(&fetch->body);
	free(fetch);
}

static void fetch_on_loop(void *arg, void *message)
{
	struct curl_fetch *fetch = message;
	if (atomic_load(&fetch->given_up)) {
		fetch_release(fetch);
		return;
	}
	fetch->posted = true;
	fetch->got.text = str_or(fetch->body.s, "");
	fetch->got.n = fetch->body.n;
	if (fetch->got.error) {
		fetch->got.text = fetch->why.text;
		fetch->got.n = strlen(fetch->why.text);
	}
	fetch->done(fetch->arg, &fetch->got);
}

/* The thread does not touch it any more. There is room: as many as the mailbox holds exist. */
static void fetch_post(struct curl_fetch *fetch, CURLcode code)
{
	const char *type = NULL;
	curl_multi_remove_handle(fetch->fetcher->multi, fetch->run.easy);
	curl_easy_getinfo(fetch->run.easy, CURLINFO_RESPONSE_CODE, &fetch->got.status);
	curl_easy_getinfo(fetch->run.easy, CURLINFO_CONTENT_TYPE, &type);
	snprintf(fetch->got.type, sizeof(fetch->got.type), "%s", str_or(type, ""));
	if (code != CURLE_OK)
		fetch->got.error = curl_failed(&fetch->run, code, &fetch->why);
	if (code == CURLE_WRITE_ERROR && fetch->run.n_answer > fetch->run.most)
		fetch->got.error = -EFBIG;
	mailbox_post(fetch->fetcher->mailbox, fetch);
}

static void fetcher_take_added(struct curl_fetcher *fetcher, bool *ret_stop)
{
	pthread_mutex_lock(&fetcher->busy);
	struct curl_fetch *added = fetcher->added;
	fetcher->added = NULL;
	*ret_stop = fetcher->stop;
	pthread_mutex_unlock(&fetcher->busy);
	while (added) {
		struct curl_fetch *fetch = added;
		added = fetch->next;
		fetch->next = fetcher->active;
		fetcher->active = fetch;
		curl_multi_add_handle(fetcher->multi, fetch->run.easy);
	}
}

/* Takes @easy, or, where that is NULL, what was given up, off the list. */
static struct curl_fetch *fetcher_take(struct curl_fetcher *fetcher, const CURL *easy)
{
	for (struct curl_fetch **at = &fetcher->active; *at; at = &(*at)->next) {
		struct curl_fetch *fetch = *at;
		if (easy ? fetch->run.easy != easy : !atomic_load(&fetch->given_up))
			continue;
		*at = fetch->next;
		return fetch;
	}
	return NULL;
}

static void fetcher_turn(struct curl_fetcher *fetcher)
{
	struct curl_fetch *fetch;
	const CURLMsg *message;
	int running, left;
	while ((fetch = fetcher_take(fetcher, NULL)))
		fetch_post(fetch, CURLE_ABORTED_BY_CALLBACK);
	curl_multi_perform(fetcher->multi, &running);
	while ((message = curl_multi_info_read(fetcher->multi, &left))) {
		const CURLcode code = message->data.result; /* gone with its handle */
		fetch = fetcher_take(fetcher, message->easy_handle);
		if (fetch)
			fetch_post(fetch, code);
	}
}

static void *fetcher_main(void *arg)
{
	struct curl_fetcher *fetcher = arg;
	bool stop = false;
	while (!stop || fetcher->active) {
		fetcher_take_added(fetcher, &stop);
		fetcher_turn(fetcher);
		if (!stop)
			curl_multi_poll(fetcher->multi, NULL, 0, POLL_MS, NULL);
	}
	return NULL;
}

static int fetcher_start(struct curl_fetcher *fetcher)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int rc = -pthread_create(&fetcher->thread, NULL, fetcher_main, fetcher);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return rc;
}

static void fetcher_free(struct curl_fetcher *fetcher)
{
	if (fetcher->mailbox)
		mailbox_free(fetcher->mailbox);
	if (fetcher->multi)
		curl_multi_cleanup(fetcher->multi);
	pthread_mutex_destroy(&fetcher->busy);
	free(fetcher);
}

struct curl_fetcher *curl_fetcher_get(struct loop *loop, struct err *e)
{
	if (the_fetcher) {
		the_fetcher->refs++;
		return the_fetcher;
	}
	if (curl_calls_load(e) < 0)
		return NULL;
	struct curl_fetcher *fetcher = rw_calloc(1, sizeof(*fetcher));
	fetcher->refs = 1;
	pthread_mutex_init(&fetcher->busy, NULL);
	fetcher->multi = curl_multi_init();
	fetcher->mailbox = mailbox_new(loop, CURL_FETCHES_MAX, fetch_on_loop, fetcher);
	if (!fetcher->multi || !fetcher->mailbox || fetcher_start(fetcher) < 0) {
		fetcher_free(fetcher);
		err_set(e, -EAGAIN, "the thread that fetches could not be started");
		return NULL;
	}
	the_fetcher = fetcher;
	return fetcher;
}

void curl_fetcher_put(struct curl_fetcher *fetcher)
{
	if (!fetcher || --fetcher->refs > 0)
		return;
	pthread_mutex_lock(&fetcher->busy);
	fetcher->stop = true;
	pthread_mutex_unlock(&fetcher->busy);
	curl_multi_wakeup(fetcher->multi);
	pthread_join(fetcher->thread, NULL);
	the_fetcher = NULL;
	fetcher_free(fetcher);
}

static void fetch_set_pem(CURL *easy, CURLoption option, const char *pem)
{
	struct curl_blob blob = {.data = (void *)pem, .flags = CURL_BLOB_COPY};
	if (!pem)
		return;
	blob.len = strlen(pem);
	curl_easy_setopt(easy, option, &blob);
}

static int fetch_begin(struct curl_fetch *fetch, const struct curl_get *get, struct err *e)
{
	struct curl_ask ask = get->ask;
	ask.tls = (struct curl_tls){.skip_verify = ask.tls.skip_verify};
	fetch->run.answer = &fetch->body;
	fetch->run.keep = fetch->run.most = get->answer_max;
	const int rc = curl_run_begin(&fetch->run, &ask, "http,https", e);
	if (rc < 0)
		return rc;
	CURL *easy = fetch->run.easy;
	for (size_t i = 0; i < get->n_headers; i++)
		fetch->run.headers = curl_slist_append(fetch->run.headers, get->headers[i]);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fetch->run.headers);
	curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "gzip");
	fetch_set_pem(easy, CURLOPT_CAINFO_BLOB, get->ca_pem);
	fetch_set_pem(easy, CURLOPT_SSLCERT_BLOB, get->cert_pem);
	fetch_set_pem(easy, CURLOPT_SSLKEY_BLOB, get->key_pem);
	return 0;
}

int curl_fetch_new(struct curl_fetcher *fetcher, const struct curl_get *get, curl_fetch_fn *done,
	void *arg, struct curl_fetch **ret, struct err *e)
{
	if (fetcher->n >= CURL_FETCHES_MAX)
		return err_set(e, -EMFILE, "more than %u requests at once", CURL_FETCHES_MAX);
	struct curl_fetch *fetch = rw_calloc(1, sizeof(*fetch));
	*fetch = (struct curl_fetch){.fetcher = fetcher, .done = done, .arg = arg};
	fetcher->n++;
	const int rc = fetch_begin(fetch, get, e);
	if (rc < 0) {
		fetch_release(fetch);
		return rc;
	}
	pthread_mutex_lock(&fetcher->busy);
	fetch->next = fetcher->added;
	fetcher->added = fetch;
	pthread_mutex_unlock(&fetcher->busy);
	curl_multi_wakeup(fetcher->multi);
	*ret = fetch;
	return 0;
}

void curl_fetch_free(struct curl_fetch *fetch)
{
	if (!fetch)
		return;
	if (fetch->posted) {
		fetch_release(fetch);
		return;
	}
	/* the thread gives it back by the mailbox, and it is released there */
	CURLM *multi = fetch->fetcher->multi;
	atomic_store(&fetch->given_up, true);
	curl_multi_wakeup(multi);
}
