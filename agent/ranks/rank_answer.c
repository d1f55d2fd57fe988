/* rank_answer - rows of findings: each host, or rank, with its kind and operation once. */
#include "agent/ranks/rank_answer.h"

#include "agent/client/client.h"
#include "agent/jobs/job_file.h"
#include "config/config.h"
#include "config/fabric.h"
#include "agent/ranks/rank_place.h"

enum { RANK_ROWS_MAX = 200 };

struct rank_group { /* the findings of one row */
	const struct late_finding *worst;
	double total_s, from_s, to_s;
	uint64_t times;
};

struct rank_make {
	struct collective_set *set;
	const struct rank_ask *ask;
	struct late_answer late;
	struct rank_group *groups;
	size_t n, cap;
};

/* ---- hosts by the scheduler's file --------------------------------------------------- */

static uint64_t rank_world(const struct collective_set *set)
{
	uint64_t most = 0;
	for (size_t i = 0; i < set->n_ranks; i++)
		if (!*set->ranks[i].domain && set->ranks[i].rank >= most)
			most = set->ranks[i].rank + 1;
	for (size_t i = 0; i < set->n_comms; i++)
		if (set->comms[i].size > most)
			most = set->comms[i].size;
	return most;
}

static const struct job_run *rank_job(
	const struct job_runs *runs, const struct rank_ask *ask, uint64_t world, size_t *ret_fits)
{
	const struct job_run *found = NULL;
	*ret_fits = 0;
	for (size_t i = 0; i < runs->n; i++) {
		const struct job_run *run = runs->v[i];
		const bool named = ask->job ? str_eq(run->name, ask->job) : run->gpus == world;
		if (!named)
			continue;
		found = run;
		(*ret_fits)++;
	}
	return found;
}

/* Ranks in blocks, host after host, as Slurm, torchrun and MPI lay them out by default. */
static int rank_hosts_of_job(struct rank_make *make, struct err *e)
{
	struct collective_set *set = make->set;
	struct job_runs runs;
	size_t fits = 0;
	const uint64_t world = rank_world(set);
	job_runs_init(&runs, set->a);
	int rc = job_file_load(&runs, make->ask->job_file, JOB_AUTO, e);
	const struct job_run *run = NULL;
	if (rc == 0)
		run = rank_job(&runs, make->ask, world, &fits);
	job_runs_done(&runs);
	if (rc < 0)
		return rc;
	if (!run || fits > 1)
		return err_set(e, -EINVAL,
			"%s: %zu running jobs are meant, of %" PRIu64 " ranks; name one with --job",
			make->ask->job_file, fits, world);
	if (run->n_hosts == 0 || world % run->n_hosts != 0)
		return err_set(e, -EINVAL,
			"%s: job %s has %zu hosts, which %" PRIu64 " ranks do not fill evenly",
			make->ask->job_file, run->name, run->n_hosts, world);
	for (size_t i = 0; i < set->n_ranks; i++) {
		struct collective_rank *rank = &set->ranks[i];
		const char *host = run->hosts[rank->rank / (world / run->n_hosts) % run->n_hosts];
		if (*rank->domain || !collective_is_address(rank->host))
			continue;
		rank->host = host;
		rank->host_by = "job file, hosts in its order";
	}
	return 0;
}

/* ---- groups --------------------------------------------------------------------------- */

static const char *rank_op(const struct rank_make *make, const struct late_finding *finding)
{
	if (finding->collective == SIZE_MAX)
		return make->set->behind[finding->behind].op;
	return make->set->v[finding->collective].op;
}

static bool rank_same(const struct rank_make *make, const struct late_finding *one,
	const struct late_finding *two)
{
	const struct collective_rank *left = &make->set->ranks[one->who[0]];
	const struct collective_rank *right = &make->set->ranks[two->who[0]];
	if (one->kind != two->kind || !str_eq(rank_op(make, one), rank_op(make, two)))
		return false;
	if (one->who[0] == two->who[0] && one->n_who == two->n_who)
		return true;
	return one->n_who > 1 && two->n_who > 1 && *left->host &&
		collective_same_host(left->host, right->host);
}

static void rank_collect(struct rank_make *make, const struct late_finding *finding)
{
	struct rank_group *group = NULL;
	for (size_t i = 0; i < make->n && !group; i++)
		if (rank_same(make, make->groups[i].worst, finding))
			group = &make->groups[i];
	if (!group && make->n >= RANK_ROWS_MAX)
		return;
	if (!group) {
		arena_grow(make->set->a, make->groups, make->n, make->cap);
		group = &make->groups[make->n++];
		*group = (struct rank_group){
			.worst = finding, .total_s = NAN, .from_s = NAN, .to_s = NAN};
	}
	if (finding->seconds > group->worst->seconds)
		group->worst = finding;
	if (!isnan(finding->seconds))
		group->total_s = finding->seconds + (isnan(group->total_s) ? 0 : group->total_s);
	group->from_s = fmin(group->from_s, finding->from_s);
	group->to_s = fmax(group->to_s, finding->to_s);
	group->times++;
}

static int rank_by_loss(const void *left, const void *right)
{
	const struct rank_group *one = left, *other = right;
	const double a = isnan(one->total_s) ? INFINITY : one->total_s;
	const double b = isnan(other->total_s) ? INFINITY : other->total_s;
	if (a != b)
		return (a < b) - (a > b);
	return (one->worst->who[0] > other->worst->who[0]) -
		(one->worst->who[0] < other->worst->who[0]);
}

/* ---- a row ----------------------------------------------------------------------------- */

/* "8-15", "3, 7"; the ranks of a part of the job with its name. */
static const char *rank_list(const struct rank_make *make, const struct late_finding *finding)
{
	const struct collective_rank *ranks = make->set->ranks;
	rw_cleanup(str_done) struct str text = {0};
	uint64_t *numbers = arena_array(make->set->a, uint64_t, finding->n_who);
	size_t n = 0;
	for (size_t i = 0; i < finding->n_who; i++) {
		size_t at = n++;
		for (; at > 0 && numbers[at - 1] > ranks[finding->who[i]].rank; at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = ranks[finding->who[i]].rank;
	}
	for (size_t i = 0; i < n;) {
		size_t end = i;
		while (end + 1 < n && numbers[end + 1] == numbers[end] + 1)
			end++;
		str_addf(&text, "%s%" PRIu64, str_if(i > 0, ", "), numbers[i]);
		if (end > i)
			str_addf(&text, "-%" PRIu64, numbers[end]);
		i = end + 1;
	}
	if (*ranks[finding->who[0]].domain)
		str_addf(&text, " of %s", ranks[finding->who[0]].domain);
	return arena_strdup(make->set->a, text.s);
}

/* How many ranks of the job are on the host of @who, and which of them it is. */
static size_t rank_here(const struct collective_set *set, uint32_t who, size_t *ret_at)
{
	const struct collective_rank *own = &set->ranks[who];
	size_t here = 0;
	*ret_at = 0;
	for (size_t i = 0; i < set->n_ranks; i++) {
		const struct collective_rank *rank = &set->ranks[i];
		if (!str_eq(rank->domain, own->domain) || !*own->host ||
			!collective_same_host(rank->host, own->host))
			continue;
		here++;
		*ret_at += rank->rank < own->rank;
	}
	return here;
}

static wall_t rank_time(const struct collective_set *set, double at_s)
{
	if (isnan(at_s) || set->base_ns == 0)
		return TIME_UNKNOWN;
	return (wall_t){set->base_ns + (int64_t)(at_s * (double)NS_PER_S)};
}

static void rank_say_late(struct str *text, const struct rank_row *row)
{
	const char *late[LATE_KINDS] = {[LATE_BEGAN] = "late",
		[LATE_ENDED] = "after all others at its end",
		[LATE_LONGEST] = "longer than all others: began first or ended last"};
	if (row->kind == LATE_ABSENT)
		str_add(text, "not begun, and others wait in it");
	else if (row->kind == LATE_BEHIND)
		str_add(text,
			"behind the others when RAS was asked: ask again, a job that runs "
			"has one behind at any moment");
	else
		str_addf(text, "%.3g ms %s", row->late_s * 1e3, late[row->kind]);
}

/* "rank 377 on node-047, AllReduce 640, 28 ms late: ..." */
static const char *rank_sentence(
	struct arena *a, const struct rank_row *row, size_t n_who, const char *headline)
{
	rw_cleanup(str_done) struct str text = {0};
	str_addf(&text, "rank%s %s on %s, %s", str_if(n_who > 1, "s"), row->ranks,
		str_or(row->host, "a host that nobody names"), row->op);
	if (row->sequence != COUNT_UNKNOWN)
		str_addf(&text, " %" PRIu64, row->sequence);
	str_add(&text, ", ");
	rank_say_late(&text, row);
	if (str_eq(row->network, "named"))
		str_addf(&text, ": %s (incident %s)", headline, row->incidents[0]);
	else if (str_eq(row->network, "path"))
		str_addf(&text,
			": nothing names its own port; on its way or of its job: %s "
			"(incident %s)",
			headline, row->incidents[0]);
	else if (str_eq(row->network, "innocent"))
		str_add(&text, ": the network was innocent");
	else
		str_add(&text, ": what the network did is not known");
	return arena_strdup(a, text.s);
}

static uint64_t rank_judged(const struct rank_make *make, const char *op)
{
	uint64_t n = 0;
	for (size_t i = 0; i < make->set->n; i++)
		n += make->set->v[i].n > 1 && str_eq(make->set->v[i].op, op);
	return n;
}

static void rank_fill(struct rank_make *make, const struct rank_group *group, struct rank_row *row)
{
	struct collective_set *set = make->set;
	const struct late_finding *worst = group->worst;
	const struct collective_rank *rank = &set->ranks[worst->who[0]];
	struct client *client = make->ask->client;
	const char *headline = "";
	size_t at, n;
	*row = (struct rank_row){.kind = worst->kind,
		.rank = rank->rank,
		.ranks = rank_list(make, worst),
		.op = rank_op(make, worst),
		.sequence = COUNT_UNKNOWN,
		.octets = NAN,
		.late_s = worst->seconds,
		.total_s = group->total_s,
		.times = group->times,
		.by = "durations",
		.from = rank_time(set, group->from_s),
		.to = rank_time(set, group->to_s),
		.network = "unknown"};
	row->of = rank_judged(make, row->op);
	if (worst->by_order)
		row->by = "order";
	if (*rank->host)
		row->host_by = rank->host_by;
	if (worst->collective != SIZE_MAX) {
		const struct collective *k = &set->v[worst->collective];
		row->sequence = k->sequence;
		row->octets = k->octets;
		row->comm = set->comms[k->comm].name;
	} else {
		row->sequence = set->behind[worst->behind].begun + 1;
		row->comm = set->comms[set->behind[worst->behind].comm].name;
	}
	const size_t here = rank_here(set, worst->who[0], &at);
	const struct fabric_port **ports =
		rank_place(client, set->a, row, rank->host, rank->gpu, here, at, &n);
	if (worst->n_who > 1 && n > 1) /* several NICs of the host */
		row->port = row->nic = row->port_by = NULL;
	if (!client)
		row->looked = arena_printf(set->a, "nothing: %s", make->ask->client_why);
	else if (n == 0)
		row->looked = "nothing: the fabric does not know where it is";
	else
		rank_network(client, set->a, row, ports, n, &headline);
	row->text = rank_sentence(set->a, row, worst->n_who, headline);
}

/* ---- all ---------------------------------------------------------------------------------- */

static void rank_notes(const struct rank_make *make)
{
	struct collective_set *set = make->set;
	size_t nowhere = 0;
	for (size_t i = 0; i < set->n_ranks; i++)
		nowhere += !*set->ranks[i].domain && !*set->ranks[i].host;
	if (nowhere)
		collective_note(set,
			"no source says on which host %zu of the ranks are: give --job-file, or "
			"RAS "
			"or inspector logs beside",
			nowhere);
	if (!make->late.clocks_fit)
		collective_note(set,
			"a clock was set while the collectives ran, or a source's "
			"times are wrong: order was not used");
	if (make->late.incomplete)
		collective_note(set,
			"of %zu collectives not all ranks told: one that did not may "
			"have been later",
			make->late.incomplete);
	if (make->n >= RANK_ROWS_MAX)
		collective_note(set, "only the first %d rows are shown", RANK_ROWS_MAX);
}

static uint64_t rank_hosts(const struct collective_set *set)
{
	struct smap *hosts = smap_new();
	for (size_t i = 0; i < set->n_ranks; i++) {
		const struct collective_rank *rank = &set->ranks[i];
		if (*rank->host && !*rank->domain)
			smap_put(hosts, rank->host, strlen(rank->host), 0);
	}
	const uint64_t n = smap_count(hosts);
	smap_free(hosts);
	return n;
}

/* The only job of the fabric that runs on all hosts that are told of. */
static const char *rank_job_name(const struct collective_set *set, const struct rank_ask *ask)
{
	const struct fabric_job *found = NULL;
	const struct fabric *fabric = ask->client ? ask->client->config->fabric : NULL;
	for (size_t k = 0; fabric && k < fabric->n_jobs; k++) {
		size_t hosts = 0;
		for (size_t i = 0; i < set->n_ranks && hosts == i; i++) {
			const char *host = set->ranks[i].host;
			const size_t n = strcspn(host, collective_is_address(host) ? "" : ".");
			hosts += fabric_job_has(&fabric->jobs[k], arena_strndup(set->a, host, n));
		}
		if (hosts < set->n_ranks || set->n_ranks == 0)
			continue;
		if (found)
			return NULL;
		found = &fabric->jobs[k];
	}
	return found ? found->name : NULL;
}

int rank_answer_make(struct collective_set *set, const struct rank_ask *ask,
	struct rank_answer *ret, struct err *e)
{
	struct rank_make make = {.set = set, .ask = ask};
	collective_finish(set);
	const int rc = ask->job_file ? rank_hosts_of_job(&make, e) : 0;
	if (rc < 0)
		return rc;
	late_ranks(set, &make.late);
	for (size_t i = 0; i < make.late.n; i++)
		rank_collect(&make, &make.late.v[i]);
	if (make.n > 1)
		qsort(make.groups, make.n, sizeof(*make.groups), rank_by_loss);
	rank_notes(&make);
	const struct late_step step = late_step_find(set);
	uint64_t ranks = 0;
	for (size_t i = 0; i < set->n_ranks; i++)
		ranks += !*set->ranks[i].domain;
	*ret = (struct rank_answer){.ranks = ranks,
		.hosts = rank_hosts(set),
		.collectives = set->n,
		.judged = make.late.judged,
		.undecided = make.late.undecided,
		.skipped = make.late.skipped,
		.incomplete = make.late.incomplete,
		.offset_s = make.late.offset_s,
		.job = rank_job_name(set, ask),
		.step_s = step.step_s,
		.exchange_s = step.exchange_s,
		.waiting_s = step.waiting_s,
		.to = rank_time(set, step.to_s),
		.rows = arena_array(set->a, struct rank_row, make.n + 1),
		.n_rows = make.n,
		.notes = set->notes,
		.n_notes = set->n_notes};
	for (size_t i = 0; i < make.n; i++)
		rank_fill(&make, &make.groups[i], &ret->rows[i]);
	ret->verdict = arena_printf(set->a,
		"%zu collectives of %" PRIu64
		" ranks: %zu decided, %zu undecided, %zu say nothing; "
		"%s",
		set->n, ranks, make.late.judged, make.late.undecided, make.late.skipped,
		make.n ? "these were waited for:" : "nobody was waited for");
	return 0;
}
