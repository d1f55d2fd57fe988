/* import_host - the sentences of a document. */
#include "agent/import/import_host.h"

#include "agent/document/json_value.h"

json_t *import_document(const char *kind)
{
	return json_pack("{s:s, s:[], s:[], s:[]}", "kind", kind, "rows", "flagged", "notes");
}

json_t *import_flagged(const json_t *doc)
{
	return json_object_get(doc, "flagged");
}

void import_note(json_t *doc, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(json_object_get(doc, "notes"), json_string_or_null(text));
}

void import_flag(json_t *doc, const char *host, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(import_flagged(doc),
		json_pack("{s:o, s:o}", "host", json_string_or_null(host), "text",
			json_string_or_null(text)));
}

/* host_text - takes tags off lines, and words and numbers out of them. */

void host_text_begin(struct host_text *text, const char *data, size_t n)
{
	*text = (struct host_text){.at = data, .end = data + n};
}

static bool host_is_name(char c)
{
	return isalnum((unsigned char)c) || c == '.' || c == '_' || c == '-';
}

void host_name_copy(char ret[HOST_NAME_LEN], const char *text, size_t n)
{
	ret[0] = '\0';
	if (n >= HOST_NAME_LEN)
		return;
	for (size_t i = 0; i < n; i++)
		if (!host_is_name(text[i]))
			return;
	memcpy(ret, text, n);
	ret[n] = '\0';
}

/* "[1,0]<stdout>:" of mpirun --tag-output; returns what follows. */
static const char *host_skip_mpi(const char *line)
{
	const char *end = strchr(line, '>');
	if (*line != '[' || !end || end - line > 64 || !strstr(line, "]<std") || end[1] != ':')
		return line;
	return end + 2;
}

/* Does a line of one of the tools begin so? A tag is only taken for one where this follows it. */
static bool host_is_content(const char *rest)
{
	return *rest == '\0' || *rest == ' ' || *rest == '\t' || *rest == '#' ||
		strncmp(rest, "NIC statistics", 14) == 0 || strncmp(rest, "NCCL ", 5) == 0 ||
		strncmp(rest, "/sys/", 5) == 0 || strncmp(rest, "link ", 5) == 0 ||
		strstr(rest, " NCCL ") || isdigit((unsigned char)*rest);
}

/* "node-001: " of pdsh, clush and dsh; the rest of the line keeps its own blanks. */
static const char *host_skip_tag(struct host_text *text, const char *line)
{
	size_t n = 0;
	while (host_is_name(line[n]))
		n++;
	if (n == 0 || line[n] != ':' || line[n + 1] != ' ' || !host_is_content(line + n + 2))
		return line;
	host_name_copy(text->host, line, n);
	return line + n + 2;
}

bool host_text_next(struct host_text *text)
{
	char whole[HOST_LINE_MAX];
	if (text->at >= text->end)
		return false;
	const size_t left = (size_t)(text->end - text->at);
	const char *nl = memchr(text->at, '\n', left);
	const size_t n = nl ? (size_t)(nl - text->at) : left;
	text_clean(whole, sizeof(whole), text->at, n);
	for (size_t k = strlen(whole); k > 0 && whole[k - 1] == ' '; k--)
		whole[k - 1] = '\0';
	text->at += n + (nl != NULL);
	text->number++;
	text->host[0] = '\0';
	const char *rest = host_skip_tag(text, host_skip_mpi(whole));
	memmove(text->line, rest, strlen(rest) + 1);
	return true;
}

size_t host_words(char *line, char *words[HOST_WORDS_MAX])
{
	size_t n = 0;
	char *save = NULL;
	for (char *word = strtok_r(line, " \t", &save); word && n < HOST_WORDS_MAX;
		word = strtok_r(NULL, " \t", &save))
		words[n++] = word;
	return n;
}

bool host_number(const char *word, uint64_t *ret)
{
	char *end;
	if (!isdigit((unsigned char)*word))
		return false;
	errno = 0;
	const unsigned long long v = strtoull(word, &end, 10);
	*ret = v;
	return errno == 0 && *end == '\0';
}

bool host_real(const char *word, double *ret)
{
	char *end;
	if (!isdigit((unsigned char)*word) && *word != '-' && *word != '.')
		return false;
	*ret = strtod(word, &end);
	return end != word && *end == '\0' && isfinite(*ret);
}
