/* web_files - looks a file of the page up. */
#include "agent/surface/web_files.h"

#include "agent/base/str.h"

const struct web_file *web_file_find(const char *path)
{
	if (str_eq(path, "/"))
		path = "/index.html";
	for (const struct web_file *file = web_files; file->path; file++)
		if (str_eq(file->path, path))
			return file;
	return NULL;
}
