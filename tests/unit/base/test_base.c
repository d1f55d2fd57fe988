/* err, arena, map, str: what every room stands on. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/locked.h"
#include "base/map.h"
#include "base/str.h"
#include "tests/deadline.h"

static void test_err_print(void **state)
{
	static const struct {
		const char *what, *file;
		int line, col, code;
		const char *text, *want;
	} rows[] = {
		{"all known", "a.yaml", 3, 7, -EINVAL, "read 'x'", "a.yaml:3:7: read 'x'\n"},
		{"no column", "a.yaml", 3, 0, -EINVAL, "read 'x'", "a.yaml:3: read 'x'\n"},
		{"file only", "a.yaml", 0, 0, -EINVAL, "cannot open", "a.yaml: cannot open\n"},
		{"text only", NULL, 0, 0, -EINVAL, "no such thing", "no such thing\n"},
		{"no text", NULL, 0, 0, -ENOSPC, "", "No space left on device\n"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct err e = {0};
		char *got = NULL;
		size_t n = 0;
		FILE *f = open_memstream(&got, &n);
		assert_int_equal(err_at(&e, rows[i].code, rows[i].file, rows[i].line, rows[i].col,
					 "%s", rows[i].text),
			rows[i].code);
		assert_int_equal(e.code, rows[i].code);
		err_print(f, &e);
		fclose(f);
		if (strcmp(got, rows[i].want) != 0)
			fail_msg("%s: got '%s'", rows[i].what, got);
		free(got);
	}
}

static void test_err_wraps_itself(void **state)
{
	struct err e = {0};
	assert_int_equal(err_set(NULL, -EIO, "nobody listens"), -EIO);
	err_set(&e, -EIO, "inner");
	err_at(&e, e.code, "f", 2, 1, "outer: %s", e.text);
	assert_string_equal(e.text, "outer: inner");
	char longer[4096];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_at(&e, -EIO, longer, 1, 1, "%s", longer);
	assert_int_equal(strlen(e.text), sizeof(e.text) - 1);
	assert_int_equal(strlen(e.file), sizeof(e.file) - 1);
}

static void test_err_list(void **state)
{
	struct err_list l = {0};
	for (int i = 0; i < 20; i++) {
		struct err e = {0};
		err_set(&e, -EINVAL, "mistake %d", i);
		err_list_add(&l, &e);
	}
	assert_int_equal(l.n, 20);
	assert_string_equal(l.v[19].text, "mistake 19");
	err_list_done(&l);
	assert_int_equal(l.n, 0);
}

static void test_arena(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (int round = 0; round < 3; round++) {
		unsigned char *last = NULL;
		for (size_t size = 0; size < 40000; size = size * 2 + 1) {
			unsigned char *p = arena_alloc(a, size);
			assert_true((uintptr_t)p % _Alignof(max_align_t) == 0);
			assert_ptr_not_equal(p, last);
			for (size_t i = 0; i < size; i++)
				assert_int_equal(p[i], 0); /* after a reset too */
			memset(p, 0xff, size);
			last = p;
		}
		arena_reset(a);
	}
	assert_string_equal(arena_printf(a, "%s:%d", "leaf1", 7), "leaf1:7");
	assert_string_equal(arena_strdup(a, ""), "");
	assert_string_equal(arena_strndup(a, "abcdef", 3), "abc");
	assert_string_equal(arena_strndup(a, "ab", 30), "ab");
	arena_free(NULL);
	for (size_t n = 0; n < 3; n++) { /* into an empty one, and one that has something */
		struct arena *from = arena_new(), *to = arena_new();
		const char *here = n ? arena_strdup(to, "here") : "here";
		const char *given = n < 2 ? arena_strdup(from, "given") : "given";
		arena_give(from, to);
		assert_string_equal(arena_strdup(to, "after"), "after");
		assert_string_equal(here, "here");
		assert_string_equal(given, "given");
		arena_free(to);
	}
}

static void test_arena_lists(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	int *grown = NULL, *doubled = NULL;
	size_t cap = 0, n_doubled = 0;
	for (size_t n = 0; n < 1000; n++) {
		arena_grow(a, grown, n, cap);
		grown[n] = (int)n;
		arena_grow_pow2(a, doubled, n_doubled);
		doubled[n_doubled++] = (int)n;
	}
	assert_int_equal(cap, 1024);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(grown[i], i);
		assert_int_equal(doubled[i], i);
	}
}

static void test_plural(void **state)
{
	assert_string_equal(plural(0), "s");
	assert_string_equal(plural(1), "");
	assert_string_equal(plural(2), "s");
}

static void test_map_against_model(void **state)
{
	deadline_begin("map_get(): a look-up in a map that was never full");
	enum { KEYS = 512, STEPS = 60000 };
	static struct {
		bool there;
		uint64_t value;
	} model[KEYS];
	struct map *m = map_new();
	uint64_t x = 42;
	size_t n = 0;

	for (int step = 0; step < STEPS; step++) {
		x = x * 6364136223846793005ULL + 1442695040888963407ULL;
		size_t k = (x >> 33) % KEYS;
		uint64_t key = k << 40; /* keys that differ in high bits only */
		if ((x >> 20) % 2048 == 0) {
			map_clear(m);
			memset(model, 0, sizeof(model));
			n = 0;
		} else if ((x >> 20) % 3 != 0) {
			map_put(m, key, x);
			n += !model[k].there;
			model[k].there = true;
			model[k].value = x;
		}
		assert_int_equal(map_count(m), n);
		uint64_t got = 0;
		assert_int_equal(map_get(m, key, &got), model[k].there);
		if (model[k].there)
			assert_true(got == model[k].value);
	}
	for (size_t k = 0; k < KEYS; k++)
		assert_int_equal(map_get(m, k << 40, NULL), model[k].there);
	map_clear(m);
	assert_int_equal(map_count(m), 0);
	assert_false(map_get(m, 0, NULL));
	map_put(m, UINT64_MAX, 1);
	assert_true(map_get(m, UINT64_MAX, NULL));
	map_free(m);
	map_free(NULL);
	deadline_end();
}

static void test_smap(void **state)
{
	deadline_begin("smap_get(): a look-up in a map that was never full");
	struct smap *m = smap_new();
	uint64_t v = 0;
	char key[32];

	assert_false(smap_get(m, "x", 1, &v));
	for (uint64_t i = 0; i < 5000; i++)
		smap_put(m, key,
			(size_t)snprintf(key, sizeof(key), "Ethernet%llu", (unsigned long long)i),
			i);
	for (uint64_t i = 0; i < 5000; i++) {
		assert_true(smap_get(m, key,
			(size_t)snprintf(key, sizeof(key), "Ethernet%llu", (unsigned long long)i),
			&v));
		assert_true(v == i);
	}
	assert_int_equal(smap_count(m), 5000);
	smap_put(m, "Ethernet7", 9, 77);
	assert_int_equal(smap_count(m), 5000);
	assert_true(smap_get(m, "Ethernet7", 9, &v) && v == 77);
	assert_false(smap_get(m, "Ethernet7", 8, &v) && v == 77);
	smap_put(m, "a\0b", 3, 1); /* NUL is an ordinary byte, the empty key a key */
	smap_put(m, "a\0c", 3, 2);
	smap_put(m, "", 0, 3);
	assert_true(smap_get(m, "a\0b", 3, &v) && v == 1);
	assert_true(smap_get(m, "", 0, &v) && v == 3);
	smap_free(m);
	smap_free(NULL);
	deadline_end();
}

/* Stored ids depend on these figures: a change here is a change of every database. */
static void test_hash_is_stable(void **state)
{
	assert_true(hash_bytes("", 0, 0) == 0xefd01f60ba992926ULL);
	assert_true(hash_bytes("leaf1", 5, 0) != hash_bytes("leaf2", 5, 0));
	assert_true(hash_bytes("leaf1", 5, 1) != hash_bytes("leaf1", 5, 0));
	assert_true(hash_u64(0) != hash_u64(1));
}

static void test_str(void **state)
{
	rw_cleanup(str_done) struct str b = {0};
	for (int i = 0; i < 1000; i++)
		str_addf(&b, "%d,", i % 10);
	assert_int_equal(b.n, 2000);
	assert_int_equal(strlen(b.s), 2000);
	str_addn(&b, "\0x", 2);
	assert_int_equal(b.n, 2002);
	str_add(&b, "end");
	assert_string_equal(b.s + 2002, "end");
	struct str empty = {0};
	str_addn(&empty, NULL, 0);
	assert_string_equal(empty.s, "");
	str_done(&empty);
}

static void test_glob(void **state)
{
	static const struct {
		const char *what, *pattern, *s;
		bool want;
	} rows[] = {
		{"no pattern", NULL, "leaf1", true},
		{"star", "leaf*", "leaf12", true},
		{"question mark", "leaf?", "leaf12", false},
		{"class", "leaf[1-3]", "leaf2", true},
		{"case", "LEAF*", "leaf1", false},
		{"slash is ordinary", "Eth*", "Ethernet1/1/3", true},
		{"whole string", "leaf", "leaf1", false},
		{"empty", "", "", true},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (str_glob(rows[i].pattern, rows[i].s) != rows[i].want)
			fail_msg("%s", rows[i].what);
}

static void test_nearest(void **state)
{
	static const char *const names[] = {
		"interval", "slow_interval", "timeout", "profile", "status", "store"};
	static const struct {
		const char *what, *s, *want;
	} rows[] = {
		{"one letter missing", "intrval", "interval"},
		{"swapped", "tiemout", "timeout"},
		{"exact", "status", "status"},
		{"long word, a third off", "slo_intervall", "slow_interval"},
		{"nothing near", "frobnicate", NULL},
		{"too short to say", "xy", NULL},
		{"empty", "", NULL},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const char *got = str_nearest(rows[i].s, names, rw_countof(names));
		if (!str_eq(got, rows[i].want))
			fail_msg("%s: got '%s'", rows[i].what, got ? got : "nothing");
	}
	assert_null(str_nearest("x", NULL, 0));
	char longer[500];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_null(str_nearest(longer, names, rw_countof(names)));
}

/* What stands in a file's place is named, and not waited for: a pipe would be, an endless device
 * read for ever. An alarm ends a test that waits. */
static void test_file_kinds(void **state)
{
	char dir[] = "/tmp/rocewatch-kinds-XXXXXX", pipe_path[64], link_path[64], socket_path[64];
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *text = NULL;
	assert_non_null(mkdtemp(dir));
	snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", dir);
	snprintf(link_path, sizeof(link_path), "%s/link", dir);
	snprintf(socket_path, sizeof(socket_path), "%s/socket", dir);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(mkfifo(pipe_path, 0600), 0);
	assert_int_equal(symlink("/dev/zero", link_path), 0);
	const struct {
		const char *path, *says;
		int code;
	} rows[] = {
		{pipe_path, "is a pipe; expected a regular file", -EINVAL},
		{link_path, "is a device; expected a regular file", -EINVAL},
		{socket_path, "is a socket; expected a regular file", -EINVAL},
		{dir, "is a directory; expected a file", -EISDIR},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct err e = {0};
		alarm(60);
		assert_int_equal(
			str_read_file(rows[i].path, 1 << 20, &text, NULL, &e), rows[i].code);
		assert_non_null(strstr(e.text, rows[i].says));
		assert_string_equal(e.file, rows[i].path);
		assert_int_equal(locked_read_file(rows[i].path, 64, &text, NULL, &e), rows[i].code);
		assert_int_equal(str_open_file(rows[i].path, NULL), rows[i].code);
	}
	assert_int_equal(str_open_file("/nowhere/x", NULL), -ENOENT);
	alarm(0);
	close(fd);
	unlink(pipe_path);
	unlink(link_path);
	unlink(socket_path);
	assert_int_equal(rmdir(dir), 0);
}

static void test_read_file(void **state)
{
	char path[] = "/tmp/rw-base-XXXXXX", *text = NULL;
	size_t n = 0;
	struct err e = {0};
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "a\0b\n", 4), 4);
	close(fd);
	assert_int_equal(str_read_file(path, 4, &text, &n, &e), 0);
	assert_int_equal(n, 4);
	assert_memory_equal(text, "a\0b\n", 5);
	free(text);
	text = NULL;
	assert_int_equal(str_read_file(path, 3, &text, &n, &e), -EFBIG);
	assert_null(text);
	assert_string_equal(e.file, path);
	unlink(path);
	assert_int_equal(str_read_file(path, 3, &text, &n, &e), -ENOENT);
	assert_int_equal(str_read_file("/tmp", 3, &text, &n, NULL), -EISDIR);
	/* its size is told as 0 */
	assert_int_equal(str_read_file("/proc/self/status", 100, &text, &n, NULL), -EFBIG);
}

static void test_bytes(void **state)
{
	static const uint8_t raw[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
	struct bytes b = bytes_of(raw, sizeof(raw));
	assert_int_equal(bytes_u8(&b), 1);
	assert_int_equal(bytes_be16(&b), 0x0203);
	assert_int_equal(bytes_be24(&b), 0x040506);
	assert_int_equal(bytes_left(&b), 4);
	assert_int_equal(bytes_be32(&b), 0x0708090a);
	assert_true(bytes_ok(&b));
	assert_int_equal(bytes_u8(&b), 0);
	assert_false(bytes_ok(&b));
	assert_int_equal(bytes_left(&b), 0);
	bytes_take(&b, 0);
	assert_false(bytes_ok(&b)); /* stays bad */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_err_print),
		cmocka_unit_test(test_err_wraps_itself),
		cmocka_unit_test(test_err_list),
		cmocka_unit_test(test_arena),
		cmocka_unit_test(test_arena_lists),
		cmocka_unit_test(test_plural),
		cmocka_unit_test(test_map_against_model),
		cmocka_unit_test(test_smap),
		cmocka_unit_test(test_hash_is_stable),
		cmocka_unit_test(test_str),
		cmocka_unit_test(test_glob),
		cmocka_unit_test(test_nearest),
		cmocka_unit_test(test_read_file),
		cmocka_unit_test(test_file_kinds),
		cmocka_unit_test(test_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
