/* topology - the graph: found by asking the switches (LLDP), shown, and audited. */
#include "agent/command/command.h"
#include "agent/modules.h"
#include "agent/document/file_write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/reports/topology_views.h"
#include "collectors/gnmi/gnmi.h"
#include "collectors/snmp/snmp.h"
#include "config/config.h"
#include "config/topology.h"
#include "db/model/metric.h"
#include "db/series/series.h"

#define DEADLINE_NS (60 * NS_PER_S)
#define SLOW_POLLS 3 /* a state is believed that long */
#define SPAN_NS (15 * 60 * NS_PER_S)

static const struct command_option options[] = {
	{"out", 0, "FILE", "discover: write to FILE (replaced whole) instead of stdout"},
	{"deadline", 0, "DURATION",
		"discover: give devices that are still silent up after this long (default 60s)"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_topology;

/* ---- discover ------------------------------------------------------------ */

/* What a device is asked by: SNMP, gNMI, or both. */
struct way {
	struct asked *of;
	bool snmp, done;
};
struct asked { /* one configured device */
	struct discover *all;
	const struct config_device *device;
	struct way by_snmp, by_gnmi;
	struct snmp_target *snmp;
	struct gnmi_target *gnmi;
	struct topology_device self;
	struct topology_neighbor *heard;
	size_t n;
	bool answered, over;
	char reason[sizeof(((struct err *)0)->text)];
};

struct discover {
	const struct globals *g;
	struct config *config;
	struct arena *arena;
	struct loop *loop;
	struct asked *v;
	size_t n, n_over;
	struct topology_link *links;
	size_t n_links;
};

/* When all ways were tried. */
static void over(struct asked *x)
{
	if (x->over || !x->by_snmp.done || !x->by_gnmi.done)
		return;
	x->over = true;
	if (++x->all->n_over == x->all->n)
		loop_stop(x->all->loop);
}

static const char *kept(struct arena *a, const char *s)
{
	return arena_strdup(a, s ? s : "");
}

static void on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *heard, size_t n)
{
	struct way *w = arg;
	struct asked *x = w->of;
	struct arena *a = x->all->arena;
	if (x->over || w->done)
		return;
	w->done = true;
	if (w->snmp && n > 0)
		x->by_gnmi.done = true; /* SNMP tells more of the ports, and it knows LLDP */
	if (x->answered && n <= x->n) {
		over(x);
		return;
	}
	x->self = (struct topology_device){.name = x->device->name,
		.sysname = kept(a, self->sysname),
		.chassis = kept(a, self->chassis),
		.n_ports = self->n_ports};
	x->self.ports = arena_array(a, struct topology_port, self->n_ports + 1);
	for (size_t i = 0; i < self->n_ports; i++) {
		const struct topology_port *p = &self->ports[i];
		x->self.ports[i] = (struct topology_port){.name = kept(a, p->name),
			.alias = kept(a, p->alias),
			.descr = kept(a, p->descr),
			.mac = kept(a, p->mac),
			.ifindex = p->ifindex};
	}
	x->heard = arena_array(a, struct topology_neighbor, n + 1);
	x->n = n;
	for (size_t i = 0; i < n; i++) {
		x->heard[i] = heard[i];
		x->heard[i].device = x->device->name;
		x->heard[i].port = kept(a, heard[i].port);
		x->heard[i].sysname = kept(a, heard[i].sysname);
		x->heard[i].chassis = kept(a, heard[i].chassis);
		x->heard[i].port_id = kept(a, heard[i].port_id);
		x->heard[i].port_descr = kept(a, heard[i].port_descr);
	}
	x->answered = true;
	over(x);
}

static void on_target(void *arg, const struct target *t)
{
	struct way *w = arg;
	struct asked *x = w->of;
	if (t->state != TARGET_BACKOFF || x->over)
		return;
	w->done = true;
	snprintf(x->reason, sizeof(x->reason), "%s", t->reason);
	over(x);
}

static void on_samples(void *arg, const struct sample *v, size_t n)
{
}
static void on_flows(void *arg, const struct flow_sample *v, size_t n)
{
}
static void on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
}
static void on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
}
static void on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
}
static void on_deadline(void *arg)
{
	loop_stop(arg);
}

static void ask(struct asked *x, struct way *w, struct entities *entities)
{
	const struct sink sink = {.arg = w,
		.samples = on_samples,
		.flows = on_flows,
		.target = on_target,
		.device = on_device,
		.port = on_port,
		.event = on_event,
		.neighbors = on_neighbors};
	struct err e = {0};
	const struct discover *d = x->all;
	snprintf(x->reason, sizeof(x->reason), "no complete answer within the deadline");
	if ((w->snmp ? snmp_target_new(d->loop, entities, x->device, d->config, &sink, &x->snmp, &e)
		     : gnmi_target_new(
			       d->loop, entities, x->device, d->config, &sink, &x->gnmi, &e)) == 0)
		return;
	snprintf(x->reason, sizeof(x->reason), "%s", e.text);
	w->done = true;
	over(x);
}

/* Each device once, all at the same time; ends when all have answered or failed, or at the
 * deadline. */
static int ask_all(struct discover *d, int64_t deadline_ns)
{
	if (loop_new(&d->loop) < 0) {
		fprintf(stderr, "rocewatch: no event loop: %s\n", strerror(errno));
		return -EIO;
	}
	struct entities *entities = entities_new();
	struct loop_timer *deadline = loop_timer_new(d->loop, on_deadline, d->loop);
	loop_timer_start(deadline, deadline_ns, 0);
	snmp_init();
	for (size_t i = 0; i < d->n; i++) {
		struct asked *x = &d->v[i];
		x->by_snmp = (struct way){x, true, x->device->snmp == NULL};
		x->by_gnmi = (struct way){x, false, x->device->gnmi == NULL};
		if (x->device->snmp)
			ask(x, &x->by_snmp, entities);
		if (x->device->gnmi)
			ask(x, &x->by_gnmi, entities);
	}
	if (d->n_over < d->n)
		loop_run(d->loop);
	for (size_t i = 0; i < d->n; i++) {
		snmp_target_free(d->v[i].snmp);
		gnmi_target_free(d->v[i].gnmi);
	}
	loop_timer_free(deadline);
	loop_free(d->loop);
	entities_free(entities);
	return 0;
}

static void match(struct discover *d)
{
	const struct config *c = d->config;
	struct topology_device *devices =
		arena_array(d->arena, struct topology_device, c->n_devices + 1);
	size_t n = 0;
	for (size_t i = 0; i < d->n; i++)
		n += d->v[i].n;
	struct topology_neighbor *heard = arena_array(d->arena, struct topology_neighbor, n + 1);
	n = 0;
	for (size_t i = 0; i < c->n_devices; i++) {
		devices[i] = (struct topology_device){
			.name = c->devices[i].name, .sysname = "", .chassis = ""};
		for (size_t k = 0; k < d->n; k++) {
			if (d->v[k].device != &c->devices[i] || !d->v[k].answered)
				continue;
			devices[i] = d->v[k].self;
			if (d->v[k].n)
				memcpy(heard + n, d->v[k].heard, d->v[k].n * sizeof(*heard));
			n += d->v[k].n;
		}
	}
	d->n_links = topology_links(d->arena, devices, c->n_devices, heard, n, &d->links);
}

static void print_comments(FILE *out, const struct discover *d)
{
	char now[WALL_TEXT_MAX];
	size_t answered = 0, disputed = 0;
	for (size_t i = 0; i < d->n; i++)
		answered += d->v[i].answered;
	for (size_t i = 0; i < d->n_links; i++)
		disputed += d->links[i].problem != NULL;
	fprintf(out,
		"# rocewatch topology discover, %s: %zu of %zu devices answered, %zu links, %zu "
		"disputed (as comments)\n",
		wall_format(now, wall_now(), 0), answered, d->n, d->n_links - disputed, disputed);
	for (size_t i = 0; i < d->n; i++) {
		const struct asked *x = &d->v[i];
		if (!x->answered)
			fprintf(out,
				"# %s did not answer: its links are as its neighbours tell them\n",
				x->device->name);
		else if (*x->self.sysname &&
			strncasecmp(x->self.sysname, x->device->name,
				strcspn(x->self.sysname, ".")) != 0)
			fprintf(out, "# %s calls itself %s\n", x->device->name, x->self.sysname);
	}
}

static int print_yaml(FILE *out, void *arg)
{
	const struct discover *d = arg;
	rw_cleanup(freep) char *text = config_text_unlinked(d->config);
	print_comments(out, d);
	fputs(text, out);
	topology_print(out, d->links, d->n_links);
	return fflush(out) != 0 || ferror(out) ? -EIO : 0;
}

static int print_json(FILE *out, void *arg)
{
	const struct discover *d = arg;
	json_t *devices = json_array(), *links = json_array();
	for (size_t i = 0; i < d->n; i++) {
		const struct asked *x = &d->v[i];
		json_array_append_new(devices,
			json_pack("{s:s, s:s, s:b, s:o, s:o, s:i}", "name", x->device->name, "role",
				device_role_name(x->device->device->role), "answered", x->answered,
				"reason", json_string_or_null(x->answered ? NULL : x->reason),
				"sysname",
				json_string_or_null(
					x->answered && *x->self.sysname ? x->self.sysname : NULL),
				"neighbors", (int)x->n));
	}
	for (size_t i = 0; i < d->n_links; i++) {
		const struct topology_link *l = &d->links[i];
		rw_cleanup(str_done) struct str host = {0};
		str_addf(&host, "host:%s", l->host ? l->host : "");
		json_array_append_new(links,
			json_pack("{s:s, s:s, s:s, s:o, s:b, s:o}", "device", l->a_device, "port",
				l->a_port, "peer", l->b_device ? l->b_device : host.s, "peer_port",
				json_string_or_null(l->b_device ? l->b_port
						: *l->nic       ? l->nic
								: NULL),
				"confirmed", l->confirmed, "problem",
				json_string_or_null(l->problem)));
	}
	json_t *doc = json_pack("{s:s, s:o, s:o}", "fabric", d->config->fabric->name, "devices",
		devices, "links", links);
	int r = json_dumpf(doc, out, JSON_INDENT(2)) < 0 || putc('\n', out) == EOF ||
			fflush(out) != 0
		? -EIO
		: 0;
	json_decref(doc);
	return r;
}

static int config_read(const struct globals *g, struct config **ret)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	int r = config_load(g->config_path, CONFIG_FULL, tables, n, ret, &errors);
	for (size_t i = 0; i < errors.n; i++)
		err_print(stderr, &errors.v[i]);
	return r;
}

static int run_discover(struct command_args *a)
{
	const char *out = command_opt(&command_topology, a, "out"),
		   *text = command_opt(&command_topology, a, "deadline");
	int64_t deadline_ns = DEADLINE_NS;
	if (text && (unit_duration(text, &deadline_ns, NULL) < 0 || deadline_ns <= 0))
		return usage_error(&command_topology,
			"--deadline: read '%.40s', expected a duration such as 30s", text);
	struct discover d = {.g = a->g};
	if (config_read(a->g, &d.config) < 0)
		return EXIT_USAGE;
	d.arena = arena_new();
	d.v = arena_array(d.arena, struct asked, d.config->n_devices + 1);
	for (size_t i = 0; i < d.config->n_devices; i++)
		if (d.config->devices[i].snmp || d.config->devices[i].gnmi)
			d.v[d.n++] = (struct asked){.all = &d, .device = &d.config->devices[i]};
	int code = EXIT_OK;
	struct err e = {0};
	size_t answered = 0;
	if (!a->g->verbose)
		log_set_level(LOG_ERROR_); /* what goes wrong is told once, below */
	if (ask_all(&d, deadline_ns) < 0)
		code = EXIT_FAILED;
	for (size_t i = 0; i < d.n; i++) {
		answered += d.v[i].answered;
		if (!d.v[i].answered && code == EXIT_OK)
			fprintf(stderr, "rocewatch: %s: %s\n", d.v[i].device->name, d.v[i].reason);
	}
	if (code == EXIT_OK && answered == 0) {
		fprintf(stderr, "rocewatch: no device answered (%zu asked): nothing to print\n",
			d.n);
		code = EXIT_FAILED;
	}
	if (code == EXIT_OK) {
		int (*print)(FILE *, void *) =
			a->g->format_given && a->g->format == FORMAT_JSON ? print_json : print_yaml;
		match(&d);
		if (out ? file_write(out, print, &d, &e) < 0 : print(stdout, &d) < 0) {
			if (out)
				err_print(stderr, &e);
			code = EXIT_FAILED;
		}
	}
	arena_free(d.arena);
	config_free(d.config);
	return code;
}

/* ---- what the database knows of the ports -------------------------------- */

struct heard_port {
	const char *device, *port;
	size_t at; /* its facts */
};

struct known {
	struct arena *arena;
	struct smap *ports; /* "device\0port" -> index */
	struct smap *sysnames; /* device -> pointer */
	struct port_facts *v;
	size_t n, cap;
	struct heard_port *heard; /* in the order of the database: by name */
	size_t n_heard, cap_heard;
};

static struct port_facts *known_of(struct known *k, const char *device, const char *port, bool make)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	str_addn(&key, device, strlen(device) + 1);
	str_add(&key, port);
	if (smap_get(k->ports, key.s, key.n, &at))
		return &k->v[at];
	if (!make)
		return NULL;
	smap_put(k->ports, key.s, key.n, k->n);
	rw_grow(k->v, k->n, k->cap);
	k->v[k->n] = (struct port_facts){.up = -1};
	return &k->v[k->n++];
}

static struct port_facts port_get(void *arg, const char *device, const char *port)
{
	const struct port_facts *p = known_of(arg, device, port, false);
	return p ? *p : (struct port_facts){.up = -1};
}

static void each_heard(void *arg,
	void (*fn)(void *to, const char *device, const char *port, const struct port_facts *x),
	void *to)
{
	const struct known *k = arg;
	for (size_t i = 0; i < k->n_heard; i++)
		fn(to, k->heard[i].device, k->heard[i].port, &k->v[k->heard[i].at]);
}

static const char *sysname_get(void *arg, const char *device)
{
	const struct known *k = arg;
	uint64_t at;
	return smap_get(k->sysnames, device, strlen(device), &at) ? (const char *)(uintptr_t)at
								  : NULL;
}

static int take_link(void *arg, int n, char *const *values, char *const *names)
{
	struct known *k = arg;
	if (n < 4 || !values[0] || !values[1] || !values[2])
		return 0;
	struct port_facts *p = known_of(k, values[0], values[1], true);
	p->heard_device = arena_strdup(k->arena, values[2]);
	p->heard_port = arena_strdup(k->arena, values[3] ? values[3] : "");
	rw_grow(k->heard, k->n_heard, k->cap_heard);
	k->heard[k->n_heard++] = (struct heard_port){arena_strdup(k->arena, values[0]),
		arena_strdup(k->arena, values[1]), (size_t)(p - k->v)};
	return 0;
}

static int take_sysname(void *arg, int n, char *const *values, char *const *names)
{
	struct known *k = arg;
	if (n >= 2 && values[0] && values[1])
		smap_put(k->sysnames, values[0], strlen(values[0]),
			(uint64_t)(uintptr_t)arena_strdup(k->arena, values[1]));
	return 0;
}

static void take_state(
	struct known *k, const struct entity *e, const struct series *s, uint64_t value)
{
	struct port_facts *p = known_of(k, e->device, e->port, true);
	switch (s->metric) {
	case M_PORT_OPER_UP: p->up = value != 0; break;
	case M_PORT_SPEED_BPS: p->speed_bps = value; break;
	case M_PORT_MTU_BYTES: p->mtu_bytes = value; break;
	case M_CFG_PFC_ENABLED:
		if (e->priority >= 0 && e->priority < 8) {
			p->pfc_known |= (uint8_t)(1u << e->priority);
			p->pfc_on |= (uint8_t)((value != 0) << e->priority);
		}
		break;
	}
}

static int64_t slow_interval(const struct config *c)
{
	int64_t longest = c->defaults.slow_interval_ns;
	for (size_t i = 0; i < c->n_devices; i++)
		if (c->devices[i].snmp && c->devices[i].snmp->slow_interval_ns > longest)
			longest = c->devices[i].snmp->slow_interval_ns;
	return longest;
}

/*
 * For how long a state is believed. A recorded case, whose devices have no address, tells a state
 * when it begins to hold and not again: there it holds until the next one.
 */
static int64_t state_age(const struct client *x)
{
	int64_t first_ns, last_ns;
	struct err ignored = {0};
	for (size_t i = 0; i < x->config->n_devices; i++)
		if (x->config->devices[i].snmp || x->config->devices[i].gnmi)
			return SLOW_POLLS * slow_interval(x->config);
	return series_db_range(x->db, &first_ns, &last_ns, &ignored) == 0 && first_ns < x->to_ns
		? x->to_ns - first_ns + 1
		: SLOW_POLLS * slow_interval(x->config);
}

/* States as of the end of the stretch asked for; older than a few slow polls they say nothing about
 * now. */
static int known_read(struct known *k, struct client *x, struct err *e)
{
	static const uint16_t metrics[] = {
		M_PORT_OPER_UP, M_PORT_SPEED_BPS, M_PORT_MTU_BYTES, M_CFG_PFC_ENABLED};
	const struct window_spec spec = {.metrics = metrics, .n_metrics = rw_countof(metrics)};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const int64_t age_ns = state_age(x);
	struct window w;
	int r = window_from_db(x->db, a, &spec, x->to_ns - age_ns, x->to_ns, &w, e);
	for (size_t i = 0; r == 0 && i < w.n_series; i++) {
		const struct series *s = &w.series[i];
		const struct entity *entity = entity_get(w.entities, s->entity);
		uint64_t value;
		if (entity && *entity->port && series_state(s, x->to_ns, age_ns, &value) == 0)
			take_state(k, entity, s, value);
	}
	if (r == 0)
		r = series_db_sql(x->db,
			"SELECT device, port, peer_device, peer_port FROM links ORDER BY device, "
			"port",
			take_link, k, e);
	if (r == 0)
		r = series_db_sql(x->db,
			"SELECT DISTINCT device, sysname FROM devices WHERE sysname IS NOT NULL",
			take_sysname, k, e);
	return r;
}

/* Without a database (the agent never ran) there is still the configuration to show. */
static int context_or_config(struct client *x, const struct globals *g, struct err *e)
{
	int r = client_open(x, g, SPAN_NS, e);
	if (r == 0 || g->db || r != -ENOENT)
		return r;
	*x = (struct client){0};
	return config_read(g, &x->config) < 0 ? -EINVAL : 0;
}

static int run_view(struct command_args *a,
	json_t *(*make)(const struct fabric *f, const struct topology_facts *facts),
	const struct view *v, bool audit)
{
	struct client x;
	struct err e = {0};
	int r = context_or_config(&x, a->g, &e);
	if (r < 0) {
		if (*e.text)
			err_print(stderr, &e);
		return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	}
	struct known k = {.arena = arena_new(), .ports = smap_new(), .sysnames = smap_new()};
	const struct topology_facts facts = {
		.arg = &k, .port = port_get, .sysname = sysname_get, .each_heard = each_heard};
	int code = EXIT_OK;
	if (!x.db)
		fprintf(stderr,
			"rocewatch: there is no database yet: only what is configured is known\n");
	r = x.db ? known_read(&k, &x, &e) : 0;
	if (r < 0) {
		err_print(stderr, &e);
		code = EXIT_FAILED;
	} else {
		json_t *doc = make(x.config->fabric, &facts);
		if (report_print(stdout, doc, v, a->g->format, !a->g->no_header,
			    a->g->color == COLOR_ALWAYS) < 0)
			code = EXIT_FAILED;
		if (audit && json_array_size(json_object_get(doc, "findings")) > 0)
			code = EXIT_FAILED;
		json_decref(doc);
	}
	smap_free(k.ports);
	smap_free(k.sysnames);
	free(k.v);
	free(k.heard);
	arena_free(k.arena);
	client_done(&x);
	return code;
}

static int run(struct command_args *a)
{
	const char *verb = a->argc > 0 ? a->argv[0] : "";
	if (a->argc > 1)
		return usage_error(&command_topology, "one argument too many: '%s'", a->argv[1]);
	if (str_eq(verb, "discover"))
		return run_discover(a);
	if (str_eq(verb, "show"))
		return run_view(a, topology_show_json, &topology_show_view, false);
	if (str_eq(verb, "check"))
		return run_view(a, topology_check_json, &topology_check_view, true);
	return usage_error(&command_topology,
		*verb ? "unknown '%s', expected discover, show or check"
		      : "expected discover, show or check%s",
		verb);
}

const struct command command_topology = {
	.name = "topology",
	.args = "discover|show|check",
	.summary = "links by LLDP into YAML, the graph, and what is odd about it",
	.help = "discover asks every configured device once (SNMP: LLDP-MIB and IF-MIB) and prints "
		"the configuration with the links it found, which "
		"'config check' accepts. What the devices disagree about is printed as a comment. "
		"Devices that do not answer are named on stderr.\n"
		"show prints the graph in force: devices by tier, who reaches whom, each link with "
		"its state and where it comes from. With 'links: discover' "
		"these are the links the agent knows.\n"
		"check audits it: oversubscription, ECMP width and missing members, speed, MTU and "
		"PFC that differ across a link, LLDP against the declared "
		"links, system names against configured names; each with a severity and a remedy.\n"
		"\n"
		"Exit code: 0 done (check: nothing found), 1 failed (discover: no device answered; "
		"check: there are findings), 2 bad usage or configuration.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = run,
};
