/* collective_read - flight recorder, inspector and RAS, each by its own fields, into one set. */
#include "agent/ranks/collective_set.h"

#include <jansson.h>
#include <strings.h>

#include "agent/document/shape.h"

enum { COLLECTIVE_PARTS_MAX = 4 << 20, COLLECTIVE_NOTES_MAX = 50, COLLECTIVE_WORD = 128 };

/* ---- the set ----------------------------------------------------------------- */

void collective_set_init(struct collective_set *set, struct arena *a)
{
	*set = (struct collective_set){.a = a, .names = smap_new()};
}

void collective_set_done(struct collective_set *set)
{
	smap_free(set->names);
	set->names = NULL;
}

void collective_note(struct collective_set *set, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	if (set->n_notes >= COLLECTIVE_NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	arena_grow(set->a, set->notes, set->n_notes, set->cap_notes);
	set->notes[set->n_notes++] = arena_strdup(set->a, text);
}

static const char *collective_word(struct collective_set *set, const char *text)
{
	char word[COLLECTIVE_WORD];
	text_clean(word, sizeof(word), text, strlen(text));
	return arena_strdup(set->a, word);
}

bool collective_is_address(const char *host)
{
	return strchr(host, ':') || host[strspn(host, "0123456789.")] == '\0';
}

bool collective_same_host(const char *left, const char *right)
{
	if (collective_is_address(left))
		return str_eq(left, right);
	const size_t n = strcspn(left, ".");
	return n > 0 && n == strcspn(right, ".") && strncasecmp(left, right, n) == 0;
}

/* Where the thing of that key is in its list; false and its key taken for @next when it is new. */
static bool collective_known(struct collective_set *set, const char *key, size_t next, uint64_t *at)
{
	if (smap_get(set->names, key, strlen(key), at))
		return true;
	*at = next;
	smap_put(set->names, key, strlen(key), next);
	return false;
}

/* @domain: communicator whose own numbers the ranks are; "" for those of the job. */
static uint32_t collective_rank_at(struct collective_set *set, const char *domain, uint64_t rank)
{
	char key[COLLECTIVE_WORD + 64];
	uint64_t at;
	snprintf(key, sizeof(key), "r %" PRIu64 " %s", rank, domain);
	if (collective_known(set, key, set->n_ranks, &at))
		return (uint32_t)at;
	arena_grow(set->a, set->ranks, set->n_ranks, set->cap_ranks);
	set->ranks[set->n_ranks++] = (struct collective_rank){.rank = rank,
		.domain = domain,
		.host = "",
		.host_by = "",
		.gpu = COLLECTIVE_GPU_UNKNOWN};
	return (uint32_t)at;
}

/* A name says more than an address, and the first name stands. */
static void collective_rank_host(
	struct collective_set *set, uint32_t who, const char *host, const char *by)
{
	struct collective_rank *rank = &set->ranks[who];
	if (*host == '\0' || collective_same_host(rank->host, host))
		return;
	if (*rank->host && collective_is_address(host))
		return;
	if (collective_is_address(rank->host)) {
		rank->host = host;
		rank->host_by = by;
		return;
	}
	collective_note(set,
		"rank %" PRIu64 " is on %s by the %s, and on %s by the %s: the first "
		"was taken",
		rank->rank, rank->host, rank->host_by, host, by);
}

static uint32_t collective_comm_at(struct collective_set *set, const char *name, uint64_t size)
{
	char key[COLLECTIVE_WORD + 8];
	uint64_t at;
	snprintf(key, sizeof(key), "g %s", name);
	if (!collective_known(set, key, set->n_comms, &at)) {
		arena_grow(set->a, set->comms, set->n_comms, set->cap_comms);
		set->comms[set->n_comms++] = (struct collective_comm){.name = name};
	}
	if (size > set->comms[at].size)
		set->comms[at].size = size;
	return (uint32_t)at;
}

static uint32_t collective_clock_at(struct collective_set *set, const char *name)
{
	char key[COLLECTIVE_WORD + 8];
	uint64_t at;
	snprintf(key, sizeof(key), "c %s", name);
	if (!collective_known(set, key, set->n_clocks, &at)) {
		arena_grow(set->a, set->clocks, set->n_clocks, set->cap_clocks);
		set->clocks[set->n_clocks++] = name;
	}
	return (uint32_t)at;
}

/* Operations as both libraries call them. The first row whose word is in the name. In a joint one
 * every rank's result needs something of every other rank. */
static const struct {
	const char *word, *op;
	bool joint;
} collective_ops[] = {
	{"allreduce", "AllReduce", true},
	{"allgather", "AllGather", true},
	{"reducescatter", "ReduceScatter", true},
	{"alltoall", "AllToAll", true},
	{"barrier", "Barrier", true},
	{"broadcast", "Broadcast", false},
	{"reduce", "Reduce", false},
	{"scatter", "Scatter", false},
	{"gather", "Gather", false},
	{"send", "Send", false},
	{"recv", "Recv", false},
};

/* "nccl:_all_gather_base", "AllReduce"; what is in no row keeps its name. */
static const char *collective_op(struct collective_set *set, const char *told, bool *joint)
{
	const char *name = collective_word(set, told);
	char plain[COLLECTIVE_WORD];
	size_t n = 0;
	for (const char *c = name; *c; c++)
		if (isalnum((unsigned char)*c))
			plain[n++] = (char)tolower((unsigned char)*c);
	plain[n] = '\0';
	for (size_t i = 0; i < rw_countof(collective_ops); i++)
		if (strstr(plain, collective_ops[i].word)) {
			*joint = collective_ops[i].joint;
			return collective_ops[i].op;
		}
	*joint = false;
	return name;
}

static struct collective *collective_at(
	struct collective_set *set, uint32_t comm, uint64_t sequence, const char *op, bool joint)
{
	char key[COLLECTIVE_WORD + 64];
	uint64_t at;
	snprintf(key, sizeof(key), "k %u %" PRIu64 " %s", comm, sequence, op);
	if (!collective_known(set, key, set->n, &at)) {
		arena_grow(set->a, set->v, set->n, set->cap);
		set->v[set->n++] = (struct collective){.comm = comm,
			.sequence = sequence,
			.op = op,
			.joint = joint,
			.octets = NAN};
	}
	return &set->v[at];
}

/* A rank's later word on the same collective replaces the earlier one: dumps overlap. */
static int collective_add(struct collective_set *set, struct collective *collective,
	const struct collective_part *part, const char *name, int line, struct err *e)
{
	char key[64];
	uint64_t at;
	snprintf(key, sizeof(key), "p %zu %u", (size_t)(collective - set->v), part->who);
	if (!collective_known(set, key, collective->n, &at)) {
		if (set->n_parts++ >= COLLECTIVE_PARTS_MAX)
			return err_at(e, -EINVAL, name, line, 0,
				"more than %d parts of collectives; give fewer files",
				COLLECTIVE_PARTS_MAX);
		arena_grow(set->a, collective->parts, collective->n, collective->cap);
		collective->n++;
	}
	collective->parts[at] = *part;
	return 0;
}

/* ---- values ------------------------------------------------------------------ */

/* A time of a source in whole units of @unit_ns, on the set's axis. NAN: not told. */
static double collective_time(struct collective_set *set, int64_t told, int64_t unit_ns)
{
	if (told <= 0 || told > INT64_MAX / unit_ns)
		return NAN;
	if (set->base_ns == 0)
		set->base_ns = told * unit_ns;
	return (double)(told * unit_ns - set->base_ns) / (double)NS_PER_S;
}

static double collective_seconds(double told, double per_second)
{
	if (!(told >= 0) || told > 1e12)
		return NAN;
	return told / per_second;
}

/* What duration and end say together: it began so long before its end. */
static void collective_bounds(struct collective_part *part)
{
	if (isnan(part->seconds))
		return;
	part->begin_hi = fmin(part->begin_hi, part->end_hi - part->seconds);
	part->end_lo = fmax(part->end_lo, part->begin_lo + part->seconds);
}

/* ---- flight recorder ----------------------------------------------------------- */

struct recorder_entry {
	const char **process_group, *profiling_name, *state, **input_dtypes;
	size_t n_process_group, n_input_dtypes;
	bool is_p2p;
	uint64_t collective_seq_id;
	int64_t time_created_ns, time_discovered_started_ns, time_discovered_completed_ns;
	double duration_ms;
	json_t *input_sizes;
};
#define SHAPE struct recorder_entry
static const struct field recorder_entry_fields[] = {
	TEXTS(process_group, ""),
	TEXT(profiling_name, "", .known = true),
	TEXT(state, "", .known = true),
	TEXTS(input_dtypes, ""),
	FLAG(is_p2p, ""),
	COUNT(collective_seq_id, "", .unknown = true),
	NS(time_created_ns, ""),
	NS(time_discovered_started_ns, ""),
	NS(time_discovered_completed_ns, ""),
	NUMBER(duration_ms, UNIT_NONE, ""),
	TREE(input_sizes, "any"),
};
static SHAPE_OF(recorder_entry, "entry", "");
#undef SHAPE

struct recorder_dump {
	const char *version;
	uint64_t rank;
	json_t *pg_config, *entries;
};
#define SHAPE struct recorder_dump
static const struct field recorder_dump_fields[] = {
	TEXT(version, "", .known = true),
	COUNT(rank, "", .unknown = true),
	TREE(pg_config, "any"),
	TREE(entries, "any"),
};
static SHAPE_OF(recorder_dump, "dump", "");
#undef SHAPE

struct recorder_group {
	json_t *ranks; /* "[0, 1, 2]", in newer ones a list */
};
#define SHAPE struct recorder_group
static const struct field recorder_group_fields[] = {TREE(ranks, "any")};
static SHAPE_OF(recorder_group, "group", "");
#undef SHAPE

static double recorder_octets(const struct recorder_entry *entry)
{
	static const struct {
		const char *word;
		double octets;
	} types[] = {{"Float", 4}, {"BFloat16", 2}, {"Half", 2}, {"Double", 8}, {"Int", 4},
		{"Long", 8}, {"Short", 2}, {"Byte", 1}, {"Char", 1}, {"Bool", 1},
		{"Float8_e4m3fn", 1}, {"Float8_e5m2", 1}};
	double sum = 0, each = NAN;
	size_t i, k;
	json_t *dims, *dim;
	for (i = 0; entry->n_input_dtypes && i < rw_countof(types); i++)
		if (str_eq(types[i].word, entry->input_dtypes[0]))
			each = types[i].octets;
	json_array_foreach (entry->input_sizes, i, dims) {
		double count = 1;
		json_array_foreach (dims, k, dim)
			count *= json_number_value(dim);
		sum += count;
	}
	return sum * each;
}

/* How many ranks each process group has. */
static void recorder_groups(struct collective_set *set, json_t *groups)
{
	const char *name;
	json_t *one;
	json_object_foreach (groups, name, one) {
		struct recorder_group group = {0};
		shape_read(&recorder_group_shape, one, set->a, &group);
		const char *text = json_string_value(group.ranks);
		uint64_t n = json_array_size(group.ranks);
		if (text && strpbrk(text, "0123456789"))
			for (n = 1; (text = strchr(text, ',')); text++)
				n++;
		collective_comm_at(set, collective_word(set, name), n);
	}
}

/* The number at the end of the name: "/tmp/nccl_trace_rank_17.json". */
static bool recorder_rank(const struct recorder_dump *dump, const char *name, uint64_t *ret)
{
	const char *base = strrchr(name, '/');
	base = base ? base + 1 : name;
	const char *end = base + strlen(base);
	*ret = dump->rank;
	if (dump->rank < COLLECTIVE_RANKS_MAX)
		return true;
	if (end - base > 5 && str_eq(end - 5, ".json"))
		end -= 5;
	const char *digits = end;
	while (digits > base && isdigit((unsigned char)digits[-1]))
		digits--;
	*ret = strtoull(digits, NULL, 10);
	return digits < end && end - digits < 8 && *ret < COLLECTIVE_RANKS_MAX;
}

static int recorder_take(struct collective_set *set, const struct recorder_entry *entry,
	uint32_t who, size_t place, const char *name, struct err *e)
{
	bool joint;
	if (entry->is_p2p)
		return 0;
	if (entry->n_process_group == 0 || entry->collective_seq_id == COUNT_UNKNOWN ||
		!*entry->profiling_name)
		return err_at(e, -EINVAL, name, 0, 0,
			"entry %zu has no process_group, collective_seq_id and profiling_name as "
			"format 2 has them: write the dump again, whole",
			place);
	const char *op = collective_op(set, entry->profiling_name, &joint);
	struct collective_part part = {.who = who,
		.begin_lo = collective_time(set, entry->time_created_ns, 1),
		.begin_hi = collective_time(set, entry->time_discovered_started_ns, 1),
		.end_lo = NAN,
		.end_hi = collective_time(set, entry->time_discovered_completed_ns, 1),
		.seconds = collective_seconds(entry->duration_ms, 1e3),
		.ended = str_eq(entry->state, "completed")};
	part.clock = collective_clock_at(
		set, arena_printf(set->a, "rank %" PRIu64, set->ranks[who].rank));
	collective_bounds(&part);
	const uint32_t comm =
		collective_comm_at(set, collective_word(set, entry->process_group[0]), 0);
	struct collective *collective =
		collective_at(set, comm, entry->collective_seq_id, op, joint);
	if (isnan(collective->octets))
		collective->octets = recorder_octets(entry);
	return collective_add(set, collective, &part, name, 0, e);
}

static int recorder_read(
	struct collective_set *set, const json_t *root, const char *name, struct err *e)
{
	struct recorder_dump dump = {0};
	uint64_t rank;
	size_t i;
	json_t *one;
	int rc = 0;
	shape_read(&recorder_dump_shape, root, set->a, &dump);
	if (strncmp(dump.version, "2.", 2) != 0)
		return err_at(e, -EINVAL, name, 1, 0,
			"a flight recorder of format '%.32s'; 2.x is read (PyTorch 2.3 on)",
			collective_word(set, dump.version));
	if (!json_is_array(dump.entries))
		return err_at(e, -EINVAL, name, 1, 0,
			"a flight recorder without a list of entries: dump it with collectives");
	if (!recorder_rank(&dump, name, &rank))
		return err_at(e, -EINVAL, name, 1, 0,
			"the dump does not say which rank it is of: let its name end with the "
			"rank, as trace_rank_17.json");
	recorder_groups(set, dump.pg_config);
	const uint32_t who = collective_rank_at(set, "", rank);
	json_array_foreach (dump.entries, i, one) {
		struct recorder_entry entry = {0};
		shape_read(&recorder_entry_shape, one, set->a, &entry);
		if (rc == 0)
			rc = recorder_take(set, &entry, who, i, name, e);
	}
	return rc;
}

/* ---- inspector ------------------------------------------------------------------- */

struct inspector_header {
	const char *id;
	uint64_t rank, n_ranks;
};
#define SHAPE struct inspector_header
static const struct field inspector_header_fields[] = {
	TEXT(id, "", .known = true),
	COUNT(rank, "", .unknown = true),
	COUNT(n_ranks, "", .unknown = true),
};
static SHAPE_OF(inspector_header, "header", "");
#undef SHAPE

struct inspector_metadata {
	const char *inspector_output_format_version, *hostname;
	int64_t dump_timestamp_us;
};
#define SHAPE struct inspector_metadata
static const struct field inspector_metadata_fields[] = {
	TEXT(inspector_output_format_version, "", .known = true),
	TEXT(hostname, "", .known = true),
	NS(dump_timestamp_us, ""),
};
static SHAPE_OF(inspector_metadata, "metadata", "");
#undef SHAPE

struct inspector_kernel {
	int64_t kernel_start_ts, kernel_stop_ts;
};
#define SHAPE struct inspector_kernel
static const struct field inspector_kernel_fields[] = {
	NS(kernel_start_ts, ""),
	NS(kernel_stop_ts, ""),
};
static SHAPE_OF(inspector_kernel, "kernel", "");
#undef SHAPE

struct inspector_trace {
	struct inspector_kernel *kernel_events;
	size_t n_kernel_events;
};
#define SHAPE struct inspector_trace
static const struct field inspector_trace_fields[] = {ROWS(kernel_events, inspector_kernel, "")};
static SHAPE_OF(inspector_trace, "trace", "");
#undef SHAPE

struct inspector_perf {
	const char *coll;
	uint64_t coll_sn;
	double coll_msg_size_bytes, coll_exec_time_us;
	struct inspector_trace event_trace_ts;
};
#define SHAPE struct inspector_perf
static const struct field inspector_perf_fields[] = {
	TEXT(coll, "", .known = true),
	COUNT(coll_sn, "", .unknown = true),
	NUMBER(coll_msg_size_bytes, UNIT_BYTES, ""),
	NUMBER(coll_exec_time_us, UNIT_NONE, ""),
	PART(event_trace_ts, inspector_trace, ""),
};
static SHAPE_OF(inspector_perf, "perf", "");
#undef SHAPE

struct inspector_line {
	struct inspector_header header;
	struct inspector_metadata metadata;
	struct inspector_perf coll_perf;
};
#define SHAPE struct inspector_line
static const struct field inspector_line_fields[] = {
	PART(header, inspector_header, ""),
	PART(metadata, inspector_metadata, ""),
	PART(coll_perf, inspector_perf, ""),
};
static SHAPE_OF(inspector_line, "line", "");
#undef SHAPE

/* The first and the last of what its kernels say: they are the part on the GPU. */
static void inspector_times(struct collective_set *set, const struct inspector_trace *trace,
	struct collective_part *part)
{
	for (size_t i = 0; i < trace->n_kernel_events; i++) {
		const struct inspector_kernel *kernel = &trace->kernel_events[i];
		part->begin_lo = fmin(
			part->begin_lo, collective_time(set, kernel->kernel_start_ts, NS_PER_US));
		part->end_hi =
			fmax(part->end_hi, collective_time(set, kernel->kernel_stop_ts, NS_PER_US));
	}
	part->begin_hi = part->begin_lo;
	part->end_lo = part->end_hi;
}

static int inspector_take(struct collective_set *set, const struct inspector_line *told,
	const char *name, int line, struct err *e)
{
	const struct inspector_header *header = &told->header;
	const char *version = told->metadata.inspector_output_format_version;
	bool joint;
	if (strncmp(version, "v4.", 3) != 0)
		return err_at(e, -EINVAL, name, line, 0,
			"an inspector log of format '%.32s'; v4.x is read (NCCL 2.28 on)",
			collective_word(set, version));
	if (!*header->id || header->rank >= COLLECTIVE_RANKS_MAX ||
		header->n_ranks > COLLECTIVE_RANKS_MAX || !*told->coll_perf.coll ||
		told->coll_perf.coll_sn == COUNT_UNKNOWN)
		return err_at(e, -EINVAL, name, line, 0,
			"expected id, rank and n_ranks in \"header\", coll and coll_sn in "
			"\"coll_perf\"; take the line out");
	const char *comm = collective_word(set, header->id);
	const char *host = collective_word(set, told->metadata.hostname);
	const uint32_t who = collective_rank_at(set, comm, header->rank);
	struct collective_part part = {.who = who,
		.begin_lo = NAN,
		.end_hi = NAN,
		.seconds = collective_seconds(told->coll_perf.coll_exec_time_us, 1e6),
		.ended = true};
	inspector_times(set, &told->coll_perf.event_trace_ts, &part);
	if (isnan(part.end_hi))
		part.end_hi = collective_time(set, told->metadata.dump_timestamp_us, NS_PER_US);
	collective_bounds(&part);
	collective_rank_host(set, who, host, "inspector log");
	if (*host == '\0')
		host = arena_printf(set->a, "rank %" PRIu64 " of %s", header->rank, comm);
	part.clock = collective_clock_at(set, host);
	const char *op = collective_op(set, told->coll_perf.coll, &joint);
	struct collective *collective = collective_at(set,
		collective_comm_at(set, comm, header->n_ranks), told->coll_perf.coll_sn, op, joint);
	if (isnan(collective->octets))
		collective->octets = told->coll_perf.coll_msg_size_bytes;
	return collective_add(set, collective, &part, name, line, e);
}

/* ---- RAS ---------------------------------------------------------------------------- */

struct ras_rank {
	uint64_t rank, cuda_dev;
	const char *host;
	json_t *collective_counts; /* by operation */
};
#define SHAPE struct ras_rank
static const struct field ras_rank_fields[] = {
	COUNT(rank, "", .unknown = true),
	COUNT(cuda_dev, "", .unknown = true),
	TEXT(host, "", .known = true),
	TREE(collective_counts, "any"),
};
static SHAPE_OF(ras_rank, "rank", "");
#undef SHAPE

struct ras_comm {
	const char *hash;
	uint64_t size;
	struct ras_rank *ranks, *missing_ranks;
	size_t n_ranks, n_missing_ranks;
};
#define SHAPE struct ras_comm
static const struct field ras_comm_fields[] = {
	TEXT(hash, "", .known = true),
	COUNT(size, "", .unknown = true),
	ROWS(ranks, ras_rank, ""),
	ROWS(missing_ranks, ras_rank, ""),
};
static SHAPE_OF(ras_comm, "communicator", "");
#undef SHAPE

struct ras_answer {
	struct ras_comm *communicators;
	size_t n_communicators;
};
#define SHAPE struct ras_answer
static const struct field ras_answer_fields[] = {ROWS(communicators, ras_comm, "")};
static SHAPE_OF(ras_answer, "answer", "");
#undef SHAPE

/* Of one operation, how often each rank began it; COUNT_UNKNOWN where it does not say. */
static uint64_t *ras_counts(struct collective_set *set, const struct ras_comm *comm, const char *op)
{
	uint64_t *counts = arena_array(set->a, uint64_t, comm->n_ranks + 1);
	for (size_t i = 0; i < comm->n_ranks; i++) {
		const char *name;
		json_t *value;
		counts[i] = COUNT_UNKNOWN;
		json_object_foreach (comm->ranks[i].collective_counts, name, value)
			if (str_eq(name, op) && json_integer_value(value) >= 0)
				counts[i] = (uint64_t)json_integer_value(value);
	}
	return counts;
}

/* More than half of the ranks stand at the highest count: the others are behind. A rank may be one
 * behind at any moment of a job that runs. */
static void ras_behind(
	struct collective_set *set, uint32_t at, const struct ras_comm *comm, const char *op)
{
	const uint64_t *counts = ras_counts(set, comm, op);
	uint64_t most = 0;
	size_t at_most = 0;
	for (size_t i = 0; i < comm->n_ranks; i++)
		if (counts[i] != COUNT_UNKNOWN && counts[i] > most)
			most = counts[i];
	for (size_t i = 0; i < comm->n_ranks; i++)
		at_most += counts[i] == most;
	for (size_t i = 0; at_most * 2 > comm->n_ranks && i < comm->n_ranks; i++) {
		if (counts[i] >= most)
			continue;
		arena_grow(set->a, set->behind, set->n_behind, set->cap_behind);
		set->behind[set->n_behind++] = (struct collective_behind){
			.who = collective_rank_at(set, set->comms[at].name, comm->ranks[i].rank),
			.comm = at,
			.op = op,
			.begun = counts[i],
			.others = most};
	}
}

static int ras_ranks(struct collective_set *set, const struct ras_rank *ranks, size_t n,
	const char *domain, const char *name, struct err *e)
{
	enum { GPUS_MAX = 1024 };
	for (size_t i = 0; i < n; i++) {
		const struct ras_rank *row = &ranks[i];
		if (row->rank >= COLLECTIVE_RANKS_MAX)
			return err_at(e, -EINVAL, name, 0, 0,
				"rank %zu of communicator %s has no number: is it the answer of "
				"ncclras --format json --verbose, whole?",
				i, domain);
		const uint32_t who = collective_rank_at(set, domain, row->rank);
		collective_rank_host(set, who, collective_word(set, row->host), "RAS");
		if (row->cuda_dev < GPUS_MAX)
			set->ranks[who].gpu = row->cuda_dev;
	}
	return 0;
}

static int ras_take(struct collective_set *set, const struct ras_comm *comm, size_t place,
	const char *name, struct err *e)
{
	const char *domain = collective_word(set, comm->hash);
	if (!*domain || comm->size > COLLECTIVE_RANKS_MAX ||
		comm->n_ranks + comm->n_missing_ranks == 0)
		return err_at(e, -EINVAL, name, 0, 0,
			"communicator %zu has no hash, size and ranks: is it the answer of "
			"ncclras --format json --verbose, whole?",
			place);
	const uint32_t at = collective_comm_at(set, domain, comm->size);
	int rc = ras_ranks(set, comm->ranks, comm->n_ranks, domain, name, e);
	if (rc == 0)
		rc = ras_ranks(set, comm->missing_ranks, comm->n_missing_ranks, domain, name, e);
	for (size_t k = 0; rc == 0 && k < rw_countof(collective_ops); k++)
		ras_behind(set, at, comm, collective_ops[k].op);
	for (size_t k = 0; rc == 0 && k < comm->n_missing_ranks; k++)
		collective_note(set,
			"rank %" PRIu64 " of communicator %s on %s does not answer the others' RAS",
			comm->missing_ranks[k].rank, domain,
			collective_word(set, comm->missing_ranks[k].host));
	return rc;
}

/* ---- what several sources say meets -------------------------------------------------- */

static bool collective_is_whole(struct collective_set *set, const char *domain, uint64_t whole)
{
	return whole && set->comms[collective_comm_at(set, domain, 0)].size == whole;
}

void collective_finish(struct collective_set *set)
{
	const size_t n = set->n_ranks;
	uint32_t *to = arena_array(set->a, uint32_t, n + 1);
	uint64_t whole = 0;
	for (size_t i = 0; i < set->n_comms; i++)
		if (set->comms[i].size > whole)
			whole = set->comms[i].size;
	for (uint32_t i = 0; i < n; i++) {
		const struct collective_rank own = set->ranks[i];
		to[i] = i;
		if (!*own.domain || !collective_is_whole(set, own.domain, whole))
			continue;
		to[i] = collective_rank_at(set, "", own.rank);
		collective_rank_host(set, to[i], own.host, own.host_by);
		if (own.gpu != COLLECTIVE_GPU_UNKNOWN)
			set->ranks[to[i]].gpu = own.gpu;
	}
	for (size_t k = 0; k < set->n; k++)
		for (size_t i = 0; i < set->v[k].n; i++)
			set->v[k].parts[i].who = to[set->v[k].parts[i].who];
	for (size_t i = 0; i < set->n_behind; i++)
		set->behind[i].who = to[set->behind[i].who];
}

/* ---- which of them ------------------------------------------------------------------ */

struct collective_kind { /* a member of each kind; NULL: it is another one */
	json_t *coll_perf, *communicators, *entries, *pg_config;
};
#define SHAPE struct collective_kind
static const struct field collective_kind_fields[] = {
	TREE(coll_perf, "any"),
	TREE(communicators, "any"),
	TREE(entries, "any"),
	TREE(pg_config, "any"),
};
static SHAPE_OF(collective_kind, "kind", "");
#undef SHAPE

static int collective_lines(const char *text, size_t n)
{
	int lines = 0;
	for (const char *at = text; (at = memchr(at, '\n', (size_t)(text + n - at))); at++)
		lines++;
	return lines;
}

static int collective_one(
	struct collective_set *set, const json_t *root, const char *name, int line, struct err *e)
{
	struct collective_kind kind = {0};
	int rc = 0;
	shape_read(&collective_kind_shape, root, set->a, &kind);
	if (kind.coll_perf) {
		struct inspector_line told = {0};
		shape_read(&inspector_line_shape, root, set->a, &told);
		return inspector_take(set, &told, name, line, e);
	}
	if (json_is_array(kind.communicators)) {
		struct ras_answer told = {0};
		shape_read(&ras_answer_shape, root, set->a, &told);
		for (size_t i = 0; i < told.n_communicators && rc == 0; i++)
			rc = ras_take(set, &told.communicators[i], i, name, e);
		return rc;
	}
	if (kind.entries || kind.pg_config)
		return recorder_read(set, root, name, e);
	return err_at(e, -EINVAL, name, line, 0,
		"another kind of JSON; expected a flight recorder (\"entries\"), an inspector log "
		"(\"coll_perf\") or what RAS says (\"communicators\")");
}

static bool collective_is_pickle(const char *text, size_t n)
{
	return n > 1 && (unsigned char)text[0] == 0x80 && (unsigned char)text[1] <= 5;
}

int collective_read(
	struct collective_set *set, const char *text, size_t n, const char *name, struct err *e)
{
	size_t at = 0, documents = 0;
	int line = 1;
	if (collective_is_pickle(text, n))
		return err_at(e, -EINVAL, name, 1, 0,
			"a pickle, which is code and is not read. Where the file is trusted: "
			"python3 -c 'import json,pickle,sys; json.dump(pickle.load(sys.stdin."
			"buffer),sys.stdout)' < FILE > FILE_RANK.json; or let the job write JSON "
			"(dump_nccl_trace_json)");
	for (;;) {
		json_error_t why;
		while (at < n && isspace((unsigned char)text[at]))
			line += text[at++] == '\n';
		if (at >= n)
			break;
		json_t *root = json_loadb(text + at, n - at, JSON_DISABLE_EOF_CHECK, &why);
		if (!root && documents > 0 && !memchr(text + at, '\n', n - at)) {
			collective_note(
				set, "%s:%d: the last line is cut: it was left out", name, line);
			break;
		}
		if (!root)
			return err_at(e, -EINVAL, name, line + why.line - 1, why.column,
				"%s; expected JSON, whole: was the file cut, or is it still being "
				"written?",
				why.text);
		const int rc = collective_one(set, root, name, line, e);
		json_decref(root);
		if (rc < 0)
			return rc;
		line += collective_lines(text + at, (size_t)why.position);
		at += (size_t)why.position;
		documents++;
	}
	if (documents == 0)
		return err_at(e, -EINVAL, name, 1, 0, "empty: the dump was not written");
	return 0;
}
