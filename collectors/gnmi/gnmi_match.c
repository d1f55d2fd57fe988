/* gnmi_match - compiles a pattern into tokens and matches it by search with backtracking: names and
 * values of keys are short texts. */
#include "collectors/gnmi/gnmi_match.h"

#include <strings.h>

enum place_part {
	PART_PORT,
	PART_ALIAS,
	PART_PRIORITY,
	PART_QUEUE,
	PART_GROUP,
	PART_POOL,
	PART_NAME,
	PART_LANE,
	PART_DSCP
};
static const char *const part_names[] = {
	"port", "alias", "priority", "queue", "group", "pool", "name", "lane", "dscp"};

enum token_kind { TOKEN_TEXT, TOKEN_ANY, TOKEN_PART };
struct token {
	enum token_kind kind;
	enum place_part part;
	const char *p;
	size_t n; /* TEXT */
};
struct glob {
	struct token *v;
	size_t n;
};
struct pattern_elem {
	struct glob name;
	struct {
		const char *name;
		size_t n;
		struct glob value;
	} keys[GNMI_JSON_LIST_KEYS_MAX];
	size_t n_keys;
	const char *text; /* of its name */
};
struct gnmi_pattern {
	struct pattern_elem *elems;
	size_t n;
};

/* ---- compiling ----------------------------------------------------------- */

static bool gnmi_match_part_of(const char *text, size_t n, enum place_part *ret)
{
	for (size_t i = 0; i < rw_countof(part_names); i++)
		if (strlen(part_names[i]) == n && memcmp(part_names[i], text, n) == 0) {
			*ret = (enum place_part)i;
			return true;
		}
	return false;
}

static struct glob glob_of(const char *text, size_t n, struct arena *a)
{
	size_t from = 0, tokens = 1;
	for (size_t i = 0; i < n; i++)
		tokens += 2 * (text[i] == '{' || text[i] == '*');
	struct glob g = {.v = arena_array(a, struct token, tokens)};
	for (size_t i = 0; i <= n; i++) {
		const char *close = NULL;
		if (i < n && text[i] == '{')
			close = memchr(text + i, '}', n - i);
		struct token t = {.kind = TOKEN_ANY};
		if (close &&
			gnmi_match_part_of(text + i + 1, (size_t)(close - text) - i - 1, &t.part))
			t.kind = TOKEN_PART;
		else if (i < n && text[i] != '*')
			continue;
		if (i > from)
			g.v[g.n++] =
				(struct token){.kind = TOKEN_TEXT, .p = text + from, .n = i - from};
		if (i < n)
			g.v[g.n++] = t;
		if (t.kind == TOKEN_PART)
			i = (size_t)(close - text);
		from = i + 1;
	}
	return g;
}

struct gnmi_pattern *gnmi_pattern_new(const char *path, struct arena *a, struct err *e)
{
	/* has room for the longest path there may be */
	rw_cleanup(arena_freep) struct arena *parsed = arena_new();
	struct gnmi_elem *elems;
	struct gnmi_pattern *p = arena_new_of(a, struct gnmi_pattern);
	if (gnmi_path_parse(path, strlen(path), parsed, &elems, &p->n, e) < 0)
		return NULL;
	p->elems = arena_array(a, struct pattern_elem, p->n + 1);
	for (size_t i = 0; i < p->n; i++) {
		struct pattern_elem *to = &p->elems[i];
		to->text = arena_strndup(a, elems[i].name, elems[i].name_n);
		to->name = glob_of(to->text, elems[i].name_n, a);
		for (size_t k = 0; k < elems[i].n_keys && k < rw_countof(to->keys); k++) {
			to->keys[k].name =
				arena_strndup(a, elems[i].keys[k].name, elems[i].keys[k].name_n);
			to->keys[k].n = elems[i].keys[k].name_n;
			to->keys[k].value = glob_of(
				arena_strndup(a, elems[i].keys[k].value, elems[i].keys[k].value_n),
				elems[i].keys[k].value_n, a);
			to->n_keys++;
		}
	}
	return p;
}

void gnmi_pattern_lists(
	const struct gnmi_pattern *pattern, struct gnmi_list *lists, size_t *n, size_t max)
{
	for (size_t i = 0; i < pattern->n; i++) {
		const struct pattern_elem *e = &pattern->elems[i];
		bool known = e->n_keys == 0 || *n == max;
		for (size_t k = 0; k < *n && !known; k++)
			known = strcmp(lists[k].name, e->text) == 0;
		if (known)
			continue;
		lists[*n] = (struct gnmi_list){.name = e->text};
		for (size_t k = 0; k < e->n_keys; k++)
			lists[*n].keys[k] = e->keys[k].name;
		(*n)++;
	}
}

/* ---- matching ------------------------------------------------------------ */

/* numbers_of - "3", "3-4", "0,3-4", each below 64. */
static bool numbers_of(const char *text, size_t n, uint64_t *ret)
{
	uint64_t set = 0;
	size_t i = 0;
	while (i < n) {
		unsigned v[2] = {0, 0}, k = 0;
		for (;; k++) {
			size_t digits = 0;
			for (; i < n && isdigit((unsigned char)text[i]) && digits < 3;
				i++, digits++)
				v[k] = v[k] * 10 + (unsigned)(text[i] - '0');
			if (digits == 0 || v[k] > 63)
				return false;
			if (k == 1 || i == n || text[i] != '-')
				break;
			i++;
		}
		if (k == 0)
			v[1] = v[0];
		for (unsigned b = v[0]; b <= v[1]; b++)
			set |= (uint64_t)1 << b;
		if (i < n && text[i++] != ',')
			return false;
		if (i == n && text[i - 1] == ',')
			return false;
	}
	*ret = set;
	return set != 0;
}

/* What servers write before the number of a queue or of a priority group. */
static const char *const queue_words[] = {"uc", "unicast", "queue", "q", "tc", NULL};
static const char *const group_words[] = {"pfc", "pg", NULL};

/* numbers_named - the numbers in a server's name of a queue or group: "3", "UC3", "unicast-3". */
static bool numbers_named(const char *text, size_t n, const char *const *words, uint64_t *ret)
{
	if (numbers_of(text, n, ret))
		return true;
	for (; *words; words++) {
		size_t k = strlen(*words);
		if (n <= k || strncasecmp(text, *words, k) != 0)
			continue;
		k += text[k] == '-' || text[k] == '_' || text[k] == ' ';
		if (n > k && numbers_of(text + k, n - k, ret))
			return true;
	}
	return false;
}

static bool number_take(struct gnmi_match *at, enum gnmi_number kind, uint64_t numbers)
{
	at->number = kind;
	at->numbers = numbers;
	return true;
}

static bool part_take(
	struct gnmi_match *at, enum place_part part, const char *string, size_t n, bool alone)
{
	const struct gnmi_text text = {string, n};
	uint64_t numbers;
	if (n == 0)
		return false;
	switch (part) {
	case PART_PORT:
	case PART_ALIAS:
		at->port = text;
		at->alias = part == PART_ALIAS;
		return true;
	case PART_POOL: at->pool = text; return true;
	case PART_NAME: at->name = text; return true;
	case PART_PRIORITY:
		return numbers_of(string, n, &numbers) && numbers < 256 &&
			number_take(at, GNMI_NUMBER_PRIORITY, numbers);
	case PART_LANE: at->has_lane = true; return numbers_of(string, n, &at->lanes);
	case PART_DSCP:
		return numbers_of(string, n, &numbers) &&
			number_take(at, GNMI_NUMBER_DSCP, numbers);
	case PART_GROUP:
		if (alone && numbers_named(string, n, group_words, &numbers))
			return number_take(at, GNMI_NUMBER_GROUP, numbers);
		if (numbers_of(string, n, &numbers))
			return number_take(at, GNMI_NUMBER_GROUP, numbers);
		at->number = GNMI_NUMBER_GROUP;
		at->queue_name = text;
		return alone;
	case PART_QUEUE:
		if (alone && numbers_named(string, n, queue_words, &numbers))
			return number_take(at, GNMI_NUMBER_QUEUE, numbers);
		if (!alone && numbers_of(string, n, &numbers))
			return number_take(at, GNMI_NUMBER_QUEUE, numbers);
		at->number = GNMI_NUMBER_QUEUE;
		at->queue_name = text;
		return alone;
	}
	return false;
}

static bool glob_match(const struct token *tokens, size_t n_v, const char *text, size_t n,
	struct gnmi_match *at, bool alone)
{
	if (n_v == 0)
		return n == 0;
	if (tokens->kind == TOKEN_TEXT)
		return n >= tokens->n && memcmp(text, tokens->p, tokens->n) == 0 &&
			glob_match(tokens + 1, n_v - 1, text + tokens->n, n - tokens->n, at, false);
	/* The longest first: a port's name may contain the text that follows it in the pattern. */
	for (size_t take = n + 1; take-- > 0;) {
		struct gnmi_match was = *at;
		if (n_v == 1 && take < n)
			return false;
		if ((tokens->kind == TOKEN_ANY || part_take(at, tokens->part, text, take, alone)) &&
			glob_match(tokens + 1, n_v - 1, text + take, n - take, at, false))
			return true;
		*at = was;
	}
	return false;
}

/* gnmi_match_key_of - the key with this name; NULL when the element has none. */
static const struct gnmi_key *gnmi_match_key_of(
	const struct gnmi_elem *elem, const char *name, size_t n)
{
	for (size_t i = 0; i < elem->n_keys; i++)
		if (elem->keys[i].name_n == n && memcmp(elem->keys[i].name, name, n) == 0)
			return &elem->keys[i];
	return NULL;
}

static bool elem_match(
	const struct pattern_elem *want, const struct gnmi_elem *have, struct gnmi_match *at)
{
	if (!glob_match(
		    want->name.v, want->name.n, have->name, have->name_n, at, want->name.n == 1))
		return false;
	for (size_t i = 0; i < want->n_keys; i++) {
		const struct gnmi_key *key =
			gnmi_match_key_of(have, want->keys[i].name, want->keys[i].n);
		const struct glob *value = &want->keys[i].value;
		if (!key)
			return false;
		if (!glob_match(value->v, value->n, key->value, key->value_n, at, value->n == 1))
			return false;
	}
	return true;
}

bool gnmi_pattern_match(const struct gnmi_pattern *pattern, const struct gnmi_elem *elems, size_t n,
	struct gnmi_match *ret)
{
	*ret = (struct gnmi_match){0};
	if (n != pattern->n)
		return false;
	/* from the end: the last elements of paths differ most */
	for (size_t i = n; i-- > 0;)
		if (!elem_match(&pattern->elems[i], &elems[i], ret))
			return false;
	return true;
}

/* gnmi_compiled - compiles the patterns of a stream when its first target needs them. */

struct gnmi_compiled_set {
	struct arena *arena;
	struct gnmi_compiled **v;
	size_t n, cap;
};

struct gnmi_compiled_set *gnmi_compiled_set_new(void)
{
	struct gnmi_compiled_set *s = rw_calloc(1, sizeof(*s));
	s->arena = arena_new();
	return s;
}

void gnmi_compiled_set_free(void *set)
{
	struct gnmi_compiled_set *s = set;
	if (!s)
		return;
	arena_free(s->arena);
	free(s->v);
	free(s);
}

static bool gnmi_compiled_shares(const struct profile_gnmi_stream *stream, size_t i)
{
	/* several paths of one row, such as the lanes of a transceiver */
	const char *path = stream->values[i].path;
	if (stream->values[i].metric >= 0 && (strchr(path, '*') || strstr(path, "{lane}")))
		return true;
	for (size_t k = 0; k < stream->n_values && stream->values[i].metric >= 0; k++)
		if (k != i && stream->values[k].metric == stream->values[i].metric)
			return true;
	return false;
}

/* gnmi_compiled_also - the next value with the path of value @i + 1; 0 = none. */
static size_t gnmi_compiled_also(const struct profile_gnmi_stream *stream, size_t i)
{
	for (size_t k = i + 1; k < stream->n_values; k++)
		if (strcmp(stream->values[k].path, stream->values[i].path) == 0)
			return k + 1;
	return 0;
}

const struct gnmi_compiled *gnmi_compiled_get(
	struct gnmi_compiled_set *set, const struct profile_gnmi_stream *stream, struct err *e)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i]->stream == stream)
			return set->v[i];
	struct gnmi_compiled *c = arena_new_of(set->arena, struct gnmi_compiled);
	c->stream = stream;
	c->patterns = arena_array(set->arena, struct gnmi_pattern *, stream->n_values + 1);
	c->shared = arena_array(set->arena, bool, stream->n_values + 1);
	c->also = arena_array(set->arena, size_t, stream->n_values + 1);
	for (size_t i = 0; i < stream->n_values; i++) {
		c->patterns[i] = gnmi_pattern_new(stream->values[i].path, set->arena, e);
		if (!c->patterns[i])
			return NULL;
		gnmi_pattern_lists(c->patterns[i], c->lists, &c->n_lists, GNMI_LISTS_MAX);
		c->shared[i] = gnmi_compiled_shares(stream, i);
		c->also[i] = gnmi_compiled_also(stream, i);
		c->has_lldp = c->has_lldp || stream->values[i].attribute >= GNMI_ATTRIBUTE_CHASSIS;
		c->has_lanes =
			c->has_lanes || stream->values[i].attribute == GNMI_ATTRIBUTE_PORT_LANES;
	}
	rw_grow(set->v, set->n, set->cap);
	set->v[set->n++] = c;
	return c;
}
