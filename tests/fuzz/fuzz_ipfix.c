/* Any bytes as IPFIX messages, as a burst that was kept, and as the objects of a configuration: no
 * crash, nothing read beyond them, bounded tables; what the ring took comes back. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "collectors/push/burst.h"
#include "collectors/push/ipfix.h"
#include "config/push_objects.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz {
	struct burst *burst;
	uint64_t sum; /* of what went into the ring */
	uint64_t records;
};

static void on_records(void *arg, struct ipfix_session *session, struct ipfix_template *template,
	const uint8_t *data, size_t n, uint32_t export_s)
{
	struct fuzz *fuzz = arg;
	struct burst_field *fields = rw_calloc(template->n_fields + 1, sizeof(*fields));
	for (size_t i = 0; i < template->n_fields; i++)
		fields[i] = (struct burst_field){template->fields[i].type, template->fields[i].stat,
			template->fields[i].object};
	const uint32_t group = burst_group(fuzz->burst, fields, template->n_fields);
	free(fields);
	for (size_t r = 0; r < n; r++) {
		const uint8_t *record = data + r * template->record_bytes;
		size_t stride;
		uint64_t *row = burst_row(
			fuzz->burst, group, ipfix_time(template, record, export_s), &stride);
		fuzz->records++;
		for (size_t i = 0; i < template->n_fields; i++) {
			const struct ipfix_field *f = &template->fields[i];
			const uint64_t value = ipfix_number(record + f->offset, f->bytes);
			if (!row)
				continue;
			row[i * stride] = value;
			fuzz->sum += value;
		}
	}
}

static void on_column(void *arg, const struct burst_field *field, const int64_t *t_ns,
	const uint64_t *values, size_t n)
{
	uint64_t *sum = arg;
	for (size_t i = 0; i < n; i++)
		*sum += values[i];
	if (n == 0 || n > 1024)
		abort();
}

/* Input: messages, each after two bytes with its length; the highest bit of it: over TCP. */
static void fuzz_messages(const uint8_t *data, size_t size)
{
	struct fuzz fuzz = {.burst = burst_new((size_t)8 << 20)};
	const struct ipfix_options options = {.arg = &fuzz, .records = on_records};
	struct ipfix *ipfix = ipfix_new(&options);
	int64_t now = NS_PER_S;
	while (size > 2) {
		const bool reliable = data[0] & 0x80;
		size_t n = (size_t)(data[0] & 0x7f) << 8 | data[1];
		data += 2;
		size -= 2;
		if (n > size)
			n = size;
		uint8_t *exact = malloc(n ? n : 1);
		memcpy(exact, data, n);
		const uint8_t source[16] = {n & 1};
		ipfix_message(ipfix, source, exact, n, reliable, (mono_t){now});
		free(exact);
		data += n;
		size -= n;
		now += 600 * NS_PER_S;
		ipfix_expire(ipfix, (mono_t){now});
	}
	const struct ipfix_counts *counts = ipfix_counts(ipfix);
	if (counts->records != fuzz.records ||
		ipfix_templates(ipfix) > IPFIX_SESSIONS * IPFIX_TEMPLATES)
		abort();
	struct burst_span span;
	uint8_t *kept;
	uint64_t sum = 0;
	burst_span(fuzz.burst, &span);
	const size_t n = burst_write(fuzz.burst, INT64_MIN, INT64_MAX, &kept);
	if (n > 0 && burst_read(kept, n, on_column, &sum) < 0)
		abort();
	if (span.dropped == 0 && sum != fuzz.sum)
		abort();
	free(kept);
	ipfix_free(ipfix);
	burst_free(fuzz.burst);
}

static void fuzz_objects(const uint8_t *data, size_t size)
{
	struct push_objects *objects = push_objects_new();
	struct err e = {0};
	char *text = calloc(1, size + 1);
	memcpy(text, data, size);
	push_objects_add(objects, text, &e);
	const char *name = push_objects_name(objects, 1, 1);
	if (name && !*name)
		abort();
	free(text);
	push_objects_free(objects);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t sum = 0;
	if (size < 1)
		return 0;
	switch (data[0] % 3) {
	case 0: fuzz_messages(data + 1, size - 1); break;
	case 1: burst_read(data + 1, size - 1, on_column, &sum); break;
	default: fuzz_objects(data + 1, size - 1); break;
	}
	return 0;
}
