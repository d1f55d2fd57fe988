/* import_files - the files of switches as one configuration. */
#include <errno.h>
#include <stdlib.h>

#include "agent/import/import_sonic.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "config/profile/profile.h"

enum { IMPORT_FILE_MAX = 64 << 20 };

static int import_file(struct import_set *set, const char *path, struct err_list *errors,
	struct err_list *warnings)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	struct err e = {0};
	const int rc = str_read_file(path, IMPORT_FILE_MAX, &text, &n, &e);
	if (rc == 0)
		return import_sonic(set, text, n, path, errors, warnings);
	err_list_add(errors, &e);
	return rc;
}

int import_sonic_files(
	const char *const *paths, FILE *out, struct err_list *errors, struct err_list *warnings)
{
	rw_cleanup(err_list_done) struct err_list without = {0};
	struct profiles *profiles = NULL;
	int rc = 0;
	/* for the sizes of cells; without them the rest stands */
	profiles_load(NULL, &profiles, &without);
	struct import_set *set = import_new(profiles);
	for (size_t i = 0; paths[i]; i++)
		if (import_file(set, paths[i], errors, warnings) < 0)
			rc = -EINVAL;
	if (rc == 0) {
		import_finish(set, warnings);
		import_print(set, out);
	}
	import_free(set);
	profiles_free(profiles);
	return rc;
}
