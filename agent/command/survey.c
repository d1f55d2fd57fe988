/* survey - see survey.h. */
#include "agent/command/survey.h"

#include "agent/modules.h"
#include "base/loop.h"
#include "collectors/gnmi/gnmi.h"
#include "collectors/snmp/snmp.h"
#include "config/config.h"
#include "db/model/entity.h"

/* ---- asking -------------------------------------------------------------- */

/* When all ways were tried. */
static void survey_over(struct survey_device *asked)
{
	if (asked->over || !asked->by_snmp.done || !asked->by_gnmi.done)
		return;
	asked->over = true;
	if (++asked->all->n_over == asked->all->n)
		loop_stop(asked->all->loop);
}

static const char *survey_kept(struct arena *a, const char *text)
{
	return arena_strdup(a, str_or(text, ""));
}

/* What is lent, copied into the arena of the survey. */
static void survey_keep(struct survey_device *x, const struct topology_device *self,
	const struct topology_neighbor *neighbors, size_t n)
{
	struct arena *a = x->all->arena;
	x->self = (struct topology_device){.name = x->device->name,
		.sysname = survey_kept(a, self->sysname),
		.chassis = survey_kept(a, self->chassis),
		.n_ports = self->n_ports};
	x->self.ports = arena_array(a, struct topology_port, self->n_ports + 1);
	for (size_t i = 0; i < self->n_ports; i++) {
		const struct topology_port *p = &self->ports[i];
		struct topology_port *kept = &x->self.ports[i];
		*kept = *p;
		kept->name = survey_kept(a, p->name);
		kept->alias = survey_kept(a, p->alias);
		kept->descr = survey_kept(a, p->descr);
		kept->mac = survey_kept(a, p->mac);
	}
	x->neighbors = arena_array(a, struct topology_neighbor, n + 1);
	x->n = n;
	for (size_t i = 0; i < n; i++) {
		x->neighbors[i] = neighbors[i];
		x->neighbors[i].device = x->device->name;
		x->neighbors[i].port = survey_kept(a, neighbors[i].port);
		x->neighbors[i].sysname = survey_kept(a, neighbors[i].sysname);
		x->neighbors[i].chassis = survey_kept(a, neighbors[i].chassis);
		x->neighbors[i].port_id = survey_kept(a, neighbors[i].port_id);
		x->neighbors[i].port_descr = survey_kept(a, neighbors[i].port_descr);
	}
	x->answered = true;
}

static void survey_on_neighbors(void *arg, const struct topology_device *self,
	const struct topology_neighbor *neighbors, size_t n)
{
	struct survey_way *w = arg;
	struct survey_device *x = w->of;
	if (x->over || w->done)
		return;
	w->done = true;
	if (w->snmp && n > 0)
		x->by_gnmi.done = true; /* SNMP knows more about the ports, and LLDP too */
	if (x->answered && n <= x->n) {
		survey_over(x);
		return;
	}
	survey_keep(x, self, neighbors, n);
	survey_over(x);
}

static void survey_on_target(void *arg, const struct target *target)
{
	struct survey_way *w = arg;
	struct survey_device *x = w->of;
	if (target->state != TARGET_BACKOFF || x->over)
		return;
	w->done = true;
	snprintf(x->reason, sizeof(x->reason), "%s", target->reason);
	survey_over(x);
}

void survey_counted(struct survey *survey, const struct entities *entities,
	const struct sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct sample *sample = &samples[i];
		const struct entity *entity = entity_get(entities, sample->entity);
		if (!entity || entity->priority < 0 || entity->priority > 7 || !sample->value)
			continue;
		if (sample->metric == M_PFC_RX_FRAMES || sample->metric == M_PFC_TX_FRAMES)
			survey->paused |= 1u << entity->priority;
		if (sample->metric == M_CFG_PFC_ENABLED)
			survey->enabled |= 1u << entity->priority;
	}
}

static void survey_on_samples(void *arg, const struct sample *samples, size_t n)
{
	const struct survey_way *way = arg;
	survey_counted(way->of->all, way->of->all->entities, samples, n);
}
static void survey_on_flows(void *arg, const struct flow_sample *flows, size_t n)
{
}
static void survey_on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
	const struct survey_way *way = arg;
	way->of->profile = survey_kept(way->of->all->arena, profile);
}
static void survey_on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
}
static void survey_on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
}
static void survey_on_deadline(void *arg)
{
	loop_stop(arg);
}

static void survey_ask(struct survey_device *asked, struct survey_way *way)
{
	const struct sink sink = {.arg = way,
		.samples = survey_on_samples,
		.flows = survey_on_flows,
		.target = survey_on_target,
		.device = survey_on_device,
		.port = survey_on_port,
		.event = survey_on_event,
		.neighbors = survey_on_neighbors};
	struct err e = {0};
	const struct survey *d = asked->all;
	snprintf(asked->reason, sizeof(asked->reason), "no complete answer within the deadline");
	int r;
	if (way->snmp)
		r = snmp_target_new(
			d->loop, d->entities, asked->device, d->config, &sink, &asked->snmp, &e);
	else
		r = gnmi_target_new(
			d->loop, d->entities, asked->device, d->config, &sink, &asked->gnmi, &e);
	if (r == 0)
		return;
	snprintf(asked->reason, sizeof(asked->reason), "%s", e.text);
	way->done = true;
	survey_over(asked);
}

/* Each device once, all at the same time; ends when all have answered or failed, or at the
 * deadline. */
static int survey_ask_all(struct survey *survey, int64_t deadline_ns, struct err *e)
{
	const int rc = loop_new(&survey->loop);
	if (rc < 0)
		return err_set(e, rc, "no event loop: %s", strerror(-rc));
	survey->entities = entities_new();
	struct loop_timer *deadline =
		loop_timer_new(survey->loop, survey_on_deadline, survey->loop);
	loop_timer_start(deadline, deadline_ns, 0);
	snmp_init();
	for (size_t i = 0; i < survey->n; i++) {
		struct survey_device *x = &survey->v[i];
		x->by_snmp = (struct survey_way){x, true, x->device->snmp == NULL};
		x->by_gnmi = (struct survey_way){x, false, x->device->gnmi == NULL};
		if (x->device->snmp)
			survey_ask(x, &x->by_snmp);
		if (x->device->gnmi)
			survey_ask(x, &x->by_gnmi);
	}
	if (survey->n_over < survey->n)
		loop_run(survey->loop);
	for (size_t i = 0; i < survey->n; i++) {
		snmp_target_free(survey->v[i].snmp);
		gnmi_target_free(survey->v[i].gnmi);
	}
	loop_timer_free(deadline);
	loop_free(survey->loop);
	entities_free(survey->entities);
	return 0;
}

void survey_link(struct survey *survey)
{
	const struct config *c = survey->config;
	struct topology_device *devices =
		arena_array(survey->arena, struct topology_device, c->n_devices + 1);
	size_t n = 0;
	for (size_t i = 0; i < survey->n; i++)
		n += survey->v[i].n;
	struct topology_neighbor *neighbors =
		arena_array(survey->arena, struct topology_neighbor, n + 1);
	n = 0;
	for (size_t i = 0; i < c->n_devices; i++) {
		devices[i] = (struct topology_device){
			.name = c->devices[i].name, .sysname = "", .chassis = ""};
		for (size_t k = 0; k < survey->n; k++) {
			if (survey->v[k].device != &c->devices[i] || !survey->v[k].answered)
				continue;
			devices[i] = config_fabric_ports(
				survey->arena, &c->devices[i], &survey->v[k].self);
			if (survey->v[k].n)
				memcpy(neighbors + n, survey->v[k].neighbors,
					survey->v[k].n * sizeof(*neighbors));
			n += survey->v[k].n;
		}
	}
	survey->n_links =
		topology_links(survey->arena, devices, c->n_devices, neighbors, n, &survey->links);
}

int survey_config(
	struct survey *survey, const struct config *config, int64_t deadline_ns, struct err *e)
{
	*survey = (struct survey){.config = config, .arena = arena_new()};
	survey->v = arena_array(survey->arena, struct survey_device, config->n_devices + 1);
	for (size_t i = 0; i < config->n_devices; i++)
		if (config_device_polled(&config->devices[i]))
			survey->v[survey->n++] = (struct survey_device){
				.all = survey, .device = &config->devices[i]};
	const int rc = survey_ask_all(survey, deadline_ns, e);
	if (rc < 0)
		return rc;
	for (size_t i = 0; i < survey->n; i++)
		survey->n_answered += survey->v[i].answered;
	survey_link(survey);
	return 0;
}

void survey_done(struct survey *survey)
{
	arena_free(survey->arena);
	config_free(survey->made);
}

/* ---- switches without a configuration ------------------------------------ */

#define GNMI "gnmi:"

/* Only what an address is made of enters the text of a configuration. */
static bool survey_is_address(const char *text)
{
	return *text &&
		text[strspn(text,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			"0123456789.:-_[]%")] == '\0';
}

static bool survey_by_gnmi(const char *host)
{
	return strncmp(host, GNMI, sizeof(GNMI) - 1) == 0;
}

static void survey_add_credentials(struct str *out, const struct survey_hosts *hosts)
{
	str_add(out, "credentials:\n");
	if (hosts->community_file)
		str_addf(out, "  ro: { snmp: { version: 2c, community_file: \"%s\" } }\n",
			hosts->community_file);
	if (!hosts->user)
		return;
	str_addf(out, "  stream: { gnmi: { username: \"%s\", password_file: \"%s\"", hosts->user,
		hosts->password_file);
	if (hosts->ca)
		str_addf(out, ", tls: { ca: \"%s\" }", hosts->ca);
	if (hosts->no_tls)
		str_add(out, ", tls: { off: true }");
	str_add(out, " } }\n");
}

static void survey_add_target(struct str *out, const char *host)
{
	if (survey_by_gnmi(host))
		str_addf(out, "gnmi: { address: \"%s\", credentials: stream }",
			host + sizeof(GNMI) - 1);
	else
		str_addf(out, "snmp: { address: \"%s\", credentials: ro }", host);
}

/* The file that an option names, as an absolute path. */
static int survey_read_file(const struct command *command, const struct command_args *args,
	const char *name, char **ret)
{
	const char *file = command_opt(command, args, name);
	*ret = NULL;
	if (!file)
		return EXIT_OK;
	*ret = realpath(file, NULL);
	if (*ret)
		return EXIT_OK;
	return usage_error(command, "--%s: %.200s: %s", name, file, strerror(errno));
}

int survey_hosts_read(const struct command *command, const struct command_args *args, size_t first,
	struct survey_hosts *ret)
{
	size_t n_gnmi = 0;
	*ret = (struct survey_hosts){.hosts = args->argv + first,
		.n = (size_t)args->argc - first,
		.user = command_opt(command, args, "gnmi-user"),
		.no_tls = command_opt(command, args, "gnmi-no-tls") != NULL};
	const struct {
		const char *name;
		char **path;
	} files[] = {{"community-file", &ret->community_file},
		{"gnmi-password-file", &ret->password_file}, {"gnmi-ca", &ret->ca}};
	for (size_t i = 0; i < rw_countof(files); i++) {
		const int code = survey_read_file(command, args, files[i].name, files[i].path);
		if (code != EXIT_OK)
			return code;
	}
	for (size_t i = 0; i < ret->n; i++)
		n_gnmi += survey_by_gnmi(ret->hosts[i]);
	if (n_gnmi < ret->n && !ret->community_file)
		return usage_error(command, "missing --community-file FILE");
	if (n_gnmi > 0 && (!ret->user || !ret->password_file))
		return usage_error(
			command, "gnmi: needs --gnmi-user NAME and --gnmi-password-file FILE");
	if (ret->user && !text_is_word(ret->user))
		return usage_error(command, "--gnmi-user: '%.64s' is not a user name", ret->user);
	if (ret->ca && ret->no_tls)
		return usage_error(command, "--gnmi-ca and --gnmi-no-tls contradict each other");
	return EXIT_OK;
}

void survey_hosts_done(struct survey_hosts *hosts)
{
	free(hosts->community_file);
	free(hosts->password_file);
	free(hosts->ca);
}

/* A configuration of our own making. */
static int survey_parse(
	const struct str *text, enum config_mode mode, struct config **ret, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	const int rc =
		config_parse(text->s, text->n, "the command line", mode, tables, n, ret, &errors);
	if (rc < 0 && errors.n > 0)
		return err_set(e, -EINVAL, "%s", errors.v[0].text);
	if (rc < 0)
		return err_set(e, rc, "%s", strerror(-rc));
	return 0;
}

int survey_hosts(
	struct survey *survey, const struct survey_hosts *hosts, int64_t deadline_ns, struct err *e)
{
	rw_cleanup(str_done) struct str text = {0};
	struct config *config = NULL;
	*survey = (struct survey){0};
	str_add(&text,
		"fabric: first\ndefaults: { interval: 15s }\n"); /* a poll may take as long */
	survey_add_credentials(&text, hosts);
	str_add(&text, "devices:\n");
	for (size_t i = 0; i < hosts->n; i++) {
		if (!survey_is_address(hosts->hosts[i]))
			return err_set(e, -EINVAL, "'%.64s' is not an address of a switch",
				hosts->hosts[i]);
		str_addf(&text, "  - { name: switch%zu, ", i + 1);
		survey_add_target(&text, hosts->hosts[i]);
		str_add(&text, " }\n");
	}
	const int rc = survey_parse(&text, CONFIG_FULL, &config, e);
	if (rc < 0)
		return rc;
	const int asked = survey_config(survey, config, deadline_ns, e);
	survey->made = config;
	return asked;
}

int survey_named(struct survey *survey, const char *const *names, size_t n, struct err *e)
{
	rw_cleanup(str_done) struct str text = {0};
	struct config *config = NULL;
	*survey = (struct survey){0};
	str_add(&text, "fabric: first\ndevices:\n");
	for (size_t i = 0; i < n; i++)
		str_addf(&text, "  - { name: %s }\n", names[i]);
	const int rc = survey_parse(&text, CONFIG_CASE, &config, e);
	if (rc < 0)
		return rc;
	*survey = (struct survey){.config = config, .made = config, .arena = arena_new(), .n = n};
	survey->v = arena_array(survey->arena, struct survey_device, n + 1);
	for (size_t i = 0; i < n; i++)
		survey->v[i] = (struct survey_device){.all = survey, .device = &config->devices[i]};
	return 0;
}

void survey_known(struct survey *survey, size_t i, const char *profile,
	const struct topology_device *self, const struct topology_neighbor *neighbors, size_t n)
{
	survey_keep(&survey->v[i], self, neighbors, n);
	survey->v[i].profile = survey_kept(survey->arena, profile);
	survey->n_answered++;
}

/* ---- the first configuration --------------------------------------------- */

struct survey_place { /* of one device in the fabric, by its links */
	size_t n_hosts, n_switches, n_leaves;
	const char *role, *name;
};

/* The end of @link that is not @device, where it is a device too. */
static const char *survey_far_end(const struct topology_link *link, const char *device)
{
	if (str_eq(link->a_device, device))
		return link->b_device;
	return link->a_device;
}

static bool survey_touches(const struct topology_link *link, const char *device)
{
	return str_eq(link->a_device, device) || (link->b_device && str_eq(link->b_device, device));
}

static const struct survey_place *survey_place_named(
	const struct survey *survey, const struct survey_place *places, const char *device)
{
	for (size_t i = 0; i < survey->n; i++)
		if (str_eq(survey->v[i].device->name, device))
			return &places[i];
	return NULL;
}

static void survey_count(const struct survey *survey, const char *device, struct survey_place *ret)
{
	for (size_t i = 0; i < survey->n_links; i++) {
		const struct topology_link *link = &survey->links[i];
		if (link->problem || link->outside || !survey_touches(link, device))
			continue;
		if (link->b_device || link->kind == NEIGHBOR_SWITCH)
			ret->n_switches++;
		else
			ret->n_hosts++;
	}
}

/* A leaf has hosts; a spine has leaves; a superspine has spines only. */
static void survey_roles(const struct survey *survey, struct survey_place *places)
{
	for (size_t i = 0; i < survey->n; i++) {
		survey_count(survey, survey->v[i].device->name, &places[i]);
		places[i].role = "other";
		if (places[i].n_hosts > 0)
			places[i].role = "leaf";
	}
	for (size_t i = 0; i < survey->n; i++)
		for (size_t k = 0; k < survey->n_links; k++) {
			const char *device = survey->v[i].device->name;
			if (!survey_touches(&survey->links[k], device))
				continue;
			const char *far = survey_far_end(&survey->links[k], device);
			const struct survey_place *peer = NULL;
			if (far)
				peer = survey_place_named(survey, places, far);
			places[i].n_leaves += peer && peer->n_hosts > 0;
		}
	for (size_t i = 0; i < survey->n; i++) {
		if (places[i].n_hosts > 0 || places[i].n_switches == 0)
			continue;
		places[i].role = "superspine";
		if (places[i].n_leaves > 0)
			places[i].role = "spine";
	}
}

/* The system name without its domain where it is a name and nobody else's, else what the survey
 * called the device. */
static void survey_names(const struct survey *survey, struct survey_place *places)
{
	for (size_t i = 0; i < survey->n; i++) {
		const struct survey_device *asked = &survey->v[i];
		places[i].name = asked->device->name;
		if (!asked->answered || !*asked->self.sysname)
			continue;
		char *name = arena_strdup(survey->arena, asked->self.sysname);
		name[strcspn(name, ".")] = '\0';
		bool fine = text_is_word(name) && !strpbrk(name, ":/") && !str_eq(name, "host");
		for (size_t k = 0; k < i; k++)
			fine = fine && !str_eq(places[k].name, name);
		if (fine)
			places[i].name = name;
	}
}

static void survey_print_device(FILE *out, const struct survey *survey,
	const struct survey_place *place, size_t at, const struct survey_hosts *hosts)
{
	const struct survey_device *asked = &survey->v[at];
	rw_cleanup(str_done) struct str target = {0};
	if (hosts) {
		str_add(&target, ", ");
		survey_add_target(&target, hosts->hosts[at]);
	}
	fprintf(out, "  - { name: %s, role: %s%s }", place->name, place->role,
		str_or(target.s, ""));
	if (!asked->answered)
		fputs("  # did not answer: its role is not known\n", out);
	else
		fprintf(out, "  # %s; links to hosts %zu, to switches %zu\n",
			str_or(asked->profile, "unknown kind"), place->n_hosts, place->n_switches);
}

/* Without the number at its end. */
static size_t survey_stem(const char *host)
{
	size_t n = strlen(host);
	while (n > 0 && host[n - 1] >= '0' && host[n - 1] <= '9')
		n--;
	return n;
}

static bool survey_is_host(const struct topology_link *link)
{
	return !link->problem && !link->outside && !link->b_device && !link->anonymous &&
		link->kind == NEIGHBOR_HOST && text_is_word(link->host) &&
		survey_stem(link->host) > 0;
}

void survey_add_job(struct str *out, const struct survey *survey)
{
	size_t n_hosts = 0, most = 0;
	const char *name = NULL;
	for (size_t i = 0; i < survey->n_links; i++) {
		if (!survey_is_host(&survey->links[i]))
			continue;
		const char *host = survey->links[i].host;
		const size_t stem = survey_stem(host);
		size_t alike = 0;
		n_hosts++;
		for (size_t k = 0; most <= survey->n_links / 2 && k < survey->n_links; k++)
			alike += survey_is_host(&survey->links[k]) &&
				survey_stem(survey->links[k].host) == stem &&
				strncmp(survey->links[k].host, host, stem) == 0;
		if (alike > most) {
			most = alike;
			name = host;
		}
	}
	if (name && 2 * most > n_hosts && most < n_hosts)
		str_addf(out, "jobs: [{ name: hosts, gpus: %zu, hosts: \"%.*s*\" }]\n", most,
			(int)survey_stem(name), name);
}

static void survey_print_priorities(FILE *out, const struct survey *survey)
{
	unsigned bits = survey->enabled;
	const char *why = "PFC is on for these";
	if (!bits) {
		bits = survey->paused;
		why = "pause frames of these were counted";
	}
	if (!bits) {
		bits = 1u << 3;
		why = "usual; the switches did not tell: compare with their PFC configuration";
	}
	fputs("lossless: { priorities: [", out);
	for (unsigned priority = 0, n = 0; priority < 8; priority++)
		if (bits & 1u << priority)
			fprintf(out, "%s%u", str_if(n++ > 0, ", "), priority);
	fprintf(out, "] }  # %s\n", why);
}

/* Links are between the names of the survey; they are written with those of the configuration. */
static void survey_print_links(
	FILE *out, const struct survey *survey, const struct survey_place *places)
{
	struct topology_link *links =
		arena_array(survey->arena, struct topology_link, survey->n_links + 1);
	for (size_t i = 0; i < survey->n_links; i++) {
		const struct survey_place *place;
		links[i] = survey->links[i];
		place = survey_place_named(survey, places, links[i].a_device);
		if (place)
			links[i].a_device = place->name;
		place = NULL;
		if (links[i].b_device)
			place = survey_place_named(survey, places, links[i].b_device);
		if (place)
			links[i].b_device = place->name;
	}
	topology_print(out, links, survey->n_links);
}

void survey_print(FILE *out, const struct survey *survey, const struct survey_hosts *hosts,
	const char *extra, bool links)
{
	struct survey_place *places =
		arena_array(survey->arena, struct survey_place, survey->n + 1);
	survey_roles(survey, places);
	survey_names(survey, places);
	rw_cleanup(str_done) struct str credentials = {0};
	if (hosts)
		survey_add_credentials(&credentials, hosts);
	fprintf(out, "fabric: fabric1  # any name; it stands on every page\n%sdevices:\n",
		str_or(credentials.s, ""));
	for (size_t i = 0; i < survey->n; i++)
		survey_print_device(out, survey, &places[i], i, hosts);
	survey_print_priorities(out, survey);
	fputs(extra, out);
	if (links)
		survey_print_links(out, survey, places);
	else
		fprintf(out, "links: discover  # %zu are known by LLDP now\n", survey->n_links);
}
