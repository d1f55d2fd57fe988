/* pcap_words - numbers with separators, and words that are wrapped. */
#include "agent/capture/pcap_words.h"

#include "agent/document/json_value.h"

/* ---- numbers ---------------------------------------------------------------------- */

void words_grouped(struct str *out, uint64_t value)
{
	str_add(out, number_count(value).s);
}

uint64_t words_number(const json_t *object, const char *key)
{
	const json_int_t value = json_integer_value(json_object_get(object, key));
	if (value < 0)
		return 0;
	return (uint64_t)value;
}

static void words_number_of_percent(struct str *out, double ratio)
{
	if (ratio < 1e-5)
		str_add(out, "0");
	else
		str_addf(out, "%.3g", ratio * 100);
}

void words_percent(struct str *out, double ratio)
{
	words_number_of_percent(out, ratio);
	str_add(out, " %");
}

void words_share(struct str *out, double ratio, double low, double high)
{
	words_percent(out, ratio);
	str_add(out, " (95 %: ");
	words_number_of_percent(out, low);
	str_add(out, "..");
	words_percent(out, high);
	str_add(out, ")");
}

enum { WORDS_DATE = 10, WORDS_CLOCK = 15 }; /* 2026-11-22, 03:14:05.123456 */

void words_clock(struct str *out, const char *text)
{
	if (strlen(text) <= WORDS_DATE + 1) {
		str_add(out, "unknown");
		return;
	}
	text += WORDS_DATE + 1;
	size_t n = strcspn(text, "Z+");
	if (n > WORDS_CLOCK)
		n = WORDS_CLOCK;
	str_addn(out, text, n);
}

void words_time(struct str *out, const char *text)
{
	if (strlen(text) > WORDS_DATE)
		str_addf(out, "%.*s ", WORDS_DATE, text);
	words_clock(out, text);
}

/* counts_next - the largest counter of @object after (@last, @last_at); false: there is none. */
static bool counts_next(const json_t *object, uint64_t *last, size_t *last_at, const char **ret)
{
	const char *key;
	json_t *value;
	uint64_t best = 0;
	size_t at = 0, best_at = 0;
	*ret = NULL;
	json_object_foreach ((json_t *)object, key, value) {
		const uint64_t n = (uint64_t)json_integer_value(value);
		at++;
		const bool after = n < *last || (n == *last && at > *last_at);
		if (!after || n <= best)
			continue;
		best = n;
		best_at = at;
		*ret = key;
	}
	*last = best;
	*last_at = best_at;
	return *ret != NULL;
}

size_t words_counts(struct str *out, const json_t *object, size_t most)
{
	uint64_t n = UINT64_MAX;
	size_t at = 0, done = 0;
	const char *key;
	while (counts_next(object, &n, &at, &key)) {
		if (done++ >= most)
			continue;
		str_addf(out, "%s%s ", str_if(done > 1, ", "), key);
		words_grouped(out, n);
	}
	if (done > most)
		str_addf(out, " and %zu more", done - most);
	return done;
}

void words_qp(struct str *out, const json_t *row)
{
	str_addf(out, "%s > %s QP 0x%06x", doc_word(row, "src"), doc_word(row, "dst"),
		(unsigned)words_number(row, "dst_qp"));
}

/* ---- paragraphs ----------------------------------------------------------------------- */

static size_t words_columns(const char *text, size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

static void words_put_word(FILE *out, const char *text, size_t n)
{
	rw_cleanup(freep) char *clean = rw_calloc(n + 1, 1);
	text_clean(clean, n + 1, text, n);
	fputs(clean, out);
}

void words_put(FILE *out, size_t width, const char *label, const char *text)
{
	size_t at = WORDS_LABEL;
	bool first = true;
	fprintf(out, "%-*s", WORDS_LABEL, label);
	while (*text) {
		text += strspn(text, " \n");
		const size_t n = strcspn(text, " \n");
		const size_t columns = words_columns(text, n);
		if (!first && at + 1 + columns > width) {
			fprintf(out, "\n%*s", WORDS_LABEL, "");
			at = WORDS_LABEL;
			first = true;
		}
		if (!first)
			fputc(' ', out);
		words_put_word(out, text, n);
		at += columns + !first;
		first = false;
		text += n;
	}
	fputc('\n', out);
}
