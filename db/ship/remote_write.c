/*
 * remote_write - WriteRequest { repeated TimeSeries timeseries = 1 }, TimeSeries { repeated Label
 * labels = 1; repeated Sample samples = 2 }, Label { string name = 1; string value = 2 }, Sample {
 * double value = 1; int64 timestamp = 2 }. Labels are in the order of their names, samples in the
 * order of time, as receivers require.
 */
#include "db/ship/remote_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "db/model/metric.h"

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
