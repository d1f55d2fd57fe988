/*
 * past_case - the folder of an import: fabric.yaml and samples.tsv as replay reads them, and
 * past.json, which says how far it is. samples.tsv is on the disk before past.json speaks of it:
 * after a kill its end, which past.json does not know, is cut off and fetched again.
 */
#include "agent/import/past_internal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/document/json_value.h"
#include "agent/document/paper.h"

#define STATE_MAX ((size_t)1 << 20)
#define PAST_FORMAT 1 /* of past.json */

static char *case_path(const struct past_case *past, const char *name)
{
	struct str path = {0};
	str_addf(&path, "%s/%s", past->dir, name);
	return path.s;
}

/* ---- past.json ---------------------------------------------------------------- */

/* What past.json holds: texts, counts, and a row for each metric with counts of its own. All counts
 * are 64 bits, signed or not, and none is as large as the sign. */
enum { URL, PROFILE, SELECTOR, STRANGER, MISPLACED, ROWS, STATE_FORMAT, STATE_MEMBERS };
static const char *const state_names[] = {[URL] = "url",
	[PROFILE] = "profile",
	[SELECTOR] = "selector",
	[STRANGER] = "stranger",
	[MISPLACED] = "misplaced",
	[ROWS] = "rows",
	[STATE_FORMAT] = "format"};

#define COUNT(field)                                                                               \
	{                                                                                          \
#field, offsetof(struct past_case, field)                                          \
	}
#define LEFT(field)                                                                                \
	{                                                                                          \
#field, offsetof(struct past_case, left.field)                                     \
	}
#define ROW(field)                                                                                 \
	{                                                                                          \
#field, offsetof(struct past_row, field)                                           \
	}
struct case_count {
	const char *name;
	size_t at;
};
static const struct case_count case_counts[] = {COUNT(from_ns), COUNT(to_ns), COUNT(done_ns),
	COUNT(bytes), COUNT(samples), COUNT(requests), LEFT(strangers), LEFT(no_place),
	LEFT(no_value), LEFT(repeated), LEFT(partial), LEFT(estimated), LEFT(wraps)};
static const struct case_count row_counts[] = {
	ROW(series), ROW(samples), ROW(first_ns), ROW(last_ns), ROW(step_ns), ROW(step_of)};

static void counts_write(json_t *to, const void *from, const struct case_count *counts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t value;
		memcpy(&value, (const char *)from + counts[i].at, sizeof(value));
		json_object_set_new(to, counts[i].name, json_integer(value));
	}
}

/* Which of them is missing or no count: its name; NULL: all are read. */
static const char *counts_read(json_t *from, void *to, const struct case_count *counts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		json_t *value;
		past_members(from, &counts[i].name, &value, 1);
		const int64_t number = json_integer_value(value);
		if (!json_is_integer(value) || number < 0)
			return counts[i].name;
		memcpy((char *)to + counts[i].at, &number, sizeof(number));
	}
	return NULL;
}

static json_t *case_rows(const struct past_case *past)
{
	json_t *rows = json_object();
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		if (past->rows[m].samples == 0)
			continue;
		json_t *row = json_object();
		counts_write(row, &past->rows[m], row_counts, rw_countof(row_counts));
		json_object_set_new(rows, metric_info(m)->name, row);
	}
	return rows;
}

static int case_write_state(FILE *out, void *arg)
{
	struct past_case *past = arg;
	json_t *state = json_pack("{s:i, s:s, s:s, s:s, s:s, s:s, s:o}", state_names[STATE_FORMAT],
		PAST_FORMAT, state_names[URL], past->url, state_names[PROFILE], past->profile,
		state_names[SELECTOR], past->selector, state_names[STRANGER], past->left.stranger,
		state_names[MISPLACED], past->left.misplaced, state_names[ROWS], case_rows(past));
	counts_write(state, past, case_counts, rw_countof(case_counts));
	const int rc = json_dumpf(state, out, JSON_INDENT(1));
	json_decref(state);
	if (rc < 0)
		return -EIO;
	return 0;
}

static int case_save(struct past_case *past, struct err *e)
{
	rw_cleanup(freep) char *path = case_path(past, "past.json");
	return file_write(path, case_write_state, past, e);
}

static const char *case_read_rows(struct past_case *past, json_t *rows)
{
	const char *metric, *wrong = NULL;
	json_t *row;
	json_object_foreach (rows, metric, row) {
		const int m = metric_by_name(metric);
		if (m < 0)
			return metric;
		wrong = str_or(wrong,
			counts_read(row, &past->rows[m], row_counts, rw_countof(row_counts)));
	}
	return wrong;
}

/* The same question: the same server, and the same series of it. */
static int case_take_state(struct past_case *past, json_t *state, struct err *e)
{
	json_t *got[STATE_MEMBERS];
	past_members(state, state_names, got, STATE_MEMBERS);
	if (json_integer_value(got[STATE_FORMAT]) != PAST_FORMAT)
		return err_set(e, -EINVAL, "%s/past.json is none of this release", past->dir);
	if (!str_eq(json_string_value(got[URL]), past->url) ||
		!str_eq(json_string_value(got[SELECTOR]), past->selector))
		return err_set(e, -EEXIST,
			"%s holds what was fetched from %.200s by profile %.64s, which is another "
			"question; name another --out",
			past->dir, str_or(json_string_value(got[URL]), "?"),
			str_or(json_string_value(got[PROFILE]), "?"));
	const char *wrong = counts_read(state, past, case_counts, rw_countof(case_counts));
	if (!wrong)
		wrong = case_read_rows(past, got[ROWS]);
	if (wrong)
		return err_set(e, -EINVAL, "%s/past.json: '%.64s' is no count; name another --out",
			past->dir, wrong);
	snprintf(past->left.stranger, sizeof(past->left.stranger), "%s",
		str_or(json_string_value(got[STRANGER]), ""));
	snprintf(past->left.misplaced, sizeof(past->left.misplaced), "%s",
		str_or(json_string_value(got[MISPLACED]), ""));
	return 0;
}

static int case_resume(struct past_case *past, const char *path, struct err *e)
{
	rw_cleanup(freep) char *text = NULL, *samples = case_path(past, "samples.tsv");
	struct stat st;
	size_t n;
	int rc = str_read_file(path, STATE_MAX, &text, &n, e);
	if (rc < 0)
		return rc;
	json_t *state = json_outside(text, n, 0, NULL);
	rc = case_take_state(past, state, e);
	json_decref(state);
	if (rc < 0)
		return rc;
	if (lstat(samples, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size < past->bytes)
		return err_set(e, -EINVAL,
			"%s is not what was written here, or shorter; name another --out", samples);
	if (truncate(samples, (off_t)past->bytes) < 0)
		return err_set(e, -errno, "%s cannot be cut: %s", samples, strerror(errno));
	return 0;
}

/* ---- the folder ---------------------------------------------------------------- */

static int case_write_text(FILE *out, void *arg)
{
	fputs(arg, out);
	if (ferror(out))
		return -EIO;
	return 0;
}

static int case_new(struct past_case *past, const struct past_ask *ask, struct err *e)
{
	static char head[] = "# time_s\tdevice\tport\tpriority\tmetric\tvalue\tflags\twindow_s\n";
	rw_cleanup(freep) char *fabric = case_path(past, "fabric.yaml"),
			       *samples = case_path(past, "samples.tsv");
	if (mkdir(past->dir, 0750) < 0)
		return err_set(e, -errno,
			"--out %s: %s; name a directory that is not there, or one that this "
			"command has begun",
			past->dir, strerror(errno));
	int rc = file_write(fabric, case_write_text, (void *)(uintptr_t)ask->fabric_text, e);
	if (rc == 0)
		rc = file_write(samples, case_write_text, head, e);
	past->from_ns = past->done_ns = ask->from_ns;
	past->to_ns = ask->to_ns;
	past->bytes = strlen(head);
	if (rc == 0)
		rc = case_save(past, e);
	return rc;
}

int past_case_begin(
	struct past_case *past, const struct past_ask *ask, const char *selector, struct err *e)
{
	*past = (struct past_case){.dir = rw_strdup(ask->out),
		.url = rw_strdup(ask->url),
		.profile = rw_strdup(ask->profile),
		.selector = rw_strdup(selector)};
	rw_cleanup(freep) char *path = case_path(past, "past.json");
	if (access(path, F_OK) == 0)
		return case_resume(past, path, e);
	return case_new(past, ask, e);
}

void past_case_done(struct past_case *past)
{
	free(past->dir);
	free(past->url);
	free(past->profile);
	free(past->selector);
}

/* ---- samples.tsv ----------------------------------------------------------------- */

/* printf() of every number would be a third of an import. */
static void case_put_number(struct str *out, uint64_t number, size_t digits_least)
{
	char text[32];
	size_t at = sizeof(text);
	for (; number || at > sizeof(text) - digits_least; number /= 10)
		text[--at] = (char)('0' + number % 10);
	str_addn(out, text + at, sizeof(text) - at);
}

/* A name is clean (db/model/entity.h): it holds no tab and no line end. */
static void case_put(struct str *out, const struct entities *entities, const struct sample *sample)
{
	const struct entity *entity = entity_get(entities, sample->entity);
	const struct metric_info *info = metric_info(sample->metric);
	char flags[SAMPLE_FLAGS_TEXT_MAX];
	case_put_number(out, (uint64_t)(sample->t_ns / NS_PER_S), 1);
	str_add(out, ".");
	case_put_number(out, (uint64_t)(sample->t_ns % NS_PER_S / NS_PER_MS), 3);
	str_add(out, "\t");
	str_add(out, entity->device);
	str_add(out, *entity->port ? "\t" : "\t-");
	str_add(out, entity->port);
	str_add(out, entity->priority == PRIO_NONE ? "\t-" : "\t");
	if (entity->priority != PRIO_NONE)
		case_put_number(out, (uint64_t)entity->priority, 1);
	str_add(out, "\t");
	str_add(out, info->name);
	str_add(out, "\t");
	if (info->type == TYPE_F64)
		str_add_exact(out, sample_f64(sample->value));
	else
		case_put_number(out, sample->value, 1);
	if (sample->flags)
		str_addf(out, "\t%s", sample_flags_text(flags, sample->flags));
	else if (sample->window_ms)
		str_add(out, "\t-");
	if (sample->window_ms)
		str_addf(out, "\t%g", sample->window_ms / 1000.0);
	str_add(out, "\n");
}

static int case_append(struct past_case *past, const struct str *text, struct err *e)
{
	rw_cleanup(freep) char *path = case_path(past, "samples.tsv");
	rw_cleanup(closep) int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	size_t done = 0;
	while (fd >= 0 && done < text->n) {
		const ssize_t n = write(fd, text->s + done, text->n - done);
		if (n < 0 && errno != EINTR)
			return err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
		if (n > 0)
			done += (size_t)n;
	}
	if (fd < 0 || fdatasync(fd) < 0)
		return err_set(e, -errno, "cannot write %s: %s", path, strerror(errno));
	past->bytes += text->n;
	return 0;
}

int past_case_add(struct past_case *past, const struct entities *entities,
	const struct sample *samples, size_t n, int64_t done_ns, struct err *e)
{
	rw_cleanup(str_done) struct str text = {0};
	for (size_t i = 0; i < n; i++)
		case_put(&text, entities, &samples[i]);
	const int rc = case_append(past, &text, e);
	if (rc < 0)
		return rc;
	past->samples += n;
	past->done_ns = done_ns;
	return case_save(past, e);
}
