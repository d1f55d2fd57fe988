/* ship_remote_write - batches to what takes Prometheus' remote write: Prometheus itself
 * (--web.enable-remote-write-receiver), victoria-metrics, and others. */

#include "base/curl_io.h"
#include "base/log.h"
#include "db/model/metric.h"
#include "db/ship/ship_sink.h"

/* remote_write - WriteRequest { repeated TimeSeries timeseries = 1 }, TimeSeries { repeated Label
 * labels = 1; repeated Sample samples = 2 }, Label { string name = 1; string value = 2 }, Sample {
 * double value = 1; int64 timestamp = 2 }. Labels are in the order of their names, samples in the
 * order of time, as receivers require. */

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2 };

static void put_varint(struct str *out, uint64_t value)
{
	char bytes[10];
	size_t n = 0;
	for (; value >= 0x80; value >>= 7)
		bytes[n++] = (char)(value | 0x80);
	bytes[n++] = (char)value;
	str_addn(out, bytes, n);
}

static void put_bytes(struct str *out, unsigned field, const char *data, size_t n)
{
	put_varint(out, field << 3 | WIRE_BYTES);
	put_varint(out, n);
	str_addn(out, str_or(data, ""), n);
}

static void put_label(struct str *out, const char *name, const char *value)
{
	rw_cleanup(str_done) struct str label = {0};
	if (!*value)
		return; /* a label without a value is none */
	put_bytes(&label, 1, name, strlen(name));
	put_bytes(&label, 2, value, strlen(value));
	put_bytes(out, 1, label.s, label.n);
}

static void put_labels(
	struct str *out, const char *agent, const struct spool_name *name, unsigned metric)
{
	char text[128], priority[16] = "";
	snprintf(text, sizeof(text), "rocewatch_%s", metric_info(metric)->name);
	for (char *p = text; *p; p++)
		if (*p == '.' || *p == '-')
			*p = '_';
	if (name->priority != PRIO_NONE)
		snprintf(priority, sizeof(priority), "%d", name->priority);
	put_label(out, "__name__", text);
	put_label(out, "agent", agent);
	put_label(out, "device", name->device);
	put_label(out, "port", name->port);
	put_label(out, "priority", priority);
}

static void put_sample(struct str *out, const struct sample *sample)
{
	char message[32];
	struct str to = {.s = message, .cap = sizeof(message)};
	const double value = sample_number(sample->metric, sample->value);
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	put_varint(&to, 1 << 3 | WIRE_64);
	for (size_t i = 0; i < sizeof(bits); i++)
		message[to.n++] = (char)(bits >> (8 * i));
	put_varint(&to, 2 << 3 | WIRE_VARINT);
	put_varint(&to, (uint64_t)(sample->t_ns / NS_PER_MS));
	put_bytes(out, 2, to.s, to.n);
}

struct write_value {
	const struct spool_name *name;
	const struct sample *sample;
	size_t number;
};

/* By series, then time; of two of one millisecond, as they came. */
static int write_order(const void *left, const void *right)
{
	const struct write_value *x = left, *y = right;
	int r = strcmp(x->name->device, y->name->device);
	if (r == 0)
		r = strcmp(x->name->port, y->name->port);
	if (r == 0)
		r = x->name->priority - y->name->priority;
	if (r == 0)
		r = x->sample->metric - y->sample->metric;
	if (r == 0)
		r = (x->sample->t_ns > y->sample->t_ns) - (x->sample->t_ns < y->sample->t_ns);
	if (r == 0)
		r = (x->number > y->number) - (x->number < y->number);
	return r;
}

static bool write_wants(const struct sample *sample)
{
	if (metric_info(sample->metric)->type == TYPE_TEXT || (sample->flags & SF_SUSPECT))
		return false;
	return isfinite(sample_number(sample->metric, sample->value)) && sample->t_ns >= 0;
}

static bool same_write_series(const struct write_value *left, const struct write_value *right)
{
	return left->sample->metric == right->sample->metric &&
		left->name->priority == right->name->priority &&
		strcmp(left->name->device, right->name->device) == 0 &&
		strcmp(left->name->port, right->name->port) == 0;
}

static size_t values_of_batch(const struct spool_batch *batch, struct write_value *v)
{
	size_t n = 0;
	for (size_t p = 0; p < batch->n; p++)
		for (size_t c = 0; c < batch->parts[p].n; c++) {
			const struct spool_samples *samples = batch->parts[p].chunks[c].samples;
			for (size_t i = 0; samples && i < samples->n; i++) {
				const struct sample *sample = &samples->v[i];
				v[n] = (struct write_value){
					&samples->names[sample->entity], sample, n};
				n += write_wants(sample);
			}
		}
	if (n > 1)
		qsort(v, n, sizeof(*v), write_order);
	return n;
}

uint64_t remote_write_request(const struct spool_batch *batch, const char *agent, struct str *out)
{
	rw_cleanup(freep) struct write_value *v = rw_calloc(batch->n_samples + 1, sizeof(*v));
	rw_cleanup(str_done) struct str series = {0};
	const size_t n = values_of_batch(batch, v);
	uint64_t sent = 0;
	for (size_t i = 0; i < n; i++) {
		const bool first = i == 0 || !same_write_series(&v[i - 1], &v[i]);
		if (first && i > 0)
			put_bytes(out, 1, series.s, series.n);
		if (first) {
			series.n = 0;
			put_labels(&series, agent, v[i].name, v[i].sample->metric);
		}
		const bool again = !first &&
			v[i].sample->t_ns / NS_PER_MS == v[i - 1].sample->t_ns / NS_PER_MS;
		if (again) /* one value a millisecond: the first */
			continue;
		put_sample(&series, v[i].sample);
		sent++;
	}
	if (n > 0)
		put_bytes(out, 1, series.s, series.n);
	return sent;
}

/* snappy - literals, and copies of 4 to 64 bytes from at most 64 KiB before (tag 2: two bytes of
 * offset). A table by hash of four bytes says where they stood last. */

enum { TAG_LITERAL = 0, TAG_COPY2 = 2 };
enum { TABLE_BITS = 14, LEAST = 4, MOST = 64, REACH = 65535, SHORT_LITERAL = 60 };

static void put_length(struct str *out, size_t n)
{
	for (; n >= 0x80; n >>= 7)
		str_addn(out, &(char){(char)(n | 0x80)}, 1);
	str_addn(out, &(char){(char)n}, 1);
}

static void put_literal(struct str *out, const uint8_t *data, size_t n)
{
	if (n == 0)
		return;
	const size_t length = n - 1;
	char tag[5];
	size_t extra = 0;
	if (length < SHORT_LITERAL) {
		tag[0] = (char)(length << 2 | TAG_LITERAL);
	} else {
		for (size_t rest = length; rest; rest >>= 8)
			tag[++extra] = (char)rest;
		tag[0] = (char)((SHORT_LITERAL - 1 + extra) << 2 | TAG_LITERAL);
	}
	str_addn(out, tag, 1 + extra);
	str_addn(out, (const char *)data, n);
}

static void put_copy(struct str *out, size_t offset, size_t n)
{
	const char copy[] = {
		(char)((n - 1) << 2 | TAG_COPY2), (char)(offset & 0xff), (char)(offset >> 8)};
	str_addn(out, copy, sizeof(copy));
}

static uint32_t four_bytes(const uint8_t *p)
{
	uint32_t word;
	memcpy(&word, p, sizeof(word));
	return word;
}

static size_t same_bytes(const uint8_t *left, const uint8_t *right, const uint8_t *end)
{
	size_t n = 0;
	while (n < MOST && right + n < end && left[n] == right[n])
		n++;
	return n;
}

void snappy_pack(const void *data, size_t n, struct str *out)
{
	uint32_t table[1 << TABLE_BITS] = {0}; /* position + 1 */
	const uint8_t *bytes = data, *end = bytes + n;
	size_t at = 0, literal = 0;
	put_length(out, n);
	while (at + LEAST <= n) {
		const uint32_t word = four_bytes(bytes + at);
		const uint32_t slot = word * 0x1e35a7bdu >> (32 - TABLE_BITS);
		const size_t before = table[slot];
		table[slot] = (uint32_t)at + 1;
		const bool match = before > 0 && at - (before - 1) <= REACH &&
			four_bytes(bytes + before - 1) == word;
		if (!match) {
			at++;
			continue;
		}
		const size_t length = same_bytes(bytes + before - 1, bytes + at, end);
		put_literal(out, bytes + literal, at - literal);
		put_copy(out, at - (before - 1), length);
		at += length;
		literal = at;
	}
	put_literal(out, bytes + literal, n - literal);
}

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
