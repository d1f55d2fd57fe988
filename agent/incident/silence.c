/* silence - the list of silences: matched, read from the database and from requests, written. */
#include "agent/incident/silence.h"

#include <strings.h>

#include "agent/document/json_value.h"
#include "db/series/history.h"

#define SILENCE_ID_LENGTH 8
#define SILENCE_TEXT_MAX 512 /* of one glob or reason */
#define SILENCE_LONGEST_NS (366LL * 24 * 3600 * NS_PER_S)

void silences_done(struct silences *silences)
{
	arena_free(silences->arena);
	*silences = (struct silences){0};
}

static const char *silence_copy(struct silences *silences, const char *text)
{
	if (!text)
		return NULL;
	return arena_strdup(silences->arena, text);
}

void silences_put(struct silences *silences, const struct silence *silence)
{
	struct silence *to = (struct silence *)silences_find(silences, silence->id);
	if (!silences->arena)
		silences->arena = arena_new();
	if (!to) {
		arena_grow(silences->arena, silences->v, silences->n, silences->cap);
		to = &silences->v[silences->n++];
	}
	const struct silence from = *silence; /* its texts may be those of @to */
	*to = from;
	const char **texts[] = {&to->device, &to->port, &to->host, &to->job, &to->cause, &to->who,
		&to->why, &to->ended_by};
	for (size_t i = 0; i < rw_countof(texts); i++)
		*texts[i] = silence_copy(silences, *texts[i]);
}

const struct silence *silences_find(const struct silences *silences, const char *id)
{
	for (size_t i = 0; i < silences->n; i++)
		if (strcasecmp(silences->v[i].id, id) == 0)
			return &silences->v[i];
	return NULL;
}

/* ---- matching ------------------------------------------------------------ */

bool silence_is_active(const struct silence *silence, int64_t t_ns)
{
	return silence->from_ns <= t_ns && t_ns < silence->until_ns;
}

/* What a silence looks at. */
struct silence_subject {
	const char *device, *port, *host, *cause;
	const char *const *jobs;
	size_t n_jobs;
};

static bool silence_glob_fits(const char *glob, const char *text)
{
	if (!glob)
		return true;
	return text && *text && str_glob(glob, text);
}

static bool silence_job_fits(const char *glob, const struct silence_subject *subject)
{
	if (!glob)
		return true;
	for (size_t i = 0; i < subject->n_jobs; i++)
		if (silence_glob_fits(glob, subject->jobs[i]))
			return true;
	return false;
}

static bool silence_fits(const struct silence *silence, const struct silence_subject *subject)
{
	return silence_glob_fits(silence->device, subject->device) &&
		silence_glob_fits(silence->port, subject->port) &&
		silence_glob_fits(silence->host, subject->host) &&
		silence_glob_fits(silence->cause, subject->cause) &&
		silence_job_fits(silence->job, subject);
}

static const struct silence *silence_longest(
	const struct silences *silences, const struct silence_subject *subject, int64_t t_ns)
{
	const struct silence *found = NULL;
	for (size_t i = 0; i < silences->n; i++) {
		const struct silence *one = &silences->v[i];
		if (!silence_is_active(one, t_ns) || !silence_fits(one, subject))
			continue;
		if (!found || one->until_ns > found->until_ns)
			found = one;
	}
	return found;
}

const struct silence *silence_match(
	const struct silences *silences, const struct incident *incident, int64_t t_ns)
{
	const struct silence_subject subject = {
		.device = incident->device,
		.port = incident->port,
		.host = incident->host,
		.cause = cause_name(incident->cause),
		.jobs = incident->jobs,
		.n_jobs = incident->n_jobs,
	};
	return silence_longest(silences, &subject, t_ns);
}

const struct silence *silence_match_json(
	const struct silences *silences, const json_t *incident, int64_t t_ns)
{
	const json_t *about = json_object_get(incident, "subject");
	const json_t *jobs = json_object_get(incident, "jobs");
	if (silences->n == 0)
		return NULL;
	const size_t n = json_array_size(jobs);
	rw_cleanup(freep) const char **names = rw_calloc(n + 1, sizeof(*names));
	for (size_t i = 0; i < n; i++)
		names[i] = json_string_value(json_array_get(jobs, i));
	const struct silence_subject subject = {
		.device = doc_word(about, "device"),
		.port = doc_word(about, "port"),
		.host = doc_word(about, "host"),
		.cause = doc_word(incident, "cause"),
		.jobs = names,
		.n_jobs = n,
	};
	return silence_longest(silences, &subject, t_ns);
}

/* ---- as documents -------------------------------------------------------- */

static const char *silence_state(const struct silence *silence, int64_t now_ns)
{
	if (now_ns >= silence->until_ns)
		return "expired";
	if (now_ns < silence->from_ns)
		return "scheduled";
	return "active";
}

json_t *silence_json(const struct silence *silence, int64_t now_ns)
{
	const struct {
		const char *key, *text;
	} texts[] = {
		{"id", silence->id},
		{"state", silence_state(silence, now_ns)},
		{"device", silence->device},
		{"port", silence->port},
		{"host", silence->host},
		{"job", silence->job},
		{"cause", silence->cause},
		{"by", silence->who},
		{"why", silence->why},
		{"ended_by", silence->ended_by},
	};
	json_t *o = json_object();
	for (size_t i = 0; i < rw_countof(texts); i++)
		json_object_set_new(o, texts[i].key, json_string_or_null(texts[i].text));
	json_object_set_new(o, "from", json_time(silence->from_ns));
	json_object_set_new(o, "until", json_time(silence->until_ns));
	json_object_set_new(o, "created", json_time(silence->created_ns));
	return o;
}

void silence_text(struct str *out, const struct silence *silence)
{
	char until[WALL_TEXT_MAX];
	str_addf(out, "by %s until %s: %s", str_or(silence->who, "?"),
		wall_text(until, (wall_t){silence->until_ns}, 0), str_or(silence->why, "?"));
}

/* ---- from a request ------------------------------------------------------ */

static void silence_name(struct silence *silence)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567"; /* as of incidents */
	const char *texts[] = {silence->device, silence->port, silence->host, silence->job,
		silence->cause, silence->who, silence->why};
	uint64_t hash = hash_bytes(&silence->created_ns, sizeof(silence->created_ns), 0);
	for (size_t i = 0; i < rw_countof(texts); i++) {
		const char *text = str_or(texts[i], "");
		hash = hash_bytes(text, strlen(text) + 1, hash);
	}
	for (size_t i = 0; i < SILENCE_ID_LENGTH; i++) {
		silence->id[i] = letters[hash % 32];
		hash /= 32;
	}
	silence->id[SILENCE_ID_LENGTH] = '\0';
}

/* A text of the request: NULL when it is not there. */
static int silence_take_text(
	const json_t *request, const char *key, const char **ret, struct err *e)
{
	*ret = json_string_value(json_object_get(request, key));
	if (!*ret)
		return 0;
	if (!**ret)
		return err_set(e, -EINVAL, "%s is empty; leave it out, or give a text", key);
	if (strlen(*ret) > SILENCE_TEXT_MAX)
		return err_set(e, -EINVAL, "%s has %zu characters; expected at most %d", key,
			strlen(*ret), SILENCE_TEXT_MAX);
	if (!text_is_clean(*ret))
		return err_set(e, -EINVAL, "%s: expected one line of plain text", key);
	return 0;
}

static int silence_check(const struct silence *silence, int64_t now_ns, struct err *e)
{
	if (!silence->device && !silence->port && !silence->host && !silence->job &&
		!silence->cause)
		return err_set(e, -EINVAL,
			"nothing is said about what to silence; give --device, --port, --host, "
			"--job or --cause (--cause '*' silences everything)");
	if (!silence->why)
		return err_set(e, -EINVAL, "no reason is given; add --why TEXT");
	if (silence->until_ns <= silence->from_ns || silence->until_ns <= now_ns)
		return err_set(e, -EINVAL,
			"it would have ended already; give a later --from, or a longer --for");
	/* before any difference is taken: it cannot overflow then */
	if (silence->from_ns < now_ns - SILENCE_LONGEST_NS ||
		silence->from_ns > now_ns + SILENCE_LONGEST_NS)
		return err_set(e, -EINVAL, "--from is more than a year away");
	if (silence->until_ns - silence->from_ns > SILENCE_LONGEST_NS)
		return err_set(e, -EINVAL, "it lasts longer than a year; give a shorter --for");
	return 0;
}

int silence_read(
	const json_t *request, const char *who, int64_t now_ns, struct silence *ret, struct err *e)
{
	struct silence s = {.who = who, .created_ns = now_ns};
	const struct {
		const char *key, **to;
	} texts[] = {{"device", &s.device}, {"port", &s.port}, {"host", &s.host}, {"job", &s.job},
		{"cause", &s.cause}, {"why", &s.why}};
	for (size_t i = 0; i < rw_countof(texts); i++) {
		const int rc = silence_take_text(request, texts[i].key, texts[i].to, e);
		if (rc < 0)
			return rc;
	}
	s.from_ns = json_integer_value(json_object_get(request, "from_ns"));
	s.until_ns = json_integer_value(json_object_get(request, "until_ns"));
	const int rc = silence_check(&s, now_ns, e);
	if (rc < 0)
		return rc;
	silence_name(&s);
	*ret = s;
	return 0;
}

int silence_end(struct silences *silences, const char *id, const char *who, int64_t now_ns,
	struct silence *ret, struct err *e)
{
	const struct silence *found = silences_find(silences, id);
	if (!found)
		return err_set(e, -ENOENT,
			"there is no silence '%.20s'; 'rocewatch silence list' names them", id);
	if (found->until_ns <= now_ns)
		return err_set(e, -ENOENT, "silence %s has ended already", found->id);
	struct silence ended = *found;
	ended.ended_by = who;
	ended.until_ns = now_ns;
	if (ended.from_ns > now_ns)
		ended.from_ns = now_ns;
	silences_put(silences, &ended);
	*ret = *silences_find(silences, id);
	return 0;
}

/* ---- the database -------------------------------------------------------- */

/* In the order of the SELECT below. */
enum {
	C_ID,
	C_DEVICE,
	C_PORT,
	C_HOST,
	C_JOB,
	C_CAUSE,
	C_WHO,
	C_WHY,
	C_ENDED,
	C_CREATED,
	C_FROM,
	C_UNTIL,
	C_COUNT
};

static int silence_take_row(void *arg, int n, char *const *values, char *const *names)
{
	struct silence s = {.device = values[C_DEVICE],
		.port = values[C_PORT],
		.host = values[C_HOST],
		.job = values[C_JOB],
		.cause = values[C_CAUSE],
		.who = values[C_WHO],
		.why = values[C_WHY],
		.ended_by = values[C_ENDED]};
	if (n != C_COUNT || !values[C_ID] || strlen(values[C_ID]) != SILENCE_ID_LENGTH)
		return 0;
	memcpy(s.id, values[C_ID], sizeof(s.id));
	s.created_ns = strtoll(str_or(values[C_CREATED], "0"), NULL, 10);
	s.from_ns = strtoll(str_or(values[C_FROM], "0"), NULL, 10);
	s.until_ns = strtoll(str_or(values[C_UNTIL], "0"), NULL, 10);
	silences_put(arg, &s);
	return 0;
}

int silences_load(struct history *history, struct silences *silences, struct err *e)
{
	const int rc = history_sql(history,
		"SELECT id, device, port, host, job, cause, who, why, ended_by, created_ns, "
		"from_ns, until_ns FROM silence ORDER BY created_ns, id",
		silence_take_row, silences, e);
	if (rc == -ENOTSUP)
		return 0;
	return rc;
}

/* What it is about, for the event. */
static void silence_scope(struct str *out, const struct silence *silence)
{
	const struct {
		const char *key, *glob;
	} globs[] = {
		{"device", silence->device},
		{"port", silence->port},
		{"host", silence->host},
		{"job", silence->job},
		{"cause", silence->cause},
	};
	for (size_t i = 0; i < rw_countof(globs); i++)
		if (globs[i].glob)
			str_addf(out, "%s%s %s", str_if(out->n, ", "), globs[i].key, globs[i].glob);
}

void silence_store(
	struct store *store, const struct silence *silence, const char *kind, int64_t now_ns)
{
	rw_cleanup(str_done) struct str text = {0}, scope = {0};
	char until[WALL_TEXT_MAX];
	store_silence(store,
		&(struct store_silence){.id = silence->id,
			.device = silence->device,
			.port = silence->port,
			.host = silence->host,
			.job = silence->job,
			.cause = silence->cause,
			.who = silence->who,
			.why = silence->why,
			.ended_by = silence->ended_by,
			.created_ns = silence->created_ns,
			.from_ns = silence->from_ns,
			.until_ns = silence->until_ns});
	silence_scope(&scope, silence);
	str_addf(&text, "silence %s of %s until %s: %s", silence->id, scope.s,
		wall_text(until, (wall_t){silence->until_ns}, 0), str_or(silence->why, ""));
	store_change_event(store,
		&(struct store_change){.t_ns = now_ns,
			.kind = kind,
			.who = str_or(silence->ended_by, silence->who),
			.text = text.s,
			.device = silence->device,
			.port = silence->port,
			.job = silence->job});
}

/* change - checks what a person says, and makes an event of it. */

#define CHANGE_TEXT_MAX 1000
#define CHANGE_AHEAD_NS (5 * NS_PER_S) /* two clocks need not agree to the second */

static int change_take(const json_t *request, const char *key, const char **ret, struct err *e)
{
	*ret = json_string_value(json_object_get(request, key));
	if (!*ret)
		return 0;
	const size_t n = strlen(*ret);
	if (n == 0 || n > CHANGE_TEXT_MAX)
		return err_set(e, -EINVAL, "%s has %zu characters; expected 1 to %d", key, n,
			CHANGE_TEXT_MAX);
	if (!text_is_clean(*ret))
		return err_set(e, -EINVAL, "%s: expected one line of plain text", key);
	return 0;
}

int change_read(const json_t *request, const char *who, int64_t now_ns, struct arena *a,
	struct store_change *ret, struct err *e)
{
	static const char *const kinds[] = {"change", EVENT_RANK, EVENT_STEP};
	struct store_change change = {.t_ns = now_ns, .who = who};
	bool known = false;
	const char *ticket = NULL;
	const struct {
		const char *key, **to;
	} texts[] = {{"text", &change.text}, {"device", &change.device}, {"port", &change.port},
		{"job", &change.job}, {"ticket", &ticket}, {"kind", &change.kind}};
	for (size_t i = 0; i < rw_countof(texts); i++) {
		const int rc = change_take(request, texts[i].key, texts[i].to, e);
		if (rc < 0)
			return rc;
	}
	change.kind = str_or(change.kind, kinds[0]);
	for (size_t i = 0; i < rw_countof(kinds); i++)
		known |= str_eq(change.kind, kinds[i]);
	if (!known)
		return err_set(e, -EINVAL, "kind: expected change, rank or step");
	if (!change.text)
		return err_set(e, -EINVAL, "no text is given; add --text TEXT");
	if (change.port && !change.device)
		return err_set(e, -EINVAL, "a port needs its device; add --device NAME");
	if (ticket)
		change.text = arena_printf(a, "%s: %s", ticket, change.text);
	const json_t *t = json_object_get(request, "t_ns");
	if (json_is_integer(t))
		change.t_ns = json_integer_value(t);
	if (change.t_ns < 0)
		return err_set(e, -EINVAL, "the time lies before 1970");
	if (change.t_ns > now_ns + CHANGE_AHEAD_NS)
		return err_set(e, -EINVAL, "the time lies in the future; an event has happened");
	*ret = change;
	return 0;
}
