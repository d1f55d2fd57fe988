/* runbook - finds the runbooks among the files of the program, and puts their HTML into a page. */
#include "agent/web/runbook.h"

#include "agent/document/markdown_html.h"

/* web_files - looks a file of the page up. */

const struct web_file *web_file_find(const char *path)
{
	if (str_eq(path, "/"))
		path = "/index.html";
	for (const struct web_file *file = web_files; file->path; file++)
		if (str_eq(file->path, path))
			return file;
	return NULL;
}

#define RUNBOOK_PATH "/runbooks/"

static const char own_style[] =
	"<style>\n"
	":root { color-scheme: light dark; }\n"
	"body { font: 15px/1.5 sans-serif; max-width: 52rem; margin: 1rem auto; padding: 0 1rem; "
	"}\n"
	"pre, code { font-family: monospace; }\n"
	"pre { overflow-x: auto; border: 1px solid #8888; padding: .5rem; }\n"
	"table { border-collapse: collapse; }\n"
	"th, td { border: 1px solid #8888; padding: .2rem .5rem; text-align: left; }\n"
	"</style>\n";
static const char page_style[] = "<link rel=\"icon\" href=\"../icon.svg\" type=\"image/svg+xml\">\n"
				 "<link rel=\"stylesheet\" href=\"../style.css\">\n"
				 "<script src=\"../theme.js\"></script>\n";

const struct web_file *runbook_find(const char *cause)
{
	rw_cleanup(str_done) struct str path = {0};
	if (strchr(cause, '/') || strchr(cause, '.'))
		return NULL;
	str_addf(&path, RUNBOOK_PATH "%s.md", *cause ? cause : "README");
	return web_file_find(path.s);
}

const struct web_file *runbook_of_path(const char *path)
{
	if (strncmp(path, RUNBOOK_PATH, strlen(RUNBOOK_PATH)) != 0)
		return NULL;
	return runbook_find(path + strlen(RUNBOOK_PATH));
}

/* "# Title" is the first line. */
static void runbook_title_add(struct str *out, const struct web_file *runbook)
{
	const char *begin = runbook->begin;
	while (begin < runbook->end && (*begin == '#' || *begin == ' '))
		begin++;
	const char *end = memchr(begin, '\n', (size_t)(runbook->end - begin));
	if (end)
		str_addf(out, "<title>%.*s</title>\n", (int)(end - begin), begin);
}

void runbook_html_add(struct str *out, const struct web_file *runbook, bool alone)
{
	const char *style = page_style;
	if (alone)
		style = own_style;
	str_add(out,
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
	runbook_title_add(out, runbook);
	str_addf(out, "%s</head>\n<body class=\"runbook\">\n<main>\n", style);
	if (!alone)
		str_add(out,
			"<p class=\"links\"><a class=\"button\" href=\"../\">rocewatch</a> "
			"<a class=\"button\" href=\"./\">All runbooks</a></p>\n");
	markdown_html_add(out, runbook->begin, (size_t)(runbook->end - runbook->begin));
	str_add(out, "</main>\n</body>\n</html>\n");
}
