/* ipfix: messages of another encoder (tests/ipfix/messages.txt), sequences, bounds, expiry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectors/push/ipfix.h"

static const uint8_t from_a[16] = {[10] = 0xff, 0xff, 192, 0, 2, 1};
static const uint8_t from_b[16] = {[10] = 0xff, 0xff, 192, 0, 2, 2};

/* ---- golden messages --------------------------------------------------------- */

struct said {
	char text[16384];
	size_t n;
};

static void said_records(void *arg, struct ipfix_session *session, struct ipfix_template *template,
	const uint8_t *data, size_t n, uint32_t export_s)
{
	struct said *said = arg;
	for (size_t r = 0; r < n; r++) {
		const uint8_t *record = data + r * template->record_bytes;
		said->n += (size_t)snprintf(said->text + said->n, sizeof(said->text) - said->n,
			"record %u %lld\n", template->id,
			(long long)ipfix_time(template, record, export_s));
		for (size_t i = 0; i < template->n_fields; i++) {
			const struct ipfix_field *f = &template->fields[i];
			const char *kind = "plain";
			if (f->sai)
				kind = "SAI";
			said->n += (size_t)snprintf(said->text + said->n,
				sizeof(said->text) - said->n, "value %s %u %u %u %llu\n", kind,
				f->type, f->stat, f->object,
				(unsigned long long)ipfix_number(record + f->offset, f->bytes));
		}
	}
}

static size_t unhex(const char *hex, uint8_t *ret)
{
	size_t n = 0;
	unsigned byte;
	while (sscanf(hex + 2 * n, "%2x", &byte) == 1)
		ret[n++] = (uint8_t)byte;
	return n;
}

static void another_encoder(void **state)
{
	static char line[4096], expected[16384];
	static uint8_t data[2048];
	struct said said = {0};
	const struct ipfix_options options = {.arg = &said, .records = said_records};
	struct ipfix *ipfix = ipfix_new(&options);
	FILE *file = fopen("tests/ipfix/messages.txt", "re");
	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (strncmp(line, "message ", 8) == 0)
			assert_int_equal(ipfix_message(ipfix, from_a, data, unhex(line + 8, data),
						 false, (mono_t){1}),
				0);
		else if (line[0] != '#')
			strcat(expected, line);
	}
	fclose(file);
	assert_string_equal(said.text, expected);
	const struct ipfix_counts *c = ipfix_counts(ipfix);
	assert_int_equal(c->messages, 9);
	assert_int_equal(c->records, 8);
	assert_int_equal(c->values, 2 * 6 + 5 + 1 + 1 + 3 + 1 + 1);
	assert_int_equal(c->changed, 1);
	assert_int_equal(c->ignored_withdrawals, 1);
	assert_int_equal(c->withdrawn, 0);
	assert_int_equal(c->early, 1);
	assert_int_equal(c->options, 1);
	assert_int_equal(c->lost, 2);
	assert_int_equal(c->bad, 0);
	assert_int_equal(ipfix_templates(ipfix), 5);
	ipfix_free(ipfix);
}

static void times(void **state)
{
	static const struct {
		uint16_t element;
		uint32_t export_s;
		uint64_t value;
		int64_t ns;
	} cases[] = {
		{325, 1790000001, 1790000000500000000, 1790000000500000000}, /* since 1970 */
		{325, 1790000001, (1790000000 + 2208988800) << 32 | 0x80000000,
			1790000000500000000}, /* NTP */
		{325, 1790000001, UINT64_C(1790000000) << 32 | 0x80000000, 1790000000500000000},
		{325, 0, 1790000000500000000, 1790000000500000000}, /* no export time */
		{325, 1790000001, 86400000000000, 86400000000000}, /* of a day after the start */
		{324, 1790000001, 1790000000500000, 1790000000500000000},
		{324, 1790000001, (1790000000 + 2208988800) << 32 | 0x80000000,
			1790000000500000000},
		{323, 1790000001, 1790000000500, 1790000000500000000},
		{0, 1790000001, 5, 1790000001000000000},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct ipfix_template template = {.time_element = cases[i].element};
		uint8_t record[8];
		for (int k = 0; k < 8; k++)
			record[k] = (uint8_t)(cases[i].value >> (56 - 8 * k));
		assert_int_equal(ipfix_time(&template, record, cases[i].export_s), cases[i].ns);
	}
}

/* ---- what the wire may not do ------------------------------------------------- */

struct wire {
	uint8_t v[65536];
	size_t n;
};

static void put16(struct wire *w, unsigned value)
{
	w->v[w->n++] = (uint8_t)(value >> 8);
	w->v[w->n++] = (uint8_t)value;
}

static void put32(struct wire *w, uint32_t value)
{
	put16(w, value >> 16);
	put16(w, value & 0xffff);
}

static void wire_begin(struct wire *w, uint32_t number, uint32_t domain)
{
	w->n = 0;
	put16(w, 10);
	put16(w, 0);
	put32(w, 1790000000);
	put32(w, number);
	put32(w, domain);
}

static int wire_end(
	struct wire *w, struct ipfix *ipfix, const uint8_t *from, bool reliable, mono_t now)
{
	w->v[2] = (uint8_t)(w->n >> 8);
	w->v[3] = (uint8_t)w->n;
	return ipfix_message(ipfix, from, w->v, w->n, reliable, now);
}

static void wire_template(struct wire *w, unsigned id, unsigned fields)
{
	put16(w, 2);
	put16(w, 4 + 4 + 8 * fields);
	put16(w, id);
	put16(w, fields);
	for (unsigned i = 0; i < fields; i++) {
		put16(w, 0x8000 | (i + 1));
		put16(w, 8);
		put32(w, 0x00010000);
	}
}

static void wire_data(struct wire *w, unsigned id, unsigned numbers)
{
	put16(w, id);
	put16(w, 4 + 8 * numbers);
	for (unsigned i = 0; i < numbers; i++) {
		put32(w, 0);
		put32(w, i);
	}
}

static struct ipfix *quiet(struct said *said)
{
	const struct ipfix_options options = {.arg = said, .records = said_records};
	*said = (struct said){0};
	return ipfix_new(&options);
}

static void damaged(void **state)
{
	static struct said said;
	static struct wire w;
	struct ipfix *ipfix = quiet(&said);
	wire_begin(&w, 0, 0);
	wire_template(&w, 256, 2);
	assert_int_equal(wire_end(&w, ipfix, from_a, false, (mono_t){1}), 0);
	const size_t whole = w.n;
	for (size_t n = 0; n < whole; n++)
		assert_int_equal(
			ipfix_message(ipfix, from_a, w.v, n, false, (mono_t){1}), -EBADMSG);
	w.v[1] = 9;
	assert_int_equal(ipfix_message(ipfix, from_a, w.v, w.n, false, (mono_t){1}), -ENOTSUP);
	wire_begin(&w, 0, 0);
	wire_template(&w, 255, 2); /* an id of a set */
	assert_int_equal(wire_end(&w, ipfix, from_a, false, (mono_t){1}), -EBADMSG);
	wire_begin(&w, 0, 0);
	put16(&w, 256);
	put16(&w, 3);
	assert_int_equal(wire_end(&w, ipfix, from_a, false, (mono_t){1}), -EBADMSG);
	wire_begin(&w, 0, 0);
	wire_data(&w, 256, 3); /* a record and half of one: padding */
	assert_int_equal(wire_end(&w, ipfix, from_a, false, (mono_t){1}), 0);
	assert_int_equal(ipfix_counts(ipfix)->records, 1);
	ipfix_free(ipfix);
}

/* Fields without any bytes are no time, although their length is that of no time, too. */
static void empty_fields(void **state)
{
	static struct said said;
	static struct wire w;
	struct ipfix *ipfix = quiet(&said);
	wire_begin(&w, 0, 0);
	put16(&w, 2);
	put16(&w, 4 + 4 + 8);
	put16(&w, 256);
	put16(&w, 2);
	put32(&w, 0x01000000); /* element 256 with 0 bytes */
	put32(&w, 0x00010001); /* element 1 with 1 byte */
	wire_data(&w, 256, 1);
	assert_int_equal(wire_end(&w, ipfix, from_a, false, (mono_t){1}), 0);
	assert_int_equal(ipfix_counts(ipfix)->records, 8);
	assert_non_null(strstr(said.text, "record 256 1790000000000000000\nvalue plain 0 0 1 0\n"));
	ipfix_free(ipfix);
}

static void withdrawn(void **state)
{
	static struct said said;
	static struct wire w;
	struct ipfix *ipfix = quiet(&said);
	wire_begin(&w, 0, 0);
	wire_template(&w, 256, 1);
	wire_template(&w, 257, 1);
	wire_template(&w, 258, 1);
	wire_end(&w, ipfix, from_a, true, (mono_t){1});
	wire_begin(&w, 0, 0);
	wire_template(&w, 257, 0);
	wire_end(&w, ipfix, from_a, true, (mono_t){1});
	assert_int_equal(ipfix_templates(ipfix), 2);
	wire_begin(&w, 0, 0);
	wire_template(&w, 2, 0); /* all of them */
	wire_end(&w, ipfix, from_a, true, (mono_t){1});
	assert_int_equal(ipfix_templates(ipfix), 0);
	assert_int_equal(ipfix_counts(ipfix)->withdrawn, 3);
	wire_begin(&w, 0, 0);
	wire_data(&w, 256, 1);
	wire_end(&w, ipfix, from_a, true, (mono_t){1});
	assert_int_equal(ipfix_counts(ipfix)->early, 1);
	ipfix_free(ipfix);
}

/* A flood of templates and domains is refused, and costs nothing. */
static void bounds(void **state)
{
	static struct said said;
	static struct wire w;
	struct ipfix *ipfix = quiet(&said);
	for (unsigned id = 256; id < 256 + 2 * IPFIX_TEMPLATES; id++) {
		wire_begin(&w, 0, 0);
		wire_template(&w, id, 4);
		wire_end(&w, ipfix, from_a, false, (mono_t){1});
	}
	assert_int_equal(ipfix_templates(ipfix), IPFIX_TEMPLATES);
	assert_int_equal(ipfix_counts(ipfix)->refused, IPFIX_TEMPLATES);
	for (unsigned domain = 1; domain < 2 * IPFIX_SESSIONS; domain++) {
		wire_begin(&w, 0, domain);
		wire_template(&w, 256, 8000);
		wire_end(&w, ipfix, from_b, false, (mono_t){1});
	}
	/* a half of what the first source left */
	const size_t half = IPFIX_TEMPLATES + (IPFIX_FIELDS_ALL - IPFIX_TEMPLATES * 4) / 8000 / 2;
	assert_int_equal(ipfix_templates(ipfix), half);
	ipfix_free(ipfix);
}

static void said_refused(void *arg, const uint8_t source[16])
{
	unsigned *times = arg;
	times[source[15]]++;
}

static void one_template(
	struct ipfix *ipfix, uint8_t source, uint32_t domain, bool data, mono_t now)
{
	static struct wire w;
	const uint8_t address[16] = {[10] = 0xff, 0xff, 10, 0, 0, source};
	wire_begin(&w, 0, domain);
	wire_template(&w, 256, 1);
	if (data)
		wire_data(&w, 256, 1);
	wire_end(&w, ipfix, address, false, now);
}

static void no_records(void *arg, struct ipfix_session *session, struct ipfix_template *template,
	const uint8_t *data, size_t n, uint32_t export_s)
{
}

/* One source that invents observation domains leaves room for all others, is told by its address,
 * and what it invented is forgotten; a source with records is not. */
static void one_source_invents(void **state)
{
	unsigned refused[256] = {0};
	const int64_t minute = 60 * NS_PER_S;
	const struct ipfix_options options = {
		.arg = refused, .records = no_records, .refused = said_refused};
	struct ipfix *ipfix = ipfix_new(&options);
	for (unsigned domain = 0; domain < 400; domain++)
		one_template(ipfix, 66, domain, false, (mono_t){minute});
	assert_int_equal(ipfix_templates(ipfix), IPFIX_SESSIONS / 2);
	assert_int_equal(refused[66], 400 - IPFIX_SESSIONS / 2);
	for (unsigned source = 100; source < 200; source++)
		one_template(ipfix, (uint8_t)source, 0, true, (mono_t){2 * minute});
	for (unsigned source = 0; source < 256; source++)
		assert_true(refused[source] == 0 || source == 66);
	assert_int_equal(ipfix_templates(ipfix), IPFIX_SESSIONS / 2 + 100);
	ipfix_expire(ipfix, (mono_t){35 * minute});
	assert_int_equal(ipfix_templates(ipfix), 100);
	one_template(ipfix, 66, 1000, true, (mono_t){35 * minute});
	assert_int_equal(ipfix_templates(ipfix), 101);
	ipfix_free(ipfix);
}

static void forgotten(void **state)
{
	static struct said said;
	static struct wire w;
	struct ipfix *ipfix = quiet(&said);
	const int64_t minute = 60 * NS_PER_S;
	for (int i = 0; i < 3; i++) {
		wire_begin(&w, 0, 0);
		wire_template(&w, 256, 1);
		if (i == 0)
			wire_template(&w, 257, 1); /* once only */
		wire_data(&w, 256, 1); /* without a record the session goes sooner */
		wire_end(&w, ipfix, from_a, false, (mono_t){(1 + i) * minute});
	}
	ipfix_expire(ipfix, (mono_t){33 * minute});
	assert_int_equal(ipfix_templates(ipfix), 2);
	ipfix_expire(ipfix, (mono_t){34 * minute});
	assert_int_equal(ipfix_templates(ipfix), 1); /* not sent for half an hour */
	ipfix_expire(ipfix, (mono_t){(3 * 24 * 60 + 2) * minute});
	assert_int_equal(ipfix_templates(ipfix), 0);
	assert_int_equal(ipfix_counts(ipfix)->expired, 2);
	ipfix_free(ipfix);
}

/* ---- sequences ----------------------------------------------------------------- */

struct step {
	uint32_t number;
	uint64_t records;
};

static struct ipfix_gap walk(const struct step *steps, size_t n, uint64_t *ret_reordered)
{
	struct ipfix_sequence sequence = {0};
	struct ipfix_gap gap, sum = {0};
	*ret_reordered = 0;
	for (size_t i = 0; i < n; i++) {
		ipfix_sequence(&sequence, steps[i].number, steps[i].records, false, &gap);
		sum.lost += gap.lost;
		*ret_reordered += gap.reordered;
		sum.uncounted |= gap.uncounted;
	}
	return sum;
}

static void sequences(void **state)
{
	static const struct step records[] = {{10, 4}, {14, 4}, {18, 0}, {18, 4}, {30, 4}, {34, 1}};
	static const struct step wraps[] = {{UINT32_MAX - 3, 8}, {4, 8}, {12, 8}, {28, 8}};
	static const struct step late[] = {{0, 4}, {4, 4}, {12, 4}, {8, 4}, {16, 4}, {20, 4}};
	static const struct step messages[] = {
		{0, 4}, {1, 4}, {2, 4}, {3, 4}, {4, 4}, {7, 4}, {8, 4}};
	static const struct step nothing[] = {{0, 4}, {0, 4}, {0, 4}, {0, 4}, {0, 4}};
	static const struct step anew[] = {{900000, 4}, {900004, 4}, {0, 4}, {4, 4}, {8, 4}};
	uint64_t reordered;
	assert_int_equal(walk(records, 6, &reordered).lost, 8);
	assert_int_equal(walk(wraps, 4, &reordered).lost, 8);
	/* the gap is told when it opens; who comes late is not taken off */
	assert_int_equal(walk(late, 6, &reordered).lost, 4);
	assert_int_equal(reordered, 1);
	assert_int_equal(walk(messages, 7, &reordered).lost, 2);
	struct ipfix_gap sum = walk(nothing, 5, &reordered);
	assert_true(sum.uncounted);
	assert_int_equal(sum.lost, 0);
	assert_int_equal(walk(anew, 5, &reordered).lost, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_encoder),
		cmocka_unit_test(times),
		cmocka_unit_test(damaged),
		cmocka_unit_test(empty_fields),
		cmocka_unit_test(withdrawn),
		cmocka_unit_test(bounds),
		cmocka_unit_test(one_source_invents),
		cmocka_unit_test(forgotten),
		cmocka_unit_test(sequences),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
