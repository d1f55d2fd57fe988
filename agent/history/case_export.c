/* case_export - writes fabric.yaml and samples.tsv from a database. */
#include "agent/history/case_export.h"

#include <sys/stat.h>
#include "agent/document/paper.h"
#include "db/model/golden.h"
#include "db/model/metric.h"

struct tsv {
	FILE *f;
	const struct entities *entities;
	uint64_t samples;
};

/* A tab or a line end in a text would end the field. */
static void case_export_put_text(FILE *file, const char *text)
{
	if (!*text)
		fputc('-', file);
	for (; *text; text++) {
		const bool ends_field = strchr("\t\n\r", *text);
		fputc(ends_field ? ' ' : *text, file);
	}
}

/* Seconds with as many digits as they need: read back exactly. */
static void case_export_put_time(FILE *file, int64_t t_ns)
{
	uint64_t t = (uint64_t)t_ns;
	if (t_ns < 0)
		t = 0 - t;
	char frac[12];
	int n = snprintf(frac, sizeof(frac), ".%09" PRIu64, t % (uint64_t)NS_PER_S);

	while (n > 0 && (frac[n - 1] == '0' || frac[n - 1] == '.'))
		frac[--n] = '\0';
	fprintf(file, "%s%" PRIu64 "%s", str_if(t_ns < 0, "-"), t / (uint64_t)NS_PER_S, frac);
}

static void put_value(struct tsv *tsv, const struct sample *sample)
{
	char buf[40];

	switch (metric_info(sample->metric)->type) {
	case TYPE_U64: fprintf(tsv->f, "%" PRIu64, sample->value); break;
	case TYPE_F64:
		for (int digits = 15; digits <= 17; digits++) {
			snprintf(buf, sizeof(buf), "%.*g", digits, sample_f64(sample->value));
			if (strtod(buf, NULL) == sample_f64(sample->value))
				break;
		}
		fputs(buf, tsv->f);
		break;
	case TYPE_TEXT:
		case_export_put_text(tsv->f, entities_text_get(tsv->entities, sample->value));
		break;
	}
}

static int put_sample(void *arg, const struct sample *sample)
{
	struct tsv *t = arg;
	const struct entity *e = entity_get(t->entities, sample->entity);
	char flags[SAMPLE_FLAGS_TEXT_MAX];

	/* what the agent keeps for itself is no part of the fabric: a replay makes it anew */
	if (!e || str_eq(e->device, ENTITY_AGENT) || str_eq(e->device, ENTITY_SIGNALS))
		return 0;
	case_export_put_time(t->f, sample->t_ns);
	fputc('\t', t->f);
	case_export_put_text(t->f, e->device);
	fputc('\t', t->f);
	case_export_put_text(t->f, e->port);
	if (e->priority == PRIO_NONE)
		fputs("\t-\t", t->f);
	else
		fprintf(t->f, "\t%d\t", e->priority);
	fprintf(t->f, "%s\t", metric_info(sample->metric)->name);
	put_value(t, sample);
	if (sample->flags)
		fprintf(t->f, "\t%s", sample_flags_text(flags, sample->flags));
	else if (sample->window_ms)
		fputs("\t-", t->f);
	if (sample->window_ms)
		fprintf(t->f, "\t%g", sample->window_ms / 1000.0);
	fputc('\n', t->f);
	t->samples++;
	if (ferror(t->f))
		return -EIO;
	return 0;
}

static FILE *case_export_create(const char *dir, const char *name, struct err *e)
{
	rw_cleanup(str_done) struct str path = {0};

	str_addf(&path, "%s/%s", dir, name);
	FILE *f = file_make_new(path.s);
	if (!f)
		err_set(e, -errno, "cannot create %s: %s", path.s, strerror(errno));
	return f;
}

static int case_export_finish(
	FILE *file, const char *dir, const char *name, int result, struct err *e)
{
	int failed = ferror(file);

	errno = 0;
	if (fclose(file) == 0 && !failed)
		return result;
	if (result < 0)
		return result;
	int code = errno;
	if (code == 0)
		code = EIO;
	return err_set(e, -EIO, "cannot write %s/%s: %s", dir, name, strerror(code));
}

static int export_fabric(struct history *history, const char *dir, int64_t at_ns, struct err *e)
{
	rw_cleanup(freep) char *yaml = NULL;
	int r = history_fabric_at(history, at_ns, &yaml, e);

	if (r < 0) {
		if (r == -ENODATA)
			return err_set(
				e, r, "the database holds no configuration, and a case needs one");
		return r;
	}
	FILE *f = case_export_create(dir, "fabric.yaml", e);
	if (!f)
		return e->code;
	fputs(yaml, f);
	return case_export_finish(f, dir, "fabric.yaml", 0, e);
}

/* A state is reported when it changes: the states in force when the case begins were reported
 * before that, and belong to the case. */
struct states {
	struct sample *v;
	size_t n, cap;
};

static int keep_state(void *arg, const struct sample *sample)
{
	struct states *k = arg;
	rw_grow(k->v, k->n, k->cap);
	k->v[k->n++] = *sample;
	return 0;
}

static int by_series(const void *left, const void *right)
{
	const struct sample *x = left, *y = right;
	if (x->entity != y->entity)
		return x->entity < y->entity ? -1 : 1;
	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

static int by_time(const void *left, const void *right)
{
	const struct sample *x = left, *y = right;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return by_series(left, right);
}

/* Keeps the newest sample of each series. @v is sorted by series. */
static size_t keep_newest(struct sample *v, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		const struct sample *next = &v[i + 1];
		const bool newest =
			i + 1 == n || next->entity != v[i].entity || next->metric != v[i].metric;
		if (newest)
			v[kept++] = v[i];
	}
	return kept;
}

static int put_states(struct tsv *tsv, struct history *history, const struct history_filter *filter,
	struct err *e)
{
	uint16_t metrics[METRIC_COUNT];
	struct history_filter before = *filter;
	struct states k = {0};
	size_t n = 0;
	for (uint16_t m = 0; m < METRIC_COUNT; m++)
		if (metric_info(m)->kind == METRIC_STATE)
			metrics[n++] = m;
	before.metrics = metrics;
	before.n_metrics = n;
	before.from_ns = INT64_MIN;
	before.to_ns = filter->from_ns - 1;
	int r = history_each_sample(history, &before, keep_state, &k, e);
	if (k.n)
		qsort(k.v, k.n, sizeof(*k.v), by_series);
	const size_t last = keep_newest(k.v, k.n);
	if (last)
		qsort(k.v, last, sizeof(*k.v), by_time);
	for (size_t i = 0; r == 0 && i < last; i++)
		r = put_sample(tsv, &k.v[i]);
	free(k.v);
	return r;
}

static int tsv_open(
	struct tsv *tsv, const char *dir, const struct entities *entities, struct err *e)
{
	*tsv = (struct tsv){.f = case_export_create(dir, "samples.tsv", e), .entities = entities};
	if (!tsv->f)
		return e->code;
	fputs("# time_s\tdevice\tport\tpriority\tmetric\tvalue\tflags\twindow_s\n", tsv->f);
	return 0;
}

int case_write_samples(const char *dir, const struct entities *entities,
	const struct sample *samples, size_t n, struct err *e)
{
	struct tsv tsv;
	int rc = tsv_open(&tsv, dir, entities, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < n; i++)
		rc = put_sample(&tsv, &samples[i]);
	return case_export_finish(tsv.f, dir, "samples.tsv", rc, e);
}

static int export_samples(struct history *history, const char *dir,
	const struct history_filter *filter, uint64_t *ret_samples, struct err *e)
{
	struct tsv t;
	int r = tsv_open(&t, dir, history_entities(history), e);

	if (r < 0)
		return r;
	r = put_states(&t, history, filter, e);
	if (r == 0)
		r = history_each_sample(history, filter, put_sample, &t, e);
	r = case_export_finish(t.f, dir, "samples.tsv", r, e);
	*ret_samples = t.samples;
	return r;
}

int case_export(struct history *history, const char *dir, enum case_dir how,
	const struct history_filter *filter, uint64_t *ret_samples, struct err *e)
{
	*ret_samples = 0;
	int code = 0;
	if (mkdir(dir, 0750) < 0)
		code = errno;
	if (code == EEXIST && how == CASE_NEW)
		return err_set(e, -code,
			"%s exists already; name a new directory (db export overwrites it with "
			"--force)",
			dir);
	if (code && code != EEXIST)
		return err_set(e, -code, "cannot create %s: %s", dir, strerror(code));
	const int r = export_fabric(history, dir, filter->to_ns, e);
	if (r == 0)
		return export_samples(history, dir, filter, ret_samples, e);
	return r;
}
