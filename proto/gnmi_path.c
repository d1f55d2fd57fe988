/* gnmi_path - writes canonical paths element by element, and parses those that people write. */
#include "proto/gnmi_path.h"

void gnmi_path_init(struct gnmi_path *path)
{
	gnmi_path_cut(path, 0, 0);
}

void gnmi_path_cut(struct gnmi_path *path, size_t n, unsigned elems)
{
	path->n = n;
	path->elems = elems;
	if (n == 0)
		path->s[0] = '/';
	path->s[n ? n : 1] = '\0';
}

static bool is_letter(unsigned char letter)
{
	return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
		letter == '_';
}

static bool is_identifier(const char *text, size_t n)
{
	if (n == 0 || !is_letter((unsigned char)text[0]))
		return false;
	for (size_t i = 1; i < n; i++) {
		unsigned char c = (unsigned char)text[i];
		if (!is_letter(c) && !(c >= '0' && c <= '9') && c != '-' && c != '.')
			return false;
	}
	return true;
}

size_t gnmi_name_skip(const char *name, size_t n)
{
	const char *colon = NULL;
	if (n)
		colon = memchr(name, ':', n);
	if (!colon)
		return 0;
	size_t skip = (size_t)(colon - name) + 1;
	if (is_identifier(name, skip - 1) && is_identifier(name + skip, n - skip))
		return skip;
	return 0;
}

/* gnmi_path_utf8_length - bytes of the well-formed UTF-8 sequence of more than one byte at @text; 0
 * when it is none (Unicode 15, table 3-7). C1 controls are refused. */
static size_t gnmi_path_utf8_length(const unsigned char *text, size_t n)
{
	if (text[0] >= 0xc2 && text[0] <= 0xdf) {
		if (n >= 2 && (text[1] & 0xc0) == 0x80 && !(text[0] == 0xc2 && text[1] < 0xa0))
			return 2;
		return 0;
	}
	if (text[0] >= 0xe0 && text[0] <= 0xef) {
		unsigned char low = 0x80;
		if (text[0] == 0xe0)
			low = 0xa0;
		unsigned char high = 0xbf;
		if (text[0] == 0xed)
			high = 0x9f;
		if (n >= 3 && text[1] >= low && text[1] <= high && (text[2] & 0xc0) == 0x80)
			return 3;
		return 0;
	}
	if (text[0] >= 0xf0 && text[0] <= 0xf4) {
		unsigned char low = 0x80;
		if (text[0] == 0xf0)
			low = 0x90;
		unsigned char high = 0xbf;
		if (text[0] == 0xf4)
			high = 0x8f;
		if (n >= 4 && text[1] >= low && text[1] <= high && (text[2] & 0xc0) == 0x80 &&
			(text[3] & 0xc0) == 0x80)
			return 4;
		return 0;
	}
	return 0;
}

/* class_of - of a byte in a path: not allowed (CONTROL), part of a longer sequence (HIGH), or in
 * need of a backslash in these positions. */
enum { IN_NAME = 1, IN_KEY = 2, IN_VALUE = 4, CONTROL = 8, HIGH = 16 };
static const unsigned char class_of[256] = {
	[0 ... 0x1f] = CONTROL,
	[0x7f] = CONTROL,
	[0x80 ... 0xff] = HIGH,
	['/'] = IN_NAME,
	['['] = IN_NAME,
	['='] = IN_KEY,
	[']'] = IN_KEY | IN_VALUE,
	['\\'] = IN_NAME | IN_KEY | IN_VALUE,
};

/* gnmi_path_put - appends @text, with a backslash where @position needs one. False when it does not
 * fit or has a byte that is not allowed. */
static bool gnmi_path_put(struct gnmi_path *path, const char *text, size_t n, unsigned position)
{
	const unsigned char *s = (const unsigned char *)text;
	const unsigned stop = position | CONTROL | HIGH;
	size_t at = path->n;
	for (size_t i = 0; i < n;) {
		size_t len = 0;
		while (i + len < n && !(class_of[s[i + len]] & stop))
			len++;
		bool escape = false;
		if (len == 0) {
			unsigned class = class_of[s[i]];
			escape = class & position;
			if (class & HIGH)
				len = gnmi_path_utf8_length(s + i, n - i);
			else
				len = !(class & CONTROL);
			if (len == 0)
				return false;
		}
		if (at + len + escape > GNMI_PATH_MAX)
			return false;
		if (escape)
			path->s[at++] = '\\';
		memcpy(path->s + at, s + i, len);
		at += len;
		i += len;
	}
	path->n = at;
	return true;
}

static bool put_char(struct gnmi_path *path, char letter)
{
	if (path->n + 1 > GNMI_PATH_MAX)
		return false;
	path->s[path->n++] = letter;
	return true;
}

static int key_order(const struct gnmi_key *left, const struct gnmi_key *right)
{
	size_t n = right->name_n;
	if (left->name_n < right->name_n)
		n = left->name_n;
	int r = 0;
	if (n)
		r = memcmp(left->name, right->name, n);
	if (r)
		return r;
	return (left->name_n > right->name_n) - (left->name_n < right->name_n);
}

/* put_keys - appends the keys sorted, each name once. An insertion sort: it is stable, and there is
 * rarely more than one key. */
static bool put_keys(struct gnmi_path *path, struct gnmi_key *keys, size_t n)
{
	if (n > GNMI_PATH_KEYS_MAX)
		return false;
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && key_order(&keys[k - 1], &keys[k]) > 0; k--) {
			struct gnmi_key key = keys[k];
			keys[k] = keys[k - 1];
			keys[k - 1] = key;
		}
	for (size_t i = 0; i < n; i++) {
		if (i + 1 < n && key_order(&keys[i], &keys[i + 1]) == 0)
			continue;
		if (keys[i].name_n == 0 || !put_char(path, '[') ||
			!gnmi_path_put(path, keys[i].name, keys[i].name_n, IN_KEY) ||
			!put_char(path, '=') ||
			!gnmi_path_put(path, keys[i].value, keys[i].value_n, IN_VALUE) ||
			!put_char(path, ']'))
			return false;
	}
	return true;
}

static void keys_without_module(struct gnmi_key *keys, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const size_t skip = gnmi_name_skip(keys[i].name, keys[i].name_n);
		keys[i].name += skip;
		keys[i].name_n -= skip;
	}
}

static bool put_elem(struct gnmi_path *path, const char *name, size_t n, struct gnmi_key *keys,
	size_t n_keys, bool plain_names)
{
	size_t skip = 0;
	if (!plain_names)
		skip = gnmi_name_skip(name, n);
	if (path->elems >= GNMI_PATH_ELEMS_MAX || !put_char(path, '/') ||
		!gnmi_path_put(path, name + skip, n - skip, IN_NAME))
		return false;
	return put_keys(path, keys, n_keys);
}

bool gnmi_path_add(struct gnmi_path *path, const char *name, size_t n, struct gnmi_key *keys,
	size_t n_keys, bool plain_names)
{
	const size_t was = path->n;
	const unsigned elems = path->elems;
	if (n == 0 && n_keys == 0)
		return true;
	if (!plain_names)
		keys_without_module(keys, n_keys);
	if (n == 0 && (was == 0 || path->s[was - 1] != ']'))
		return gnmi_path_add_keys(path, keys, n_keys);
	if (n == 0) {
		name = "#";
		n = 1;
	}
	if (!put_elem(path, name, n, keys, n_keys, plain_names)) {
		gnmi_path_cut(path, was, elems);
		return false;
	}
	gnmi_path_cut(path, path->n, elems + 1);
	return true;
}

bool gnmi_path_add_keys(struct gnmi_path *path, struct gnmi_key *keys, size_t n_keys)
{
	const size_t was = path->n;
	if (was == 0)
		return gnmi_path_add(path, "#", 1, keys, n_keys, true);
	const bool ok = put_keys(path, keys, n_keys);
	size_t end = was;
	if (ok)
		end = path->n;
	gnmi_path_cut(path, end, path->elems);
	return ok;
}

bool gnmi_path_add_index(struct gnmi_path *path, size_t index)
{
	char digits[24];
	size_t at = sizeof(digits);
	do
		digits[--at] = (char)('0' + index % 10);
	while ((index /= 10) > 0);
	struct gnmi_key key = {"#", digits + at, 1, sizeof(digits) - at};
	return gnmi_path_add_keys(path, &key, 1);
}

/* ---- parsing ------------------------------------------------------------- */

struct path_reader {
	const char *p, *end;
	struct arena *a;
};

/* gnmi_path_word - the text before the next of @ends that has no backslash before it. */
static const char *gnmi_path_word(struct path_reader *reader, const char *ends, size_t *ret_n)
{
	char *out = arena_alloc(reader->a, (size_t)(reader->end - reader->p) + 1);
	size_t n = 0;
	while (reader->p < reader->end && !(*reader->p && strchr(ends, *reader->p))) {
		if (*reader->p == '\\' && reader->p + 1 < reader->end)
			reader->p++;
		out[n++] = *reader->p++;
	}
	*ret_n = n;
	return out;
}

static bool keys_read(struct path_reader *reader, struct gnmi_elem *elem, const char **ret_expected)
{
	elem->keys = arena_array(reader->a, struct gnmi_key, GNMI_PATH_KEYS_MAX);
	while (reader->p < reader->end && *reader->p == '[') {
		if (elem->n_keys == GNMI_PATH_KEYS_MAX) {
			*ret_expected = "fewer keys in one element";
			return false;
		}
		struct gnmi_key *key = &elem->keys[elem->n_keys++];
		reader->p++;
		key->name = gnmi_path_word(reader, "=]", &key->name_n);
		if (reader->p == reader->end || *reader->p != '=' || key->name_n == 0) {
			*ret_expected = "[key=value]";
			return false;
		}
		reader->p++;
		key->value = gnmi_path_word(reader, "]", &key->value_n);
		if (reader->p == reader->end) {
			*ret_expected = "']' after the key's value";
			return false;
		}
		reader->p++;
	}
	if (reader->p < reader->end && *reader->p != '/') {
		*ret_expected = "'/' or '[' after ']'";
		return false;
	}
	return true;
}

int gnmi_path_parse(const char *text, size_t n, struct arena *a, struct gnmi_elem **ret,
	size_t *ret_n, struct err *e)
{
	struct path_reader r = {.p = text, .end = text + n, .a = a};
	const char *expected = NULL;
	size_t n_elems = 0;

	if (n > GNMI_PATH_MAX)
		return err_set(e, -EINVAL,
			"gNMI path of %zu bytes is too long; expected at most %u", n,
			GNMI_PATH_MAX);
	struct gnmi_elem *elems = arena_array(a, struct gnmi_elem, GNMI_PATH_ELEMS_MAX);
	if (r.p < r.end && *r.p == '/')
		r.p++;
	while (r.p < r.end && !expected) {
		struct gnmi_elem *elem = &elems[n_elems];
		if (n_elems++ == GNMI_PATH_ELEMS_MAX) {
			expected = "fewer elements";
			break;
		}
		elem->name = gnmi_path_word(&r, "/[", &elem->name_n);
		if (elem->name_n == 0)
			expected = "a name between '/' and '/' or before '['";
		else if (keys_read(&r, elem, &expected) && r.p < r.end)
			r.p++;
	}
	if (expected)
		return err_set(e, -EINVAL,
			"gNMI path \"%.*s\": expected %s (as in "
			"/interfaces/interface[name=*]/state; a backslash before / in names, ] in "
			"values)",
			(int)(n < 200 ? n : 200), text, expected);
	*ret = elems;
	*ret_n = n_elems;
	return 0;
}
