/* capture_files: order by time, equal times, lanes of interfaces, damage in the middle, more files
 * than are opened at once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "collectors/packet/capture/capture_files.h"
#include "tests/unit/collectors/packet/packets.h"

#define T0 1700000000000000000ull
enum { NAMES = 100, NAME_MAX_BYTES = 64 };

/* A folder of captures that goes with the test. */
struct folder {
	char path[32];
	char names[NAMES][NAME_MAX_BYTES];
	size_t n;
	struct capture_files *files;
	unsigned troubles;
	int last_code;
};

static void folder_trouble(void *arg, const char *path, int code, const struct err *e)
{
	struct folder *folder = arg;
	folder->troubles++;
	folder->last_code = code;
}

static void folder_begin(struct folder *folder)
{
	*folder = (struct folder){.path = "/tmp/capture_files.XXXXXX"};
	assert_non_null(mkdtemp(folder->path));
	folder->files = capture_files_new(folder_trouble, folder);
}

static void folder_end(struct folder *folder)
{
	capture_files_free(folder->files);
	for (size_t i = 0; i < folder->n; i++)
		unlink(folder->names[i]);
	rmdir(folder->path);
}

/* A capture with one packet at each of the times, in ms after T0, ended by a negative one; @cut
 * bytes are missing at its end. */
static void folder_add(struct folder *folder, const int *times_ms, size_t cut)
{
	struct capfile cap = {.nano = 1};
	char name[NAME_MAX_BYTES];
	const uint8_t frame[60] = {0};
	struct err e = {0};
	cap_begin(&cap, 1);
	for (; *times_ms >= 0; times_ms++)
		cap_packet(&cap, 0, T0 + (uint64_t)*times_ms * 1000000, frame, sizeof(frame), 0);
	snprintf(name, sizeof(name), "%s/%zu.pcap", folder->path, folder->n + 1);
	memcpy(folder->names[folder->n++], name, sizeof(name));
	FILE *out = fopen(name, "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(cap.b, 1, cap.n - cut, out), cap.n - cut);
	fclose(out);
	free(cap.b);
	/* lent to the stream */
	assert_int_equal(capture_files_add(folder->files, folder->names[folder->n - 1], &e), 0);
}

/* The stream as "ms:lane ms:lane ...". */
static void folder_stream(struct folder *folder, char *text, size_t size)
{
	const struct pcap_record *record;
	size_t n = 0;
	text[0] = '\0';
	while ((record = capture_files_next(folder->files)))
		n += (size_t)snprintf(text + n, size - n, "%s%lld:%u", n ? " " : "",
			(long long)(record->t_ns - (int64_t)T0) / 1000000,
			record->origin.interface / PCAP_INTERFACES_MAX);
	assert_null(capture_files_next(folder->files));
}

static void test_order(void **state)
{
	struct folder folder;
	char text[256];
	folder_begin(&folder);
	folder_add(&folder, (int[]){50, 60, -1}, 0);
	folder_add(&folder, (int[]){10, 30, 55, -1}, 0);
	folder_add(&folder, (int[]){20, 30, -1}, 0);
	folder_stream(&folder, text, sizeof(text));
	/* the third ends before the first begins, which takes over its numbers */
	assert_string_equal(text, "10:0 20:1 30:0 30:1 50:1 55:0 60:1");
	assert_string_equal(capture_files_path(folder.files, 0), folder.names[1]);
	assert_string_equal(capture_files_path(folder.files, 2), folder.names[0]);
	folder_end(&folder);
}

/* One rotation: each file begins when the one before has ended, also in the same millisecond. */
static void test_rotated(void **state)
{
	struct folder folder;
	char text[256];
	int64_t begin_ns = 0, end_ns = 0;
	folder_begin(&folder);
	folder_add(&folder, (int[]){30, 40, -1}, 0);
	folder_add(&folder, (int[]){10, 20, -1}, 0);
	folder_add(&folder, (int[]){20, 25, -1}, 0);
	assert_true(capture_files_begin(folder.files, &begin_ns));
	assert_true(capture_files_end(folder.files, &end_ns));
	assert_int_equal(begin_ns, T0 + 10000000);
	assert_int_equal(end_ns, T0 + 40000000);
	folder_stream(&folder, text, sizeof(text));
	assert_string_equal(text, "10:0 20:0 20:1 25:1 30:0 40:0");
	assert_int_equal(capture_files_read(folder.files), capture_files_bytes(folder.files));
	folder_end(&folder);
}

/* A file that ends too early is told; the others go on. An empty one is no trouble. */
static void test_damage(void **state)
{
	struct folder folder;
	char text[256];
	folder_begin(&folder);
	folder_add(&folder, (int[]){10, 20, 30, -1}, 5);
	folder_add(&folder, (int[]){15, 35, -1}, 0);
	folder_add(&folder, (int[]){-1}, 0);
	folder_stream(&folder, text, sizeof(text));
	assert_string_equal(text, "10:0 15:1 20:0 35:1");
	assert_int_equal(folder.troubles, 1);
	assert_int_equal(folder.last_code, -ENODATA);
	folder_end(&folder);
}

static void test_no_capture(void **state)
{
	struct folder folder;
	struct err e = {0};
	folder_begin(&folder);
	assert_int_equal(capture_files_add(folder.files, "/dev/null", &e), -ENODATA);
	assert_int_equal(capture_files_add(folder.files, "/no/such/file", &e), -ENOENT);
	assert_int_equal(capture_files_count(folder.files), 0);
	assert_null(capture_files_next(folder.files));
	folder_end(&folder);
}

/* More files that overlap than are open at once: all packets come, the files in excess late. */
static void test_many(void **state)
{
	struct folder folder;
	size_t n = 0;
	folder_begin(&folder);
	for (int i = 0; i < NAMES; i++)
		folder_add(&folder, (int[]){i, 1000 + i, -1}, 0);
	const struct pcap_record *record;
	while ((record = capture_files_next(folder.files))) {
		assert_true(record->origin.interface / PCAP_INTERFACES_MAX < CAPTURE_FILES_OPEN);
		n++;
	}
	assert_int_equal(n, 2 * NAMES);
	assert_int_equal(folder.troubles, 0);
	folder_end(&folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_rotated),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_no_capture),
		cmocka_unit_test(test_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
