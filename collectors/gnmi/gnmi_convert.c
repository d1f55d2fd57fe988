/* gnmi_convert - turns a value as the server sends it into the unit of its metric. */
#include "collectors/gnmi/gnmi_convert.h"

#include <string.h>
#include "agent/base/cleanup.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

#define TEXT_MAX 256

const char *gnmi_convert_kind_name(enum gnmi_kind kind)
{
	static const char *const names[] = {"null", "int", "uint", "bool", "double", "decimal",
		"string", "ascii", "bytes", "proto"};
	if ((size_t)kind < rw_countof(names))
		return names[kind];
	return "?";
}

static bool is_text(const struct gnmi_value *value)
{
	return value->kind == GNMI_STRING || value->kind == GNMI_ASCII;
}

/* without_module - "openconfig-if-ethernet:SPEED_100GB" is "SPEED_100GB": a YANG identity comes
 * with its module (RFC 7951, 6.8). */
static struct gnmi_value without_module(const struct gnmi_value *value)
{
	struct gnmi_value r = *value;
	const char *colon = NULL;
	if (is_text(value) && value->n)
		colon = memchr(value->p, ':', value->n);
	if (colon) {
		r.n = (size_t)(value->p + value->n - colon) - 1;
		r.p = colon + 1;
	}
	return r;
}

static enum gnmi_convert gnmi_convert_word_of(
	const struct profile_gnmi_value *spec, const struct gnmi_value *value, uint64_t *ret)
{
	char text[TEXT_MAX];
	struct gnmi_value bare = without_module(value);
	gnmi_value_text(&bare, text, sizeof(text)); /* a boolean is "true" or "false" */
	for (size_t i = 0; i < spec->n_words; i++)
		if (strcmp(spec->words[i].word, text) == 0) {
			*ret = spec->words[i].value;
			return GNMI_CONVERT_OK;
		}
	if (!is_text(value))
		return GNMI_CONVERT_WRONG;
	if (!spec->has_otherwise)
		return GNMI_CONVERT_NONE;
	*ret = spec->otherwise;
	return GNMI_CONVERT_OK;
}

/* priorities_of - "3,4" as a set of bits; "" is the empty set. */
static enum gnmi_convert priorities_of(const struct gnmi_value *value, uint64_t *ret)
{
	uint64_t set = 0;
	if (value->kind == GNMI_UINT && value->u < 8) {
		*ret = (uint64_t)1 << value->u;
		return GNMI_CONVERT_OK;
	}
	for (size_t i = 0; is_text(value) && i < value->n; i++) {
		char c = value->p[i];
		if (c >= '0' && c <= '7')
			set |= (uint64_t)1 << (c - '0');
		else if (c != ',' && c != ' ')
			return GNMI_CONVERT_WRONG;
	}
	*ret = set;
	if (is_text(value))
		return GNMI_CONVERT_OK;
	return GNMI_CONVERT_WRONG;
}

static bool gnmi_convert_unread(
	const struct profile_gnmi_value *spec, const struct gnmi_value *value)
{
	for (size_t i = 0; is_text(value) && i < spec->n_unread; i++)
		if (strlen(spec->unread[i]) == value->n &&
			memcmp(spec->unread[i], value->p, value->n) == 0)
			return true;
	return false;
}

static bool gnmi_convert_ignored(const struct profile_gnmi_value *spec, uint64_t number)
{
	for (size_t i = 0; i < spec->n_ignore; i++)
		if (spec->ignore[i] == number)
			return true;
	return false;
}

enum gnmi_convert gnmi_convert_number(
	const struct profile_gnmi_value *spec, const struct gnmi_value *value, uint64_t *ret)
{
	if (spec->n_words || spec->has_otherwise)
		return gnmi_convert_word_of(spec, value, ret);
	if (gnmi_value_u64(value, ret) < 0)
		return GNMI_CONVERT_WRONG;
	return GNMI_CONVERT_OK;
}

void gnmi_bare_name(char *text)
{
	const size_t n = strlen(text);
	if (n < 2 || text[0] != '[' || text[n - 1] != ']')
		return;
	const size_t table = strcspn(text, "|:");
	if (table == n)
		return;
	text[n - 1] = '\0';
	memmove(text, text + table + 1, n - table - 1);
}

/* text_said - the text that the profile has for this word, else the word itself. */
static const char *text_said(const struct profile_gnmi_value *spec, const char *word)
{
	for (size_t i = 0; i < spec->n_words; i++)
		if (strcmp(spec->words[i].word, word) == 0)
			return spec->words[i].text;
	return word;
}

enum gnmi_convert gnmi_convert(const struct profile_gnmi_value *spec,
	const struct gnmi_value *value, struct gnmi_texts texts, uint64_t cell_bytes,
	struct gnmi_converted *ret)
{
	const struct metric_info *m = metric_info((unsigned)spec->metric);
	uint64_t cells = 1;
	if (spec->cells)
		cells = cell_bytes;
	struct gnmi_value bare = *value;
	char text[TEXT_MAX];
	enum gnmi_convert rc = GNMI_CONVERT_OK;
	*ret = (struct gnmi_converted){0};
	if (value->kind == GNMI_NULL || cells == 0 || gnmi_convert_unread(spec, value))
		return GNMI_CONVERT_NONE;
	if (m->type == TYPE_TEXT) {
		gnmi_value_text(value, text, sizeof(text));
		if (spec->of)
			gnmi_bare_name(text);
		const char *said = text_said(spec, text);
		ret->u = entities_text_of(texts.entities, texts.device, said);
		if (ret->u == 0 && *said)
			return GNMI_CONVERT_NONE; /* too many texts of this device */
		return GNMI_CONVERT_OK;
	}
	if (spec->priorities)
		return priorities_of(value, &ret->u);
	if (spec->suffix && is_text(value)) {
		size_t n = strlen(spec->suffix);
		if (bare.n > n && memcmp(bare.p + bare.n - n, spec->suffix, n) == 0)
			bare.n -= n;
	}
	if (m->type == TYPE_F64) {
		if (gnmi_value_double(&bare, &ret->d) < 0)
			return GNMI_CONVERT_WRONG;
		ret->d = ret->d * (double)cells * (double)spec->mul / (double)spec->div;
		return GNMI_CONVERT_OK;
	}
	if (spec->n_words || spec->has_otherwise)
		rc = gnmi_convert_word_of(spec, value, &ret->u);
	else if (gnmi_value_u64(&bare, &ret->u) < 0)
		rc = GNMI_CONVERT_WRONG;
	if (rc == GNMI_CONVERT_OK && gnmi_convert_ignored(spec, ret->u))
		rc = GNMI_CONVERT_NONE;
	ret->u = ret->u * cells * spec->mul / spec->div;
	return rc;
}
