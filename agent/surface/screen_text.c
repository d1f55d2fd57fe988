/* screen_text - short texts for fields of documents, and the filter. */
#include "agent/surface/screen_text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"

enum canvas_style screen_style(const char *state)
{
	static const struct {
		const char *state;
		enum canvas_style style;
	} rows[] = {
		{"critical", STYLE_CRITICAL},
		{"warning", STYLE_WARNING},
		{"unknown", STYLE_UNKNOWN},
		{"down", STYLE_CRITICAL},
		{"stopped", STYLE_WARNING},
		{"idle", STYLE_DIM},
		{"info", STYLE_PLAIN},
		{"origin", STYLE_BOLD},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (str_eq(rows[i].state, state))
			return rows[i].style;
	return STYLE_PLAIN;
}

void screen_add_ratio(struct str *out, double ratio)
{
	double percent = fabs(ratio) * 100;
	if (isnan(ratio))
		str_add(out, "-");
	else if (percent < 0.05)
		str_add(out, "0 %");
	else if (percent < 9.95)
		str_addf(out, "%.1f %%", ratio * 100);
	else
		str_addf(out, "%.0f %%", ratio * 100);
}

/* "frames/s" is "6.8k/s": the name of the signal says what is counted. */
static void screen_add_rate(struct str *out, double value)
{
	str_add_scaled(out, value < 0.005 ? 0 : value, "/s");
}

void screen_add_value(struct str *out, double value, const char *unit, const char *quality)
{
	size_t n = strlen(unit);
	if (isnan(value)) {
		str_add(out, "-");
		return;
	}
	if (str_eq(quality, "bound") && value > 0)
		str_add(out, "<= ");
	if (str_eq(quality, "estimated"))
		str_add(out, "~");
	if (str_eq(unit, "ratio"))
		screen_add_ratio(out, value);
	else if (str_eq(unit, "links") || str_eq(unit, "ports"))
		str_addf(out, "%.0f", value);
	else if (n > 2 && str_eq(unit + n - 2, "/s") && !strchr("bB", *unit))
		screen_add_rate(out, value);
	else
		str_add_quantity(out, value, unit);
}

void screen_add_age(struct str *out, double seconds)
{
	char text[32];
	if (isnan(seconds)) {
		str_add(out, "-");
		return;
	}
	int64_t whole_ns = (int64_t)llround(fmax(seconds, 0)) * NS_PER_S;
	str_add(out, duration_format(text, sizeof(text), whole_ns));
}

void screen_add_money(struct str *out, double usd)
{
	char digits[40];
	if (isnan(usd)) {
		str_add(out, "-");
		return;
	}
	if (fabs(usd) < 10) {
		str_addf(out, "$%.2f", usd);
		return;
	}
	int n = snprintf(digits, sizeof(digits), "%.0f", usd);
	str_add(out, "$");
	for (int i = 0; i < n; i++) {
		str_addn(out, &digits[i], 1);
		int rest = n - 1 - i;
		if (rest > 0 && rest % 3 == 0 && isdigit((unsigned char)digits[i]))
			str_add(out, ",");
	}
}

void screen_add_time(struct str *out, const json_t *object, const char *key)
{
	const char *time = doc_word(object, key);
	if (strlen(time) < strlen("2026-11-22T03:14:22"))
		str_add(out, "-");
	else
		str_addf(out, "%.10s %.8sZ", time, time + 11);
}

void screen_add_port(struct str *out, const json_t *row)
{
	const char *device = doc_word(row, "device"), *port = doc_word(row, "port");
	const json_t *priority = json_object_get(row, "priority");
	str_add(out, *device ? device : "-");
	if (*port)
		str_addf(out, ":%s", port);
	if (json_is_integer(priority))
		str_addf(out, " p%lld", (long long)json_integer_value(priority));
}

/* ---- filter -------------------------------------------------------------- */

static void screen_add_lower(struct str *out, const char *text)
{
	for (; *text; text++) {
		char c = (char)tolower((unsigned char)*text);
		str_addn(out, &c, 1);
	}
}

static bool screen_word_matches(const char *pattern, const char *word)
{
	rw_cleanup(str_done) struct str lower = {0};
	screen_add_lower(&lower, word);
	return lower.n > 0 && str_glob(pattern, lower.s);
}

bool screen_matches(const char *filter, const json_t *row)
{
	static const char *const keys[] = {
		"device", "port", "peer", "host", "job", "cause", "name", "id", "state"};
	rw_cleanup(str_done) struct str pattern = {0}, place = {0};
	bool whole = strpbrk(filter, "*?[") != NULL;
	if (!*filter)
		return true;
	str_add(&pattern, str_if(!whole, "*"));
	screen_add_lower(&pattern, filter);
	str_add(&pattern, str_if(!whole, "*"));
	for (size_t i = 0; i < rw_countof(keys); i++)
		if (screen_word_matches(pattern.s, doc_word(row, keys[i])))
			return true;
	screen_add_port(&place, row);
	return screen_word_matches(pattern.s, place.s);
}
