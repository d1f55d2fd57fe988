/* web_answer - makes a document and puts it, or why there is none, into an HTTP answer. */
#include "agent/surface/web_answer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/document/writer.h"

static void web_reply_text(struct http_reply *ret, int status, const char *text)
{
	json_t *doc = json_object();
	json_object_set_new(doc, "error", json_string_or_null(text));
	char *bytes = json_dumps(doc, 0);
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "%s\n", bytes);
	free(bytes);
	json_decref(doc);
	*ret = (struct http_reply){
		.status = status, .type = "application/json", .body = blob_new(line.s, line.n)};
}

void web_reply_error(struct http_reply *ret, int status, const char *fmt, ...)
{
	char text[1400];
	va_list values;
	va_start(values, fmt);
	vsnprintf(text, sizeof(text), fmt, values);
	va_end(values);
	web_reply_text(ret, status, text);
}

/* As err_print() writes it: with the place, without the line's end. */
static char *web_err_text(const struct err *e)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return NULL;
	err_print(out, e);
	fclose(out);
	if (n > 0 && text[n - 1] == '\n')
		text[n - 1] = '\0';
	return text;
}

void web_reply_err(struct http_reply *ret, int code, const struct err *e)
{
	rw_cleanup(freep) char *text = web_err_text(e);
	int status = 503;
	if (code == -EINVAL)
		status = 400;
	else if (code == -ENOENT)
		status = 404;
	web_reply_text(ret, status, str_or(text, strerror(-code)));
	if (status == 503)
		ret->retry_after_s = 5;
}

/* ---- parameters ---------------------------------------------------------- */

const struct served_param web_range_params[] = {
	{"since", "Begin of the time range: 2026-11-21T03:00:00Z, or 24h for a day ago.", false},
	{"until", "End of the time range; now when not given.", false},
	{"around", "Middle of the time range, in place of since and until.", false},
	{"span", "With around: this long before and after it, such as 15m.", false},
	{NULL, NULL, false},
};

static bool web_params_have(const struct served_param *params, const char *name)
{
	for (; params && params->name; params++)
		if (str_eq(params->name, name))
			return true;
	return false;
}

/* Adds the names of @params to @names and the text "a, b, c". */
static size_t web_params_names(const struct served_param *params, const char **names, size_t n,
	size_t max, struct str *text)
{
	for (; params && params->name && n < max; params++) {
		str_addf(text, "%s%s", str_if(n > 0, ", "), params->name);
		names[n++] = params->name;
	}
	return n;
}

static int web_param_unknown(const struct served_document *row, const char *name, struct err *e)
{
	const char *names[64];
	rw_cleanup(str_done) struct str all = {0};
	size_t n = web_params_names(row->params, names, 0, rw_countof(names), &all);
	n = web_params_names(web_range_params, names, n, rw_countof(names), &all);
	const char *near = str_nearest(name, names, n);
	if (near)
		return err_set(e, -EINVAL,
			"unknown parameter '%.64s'; expected one of %s; did you mean '%s'?", name,
			all.s, near);
	return err_set(e, -EINVAL, "unknown parameter '%.64s'; expected one of %s", name, all.s);
}

int web_check_params(const struct served_document *row, const struct served_given *given, size_t n,
	struct err *e)
{
	const struct served_ask ask = {.given = given, .n_given = n};
	for (size_t i = 0; i < n; i++)
		if (!web_params_have(row->params, given[i].name) &&
			!web_params_have(web_range_params, given[i].name))
			return web_param_unknown(row, given[i].name, e);
	for (const struct served_param *param = row->params; param && param->name; param++)
		if (param->required && !served_get(&ask, param->name))
			return err_set(e, -EINVAL, "the parameter '%s' is missing: %s", param->name,
				param->doc);
	return 0;
}

/* ---- documents ----------------------------------------------------------- */

static int web_print(const json_t *doc, bool one_line, char **ret, size_t *ret_n, struct err *e)
{
	/* Rows: the document itself. The view decides nothing for these two formats. */
	static const struct view whole = {0};
	enum report_format format = FORMAT_JSON;
	if (one_line)
		format = FORMAT_JSONL;
	FILE *out = open_memstream(ret, ret_n);
	int rc = -ENOMEM;
	if (out) {
		rc = report_print(out, doc, &whole, format, true, false);
		fclose(out);
	}
	if (rc < 0)
		return err_set(e, rc, "the document cannot be written: %s", strerror(-rc));
	return 0;
}

/* A long document, which is not held as a tree. */
static int web_print_row(struct client *client, const struct served_document *row,
	const struct served_ask *ask, char **ret, size_t *ret_n, struct err *e)
{
	FILE *out = open_memstream(ret, ret_n);
	if (!out)
		return err_set(e, -ENOMEM, "no memory for the document");
	const int rc = row->print(client, ask, out, e);
	fclose(out);
	if (rc < 0)
		free(rw_take(*ret));
	return rc;
}

int web_make(const struct globals *base, const struct served_document *row,
	const struct served_given *given, size_t n, bool one_line, char **ret, size_t *ret_n,
	struct err *e)
{
	const struct served_ask ask = {.given = given, .n_given = n};
	struct globals globals = *base;
	struct client client;
	json_t *doc = NULL;
	globals.since = served_get(&ask, "since");
	globals.until = served_get(&ask, "until");
	globals.around = served_get(&ask, "around");
	globals.span = served_get(&ask, "span");
	globals.quiet = true;
	int rc = client_open(&client, &globals, row->span_ns, e);
	if (rc < 0)
		return rc;
	if (row->print)
		rc = web_print_row(&client, row, &ask, ret, ret_n, e);
	else
		rc = row->make(&client, &ask, &doc, e);
	client_done(&client);
	if (rc < 0 || row->print)
		return rc;
	rc = web_print(doc, one_line, ret, ret_n, e);
	json_decref(doc);
	return rc;
}

int64_t web_cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}
