/* test_lazy_library - libraries that are loaded when they are used: what is there, what is not. */
#include "base/lazy_library.h"

#include <errno.h>
#include <string.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/err.h"

static void test_calls(void **state)
{
	static const char *const names[] = {"cbrt"};
	struct {
		double (*cbrt)(double);
	} calls = {NULL};
	struct lazy_library library = {
		.file = "libm.so.6", .names = names, .calls = (void **)&calls, .n = 1};
	struct err e = {0};
	assert_int_equal(lazy_library_load(&library, &e), 0);
	assert_true(calls.cbrt(27) > 2.999 && calls.cbrt(27) < 3.001);
	/* again: nothing is opened anew */
	const void *handle = library.handle;
	assert_int_equal(lazy_library_load(&library, &e), 0);
	assert_ptr_equal(library.handle, handle);
}

static void test_no_library(void **state)
{
	struct lazy_library library = {.file = "librocewatch-is-not-here.so.7"};
	struct err e = {0};
	assert_int_equal(lazy_library_load(&library, &e), -ENOENT);
	assert_non_null(strstr(e.text, "librocewatch-is-not-here.so.7 cannot be loaded"));
	assert_non_null(strstr(e.text, "install the package"));
	assert_null(library.handle);
}

static void test_no_function(void **state)
{
	static const char *const names[] = {"cbrt", "no_such_function"};
	void *calls[2] = {NULL};
	struct lazy_library library = {.file = "libm.so.6", .names = names, .calls = calls, .n = 2};
	struct err e = {0};
	assert_int_equal(lazy_library_load(&library, &e), -ENOENT);
	assert_non_null(strstr(e.text, "libm.so.6 has no function no_such_function"));
	assert_null(library.handle);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_no_library),
		cmocka_unit_test(test_no_function),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
