/* blame - the incidents that a host or port causes, and those it is a victim of. */
#include "agent/answers/incident/blame.h"

#include <errno.h>
#include <string.h>

#include "agent/answers/incident/incident_view.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/answers/incident/incident_timeline.h"
#include "agent/answers/incident/incident_read.h"
#include "config/config.h"

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

static json_t *blame_json(struct client *client, const struct entity_meant *meant, const char *word,
	const json_t *stored)
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
	if (stored)
		*ret = blame_json(client, &meant, name, stored);
	else
		rc = e->code ? e->code : -EIO;
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
};
#define SHAPE struct blame_told
static const struct field blame_told_fields[] = {
	TEXT(entity, "", .known = true),
	TEXT(host, ""),
	ROWS(ports, blame_port, ""),
	TEXTS(jobs, ""),
	ROWS(incidents, incident_told, ""),
	ROWS(victim_of, incident_told, ""),
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
}

const struct view blame_view = {.title = "Blame",
	.rows = "incidents",
	.columns = incident_list_columns,
	.n_columns = INCIDENT_LIST_COLUMNS,
	.text = blame_print_card,
	.empty = "no findings"};
