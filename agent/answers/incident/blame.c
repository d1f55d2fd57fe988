/* blame - the incidents that a host or port causes, and those it is a victim of, as a document. */
#include "agent/answers/incident/blame.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/answers/incident/incident_commands.h"
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

static json_t *blame_text_or_null(const char *text)
{
	if (!text || !*text)
		return json_null();
	return json_string(text);
}

static json_t *blame_ports_json(const struct entity_meant *meant)
{
	json_t *a = json_array();
	for (size_t k = 0; k < meant->n; k++) {
		const struct fabric_port *p = meant->ports[k];
		json_t *o = json_object();
		json_object_set_new(o, "device", json_string(p->device->name));
		json_object_set_new(o, "port", json_string(p->name));
		json_object_set_new(o, "nic", blame_text_or_null(p->host ? p->host_nic : NULL));
		json_object_set_new(o, "rail", json_string_or_null(p->rail));
		json_array_append_new(a, o);
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
static json_t *blame_shown(struct client *client, const json_t *stored)
{
	json_t *o = incident_public(client->config, stored);
	json_object_set_new(o, "age_s", incident_age(stored, client->now_ns));
	return o;
}

/* Put the stored incident into the list it belongs to, if any. */
static void blame_take(struct client *client, const struct entity_meant *meant,
	const json_t *stored, json_t *against, json_t *suffers)
{
	struct incident_record *record = incident_json_read(stored);
	if (!record)
		return;
	const char *role = role_in(meant, &record->i);
	if (is_subject(meant, &record->i) || str_eq(role, "culprit")) {
		json_t *o = blame_shown(client, stored);
		if (json_array_size(against) == 0)
			json_object_set_new(o, "commands", incident_commands(client, stored));
		json_array_append_new(against, o);
	} else if (role) {
		json_t *o = blame_shown(client, stored);
		json_object_set_new(o, "role", json_string(role));
		json_array_append_new(suffers, o);
	}
	incident_record_free(record);
}

static json_t *blame_json(struct client *client, const struct entity_meant *meant, const char *word,
	const json_t *stored)
{
	json_t *doc = json_object(), *against = json_array(), *suffers = json_array(), *incident;
	size_t k;
	/* what goes on comes before what is over */
	for (int open = 1; open >= 0; open--)
		json_array_foreach (stored, k, incident)
			if (incident_is_open(incident) == open)
				blame_take(client, meant, incident, against, suffers);
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
