/* incident - names of states, and the order in which incidents are shown. */
#include "agent/incident/incident.h"

#include "agent/document/quantity.h"
#include "config/config.h"

static const char *const state_names[] = {
	[INCIDENT_PENDING] = "pending",
	[INCIDENT_OPEN] = "open",
	[INCIDENT_CLEARING] = "clearing",
	[INCIDENT_CLOSED] = "closed",
};

const char *incident_state_name(enum incident_state state)
{
	if ((size_t)state < rw_countof(state_names))
		return state_names[state];
	return "unknown";
}

/* The larger first; an unknown number (NAN) comes after every known one. */
static int incident_larger_first(double left, double right)
{
	if (isnan(left))
		left = -1;
	if (isnan(right))
		right = -1;
	return (left < right) - (left > right);
}

/* Money per hour weighed by how sure the cause is: a doubtful cause does not stand before a proven
 * one because both share the same loss. NAN unknown. */
static double incident_expected_usd(const struct incident *incident)
{
	if (isnan(incident->confidence_ratio))
		return incident->usd_per_hour;
	return incident->usd_per_hour * incident->confidence_ratio;
}

int incident_compare(const struct incident *left, const struct incident *right)
{
	/* 1. severity, the worst first */
	if (left->severity != right->severity)
		return (left->severity < right->severity) ? 1 : -1;
	/* 2. money per hour times confidence, the dearest first */
	int order =
		incident_larger_first(incident_expected_usd(left), incident_expected_usd(right));
	if (order != 0)
		return order;
	/* 3. confidence, the surest first */
	order = incident_larger_first(left->confidence_ratio, right->confidence_ratio);
	if (order != 0)
		return order;
	/* 4. the oldest first */
	if (left->opened_ns != right->opened_ns)
		return (left->opened_ns < right->opened_ns) ? -1 : 1;
	return strcmp(left->id, right->id);
}

/* incident_action - the words of actions, and the reasons for refusing one. */

static const char *const action_words[] = {
	[ACTION_ACK] = "ack",
	[ACTION_ASSIGN] = "assign",
	[ACTION_NOTE] = "note",
	[ACTION_CLOSE] = "close",
	[ACTION_MERGE] = "merge",
};

int incident_action_parse(const char *word, enum incident_action *ret)
{
	for (size_t k = 0; word && k < rw_countof(action_words); k++) {
		if (str_eq(action_words[k], word)) {
			*ret = (enum incident_action)k;
			return 0;
		}
	}
	return -EINVAL;
}

const char *incident_action_error(int error)
{
	switch (-error) {
	case ENOENT: return "there is no such incident";
	case EALREADY: return "it is closed already";
	case EINVAL: return "expected a text, or another incident to merge into";
	}
	return strerror(-error);
}

/* subject - a few rules over the fabric. */

#define JOB_PREFIX "job:" /* the group of an incident about a job is "job:NAME" */
#define ANY_JOB "*" /* where no job is known */

static bool subject_about_job(const struct incident *incident)
{
	return incident->group && strncmp(incident->group, JOB_PREFIX, strlen(JOB_PREFIX)) == 0;
}

/* An analyzer names the host that is linked to the port: another one, and the subject is another.
 */
static bool subject_host_moved(const struct fabric_device *device, const struct incident *incident)
{
	if (!incident->port || !incident->host)
		return false;
	const struct fabric_port *port = fabric_port(device, incident->port);
	if (!port || str_eq(port->host, incident->host))
		return false;
	return port->host || port->peer || port->outsider;
}

/* What is behind a port is named once it is declared, and a switch is spoken of by itself. */
static bool subject_declared_now(
	const struct fabric_device *device, const struct incident *incident)
{
	if (!incident->port || incident->host || !cause_has(incident->cause, CAUSE_IS_BEHIND))
		return false;
	const struct fabric_port *port = fabric_port(device, incident->port);
	return port && (port->host || port->peer);
}

static bool subject_group_gone(const struct fabric_device *device, const struct incident *incident)
{
	if (!incident->group || subject_about_job(incident) || device->n_groups == 0)
		return false;
	return !fabric_group(device, incident->group);
}

const char *subject_gone(const struct fabric *fabric, const struct incident *incident)
{
	if (!incident->device)
		return NULL;
	const struct fabric_device *device = fabric_device(fabric, incident->device);
	if (!device)
		return "its device is no longer configured";
	if (subject_host_moved(device, incident))
		return "its host is no longer linked to this port: renamed, or linked elsewhere";
	if (subject_declared_now(device, incident))
		return "its port is declared as a link now: who is behind it is known";
	if (subject_group_gone(device, incident))
		return "its group of links is no longer in the topology";
	return NULL;
}

const char *subject_job_gone(const struct fabric *fabric, const struct incident *incident)
{
	if (!subject_about_job(incident))
		return NULL;
	const char *name = incident->group + strlen(JOB_PREFIX);
	if (strcmp(name, ANY_JOB) == 0)
		return NULL;
	for (size_t k = 0; k < fabric->n_jobs; k++)
		if (str_eq(fabric->jobs[k].name, name))
			return NULL;
	return "its job is no longer known";
}

/* incident_headline - fills the headline of a cause with the values of an incident. */

/* ---- values -------------------------------------------------------------- */

static const struct evidence *headline_evidence(const struct incident *incident, const char *metric)
{
	for (size_t k = 0; k < incident->n_evidence; k++)
		if (str_eq(incident->evidence[k].metric, metric))
			return &incident->evidence[k];
	return NULL;
}

static bool headline_add_text(struct str *out, const char *text)
{
	if (!text || !*text)
		return false;
	str_add(out, text);
	return true;
}

/* "8 switches" of "8 switches: ...": how a finding about several devices begins. */
static bool add_several(struct str *out, const struct incident *incident)
{
	static const char *const words[] = {" switches:", " groups:"};
	const char *summary = str_or(incident->summary, "");
	const size_t digits = strspn(summary, "0123456789");
	for (size_t k = 0; digits > 0 && k < rw_countof(words); k++) {
		if (strncmp(summary + digits, words[k], strlen(words[k])) != 0)
			continue;
		str_addn(out, summary, digits + strlen(words[k]) - 1);
		return true;
	}
	return false;
}

static bool headline_device(struct str *out, const struct incident *incident)
{
	if (!incident->group && add_several(out, incident))
		return true;
	if (headline_add_text(out, incident->device) || add_several(out, incident))
		return true;
	str_add(out, "the fabric");
	return true;
}

static bool headline_host(struct str *out, const struct incident *incident)
{
	return headline_add_text(out, incident->host);
}

static bool headline_group(struct str *out, const struct incident *incident)
{
	return headline_add_text(out, incident->group);
}

static bool add_port(struct str *out, const struct incident *incident, const char *port)
{
	if (!incident->device || !port || !*port)
		return false;
	str_addf(out, "%s:%s", incident->device, port);
	return true;
}

static bool headline_port(struct str *out, const struct incident *incident)
{
	return add_port(out, incident, incident->port);
}

static bool headline_member(struct str *out, const struct incident *incident)
{
	return add_port(out, incident, str_or(incident->member, incident->port));
}

static bool headline_place(struct str *out, const struct incident *incident)
{
	if (headline_port(out, incident))
		return true;
	if (!incident->device && incident->group && !add_several(out, incident))
		return headline_group(out, incident);
	if (incident->device || !incident->group)
		return headline_device(out, incident);
	return true;
}

static bool headline_job(struct str *out, const struct incident *incident)
{
	static const char prefix[] = "job:";
	const char *group = str_or(incident->group, "");
	if (strncmp(group, prefix, strlen(prefix)) != 0)
		return false;
	return headline_add_text(out, group + strlen(prefix));
}

/* Share of the window that the switch measured; NAN when it did not. */
static double measured_share(const struct incident *incident, const char *way)
{
	char name[32];
	snprintf(name, sizeof(name), "pfc.%s_pause_ratio", way);
	const struct evidence *e = headline_evidence(incident, name);
	if (e)
		return e->value;
	snprintf(name, sizeof(name), "pfc.%s_pause_ns", way);
	e = headline_evidence(incident, name);
	if (!e || e->to_ns <= e->from_ns)
		return NAN;
	return fmin(e->value / (double)(e->to_ns - e->from_ns), 1);
}

/* A measured share, or the upper bound that frames give. */
static bool add_pause(struct str *out, const struct incident *incident, const char *way)
{
	char name[32];
	double share = measured_share(incident, way);
	if (isnan(share)) {
		snprintf(name, sizeof(name), "pfc.%s_pause_ratio_hi", way);
		const struct evidence *e = headline_evidence(incident, name);
		if (!e)
			return false;
		share = e->value;
		str_add(out, "at most ");
	}
	str_add_quantity(out, share, "ratio");
	return true;
}

static bool headline_rx_pause(struct str *out, const struct incident *incident)
{
	return add_pause(out, incident, "rx");
}

static bool headline_tx_pause(struct str *out, const struct incident *incident)
{
	return add_pause(out, incident, "tx");
}

static bool headline_fair_share(struct str *out, const struct incident *incident)
{
	const struct evidence *share = headline_evidence(incident, "ecmp.share_ratio");
	const struct evidence *e = headline_evidence(incident, "ecmp.imbalance_ratio");
	if (!share && !e)
		return false;
	str_addf(out, "%.1f", share ? share->value : 1 + e->value);
	return true;
}

/* The sentence of the finding up to the first semicolon. */
static bool headline_summary(struct str *out, const struct incident *incident)
{
	const char *summary = str_or(incident->summary, cause_name(incident->cause));
	if (!summary)
		return false;
	const char *end = strstr(summary, "; ");
	if (end)
		str_addn(out, summary, (size_t)(end - summary));
	else
		str_add(out, summary);
	return true;
}

static const struct headline_value {
	const char *name;
	bool (*add)(struct str *out, const struct incident *incident);
} values[] = {
	{"device", headline_device},
	{"host", headline_host},
	{"group", headline_group},
	{"port", headline_port},
	{"member", headline_member},
	{"place", headline_place},
	{"job", headline_job},
	{"rx_pause", headline_rx_pause},
	{"tx_pause", headline_tx_pause},
	{"fair_share", headline_fair_share},
	{"summary", headline_summary},
};

/* False when the value is not known. */
static bool headline_add_value(struct str *out, const struct incident *incident, const char *name)
{
	for (size_t k = 0; k < rw_countof(values); k++)
		if (str_eq(values[k].name, name))
			return values[k].add(out, incident);
	const struct evidence *e = headline_evidence(incident, name);
	if (!e)
		return false;
	str_add_quantity(out, e->value, e->unit);
	return true;
}

/* ---- templates ----------------------------------------------------------- */

/* The text between @from and @end, with its values. False when one is not known. */
static bool headline_fill(
	struct str *out, const struct incident *incident, const char *from, const char *end)
{
	while (from < end) {
		const char *close = NULL;
		if (*from == '{')
			close = memchr(from, '}', (size_t)(end - from));
		if (!close) {
			str_addn(out, from++, 1);
			continue;
		}
		rw_cleanup(freep) char *name = strndup(from + 1, (size_t)(close - from - 1));
		if (!headline_add_value(out, incident, name))
			return false;
		from = close + 1;
	}
	return true;
}

/* One alternative of a template; its parts in brackets only with @options. */
static bool headline_render(struct str *out, const struct incident *incident, const char *from,
	const char *end, bool options)
{
	while (from < end) {
		const char *open = memchr(from, '[', (size_t)(end - from));
		if (!open)
			return headline_fill(out, incident, from, end);
		if (!headline_fill(out, incident, from, open))
			return false;
		const char *close = memchr(open, ']', (size_t)(end - open));
		rw_cleanup(str_done) struct str part = {0};
		str_add(&part, "");
		if (options && headline_fill(&part, incident, open + 1, close))
			str_add(out, part.s);
		from = close + 1;
	}
	return true;
}

/* Cut behind a word, with three dots. */
static void headline_cut(struct str *line)
{
	if (line->n <= INCIDENT_HEADLINE_MAX)
		return;
	size_t n = INCIDENT_HEADLINE_MAX - 3;
	while (n > 0 && line->s[n] != ' ')
		n--;
	if (n == 0)
		n = INCIDENT_HEADLINE_MAX - 3;
	while (n > 0 && strchr(" ,;:(", line->s[n - 1]))
		n--;
	line->n = n;
	str_add(line, "...");
}

/* The first alternative whose values are known, complete or without its options. */
static bool headline_choose(struct str *out, const struct incident *incident, const char *headline)
{
	while (*headline) {
		const char *end = headline + strcspn(headline, "|");
		for (int options = 1; options >= 0; options--) {
			rw_cleanup(str_done) struct str line = {0};
			const bool known = headline_render(&line, incident, headline, end, options);
			if (!known || (options && line.n > INCIDENT_HEADLINE_MAX))
				continue;
			str_add(out, line.s);
			return true;
		}
		headline = end + (*end == '|');
	}
	return false;
}

/* "4 groups: " before the line, where it names only one of several groups. */
static void headline_add_family(struct str *line, const struct incident *incident)
{
	rw_cleanup(str_done) struct str several = {0};
	if (!incident->group || !add_several(&several, incident) || strstr(line->s, several.s))
		return;
	str_addf(&several, ": %s", line->s);
	line->n = 0;
	str_add(line, several.s);
}

char *incident_headline(const struct incident *incident)
{
	struct str line = {0};
	const char *headline = str_or(cause_info(incident->cause)->headline, "{summary}");
	str_add(&line, "");
	if (!headline_choose(&line, incident, headline) && !headline_summary(&line, incident))
		str_add(&line, "unknown cause");
	headline_add_family(&line, incident);
	headline_cut(&line);
	return line.s;
}

/* runbook_link - a runbook's address on the site's wiki, on the web page, or as a command. */

#define CAUSE_MARK "{cause}"

void runbook_link_add(struct str *out, const char *pattern, const char *web_url, const char *cause)
{
	if (pattern) {
		const char *mark;
		while ((mark = strstr(pattern, CAUSE_MARK))) {
			str_addf(out, "%.*s%s", (int)(mark - pattern), pattern, cause);
			pattern = mark + strlen(CAUSE_MARK);
		}
		str_add(out, pattern);
		return;
	}
	if (!web_url) {
		str_addf(out, "rocewatch runbook %s", cause);
		return;
	}
	size_t n = strlen(web_url);
	while (n > 0 && web_url[n - 1] == '/')
		n--;
	str_addf(out, "%.*s/runbooks/%s", (int)n, web_url, cause);
}

char *runbook_link_of(const struct config *config, const char *cause)
{
	struct str out = {0};
	const char *pattern = NULL, *web_url = NULL;
	if (config) {
		pattern = config->alerts.runbook_url;
		web_url = config->alerts.web_url;
	}
	runbook_link_add(&out, pattern, web_url, cause);
	return out.s;
}
