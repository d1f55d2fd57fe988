/* hostlist - reads and writes lists of hosts in the words of Slurm. */
#include "agent/jobs/hostlist.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "config/fabric.h"

enum { NUMBER_DIGITS = 18, NAME_BYTES = 255 };

/* ---- reading ------------------------------------------------------------- */

struct hostlist_names {
	struct arena *a;
	const char *text; /* the whole list, for messages */
	const char **v;
	size_t n, cap;
	struct err *e;
};

static int hostlist_wrong(const struct hostlist_names *names, const char *at, const char *expected)
{
	return err_set(names->e, -EINVAL, "'%.64s' is no list of hosts: character %zu: expected %s",
		names->text, (size_t)(at - names->text) + 1, expected);
}

static int hostlist_add(struct hostlist_names *names, const char *name)
{
	if (names->n == HOSTLIST_MAX)
		return err_set(names->e, -EINVAL, "'%.64s...' stands for more than %d hosts",
			names->text, HOSTLIST_MAX);
	arena_grow(names->a, names->v, names->n, names->cap);
	names->v[names->n++] = name;
	return 0;
}

struct hostlist_range {
	uint64_t from, to;
	int width;
};

/* One of the parts between commas in brackets: "7" or "001-016". @at moves behind it. */
static int hostlist_range(
	const struct hostlist_names *names, const char **at, struct hostlist_range *ret)
{
	const char *begin = *at;
	const size_t digits = strspn(begin, "0123456789");
	if (digits == 0 || digits > NUMBER_DIGITS)
		return hostlist_wrong(names, begin, "a number of 1 to 18 digits");
	*ret = (struct hostlist_range){.from = strtoull(begin, NULL, 10), .width = (int)digits};
	ret->to = ret->from;
	*at = begin + digits;
	if (**at != '-')
		return 0;
	const char *last = *at + 1;
	const size_t last_digits = strspn(last, "0123456789");
	if (last_digits == 0 || last_digits > NUMBER_DIGITS)
		return hostlist_wrong(names, last, "a number of 1 to 18 digits");
	ret->to = strtoull(last, NULL, 10);
	if (ret->to < ret->from)
		return hostlist_wrong(names, last, "a number that is not below the first one");
	if (ret->to - ret->from >= HOSTLIST_MAX)
		return hostlist_wrong(names, last, "a range of at most 65,536 numbers");
	*at = last + last_digits;
	return 0;
}

static int hostlist_word(struct hostlist_names *names, const char *prefix, const char *rest);

/* "[...]" at @open, behind @prefix: each number of each range, and what follows the bracket. */
static int hostlist_bracket(struct hostlist_names *names, const char *prefix, const char *open)
{
	const char *close = strchr(open, ']');
	if (!close)
		return hostlist_wrong(names, open, "a ']' behind this '['");
	for (const char *at = open + 1; at < close;) {
		struct hostlist_range range = {0};
		int rc = hostlist_range(names, &at, &range);
		if (rc < 0)
			return rc;
		for (uint64_t k = range.from; k <= range.to && rc == 0; k++) {
			const char *name = arena_printf(
				names->a, "%s%0*llu", prefix, range.width, (unsigned long long)k);
			rc = hostlist_word(names, name, close + 1);
		}
		if (rc < 0)
			return rc;
		if (*at != ',' && at != close)
			return hostlist_wrong(names, at, "',' or ']'");
		at += *at == ',';
	}
	return 0;
}

/* The rest of one name, up to a comma or the end. */
static int hostlist_word(struct hostlist_names *names, const char *prefix, const char *rest)
{
	const size_t plain = strcspn(rest, "[],");
	const char *name = prefix;
	if (plain > 0)
		name = arena_printf(names->a, "%s%.*s", prefix, (int)plain, rest);
	if (strlen(name) > NAME_BYTES) /* also the bound of brackets in one name */
		return hostlist_wrong(names, rest, "a name of at most 255 characters");
	if (rest[plain] == ']')
		return hostlist_wrong(names, rest + plain, "a '[' before this ']'");
	if (rest[plain] == '[')
		return hostlist_bracket(names, name, rest + plain);
	if (!*name)
		return hostlist_wrong(names, rest, "a name");
	return hostlist_add(names, name);
}

/* Behind the name that begins at @at: commas in brackets separate numbers. */
static const char *hostlist_next(const char *at)
{
	bool inside = false;
	for (; *at && (inside || *at != ','); at++) {
		if (*at == '[')
			inside = true;
		else if (*at == ']')
			inside = false;
	}
	return at;
}

/* Several brackets multiply: a list that is too long is refused before anything is made of it. */
static bool hostlist_is_long(const char *text)
{
	return strlen(text) > (size_t)HOSTLIST_MAX * 16;
}

int hostlist_expand(
	struct arena *a, const char *text, const char *const **ret, size_t *ret_n, struct err *e)
{
	struct hostlist_names names = {.a = a, .text = text, .e = e};
	*ret = NULL;
	*ret_n = 0;
	if (hostlist_is_long(text))
		return err_set(e, -EINVAL, "a list of hosts of %zu bytes; expected at most 1 MiB",
			strlen(text));
	for (const char *at = text; *at;) {
		const int rc = hostlist_word(&names, "", at);
		if (rc < 0)
			return rc;
		at = hostlist_next(at);
		at += *at == ',';
	}
	*ret = names.v;
	*ret_n = names.n;
	return 0;
}

/* ---- writing ------------------------------------------------------------- */

static int hostlist_by_name(const void *left, const void *right)
{
	return name_compare(*(const char *const *)left, *(const char *const *)right);
}

/* A name as "prefix, number, suffix": the last number in it is the one that ranges. */
struct hostlist_parts {
	const char *name;
	size_t prefix, digits;
	uint64_t number;
};

static struct hostlist_parts hostlist_split(const char *name)
{
	struct hostlist_parts ret = {.name = name, .prefix = strlen(name)};
	size_t end = strlen(name);
	while (end > 0 && !isdigit((unsigned char)name[end - 1]))
		end--;
	size_t begin = end;
	while (begin > 0 && isdigit((unsigned char)name[begin - 1]) && end - begin < NUMBER_DIGITS)
		begin--;
	if (begin == end)
		return ret;
	ret.prefix = begin;
	ret.digits = end - begin;
	ret.number = strtoull(name + begin, NULL, 10);
	return ret;
}

/* May both stand in one bracket? Width matters: node1 and node01 are two hosts. */
static bool hostlist_alike(const struct hostlist_parts *one, const struct hostlist_parts *other)
{
	return one->digits > 0 && one->digits == other->digits && one->prefix == other->prefix &&
		strncmp(one->name, other->name, one->prefix) == 0 &&
		strcmp(one->name + one->prefix + one->digits,
			other->name + other->prefix + other->digits) == 0;
}

static void hostlist_put_numbers(struct str *out, const struct hostlist_parts *parts, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t last = i;
		while (last + 1 < n && parts[last + 1].number == parts[last].number + 1)
			last++;
		if (i > 0)
			str_add(out, ",");
		str_addf(out, "%0*llu", (int)parts[i].digits, (unsigned long long)parts[i].number);
		if (last > i)
			str_addf(out, "-%0*llu", (int)parts[last].digits,
				(unsigned long long)parts[last].number);
		i = last + 1;
	}
}

static void hostlist_put(struct str *out, const struct hostlist_parts *parts, size_t n)
{
	if (n == 1) {
		str_add(out, parts->name);
		return;
	}
	str_addf(out, "%.*s[", (int)parts->prefix, parts->name);
	hostlist_put_numbers(out, parts, n);
	str_addf(out, "]%s", parts->name + parts->prefix + parts->digits);
}

void hostlist_join(struct str *out, const char *const *names, size_t n)
{
	struct arena *a = arena_new();
	const char **sorted = arena_array(a, const char *, n + 1);
	struct hostlist_parts *parts = arena_array(a, struct hostlist_parts, n + 1);
	size_t kept = 0;
	if (n > 0)
		memcpy(sorted, names, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), hostlist_by_name);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || strcmp(sorted[i], sorted[i - 1]) != 0)
			parts[kept++] = hostlist_split(sorted[i]);
	}
	for (size_t i = 0; i < kept;) {
		size_t end = i + 1;
		while (end < kept && hostlist_alike(&parts[i], &parts[end]))
			end++;
		if (i > 0)
			str_add(out, ",");
		hostlist_put(out, &parts[i], end - i);
		i = end;
	}
	arena_free(a);
}
