/* rank_place - a host's ports by the order of its NICs; incidents first, then counters. */
#include "agent/ranks/rank_place.h"

#include "agent/answers/counters/counters_document.h"
#include "agent/answers/incident/blame.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/pause/answer.h"
#include "agent/client/client.h"
#include "agent/ranks/rank_answer.h"
#include "config/config.h"
#include "config/fabric.h"
#include "db/model/cause.h"
#include "db/model/entity.h"

/* Polls may be that far apart: a counter needs two of them around the time. */
#define RANK_PAD_NS (15 * NS_PER_S)
#define RANK_PAUSE_LEAST 1e-3 /* of the time: below it a port was not paused to speak of */

/* ---- the place ----------------------------------------------------------------- */

static int rank_by_nic(const void *left, const void *right)
{
	const struct fabric_port *one = *(const struct fabric_port *const *)left;
	const struct fabric_port *other = *(const struct fabric_port *const *)right;
	int rc = name_compare(str_or(one->host_nic, ""), str_or(other->host_nic, ""));
	if (rc == 0)
		rc = name_compare(one->device->name, other->device->name);
	return rc ? rc : name_compare(one->name, other->name);
}

static const struct fabric_port **rank_ports(
	const struct fabric *fabric, struct arena *a, const char *host, size_t *ret_n)
{
	const struct fabric_port **ports = NULL;
	size_t n = 0, cap = 0;
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t p = 0; p < fabric->devices[d]->n_ports; p++) {
			const struct fabric_port *port = fabric->devices[d]->ports[p];
			if (!port->host || !collective_same_host(port->host, host))
				continue;
			arena_grow(a, ports, n, cap);
			ports[n++] = port;
		}
	if (n > 1)
		qsort(ports, n, sizeof(const struct fabric_port *), rank_by_nic);
	*ret_n = n;
	return ports;
}

static void rank_put_port(
	struct arena *a, struct rank_row *row, const struct fabric_port *port, const char *by)
{
	row->port = arena_printf(a, "%s:%s", port->device->name, port->name);
	row->port_by = by;
	if (port->host_nic && *port->host_nic)
		row->nic = port->host_nic;
}

const struct fabric_port **rank_place(struct client *client, struct arena *a, struct rank_row *row,
	const char *host, uint64_t gpu, size_t here, size_t at, size_t *ret_n)
{
	*ret_n = 0;
	if (*host == '\0')
		return NULL;
	row->host = host;
	if (!client)
		return NULL;
	const struct fabric_port **ports = rank_ports(client->config->fabric, a, host, ret_n);
	const size_t n = *ret_n;
	if (n > 0)
		row->host = ports[0]->host;
	if (n == 1)
		rank_put_port(a, row, ports[0], "its host's only port");
	else if (n > 1 && gpu < n)
		rank_put_port(a, row, ports[gpu], "its GPU's number, in the order of the NICs");
	else if (n > 1 && here == n && gpu == COLLECTIVE_GPU_UNKNOWN)
		rank_put_port(a, row, ports[at], "its place on the host, in the order of the NICs");
	return ports;
}

/* ---- incidents -------------------------------------------------------------------- */

struct rank_network {
	struct client *client;
	struct arena *a;
	struct rank_row *row;
	const struct fabric_port *const *ports;
	size_t n;
	const char **headline;
	size_t cap_incidents;
};

struct rank_blame {
	struct incident_told *incidents, *victim_of;
	size_t n_incidents, n_victim_of;
};
#define SHAPE struct rank_blame
static const struct field rank_blame_fields[] = {
	ROWS(incidents, incident_told, ""),
	ROWS(victim_of, incident_told, ""),
};
static SHAPE_OF(rank_blame, "blame", "");
#undef SHAPE

/* That a job is slow, or that a device is silent, says nothing of what the network did. */
static bool rank_is_network(const char *cause)
{
	const enum cause_family family = cause_info(cause_by_name(cause))->family;
	return family != CAUSE_FAMILY_JOB && family != CAUSE_FAMILY_TELEMETRY;
}

static void rank_take_incident(
	struct rank_network *network, const char *id, const char *headline, const char *verdict)
{
	struct rank_row *row = network->row;
	arena_grow(network->a, row->incidents, row->n_incidents, network->cap_incidents);
	row->incidents[row->n_incidents++] = arena_strdup(network->a, id);
	if (row->n_incidents > 1)
		return;
	*network->headline = arena_strdup(network->a, headline);
	row->network = verdict;
}

static void rank_take_list(
	struct rank_network *network, const struct incident_told *incidents, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (rank_is_network(incidents[i].cause))
			rank_take_incident(
				network, incidents[i].id, incidents[i].headline, "named");
}

static bool rank_on_path(const struct rank_network *network, const struct incident_told *incident)
{
	for (size_t i = 0; i < network->n; i++)
		if (str_eq(network->ports[i]->device->name, incident->subject.device))
			return true;
	for (size_t i = 0; i < incident->n_jobs; i++)
		for (size_t k = 0; k < network->client->config->fabric->n_jobs; k++) {
			const struct fabric_job *job = &network->client->config->fabric->jobs[k];
			if (str_eq(job->name, incident->jobs[i]) &&
				fabric_job_has(job, network->row->host))
				return true;
		}
	return false;
}

/* Those of the host and its ports; where there is none, those of its leaves and its job. */
static int rank_incidents(struct rank_network *network, struct err *e)
{
	json_t *doc = NULL;
	struct rank_blame blame = {0};
	int rc = blame_document(network->client, network->row->host, &doc, e);
	if (rc < 0)
		return rc;
	shape_read(&rank_blame_shape, doc, network->a, &blame);
	rank_take_list(network, blame.incidents, blame.n_incidents);
	rank_take_list(network, blame.victim_of, blame.n_victim_of);
	json_decref(doc);
	if (network->row->n_incidents > 0)
		return 0;
	json_t *stored = incidents_load(network->client, NULL, e);
	if (!stored)
		return -EIO;
	size_t n;
	const struct incident_told *incidents = incidents_told(stored, network->a, &n);
	for (size_t i = 0; i < n; i++)
		if (rank_is_network(incidents[i].cause) && rank_on_path(network, &incidents[i]))
			rank_take_incident(network, incidents[i].id, incidents[i].headline, "path");
	json_decref(stored);
	return 0;
}

/* ---- counters ----------------------------------------------------------------------- */

struct rank_seen {
	size_t ports, uplinks; /* whose pause and drops are known */
	size_t blind; /* own ports whose pause or drops are not */
	double worst_pause, drops, marked;
	const char *worst; /* the port with most pause */
	bool marks; /* are counted */
};

/* Its own port, or a link of its leaf to another switch: what its traffic goes through. */
static bool rank_counts(const struct rank_network *network, const struct fabric_port *port)
{
	if (!port)
		return false;
	if (port->host)
		return collective_same_host(port->host, network->row->host);
	return port->peer != NULL;
}

static void rank_see_pause(
	struct rank_network *network, const struct pause_queue *queue, struct rank_seen *seen)
{
	for (int way = 0; way < PAUSE_WAYS; way++) {
		const struct pause_line *line = &queue->way[way];
		if (!(line->whole.hi > seen->worst_pause))
			continue;
		seen->worst_pause = line->whole.hi;
		seen->worst = arena_printf(network->a, "%s:%s", queue->device, queue->port);
	}
	seen->marks |= queue->marked.known;
	seen->marked += queue->marked.value;
}

static bool rank_pause_known(const struct pause_range *range, const struct fabric_port *port)
{
	for (size_t i = 0; i < range->n; i++) {
		const struct pause_queue *queue = &range->v[i];
		if (queue->fabric_port == port && queue->way[PAUSE_RX].frames.known &&
			queue->way[PAUSE_TX].frames.known)
			return true;
	}
	return false;
}

/* Pause and drops of one leaf. 0, or a negative errno with @e. */
static int rank_see_leaf(struct rank_network *network, const struct fabric_device *leaf,
	struct rank_seen *seen, struct err *e)
{
	const struct counters_ask ask = {.device = leaf->name, .priority = PRIO_NONE};
	struct counters_answer counters = {0};
	struct pause_range range = {0};
	int rc = counters_read(network->client, &ask, network->a, &counters, e);
	if (rc == 0)
		rc = pause_range_read(network->client, leaf->name, &range, e);
	for (size_t i = 0; rc == 0 && i < leaf->n_ports; i++) {
		const struct fabric_port *port = leaf->ports[i];
		bool drops = false;
		if (!rank_counts(network, port))
			continue;
		for (size_t k = 0; k < counters.n_rows; k++)
			if (counters.rows[k].at == port &&
				!isnan(counters.rows[k].grew[COUNTERS_DROPS])) {
				drops = true;
				seen->drops += counters.rows[k].grew[COUNTERS_DROPS];
			}
		const bool known = drops && rank_pause_known(&range, port);
		seen->ports += known && port->host;
		seen->uplinks += known && !port->host;
		seen->blind += !known && port->host;
	}
	for (size_t i = 0; rc == 0 && i < range.n; i++)
		if (rank_counts(network, range.v[i].fabric_port))
			rank_see_pause(network, &range.v[i], seen);
	pause_range_done(&range);
	return rc;
}

static int rank_see(struct rank_network *network, struct rank_seen *seen, struct err *e)
{
	int rc = 0;
	for (size_t i = 0; i < network->n && rc == 0; i++) {
		bool again = false;
		for (size_t k = 0; k < i; k++)
			again |= network->ports[k]->device == network->ports[i]->device;
		if (!again)
			rc = rank_see_leaf(network, network->ports[i]->device, seen, e);
	}
	return rc;
}

static void rank_tell(struct rank_network *network, const struct rank_seen *seen)
{
	struct rank_row *row = network->row;
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text,
		"incidents of %s, its leaves and its job, and %zu of its ports and %zu "
		"uplinks from %s to %s: ",
		row->host, seen->ports, seen->uplinks,
		wall_text(from, (wall_t){network->client->from_ns}, 0),
		wall_text(to, (wall_t){network->client->to_ns}, 0));
	if (seen->worst)
		str_addf(&text, "pause at most %.2g %% of the time at %s", 100 * seen->worst_pause,
			seen->worst);
	else
		str_add(&text, "no pause");
	str_addf(&text, ", drops %s", number_count((uint64_t)seen->drops).s);
	if (seen->marks)
		str_addf(&text, ", ECN marks %s", number_count((uint64_t)seen->marked).s);
	else
		str_add(&text, ", ECN marks not counted");
	if (seen->blind)
		str_addf(&text, "; pause or drops of %zu of its ports are not known", seen->blind);
	row->looked = arena_strdup(network->a, text.s);
	if (row->n_incidents > 0)
		return;
	const bool quiet = seen->worst_pause < RANK_PAUSE_LEAST && seen->drops == 0;
	if (quiet && seen->blind == 0 && seen->ports > 0)
		row->network = "innocent";
}

void rank_network(struct client *client, struct arena *a, struct rank_row *row,
	const struct fabric_port *const *ports, size_t n, const char **headline)
{
	struct rank_network network = {client, a, row, ports, n, headline, 0};
	struct rank_seen seen = {0};
	struct err e = {0};
	row->network = "unknown";
	if (row->from.ns == TIME_UNKNOWN.ns) {
		row->looked = "nothing: the sources do not say when it was";
		return;
	}
	client->from_ns = row->from.ns - RANK_PAD_NS;
	client->to_ns = row->to.ns + RANK_PAD_NS;
	client->range_given = true;
	int rc = rank_incidents(&network, &e);
	if (rc == 0)
		rc = rank_see(&network, &seen, &e);
	if (rc == 0)
		rank_tell(&network, &seen);
	else if (row->n_incidents > 0)
		row->looked = arena_printf(a, "incidents of that time; counters: %s", e.text);
	else
		row->looked = arena_printf(a, "nothing: %s", e.text);
}
