/* driver - runs a fuzz target over every file of the folders and files named, without a fuzzer. */
#include <dirent.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { INPUT_MAX = 16 << 20 };

static int run_file(const char *path)
{
	rw_cleanup(freep) char *text = NULL;
	struct err e = {0};
	size_t n;

	if (str_read_file(path, INPUT_MAX, &text, &n, &e) < 0) {
		err_print(stderr, &e);
		return -1;
	}
	/* A copy of exactly its size: one byte past the end is then the sanitizer's to see. */
	uint8_t *exact = rw_calloc(1, n);
	for (size_t i = 0; i < n; i++)
		exact[i] = (uint8_t)text[i];
	fprintf(stderr, "%s\n", path); /* the last one named is the one that crashed */
	LLVMFuzzerTestOneInput(exact, n);
	free(exact);
	return 0;
}

static int run_folder(const char *path, size_t *ret_n)
{
	struct dirent **names = NULL;
	int n = scandir(path, &names, NULL, alphasort), r = 0;

	for (int i = 0; i < n; i++) {
		rw_cleanup(str_done) struct str file = {0};
		struct stat st;
		str_addf(&file, "%s/%s", path, names[i]->d_name);
		free(names[i]);
		if (stat(file.s, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (run_file(file.s) < 0)
			r = -1;
		(*ret_n)++;
	}
	free(names);
	return n < 0 ? -1 : r;
}

int main(int argc, char **argv)
{
	size_t n = 0;
	int r = 0;

	for (int i = 1; i < argc; i++) {
		struct stat st;
		if (stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode)) {
			if (run_folder(argv[i], &n) < 0)
				r = 1;
		} else if (run_file(argv[i]) < 0) {
			r = 1;
		} else {
			n++;
		}
	}
	/* A corpus that is not there proves nothing. */
	if (n == 0) {
		fprintf(stderr, "no input files\n");
		return 1;
	}
	return r;
}
