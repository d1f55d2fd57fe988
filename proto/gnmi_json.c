/* gnmi_json - see gnmi_json.h. First check() over the whole text; what comes after may then trust
 * every byte. */
#include "proto/gnmi_json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"

struct text {
	const char *p, *end;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void blanks(struct text *t)
{
	while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' || *t->p == '\r'))
		t->p++;
}

/* ---- is it JSON ---------------------------------------------------------- */

static int hex4(const char *p)
{
	int v = 0;
	for (int i = 0; i < 4; i++) {
		int c = (unsigned char)p[i], lower = c | 0x20;
		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if (lower >= 'a' && lower <= 'f')
			v = v * 16 + lower - 'a' + 10;
		else
			return -1;
	}
	return v;
}

/* After the backslash. */
static bool check_escape(struct text *t)
{
	if (t->p == t->end)
		return false;
	char c = *t->p++;
	if (c != 'u')
		return c && strchr("\"\\/bfnrt", c);
	int v = t->end - t->p >= 4 ? hex4(t->p) : -1;
	if (v < 0)
		return false;
	t->p += 4;
	if (v < 0xd800 || v > 0xdfff)
		return true;
	if (v > 0xdbff || t->end - t->p < 6 || t->p[0] != '\\' || t->p[1] != 'u')
		return false;
	v = hex4(t->p + 2);
	t->p += 6;
	return v >= 0xdc00 && v <= 0xdfff;
}

/* A sequence of two to four bytes (Unicode 15, table 3-7). */
static bool check_utf8(struct text *t)
{
	unsigned char c = (unsigned char)*t->p++;
	unsigned char low = c == 0xe0 ? 0xa0
		: c == 0xf0           ? 0x90
				      : 0x80,
		      high = c == 0xed ? 0x9f
		: c == 0xf4            ? 0x8f
				       : 0xbf;
	int more = c >= 0xc2 && c <= 0xdf ? 1
		: c >= 0xe0 && c <= 0xef  ? 2
		: c >= 0xf0 && c <= 0xf4  ? 3
					  : 0;
	if (more == 0 || t->end - t->p < more)
		return false;
	for (; more > 0; more--, low = 0x80, high = 0xbf) {
		unsigned char next = (unsigned char)*t->p++;
		if (next < low || next > high)
			return false;
	}
	return true;
}

/* Over bytes that a string holds as they are, eight at a time: ASCII, no control character, neither
 * quote nor backslash. A byte with its top bit set in one of these words is one of the others (or
 * comes after one), and is then looked at alone. */
static void plain_run(struct text *t)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	while (t->end - t->p >= 8) {
		uint64_t v;
		memcpy(&v, t->p, sizeof(v));
		uint64_t quote = v ^ (ones * '"'), backslash = v ^ (ones * '\\');
		if ((v | (v - ones * 0x20) | (quote - ones) | (backslash - ones)) & tops)
			return;
		t->p += 8;
	}
}

static bool check_string(struct text *t)
{
	for (t->p++; t->p < t->end;) {
		plain_run(t);
		if (t->p == t->end)
			return false;
		unsigned char c = (unsigned char)*t->p;
		if (c >= 0x80) {
			if (!check_utf8(t))
				return false;
			continue;
		}
		t->p++;
		if (c == '"')
			return true;
		if (c < 0x20 || (c == '\\' && !check_escape(t)))
			return false;
	}
	return false;
}

static bool check_digits(struct text *t)
{
	const char *first = t->p;
	while (t->p < t->end && is_digit(*t->p))
		t->p++;
	return t->p > first;
}

static bool check_number(struct text *t)
{
	if (*t->p == '-')
		t->p++;
	const char *first = t->p;
	if (!check_digits(t) || (*first == '0' && t->p > first + 1))
		return false;
	if (t->p < t->end && *t->p == '.') {
		t->p++;
		if (!check_digits(t))
			return false;
	}
	if (t->p < t->end && (*t->p == 'e' || *t->p == 'E')) {
		t->p++;
		if (t->p < t->end && (*t->p == '+' || *t->p == '-'))
			t->p++;
		return check_digits(t);
	}
	return true;
}

static bool check_word(struct text *t, const char *word, size_t n)
{
	if ((size_t)(t->end - t->p) < n || memcmp(t->p, word, n) != 0)
		return false;
	t->p += n;
	return true;
}

static bool check(struct text *t, unsigned depth);

/* An object or an array, whose end is @close. */
static bool check_members(struct text *t, char close, unsigned depth)
{
	if (depth == GNMI_JSON_DEPTH_MAX)
		return false;
	t->p++;
	blanks(t);
	if (t->p < t->end && *t->p == close) {
		t->p++;
		return true;
	}
	for (;;) {
		if (close == '}') {
			blanks(t);
			if (t->p == t->end || *t->p != '"' || !check_string(t))
				return false;
			blanks(t);
			if (t->p == t->end || *t->p++ != ':')
				return false;
		}
		if (!check(t, depth + 1))
			return false;
		blanks(t);
		if (t->p == t->end)
			return false;
		char c = *t->p++;
		if (c != ',')
			return c == close;
	}
}

/* Recursion ends at GNMI_JSON_DEPTH_MAX. */
static bool check(struct text *t, unsigned depth)
{
	blanks(t);
	if (t->p == t->end)
		return false;
	switch (*t->p) {
	case '{': return check_members(t, '}', depth);
	case '[': return check_members(t, ']', depth);
	case '"': return check_string(t);
	case 't': return check_word(t, "true", 4);
	case 'f': return check_word(t, "false", 5);
	case 'n': return check_word(t, "null", 4);
	default: return (*t->p == '-' || is_digit(*t->p)) && check_number(t);
	}
}

/* ---- what it says; from here on the text is known to be JSON ------------- */

struct flat {
	struct text t;
	struct gnmi_path *at;
	const struct gnmi_decode *d;
	struct arena *a;
	gnmi_leaf_fn *fn;
	void *arg;
};

static char *utf8_put(char *out, unsigned v)
{
	if (v < 0x80) {
		*out++ = (char)v;
	} else if (v < 0x800) {
		*out++ = (char)(0xc0 | v >> 6);
		*out++ = (char)(0x80 | (v & 63));
	} else if (v < 0x10000) {
		*out++ = (char)(0xe0 | v >> 12);
		*out++ = (char)(0x80 | (v >> 6 & 63));
		*out++ = (char)(0x80 | (v & 63));
	} else {
		*out++ = (char)(0xf0 | v >> 18);
		*out++ = (char)(0x80 | (v >> 12 & 63));
		*out++ = (char)(0x80 | (v >> 6 & 63));
		*out++ = (char)(0x80 | (v & 63));
	}
	return out;
}

static const char *unescape(struct arena *a, const char *s, size_t n, size_t *ret_n)
{
	static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char *text = arena_alloc(a, n), *out = text;
	for (const char *end = s + n; s < end;) {
		if (*s != '\\') {
			*out++ = *s++;
			continue;
		}
		if (s[1] != 'u') {
			*out++ = meant[strchr(plain, s[1]) - plain];
			s += 2;
			continue;
		}
		unsigned v = (unsigned)hex4(s + 2);
		s += 6;
		if (v >= 0xd800 && v <= 0xdbff) {
			v = 0x10000 + ((v - 0xd800) << 10) + ((unsigned)hex4(s + 2) - 0xdc00);
			s += 6;
		}
		out = utf8_put(out, v);
	}
	*ret_n = (size_t)(out - text);
	return text;
}

static const char *string_read(struct flat *f, size_t *ret_n)
{
	const char *s = ++f->t.p, *end = memchr(s, '"', (size_t)(f->t.end - s));
	bool escaped = memchr(s, '\\', (size_t)(end - s));
	if (escaped) { /* that quote may be one of the escapes */
		for (end = s; *end != '"'; end++)
			if (*end == '\\')
				end++;
	}
	size_t n = (size_t)(end - s);
	f->t.p = end + 1;
	if (escaped)
		return unescape(f->a, s, n, ret_n);
	*ret_n = n;
	return s;
}

static struct gnmi_value number_read(struct flat *f)
{
	const char *s = f->t.p;
	bool negative = *s == '-', whole = true, over = false;
	uint64_t v = 0;
	f->t.p += negative;
	for (; f->t.p < f->t.end; f->t.p++) {
		char c = *f->t.p;
		if (is_digit(c)) {
			over |= __builtin_mul_overflow(v, (uint64_t)10, &v) ||
				__builtin_add_overflow(v, (uint64_t)(c - '0'), &v);
			continue;
		}
		if (c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-')
			break;
		whole = false;
	}
	struct gnmi_value r = {.kind = GNMI_STRING, .p = s, .n = (size_t)(f->t.p - s)};
	if (whole && !over && (!negative || v == 0)) {
		r = (struct gnmi_value){.kind = GNMI_UINT, .u = v};
	} else if (whole && !over && v <= (uint64_t)INT64_MAX + 1) {
		r = (struct gnmi_value){.kind = GNMI_INT, .i = (int64_t)(0 - v)};
	} else if (!whole) {
		struct gnmi_value text = r;
		double d;
		if (gnmi_value_double(&text, &d) == 0)
			r = (struct gnmi_value){.kind = GNMI_DOUBLE, .d = d};
	}
	return r;
}

static struct gnmi_value scalar_read(struct flat *f)
{
	struct gnmi_value v = {0};
	switch (*f->t.p) {
	case '"':
		v.kind = GNMI_STRING;
		v.p = string_read(f, &v.n);
		return v;
	case 't':
	case 'f':
		v.kind = GNMI_BOOL;
		v.b = *f->t.p == 't';
		f->t.p += v.b ? 4 : 5;
		return v;
	case 'n': f->t.p += 4; return v;
	default: return number_read(f);
	}
}

static void string_skip(struct text *t)
{
	for (t->p++; *t->p != '"'; t->p++)
		if (*t->p == '\\')
			t->p++;
	t->p++;
}

/* Over a value of any kind: brackets outside strings are counted. */
static void skip(struct text *t)
{
	unsigned depth = 0;
	blanks(t);
	do {
		if (*t->p == '"') {
			string_skip(t);
			continue;
		}
		if (*t->p == '{' || *t->p == '[')
			depth++;
		else if (*t->p == '}' || *t->p == ']')
			depth--;
		else if (depth == 0) { /* a word or a number: up to what may follow one */
			while (t->p < t->end && !strchr(",]} \t\r\n", *t->p))
				t->p++;
			return;
		}
		t->p++;
	} while (depth > 0);
}

/* Steps to the next member of an object or an array, and over the brackets at both ends. False
 * after the last. */
static bool next(struct text *t, bool *first)
{
	if (*first)
		t->p++;
	blanks(t);
	char c = *t->p;
	if (c == '}' || c == ']') {
		t->p++;
		return false;
	}
	if (!*first) {
		t->p++; /* the comma */
		blanks(t);
	}
	*first = false;
	return true;
}

static void colon(struct text *t)
{
	blanks(t);
	t->p++;
	blanks(t);
}

/* The keys of the entry at @t, an object, in the order of @list. False when one is missing or is no
 * leaf. */
static bool keys_find(
	struct flat *f, const struct gnmi_list *list, struct gnmi_key *keys, size_t *ret_n)
{
	struct text was = f->t;
	size_t wanted = 0, found = 0;
	bool first = true, have[GNMI_JSON_LIST_KEYS_MAX] = {false};

	while (wanted < GNMI_JSON_LIST_KEYS_MAX && list->keys[wanted])
		wanted++;
	while (found < wanted && next(&f->t, &first)) {
		size_t n, i = 0;
		const char *name = string_read(f, &n);
		size_t bare = f->d->plain_names ? 0 : gnmi_name_skip(name, n);
		colon(&f->t);
		while (i < wanted &&
			(have[i] || strlen(list->keys[i]) != n - bare ||
				memcmp(list->keys[i], name + bare, n - bare) != 0))
			i++;
		if (i == wanted || *f->t.p == '{' || *f->t.p == '[') {
			skip(&f->t);
			continue;
		}
		keys[i] = (struct gnmi_key){.name = list->keys[i], .name_n = n - bare};
		if (*f->t.p == '"') {
			keys[i].value = string_read(f, &keys[i].value_n);
		} else {
			keys[i].value = f->t.p;
			skip(&f->t);
			keys[i].value_n = (size_t)(f->t.p - keys[i].value);
		}
		have[i] = true;
		found++;
	}
	f->t = was;
	*ret_n = found;
	return wanted > 0 && found == wanted;
}

static const struct gnmi_list *list_find(const struct gnmi_decode *d, const char *name, size_t n)
{
	for (size_t i = 0; i < d->n_lists; i++)
		if (strlen(d->lists[i].name) == n && memcmp(d->lists[i].name, name, n) == 0)
			return &d->lists[i];
	return NULL;
}

static void flatten(struct flat *f);

/* The name of the path's last element, without its keys; as it is written there, which for names of
 * lists is as it is. */
static const char *last_name(const struct gnmi_path *at, size_t *ret_n)
{
	size_t from = at->n;
	bool in_key = false;
	/* Forwards, because a '/' inside a key's value is not the end of an element. */
	for (size_t i = 0; i < at->n; i++) {
		if (at->s[i] == '\\')
			i++;
		else if (at->s[i] == '[' && !in_key)
			in_key = true;
		else if (at->s[i] == ']')
			in_key = false;
		else if (at->s[i] == '/' && !in_key)
			from = i + 1;
	}
	size_t n = 0;
	while (from + n < at->n && at->s[from + n] != '[')
		n++;
	*ret_n = n;
	return at->s + from;
}

static void array(struct flat *f)
{
	const size_t n = f->at->n;
	const unsigned elems = f->at->elems;
	struct text was = f->t;
	bool first = true;
	size_t name_n, index = 0;
	const char *name = last_name(f->at, &name_n);
	/* A path that ends in keys is an entry already: arrays in it have no names. */
	const struct gnmi_list *list =
		n > 0 && f->at->s[n - 1] != ']' ? list_find(f->d, name, name_n) : NULL;

	if (next(&f->t, &first) && *f->t.p == 'n') {
		f->t.p += 4;
		blanks(&f->t);
		if (*f->t.p == ']') {
			f->t.p++;
			f->fn(f->arg, f->at, &(struct gnmi_value){.kind = GNMI_NULL});
			return;
		}
	}
	f->t = was;
	for (first = true; next(&f->t, &first); index++) {
		struct gnmi_key keys[GNMI_JSON_LIST_KEYS_MAX];
		size_t n_keys = 0;
		bool by_key = list && *f->t.p == '{' && keys_find(f, list, keys, &n_keys);
		if (by_key ? gnmi_path_add_keys(f->at, keys, n_keys)
			   : gnmi_path_add_index(f->at, index)) {
			flatten(f);
		} else {
			f->d->counts->bad_paths++;
			skip(&f->t);
		}
		gnmi_path_cut(f->at, n, elems);
	}
}

static void object(struct flat *f)
{
	const size_t n = f->at->n;
	const unsigned elems = f->at->elems;
	bool first = true;

	while (next(&f->t, &first)) {
		size_t name_n;
		const char *name = string_read(f, &name_n);
		colon(&f->t);
		if (name_n > 0 && gnmi_path_add(f->at, name, name_n, NULL, 0, f->d->plain_names)) {
			flatten(f);
		} else {
			f->d->counts->bad_paths++;
			skip(&f->t);
		}
		gnmi_path_cut(f->at, n, elems);
	}
}

static void flatten(struct flat *f)
{
	blanks(&f->t);
	if (*f->t.p == '{') {
		object(f);
	} else if (*f->t.p == '[') {
		array(f);
	} else {
		struct gnmi_value v = scalar_read(f);
		f->fn(f->arg, f->at, &v);
	}
}

int gnmi_json_flatten(const void *p, size_t n, struct gnmi_path *at, const struct gnmi_decode *d,
	struct arena *a, gnmi_leaf_fn *fn, void *arg)
{
	if (n == 0)
		return -EBADMSG;
	struct flat f = {
		.t = {p, (const char *)p + n}, .at = at, .d = d, .a = a, .fn = fn, .arg = arg};
	struct text t = f.t;
	if (!check(&t, 0))
		return -EBADMSG;
	blanks(&t);
	if (t.p != t.end)
		return -EBADMSG;
	flatten(&f);
	return 0;
}
