/* lazy_library - dlopen() and dlsym(), once for each library. */
#include "base/lazy_library.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>

#include "base/err.h"

static pthread_mutex_t lazy_lock = PTHREAD_MUTEX_INITIALIZER;

static int lazy_library_open(struct lazy_library *library, struct err *e)
{
	void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return err_set(e, -ENOENT,
			"%s cannot be loaded: %s; install the package that has it", library->file,
			dlerror());
	for (size_t i = 0; i < library->n; i++) {
		library->calls[i] = dlsym(handle, library->names[i]);
		if (!library->calls[i])
			return err_set(e, -ENOENT,
				"%s has no function %s: this program was built with another "
				"version of the library; install that one",
				library->file, library->names[i]);
	}
	library->handle = handle;
	return 0;
}

int lazy_library_load(struct lazy_library *library, struct err *e)
{
	int rc = 0;
	pthread_mutex_lock(&lazy_lock);
	if (!library->handle)
		rc = lazy_library_open(library, e);
	pthread_mutex_unlock(&lazy_lock);
	return rc;
}
