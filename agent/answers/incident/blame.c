/* blame - the incidents that a host or port causes, and those it is a victim of. */
#include "agent/answers/incident/blame.h"

#include "agent/answers/incident/incident_view.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/incident/silence.h"
#include "agent/answers/incident/incident_read.h"
#include "config/config.h"
#include "config/profile/nic.h"
#include "config/profile/profile.h"
#include "db/model/cause.h"
#include "db/series/history.h"

/* incident_timeline - puts the events of the database beside the lines of an incident, and fills
 * the commands of its cause. */

/* ---- incident_commands - fills the commands of a cause with the subject of an incident. */

/* The lossless priority of most fabrics, where the incident names none. */
#define USUAL_PRIORITY 3
#define READ_ONLY "read only"

/* What the placeholders stand for. */
struct command_subject {
	const char *id, *device, *port, *host;
	const char *rdma; /* RDMA device of the host's NIC at that port, NULL unknown */
	int priority;
};

/* ---- the subject --------------------------------------------------------- */

static const struct fabric_port *commands_port(
	const struct fabric *fabric, const struct command_subject *subject)
{
	const struct fabric_device *device = fabric_device(fabric, subject->device);
	if (!device || !subject->port)
		return NULL;
	return fabric_port(device, subject->port);
}

/* Only names of RDMA devices say what the NIC is: other words are names of rails. */
static bool is_rdma_device(const char *nic)
{
	static const char *const prefixes[] = {"mlx5", "mlx4", "bnxt", "irdma", "ionic"};
	for (size_t i = 0; nic && i < rw_countof(prefixes); i++)
		if (strncmp(nic, prefixes[i], strlen(prefixes[i])) == 0)
			return true;
	return false;
}

static const char *commands_known(const char *name)
{
	return *name ? name : NULL;
}

static struct command_subject subject_of(
	const struct fabric *fabric, const struct incident_told *incident)
{
	const struct told_subject *subject = &incident->subject;
	struct command_subject s = {.id = incident->id,
		.device = commands_known(subject->device),
		.port = commands_known(*subject->port ? subject->port : subject->member),
		.host = commands_known(subject->host),
		.priority = subject->priority < 0 ? USUAL_PRIORITY : subject->priority};
	const struct fabric_port *port = NULL;
	if (s.device)
		port = commands_port(fabric, &s);
	if (port && port->host && !s.host)
		s.host = port->host;
	if (port && is_rdma_device(port->host_nic))
		s.rdma = port->host_nic;
	return s;
}

/* ---- templates ----------------------------------------------------------- */

/* False when the subject has no such thing. */
static bool commands_add_value(
	struct str *out, const struct command_subject *subject, const char *name)
{
	const struct {
		const char *name, *value;
	} values[] = {
		{"id", subject->id},
		{"device", subject->device},
		{"port", subject->port},
		{"rdma", str_or(subject->rdma, "*")},
	};
	if (str_eq(name, "priority")) {
		str_addf(out, "%d", subject->priority);
		return true;
	}
	for (size_t i = 0; i < rw_countof(values); i++)
		if (str_eq(values[i].name, name) && values[i].value) {
			str_add(out, values[i].value);
			/* A person pastes it into a shell: a switch's own name for a port is not
			 * to be a second command there. */
			return str_eq(values[i].value, "*") || text_is_word(values[i].value);
		}
	return false;
}

/* A name in it that is not of the subject makes the whole command useless: false. */
static bool commands_fill(
	struct str *out, const struct command_subject *subject, const char *template)
{
	while (*template) {
		const char *end = NULL;
		if (*template == '{')
			end = strchr(template, '}');
		if (!end) {
			str_addn(out, template ++, 1);
			continue;
		}
		rw_cleanup(freep) char *name = strndup(template + 1, (size_t)(end - template - 1));
		if (!commands_add_value(out, subject, name))
			return false;
		template = end + 1;
	}
	return true;
}

static void commands_add(json_t *list, const struct command_subject *subject, const char *where,
	const char *template, const char *effect)
{
	rw_cleanup(str_done) struct str text = {0};
	if (!commands_fill(&text, subject, template))
		return;
	json_array_append_new(list,
		json_pack("{s:s, s:s, s:s?, s:s}", "where", where, "command", text.s, "effect",
			effect, "risk", READ_ONLY));
}

/* ---- the switch ---------------------------------------------------------- */

static int take_profile(void *arg, int n, char *const *words, char *const *names)
{
	char **ret = arg;
	if (n == 1 && words[0] && !*ret)
		*ret = rw_strdup(words[0]);
	return 0;
}

/* The profile by which a device is read: as configured, else as the agent recognised it. Caller
 * frees; NULL when nobody knows. */
static char *profile_name(struct client *client, const char *device)
{
	const struct config *config = client->config;
	for (size_t k = 0; k < config->n_devices; k++) {
		const char *profile = config->devices[k].profile;
		if (str_eq(config->devices[k].name, device) && profile && !str_eq(profile, "auto"))
			return rw_strdup(profile);
	}
	if (strchr(device, '\''))
		return NULL; /* it goes into a query */
	rw_cleanup(str_done) struct str sql = {0};
	char *name = NULL;
	struct err e = {0};
	str_addf(&sql,
		"SELECT profile FROM device_attr WHERE device='%s' AND profile<>'' AND "
		"profile<>'auto' ORDER BY t_ns DESC LIMIT 1",
		device);
	(void)history_sql(client->history, sql.s, take_profile, &name, &e);
	return name;
}

static void add_of_switch(struct client *client, const struct command_subject *subject,
	const char *topic, json_t *list)
{
	if (!subject->device)
		return;
	rw_cleanup(freep) char *name = profile_name(client, subject->device);
	struct profiles *profiles = NULL;
	struct err_list errors = {0};
	if (name && profiles_load(client->config->profile_dir, &profiles, &errors) == 0) {
		const struct profile *profile = profiles_get(profiles, name);
		const char *run = NULL;
		if (profile)
			run = profile_command_of(profile, topic);
		if (run)
			commands_add(list, subject, subject->device, run, topic);
	}
	profiles_free(profiles);
	err_list_done(&errors);
}

/* ---- all of a cause ------------------------------------------------------ */

static void add_of_nic(const struct command_subject *subject, const char *topic, json_t *list)
{
	const struct nic_command *row = nic_command(subject->rdma, topic);
	if (row && subject->host)
		commands_add(list, subject, subject->host, row->run, row->shows);
}

static void add_check(struct client *client, const struct command_subject *subject,
	const char *check, json_t *list)
{
	const char *what = strchr(check, ':');
	if (!what)
		return;
	const size_t n = (size_t)(what++ - check);
	if (strncmp(check, "nic", n) == 0) {
		add_of_nic(subject, what, list);
	} else if (strncmp(check, "switch", n) == 0) {
		add_of_switch(client, subject, what, list);
	} else {
		rw_cleanup(str_done) struct str command = {0};
		str_addf(&command, "rocewatch %s", what);
		commands_add(list, subject, "here", command.s, NULL);
	}
}

static enum cause known_cause(const char *word)
{
	for (int k = CAUSE_NONE + 1; k < CAUSE_COUNT; k++)
		if (str_eq(cause_name((enum cause)k), word))
			return (enum cause)k;
	return CAUSE_NONE;
}

json_t *incident_commands(struct client *client, const struct incident_told *incident)
{
	json_t *list = json_array();
	const struct command_subject subject = subject_of(client->config->fabric, incident);
	const char *checks = cause_info(known_cause(incident->cause))->checks;
	while (checks && *checks) {
		const size_t n = strcspn(checks, ";");
		rw_cleanup(freep) char *check = strndup(checks, n);
		add_check(client, &subject, check, list);
		checks += n;
		checks += strspn(checks, "; ");
	}
	return list;
}

#define BEFORE_NS (3600 * NS_PER_S)
/* Of other events: a device that reports a trap each second must not bury the rest. */
enum { EVENTS_MAX = 200 };

/* ---- which events belong to it ------------------------------------------- */

struct timeline_line {
	int64_t t_ns;
	const char *kind, *text;
	size_t place;
};
#define SHAPE struct timeline_line
static const struct field timeline_line_fields[] = {
	TIME_NS("t", t_ns, ""),
	TEXT(kind, "", .known = true),
	TEXT(text, "", .known = true),
};
static SHAPE_OF(timeline_line, "line", "");
#undef SHAPE

struct timeline {
	const struct incident_told *incident;
	int64_t from_ns, onset_ns, to_ns;
	struct arena *arena;
	struct timeline_line *lines;
	size_t n, cap;
	json_t *changes; /* texts of change tickets before the onset; NULL: not asked for */
};

/* Is it the subject's device, or that of a culprit? An incident without a device is about all. */
static bool timeline_has_device(const struct incident_told *incident, const char *device)
{
	const char *own = incident->subject.device;
	const size_t n = strlen(device);
	if (!*own || str_eq(own, device))
		return true;
	for (size_t k = 0; k < incident->n_roles; k++) {
		const char *entity = incident->roles[k].entity;
		const bool named =
			strncmp(entity, device, n) == 0 && (!entity[n] || entity[n] == ':');
		if (named && str_eq(incident->roles[k].role, "culprit"))
			return true;
	}
	return false;
}

static bool timeline_has_job(const struct incident_told *incident, const char *job)
{
	for (size_t k = 0; k < incident->n_jobs; k++)
		if (str_eq(incident->jobs[k], job))
			return true;
	return false;
}

struct timeline_event {
	int64_t t_ns;
	const char *kind, *incident, *who, *text, *device, *port, *job; /* "" where it has none */
};

static bool timeline_concerns(const struct timeline *t, const struct timeline_event *event)
{
	const char *port = t->incident->subject.port;
	if (*event->incident)
		return str_eq(event->incident, t->incident->id);
	if (*event->device && !timeline_has_device(t->incident, event->device))
		return false;
	if (*event->port && *port && !str_eq(event->port, port))
		return false;
	return !*event->job || timeline_has_job(t->incident, event->job);
}

/* ---- words --------------------------------------------------------------- */

static void timeline_add_kind(struct str *out, const char *kind)
{
	const struct {
		const char *kind, *words;
	} known[] = {
		{cause_name(CAUSE_CONFIG_DRIFT), "setting changed"},
		{"clock_step", "clock stepped"},
		{"agent_start", "agent started"},
		{"agent_stop", "agent stopped"},
		{"agent_away", "agent was away"},
		{"memory_pressure", "memory was short"},
		{"config_reloaded", "configuration reloaded"},
		{"config_refused", "configuration refused"},
	};
	for (size_t k = 0; k < rw_countof(known); k++)
		if (str_eq(known[k].kind, kind)) {
			str_add(out, known[k].words);
			return;
		}
	for (; *kind; kind++)
		str_addn(out, *kind == '_' ? " " : kind, 1);
}

static void timeline_add(struct timeline *t, int64_t t_ns, const char *kind, const char *text)
{
	arena_grow(t->arena, t->lines, t->n, t->cap);
	t->lines[t->n] = (struct timeline_line){
		t_ns, arena_strdup(t->arena, kind), arena_strdup(t->arena, text), t->n};
	t->n++;
}

static void timeline_take_event(struct timeline *t, const struct timeline_event *event)
{
	rw_cleanup(str_done) struct str text = {0};
	timeline_add_kind(&text, event->kind);
	if (*event->who)
		str_addf(&text, " by %s", event->who);
	if (*event->text)
		str_addf(&text, ": %s", event->text);
	timeline_add(t, event->t_ns, event->kind, text.s);
	if (t->changes && str_eq(event->kind, "change") && event->t_ns <= t->onset_ns) {
		char time[WALL_TEXT_MAX];
		rw_cleanup(str_done) struct str change = {0};
		str_addf(&change, "%s %s", wall_text(time, (wall_t){event->t_ns}, 0), text.s);
		json_array_append_new(t->changes, json_string_or_null(change.s));
	}
}

/* ---- from the database --------------------------------------------------- */

enum { EV_TIME, EV_KIND, EV_INCIDENT, EV_WHO, EV_TEXT, EV_DEVICE, EV_PORT, EV_JOB, EV_COLUMNS };

static int timeline_take_row(void *arg, int n, char *const *words, char *const *names)
{
	struct timeline *t = arg;
	const char *v[EV_COLUMNS];
	if (n != EV_COLUMNS)
		return 0;
	for (int k = 0; k < EV_COLUMNS; k++)
		v[k] = str_or(words[k], "");
	const struct timeline_event event = {.t_ns = strtoll(v[EV_TIME], NULL, 10),
		.kind = v[EV_KIND],
		.incident = v[EV_INCIDENT],
		.who = v[EV_WHO],
		.text = v[EV_TEXT],
		.device = v[EV_DEVICE],
		.port = v[EV_PORT],
		.job = v[EV_JOB]};
	if (timeline_concerns(t, &event))
		timeline_take_event(t, &event);
	return t->n >= EVENTS_MAX;
}

static int timeline_read(struct client *client, struct timeline *t, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql,
		"SELECT t_ns, kind, incident_id, who, text, device, port, job FROM events "
		"WHERE t_ns BETWEEN %" PRId64 " AND %" PRId64 " AND kind<>'incident' ORDER BY t_ns",
		t->from_ns, t->to_ns);
	const int r = history_sql(client->history, sql.s, timeline_take_row, t, e);
	if (r > 0) /* enough lines */
		return 0;
	return r;
}

static struct timeline timeline_of(
	const struct client *client, const struct incident_told *incident, struct arena *a)
{
	const int64_t opened_ns = incident_time_ns(incident->opened, client->now_ns);
	struct timeline t = {.incident = incident, .arena = a};
	t.onset_ns = incident_time_ns(incident->first, opened_ns);
	t.from_ns = t.onset_ns - BEFORE_NS;
	t.to_ns = incident_time_ns(incident->closed, client->now_ns);
	return t;
}

/* ---- in order ------------------------------------------------------------ */

/* Its own lines, behind an event of the same moment. */
static void timeline_add_own(struct timeline *t)
{
	/* what it showed then stands in the line in which it opened: the headline may be a later
	 * one */
	timeline_add(t, t->onset_ns, "onset", "onset: first window in which it was seen");
	for (size_t k = 0; k < t->incident->n_timeline; k++) {
		const struct told_line *line = &t->incident->timeline[k];
		timeline_add(t, incident_time_ns(line->t, t->onset_ns), "incident", line->text);
	}
}

static int timeline_older(const void *left, const void *right)
{
	const struct timeline_line *x = left, *y = right;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

int incident_timeline(struct client *client, const json_t *incident, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct timeline t = timeline_of(client, incident_told(incident, a), a);
	const int r = timeline_read(client, &t, e);
	if (r < 0)
		return r;
	timeline_add_own(&t);
	qsort(t.lines, t.n, sizeof(*t.lines), timeline_older);
	*ret = shape_rows_json(&timeline_line_shape, t.lines, t.n);
	return 0;
}

int incident_changes(struct client *client, const json_t *incident, json_t *list, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct timeline t = timeline_of(client, incident_told(incident, a), a);
	t.changes = list;
	t.to_ns = t.onset_ns;
	return timeline_read(client, &t, e);
}

/* ---- blame --------------------------------------------------------------- */

/* ---- who is meant -------------------------------------------------------- */

/* A host with all its ports, or one port of a switch: "leaf1:Ethernet49", by native name or alias.
 */
struct entity_meant {
	const char *host; /* NULL for a port towards a switch */
	const struct fabric_port **ports; /* on switches */
	size_t n, cap;
};

static void blame_add_port(struct entity_meant *meant, const struct fabric_port *port)
{
	rw_grow(meant->ports, meant->n, meant->cap);
	meant->ports[meant->n++] = port;
}

static int blame_find_port(
	const struct fabric *fabric, const char *word, struct entity_meant *meant)
{
	const char *colon = strchr(word, ':');
	if (!colon)
		return -ENOENT;
	rw_cleanup(freep) char *device = strndup(word, (size_t)(colon - word));
	const struct fabric_device *d = fabric_device(fabric, device);
	const struct fabric_port *p = NULL;
	if (d)
		p = fabric_port(d, colon + 1);
	if (!p)
		return -ENOENT;
	meant->host = p->host;
	blame_add_port(meant, p);
	return 0;
}

/* "NAME", or as links write it: "host:NAME[:NIC]". A NIC chooses among the host's ports. */
static int blame_find_host(
	const struct fabric *fabric, const char *word, struct entity_meant *meant)
{
	const bool as_in_links = strncmp(word, "host:", 5) == 0;
	const char *name = word;
	const char *nic = NULL;
	if (as_in_links) {
		name = word + 5;
		nic = strchr(name, ':');
	}
	rw_cleanup(freep) char *host = strndup(name, nic ? (size_t)(nic - name) : strlen(name));
	for (size_t k = 0; k < fabric->n_devices; k++)
		for (size_t i = 0; i < fabric->devices[k]->n_ports; i++) {
			const struct fabric_port *p = fabric->devices[k]->ports[i];
			if (!str_eq(p->host, host))
				continue;
			if (nic && !str_eq(p->host_nic, nic + 1))
				continue;
			meant->host = p->host;
			blame_add_port(meant, p);
		}
	if (meant->n)
		return 0;
	return -ENOENT;
}

static int no_such(const struct fabric *fabric, const char *word, struct err *e)
{
	size_t n = 0, cap = 0;
	const char **names = NULL;
	for (size_t k = 0; k < fabric->n_devices; k++)
		for (size_t i = 0; i < fabric->devices[k]->n_ports; i++)
			if (fabric->devices[k]->ports[i]->host) {
				rw_grow(names, n, cap);
				names[n++] = fabric->devices[k]->ports[i]->host;
			}
	const char *near = NULL;
	if (n)
		near = str_nearest(word, names, n);
	free(names);
	return err_set(e, -EINVAL,
		"unknown host or port '%.64s'; expected a host of the links, or a port such as "
		"leaf1:Ethernet49%s%s%s",
		word, str_if(near, "; perhaps '"), str_or(near, ""), str_if(near, "'"));
}

/* ---- its part in incidents ----------------------------------------------- */

static bool blame_is_port(
	const struct fabric_port *fabric_port, const char *device, const char *port)
{
	return fabric_port && str_eq(fabric_port->device->name, device) &&
		(str_eq(fabric_port->name, port) || str_eq(fabric_port->alias, port));
}

/* Either end names the link. */
static bool blame_names_port(const struct entity_meant *meant, const char *device, const char *port)
{
	for (size_t k = 0; port && *port && k < meant->n; k++)
		if (blame_is_port(meant->ports[k], device, port) ||
			blame_is_port(meant->ports[k]->peer, device, port))
			return true;
	return false;
}

static bool is_subject(const struct entity_meant *meant, const struct incident *incident)
{
	if (meant->host && str_eq(incident->host, meant->host))
		return true;
	return blame_names_port(meant, incident->device, incident->port) ||
		blame_names_port(meant, incident->device, incident->member);
}

/* Is it the entity of a role: a host "host:NAME" or NAME, or a port "DEVICE:PORT"? */
static bool is_entity(const struct entity_meant *meant, const char *entity)
{
	static const char host_prefix[] = "host:";
	const char *host = entity;
	if (strncmp(entity, host_prefix, strlen(host_prefix)) == 0)
		host += strlen(host_prefix);
	if (meant->host && str_eq(host, meant->host))
		return true;
	const char *colon = strchr(entity, ':');
	if (!colon)
		return false;
	rw_cleanup(freep) char *device = strndup(entity, (size_t)(colon - entity));
	return blame_names_port(meant, device, colon + 1);
}

/* Its role in an incident about something else; NULL: none. */
static const char *role_in(const struct entity_meant *meant, const struct incident *incident)
{
	for (size_t k = 0; k < incident->n_roles; k++) {
		const struct finding_role *role = &incident->roles[k];
		if (role->entity && is_entity(meant, role->entity))
			return role->role;
	}
	return NULL;
}

/* ---- its ports ------------------------------------------------------------- */

struct blame_port {
	const char *device, *port, *nic, *rail;
};
#define SHAPE struct blame_port
static const struct field blame_port_fields[] = {
	TEXT(device, "", .known = true),
	TEXT(port, "", .known = true),
	TEXT(nic, ""),
	TEXT(rail, ""),
};
static SHAPE_OF(blame_port, "port", "");
#undef SHAPE

static json_t *blame_ports_json(const struct entity_meant *meant)
{
	json_t *a = json_array();
	for (size_t k = 0; k < meant->n; k++) {
		const struct fabric_port *p = meant->ports[k];
		struct blame_port port = {
			.device = p->device->name, .port = p->name, .rail = p->rail};
		if (p->host && p->host_nic && *p->host_nic)
			port.nic = p->host_nic;
		json_array_append_new(a, shape_json(&blame_port_shape, &port));
	}
	return a;
}

static json_t *jobs_json(const struct fabric *fabric, const struct entity_meant *meant)
{
	json_t *a = json_array();
	for (size_t k = 0; meant->host && k < fabric->n_jobs; k++)
		if (fabric_job_has(&fabric->jobs[k], meant->host))
			json_array_append_new(a, json_string(fabric->jobs[k].name));
	return a;
}

/* As `incident show` has it. */
static json_t *blame_shown(struct client *client, const struct incident_told *incident)
{
	json_t *o = incident_public(client->config, incident);
	json_object_set_new(o, "age_s", incident_age(incident, client->now_ns));
	return o;
}

/* Put the stored incident into the list it belongs to, if any. */
static void blame_take(struct client *client, const struct entity_meant *meant,
	const struct incident_told *incident, json_t *against, json_t *suffers)
{
	struct incident_record *record = incident_json_read(incident->tree);
	if (!record)
		return;
	const char *role = role_in(meant, &record->i);
	if (is_subject(meant, &record->i) || str_eq(role, "culprit")) {
		json_t *o = blame_shown(client, incident);
		if (json_array_size(against) == 0)
			json_object_set_new(o, "commands", incident_commands(client, incident));
		json_array_append_new(against, o);
	} else if (role) {
		json_t *o = blame_shown(client, incident);
		json_object_set_new(o, "role", json_string(role));
		json_array_append_new(suffers, o);
	}
	incident_record_free(record);
}

/* ---- ranks that others waited for ------------------------------------------- */

#define RANK_MARGIN_NS (60 * NS_PER_S) /* hosts have clocks of their own */
enum { RANKS_MAX = 50 };

struct blame_ranks {
	const struct fabric *fabric;
	const struct incident *incident; /* in which the host has a part; NULL */
	const char *host; /* the only one that is meant; NULL */
	json_t *list; /* of texts */
};

static int blame_take_rank(void *arg, int n, char *const *words, char *const *names)
{
	const struct blame_ranks *ranks = arg;
	struct entity_meant meant = {0};
	char time[WALL_TEXT_MAX];
	if (n != 3 || !words[0] || !words[1] || !words[2] ||
		blame_find_host(ranks->fabric, words[1], &meant) < 0)
		return 0;
	bool part = !ranks->host || str_eq(ranks->host, meant.host);
	if (ranks->incident)
		part = is_subject(&meant, ranks->incident) || role_in(&meant, ranks->incident);
	free(meant.ports);
	if (!part)
		return 0;
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "%s %s", wall_text(time, (wall_t){strtoll(words[0], NULL, 10)}, 0),
		words[2]);
	json_array_append_new(ranks->list, json_string_or_null(line.s));
	return json_array_size(ranks->list) >= RANKS_MAX;
}

/* The newest first. */
static int blame_read_ranks(struct client *client, struct blame_ranks *ranks, int64_t from_ns,
	int64_t to_ns, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	ranks->fabric = client->config->fabric;
	ranks->list = json_array();
	str_addf(&sql,
		"SELECT t_ns, device, text FROM events WHERE kind='" EVENT_RANK
		"' AND t_ns BETWEEN %" PRId64 " AND %" PRId64 " ORDER BY t_ns DESC",
		from_ns, to_ns);
	const int rc = history_sql(client->history, sql.s, blame_take_rank, ranks, e);
	return rc < 0 ? rc : 0;
}

int incident_ranks(struct client *client, const json_t *incident, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct incident_record *record = incident_json_read(incident);
	const struct timeline t = timeline_of(client, incident_told(incident, a), a);
	struct blame_ranks ranks = {.incident = record ? &record->i : NULL};
	const int rc = blame_read_ranks(
		client, &ranks, t.onset_ns - RANK_MARGIN_NS, t.to_ns + RANK_MARGIN_NS, e);
	*ret = ranks.list;
	if (record)
		incident_record_free(record);
	return rc;
}

static json_t *blame_json(struct client *client, const struct entity_meant *meant, const char *word,
	const json_t *stored, json_t *collectives)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	json_t *doc = json_object(), *against = json_array(), *suffers = json_array();
	size_t n;
	const struct incident_told *incidents = incidents_told(stored, a, &n);
	/* what goes on comes before what is over */
	for (int open = 1; open >= 0; open--)
		for (size_t k = 0; k < n; k++)
			if (incident_is_open(&incidents[k]) == open)
				blame_take(client, meant, &incidents[k], against, suffers);
	json_object_set_new(doc, "entity", json_string(word));
	json_object_set_new(doc, "host", json_string_or_null(meant->host));
	json_object_set_new(doc, "ports", blame_ports_json(meant));
	json_object_set_new(doc, "jobs", jobs_json(client->config->fabric, meant));
	json_object_set_new(doc, "incidents", against);
	json_object_set_new(doc, "victim_of", suffers);
	json_object_set_new(doc, "collectives", collectives);
	return doc;
}

int blame_document(struct client *client, const char *name, json_t **ret, struct err *e)
{
	const struct fabric *fabric = client->config->fabric;
	struct entity_meant meant = {0};
	int rc = blame_find_host(fabric, name, &meant);
	if (rc != 0)
		rc = blame_find_port(fabric, name, &meant);
	if (rc != 0)
		return no_such(fabric, name, e);
	json_t *stored = incidents_load(client, NULL, e);
	struct blame_ranks ranks = {.host = meant.host};
	const int64_t from_ns = client->range_given ? client->from_ns : 0;
	rc = stored ? 0 : -EIO;
	if (stored)
		rc = blame_read_ranks(client, &ranks, from_ns, client->to_ns, e);
	else if (e->code)
		rc = e->code;
	if (rc == 0)
		*ret = blame_json(client, &meant, name, stored, ranks.list);
	else
		json_decref(ranks.list);
	json_decref(stored);
	free(meant.ports);
	return rc;
}

/* ---- as people read it ------------------------------------------------------ */

struct blame_told {
	const char *entity, *host;
	struct blame_port *ports;
	size_t n_ports;
	const char **jobs;
	size_t n_jobs;
	struct incident_told *incidents, *victim_of;
	size_t n_incidents, n_victim_of;
	const char **collectives;
	size_t n_collectives;
};
#define SHAPE struct blame_told
static const struct field blame_told_fields[] = {
	TEXT(entity, "", .known = true),
	TEXT(host, ""),
	ROWS(ports, blame_port, ""),
	TEXTS(jobs, ""),
	ROWS(incidents, incident_told, ""),
	ROWS(victim_of, incident_told, ""),
	TEXTS(collectives, ""),
};
static SHAPE_OF(blame_told, "blame", "");
#undef SHAPE

#define PORTS_SHOWN 8

/* "node-047  at leaf1:Ethernet47, ... and 7 more  job train" */
static void print_entity(FILE *out, const struct blame_told *blame)
{
	fprintf(out, "%s", blame->entity);
	if (blame->host && !str_eq(blame->host, blame->entity))
		fprintf(out, "  (%s)", blame->host);
	fprintf(out, "  at ");
	for (size_t k = 0; k < blame->n_ports && k < PORTS_SHOWN; k++)
		fprintf(out, "%s%s:%s", str_if(k, ", "), blame->ports[k].device,
			blame->ports[k].port);
	if (blame->n_ports > PORTS_SHOWN)
		fprintf(out, " and %zu more", blame->n_ports - PORTS_SHOWN);
	for (size_t k = 0; k < blame->n_jobs; k++)
		fprintf(out, "%s%s", k ? ", " : "  job ", blame->jobs[k]);
	fputc('\n', out);
}

static void blame_print_line(FILE *out, const char *before, const struct incident_told *incident)
{
	fprintf(out, "%s %s  %s  %s  %s\n", before, incident->id, incident->severity,
		incident->state, incident->headline);
}

static void blame_print_card(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct blame_told blame = {0};
	shape_read(&blame_told_shape, doc, a, &blame);
	print_entity(out, &blame);
	if (blame.n_incidents == 0)
		fprintf(out, "no findings\n");
	for (size_t k = 0; k < blame.n_incidents; k++) {
		fputc('\n', out);
		if (k == 0)
			incident_card_print(out, &blame.incidents[0], color);
		else
			blame_print_line(out, "also", &blame.incidents[k]);
	}
	if (blame.n_victim_of > 0)
		fputc('\n', out);
	for (size_t k = 0; k < blame.n_victim_of; k++) {
		const bool direct = str_eq(blame.victim_of[k].role, "direct_victim");
		blame_print_line(out, direct ? "direct victim of" : "indirect victim of",
			&blame.victim_of[k]);
	}
	for (size_t k = 0; k < blame.n_collectives; k++)
		fprintf(out, "%swaited for  %s\n", str_if(k == 0, "\n"), blame.collectives[k]);
}

const struct view blame_view = {.title = "Blame",
	.rows = "incidents",
	.columns = incident_list_columns,
	.n_columns = INCIDENT_LIST_COLUMNS,
	.text = blame_print_card,
	.empty = "no findings"};
