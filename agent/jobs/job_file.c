/* job_file - finds out whose file it is, and hands it to the reader of that format. */
#include "agent/jobs/job_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "agent/jobs/job_formats.h"

static const struct job_reader {
	enum job_format format;
	const char *member; /* of the document: the list of entries */
	const char *wrote; /* what prints such a document */
	int (*read)(struct job_runs *runs, const json_t *entries, struct err *e);
} readers[] = {
	{JOB_SLURM, "jobs", "squeue --json", job_slurm_read},
	{JOB_KUBERNETES, "items", "kubectl get pods -A -o json", job_kubernetes_read},
};

static const struct job_reader *job_file_reader(const json_t *root, enum job_format format)
{
	for (size_t k = 0; k < rw_countof(readers); k++) {
		if (format != JOB_AUTO && format != readers[k].format)
			continue;
		if (json_is_array(json_object_get(root, readers[k].member)))
			return &readers[k];
	}
	return NULL;
}

static int job_file_unknown(enum job_format format, const char *name, struct err *e)
{
	rw_cleanup(str_done) struct str expected = {0};
	for (size_t k = 0; k < rw_countof(readers); k++) {
		if (format != JOB_AUTO && format != readers[k].format)
			continue;
		str_addf(&expected, "%s what '%s' prints (a list \"%s\")",
			str_if(expected.n > 0, " or"), readers[k].wrote, readers[k].member);
	}
	return err_at(
		e, -EINVAL, name, 1, 0, "this is another kind of JSON; expected%s", expected.s);
}

int job_file_parse(struct job_runs *runs, const char *text, size_t n, enum job_format format,
	const char *name, struct err *e)
{
	json_error_t at;
	json_t *root = json_loadb(text, n, 0, &at);
	if (!root)
		return err_at(e, -EINVAL, name, at.line, at.column,
			"%s; expected one JSON document: is the file still being written?",
			at.text);
	const struct job_reader *reader = job_file_reader(root, format);
	int rc;
	if (!reader) {
		rc = job_file_unknown(format, name, e);
	} else {
		struct err why = {0};
		rc = reader->read(runs, json_object_get(root, reader->member), &why);
		if (rc < 0)
			err_at(e, rc, name, 0, 0, "%s", why.text);
	}
	json_decref(root);
	return rc;
}

int job_file_load(struct job_runs *runs, const char *path, enum job_format format, struct err *e)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	const int rc = str_read_file(path, JOB_FILE_MAX, &text, &n, e);
	if (rc < 0)
		return rc;
	return job_file_parse(runs, text, n, format, path, e);
}
