/*
 * past_import - the way of an import: a stretch of time is asked for, its series become samples,
 * they are written, the next stretch. A stretch that is too much for the server, or whose answer is
 * too long, is halved, and the shortest one is asked for by some of the names at a time; small
 * answers let it grow again.
 */
#include <time.h>

#include "agent/document/json_value.h"
#include "agent/import/import_host.h"
#include "agent/import/past_internal.h"
#include "config/profile/profile_push.h"
#include "db/model/cause.h"

#define STRETCH_FIRST_NS (1800 * NS_PER_S)
#define STRETCH_LEAST_NS (60 * NS_PER_S)
#define STRETCH_MOST_NS (86400 * NS_PER_S)
#define ENTITIES_MOST (1u << 20) /* ports and priorities of one import */
#define SAMPLES_MOST ((size_t)16 << 20) /* of one answer */
#define COARSE_NS (30 * NS_PER_S)

static const struct {
	const char *name, *path;
} past_apis[PAST_APIS] = {
	[PAST_PROMETHEUS] = {"prometheus", "/api/v1/query"},
	[PAST_VICTORIA] = {"victoria", "/api/v1/export"},
	[PAST_INFLUX] = {"influx", "/query"},
};

enum past_api past_api_of(const char *name)
{
	enum past_api api = PAST_PROMETHEUS;
	while (api + 1 < PAST_APIS && strcmp(past_apis[api].name, name) != 0)
		api++;
	return api;
}

struct past_run {
	const struct past_ask *ask;
	struct past_names *names;
	struct past_case past;
	struct entities *entities;
	struct sample_list samples; /* of this stretch */
	struct past_left left; /* of this stretch */
	int64_t from_ns, to_ns; /* the same, without its end */
	size_t part, parts; /* of the names, that are asked for at once */
	mono_t asked; /* when the newest request began; 0: none */
};

/* ---- samples ------------------------------------------------------------------ */

static void run_note_name(char buf[64], const struct push_label *label)
{
	if (label && !buf[0])
		text_clean(buf, 64, label->value, label->n_value);
}

static int run_take_points(struct past_run *run, const struct past_series *series,
	const struct push_rule *rule, uint32_t entity, struct err *e)
{
	struct sample_list *out = &run->samples;
	struct sample sample = {.entity = entity,
		.metric = (uint16_t)rule->value->metric,
		.window_ms = rule->value->window_ms,
		.source = SOURCE_REPLAY,
		.pad = past_rule_number(run->names, rule)};
	for (size_t i = 0; i < series->n; i++) {
		const struct push_number number = {.real = series->points[i].value};
		unsigned flags;
		sample.t_ns = series->points[i].t_ns;
		if (sample.t_ns < run->from_ns || sample.t_ns >= run->to_ns)
			continue;
		if (push_rule_value(rule, &number, &sample.value, &flags) < 0) {
			run->left.no_value++;
			continue;
		}
		run->left.estimated += (flags & SF_ESTIMATED) != 0;
		run->left.wraps += (flags & SF_WRAP32) != 0;
		sample.flags = (uint16_t)flags;
		if (out->n == SAMPLES_MOST)
			return err_set(
				e, -EFBIG, "the answer has more than %zu samples", SAMPLES_MOST);
		rw_grow(out->v, out->n, out->cap);
		out->v[out->n++] = sample;
	}
	return 0;
}

/* A buffer pool is a place of the device, which rocewatch alone names by a label. */
static int run_place(
	const struct push_rule *rule, const struct past_series *series, struct push_place *ret)
{
	const struct profile_push_group *group = rule->group;
	const struct push_label *port = NULL;
	const int rc = push_rule_place(rule, series->labels, series->n_labels, ret);
	if (rc < 0 || metric_info((unsigned)rule->value->metric)->scope != SCOPE_DEVICE)
		return rc;
	if (group->port.n)
		port = push_label_of(series->labels, series->n_labels, group->port.v[0]);
	if (!port)
		return 0;
	if (port->n_value >= sizeof(ret->port) || strncmp(port->value, "pool:", 5) != 0)
		return -EINVAL;
	memcpy(ret->port, port->value, port->n_value + 1);
	if (!text_is_clean(ret->port))
		return -EINVAL;
	return 0;
}

static int run_take_rule(struct past_run *run, const struct past_series *series,
	const struct push_rule *rule, struct err *e)
{
	const struct push_label *told, *labels = series->labels;
	struct push_place place;
	const char *device = past_names_device(run->names, rule, labels, series->n_labels, &told);
	if (!told || run_place(rule, series, &place) < 0) {
		run->left.no_place++;
		run_note_name(
			run->left.misplaced, push_label_of(labels, series->n_labels, "__name__"));
		return 0;
	}
	if (!device) {
		run->left.strangers++;
		run_note_name(run->left.stranger, told);
		return 0;
	}
	const uint32_t entity = entities_intern(run->entities, device, place.port, place.priority);
	if (entity == ENTITY_NONE)
		return err_set(e, -E2BIG,
			"there are more than %u ports and priorities; ask for "
			"fewer with --match",
			ENTITIES_MOST);
	return run_take_points(run, series, rule, entity, e);
}

static int run_take_series(void *arg, const struct past_series *series, struct err *e)
{
	struct past_run *run = arg;
	const struct push_rule *rule = NULL;
	int rc = 0;
	run->left.no_value += series->no_value;
	while (rc == 0 &&
		(rule = past_names_rule(run->names, series->labels, series->n_labels, rule)))
		rc = run_take_rule(run, series, rule, e);
	return rc;
}

/* ---- several series of one thing ------------------------------------------------- */

static int past_order(const void *left, const void *right)
{
	const struct sample *x = left, *y = right;
	if (x->entity != y->entity)
		return x->entity < y->entity ? -1 : 1;
	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return (x->pad > y->pad) - (x->pad < y->pad);
}

static bool past_same(const struct sample *x, const struct sample *y)
{
	return x->entity == y->entity && x->metric == y->metric;
}

static void past_fold(const struct past_names *names, struct sample *to, const struct sample *more)
{
	const enum profile_fold fold = past_names_value(names, to->pad)->fold;
	const bool real = metric_info(to->metric)->type == TYPE_F64;
	const double x = sample_f64(to->value), y = sample_f64(more->value);
	const bool less = real ? y < x : more->value < to->value;
	if (fold == FOLD_SUM && real)
		to->value = sample_of_f64(x + y);
	else if (fold == FOLD_SUM)
		to->value += more->value;
	else if (less == (fold == FOLD_MIN))
		to->value = more->value;
	/* a sum of counters wraps where each of them does, and then it falls by 2^32 */
	to->flags |= more->flags;
	if (fold == FOLD_SUM)
		to->flags &= (uint16_t)~SF_WRAP32;
}

/* The rows of a profile that are there beside those that stand in for them ("fallback") win. Of
 * two values of one row at one time the first is taken. Returns how many of the @n are left. */
static size_t past_prefer(struct past_run *run, struct sample *v, size_t n)
{
	bool better = false;
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		better |= !past_names_value(run->names, v[i].pad)->fallback;
	for (size_t i = 0; i < n; i++) {
		if (better && past_names_value(run->names, v[i].pad)->fallback)
			continue;
		if (kept && v[kept - 1].t_ns == v[i].t_ns && v[kept - 1].pad == v[i].pad) {
			run->left.repeated++;
			continue;
		}
		v[kept++] = v[i];
	}
	return kept;
}

static size_t past_parts(const struct sample *v, size_t n)
{
	size_t parts = 1;
	while (parts < n && v[parts].t_ns == v[0].t_ns)
		parts++;
	return parts;
}

/* One metric of one thing: the parts of each instant become one value. An instant that lacks a part
 * has none, because a sum without it would look like a counter that was cleared. */
static size_t past_join(struct past_run *run, struct sample *v, size_t n)
{
	size_t most = 0, kept = 0;
	n = past_prefer(run, v, n);
	for (size_t i = 0, parts; i < n; i += parts) {
		parts = past_parts(&v[i], n - i);
		if (parts > most)
			most = parts;
	}
	for (size_t i = 0, parts; i < n; i += parts) {
		struct sample sum = v[i];
		parts = past_parts(&v[i], n - i);
		if (parts < most) {
			run->left.partial++;
			continue;
		}
		for (size_t k = 1; k < parts; k++)
			past_fold(run->names, &sum, &v[i + k]);
		v[kept++] = sum;
	}
	return kept;
}

static int past_gap_order(const void *left, const void *right)
{
	const int64_t x = *(const int64_t *)left, y = *(const int64_t *)right;
	return (x > y) - (x < y);
}

/* Counts what @v, one metric of one thing, adds to the metric's row. */
static void past_count(struct past_row *row, const struct sample *v, size_t n)
{
	row->samples += n;
	if (!row->first_ns || v[0].t_ns < row->first_ns)
		row->first_ns = v[0].t_ns;
	if (v[n - 1].t_ns > row->last_ns)
		row->last_ns = v[n - 1].t_ns;
	if (n < 3 || n <= row->step_of)
		return;
	int64_t *gaps = rw_calloc(n - 1, sizeof(*gaps));
	for (size_t i = 1; i < n; i++)
		gaps[i - 1] = v[i].t_ns - v[i - 1].t_ns;
	qsort(gaps, n - 1, sizeof(*gaps), past_gap_order);
	row->step_ns = gaps[(n - 1) / 2];
	row->step_of = n;
	free(gaps);
}

static void run_join(struct past_run *run)
{
	struct sample *v = run->samples.v;
	uint64_t at_once[METRIC_COUNT] = {0};
	size_t kept = 0;
	if (run->samples.n == 0)
		return;
	qsort(v, run->samples.n, sizeof(*v), past_order);
	for (size_t i = 0, n; i < run->samples.n; i += n) {
		for (n = 1; i + n < run->samples.n && past_same(&v[i], &v[i + n]);)
			n++;
		const size_t left = past_join(run, &v[i], n);
		struct past_row *row = &run->past.rows[v[i].metric];
		if (left == 0)
			continue;
		past_count(row, &v[i], left);
		if (++at_once[v[i].metric] > row->series)
			row->series = at_once[v[i].metric];
		memmove(&v[kept], &v[i], left * sizeof(*v));
		kept += left;
	}
	run->samples.n = kept;
	qsort(v, kept, sizeof(*v), sample_order);
}

/* Series that were left out are the same in each stretch; values are not. */
static void run_left(struct past_run *run)
{
	struct past_left *all = &run->past.left, *now = &run->left;
	if (now->strangers > all->strangers)
		all->strangers = now->strangers;
	if (now->no_place > all->no_place)
		all->no_place = now->no_place;
	all->no_value += now->no_value;
	all->repeated += now->repeated;
	all->partial += now->partial;
	all->estimated += now->estimated;
	all->wraps += now->wraps;
	if (now->stranger[0])
		memcpy(all->stranger, now->stranger, sizeof(all->stranger));
	if (now->misplaced[0])
		memcpy(all->misplaced, now->misplaced, sizeof(all->misplaced));
}

/* ---- requests --------------------------------------------------------------------- */

/* Prometheus before 3.0 takes both ends of a range, since then the end only: a millisecond more
 * holds the begin in both, and what is outside is left out when it comes. */
static void run_question(const struct past_run *run, const char *database, struct str *body)
{
	rw_cleanup(str_done) struct str selector = {0};
	const int64_t from_ms = run->from_ns / NS_PER_MS, to_ms = run->to_ns / NS_PER_MS;
	past_names_select(run->names, run->part, run->parts, &selector);
	if (run->ask->api == PAST_VICTORIA) {
		str_add(body, "match%5B%5D=");
		curl_io_escape(body, selector.s);
		str_addf(body, "&start=%" PRId64 ".%03d&end=%" PRId64 ".%03d", from_ms / 1000,
			(int)(from_ms % 1000), to_ms / 1000, (int)(to_ms % 1000));
		return;
	}
	if (run->ask->api == PAST_INFLUX) {
		rw_cleanup(str_done) struct str statement = {0};
		str_addf(&statement, "%stime >= %" PRId64 "ms AND time < %" PRId64 "ms GROUP BY *",
			selector.s, from_ms, to_ms);
		str_add(body, "db=");
		curl_io_escape(body, database);
		str_add(body, "&epoch=ms&q=");
		curl_io_escape(body, statement.s);
		return;
	}
	str_add(body, "query=");
	curl_io_escape(body, selector.s);
	str_addf(body, "%%5B%" PRId64 "ms%%5D&time=%" PRId64 ".%03d", to_ms - from_ms + 1,
		to_ms / 1000, (int)(to_ms % 1000));
}

static void run_wait_turn(struct past_run *run)
{
	const int64_t pause_ns = (int64_t)((double)NS_PER_S / run->ask->per_s);
	const int64_t left_ns = run->asked.ns + pause_ns - mono_now().ns;
	if (run->asked.ns && left_ns > 0) {
		struct timespec wait = {.tv_sec = (time_t)(left_ns / NS_PER_S),
			.tv_nsec = (long)(left_ns % NS_PER_S)};
		while (nanosleep(&wait, &wait) < 0 && errno == EINTR)
			;
	}
	run->asked = mono_now();
}

/* What a status of HTTP says of the cure. */
static const struct {
	long status;
	int error; /* -EFBIG: less may do */
	const char *remedy;
} past_statuses[] = {
	{400, -EPROTO, "it does not take the question: check --match and --prefix"},
	{401, -EACCES, "it wants a log-in: --user with --password-file, or --token-file"},
	{403, -EACCES, "the log-in may not read there"},
	{404, -ENOENT, "nothing is there: does the address lack a path, such as /prometheus?"},
	{405, -EPROTO, "it refuses POST: ask the server itself, not a proxy that only reads"},
	{413, -EFBIG, "the answer is too much for it"},
	{422, -EFBIG, "the question is too much for it"},
	{429, -EAGAIN, "it is asked too often: lower --rate, and begin again later"},
	{503, -EFBIG, "it had no time for the question"},
};

static int run_refused(enum past_api api, long status, const struct str *answer, struct err *e)
{
	char said[200];
	past_answer_complaint(str_or(answer->s, ""), answer->n, said, sizeof(said));
	for (size_t i = 0; i < rw_countof(past_statuses); i++)
		if (past_statuses[i].status == status)
			return err_set(e, past_statuses[i].error, "HTTP status %ld: %s%s%s", status,
				past_statuses[i].remedy, str_if(said[0], "; it says: "), said);
	return err_set(e, -EPROTO, "HTTP status %ld%s%s; is it %s?", status,
		str_if(said[0], ", and it says: "), said, past_apis[api].name);
}

static int run_fetch(struct past_run *run, struct str *answer, struct err *e)
{
	static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded"};
	rw_cleanup(str_done) struct str url = {0}, body = {0};
	const struct past_ask *ask = run->ask;
	long status = 0;
	const char *end = ask->url + strlen(ask->url), *database = "";
	if (ask->api == PAST_INFLUX) { /* the last part of the address */
		end = strrchr(ask->url, '/');
		database = end + 1;
	}
	str_addn(&url, ask->url, (size_t)(end - ask->url));
	str_add(&url, past_apis[ask->api].path);
	run_question(run, database, &body);
	run_wait_turn(run);
	const struct curl_post post = {.ask = {.url = url.s,
					       .username = ask->username,
					       .password = ask->password,
					       .token = ask->token,
					       .tls.ca = ask->ca,
					       .timeout_ns = ask->timeout_ns,
					       .stop_fd = -1},
		.body = body.s,
		.n_body = body.n,
		.headers = headers,
		.n_headers = rw_countof(headers),
		.answer_max = PAST_ANSWER_MAX};
	const int rc = curl_io_post(&post, &status, answer, e);
	run->past.requests++;
	if (rc == 0 && status != 200)
		return run_refused(ask->api, status, answer, e);
	return rc;
}

/* One stretch. -EFBIG, -ETIMEDOUT: a shorter one may do, or fewer names at once. */
static int run_stretch(struct past_run *run, size_t *ret_bytes, struct err *e)
{
	int rc = 0;
	run->samples.n = 0;
	run->left = (struct past_left){0};
	for (run->part = 0; run->part < run->parts && rc == 0; run->part++) {
		rw_cleanup(str_done) struct str answer = {0};
		rc = run_fetch(run, &answer, e);
		if (answer.n > *ret_bytes)
			*ret_bytes = answer.n;
		if (rc == 0)
			rc = past_answer_read(run->ask->api, str_or(answer.s, ""), answer.n,
				run_take_series, run, e);
	}
	if (rc < 0) {
		text_hide(e->text, run->ask->password);
		text_hide(e->text, run->ask->token);
		return rc;
	}
	run_join(run);
	run_left(run);
	return past_case_add(
		&run->past, run->entities, run->samples.v, run->samples.n, run->to_ns, e);
}

/* Twice as many, but none without a name. */
static size_t past_parts_more(const struct past_run *run)
{
	const size_t most = past_names_count(run->names);
	return 2 * run->parts < most ? 2 * run->parts : most;
}

static int run_all(struct past_run *run, struct err *e)
{
	int64_t stretch_ns = STRETCH_FIRST_NS;
	while (run->past.done_ns < run->past.to_ns) {
		struct err why = {0};
		size_t bytes = 0;
		run->from_ns = run->past.done_ns;
		run->to_ns = run->from_ns + stretch_ns;
		if (run->to_ns > run->past.to_ns)
			run->to_ns = run->past.to_ns;
		const int rc = run_stretch(run, &bytes, &why);
		const bool too_much = rc == -EFBIG || rc == -ETIMEDOUT;
		const bool shorter = stretch_ns / 2 >= STRETCH_LEAST_NS;
		if (too_much && (shorter || run->parts < past_names_count(run->names))) {
			stretch_ns /= 1 + shorter;
			if (!shorter)
				run->parts = past_parts_more(run);
			continue;
		}
		if (rc < 0)
			return err_set(e, rc,
				"%s: %s%s. What was fetched is in %s; the same command goes on "
				"there",
				run->ask->url, why.text,
				str_if(too_much,
					", even of one name for a minute: ask for fewer series "
					"with --match"),
				run->past.dir);
		if (bytes < PAST_ANSWER_MAX / 8 && stretch_ns < STRETCH_MOST_NS)
			stretch_ns *= 2;
	}
	return 0;
}

/* ---- the document ------------------------------------------------------------------ */

static json_t *past_step(const struct past_row *row)
{
	if (row->step_ns == 0)
		return json_null();
	return json_real((double)row->step_ns / (double)NS_PER_S);
}

static json_t *past_rows(const struct past_case *past)
{
	json_t *rows = json_array();
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct past_row *row = &past->rows[m];
		if (row->samples)
			json_array_append_new(rows,
				json_pack("{s:s, s:I, s:I, s:o, s:o, s:o}", "metric",
					metric_info(m)->name, "series", (json_int_t)row->series,
					"samples", (json_int_t)row->samples, "first",
					json_time(row->first_ns), "last", json_time(row->last_ns),
					"step_s", past_step(row)));
	}
	return rows;
}

static bool past_is_missing(const struct need *const *missing, size_t n, const struct need *need)
{
	for (size_t i = 0; i < n; i++)
		if (missing[i] == need)
			return true;
	return false;
}

/* What no series tells stays unknown, or is seen later: the causes by the counters that they lack.
 */
static void past_note_causes(const struct past_case *past, enum need_sight sight, json_t *doc)
{
	const bool blind = sight == NEED_BLIND;
	const enum need_kind kind = blind ? NEED_MUST : NEED_HELPS;
	bool delivered[METRIC_COUNT];
	const struct need *all, *missing[NEED_MISSING_MAX];
	const size_t n_all = needs_all(&all);
	size_t n;
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		delivered[m] = past->rows[m].samples > 0;
	for (size_t i = 0; i < n_all; i++) {
		rw_cleanup(str_done) struct str causes = {0};
		for (size_t k = 0; k < n_all; k++) {
			if (!str_eq(all[k].words, all[i].words) || all[k].kind != kind)
				continue;
			if (k < i)
				break; /* said already */
			if (need_judge(all[k].cause, delivered, missing, &n) == sight &&
				past_is_missing(missing, n, &all[k]))
				str_addf(&causes, "%s%s", str_if(causes.n, ", "),
					cause_info(all[k].cause)->name);
		}
		if (causes.n)
			import_note(doc, "%s, because no series tells of %s: %s",
				blind ? "unknown" : "seen later or less surely", all[i].words,
				causes.s);
	}
}

static void past_note_left(const struct past_left *left, json_t *doc)
{
	if (left->strangers)
		import_note(doc,
			"left out: %" PRIu64 " series of devices that the fabric does not name, "
			"such as %s",
			left->strangers, left->stranger);
	if (left->no_place)
		import_note(doc,
			"left out: %" PRIu64 " series whose labels name no device, port or "
			"priority, such as %s",
			left->no_place, left->misplaced);
	if (left->no_value)
		import_note(doc, "left out: %" PRIu64 " values that are no number, or cannot be",
			left->no_value);
	if (left->repeated)
		import_note(doc,
			"left out: %" PRIu64 " values that came twice, from series that differ in "
			"labels that mean nothing here",
			left->repeated);
	if (left->partial)
		import_note(doc,
			"left out: %" PRIu64
			" sums of series of which one had no value at that time",
			left->partial);
}

static void past_notes(const struct past_run *run, json_t *doc)
{
	const struct past_case *past = &run->past;
	int64_t step_ns = 0;
	char step[32];
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		if (metric_info(m)->kind == METRIC_COUNTER && past->rows[m].step_ns > step_ns)
			step_ns = past->rows[m].step_ns;
	if (step_ns >= COARSE_NS)
		import_note(doc,
			"counters come every %s: what lasts less than two of these steps is "
			"averaged away, and a verdict that needs it stays out",
			duration_format(step, sizeof(step), step_ns));
	past_note_causes(past, NEED_BLIND, doc);
	past_note_causes(past, NEED_WEAK, doc);
	past_note_left(&past->left, doc);
	if (past->left.wraps)
		import_note(doc,
			"%" PRIu64 " values count in 32 bits, as the profile says: a fall may be "
			"one wrap, and faster ones are not seen",
			past->left.wraps);
	if (past->left.estimated)
		import_note(doc,
			"%" PRIu64 " values are above 2^53, where the server does not keep every "
			"unit: they are flagged estimated",
			past->left.estimated);
	import_note(doc, "now: rocewatch replay --from %s", past->dir);
}

static json_t *past_document(const struct past_run *run)
{
	json_t *doc = import_document(past_apis[run->ask->api].name);
	const struct past_case *past = &run->past;
	json_object_set_new(doc, "rows", past_rows(past));
	json_object_set_new(doc, "out", json_string_or_null(past->dir));
	json_object_set_new(doc, "from", json_time(past->from_ns));
	json_object_set_new(doc, "to", json_time(past->to_ns));
	json_object_set_new(doc, "samples", json_integer((json_int_t)past->samples));
	json_object_set_new(doc, "bytes", json_integer((json_int_t)past->bytes));
	json_object_set_new(doc, "requests", json_integer((json_int_t)past->requests));
	past_notes(run, doc);
	return doc;
}

static int run_nothing(const struct past_run *run, struct err *e)
{
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
	const struct past_left *left = &run->past.left;
	wall_text(from, (wall_t){run->past.from_ns}, 0);
	wall_text(to, (wall_t){run->past.to_ns}, 0);
	if (left->strangers)
		return err_set(e, -ENODATA,
			"%s has series of the profile, but of no device that the fabric names: "
			"%" PRIu64 " such as %s; give the devices these names or addresses",
			run->ask->url, left->strangers, left->stranger);
	if (left->no_place)
		return err_set(e, -ENODATA,
			"%s has %" PRIu64 " series of the profile, but no label of them names a "
			"port, such as %s; write a profile for these labels",
			run->ask->url, left->no_place, left->misplaced);
	return err_set(e, -ENODATA,
		"%s has no series of profile %.64s from %s to %s; look at --profile, --prefix, "
		"--match, --since, and at how long the server keeps its history",
		run->ask->url, run->ask->profile, from, to);
}

int past_import(const struct past_ask *ask, json_t **ret, struct err *e)
{
	struct past_run run = {.ask = ask, .names = past_names_new(ask, e), .parts = 1};
	rw_cleanup(str_done) struct str selector = {0};
	const struct entity_limits limits = {.total = ENTITIES_MOST};
	if (!run.names)
		return -EINVAL;
	run.entities = entities_new();
	entities_limit(run.entities, &limits);
	past_names_select(run.names, 0, 1, &selector);
	int rc = past_case_begin(&run.past, ask, selector.s, e);
	if (rc == 0)
		rc = run_all(&run, e);
	if (rc == 0 && run.past.samples == 0)
		rc = run_nothing(&run, e);
	if (rc == 0)
		*ret = past_document(&run);
	past_case_done(&run.past);
	entities_free(run.entities);
	past_names_free(run.names);
	free(run.samples.v);
	return rc;
}
