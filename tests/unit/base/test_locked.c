/* test_locked - memory for secrets: locked, reused, and empty after it was freed. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/locked.h"

static void pieces_do_not_overlap(void **state)
{
	static const size_t sizes[] = {1, 16, 112, 113, 500, 4080, 4081, 70000};
	char *v[rw_countof(sizes)][40];
	for (size_t k = 0; k < rw_countof(sizes); k++) {
		for (int i = 0; i < 40; i++) {
			v[k][i] = locked_new(sizes[k]);
			for (size_t at = 0; at < sizes[k]; at++)
				assert_int_equal(v[k][i][at], 0);
			memset(v[k][i], (int)k * 40 + i, sizes[k]);
		}
	}
	for (size_t k = 0; k < rw_countof(sizes); k++) {
		for (int i = 0; i < 40; i++) {
			for (size_t at = 0; at < sizes[k]; at++)
				assert_int_equal(v[k][i][at], (char)((int)k * 40 + i));
			locked_free(v[k][i]);
		}
	}
}

static void what_is_freed_is_overwritten(void **state)
{
	char *secret = locked_dup("correct horse");
	char *neighbor = locked_dup("battery staple");
	locked_free(secret);
	for (size_t k = 0; k < sizeof("correct horse"); k++)
		assert_int_equal(secret[k], 0); /* pages of small ones stay */
	assert_string_equal(neighbor, "battery staple");
	locked_freep(&neighbor);
	assert_null(neighbor);
	locked_freep(&neighbor);
}

/* VmLck of /proc/self/status, in KiB. */
static long locked_kib(void)
{
	char line[256];
	long kib = -1;
	rw_cleanup(fclosep) FILE *f = fopen("/proc/self/status", "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "VmLck: %ld", &kib);
	return kib;
}

static void it_is_locked(void **state)
{
	const long before = locked_kib();
	if (before < 0)
		skip();
	void *memory = locked_new(16000);
	const long with = locked_kib();
	locked_free(memory);
	if (with == before)
		skip(); /* a machine that locks nothing */
	assert_in_range(with - before, 16, 64);
	assert_int_equal(locked_kib(), before);
}

static void a_file_is_read_whole(void **state)
{
	char path[] = "/tmp/rocewatch-locked-XXXXXX";
	struct err e = {0};
	size_t n = 0;
	char *text = NULL;
	const int fd = mkstemp(path);
	assert_int_equal(write(fd, "se\0cret\n", 8), 8);
	close(fd);
	assert_int_equal(locked_read_file(path, 8, &text, &n, &e), 0);
	assert_int_equal(n, 8);
	assert_memory_equal(text, "se\0cret\n", 9);
	locked_freep(&text);
	assert_int_equal(locked_read_file(path, 7, &text, &n, &e), -EFBIG);
	assert_null(text);
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(locked_read_file(path, 7, &text, &n, &e), 0);
	assert_int_equal(n, 0);
	locked_freep(&text);
	unlink(path);
	assert_int_equal(locked_read_file(path, 8, &text, &n, &e), -ENOENT);
	assert_string_equal(e.file, path);
	assert_int_equal(locked_read_file("/tmp", 8, &text, &n, &e), -EISDIR);
	/* of no size that could be known before */
	assert_int_equal(locked_read_file("/proc/self/stat", 4096, &text, &n, &e), 0);
	assert_true(n > 10);
	locked_freep(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_do_not_overlap),
		cmocka_unit_test(what_is_freed_is_overwritten),
		cmocka_unit_test(it_is_locked),
		cmocka_unit_test(a_file_is_read_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
