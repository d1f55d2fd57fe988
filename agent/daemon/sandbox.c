/* sandbox - the first wall, and the three in their order. */
#include "agent/daemon/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/daemon/sandbox_internal.h"

void sandbox_add(struct sandbox_paths *paths, const char *path, enum sandbox_use use)
{
	if (!path)
		return;
	rw_grow(paths->v, paths->n, paths->cap);
	paths->v[paths->n++] = (struct sandbox_path){.path = rw_strdup(path), .use = use};
}

static void sandbox_add_directory(
	struct sandbox_paths *paths, const char *file, enum sandbox_use use)
{
	rw_cleanup(freep) char *directory = rw_strdup(file);
	char *slash = strrchr(directory, '/');
	if (!slash) {
		sandbox_add(paths, ".", use);
		return;
	}
	slash[slash == directory] = '\0'; /* "/name" lies in "/" */
	sandbox_add(paths, directory, use);
}

void sandbox_add_beside(struct sandbox_paths *paths, const char *file, enum sandbox_use use)
{
	if (!file)
		return;
	sandbox_add_directory(paths, file, use);
	rw_cleanup(freep) char *linked = realpath(file, NULL);
	if (linked && !str_eq(linked, file))
		sandbox_add_directory(paths, linked, use);
}

void sandbox_paths_done(struct sandbox_paths *paths)
{
	for (size_t k = 0; k < paths->n; k++)
		free(paths->v[k].path);
	free(paths->v);
	*paths = (struct sandbox_paths){0};
}

int sandbox_self(struct err *e)
{
	const struct rlimit none = {0};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot set no_new_privs: %s", strerror(errno));
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return err_set(e, -errno, "cannot switch off core files: %s", strerror(errno));
	/* the leak checker of sanitizer builds traces its own process */
	if (!RW_SANITIZED && prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return err_set(e, -errno, "cannot hide the memory of this process from others: %s",
			strerror(errno));
	return 0;
}
