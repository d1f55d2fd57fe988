/* fuzz_import_sonic - a config_db.json from anyone: it is refused with at least one mistake, or
 * what is printed is a configuration. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "agent/import/import_internal.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void print_and_check(struct import_set *set)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	struct config *c = NULL;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return;
	import_print(set, out);
	fclose(out);
	if (config_parse(text, n, "imported", CONFIG_FULL, NULL, 0, &c, &errors) < 0) {
		for (size_t i = 0; i < errors.n; i++)
			err_print(stderr, &errors.v[i]);
		fputs(text, stderr);
		abort();
	}
	config_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rw_cleanup(err_list_done) struct err_list errors = {0}, warnings = {0};
	rw_cleanup(freep) char *text = strndup((const char *)data, size);
	struct import_set *set = import_new(NULL);
	int rc = import_sonic(set, text, strlen(text), "fuzz", &errors, &warnings);
	if ((rc < 0) != (errors.n > 0))
		abort();
	/* the same once more, as APPL_DB of its own device */
	if (rc == 0)
		import_sonic(set, text, strlen(text), "again", &errors, &warnings);
	import_finish(set, &warnings);
	if (rc == 0)
		print_and_check(set);
	import_free(set);
	set = import_new(NULL);
	err_list_done(&errors);
	errors = (struct err_list){0};
	rc = import_nvue(set, text, strlen(text), "fuzz", &errors, &warnings);
	if ((rc < 0) != (errors.n > 0))
		abort();
	if (rc == 0)
		print_and_check(set);
	import_free(set);
	return 0;
}
