/* log: both forms of a line, what must not pass, and the gaps of a complaint. */
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/log.h"

static int pipe_fds[2], saved_stderr;

static int divert(void **state)
{
	log_set_level(LOG_INFO_);
	if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	saved_stderr = dup(STDERR_FILENO);
	return dup2(pipe_fds[1], STDERR_FILENO) < 0;
}

static int restore(void **state)
{
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return 0;
}

/* All that was logged since the last call. */
static const char *said(void)
{
	static char buf[65536];
	ssize_t n = read(pipe_fds[0], buf, sizeof(buf) - 1);
	buf[n > 0 ? n : 0] = '\0';
	return buf;
}

static void test_text_line(void **state)
{
	log_set_plain(false);
	log_warn("leaf1", "no answer for %d s", 42);
	assert_string_equal(said(), "warning: leaf1: no answer for 42 s\n");
	log_info("leaf1", "two\nlines \x1b[2J");
	assert_string_equal(said(), "info: leaf1: two lines  [2J\n");
	log_debug("leaf1", "not asked for");
	assert_string_equal(said(), "");
}

static void test_key_value_line(void **state)
{
	log_set_plain(true);
	log_error("store", "said \"no\" \\");
	const char *s = said();
	assert_non_null(strstr(s, "time="));
	assert_non_null(strstr(s, "Z level=error where=store msg=\"said \\\"no\\\" \\\\\"\n"));
	log_error("a b", "x");
	assert_non_null(strstr(said(), "where=\"a b\" msg=\"x\"\n"));
}

static void test_long_line_is_cut_once(void **state)
{
	char longer[8000];
	memset(longer, '"', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	for (int form = 0; form < 2; form++) {
		log_set_plain(form);
		log_error(longer, "%s", longer);
		const char *s = said();
		assert_true(strlen(s) > 100 && strlen(s) < 4096);
		assert_ptr_equal(strchr(s, '\n'), s + strlen(s) - 1);
	}
}

static void test_complaint_gaps(void **state)
{
	struct complaint c = {0};
	int64_t told_s[16];
	size_t n = 0;

	log_set_plain(false);
	for (int64_t s = 0; s < 6 * 3600; s++)
		if (complain(&c, (mono_t){s * NS_PER_S}, LOG_WARN_, "leaf1", "no answer") &&
			n < rw_countof(told_s))
			told_s[n++] = s;
	static const int64_t want[] = {
		0, 10, 30, 70, 150, 310, 630, 1270, 2550, 5110, 8710, 12310, 15910, 19510};
	assert_int_equal(n, rw_countof(want));
	assert_memory_equal(told_s, want, sizeof(want));
	const char *s = said();
	assert_non_null(strstr(s, "warning: leaf1: no answer\n"));
	assert_non_null(strstr(s, "no answer (10 times since the last message, 11 in 10s)\n"));

	complaint_over(&c, (mono_t){6 * 3600 * NS_PER_S}, "leaf1", "answers again");
	assert_string_equal(said(), "info: leaf1: answers again after 6h00m, 21600 failures\n");
	complaint_over(&c, (mono_t){7 * 3600 * NS_PER_S}, "leaf1", "answers again");
	assert_string_equal(said(), "");

	/* A new trouble is told at once. */
	assert_true(complain(&c, (mono_t){8 * 3600 * NS_PER_S}, LOG_WARN_, "leaf1", "no answer"));
	complaint_over(&c, (mono_t){8 * 3600 * NS_PER_S + 42 * NS_PER_S}, "leaf1", "answers again");
	assert_non_null(strstr(said(), "answers again after 42s, 1 failure\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_text_line, divert, restore),
		cmocka_unit_test_setup_teardown(test_key_value_line, divert, restore),
		cmocka_unit_test_setup_teardown(test_long_line_is_cut_once, divert, restore),
		cmocka_unit_test_setup_teardown(test_complaint_gaps, divert, restore),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
