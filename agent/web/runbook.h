/* runbook - the runbooks of docs/runbooks/, compiled into the program (below): what the
 * command prints, and what the web page shows below /runbooks/. */
#pragma once

#include "base/base.h"

struct web_file;

/* runbook_find - the page of a cause, by its word; the index for "". NULL: there is none. */
const struct web_file *runbook_find(const char *cause);

/* runbook_of_path - the page at "/runbooks/CAUSE", the index at "/runbooks/"; NULL: there is none,
 * or @path is another one. */
const struct web_file *runbook_of_path(const char *path);

/* runbook_html_add - @runbook as a whole HTML page. @alone: with its own style sheet, to be saved
 * or sent; else with the one of the web page. */
void runbook_html_add(struct str *out, const struct web_file *runbook, bool alone);

/*
 * web_files - the page: the files below web/ and the chart library, compiled into the program. The
 * table is made by the build (web_files.cmake); nothing is read from a disk when it is served.
 */

struct web_file {
	const char *path; /* "/app.js" */
	const char *type; /* media type */
	const char *etag; /* with quotes */
	const char *begin, *end;
};
extern const struct web_file web_files[]; /* ends with path NULL */

/* web_file_find - the file of exactly this path ("/" is "/index.html"), or NULL. */
const struct web_file *web_file_find(const char *path);
