/* ship_remote_write - batches to what takes Prometheus' remote write: Prometheus itself
 * (--web.enable-remote-write-receiver), victoria-metrics, and others. */
#include <errno.h>

#include "agent/base/cleanup.h"
#include "agent/base/curl_io.h"
#include "agent/base/err.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"
#include "db/ship/remote_write.h"
#include "db/ship/ship_sink.h"
#include "db/ship/snappy.h"

#define WORDS_SHOWN 200

/* https://prometheus.io/docs/specs/remote_write_spec/ "Retries & Backoff": 4xx other than 429 must
 * not be tried again: the receiver has newer samples, or never takes these. */
static bool never_takes(long status)
{
	return status == 400 || status == 413 || status == 422;
}

static int remote_answer(
	struct ship_sink *sink, long status, struct str *answer, uint64_t n, struct err *e)
{
	if (status >= 200 && status < 300)
		return 0;
	if (answer->n > WORDS_SHOWN)
		answer->s[answer->n = WORDS_SHOWN] = '\0';
	if (answer->s) {
		text_hide(answer->s, sink->password);
		text_clean(answer->s, answer->n + 1, answer->s, answer->n);
	}
	if (never_takes(status)) {
		log_warn("ship", "%s refuses some of %llu samples for good: status %ld: %s",
			sink->options->name, (unsigned long long)n, status, str_or(answer->s, ""));
		sink->refused += n;
		return 0;
	}
	int error = -EIO;
	if (status == 401 || status == 403)
		error = -EACCES;
	return err_set(e, error, "%s answered with status %ld: %s", sink->options->url, status,
		str_or(answer->s, "nothing"));
}

static int remote_write_send(struct ship_sink *sink, const struct spool_batch *batch, struct err *e)
{
	static const char *const headers[] = {"Content-Type: application/x-protobuf",
		"Content-Encoding: snappy", "X-Prometheus-Remote-Write-Version: 0.1.0"};
	const struct ship_options *o = sink->options;
	rw_cleanup(str_done) struct str request = {0}, packed = {0}, answer = {0};
	long status = 0;
	struct err why = {0};
	const uint64_t n = remote_write_request(batch, o->agent, &request);
	if (n == 0)
		return 0;
	snappy_pack(request.s, request.n, &packed);
	const struct curl_post post = {
		.ask = {.url = o->url,
			.username = o->username,
			.password = sink->password,
			.tls = {o->tls_ca, o->tls_cert, o->tls_key, o->tls_skip_verify},
			.timeout_ns = o->timeout_ns,
			.stop_fd = sink->stop_fd},
		.body = packed.s,
		.n_body = packed.n,
		.headers = headers,
		.n_headers = rw_countof(headers)};
	const int r = curl_io_post(&post, &status, &answer, &why);
	if (r < 0)
		return err_set(e, r, "%s: %s", o->url, why.text);
	return remote_answer(sink, status, &answer, n, e);
}

static void remote_write_done(struct ship_sink *sink)
{
	sink->state = NULL;
}

const struct ship_sink_ops ship_remote_write = {
	.send = remote_write_send, .done = remote_write_done};
