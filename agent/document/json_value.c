/* json_value - single values into a document and out of it. */
#include "agent/document/json_value.h"

/* ---- json_print - writes JSON, with an escape for what must not reach a terminal. */

/* jansson hands over runs of whole characters. Outside of strings JSON is plain ASCII, so an escape
 * is right wherever such a character stands. */
static int json_print_run(const char *run, size_t n, void *arg)
{
	FILE *out = arg;
	size_t done = 0;
	for (size_t i = 0; i < n;) {
		uint32_t code = 0;
		const size_t length = text_next(run + i, n - i, &code);
		if (text_is_shown(code) || code < 0x20) { /* blanks and newlines between values */
			i += length;
			continue;
		}
		fwrite(run + done, 1, i - done, out);
		fprintf(out, "\\u%04x", code);
		i += length;
		done = i;
	}
	fwrite(run + done, 1, n - done, out);
	return ferror(out) ? -1 : 0;
}

int json_print(FILE *out, const json_t *value, size_t flags)
{
	return json_dump_callback(value, json_print_run, out, flags);
}

/* ---- json_outside - cleans the strings of a document that somebody else may have written. */

static void json_clean_string(json_t *value)
{
	const char *text = json_string_value(value);
	/* A NUL in the middle would hide what follows from everybody who reads. */
	if (strlen(text) == json_string_length(value) && text_is_clean(text))
		return;
	rw_cleanup(freep) char *clean = text_clean_copy(text);
	json_string_set(value, clean);
}

/* A configuration that is typed into a switch has several lines. */
static void json_clean_lines(json_t *value)
{
	rw_cleanup(str_done) struct str lines = {0};
	const char *at = json_string_value(value);
	str_add(&lines, "");
	for (bool first = true; at; first = false) {
		const char *end = strchrnul(at, '\n');
		rw_cleanup(str_done) struct str line = {0};
		str_add(&line, "");
		str_addn(&line, at, (size_t)(end - at));
		rw_cleanup(freep) char *clean = text_clean_copy(line.s);
		/* it would end the block of code in which markdown shows it */
		char *fence = strstr(clean, "```");
		if (fence)
			memset(fence, '\'', 3);
		str_addf(&lines, "%s%s", str_if(!first, "\n"), clean);
		at = NULL;
		if (*end)
			at = end + 1;
	}
	json_string_set(value, lines.s);
}

static void json_clean_configuration(json_t *value)
{
	const char *key;
	json_t *member;
	void *next;
	if (json_is_string(value))
		json_clean_lines(value);
	if (!json_is_object(value))
		return;
	json_object_foreach_safe(value, next, key, member)
	{
		if (text_is_clean(key))
			json_clean_configuration(member);
		else
			json_object_del(value, key);
	}
}

static bool json_is_configuration(const char *key)
{
	return str_eq(key, "render") || str_eq(key, "undo");
}

static void json_clean_object(json_t *object)
{
	const char *key;
	json_t *member;
	void *next;
	json_object_foreach_safe(object, next, key, member)
	{
		if (json_is_configuration(key))
			json_clean_configuration(member);
		else if (text_is_clean(key))
			json_clean(member);
		else
			json_object_del(object, key);
	}
}

void json_clean(json_t *value)
{
	size_t i;
	json_t *element;
	if (json_is_string(value))
		json_clean_string(value);
	else if (json_is_object(value))
		json_clean_object(value);
	else if (json_is_array(value))
		json_array_foreach (value, i, element)
			json_clean(element);
}

json_t *json_outside(const char *text, size_t n, size_t flags, json_error_t *why)
{
	json_t *value = json_loadb(text, n, flags, why);
	json_clean(value);
	return value;
}

const char *doc_word(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	if (s)
		return s;
	return "";
}

double doc_number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	if (json_is_number(v))
		return json_number_value(v);
	return NAN;
}

json_t *json_number_or_null(double value)
{
	if (isfinite(value))
		return json_real(value);
	return json_null();
}

json_t *json_string_or_null(const char *text)
{
	json_t *j;
	if (text)
		j = json_string(text);
	else
		j = json_null();
	/* Bytes that are no UTF-8 come from devices: the text is shown without them rather than
	 * lost. */
	if (j)
		return j;
	rw_cleanup(freep) char *clean = text_clean_copy(text);
	return json_string(clean);
}

const char *json_time_text(char *buf, int64_t t_ns)
{
	/* Milliseconds, unless the time is finer. */
	return wall_format(buf, (wall_t){t_ns}, t_ns % NS_PER_MS == 0 ? 3 : 9);
}

json_t *json_time(int64_t t_ns)
{
	char buf[WALL_TEXT_MAX];
	return json_string(json_time_text(buf, t_ns));
}

/* ---- json_add - a document as text at once --------------------------------- */

static void json_add_key(struct str *out, const char *key)
{
	const size_t n = key ? strlen(key) : 0;
	char *at = str_room(out, n + 4);
	if (out->n > 0 && at[-1] != '{' && at[-1] != '[')
		*at++ = ',';
	if (key) {
		*at++ = '"';
		at = (char *)mempcpy(at, key, n);
		*at++ = '"';
		*at++ = ':';
	}
	out->n = (size_t)(at - out->s);
}

void json_add_open(struct str *out, const char *key, char bracket)
{
	json_add_key(out, key);
	str_addn(out, &bracket, 1);
}

void json_add_close(struct str *out, char bracket)
{
	str_addn(out, &bracket, 1);
}

void json_add_value(struct str *out, const char *key, json_t *value)
{
	rw_cleanup(freep) char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	json_add_key(out, key);
	str_add(out, str_or(text, "null"));
	json_decref(value);
}

/* The length of @text when JSON needs no escape for it; -1 when it may: quotes, not ASCII. */
static ssize_t json_plain_length(const char *text)
{
	const char *at = text;
	for (; *at; at++)
		if ((signed char)*at < 0x20 || *at == '"' || *at == '\\')
			return -1;
	return at - text;
}

void json_add_text(struct str *out, const char *key, const char *text)
{
	const ssize_t n = text ? json_plain_length(text) : 0;
	if (n < 0) {
		json_add_value(out, key, json_string_or_null(text));
		return;
	}
	json_add_key(out, key);
	if (!text) {
		str_addn(out, "null", 4);
		return;
	}
	char *at = str_room(out, (size_t)n + 2);
	at[0] = '"';
	memcpy(at + 1, text, (size_t)n);
	at[n + 1] = '"';
	at[n + 2] = '\0';
	out->n += (size_t)n + 2;
}

static void json_add_digits(struct str *out, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);
	do
		digits[--at] = (char)('0' + value % 10);
	while ((value /= 10) > 0);
	str_addn(out, digits + at, sizeof(digits) - at);
}

void json_add_integer(struct str *out, const char *key, int64_t value)
{
	json_add_key(out, key);
	if (value < 0)
		str_addn(out, "-", 1);
	json_add_digits(out, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_add_number(struct str *out, const char *key, double value)
{
	const bool whole = value == trunc(value) && !signbit(value);
	if (!(fabs(value) < 1e15) || (!whole && fabs(value) < 1e-3)) {
		json_add_value(out, key, json_number_or_null(value)); /* with an exponent */
		return;
	}
	json_add_key(out, key);
	if (!whole) {
		str_addf(out, "%.17g%s", value, str_if(value == trunc(value), ".0"));
		return;
	}
	json_add_digits(out, (uint64_t)value);
	str_addn(out, ".0", 2);
}

void json_add_flag(struct str *out, const char *key, bool value)
{
	json_add_key(out, key);
	str_add(out, value ? "true" : "false");
}

void json_add_time(struct str *out, const char *key, int64_t t_ns)
{
	char text[WALL_TEXT_MAX];
	json_add_text(out, key, json_time_text(text, t_ns));
}

void str_add_json(struct str *out, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING: str_addn(out, json_string_value(value), json_string_length(value)); break;
	case JSON_INTEGER: str_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
	case JSON_REAL: str_add_exact(out, json_real_value(value)); break;
	case JSON_TRUE: str_add(out, "true"); break;
	case JSON_FALSE: str_add(out, "false"); break;
	default: break; /* null is an empty field; a tree is not a cell */
	}
}
