/* column - cells of tables, for people and for programs. */
#include "agent/document/column.h"

#include "agent/document/json_value.h"
#include "agent/document/quantity.h"

/* For people: with its unit, and no finer than they can use. */
static void column_add_pretty(struct str *out, const json_t *value, enum column_kind kind)
{
	char text[64];
	wall_t t;

	if (json_is_boolean(value)) {
		str_add(out, json_is_true(value) ? "yes" : "no");
		return;
	}
	if (kind == COL_TIME && json_is_string(value) &&
		wall_parse(json_string_value(value), (wall_t){0}, &t) == 0) {
		wall_format(text, t, 0);
		text[10] = ' ';
		str_add(out, text);
		return;
	}
	if (!json_is_number(value)) {
		str_add_json(out, value);
		return;
	}
	double d = json_number_value(value);
	switch (kind) {
	/* what is left of a difference of equal numbers has no sign */
	case COL_RATIO_PCT: str_addf(out, "%.1f %%", fabs(d) < 5e-4 ? 0 : d * 100); break;
	case COL_BPS: str_add_scaled(out, d, "bit/s"); break;
	case COL_BYTES: str_add_scaled(out, d, "B"); break;
	case COL_USD: str_add(out, number_usd(d).s); break;
	case COL_DURATION_S:
		str_add(out,
			fabs(d) < 9e9 ? duration_format(text, sizeof(text), (int64_t)(d * 1e9))
				      : "> 200y");
		break;
	case COL_QP:
		if (d >= 0 && d <= 0xffffff)
			str_addf(out, "0x%06x", (unsigned)d);
		else
			str_add_json(out, value);
		break;
	case COL_INT:
		if (json_is_integer(value))
			str_add_json(out, value);
		else
			str_addf(out, "%.0f", d);
		break;
	case COL_NUMBER:
		if (json_is_integer(value))
			str_add_json(out, value);
		else
			str_addf(out, "%.6g", d);
		break;
	default: str_add_json(out, value); break;
	}
}

void column_add_value(struct str *out, const json_t *value, enum column_kind kind, bool pretty)
{
	for (size_t i = 0; i < json_array_size(value); i++) {
		if (i > 0)
			str_add(out, ",");
		str_add_json(out, json_array_get(value, i));
	}
	if (value && pretty && !json_is_array(value))
		column_add_pretty(out, value, kind);
	else if (value && !json_is_array(value))
		str_add_json(out, value);
	if (!out->s)
		str_add(out, "");
	if (pretty && out->n == 0)
		str_add(out, "-");
	/* text of devices (names, aliases, messages) must not end a line or steer a terminal */
	if (pretty)
		out->n = text_clean(out->s, out->n + 1, out->s, out->n);
}

void column_add_cell(struct str *out, const json_t *row, const struct column *column, bool pretty)
{
	const json_t *v = row;
	const char *key = column->key;
	char part[64];

	while (v && *key) {
		size_t n = strcspn(key, ".[");
		snprintf(part, sizeof(part), "%.*s", (int)n, key);
		v = json_object_get(v, part);
		key += n;
		if (*key == '.')
			key++;
		if (*key == '[')
			break;
	}
	/* an array that the column does not ask for is no cell */
	if (json_is_array(v) && *key != '[')
		v = NULL;
	column_add_value(out, v, column->kind, pretty);
}

const char *column_header(const struct column *column)
{
	return str_or(column->header, column->key);
}

bool column_is_right(const struct column *column)
{
	if (column->right)
		return true;
	return column->kind != COL_TEXT && column->kind != COL_TIME && column->kind != COL_STATE;
}
