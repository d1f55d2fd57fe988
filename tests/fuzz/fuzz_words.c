/* Words of a command line and of an API call: ranges of checks, times, thresholds. What is accepted
 * is printed, read again, and says the same. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"
#include "agent/check/check_line.h"
#include "tests/fuzz/printed.h"

static bool words_same(double left, double right)
{
	return left == right || (isfinite(left) && fabs(left - right) <= 1e-5 * fabs(left) + 1e-18);
}

static void words_range(const char *text)
{
	struct check_range range = {0}, again = {0};
	struct err e = {0};
	char back[CHECK_RANGE_TEXT_MAX];
	if (check_range_parse(text, &range, &e) < 0) {
		if (!*e.text)
			printed_fault("refused without a word", text);
		return;
	}
	if (!range.set || isnan(range.low) || isnan(range.high) || range.low > range.high)
		printed_fault("no range", text);
	check_range_text(back, &range);
	if (check_range_parse(back, &again, &e) < 0)
		printed_fault("cannot be read again", back);
	if (!words_same(range.low, again.low) || !words_same(range.high, again.high) ||
		range.inside != again.inside)
		printed_fault("says something else", back);
	if (check_range_alerts(&range, NAN))
		printed_fault("the unknown alerts", text);
}

static void words_time(const char *text)
{
	wall_t t, again;
	char back[WALL_TEXT_MAX];
	if (wall_parse(text, (wall_t){INT64_C(1700000000000000000)}, &t) < 0)
		return;
	if (t.ns < 0) /* before 1970: far back from now */
		return;
	wall_format(back, t, 9);
	if (wall_parse(back, (wall_t){0}, &again) < 0 || again.ns != t.ns)
		printed_fault("a time that is another one when it is read again", back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	words_range(text);
	words_time(text);
	free(text);
	return 0;
}
