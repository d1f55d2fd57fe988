/* incident_record - what the ledger does to one incident: a description from a finding, its impact,
 * lines of its timeline. Nothing here knows the form in which an incident is stored or shown. */
#include "agent/incident/incident_record.h"

#include "db/model/cause.h"
#include "db/model/entity.h"

#define TIMELINE_FIRST 16 /* lines of the beginning that are never dropped */
#define TIMELINE_MAX 128
#define ALSO_MAX 32
#define JOB_PREFIX "job:" /* the group of an incident about a job is "job:NAME" */

void incident_record_set(const char **field, const char *value)
{
	char *copy = NULL;
	if (value)
		copy = rw_strdup(value);
	free((char *)*field);
	*field = copy;
}

struct incident_record *incident_record_blank(void)
{
	struct incident_record *r = rw_calloc(1, sizeof(*r));
	r->i.priority = PRIO_NONE;
	r->i.usd_per_hour = r->i.usd_total = NAN;
	r->i.confidence_ratio = r->i.explained_ratio = r->i.coverage_ratio = NAN;
	r->i.value = r->i.warn = NAN;
	r->strength = -INFINITY;
	r->hold = 1;
	r->cost = cost_new();
	r->said = arena_new();
	r->impact = arena_new();
	r->kept = arena_new();
	return r;
}

struct incident_record *incident_record_new(const struct finding *finding)
{
	struct incident_record *r = incident_record_blank();
	incident_record_set(&r->i.analyzer, finding->analyzer);
	r->i.cause = finding->cause;
	incident_record_set(&r->i.device, finding->device);
	incident_record_set(&r->i.port, finding->port);
	incident_record_set(&r->i.host, finding->host);
	incident_record_set(&r->i.group, finding->group);
	r->i.priority = finding->priority;
	return r;
}

void incident_record_free(struct incident_record *record)
{
	if (!record)
		return;
	struct incident *i = &record->i;
	const char **owned[] = {&i->analyzer, &i->device, &i->port, &i->host, &i->group, &i->member,
		&i->summary, &i->acked_by, &i->ack_note, &i->assigned_to, &i->parent, &i->note};
	for (size_t k = 0; k < rw_countof(owned); k++)
		incident_record_set(owned[k], NULL);
	for (size_t k = 0; k < i->n_timeline; k++)
		free((char *)i->timeline[k].text);
	free(i->timeline);
	free(i->changed_before);
	free(i->also);
	free(record->place.explains.v);
	free(record->place.explained.v);
	cost_done(&record->cost);
	weight_done(&record->weight);
	arena_free(record->said);
	arena_free(record->impact);
	arena_free(record->kept);
	free(record);
}

static void hash_part(uint64_t *hash, const char *string)
{
	const char *text = "";
	if (string)
		text = string;
	*hash = hash_bytes(text, strlen(text) + 1,
		*hash); /* with the NUL, so that parts do not run into each other */
}

void incident_record_name(struct incident_record *record, const struct fabric *fabric)
{
	/* RFC 4648 section 6, in lower case */
	static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";
	uint8_t opened[8];
	for (int k = 0; k < 8; k++)
		opened[k] = (uint8_t)((uint64_t)record->i.opened_ns >> (8 * k));
	char priority[16];
	snprintf(priority, sizeof(priority), "%d", record->i.priority);
	uint64_t h = fabric->id;
	hash_part(&h, cause_name(record->i.cause));
	hash_part(&h, record->i.device);
	hash_part(&h, record->i.port);
	hash_part(&h, priority);
	hash_part(&h, record->i.host);
	hash_part(&h, record->i.group);
	h = hash_bytes(opened, sizeof(opened), h);
	for (int k = 0; k < 8; k++)
		record->i.id[k] = base32[(h >> (5 * k)) & 31];
	record->i.id[8] = '\0';
}

/* ---- what it says -------------------------------------------------------- */

static const char *incident_record_copy(struct arena *a, const char *text)
{
	if (!text)
		return NULL;
	return arena_strdup(a, text);
}

static const struct finding_reason *record_copy_reasons(
	struct arena *a, const struct finding_reason *reasons, size_t n)
{
	struct finding_reason *copy = arena_array(a, struct finding_reason, n + 1);
	for (size_t k = 0; k < n; k++)
		copy[k] = (struct finding_reason){
			incident_record_copy(a, reasons[k].text), reasons[k].sign};
	return copy;
}

static const char *const *record_copy_all(struct arena *a, const char *const *texts, size_t n)
{
	const char **copies = arena_array(a, const char *, n);
	for (size_t k = 0; k < n; k++)
		copies[k] = incident_record_copy(a, texts[k]);
	return copies;
}

static const struct finding_flow *record_copy_flows(
	struct arena *a, const struct finding_flow *flows, size_t n)
{
	struct finding_flow *copies = arena_array(a, struct finding_flow, n);
	for (size_t k = 0; k < n; k++) {
		copies[k] = flows[k];
		copies[k].device = incident_record_copy(a, flows[k].device);
		copies[k].port = incident_record_copy(a, flows[k].port);
	}
	return copies;
}

static const struct finding_role *record_copy_roles(
	struct arena *a, const struct finding_role *roles, size_t n)
{
	struct finding_role *copies = arena_array(a, struct finding_role, n);
	for (size_t k = 0; k < n; k++) {
		copies[k].entity = incident_record_copy(a, roles[k].entity);
		copies[k].role = incident_record_copy(a, roles[k].role);
	}
	return copies;
}

static const struct evidence *record_copy_evidence(
	struct arena *a, const struct evidence *evidence, size_t n)
{
	struct evidence *copies = arena_array(a, struct evidence, n);
	for (size_t k = 0; k < n; k++) {
		copies[k] = evidence[k];
		copies[k].metric = incident_record_copy(a, evidence[k].metric);
		copies[k].device = incident_record_copy(a, evidence[k].device);
		copies[k].port = incident_record_copy(a, evidence[k].port);
		copies[k].unit = incident_record_copy(a, evidence[k].unit);
	}
	return copies;
}

static const struct next_step *record_copy_steps(
	struct arena *a, const struct next_step *steps, size_t n)
{
	struct next_step *copies = arena_array(a, struct next_step, n);
	for (size_t k = 0; k < n; k++) {
		copies[k].text = incident_record_copy(a, steps[k].text);
		copies[k].risk = incident_record_copy(a, steps[k].risk);
	}
	return copies;
}

void incident_record_describe(struct incident_record *record, const struct finding *finding)
{
	struct incident *i = &record->i;
	incident_record_set(&i->member, finding->member);
	incident_record_set(&i->summary, finding->summary);
	i->confidence_ratio = finding->confidence_ratio;
	i->coverage_ratio = finding->coverage_ratio;
	i->explained_ratio = finding->explained_ratio;
	i->value = finding->value;
	i->warn = finding->warn;

	struct arena *a = record->said;
	arena_reset(a);
	i->n_flows = finding->n_flows;
	i->flows = record_copy_flows(a, finding->flows, finding->n_flows);
	i->n_roles = finding->n_roles;
	i->roles = record_copy_roles(a, finding->roles, finding->n_roles);
	i->n_evidence = finding->n_evidence;
	i->evidence = record_copy_evidence(a, finding->evidence, finding->n_evidence);
	i->n_next_steps = finding->n_next_steps;
	i->next_steps = record_copy_steps(a, finding->next_steps, finding->n_next_steps);
	i->n_reasons = finding->n_reasons;
	i->reasons = record_copy_reasons(a, finding->reasons, finding->n_reasons);
	i->n_ruled_out = finding->n_ruled_out;
	i->ruled_out = record_copy_all(a, finding->ruled_out, finding->n_ruled_out);
	record->described = true;
}

/* ---- who waits ----------------------------------------------------------- */

/* Does the glob match a host linked to @device (to any device when NULL)? */
static bool job_has_host(const struct fabric *fabric, const struct fabric_job *job,
	const struct fabric_device *device)
{
	for (size_t k = 0; k < fabric->n_devices; k++) {
		if (device && fabric->devices[k] != device)
			continue;
		for (size_t p = 0; p < fabric->devices[k]->n_ports; p++) {
			const char *host = fabric->devices[k]->ports[p]->host;
			if (host && fabric_job_has(job, host))
				return true;
		}
	}
	return false;
}

static bool device_has_hosts(const struct fabric_device *device)
{
	for (size_t p = 0; p < device->n_ports; p++) {
		if (device->ports[p]->host)
			return true;
	}
	return false;
}

static bool host_has_job(const struct fabric *fabric, const char *host)
{
	for (size_t k = 0; k < fabric->n_jobs; k++)
		if (fabric_job_has(&fabric->jobs[k], host))
			return true;
	return false;
}

/*
 * Does the job wait because of the incident? A step ends when its slowest rank is done, so all GPUs
 * of a job wait for one bad path. A job is concerned when one of its hosts is the subject, or is
 * linked to the subject's device; that counts as well for a host of no job, such as storage. Where
 * neither is known (a switch without hosts, such as a spine; a job whose hosts are not among the
 * links) it counts as concerned.
 */
static bool job_concerned(const struct fabric *fabric, const struct fabric_job *job,
	const struct incident_record *record)
{
	if (record->i.group && strncmp(record->i.group, JOB_PREFIX, strlen(JOB_PREFIX)) == 0)
		return str_eq(record->i.group + strlen(JOB_PREFIX), job->name);
	if (record->i.host && host_has_job(fabric, record->i.host))
		return fabric_job_has(job, record->i.host);
	const struct fabric_device *d = NULL;
	if (record->i.device)
		d = fabric_device(fabric, record->i.device);
	if (!d || !device_has_hosts(d) || !job_has_host(fabric, job, NULL))
		return true;
	return job_has_host(fabric, job, d);
}

/* incident_record_concerns - does the job wait because of the subject? @job NULL: none is
 * configured. */
static bool incident_record_concerns(
	const struct incident_record *record, const struct fabric *fabric, const char *job)
{
	for (size_t k = 0; k < fabric->n_jobs; k++)
		if (str_eq(fabric->jobs[k].name, job))
			return job_concerned(fabric, &fabric->jobs[k], record);
	return !job;
}

static void record_jobs(struct incident_record *record, const struct fabric *fabric)
{
	const char **jobs = arena_array(record->impact, const char *, fabric->n_jobs);
	record->i.n_jobs = 0;
	record->i.gpus_affected = 0;
	for (size_t k = 0; k < fabric->n_jobs; k++) {
		const struct fabric_job *job = &fabric->jobs[k];
		if (!job_concerned(fabric, job, record))
			continue;
		record->i.gpus_affected += job->gpus;
		jobs[record->i.n_jobs++] = incident_record_copy(record->impact, job->name);
	}
	record->i.jobs = jobs;
}

void incident_record_impact(struct incident_record *record, const struct fabric *fabric)
{
	arena_reset(record->impact);
	record_jobs(record, fabric);
	/* the cause "unknown" explains nothing where it only says that a job is slower, or that
	 * there is pause; one that names a host says for whom the job waits
	 */
	const bool explains = record->i.cause != CAUSE_UNKNOWN || record->i.host;
	cost_of_cause(&record->cost, record->i.cause);
	const struct cost_sum sum =
		cost_sum(&record->cost, fabric, record->i.gpus_affected, explains);
	record->i.usd_per_hour = sum.usd_per_hour;
	record->i.usd_total = sum.usd_total;
	if (!isnan(sum.explained_ratio))
		record->i.explained_ratio = sum.explained_ratio;
	record->i.n_losses = cost_losses(&record->cost, fabric, record->impact, &record->i.losses);
}

double incident_record_loss(const struct incident_record *record)
{
	double most = 0;
	for (size_t k = 0; k < record->cost.n; k++) {
		const struct cost_job *job = &record->cost.v[k];
		if (job->fell)
			most = fmax(most, (job->loss_ratio - job->error_ratio) * job->share_ratio);
	}
	return most;
}

/* ---- the same on other devices -------------------------------------------- */

static bool record_same_or_none(const char *left, const char *right)
{
	if (!left || !right)
		return left == right;
	return strcmp(left, right) == 0;
}

static bool spread_listed(const struct incident *incident, size_t at)
{
	const struct incident_also *also = &incident->also[at];
	if (also->cause != incident->cause || !also->device ||
		str_eq(also->device, incident->device) ||
		!record_same_or_none(also->group, incident->group))
		return true;
	for (size_t k = 0; k < at; k++)
		if (incident->also[k].cause == incident->cause &&
			record_same_or_none(incident->also[k].group, also->group) &&
			str_eq(incident->also[k].device, also->device))
			return true;
	return false;
}

void incident_record_spread(struct incident_record *record)
{
	static const char *const words[] = {" switches: ", " groups: "};
	static const char many[] = "more than ";
	struct incident *i = &record->i;
	size_t n = 1;
	for (size_t k = 0; k < i->n_also; k++)
		n += !spread_listed(i, k);
	if (!i->device || !i->summary || n < 2)
		return;
	const char *own = i->summary;
	if (strncmp(own, many, strlen(many)) == 0)
		own += strlen(many);
	for (size_t k = 0; k < rw_countof(words); k++) {
		const size_t digits = strspn(own, "0123456789");
		if (digits > 0 && strncmp(own + digits, words[k], strlen(words[k])) == 0)
			own += digits + strlen(words[k]);
	}
	rw_cleanup(str_done) struct str text = {0};
	if (i->n_also >= ALSO_MAX && !i->group) { /* the list is full */
		str_add(&text, many);
		n--;
	}
	str_addf(&text, "%zu%s%s", n, words[i->group != NULL], own);
	incident_record_set(&i->summary, text.s);
}

/* ---- what happened ------------------------------------------------------- */

void incident_record_line(struct incident_record *record, int64_t t_ns, const char *text)
{
	struct incident *i = &record->i;
	rw_grow(i->timeline, i->n_timeline, record->cap_timeline);
	i->timeline[i->n_timeline++] = (struct incident_line){t_ns, rw_strdup(text)};
	if (i->n_timeline <= TIMELINE_MAX)
		return;
	struct incident_line *dropped = &i->timeline[TIMELINE_FIRST];
	free((char *)dropped->text);
	i->n_timeline--;
	memmove(dropped, dropped + 1, (i->n_timeline - TIMELINE_FIRST) * sizeof(*dropped));
}

void incident_record_note(struct incident_record *record, int64_t t_ns, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	incident_record_set(&record->i.note, text);
	record->i.note_ns = t_ns;
	incident_record_line(record, t_ns, text);
}

static bool record_lists(const struct incident *incident, const struct incident_also *other)
{
	for (size_t k = 0; k < incident->n_also; k++) {
		const struct incident_also *known = &incident->also[k];
		if (known->cause == other->cause &&
			record_same_or_none(known->device, other->device) &&
			record_same_or_none(known->port, other->port) &&
			record_same_or_none(known->host, other->host) &&
			record_same_or_none(known->group, other->group))
			return true;
	}
	return false;
}

bool incident_record_also(struct incident_record *record, const struct incident_also *other)
{
	struct incident *i = &record->i;
	if (record_lists(i, other) || i->n_also >= ALSO_MAX)
		return false;
	rw_grow(i->also, i->n_also, record->cap_also);
	i->also[i->n_also++] = (struct incident_also){
		.cause = other->cause,
		.device = incident_record_copy(record->kept, other->device),
		.port = incident_record_copy(record->kept, other->port),
		.host = incident_record_copy(record->kept, other->host),
		.group = incident_record_copy(record->kept, other->group),
		.summary = incident_record_copy(record->kept, other->summary),
	};
	return true;
}

void incident_record_changed(struct incident_record *record, const char *text)
{
	struct incident *i = &record->i;
	rw_grow(i->changed_before, i->n_changed_before, record->cap_changed_before);
	i->changed_before[i->n_changed_before++] = incident_record_copy(record->kept, text);
}

/* claims - a job's loss, shared among the incidents that may slow it (incident_record.h). */

/* An incident that may slow a job: the job's loss is shared among these. */
struct claimant {
	struct incident_record *record;
	struct cost_job *job;
};

/* Does it take part of the loss now? */
static bool claims_now(const struct incident_record *record)
{
	const bool seen_lately =
		record->i.state == INCIDENT_PENDING && incident_record_recent(record);
	if (record->i.state != INCIDENT_OPEN && !seen_lately)
		return false;
	if (record->part || record->folded[0] || !cause_has(record->i.cause, CAUSE_MAY_COST))
		return false;
	return record->i.severity > SEV_INFO || record->cost.claim_ratio > 0;
}

/* A symptom says that a job is slow, not why, and names no host. It gets no part of a loss while an
 * incident with a real cause claims the same job. */
static bool claims_symptom(const struct incident_record *record)
{
	return cause_has(record->i.cause, CAUSE_IS_SYMPTOM) && !record->i.host;
}

/* For so many of its windows its sign was not seen, and nothing says that it went: it may not be
 * what slows the job now. */
#define UNSEEN_WINDOWS 3

static bool claimant_is_seen(const struct claimant *claimant)
{
	const double window_s = (double)claimant->record->cost.window_ns / (double)NS_PER_S;
	return !(claimant->job->late_time_s > UNSEEN_WINDOWS * window_s);
}

static bool claimant_counts(const struct claimant *claimant)
{
	return claimant->job->fell && claims_now(claimant->record);
}

/* What those that claim a part of one job's loss have in common. */
struct claims {
	bool real_cause; /* one that is no symptom claims */
	bool opened; /* ... and it is open: what never opens must take nothing from it */
	bool seen; /* ... and its sign is seen now: those that are not seen have no share */
	bool all_have_ratio;
	double sum; /* of the claimed ratios */
	size_t n;
};

/* Is it beside one that counts instead? */
static bool claims_yields(const struct claims *claims, const struct claimant *claimant)
{
	if (claims->real_cause && claims_symptom(claimant->record))
		return true;
	if (claims->seen && !claimant_is_seen(claimant))
		return true;
	return claims->opened && claimant->record->i.state == INCIDENT_PENDING;
}

static bool claimant_shares(const struct claims *claims, const struct claimant *claimant)
{
	return claimant_counts(claimant) && !claims_yields(claims, claimant);
}

static struct claims claims_of(const struct claimant *claimants, size_t n)
{
	struct claims claims = {.all_have_ratio = true};
	for (size_t k = 0; k < n; k++) {
		if (!claimant_counts(&claimants[k]) || claims_symptom(claimants[k].record))
			continue;
		claims.real_cause = true;
		if (claimants[k].record->i.state != INCIDENT_OPEN)
			continue;
		claims.opened = true;
		claims.seen |= claimant_is_seen(&claimants[k]);
	}
	for (size_t k = 0; k < n; k++) {
		if (!claimant_shares(&claims, &claimants[k]))
			continue;
		const double ratio = claimants[k].record->cost.claim_ratio;
		claims.n++;
		if (!(ratio > 0))
			claims.all_have_ratio = false;
		claims.sum += ratio;
	}
	return claims;
}

/* The part of its job's loss, 0 to 1, that belongs to @one. Where throughput did not fall there is
 * nothing to share. */
static double claims_share_of(const struct claims *claims, const struct claimant *one)
{
	/* 1. a symptom beside a real cause, one that is pending beside one that is open, one whose
	 * sign is not seen beside one whose is: nothing */
	if (claims_yields(claims, one))
		return 0;

	/* 2. no claim now: while it clears it keeps the share it had */
	if (!claims_now(one->record)) {
		const bool clearing = one->record->i.state == INCIDENT_CLEARING;
		if (clearing && !isnan(one->job->share_ratio))
			return one->job->share_ratio;
		return 0;
	}

	/* 3. split by the claimed ratios when every claimant has one, else equally */
	size_t others = claims->n;
	if (claimant_shares(claims, one))
		others--;
	if (!one->job->fell || others == 0)
		return 1;
	if (claims->all_have_ratio)
		return one->record->cost.claim_ratio / claims->sum;
	return 1.0 / (double)(others + 1);
}

void claims_count(struct incident_record *const *records, size_t n, const struct fabric *fabric,
	const struct job_rate *rate)
{
	struct claimant *claimants = rw_calloc(n + 1, sizeof(*claimants));
	size_t n_claimants = 0;
	for (size_t k = 0; k < n; k++) {
		struct incident_record *r = records[k];
		if (r->folded[0] || !cause_has(r->i.cause, CAUSE_MAY_COST) ||
			!incident_record_concerns(r, fabric, rate->job))
			continue;
		struct cost_job *job = cost_measure(&r->cost, rate, r->i.first_ns);
		if (job)
			claimants[n_claimants++] = (struct claimant){r, job};
	}
	const struct claims claims = claims_of(claimants, n_claimants);
	for (size_t k = 0; k < n_claimants; k++) {
		const double share = claims_share_of(&claims, &claimants[k]);
		const bool stalled = claimants[k].record->i.severity == SEV_CRITICAL;
		if (share == 0 && claimants[k].job->share_ratio > 0)
			claimants[k].record->yielded = true;
		cost_count(claimants[k].job, rate, share, stalled);
	}
	free(claimants);
}

/* What is left of a job, and what is asked of that. */
struct job_budget {
	double left, asked;
};

/* In which turn its claim is answered; 2: in none, for it is part of another, or not seen. */
static unsigned claims_turn(const struct incident_record *record)
{
	if (record->part || record->folded[0])
		return 2;
	if (record->i.state == INCIDENT_PENDING && !incident_record_recent(record))
		return 2;
	return record->i.state == INCIDENT_PENDING || claims_symptom(record);
}

/* Adds what the record claims of its jobs. Returns the smallest part of that which is left. */
static double claims_ask(struct job_budget *jobs, const struct fabric *fabric,
	const struct incident *incident, double claim)
{
	double part = 1;
	size_t at = 0; /* its jobs stand in the order of the fabric's */
	for (size_t k = 0; k < fabric->n_jobs && at < incident->n_jobs; k++) {
		if (!str_eq(fabric->jobs[k].name, incident->jobs[at]))
			continue;
		at++;
		jobs[k].asked += claim;
		if (jobs[k].asked > jobs[k].left)
			part = fmin(part, jobs[k].left / jobs[k].asked);
	}
	return part;
}

static void claims_take_measured(
	struct job_budget *jobs, const struct fabric *fabric, const struct incident_record *record)
{
	for (size_t j = 0; j < record->cost.n; j++)
		for (size_t k = 0; record->cost.v[j].fell && k < fabric->n_jobs; k++)
			if (str_eq(fabric->jobs[k].name, record->cost.v[j].job))
				jobs[k].left = fmax(0,
					jobs[k].left -
						record->cost.v[j].loss_ratio *
							record->cost.v[j].share_ratio);
}

size_t claims_limit(struct incident_record *const *records, size_t n, const struct fabric *fabric,
	struct incident_record **ret)
{
	struct job_budget *jobs = rw_calloc(fabric->n_jobs + 1, sizeof(*jobs));
	size_t changed = 0;
	for (size_t k = 0; k < fabric->n_jobs; k++)
		jobs[k].left = 1;
	for (size_t k = 0; k < n; k++)
		if (claims_turn(records[k]) < 2)
			claims_take_measured(jobs, fabric, records[k]);
	for (unsigned turn = 0; turn <= 2; turn++) {
		for (size_t k = 0; k < n && turn < 2; k++) {
			const double claim = cost_claims(&records[k]->cost);
			if (claim > 0 && claims_turn(records[k]) == turn)
				claims_ask(jobs, fabric, &records[k]->i, claim);
		}
		for (size_t k = 0; k < n; k++) {
			if (claims_turn(records[k]) != turn)
				continue;
			double part = 1;
			if (turn < 2 && cost_claims(&records[k]->cost) > 0)
				part = claims_ask(jobs, fabric, &records[k]->i, 0);
			if (cost_share_claim(&records[k]->cost, part))
				ret[changed++] = records[k];
		}
		for (size_t k = 0; k < fabric->n_jobs; k++)
			jobs[k] =
				(struct job_budget){.left = fmax(0, jobs[k].left - jobs[k].asked)};
	}
	free(jobs);
	return changed;
}
