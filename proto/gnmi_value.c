/* gnmi_value - values as numbers and as text, and the unit of a timestamp. */

#include "proto/gnmi.h"
#include "proto/gnmi_codec.h"

#define NUMBER_TEXT_MAX 400u /* a double needs at most 326 digits and signs in plain notation */

/* Decimal digits, perhaps with a fraction of zeros, as some encode an integer of type decimal64. */
static int u64_from_text(const char *text, size_t n, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;
	bool negative = n > 1 && text[0] == '-', over = false, fraction = false;
	if (negative)
		i++;
	size_t first = i;
	for (; i < n && text[i] >= '0' && text[i] <= '9'; i++) {
		if (__builtin_mul_overflow(v, (uint64_t)10, &v) ||
			__builtin_add_overflow(v, (uint64_t)(text[i] - '0'), &v))
			over = true;
	}
	if (i == first)
		return -EINVAL;
	if (i < n) {
		if (text[i] != '.' || i + 1 == n)
			return -EINVAL;
		for (i++; i < n; i++) {
			if (text[i] < '0' || text[i] > '9')
				return -EINVAL;
			if (text[i] != '0')
				fraction = true;
		}
	}
	if (over || fraction || (negative && v != 0))
		return -ERANGE;
	*ret = v;
	return 0;
}

static int u64_from_decimal(int64_t digits, uint32_t scale, uint64_t *ret)
{
	for (; scale > 0 && digits != 0; scale--) {
		if (digits % 10 != 0)
			return -ERANGE;
		digits /= 10;
	}
	if (digits < 0)
		return -ERANGE;
	*ret = (uint64_t)digits;
	return 0;
}

int gnmi_value_u64(const struct gnmi_value *value, uint64_t *ret)
{
	switch (value->kind) {
	case GNMI_UINT: *ret = value->u; return 0;
	case GNMI_INT:
		if (value->i < 0)
			return -ERANGE;
		*ret = (uint64_t)value->i;
		return 0;
	case GNMI_BOOL: *ret = value->b; return 0;
	case GNMI_DOUBLE:
		if (!(value->d >= 0 && value->d < 0x1p64) ||
			value->d != floor(value->d)) /* also refuses NAN */
			return -ERANGE;
		*ret = (uint64_t)value->d;
		return 0;
	case GNMI_DECIMAL: return u64_from_decimal(value->i, value->scale, ret);
	case GNMI_STRING:
	case GNMI_ASCII: return u64_from_text(value->p, value->n, ret);
	default: return -EINVAL;
	}
}

static int double_from_text(const char *string, size_t n, double *ret)
{
	char text[NUMBER_TEXT_MAX], *end;
	/* Only what a number looks like reaches strtod, which would also take blanks, hexadecimal
	 * and "infinity". */
	if (n == 0 || n >= sizeof(text))
		return -EINVAL;
	memcpy(text, string, n);
	text[n] = '\0';
	if (strspn(text, "0123456789+-.eE") < n || text[0] == '+' || strspn(text, "+-.eE") > 1)
		return -EINVAL;
	double d = strtod(text, &end);
	if (end != text + n)
		return -EINVAL;
	if (!isfinite(d))
		return -ERANGE;
	*ret = d;
	return 0;
}

/* OpenConfig's ieeefloat32 (openconfig-types): the 4 bytes of a float, the first one with the sign.
 */
static int double_from_bytes(const char *p, size_t n, double *ret)
{
	uint32_t bits = 0;
	float f;
	if (n != sizeof(bits))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		bits = bits << 8 | (unsigned char)p[i];
	memcpy(&f, &bits, sizeof(f));
	if (!isfinite(f))
		return -ERANGE;
	*ret = (double)f;
	return 0;
}

int gnmi_value_double(const struct gnmi_value *value, double *ret)
{
	switch (value->kind) {
	case GNMI_UINT: *ret = (double)value->u; return 0;
	case GNMI_INT: *ret = (double)value->i; return 0;
	case GNMI_BOOL: *ret = value->b; return 0;
	case GNMI_DOUBLE:
		if (!isfinite(value->d))
			return -ERANGE;
		*ret = value->d;
		return 0;
	case GNMI_DECIMAL: {
		double d =
			(double)value->i / pow(10, value->scale); /* 0 when the power is infinite */
		*ret = d;
		return 0;
	}
	case GNMI_STRING:
	case GNMI_ASCII: return double_from_text(value->p, value->n, ret);
	case GNMI_BYTES: return double_from_bytes(value->p, value->n, ret);
	default: return -EINVAL;
	}
}

static char *text_of_bytes(const struct gnmi_value *value, char *buf, size_t size)
{
	static const char digits[] = "0123456789abcdef";
	size_t at = 0;
	for (size_t i = 0; i < value->n && at + 3 <= size; i++) {
		buf[at++] = digits[(unsigned char)value->p[i] >> 4];
		buf[at++] = digits[(unsigned char)value->p[i] & 15];
	}
	buf[at] = '\0';
	return buf;
}

static char *text_of_text(const struct gnmi_value *value, char *buf, size_t size)
{
	size_t n = size - 1;
	if (value->n < size - 1)
		n = value->n;
	for (size_t i = 0; i < n; i++) {
		if (value->p[i] >= 0x20 && value->p[i] < 0x7f)
			buf[i] = value->p[i];
		else
			buf[i] = '?';
	}
	buf[n] = '\0';
	return buf;
}

static const char *bool_text(bool value)
{
	if (value)
		return "true";
	return "false";
}

char *gnmi_value_text(const struct gnmi_value *value, char *buf, size_t size)
{
	if (size == 0)
		return buf;
	switch (value->kind) {
	case GNMI_NULL: snprintf(buf, size, "null"); return buf;
	case GNMI_INT: snprintf(buf, size, "%" PRId64, value->i); return buf;
	case GNMI_UINT: snprintf(buf, size, "%" PRIu64, value->u); return buf;
	case GNMI_BOOL: snprintf(buf, size, "%s", bool_text(value->b)); return buf;
	case GNMI_DOUBLE: snprintf(buf, size, "%.17g", value->d); return buf;
	case GNMI_DECIMAL:
		snprintf(buf, size, "%" PRId64 "/10^%" PRIu32, value->i, value->scale);
		return buf;
	case GNMI_STRING:
	case GNMI_ASCII: return text_of_text(value, buf, size);
	case GNMI_BYTES:
	case GNMI_PROTO: return text_of_bytes(value, buf, size);
	}
	buf[0] = '\0';
	return buf;
}

enum gnmi_clock gnmi_clock(int64_t raw, int64_t *ret_ns)
{
	/* 2015 to 2100. Read in another unit, a time of these years is in 1970 or after 2100. */
	const int64_t first_s = 1420070400, last_s = 4102444800;
	static const int64_t per_s[] = {1, 1000, 1000000};

	*ret_ns = 0;
	if (raw <= 0)
		return GNMI_CLOCK_MISSING;
	for (size_t i = 0; i < sizeof(per_s) / sizeof(per_s[0]); i++)
		if (raw >= first_s * per_s[i] && raw < last_s * per_s[i]) {
			*ret_ns = raw * (NS_PER_S / per_s[i]);
			return GNMI_CLOCK_SCALED;
		}
	*ret_ns = raw;
	if (raw < first_s * NS_PER_S)
		return GNMI_CLOCK_EARLY;
	return GNMI_CLOCK_OK;
}

/* gnmi_json - checks a JSON text as a whole, then flattens it: the second pass trusts every byte.
 */

struct json_text {
	const char *p, *end;
};

static bool is_digit(char letter)
{
	return letter >= '0' && letter <= '9';
}

static void gnmi_json_blanks(struct json_text *text)
{
	while (text->p < text->end &&
		(*text->p == ' ' || *text->p == '\t' || *text->p == '\n' || *text->p == '\r'))
		text->p++;
}

/* ---- the check ----------------------------------------------------------- */

static int gnmi_json_hex4(const char *digits)
{
	int v = 0;
	for (int i = 0; i < 4; i++) {
		int c = (unsigned char)digits[i], lower = c | 0x20;
		if (c >= '0' && c <= '9')
			v = v * 16 + c - '0';
		else if (lower >= 'a' && lower <= 'f')
			v = v * 16 + lower - 'a' + 10;
		else
			return -1;
	}
	return v;
}

/* check_escape - the part after the backslash. */
static bool check_escape(struct json_text *text)
{
	if (text->p == text->end)
		return false;
	char c = *text->p++;
	if (c != 'u')
		return c && strchr("\"\\/bfnrt", c);
	int v = -1;
	if (text->end - text->p >= 4)
		v = gnmi_json_hex4(text->p);
	if (v < 0)
		return false;
	text->p += 4;
	if (v < 0xd800 || v > 0xdfff)
		return true;
	if (v > 0xdbff || text->end - text->p < 6 || text->p[0] != '\\' || text->p[1] != 'u')
		return false;
	v = gnmi_json_hex4(text->p + 2);
	text->p += 6;
	return v >= 0xdc00 && v <= 0xdfff;
}

/* A UTF-8 sequence of two to four bytes (Unicode 15, table 3-7). */
static bool check_utf8(struct json_text *text)
{
	unsigned char c = (unsigned char)*text->p++;
	unsigned char low = 0x80;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xf0)
		low = 0x90;
	unsigned char high = 0xbf;
	if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf4)
		high = 0x8f;
	int more = 0;
	if (c >= 0xc2 && c <= 0xdf)
		more = 1;
	else if (c >= 0xe0 && c <= 0xef)
		more = 2;
	else if (c >= 0xf0 && c <= 0xf4)
		more = 3;
	if (more == 0 || text->end - text->p < more)
		return false;
	for (; more > 0; more--, low = 0x80, high = 0xbf) {
		unsigned char next = (unsigned char)*text->p++;
		if (next < low || next > high)
			return false;
	}
	return true;
}

/* Steps over bytes that a string holds as they are, eight at a time: ASCII without control
 * characters, quotes and backslashes. In the words below, a byte with its top bit set is one of
 * these (or follows one); it is then checked alone. */
static void plain_run(struct json_text *text)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
	while (text->end - text->p >= 8) {
		uint64_t v;
		memcpy(&v, text->p, sizeof(v));
		uint64_t quote = v ^ (ones * '"'), backslash = v ^ (ones * '\\');
		if ((v | (v - ones * 0x20) | (quote - ones) | (backslash - ones)) & tops)
			return;
		text->p += 8;
	}
}

static bool check_string(struct json_text *text)
{
	for (text->p++; text->p < text->end;) {
		plain_run(text);
		if (text->p == text->end)
			return false;
		unsigned char c = (unsigned char)*text->p;
		if (c >= 0x80) {
			if (!check_utf8(text))
				return false;
			continue;
		}
		text->p++;
		if (c == '"')
			return true;
		if (c < 0x20 || (c == '\\' && !check_escape(text)))
			return false;
	}
	return false;
}

static bool check_digits(struct json_text *text)
{
	const char *first = text->p;
	while (text->p < text->end && is_digit(*text->p))
		text->p++;
	return text->p > first;
}

static bool check_number(struct json_text *text)
{
	if (*text->p == '-')
		text->p++;
	const char *first = text->p;
	if (!check_digits(text) || (*first == '0' && text->p > first + 1))
		return false;
	if (text->p < text->end && *text->p == '.') {
		text->p++;
		if (!check_digits(text))
			return false;
	}
	if (text->p < text->end && (*text->p == 'e' || *text->p == 'E')) {
		text->p++;
		if (text->p < text->end && (*text->p == '+' || *text->p == '-'))
			text->p++;
		return check_digits(text);
	}
	return true;
}

static bool check_word(struct json_text *text, const char *word, size_t n)
{
	if ((size_t)(text->end - text->p) < n || memcmp(text->p, word, n) != 0)
		return false;
	text->p += n;
	return true;
}

static bool gnmi_json_check(struct json_text *text, unsigned depth);

/* An object or an array, whose end is @close. */
static bool check_members(struct json_text *text, char close, unsigned depth)
{
	if (depth == GNMI_JSON_DEPTH_MAX)
		return false;
	text->p++;
	gnmi_json_blanks(text);
	if (text->p < text->end && *text->p == close) {
		text->p++;
		return true;
	}
	for (;;) {
		if (close == '}') {
			gnmi_json_blanks(text);
			if (text->p == text->end || *text->p != '"' || !check_string(text))
				return false;
			gnmi_json_blanks(text);
			if (text->p == text->end || *text->p++ != ':')
				return false;
		}
		if (!gnmi_json_check(text, depth + 1))
			return false;
		gnmi_json_blanks(text);
		if (text->p == text->end)
			return false;
		char c = *text->p++;
		if (c != ',')
			return c == close;
	}
}

/* Recursion ends at GNMI_JSON_DEPTH_MAX. */
static bool gnmi_json_check(struct json_text *text, unsigned depth)
{
	gnmi_json_blanks(text);
	if (text->p == text->end)
		return false;
	switch (*text->p) {
	case '{': return check_members(text, '}', depth);
	case '[': return check_members(text, ']', depth);
	case '"': return check_string(text);
	case 't': return check_word(text, "true", 4);
	case 'f': return check_word(text, "false", 5);
	case 'n': return check_word(text, "null", 4);
	default: return (*text->p == '-' || is_digit(*text->p)) && check_number(text);
	}
}

/* ---- the leaves; from here on the text is known to be JSON --------------- */

struct flat {
	struct json_text t;
	struct gnmi_path *at;
	const struct gnmi_decode *d;
	struct arena *a;
	gnmi_leaf_fn *fn;
	void *arg;
};

static char *utf8_put(char *out, unsigned code)
{
	if (code < 0x80) {
		*out++ = (char)code;
	} else if (code < 0x800) {
		*out++ = (char)(0xc0 | code >> 6);
		*out++ = (char)(0x80 | (code & 63));
	} else if (code < 0x10000) {
		*out++ = (char)(0xe0 | code >> 12);
		*out++ = (char)(0x80 | (code >> 6 & 63));
		*out++ = (char)(0x80 | (code & 63));
	} else {
		*out++ = (char)(0xf0 | code >> 18);
		*out++ = (char)(0x80 | (code >> 12 & 63));
		*out++ = (char)(0x80 | (code >> 6 & 63));
		*out++ = (char)(0x80 | (code & 63));
	}
	return out;
}

static const char *gnmi_json_unescape(struct arena *a, const char *string, size_t n, size_t *ret_n)
{
	static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	char *text = arena_alloc(a, n), *out = text;
	for (const char *end = string + n; string < end;) {
		if (*string != '\\') {
			*out++ = *string++;
			continue;
		}
		if (string[1] != 'u') {
			*out++ = meant[strchr(plain, string[1]) - plain];
			string += 2;
			continue;
		}
		unsigned v = (unsigned)gnmi_json_hex4(string + 2);
		string += 6;
		if (v >= 0xd800 && v <= 0xdbff) {
			v = 0x10000 + ((v - 0xd800) << 10) +
				((unsigned)gnmi_json_hex4(string + 2) - 0xdc00);
			string += 6;
		}
		out = utf8_put(out, v);
	}
	*ret_n = (size_t)(out - text);
	return text;
}

static const char *string_read(struct flat *flat, size_t *ret_n)
{
	const char *s = ++flat->t.p, *end = memchr(s, '"', (size_t)(flat->t.end - s));
	bool escaped = memchr(s, '\\', (size_t)(end - s));
	if (escaped) { /* that quote may be one of the escapes */
		for (end = s; *end != '"'; end++)
			if (*end == '\\')
				end++;
	}
	size_t n = (size_t)(end - s);
	flat->t.p = end + 1;
	if (escaped)
		return gnmi_json_unescape(flat->a, s, n, ret_n);
	*ret_n = n;
	return s;
}

static struct gnmi_value number_read(struct flat *flat)
{
	const char *s = flat->t.p;
	bool negative = *s == '-', whole = true, over = false;
	uint64_t v = 0;
	flat->t.p += negative;
	for (; flat->t.p < flat->t.end; flat->t.p++) {
		char c = *flat->t.p;
		if (is_digit(c)) {
			over |= __builtin_mul_overflow(v, (uint64_t)10, &v) ||
				__builtin_add_overflow(v, (uint64_t)(c - '0'), &v);
			continue;
		}
		if (c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-')
			break;
		whole = false;
	}
	struct gnmi_value r = {.kind = GNMI_STRING, .p = s, .n = (size_t)(flat->t.p - s)};
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

static struct gnmi_value scalar_read(struct flat *flat)
{
	struct gnmi_value v = {0};
	switch (*flat->t.p) {
	case '"':
		v.kind = GNMI_STRING;
		v.p = string_read(flat, &v.n);
		return v;
	case 't':
	case 'f':
		v.kind = GNMI_BOOL;
		v.b = *flat->t.p == 't';
		if (v.b)
			flat->t.p += 4;
		else
			flat->t.p += 5;
		return v;
	case 'n': flat->t.p += 4; return v;
	default: return number_read(flat);
	}
}

static void string_skip(struct json_text *text)
{
	for (text->p++; *text->p != '"'; text->p++)
		if (*text->p == '\\')
			text->p++;
	text->p++;
}

/* Steps over a value of any kind, by counting brackets outside strings. */
static void gnmi_json_skip(struct json_text *text)
{
	unsigned depth = 0;
	gnmi_json_blanks(text);
	do {
		if (*text->p == '"') {
			string_skip(text);
			continue;
		}
		if (*text->p == '{' || *text->p == '[')
			depth++;
		else if (*text->p == '}' || *text->p == ']')
			depth--;
		else if (depth == 0) { /* a word or a number: up to what may follow one */
			while (text->p < text->end && !strchr(",]} \t\r\n", *text->p))
				text->p++;
			return;
		}
		text->p++;
	} while (depth > 0);
}

/* Steps to the next member of an object or an array, and over the brackets at both ends. False
 * after the last. */
static bool gnmi_json_next(struct json_text *text, bool *first)
{
	if (*first)
		text->p++;
	gnmi_json_blanks(text);
	char c = *text->p;
	if (c == '}' || c == ']') {
		text->p++;
		return false;
	}
	if (!*first) {
		text->p++; /* the comma */
		gnmi_json_blanks(text);
	}
	*first = false;
	return true;
}

static void gnmi_json_colon(struct json_text *text)
{
	gnmi_json_blanks(text);
	text->p++;
	gnmi_json_blanks(text);
}

/* The keys of the entry at @t, an object, in the order of @list. False when one is missing or is no
 * leaf. */
static bool keys_find(
	struct flat *flat, const struct gnmi_list *list, struct gnmi_key *keys, size_t *ret_n)
{
	struct json_text was = flat->t;
	size_t wanted = 0, found = 0;
	bool first = true, have[GNMI_JSON_LIST_KEYS_MAX] = {false};

	while (wanted < GNMI_JSON_LIST_KEYS_MAX && list->keys[wanted])
		wanted++;
	while (found < wanted && gnmi_json_next(&flat->t, &first)) {
		size_t n, i = 0;
		const char *name = string_read(flat, &n);
		size_t bare = 0;
		if (!flat->d->plain_names)
			bare = gnmi_name_skip(name, n);
		gnmi_json_colon(&flat->t);
		while (i < wanted &&
			(have[i] || strlen(list->keys[i]) != n - bare ||
				memcmp(list->keys[i], name + bare, n - bare) != 0))
			i++;
		if (i == wanted || *flat->t.p == '{' || *flat->t.p == '[') {
			gnmi_json_skip(&flat->t);
			continue;
		}
		keys[i] = (struct gnmi_key){.name = list->keys[i], .name_n = n - bare};
		if (*flat->t.p == '"') {
			keys[i].value = string_read(flat, &keys[i].value_n);
		} else {
			keys[i].value = flat->t.p;
			gnmi_json_skip(&flat->t);
			keys[i].value_n = (size_t)(flat->t.p - keys[i].value);
		}
		have[i] = true;
		found++;
	}
	flat->t = was;
	*ret_n = found;
	return wanted > 0 && found == wanted;
}

static const struct gnmi_list *list_find(
	const struct gnmi_decode *decode, const char *name, size_t n)
{
	for (size_t i = 0; i < decode->n_lists; i++)
		if (strlen(decode->lists[i].name) == n &&
			memcmp(decode->lists[i].name, name, n) == 0)
			return &decode->lists[i];
	return NULL;
}

static void gnmi_json_value(struct flat *flat);

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

static void gnmi_json_array(struct flat *flat)
{
	const size_t n = flat->at->n;
	const unsigned elems = flat->at->elems;
	struct json_text was = flat->t;
	bool first = true;
	size_t name_n, index = 0;
	const char *name = last_name(flat->at, &name_n);
	/* A path that ends in keys is an entry already: arrays in it have no names. */
	const struct gnmi_list *list = NULL;
	if (n > 0 && flat->at->s[n - 1] != ']')
		list = list_find(flat->d, name, name_n);

	if (gnmi_json_next(&flat->t, &first) && *flat->t.p == 'n') {
		flat->t.p += 4;
		gnmi_json_blanks(&flat->t);
		if (*flat->t.p == ']') {
			flat->t.p++;
			flat->fn(flat->arg, flat->at, &(struct gnmi_value){.kind = GNMI_NULL});
			return;
		}
	}
	flat->t = was;
	for (first = true; gnmi_json_next(&flat->t, &first); index++) {
		struct gnmi_key keys[GNMI_JSON_LIST_KEYS_MAX];
		size_t n_keys = 0;
		bool by_key = list && *flat->t.p == '{' && keys_find(flat, list, keys, &n_keys);
		if (by_key ? gnmi_path_add_keys(flat->at, keys, n_keys)
			   : gnmi_path_add_index(flat->at, index)) {
			gnmi_json_value(flat);
		} else {
			flat->d->counts->bad_paths++;
			gnmi_json_skip(&flat->t);
		}
		gnmi_path_cut(flat->at, n, elems);
	}
}

static void gnmi_json_object(struct flat *flat)
{
	const size_t n = flat->at->n;
	const unsigned elems = flat->at->elems;
	bool first = true;

	while (gnmi_json_next(&flat->t, &first)) {
		size_t name_n;
		const char *name = string_read(flat, &name_n);
		gnmi_json_colon(&flat->t);
		if (name_n > 0 &&
			gnmi_path_add(flat->at, name, name_n, NULL, 0, flat->d->plain_names)) {
			gnmi_json_value(flat);
		} else {
			flat->d->counts->bad_paths++;
			gnmi_json_skip(&flat->t);
		}
		gnmi_path_cut(flat->at, n, elems);
	}
}

static void gnmi_json_value(struct flat *flat)
{
	gnmi_json_blanks(&flat->t);
	if (*flat->t.p == '{') {
		gnmi_json_object(flat);
	} else if (*flat->t.p == '[') {
		gnmi_json_array(flat);
	} else {
		struct gnmi_value v = scalar_read(flat);
		flat->fn(flat->arg, flat->at, &v);
	}
}

int gnmi_json_flatten(const void *data, size_t n, struct gnmi_path *at,
	const struct gnmi_decode *decode, struct arena *a, gnmi_leaf_fn *fn, void *arg)
{
	if (n == 0)
		return -EBADMSG;
	struct flat f = {.t = {data, (const char *)data + n},
		.at = at,
		.d = decode,
		.a = a,
		.fn = fn,
		.arg = arg};
	struct json_text t = f.t;
	if (!gnmi_json_check(&t, 0))
		return -EBADMSG;
	gnmi_json_blanks(&t);
	if (t.p != t.end)
		return -EBADMSG;
	gnmi_json_value(&f);
	return 0;
}
