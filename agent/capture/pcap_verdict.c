/* pcap_verdict - the table of kinds, and the list in the document. */
#include "agent/capture/pcap_verdict.h"

#include "agent/document/json_value.h"

static const struct pcap_verdict_info pcap_verdicts[] = {
#define VERDICT(symbol, word, severity, says, help)                                                \
	[PCAP_VERDICT_##symbol] = {word, PCAP_##severity, says, help},
#include "agent/capture/pcap_verdict.def"
};

static const char *const pcap_severities[] = {
	[PCAP_OK] = "ok",
	[PCAP_INFO] = "info",
	[PCAP_WARNING] = "warning",
	[PCAP_CRITICAL] = "critical",
};

const struct pcap_verdict_info *pcap_verdict_info(enum pcap_verdict kind)
{
	return &pcap_verdicts[kind];
}

const struct pcap_verdict_info *pcap_verdict_named(const char *word)
{
	for (size_t i = 0; i < rw_countof(pcap_verdicts); i++)
		if (str_eq(word, pcap_verdicts[i].word))
			return &pcap_verdicts[i];
	return NULL;
}

const char *pcap_severity_name(enum pcap_severity severity)
{
	return pcap_severities[severity];
}

static enum pcap_severity verdict_severity(const json_t *row)
{
	const char *word = doc_word(row, "severity");
	for (size_t i = 0; i < rw_countof(pcap_severities); i++)
		if (str_eq(word, pcap_severities[i]))
			return (enum pcap_severity)i;
	return PCAP_OK;
}

static size_t verdict_kind(const json_t *row)
{
	const char *word = doc_word(row, "kind");
	for (size_t i = 0; i < rw_countof(pcap_verdicts); i++)
		if (str_eq(word, pcap_verdicts[i].word))
			return i;
	return PCAP_VERDICT_COUNT;
}

/* ---- adding ---------------------------------------------------------------- */

static json_t *verdict_list(json_t *document)
{
	json_t *list = json_object_get(document, "verdicts");
	if (list)
		return list;
	list = json_array();
	json_object_set_new(document, "verdicts", list);
	return list;
}

/* verdict_last - the newest row of @word; *@ret_n: how many there are. */
static json_t *verdict_last(const json_t *list, const char *word, size_t *ret_n)
{
	json_t *last = NULL, *row;
	size_t i;
	*ret_n = 0;
	json_array_foreach ((json_t *)list, i, row) {
		if (!str_eq(doc_word(row, "kind"), word))
			continue;
		last = row;
		(*ret_n)++;
	}
	return last;
}

__attribute__((format(printf, 4, 0))) static json_t *verdict_append(json_t *document,
	enum pcap_verdict kind, enum pcap_severity severity, const char *fmt, va_list ap)
{
	const char *word = pcap_verdicts[kind].word;
	json_t *list = verdict_list(document);
	size_t n;
	json_t *last = verdict_last(list, word, &n);
	if (n >= PCAP_VERDICTS_PER_KIND) {
		const json_int_t more = json_integer_value(json_object_get(last, "more"));
		json_object_set_new(last, "more", json_integer(more + 1));
		return NULL;
	}
	rw_cleanup(freep) char *text = NULL;
	if (vasprintf(&text, fmt, ap) < 0)
		return NULL;
	json_t *row = json_object();
	json_object_set_new(row, "severity", json_string(pcap_severities[severity]));
	json_object_set_new(row, "kind", json_string(word));
	json_object_set_new(row, "text", json_string_or_null(text));
	json_array_append_new(list, row);
	return row;
}

json_t *pcap_verdict_add(json_t *document, enum pcap_verdict kind, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	json_t *row = verdict_append(document, kind, pcap_verdicts[kind].severity, fmt, ap);
	va_end(ap);
	return row;
}

json_t *pcap_verdict_add_as(
	json_t *document, enum pcap_verdict kind, enum pcap_severity severity, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	json_t *row = verdict_append(document, kind, severity, fmt, ap);
	va_end(ap);
	return row;
}

/* ---- order ------------------------------------------------------------------- */

enum pcap_severity pcap_verdict_worst(const json_t *document)
{
	enum pcap_severity worst = PCAP_OK;
	json_t *row;
	size_t i;
	json_array_foreach (json_object_get(document, "verdicts"), i, row)
		if (verdict_severity(row) > worst)
			worst = verdict_severity(row);
	return worst;
}

struct ranked_verdict {
	json_t *row;
	enum pcap_severity severity;
	size_t kind, at;
};

static int verdict_by_rank(const void *left, const void *right)
{
	const struct ranked_verdict *a = left, *b = right;
	if (a->severity != b->severity)
		return (a->severity < b->severity) - (a->severity > b->severity);
	if (a->kind != b->kind)
		return (a->kind > b->kind) - (a->kind < b->kind);
	return (a->at > b->at) - (a->at < b->at);
}

void pcap_verdict_sort(json_t *document)
{
	json_t *list = verdict_list(document), *row, *sorted = json_array();
	const size_t n = json_array_size(list);
	rw_cleanup(freep) struct ranked_verdict *rows = rw_calloc(n + 1, sizeof(*rows));
	size_t i;
	json_array_foreach (list, i, row)
		rows[i] = (struct ranked_verdict){row, verdict_severity(row), verdict_kind(row), i};
	qsort(rows, n, sizeof(*rows), verdict_by_rank);
	for (i = 0; i < n; i++)
		json_array_append(sorted, rows[i].row);
	json_object_set_new(document, "verdicts", sorted);
}
