/* incident_commands - fills the commands of a cause with the subject of an incident. */
#include "agent/answers/incident/incident_commands.h"

#include <string.h>

#include "agent/answers/incident/incident_read.h"
#include "base/cleanup.h"
#include "base/text_clean.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "config/config.h"
#include "config/profile/nic.h"
#include "config/profile/profile.h"
#include "db/model/cause.h"
#include "db/series/history.h"

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
