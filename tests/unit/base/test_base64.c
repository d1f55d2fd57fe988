/* base64: the test vectors of RFC 4648 section 10, and what is no such text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"

static void vectors(void **state)
{
	static const char *const rows[][2] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="},
		{"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="},
		{"foobar", "Zm9vYmFy"}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = 99;
		char *text = base64_text(rows[i][0], strlen(rows[i][0]));
		uint8_t *bytes = base64_bytes(rows[i][1], &n);
		assert_string_equal(text, rows[i][1]);
		assert_non_null(bytes);
		assert_int_equal(n, strlen(rows[i][0]));
		assert_memory_equal(bytes, rows[i][0], n);
		free(text);
		free(bytes);
	}
}

static void others(void **state)
{
	size_t n;
	assert_null(base64_bytes("Zg=", &n));
	assert_null(base64_bytes("Z-8=", &n));
	assert_null(base64_bytes("Zm=v", &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(vectors), cmocka_unit_test(others)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
