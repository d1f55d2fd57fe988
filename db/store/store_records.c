/* store_records - the columns of each kind of record, and copies of records. Pure. */
#include "db/store/store_records.h"

#define TYPE_OF(member)                                                                            \
	_Generic(((struct store_record *)0)->member, const char *                                  \
		 : COLUMN_TEXT, bool                                                               \
		 : COLUMN_BOOL, int                                                                \
		 : COLUMN_INT, int64_t                                                             \
		 : COLUMN_I64, uint64_t                                                            \
		 : COLUMN_U64, double                                                              \
		 : COLUMN_REAL)
/* Column @name holds @member, whose type decides how it is stored. */
#define COLUMN(name, member)                                                                       \
	{                                                                                          \
		name, TYPE_OF(member), offsetof(struct store_record, member)                       \
	}

static const struct record_column rewind_columns[] = {
	COLUMN("t_ns", rewind.t_ns),
};
static const struct record_column fabric_columns[] = {
	COLUMN("t_ns", fabric.t_ns),
	COLUMN("yaml", fabric.yaml),
};
static const struct record_column target_columns[] = {
	COLUMN("device", target.device),
	COLUMN("protocol", target.protocol),
	COLUMN("address", target.address),
	COLUMN("state", target.state),
	COLUMN("reason", target.reason),
	COLUMN("up", target.up),
	COLUMN("since_ns", target.since_ns),
	COLUMN("last_success_ns", target.last_success_ns),
	COLUMN("updated_ns", target.now_ns),
	COLUMN("poll_p50_s", target.poll_p50_s),
	COLUMN("poll_p95_s", target.poll_p95_s),
	COLUMN("polls", target.polls),
	COLUMN("timeouts", target.timeouts),
	COLUMN("errors", target.errors),
	COLUMN("value_count", target.values),
};
static const struct record_column target_gone_columns[] = {
	COLUMN("device", target_gone.device),
	COLUMN("protocol", target_gone.protocol),
};
static const struct record_column device_columns[] = {
	COLUMN("device", device.name),
	COLUMN("t_ns", device.t_ns),
	COLUMN("role", device.role),
	COLUMN("profile", device.profile),
	COLUMN("sysname", device.sysname),
	COLUMN("descr", device.descr),
};
static const struct record_column port_columns[] = {
	COLUMN("device", port.device),
	COLUMN("port", port.port),
	COLUMN("t_ns", port.t_ns),
	COLUMN("alias", port.alias),
	COLUMN("peer_device", port.peer_device),
	COLUMN("peer_port", port.peer_port),
	COLUMN("speed_bps", port.speed_bps),
};
static const struct record_column incident_columns[] = {
	COLUMN("id", incident.id),
	COLUMN("cause", incident.cause),
	COLUMN("severity", incident.severity),
	COLUMN("state", incident.state),
	COLUMN("device", incident.device),
	COLUMN("port", incident.port),
	COLUMN("ecmp_group", incident.group),
	COLUMN("host", incident.host),
	COLUMN("summary", incident.summary),
	COLUMN("json", incident.json),
	COLUMN("acked_by", incident.acked_by),
	COLUMN("priority", incident.priority),
	COLUMN("opened_ns", incident.opened_ns),
	COLUMN("closed_ns", incident.closed_ns),
	COLUMN("updated_ns", incident.updated_ns),
	COLUMN("usd_per_hour", incident.usd_per_hour),
	COLUMN("usd_total", incident.usd_total),
	COLUMN("confidence", incident.confidence),
};
static const struct record_column recommendation_columns[] = {
	COLUMN("id", recommendation.id),
	COLUMN("incident_id", recommendation.incident_id),
	COLUMN("device", recommendation.device),
	COLUMN("port", recommendation.port),
	COLUMN("state", recommendation.state),
	COLUMN("advice", recommendation.advice),
	COLUMN("summary", recommendation.summary),
	COLUMN("json", recommendation.json),
	COLUMN("diagnosis", recommendation.diagnosis),
	COLUMN("who", recommendation.who),
	COLUMN("priority", recommendation.priority),
	COLUMN("t_ns", recommendation.t_ns),
	COLUMN("from_ns", recommendation.from_ns),
	COLUMN("to_ns", recommendation.to_ns),
	COLUMN("updated_ns", recommendation.updated_ns),
};
static const struct record_column silence_columns[] = {
	COLUMN("id", silence.id),
	COLUMN("device", silence.device),
	COLUMN("port", silence.port),
	COLUMN("host", silence.host),
	COLUMN("job", silence.job),
	COLUMN("cause", silence.cause),
	COLUMN("who", silence.who),
	COLUMN("why", silence.why),
	COLUMN("ended_by", silence.ended_by),
	COLUMN("created_ns", silence.created_ns),
	COLUMN("from_ns", silence.from_ns),
	COLUMN("until_ns", silence.until_ns),
};
static const struct record_column alert_columns[] = {
	COLUMN("receiver", alert.receiver),
	COLUMN("incident_id", alert.incident_id),
	COLUMN("state", alert.state),
	COLUMN("severity", alert.severity),
	COLUMN("cause", alert.cause),
	COLUMN("pending", alert.pending),
	COLUMN("error", alert.error),
	COLUMN("labels", alert.labels),
	COLUMN("sent_ns", alert.sent_ns),
	COLUMN("pending_ns", alert.pending_ns),
	COLUMN("updated_ns", alert.updated_ns),
	COLUMN("attempts", alert.attempts),
	COLUMN("sent", alert.sent),
	COLUMN("acked", alert.acked),
};
static const struct record_column alert_gone_columns[] = {
	COLUMN("receiver", alert_gone.receiver),
	COLUMN("incident_id", alert_gone.incident_id),
};
static const struct record_column event_columns[] = {
	COLUMN("t_ns", event.t_ns),
	COLUMN("kind", event.kind),
	COLUMN("incident_id", event.incident_id),
	COLUMN("who", event.who),
	COLUMN("text", event.text),
	COLUMN("device", event.device),
	COLUMN("port", event.port),
	COLUMN("job", event.job),
};
static const struct record_column finding_columns[] = {
	COLUMN("analyzer", finding.analyzer),
	COLUMN("cause", finding.cause),
	COLUMN("verdict", finding.verdict),
	COLUMN("severity", finding.severity),
	COLUMN("device", finding.device),
	COLUMN("port", finding.port),
	COLUMN("ecmp_group", finding.group),
	COLUMN("host", finding.host),
	COLUMN("summary", finding.summary),
	COLUMN("from_ns", finding.from_ns),
	COLUMN("to_ns", finding.to_ns),
	COLUMN("priority", finding.priority),
	COLUMN("value", finding.value),
	COLUMN("warn", finding.warn),
	COLUMN("confidence", finding.confidence),
};

static const struct record_column burst_columns[] = {
	COLUMN("t_ns", burst.t_ns),
	COLUMN("incident_id", burst.incident_id),
	COLUMN("device", burst.device),
	COLUMN("from_ns", burst.from_ns),
	COLUMN("to_ns", burst.to_ns),
	COLUMN("part", burst.part),
	COLUMN("parts", burst.parts),
	COLUMN("objects", burst.objects),
	COLUMN("data", burst.data),
};

#define COLUMNS(name)                                                                              \
	{                                                                                          \
		name##_columns, rw_countof(name##_columns)                                         \
	}
static const struct {
	const struct record_column *v;
	size_t n;
} columns[RECORD_KINDS] = {
	[RECORD_REWIND] = COLUMNS(rewind),
	[RECORD_FABRIC] = COLUMNS(fabric),
	[RECORD_TARGET] = COLUMNS(target),
	[RECORD_TARGET_GONE] = COLUMNS(target_gone),
	[RECORD_DEVICE] = COLUMNS(device),
	[RECORD_PORT] = COLUMNS(port),
	[RECORD_INCIDENT] = COLUMNS(incident),
	[RECORD_RECOMMENDATION] = COLUMNS(recommendation),
	[RECORD_SILENCE] = COLUMNS(silence),
	[RECORD_ALERT] = COLUMNS(alert),
	[RECORD_ALERT_GONE] = COLUMNS(alert_gone),
	[RECORD_EVENT] = COLUMNS(event),
	[RECORD_FINDING] = COLUMNS(finding),
	[RECORD_BURST] = COLUMNS(burst),
};

const struct record_column *record_columns(enum record_kind kind, size_t *ret_n)
{
	*ret_n = columns[kind].n;
	return columns[kind].v;
}

/* ---- copies -------------------------------------------------------------- */

static const char **text_at(struct store_record *record, const struct record_column *column)
{
	return (const char **)((char *)record + column->offset);
}

/* The texts of a record that is one row. */
static size_t texts_size(const struct store_record *record)
{
	size_t n, size = 0;
	const struct record_column *v = record_columns(record->kind, &n);

	for (size_t i = 0; i < n; i++) {
		if (v[i].type != COLUMN_TEXT)
			continue;
		const char *text = *text_at((struct store_record *)(uintptr_t)record, &v[i]);
		if (text)
			size += strlen(text) + 1;
	}
	return size;
}

static void texts_copy(struct store_record *record, char *room)
{
	size_t n;
	const struct record_column *v = record_columns(record->kind, &n);

	for (size_t i = 0; i < n; i++) {
		const char **at = text_at(record, &v[i]);
		if (v[i].type != COLUMN_TEXT || !*at)
			continue;
		char *copy = room;
		room = stpcpy(room, *at) + 1;
		*at = copy;
	}
}

/* A snapshot of the agent's health: the measures, then their texts. */
static size_t health_size(const struct store_record *record)
{
	size_t size = record->health.n * sizeof(*record->health.v);

	for (size_t i = 0; i < record->health.n; i++)
		size += strlen(record->health.v[i].key) + strlen(record->health.v[i].unit) + 2;
	return size;
}

static void health_copy(struct store_record *record, void *room)
{
	const struct store_health *from = record->health.v;
	struct store_health *to = room;
	char *text = (char *)(to + record->health.n);

	for (size_t i = 0; i < record->health.n; i++) {
		to[i].value = from[i].value;
		to[i].key = text;
		text = stpcpy(text, from[i].key) + 1;
		to[i].unit = text;
		text = stpcpy(text, from[i].unit) + 1;
	}
	record->health.v = to;
}

/* record_size - bytes that a copy of @record needs besides struct store_record itself.
 * record_copy - @to becomes a copy of @from that depends on nothing but those bytes at @room. */
static size_t record_size(const struct store_record *record)
{
	switch (record->kind) {
	case RECORD_ENTITIES: return record->entities.n * sizeof(*record->entities.v);
	case RECORD_NAMES_GONE: return record->gone.n * sizeof(*record->gone.v);
	case RECORD_TEXTS: return record->texts.n * sizeof(*record->texts.v);
	case RECORD_FLOWS: return record->flows.n * sizeof(*record->flows.v);
	case RECORD_HEALTH: return health_size(record);
	default: return texts_size(record);
	}
}

static void record_copy(struct store_record *to, const struct store_record *from, void *room)
{
	*to = *from;
	switch (from->kind) {
	case RECORD_ENTITIES:
		to->entities.v = memcpy(room, from->entities.v, record_size(from));
		break;
	case RECORD_NAMES_GONE: to->gone.v = memcpy(room, from->gone.v, record_size(from)); break;
	case RECORD_TEXTS: to->texts.v = memcpy(room, from->texts.v, record_size(from)); break;
	case RECORD_FLOWS: to->flows.v = memcpy(room, from->flows.v, record_size(from)); break;
	case RECORD_HEALTH: health_copy(to, room); break;
	default: texts_copy(to, room); break;
	}
}

/* store_queue - jobs that wait to be written, oldest first, and what is dropped when too many
 * wait. */

/* ---- jobs ---------------------------------------------------------------- */

static const enum job_class class_of_kind[RECORD_KINDS] = {
	[RECORD_FLOWS] = JOB_VALUES,
	[RECORD_TARGET] = JOB_SPARE,
	[RECORD_EVENT] = JOB_SPARE,
	[RECORD_BURST] = JOB_SPARE,
	[RECORD_FINDING] = JOB_SPARE,
	[RECORD_HEALTH] = JOB_NEWEST,
};

/* What a job points to lies behind it, in the same block. */
static struct job *job_new(size_t room)
{
	struct job *job = rw_realloc(NULL, sizeof(*job) + room);

	memset(job, 0, sizeof(*job));
	return job;
}

struct job *job_of_samples(const struct sample *samples, size_t n)
{
	struct job *job = job_new(n * sizeof(*samples));

	job->samples = memcpy(job + 1, samples, n * sizeof(*samples));
	job->n_values = n;
	job->class = JOB_VALUES;
	return job;
}

struct job *job_of_record(const struct store_record *record)
{
	struct job *job = job_new(record_size(record));

	record_copy(&job->record, record, job + 1);
	job->class = class_of_kind[record->kind];
	if (record->kind == RECORD_FLOWS)
		job->n_values = record->flows.n;
	return job;
}

void job_free(struct job *job)
{
	free(job);
}

/* ---- lists --------------------------------------------------------------- */

void jobs_push(struct jobs *jobs, struct job *job)
{
	job->next = job->class_next = NULL;
	job->before = jobs->last;
	if (jobs->last)
		jobs->last->next = job;
	else
		jobs->first = job;
	jobs->last = job;
	jobs->n_values += job->n_values;

	job->class_before = jobs->classes[job->class].last;
	if (job->class_before)
		job->class_before->class_next = job;
	else
		jobs->classes[job->class].first = job;
	jobs->classes[job->class].last = job;
	jobs->classes[job->class].n++;
}

static void jobs_unlink(struct jobs *jobs, struct job *job)
{
	if (job->before)
		job->before->next = job->next;
	else
		jobs->first = job->next;
	if (job->next)
		job->next->before = job->before;
	else
		jobs->last = job->before;
	jobs->n_values -= job->n_values;
	if (job->class_before)
		job->class_before->class_next = job->class_next;
	else
		jobs->classes[job->class].first = job->class_next;
	if (job->class_next)
		job->class_next->class_before = job->class_before;
	else
		jobs->classes[job->class].last = job->class_before;
	jobs->classes[job->class].n--;
}

struct job *jobs_pop(struct jobs *jobs)
{
	struct job *job = jobs->first;

	if (job)
		jobs_unlink(jobs, job);
	return job;
}

/* Links the end of one chain to the beginning of the other. */
static void class_prepend(struct jobs *jobs, const struct jobs *front, enum job_class class)
{
	struct job *last = front->classes[class].last, *first = jobs->classes[class].first;

	if (!last)
		return;
	last->class_next = first;
	if (first)
		first->class_before = last;
	else
		jobs->classes[class].last = last;
	jobs->classes[class].first = front->classes[class].first;
	jobs->classes[class].n += front->classes[class].n;
}

void jobs_prepend(struct jobs *jobs, struct jobs *front)
{
	if (!front->first)
		return;
	for (int class = 0; class < JOB_CLASSES; class ++)
		class_prepend(jobs, front, (enum job_class) class);
	front->last->next = jobs->first;
	if (jobs->first)
		jobs->first->before = front->last;
	else
		jobs->last = front->last;
	jobs->first = front->first;
	jobs->n_values += front->n_values;
	*front = (struct jobs){0};
}

void jobs_remove(struct jobs *jobs, struct job *job)
{
	jobs_unlink(jobs, job);
	job_free(job);
}

void jobs_free(struct jobs *jobs)
{
	while (jobs->first)
		job_free(jobs_pop(jobs));
}

/* ---- dropping ------------------------------------------------------------ */

static void jobs_drop(struct jobs *jobs, struct job *job, struct jobs_dropped *dropped)
{
	dropped->jobs++;
	dropped->values += job->n_values;
	jobs_remove(jobs, job);
}

struct jobs_dropped jobs_drop_values(struct jobs *jobs, size_t max_values)
{
	struct jobs_dropped dropped = {0};

	while (jobs->n_values > max_values && jobs->classes[JOB_VALUES].first)
		jobs_drop(jobs, jobs->classes[JOB_VALUES].first, &dropped);
	return dropped;
}

struct jobs_dropped jobs_drop_class(struct jobs *jobs, enum job_class class, size_t max)
{
	struct jobs_dropped dropped = {0};

	while (jobs->classes[class].n > max)
		jobs_drop(jobs, jobs->classes[class].first, &dropped);
	return dropped;
}
