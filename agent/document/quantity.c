/* quantity - a number with as many digits as people can use, and its unit. */
#include "agent/document/quantity.h"

void str_add_scaled(struct str *out, double value, const char *suffix)
{
	if (*suffix == 'B' || *suffix == 'b')
		str_add(out, number_scaled(value, suffix).s);
	else
		str_addf(out, "%s%s", number_scaled(value, "").s, suffix);
}

struct number_text when_text(const char *rfc3339)
{
	struct number_text out;
	char text[WALL_TEXT_MAX];
	wall_t t;
	const char *shown = str_or(rfc3339, "");
	if (!*shown)
		shown = "-";
	else if (wall_parse(shown, (wall_t){0}, &t) == 0)
		shown = wall_text(text, t, 0);
	snprintf(out.s, sizeof(out.s), "%s", shown);
	/* before 1970: a range that begins before a case does */
	if (strlen(out.s) > 19 && out.s[10] == 'T' && out.s[strlen(out.s) - 1] == 'Z')
		snprintf(out.s, sizeof(out.s), "%.10s %.8sZ", shown, shown + 11);
	return out;
}

void str_add_when(struct str *out, const char *rfc3339)
{
	str_add(out, when_text(rfc3339).s);
}

const char *quantity_name(const char *metric)
{
	return str_eq(metric, "cfg.pg_alpha_exp") ? "alpha" : metric;
}

/* Only below one does time have prefixes that people use. */
static void quantity_add_time(struct str *out, double seconds)
{
	static const char *const words[] = {" s", " ms", " us", " ns"};
	size_t i = 0;
	for (; seconds != 0 && fabs(seconds) < 1 && i + 1 < rw_countof(words); i++)
		seconds *= 1000;
	str_addf(out, "%s%s", number_three(seconds).s, words[i]);
}

/* " frames", " frames/s"; " frame" and " switch" of one. */
static void quantity_add_unit(struct str *out, double value, const char *unit)
{
	const size_t n = strcspn(unit, "/");
	size_t cut = 0;
	if (value == 1 && n > 2 && unit[n - 1] == 's')
		cut = 1;
	if (cut && strncmp(unit, "switches", n) == 0)
		cut = 2;
	str_addf(out, " %.*s%s", (int)(n - cut), unit, unit + n);
}

void str_add_quantity(struct str *out, double value, const char *unit)
{
	static const struct {
		const char *unit, *shown;
	} scaled[] = {{"bytes", "B"}, {"bytes/s", "B/s"}, {"bit/s", "bit/s"}};
	unit = str_or(unit, "");
	const size_t n = strlen(unit);
	if (str_eq(unit, "ratio")) {
		str_addf(out, "%.3g %%", value * 100);
		return;
	}
	if (str_eq(unit, "ns")) {
		quantity_add_time(out, value / 1e9);
		return;
	}
	if (str_eq(unit, "s")) {
		quantity_add_time(out, value);
		return;
	}
	for (size_t i = 0; i < rw_countof(scaled); i++)
		if (str_eq(scaled[i].unit, unit)) {
			str_add_scaled(out, value, scaled[i].shown);
			return;
		}
	if (str_eq(unit, "log2")) {
		str_add(out, number_alpha(exp2(value)).s);
		return;
	}
	const bool is_rate = n > 2 && str_eq(unit + n - 2, "/s");
	if (is_rate && fabs(value) >= 999.5)
		str_add_scaled(out, value, "");
	else if (value == rint(value) && value >= 0 && value < 1e15)
		str_add(out, number_count_of(value).s);
	else if (value == rint(value) && fabs(value) < 1e15)
		str_addf(out, "%.0f", value);
	else
		str_addf(out, "%.4g", value);
	if (*unit && !str_eq(unit, "-"))
		quantity_add_unit(out, value, unit);
}
