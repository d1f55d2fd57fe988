/*
 * web_files - the page: the files below web/ and the chart library, compiled into the program. The
 * table is made by the build (web_files.cmake); nothing is read from a disk when it is served.
 */
#ifndef RW_SURFACE_WEB_FILES_H
#define RW_SURFACE_WEB_FILES_H

#include <stddef.h>

struct web_file {
	const char *path; /* "/app.js" */
	const char *type; /* media type */
	const char *etag; /* with quotes */
	const char *begin, *end;
};
extern const struct web_file web_files[]; /* ends with path NULL */

/* web_file_find - the file of exactly this path ("/" is "/index.html"), or NULL. */
const struct web_file *web_file_find(const char *path);

#endif
