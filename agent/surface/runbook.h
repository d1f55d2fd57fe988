/* runbook - the runbooks of docs/runbooks/, compiled into the program (web_files.h): what the
 * command prints, and what the web page shows below /runbooks/. */
#ifndef RW_SURFACE_RUNBOOK_H
#define RW_SURFACE_RUNBOOK_H

#include <stdbool.h>

struct str;
struct web_file;

/* runbook_find - the page of a cause, by its word; the index for "". NULL: there is none. */
const struct web_file *runbook_find(const char *cause);

/* runbook_of_path - the page at "/runbooks/CAUSE", the index at "/runbooks/"; NULL: there is none,
 * or @path is another one. */
const struct web_file *runbook_of_path(const char *path);

/* runbook_html_add - @runbook as a whole HTML page. @alone: with its own style sheet, to be saved
 * or sent; else with the one of the web page. */
void runbook_html_add(struct str *out, const struct web_file *runbook, bool alone);

#endif
