/*
 * check_line - the line of a check: its state, its sentence and its perfdata.
 * Source: Monitoring Plugins Development Guidelines, "Plugin Output for Nagios".
 */
#include "agent/check/check_line.h"

#include "agent/check/check.h"
#include "agent/document/json_value.h"

/*
 * check_range - reads, applies and prints the alert ranges of checks.
 * Source: Monitoring Plugins Development Guidelines, "Threshold and Ranges" and "Performance data".
 */

#define CHECK_RANGE_MAX 1e15 /* beyond, a double is no exact number any more */
enum { CHECK_RANGE_DIGITS = 18 }; /* behind the point */

static int check_range_number(const char *text, size_t n, double *ret)
{
	char buf[48];
	if (n == 0 || n >= sizeof(buf))
		return -EINVAL;
	memcpy(buf, text, n);
	buf[n] = '\0';
	int r;
	if (buf[n - 1] == '%')
		r = unit_ratio(buf, ret, NULL);
	else
		r = unit_double(buf, ret, NULL);
	if (r == 0 && fabs(*ret) > CHECK_RANGE_MAX)
		return -ERANGE;
	return r;
}

/* The part before the colon: empty (0), '~' (no lower end) or a number. */
static int check_range_low(const char *text, size_t n, double *ret)
{
	*ret = 0;
	if (n == 0)
		return 0;
	if (n == 1 && *text == '~') {
		*ret = -INFINITY;
		return 0;
	}
	return check_range_number(text, n, ret);
}

/* "HIGH", "LOW:" or "LOW:HIGH", without the '@'. */
static int check_range_ends(const char *text, struct check_range *range)
{
	const char *colon = strchr(text, ':');
	if (!colon)
		return check_range_number(text, strlen(text), &range->high);
	const char *high = colon + 1;
	if (colon == text && !*high)
		return -EINVAL;
	int r = check_range_low(text, (size_t)(colon - text), &range->low);
	if (r < 0 || !*high)
		return r;
	return check_range_number(high, strlen(high), &range->high);
}

int check_range_parse(const char *text, struct check_range *ret, struct err *e)
{
	struct check_range range = {.low = 0, .high = INFINITY, .set = true};
	const char *ends = text;
	if (*ends == '@') {
		range.inside = true;
		ends++;
	}
	int r = check_range_ends(ends, &range);
	if (r < 0 || range.low > range.high)
		return err_set(e, -EINVAL,
			"'%.64s' is not a range; write 0.2 (up to), 0.2: (at least), 0.1:0.2 "
			"(between) or @0:5 (alert inside), the lower end first",
			text);
	*ret = range;
	return 0;
}

bool check_range_alerts(const struct check_range *range, double value)
{
	if (!range->set || isnan(value))
		return false;
	bool within = value >= range->low && value <= range->high;
	if (range->inside)
		return within;
	return !within;
}

/* Fifteen digits at most, without an exponent: the guidelines, and we, read plain decimals only. */
static void check_range_end_text(char *buf, size_t size, double value)
{
	int digits = 14;
	if (value != 0)
		digits -= (int)floor(log10(fabs(value)));
	if (digits < 0)
		digits = 0;
	if (digits > CHECK_RANGE_DIGITS)
		digits = CHECK_RANGE_DIGITS;
	const int n = snprintf(buf, size, "%.*f", digits, value);
	if (digits == 0 || n < 0 || (size_t)n >= size)
		return;
	char *end = buf + n;
	while (end[-1] == '0')
		*--end = '\0';
	if (end[-1] == '.')
		end[-1] = '\0';
}

char *check_range_text(char buf[CHECK_RANGE_TEXT_MAX], const struct check_range *range)
{
	char low[30] = "", high[30] = "";
	buf[0] = '\0';
	if (!range->set)
		return buf;
	if (isinf(range->low))
		snprintf(low, sizeof(low), "~");
	else if (range->low != 0 || isinf(range->high))
		check_range_end_text(low, sizeof(low), range->low);
	if (!isinf(range->high))
		check_range_end_text(high, sizeof(high), range->high);
	snprintf(buf, CHECK_RANGE_TEXT_MAX, "%s%s%s%s", str_if(range->inside, "@"), low,
		str_if(*low, ":"), high);
	return buf;
}

/* ---- check_line ---------------------------------------------------------- */

const char *check_state_name(enum check_state state)
{
	static const char *const names[] = {"OK", "WARNING", "CRITICAL", "UNKNOWN"};
	if ((unsigned)state < rw_countof(names))
		return names[state];
	return "UNKNOWN";
}

bool check_state_worse(enum check_state state, enum check_state than)
{
	static const int ranks[] = {
		[CHECK_OK] = 0, [CHECK_UNKNOWN] = 1, [CHECK_WARNING] = 2, [CHECK_CRITICAL] = 3};
	return ranks[state] > ranks[than];
}

void check_line_done(struct check_line *line)
{
	str_done(&line->text);
	str_done(&line->perfdata);
	json_decref(line->values);
	line->values = NULL;
	json_decref(line->incidents);
	line->incidents = NULL;
}

enum check_state check_judge_value(const struct check_ranges *ranges, double value)
{
	if (isnan(value))
		return CHECK_UNKNOWN;
	if (check_range_alerts(&ranges->crit, value))
		return CHECK_CRITICAL;
	if (check_range_alerts(&ranges->warn, value))
		return CHECK_WARNING;
	return CHECK_OK;
}

struct check_ranges check_ranges_below(double warn, double critical)
{
	struct check_ranges ranges = {0};
	if (!isnan(warn))
		ranges.warn = (struct check_range){.high = warn, .set = true};
	if (!isnan(critical))
		ranges.crit = (struct check_range){.high = critical, .set = true};
	return ranges;
}

/* A bar begins the perfdata, and a line is one line: names come from devices. */
static void check_clean(char *text)
{
	const size_t n = strlen(text);
	text_clean(text, n + 1, text, n);
	for (; *text; text++) {
		if (*text == '|')
			*text = '/';
	}
}

void check_say(struct check_line *line, enum check_state state, const char *fmt, ...)
{
	char part[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(part, sizeof(part), fmt, ap);
	va_end(ap);
	check_clean(part);
	bool first = line->text.n == 0 || check_state_worse(state, line->state);
	if (check_state_worse(state, line->state))
		line->state = state;
	if (!first) {
		str_addf(&line->text, "; %s", part);
		return;
	}
	struct str rest = line->text;
	line->text = (struct str){0};
	str_add(&line->text, part);
	if (rest.n > 0)
		str_addf(&line->text, "; %s", rest.s);
	str_done(&rest);
}

/* "-0.0000" and "1.7e-13" are noise: what rounds to zero is zero. */
static double check_line_round(double value, int decimals)
{
	double unit = pow(10, -decimals);
	if (fabs(value) < unit / 2)
		return 0;
	return value;
}

void check_line_unit(struct check_line *line, const char *name, double value, const char *unit,
	int decimals, const struct check_ranges *ranges, double max)
{
	char warn[CHECK_RANGE_TEXT_MAX] = "", crit[CHECK_RANGE_TEXT_MAX] = "";
	if (ranges) {
		check_range_text(warn, &ranges->warn);
		check_range_text(crit, &ranges->crit);
	}
	value = check_line_round(value, decimals);
	str_addf(&line->perfdata, "%s'%s'=", str_if(line->perfdata.n > 0, " "), name);
	if (isnan(value))
		str_add(&line->perfdata, "U");
	else
		str_addf(&line->perfdata, "%.*f%s", decimals, value, unit);
	str_addf(&line->perfdata, ";%s;%s;0;", warn, crit);
	if (!isnan(max))
		str_addf(&line->perfdata, "%.10g", max);
	if (!line->values)
		line->values = json_array();
	json_t *row = json_object();
	json_object_set_new(row, "name", json_string(name));
	json_object_set_new(row, "value", json_number_or_null(value));
	json_object_set_new(row, "unit", json_string(unit));
	json_object_set_new(row, "warn", json_string_or_null(*warn ? warn : NULL));
	json_object_set_new(row, "crit", json_string_or_null(*crit ? crit : NULL));
	json_object_set_new(row, "min", json_integer(0));
	json_object_set_new(row, "max", json_number_or_null(max));
	json_array_append_new(line->values, row);
}

void check_line_value(struct check_line *line, const char *name, double value, int decimals,
	const struct check_ranges *ranges, double max)
{
	check_line_unit(line, name, value, "", decimals, ranges, max);
}

void check_fail(struct check_line *line, int r, const struct err *e)
{
	char place[600] = "";
	const char *text = e->text;
	if (!*text)
		text = strerror(-r);
	if (*e->file && e->line)
		snprintf(place, sizeof(place), "%s:%d:%d: ", e->file, e->line, e->col);
	else if (*e->file)
		snprintf(place, sizeof(place), "%s: ", e->file);
	str_done(&line->text);
	line->state = CHECK_UNKNOWN;
	str_addf(&line->text, "%s%s", place, text);
	check_clean(line->text.s);
}

void check_print_plain(FILE *out, const struct check *check, const struct check_line *line)
{
	fprintf(out, "%s %s - %s\n", check->label, check_state_name(line->state),
		str_or(line->text.s, ""));
}

void check_print(FILE *out, const struct check *check, const struct check_line *line)
{
	fprintf(out, "%s %s - %s", check->label, check_state_name(line->state),
		str_or(line->text.s, ""));
	if (line->perfdata.n > 0)
		fprintf(out, " | %s", line->perfdata.s);
	fputc('\n', out);
}

void check_print_unknown(FILE *out, const struct check *check, const char *why)
{
	fprintf(out, "%s %s - %s\n", check->label, check_state_name(CHECK_UNKNOWN), why);
}
