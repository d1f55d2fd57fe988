/* A report that is written to a file: whole or not at all, and never through somebody's link. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "agent/document/paper.h"

struct place {
	char directory[64], path[96], victim[96], temporary[128];
};

static void place_new(struct place *place)
{
	strcpy(place->directory, "/tmp/rw-file-XXXXXX");
	assert_non_null(mkdtemp(place->directory));
	snprintf(place->path, sizeof(place->path), "%s/report", place->directory);
	snprintf(place->victim, sizeof(place->victim), "%s/victim", place->directory);
	snprintf(place->temporary, sizeof(place->temporary), "%s.%ld.tmp", place->path,
		(long)getpid());
}

static void place_done(const struct place *place)
{
	unlink(place->path);
	unlink(place->victim);
	unlink(place->temporary);
	assert_int_equal(rmdir(place->directory), 0);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	fputs(text, f);
	fclose(f);
}

static void expect(const char *path, const char *text)
{
	char got[64] = "";
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(got, 1, sizeof(got) - 1, f) > 0);
	fclose(f);
	assert_string_equal(got, text);
}

static int write_new(FILE *out, void *arg)
{
	fputs("new", out);
	return *(int *)arg;
}

static void link_is_not_followed(void **state)
{
	struct place place;
	struct err e = {0};
	int rc = 0;
	place_new(&place);
	put(place.victim, "victim");
	assert_int_equal(symlink(place.victim, place.temporary), 0);
	assert_int_equal(file_write(place.path, write_new, &rc, &e), 0);
	expect(place.path, "new");
	expect(place.victim, "victim");
	place_done(&place);
}

static void failure_leaves_the_old_one(void **state)
{
	struct place place;
	struct err e = {0};
	int rc = -ENOSPC;
	place_new(&place);
	put(place.path, "old");
	assert_int_equal(file_write(place.path, write_new, &rc, &e), -ENOSPC);
	expect(place.path, "old");
	assert_int_equal(access(place.temporary, F_OK), -1);
	place_done(&place);
}

/* A case is written into a directory that may have been there before. */
static void new_file_takes_the_place_of_a_link(void **state)
{
	struct place place;
	place_new(&place);
	put(place.victim, "victim");
	assert_int_equal(symlink(place.victim, place.path), 0);
	FILE *f = file_make_new(place.path);
	assert_non_null(f);
	fputs("new", f);
	assert_int_equal(fclose(f), 0);
	expect(place.path, "new");
	expect(place.victim, "victim");
	place_done(&place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(link_is_not_followed),
		cmocka_unit_test(new_file_takes_the_place_of_a_link),
		cmocka_unit_test(failure_leaves_the_old_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
