/* store_facts - figures of the agent's own table, in rows. */
#include "agent/answers/common/store_facts.h"

#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "config/config.h"
#include "db/series/history.h"

/* ---- rows ------------------------------------------------------------------- */

#define SHAPE struct store_alarm
static const struct field store_alarm_fields[] = {
	TEXT(severity, "`warning` or `critical`.", .known = true, .type = "severity"),
	TEXT(subject, "What it is about.", .known = true),
	TEXT(what, "What is wrong.", .known = true),
	TEXT_AS("do", remedy, "What to do.", .known = true),
};
SHAPE_OF(store_alarm, "Todo", "Something to do.", .common = true);
#undef SHAPE

#define SHAPE struct ship_fact
static const struct field ship_fact_fields[] = {
	TEXT(name, "Name in the configuration.", .known = true),
	TEXT(kind, "Kind of the store.", .known = true),
	TEXT(url, "Where it is.", .known = true),
	MAYBE(failing, "Does it refuse what is sent?"),
	TIME(failing_since, "Since when."),
	TEXT(error, "What it answered."),
	NUMBER(behind_s, UNIT_SECONDS, "How far it is behind."),
	COUNT(samples, "Samples that it took.", .unknown = true),
	COUNT(batches, "Batches that it took.", .unknown = true),
	COUNT(failures, "Attempts that failed.", .unknown = true),
	COUNT(refused, "Samples that it refused.", .unknown = true),
	COUNT(waiting_samples, "Samples that wait.", .unknown = true),
	COUNT(waiting_bytes, "Bytes that wait.", .unknown = true, .unit = UNIT_BYTES),
	COUNT(lost, "Samples that were not sent.", .unknown = true),
};
SHAPE_OF(ship_fact, "Ship", "How far another store has followed.", .common = true);
#undef SHAPE

#define SHAPE struct refused_fact
static const struct field refused_fact_fields[] = {
	TEXT(receiver, "Name of the receiver; `snmp`: that of traps.", .known = true),
	TEXT(reason, "Why: `not_allowed`, `share`, `rate` and others.", .known = true),
	TEXT(sender, "Address of the sender, or the name that it gives itself.", .known = true),
	COUNT(times, "How often, at least, since the agent started."),
};
SHAPE_OF(refused_fact, "Refused", "What a receiver refused a sender.", .common = true);
#undef SHAPE

/* ---- what the store cannot do ----------------------------------------------- */

static const struct {
	const char *key;
	bool critical;
	const char *what; /* %.0f: the figure */
	const char *remedy;
} store_alarms[] = {
	{"store/compact_failed", true,
		"samples cannot be made into blocks, nor minutes and hours of them: they stay as "
		"they came, take more room, and long ranges are slow to read",
		"see the agent's log for the error; free or replace the disk"},
	{"store/damaged_devices", true,
		"stored samples of %.0f switches are damaged: what comes from these switches is "
		"not made into blocks, and reading them ends with an error",
		"'rocewatch db stat' says where; copy the file, and get back what can be by "
		"sqlite3 FILE .recover; check the disk"},
	{"store/damaged_hours", false,
		"%.0f hours of single switches lack minutes of a metric since the agent started, "
		"because blocks of single values are damaged",
		"the agent's log names them; check the disk"},
};

static const char *alarm_words(struct arena *a, const char *fmt, double figure)
{
	const char *place = strstr(fmt, "%.0f");
	if (!place)
		return fmt;
	return arena_printf(
		a, "%.*s%.0f%s", (int)(place - fmt), fmt, figure, place + strlen("%.0f"));
}

struct store_alarm *store_alarms_read(const json_t *health, struct arena *a, size_t *ret_n)
{
	struct store_alarm *rows = arena_array(a, struct store_alarm, rw_countof(store_alarms));
	size_t n = 0;
	for (size_t i = 0; i < rw_countof(store_alarms); i++) {
		const double figure = doc_number(health, store_alarms[i].key);
		if (!(figure > 0))
			continue;
		rows[n++] = (struct store_alarm){
			.severity = store_alarms[i].critical ? "critical" : "warning",
			.subject = "store",
			.what = alarm_words(a, store_alarms[i].what, figure),
			.remedy = store_alarms[i].remedy};
	}
	*ret_n = n;
	return rows;
}

/* ---- whom it refused --------------------------------------------------------- */

struct refused_fact *refused_facts_read(const json_t *health, struct arena *a, size_t *ret_n)
{
	static const char mark[] = "/refused:";
	struct refused_fact *rows =
		arena_array(a, struct refused_fact, json_object_size(health) + 1);
	const char *key;
	json_t *value;
	*ret_n = 0;
	json_object_foreach ((json_t *)(uintptr_t)health, key, value) {
		const char *name = strchr(key, '/'), *end = strstr(key, mark);
		if (!end || name == end)
			continue;
		const char *reason = end + strlen(mark), *sender = strchr(reason, ':');
		if (!sender || !(json_number_value(value) > 0))
			continue;
		rows[(*ret_n)++] = (struct refused_fact){
			.receiver = arena_strndup(a, name + 1, (size_t)(end - name - 1)),
			.reason = arena_strndup(a, reason, (size_t)(sender - reason)),
			.sender = arena_strdup(a, sender + 1),
			.times = (uint64_t)json_number_value(value)};
	}
	return rows;
}

/* ---- where it sends to --------------------------------------------------------- */

static double ship_figure(const json_t *health, const char *name, const char *key)
{
	char full[512];
	snprintf(full, sizeof(full), "ship/%s/%s", name, key);
	return doc_number(health, full);
}

struct ship_reason {
	const char *name;
	struct arena *arena;
	const char *text; /* NULL: none was found */
};

/* The newest first: the first one that is about the sink. */
static int ship_take_reason(void *arg, int n, char *const *words, char *const *names)
{
	struct ship_reason *reason = arg;
	const size_t length = strlen(reason->name);
	if (reason->text || !words[0] || strncmp(words[0], reason->name, length) != 0)
		return 0;
	const char *said = strstr(words[0] + length, ": ");
	if (words[0][length] != ' ' || !said)
		return 0;
	reason->text = arena_strdup(reason->arena, said + strlen(": "));
	return 0;
}

/* What the receiver said when it began to fail; NULL when that is not known. */
static const char *ship_error(struct client *client, const char *name, struct arena *a)
{
	struct ship_reason reason = {.name = name, .arena = a};
	const int r = history_sql(client->history,
		"SELECT text FROM events WHERE kind='ship_failed' ORDER BY t_ns DESC LIMIT 200",
		ship_take_reason, &reason, NULL);
	if (r < 0)
		return NULL;
	return reason.text;
}

static uint64_t ship_count(const json_t *health, const char *name, const char *key)
{
	const double figure = ship_figure(health, name, key);
	if (isfinite(figure))
		return (uint64_t)(int64_t)figure;
	return COUNT_UNKNOWN;
}

static struct ship_fact ship_fact_of(struct client *client, const json_t *health,
	const struct config_sink *sink, struct arena *a)
{
	const double failing_s = ship_figure(health, sink->name, "failing_s");
	struct ship_fact fact = {.name = arena_strdup(a, sink->name),
		.kind = sink_kind_name(sink->kind),
		.url = arena_strdup(a, sink->url),
		.failing_since = TIME_UNKNOWN,
		.behind_s = ship_figure(health, sink->name, "behind_s"),
		.samples = ship_count(health, sink->name, "samples"),
		.batches = ship_count(health, sink->name, "batches"),
		.failures = ship_count(health, sink->name, "failures"),
		.refused = ship_count(health, sink->name, "refused"),
		.waiting_samples = ship_count(health, sink->name, "waiting_samples"),
		.waiting_bytes = ship_count(health, sink->name, "waiting_bytes"),
		.lost = ship_count(health, sink->name, "lost")};
	if (isfinite(failing_s))
		fact.failing = maybe_of(failing_s > 0);
	if (failing_s > 0) {
		fact.failing_since.ns = (int64_t)(failing_s * 1e9);
		fact.error = ship_error(client, sink->name, a);
	}
	return fact;
}

struct ship_fact *ship_facts_read(
	struct client *client, const json_t *health, struct arena *a, size_t *ret_n)
{
	const struct config *config = client->config;
	*ret_n = config ? config->ship.n_sinks : 0;
	struct ship_fact *rows = arena_array(a, struct ship_fact, *ret_n);
	for (size_t i = 0; i < *ret_n; i++)
		rows[i] = ship_fact_of(client, health, &config->ship.sinks[i], a);
	return rows;
}

void ship_fact_text(const struct ship_fact *fact, struct str *out)
{
	char behind[32], since[WALL_TEXT_MAX];
	double behind_s = fact->behind_s;
	if (fact->failing == MAYBE_UNKNOWN) {
		str_add(out, "not known: no agent says how far it is");
		return;
	}
	if (!isfinite(behind_s))
		behind_s = 0;
	if (fact->failing == MAYBE_YES)
		str_addf(out, "FAILS since %s (%s); ", wall_text(since, fact->failing_since, 0),
			str_or(fact->error, "reason not known"));
	duration_format(behind, sizeof(behind), (int64_t)(behind_s * 1e9));
	if (behind_s > 0)
		str_addf(out, "%s behind, %.0f samples wait", behind,
			count_number(fact->waiting_samples));
	else
		str_add(out, "nothing waits");
	if (count_number(fact->lost) > 0)
		str_addf(out, ", %.0f were NOT SENT because too much waited",
			count_number(fact->lost));
}
