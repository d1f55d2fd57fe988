/* gnmi_convert - see the header. */
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
	return (size_t)kind < rw_countof(names) ? names[kind] : "?";
}

static bool is_text(const struct gnmi_value *v)
{
	return v->kind == GNMI_STRING || v->kind == GNMI_ASCII;
}

/* without_module - "openconfig-if-ethernet:SPEED_100GB" is "SPEED_100GB": identities come with the
 * module before them. */
static struct gnmi_value without_module(const struct gnmi_value *v)
{
	struct gnmi_value r = *v;
	const char *colon = is_text(v) && v->n ? memchr(v->p, ':', v->n) : NULL;
	if (colon) {
		r.n = (size_t)(v->p + v->n - colon) - 1;
		r.p = colon + 1;
	}
	return r;
}

static enum gnmi_convert word_of(
	const struct profile_gnmi_value *v, const struct gnmi_value *value, uint64_t *ret)
{
	char text[TEXT_MAX];
	struct gnmi_value bare = without_module(value);
	if (value->kind == GNMI_BOOL)
		bare = (struct gnmi_value){.kind = GNMI_STRING,
			.p = value->b ? "true" : "false",
			.n = value->b ? 4 : 5};
	gnmi_value_text(&bare, text, sizeof(text));
	for (size_t i = 0; i < v->n_words; i++)
		if (strcmp(v->words[i].word, text) == 0)
			return *ret = v->words[i].value, GNMI_CONVERT_OK;
	if (!v->has_otherwise || !is_text(value))
		return is_text(value) ? GNMI_CONVERT_NONE : GNMI_CONVERT_WRONG;
	*ret = v->otherwise;
	return GNMI_CONVERT_OK;
}

/* priorities_of - "3,4" as a set; "" is none of them. */
static enum gnmi_convert priorities_of(const struct gnmi_value *value, uint64_t *ret)
{
	uint64_t set = 0;
	if (value->kind == GNMI_UINT && value->u < 8)
		return *ret = (uint64_t)1 << value->u, GNMI_CONVERT_OK;
	for (size_t i = 0; is_text(value) && i < value->n; i++) {
		char c = value->p[i];
		if (c >= '0' && c <= '7')
			set |= (uint64_t)1 << (c - '0');
		else if (c != ',' && c != ' ')
			return GNMI_CONVERT_WRONG;
	}
	*ret = set;
	return is_text(value) ? GNMI_CONVERT_OK : GNMI_CONVERT_WRONG;
}

static bool unread(const struct profile_gnmi_value *v, const struct gnmi_value *value)
{
	for (size_t i = 0; is_text(value) && i < v->n_unread; i++)
		if (strlen(v->unread[i]) == value->n &&
			memcmp(v->unread[i], value->p, value->n) == 0)
			return true;
	return false;
}

static bool ignored(const struct profile_gnmi_value *v, uint64_t u)
{
	for (size_t i = 0; i < v->n_ignore; i++)
		if (v->ignore[i] == u)
			return true;
	return false;
}

enum gnmi_convert gnmi_convert_number(
	const struct profile_gnmi_value *v, const struct gnmi_value *value, uint64_t *ret)
{
	if (v->n_words || v->has_otherwise)
		return word_of(v, value, ret);
	return gnmi_value_u64(value, ret) < 0 ? GNMI_CONVERT_WRONG : GNMI_CONVERT_OK;
}

enum gnmi_convert gnmi_convert(const struct profile_gnmi_value *v, const struct gnmi_value *value,
	struct entities *texts, uint64_t cell_bytes, struct gnmi_converted *ret)
{
	const struct metric_info *m = metric_info((unsigned)v->metric);
	const uint64_t cells = v->cells ? cell_bytes : 1;
	struct gnmi_value bare = *value;
	char text[TEXT_MAX];
	enum gnmi_convert rc = GNMI_CONVERT_OK;
	*ret = (struct gnmi_converted){0};
	if (value->kind == GNMI_NULL || cells == 0 || unread(v, value))
		return GNMI_CONVERT_NONE;
	if (m->type == TYPE_TEXT) {
		ret->u = entities_text(texts, gnmi_value_text(value, text, sizeof(text)));
		return GNMI_CONVERT_OK;
	}
	if (v->priorities)
		return priorities_of(value, &ret->u);
	if (v->suffix && is_text(value)) {
		size_t n = strlen(v->suffix);
		if (bare.n > n && memcmp(bare.p + bare.n - n, v->suffix, n) == 0)
			bare.n -= n;
	}
	if (m->type == TYPE_F64) {
		if (gnmi_value_double(&bare, &ret->d) < 0)
			return GNMI_CONVERT_WRONG;
		ret->d = ret->d * (double)cells * (double)v->mul / (double)v->div;
		return GNMI_CONVERT_OK;
	}
	if (v->n_words || v->has_otherwise)
		rc = word_of(v, value, &ret->u);
	else if (gnmi_value_u64(&bare, &ret->u) < 0)
		rc = GNMI_CONVERT_WRONG;
	if (rc == GNMI_CONVERT_OK && ignored(v, ret->u))
		rc = GNMI_CONVERT_NONE;
	ret->u = ret->u * cells * v->mul / v->div;
	return rc;
}
