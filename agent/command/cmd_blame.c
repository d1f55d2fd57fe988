/* cmd_blame - "rocewatch blame HOST|PORT": the incidents that a host or port causes, and those it
 * is a victim of. */
#include "agent/command/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/reports/incident_view.h"
#include "config/config.h"
#include "db/series/series.h"

extern const struct command command_blame;

/* ---- who is meant -------------------------------------------------------- */

/* A host with all its ports, or one port of a switch: "leaf1:Ethernet49", by native name or alias.
 */
struct entity_meant {
	const char *host; /* NULL for a port towards a switch */
	const struct fabric_port **ports; /* on switches */
	size_t n, cap;
};

static void cmd_blame_add_port(struct entity_meant *meant, const struct fabric_port *port)
{
	rw_grow(meant->ports, meant->n, meant->cap);
	meant->ports[meant->n++] = port;
}

static int find_port(const struct fabric *fabric, const char *word, struct entity_meant *meant)
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
	cmd_blame_add_port(meant, p);
	return 0;
}

/* "NAME", or as links write it: "host:NAME[:NIC]". A NIC chooses among the host's ports. */
static int find_host(const struct fabric *fabric, const char *word, struct entity_meant *meant)
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
			cmd_blame_add_port(meant, p);
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
	return err_set(e, -ENOENT,
		"unknown host or port '%.64s'; expected a host of the links, or a port such as "
		"leaf1:Ethernet49%s%s%s",
		word, str_if(near, "; perhaps '"), str_or(near, ""), str_if(near, "'"));
}

/* ---- its part in incidents ----------------------------------------------- */

static bool cmd_blame_is_port(
	const struct fabric_port *fabric_port, const char *device, const char *port)
{
	return fabric_port && str_eq(fabric_port->device->name, device) &&
		(str_eq(fabric_port->name, port) || str_eq(fabric_port->alias, port));
}

/* Either end names the link. */
static bool cmd_blame_names_port(
	const struct entity_meant *meant, const char *device, const char *port)
{
	for (size_t k = 0; port && *port && k < meant->n; k++)
		if (cmd_blame_is_port(meant->ports[k], device, port) ||
			cmd_blame_is_port(meant->ports[k]->peer, device, port))
			return true;
	return false;
}

static bool is_subject(const struct entity_meant *meant, const struct incident *incident)
{
	if (meant->host && str_eq(incident->host, meant->host))
		return true;
	return cmd_blame_names_port(meant, incident->device, incident->port) ||
		cmd_blame_names_port(meant, incident->device, incident->member);
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
	return cmd_blame_names_port(meant, device, colon + 1);
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

static json_t *cmd_blame_text_or_null(const char *text)
{
	if (!text || !*text)
		return json_null();
	return json_string(text);
}

static json_t *cmd_blame_ports_json(const struct entity_meant *meant)
{
	json_t *a = json_array();
	for (size_t k = 0; k < meant->n; k++) {
		const struct fabric_port *p = meant->ports[k];
		json_t *o = json_object();
		json_object_set_new(o, "device", json_string(p->device->name));
		json_object_set_new(o, "port", json_string(p->name));
		json_object_set_new(o, "nic", cmd_blame_text_or_null(p->host ? p->host_nic : NULL));
		json_object_set_new(o, "rail", json_string_or_null(p->rail));
		json_array_append_new(a, o);
	}
	return a;
}

static json_t *jobs_json(const struct fabric *fabric, const struct entity_meant *meant)
{
	json_t *a = json_array();
	for (size_t k = 0; meant->host && k < fabric->n_jobs; k++)
		if (str_glob(fabric->jobs[k].hosts, meant->host))
			json_array_append_new(a, json_string(fabric->jobs[k].name));
	return a;
}

/* Put the stored incident into the list it belongs to, if any. */
static void cmd_blame_take(
	const struct entity_meant *meant, const json_t *stored, json_t *against, json_t *suffers)
{
	struct incident_record *record = incident_json_read(stored);
	if (!record)
		return;
	const char *role = role_in(meant, &record->i);
	if (is_subject(meant, &record->i) || str_eq(role, "culprit")) {
		json_array_append_new(against, incident_public(stored));
	} else if (role) {
		json_t *o = incident_public(stored);
		json_object_set_new(o, "role", json_string(role));
		json_array_append_new(suffers, o);
	}
	incident_record_free(record);
}

static json_t *cmd_blame_document(const struct fabric *fabric, const struct entity_meant *meant,
	const char *word, const json_t *stored)
{
	json_t *doc = json_object(), *against = json_array(), *suffers = json_array(), *incident;
	size_t k;
	json_array_foreach (stored, k, incident)
		cmd_blame_take(meant, incident, against, suffers);
	json_object_set_new(doc, "entity", json_string(word));
	json_object_set_new(doc, "host", json_string_or_null(meant->host));
	json_object_set_new(doc, "ports", cmd_blame_ports_json(meant));
	json_object_set_new(doc, "jobs", jobs_json(fabric, meant));
	json_object_set_new(doc, "incidents", against);
	json_object_set_new(doc, "victim_of", suffers);
	return doc;
}

/* ---- the card ------------------------------------------------------------ */

#define PORTS_SHOWN 8

/* "node-047  at leaf1:Ethernet47, ... and 7 more  job train" */
static void print_entity(FILE *out, const json_t *doc)
{
	const json_t *ports = json_object_get(doc, "ports"), *o;
	size_t k;
	fprintf(out, "%s", doc_word(doc, "entity"));
	const char *host = doc_word(doc, "host");
	if (*host && !str_eq(host, doc_word(doc, "entity")))
		fprintf(out, "  (%s)", host);
	fprintf(out, "  at ");
	json_array_foreach (ports, k, o)
		if (k < PORTS_SHOWN)
			fprintf(out, "%s%s:%s", str_if(k, ", "), doc_word(o, "device"),
				doc_word(o, "port"));
	if (json_array_size(ports) > PORTS_SHOWN)
		fprintf(out, " and %zu more", json_array_size(ports) - PORTS_SHOWN);
	json_array_foreach (json_object_get(doc, "jobs"), k, o)
		fprintf(out, "%s%s", k ? ", " : "  job ", json_string_value(o));
	fputc('\n', out);
}

static void cmd_blame_print_card(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *against = json_object_get(doc, "incidents"), *o;
	size_t k;
	print_entity(out, doc);
	if (json_array_size(against) == 0)
		fprintf(out, "no findings\n");
	json_array_foreach (against, k, o) {
		fputc('\n', out);
		if (k == 0)
			incident_card_view.text(out, o, &incident_card_view, color, header);
		else
			fprintf(out, "also %s  %s  %s  %s: %s\n", doc_word(o, "id"),
				doc_word(o, "severity"), doc_word(o, "state"), doc_word(o, "cause"),
				doc_word(o, "summary"));
	}
	json_array_foreach (json_object_get(doc, "victim_of"), k, o) {
		const bool direct = str_eq(doc_word(o, "role"), "direct_victim");
		fprintf(out, "%s%s victim of %s  %s  %s at %s: %s\n", str_if(!k, "\n"),
			direct ? "direct" : "indirect", doc_word(o, "id"), doc_word(o, "severity"),
			doc_word(o, "cause"), doc_word(o, "where"), doc_word(o, "summary"));
	}
}

static const struct view blame_view = {.title = "Blame",
	.rows = "incidents",
	.text = cmd_blame_print_card,
	.empty = "no findings"};

/* ---- the command --------------------------------------------------------- */

static int cmd_blame(struct client *client, const struct command_args *args, struct err *e)
{
	const char *word = args->argv[0];
	struct entity_meant m = {0};
	int rc = find_host(client->config->fabric, word, &m);
	if (rc != 0)
		rc = find_port(client->config->fabric, word, &m);
	if (rc != 0)
		return no_such(client->config->fabric, word, e);
	json_t *stored = incidents_load(client, args->g, NULL, e);
	if (stored) {
		struct view view = blame_view;
		view.columns = incident_list_view.columns;
		view.n_columns = incident_list_view.n_columns;
		json_t *doc = cmd_blame_document(client->config->fabric, &m, word, stored);
		rc = report_print(stdout, doc, &view, args->g->format, !args->g->no_header,
			args->g->color == COLOR_ALWAYS);
		if (rc != 0)
			err_set(e, rc, "the result could not be written: %s", strerror(-rc));
		json_decref(doc);
		json_decref(stored);
	} else {
		rc = -EIO;
	}
	free(m.ports);
	return rc;
}

static int cmd_blame_run(struct command_args *args)
{
	struct client x;
	struct err e = {0};
	if (args->argc != 1)
		return usage_error(&command_blame, "expected one host or port");
	int rc = client_open(&x, args->g, 24 * 3600 * NS_PER_S, &e);
	if (rc != 0) {
		err_print(stderr, &e);
		if (rc == -EINVAL)
			return EXIT_USAGE;
		return EXIT_FAILED;
	}
	rc = cmd_blame(&x, args, &e);
	client_done(&x);
	if (rc != 0)
		err_print(stderr, &e);
	if (rc == 0)
		return EXIT_OK;
	return EXIT_FAILED;
}

const struct command command_blame = {
	.name = "blame",
	.args = "HOST|PORT",
	.summary = "findings against a host or port, with their evidence",
	.help = "HOST is its name, or as in links host:NAME[:NIC]; PORT as DEVICE:PORT. All "
		"incidents are searched, or those of --since, --until and --around. The worst one "
		"is shown in full; those of which it is only a victim are listed last.",
	.usage_exit = EXIT_USAGE,
	.run = cmd_blame_run,
};
