/* reason - the rows of reason.def, sentences made of them, and the way back from a sentence to its
 * row. */
#include "collectors/target/reason.h"

static const struct reason_row rows[REASON_COUNT] = {
#define REASON(code, protocol, sentence, next) [REASON_##code] = {protocol, sentence, next},
#include "collectors/target/reason.def"
#undef REASON
};

const struct reason_row *reason_row(enum reason_code code)
{
	if ((size_t)code >= rw_countof(rows) || !rows[code].sentence)
		return NULL;
	return &rows[code];
}

void reason_format(struct reason *reason, enum reason_code code, const char *sentence, ...)
{
	va_list ap;
	va_start(ap, sentence);
	vsnprintf(reason->text, sizeof(reason->text), sentence, ap);
	va_end(ap);
	text_whole(reason->text);
	reason->code = code;
}

void reason_of_word(struct reason *reason, enum reason_code code, const char *word)
{
	const char *sentence = rows[code].sentence, *at = strstr(sentence, "%s");
	snprintf(reason->text, sizeof(reason->text), "%.*s%s%s", (int)(at - sentence), sentence,
		word, at + 2);
	text_whole(reason->text);
	reason->code = code;
}

/* conversion_end - behind the conversion that begins at @percent: "%s", "%.1f", "%zu". */
static const char *conversion_end(const char *percent)
{
	return percent + 1 + strcspn(percent + 1, "sdufgx") + 1;
}

/*
 * reason_fits - could @text have been made of @sentence? The texts between the conversions must
 * come in this order, the first at the beginning and the last at the end. The end may be missing
 * where the text was cut at REASON_TEXT_MAX.
 *
 * Returns the number of fixed characters found; 0 when it does not fit.
 */
static size_t reason_fits(const char *sentence, const char *text)
{
	const bool cut = strlen(text) + 1 >= REASON_TEXT_MAX;
	const char *at = text;
	size_t fixed = 0;
	bool first = true;
	for (;;) {
		const size_t n = strcspn(sentence, "%");
		const size_t fixed_if_cut = cut ? fixed : 0;
		bool last = sentence[n] == '\0';
		/* 1. the last piece is the end of the text */
		if (last && !first) {
			size_t left = strlen(at);
			if (left >= n && memcmp(at + left - n, sentence, n) == 0)
				return fixed + n;
			return fixed_if_cut;
		}
		if (last && strcmp(at, sentence) == 0)
			return n;
		if (last)
			return 0;
		/* 2. the first is its beginning, the others come where they come */
		const char *found = at;
		if (first && strncmp(at, sentence, n) != 0)
			return 0;
		if (!first)
			found = memmem(at, strlen(at), sentence, n);
		if (!found)
			return fixed_if_cut;
		at = found + n;
		fixed += n;
		sentence = conversion_end(sentence + n);
		first = false;
	}
}

void reason_from(struct reason *reason, const char *protocol, const char *text)
{
	size_t best = 0;
	reason->code = REASON_UNKNOWN;
	snprintf(reason->text, sizeof(reason->text), "%s", text);
	text_whole(reason->text);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		if (!rows[i].sentence)
			continue;
		if (*rows[i].protocol && !str_eq(rows[i].protocol, protocol))
			continue;
		size_t fixed = reason_fits(rows[i].sentence, reason->text);
		if (fixed > best) {
			best = fixed;
			reason->code = (enum reason_code)i;
		}
	}
}

const char *reason_next_step(const char *protocol, const char *text)
{
	struct reason reason;
	reason_from(&reason, protocol, str_or(text, ""));
	const struct reason_row *row = reason_row(reason.code);
	if (row)
		return row->next;
	if (str_eq(protocol, "pcap") || str_eq(protocol, "sflow"))
		return "see the agent's log";
	return "see the agent's log, and try: rocewatch profile test";
}
