/* import_nccl - what NCCL and its tests print. */

#include "agent/document/json_value.h"
#include "agent/import/import_host.h"
#include "base/stats.h"

/*
 * import_nccl_log - NCCL_DEBUG=INFO: "HOST:PID:TID [GPU] NCCL INFO ...", of any number of ranks and
 * hosts. What counts (NVIDIA/nccl, src/transport/net_ib and src/graph):
 *
 *     NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
 *     NET/IB : No device found.
 *     NET/Socket : Using [0]eth0:10.0.0.1<0>
 *     Using network IB
 *     GPU Direct RDMA Disabled for GPU 7 / HCA 1 (distance 7 > 5)
 *     Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3/GDRDMA
 *
 * A NIC that most hosts picked up and one did not is missing there; one that no channel goes over
 * is idle, where the log shows channels at all. Pairs of GPU and NIC that are far apart are told on
 * every host of eight GPUs; they count where channels do without GPU Direct RDMA.
 */

enum { LOG_HOSTS_MOST = 16384, LOG_NICS_MOST = 64, LOG_NIC_MAX = 48, LOG_NETWORK_MAX = 32 };

struct log_host {
	const char *name;
	char nics[LOG_NICS_MOST][LOG_NIC_MAX]; /* in NCCL's order: "mlx5_0:1" */
	size_t n_nics;
	char network[LOG_NETWORK_MAX]; /* "IB", "Socket", ... */
	bool no_device, sockets;
	uint64_t used; /* bit n: a channel goes over NIC n */
	size_t channels, direct; /* over the network; of them by GPU Direct RDMA */
	uint64_t warnings;
	unsigned far, far_allowed; /* of the farthest pair of GPU and NIC: path types; 0 none */
};

struct log_hosts {
	struct arena *a;
	struct log_host **v;
	size_t n, cap;
	struct smap *index;
	bool too_many;
};

/* ---- reading -------------------------------------------------------------------- */

static struct log_host *log_host_of(struct log_hosts *hosts, const char *name)
{
	uint64_t at;
	if (smap_get(hosts->index, name, strlen(name), &at))
		return hosts->v[at];
	if (hosts->n >= LOG_HOSTS_MOST) {
		hosts->too_many = true;
		return NULL;
	}
	struct log_host *host = arena_new_of(hosts->a, struct log_host);
	host->name = arena_strdup(hosts->a, name);
	smap_put(hosts->index, name, strlen(name), hosts->n);
	arena_grow(hosts->a, hosts->v, hosts->n, hosts->cap);
	hosts->v[hosts->n++] = host;
	return host;
}

/* The name in front of ":PID:TID [GPU] NCCL ", which stands right before @nccl; "" none. */
static void log_name(char ret[HOST_NAME_LEN], const char *line, const char *nccl)
{
	const char *end = nccl;
	for (unsigned colons = 0; end > line && colons < 2;) {
		end--;
		colons += *end == ':';
		if (!strchr(": []", *end) && !isdigit((unsigned char)*end))
			break;
	}
	const char *begin = end;
	ret[0] = '\0';
	if (*end != ':')
		return;
	while (begin > line && !strchr(" \t<>]", begin[-1]))
		begin--;
	host_name_copy(ret, begin, (size_t)(end - begin));
}

static void log_add_nic(struct log_host *host, const char *name, size_t n)
{
	if (n == 0 || n >= LOG_NIC_MAX || host->n_nics >= LOG_NICS_MOST)
		return;
	for (size_t i = 0; i < host->n_nics; i++)
		if (strncmp(host->nics[i], name, n) == 0 && host->nics[i][n] == '\0')
			return;
	memcpy(host->nics[host->n_nics], name, n);
	host->nics[host->n_nics++][n] = '\0';
}

/* "[0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE": a name, a colon, the port's number, a slash. What follows
 * "; OOB" is no NIC of the list. */
static void log_read_nics(struct log_host *host, const char *list)
{
	const char *end = strstr(list, "OOB");
	if (!end)
		end = list + strlen(list);
	for (const char *colon = strchr(list, ':'); colon && colon < end;
		colon = strchr(colon + 1, ':')) {
		const char *from = colon, *to = colon + 1;
		while (from > list && (isalnum((unsigned char)from[-1]) || strchr("_-.", from[-1])))
			from--;
		while (isdigit((unsigned char)*to))
			to++;
		if (to > colon + 1 && *to == '/' && from < colon)
			log_add_nic(host, from, (size_t)(to - from));
	}
}

static void log_read_channel(struct log_host *host, const char *via)
{
	host->channels++;
	host->direct += strstr(via, "/GDRDMA") != NULL;
	const char *slash = strchr(via + strlen("via NET/"), '/');
	if (slash && isdigit((unsigned char)slash[1])) {
		const unsigned long nic = strtoul(slash + 1, NULL, 10);
		if (nic < LOG_NICS_MOST)
			host->used |= UINT64_C(1) << nic;
	}
}

/* "GPU Direct RDMA Disabled for GPU 7 / HCA 1 (distance 7 > 5)", src/graph/paths.cc */
static void log_read_distance(struct log_host *host, const char *info)
{
	unsigned far, allowed;
	const char *distance = strstr(info, "(distance ");
	if (!distance || !strstr(info, "GPU Direct RDMA Disabled"))
		return;
	if (sscanf(distance, "(distance %4u > %4u)", &far, &allowed) != 2 || far <= host->far)
		return;
	host->far = far;
	host->far_allowed = allowed;
}

static void log_read_info(struct log_host *host, const char *info)
{
	const char *list = NULL;
	if (strncmp(info, "NET/IB", 6) == 0)
		list = strstr(info, ": Using ");
	if (list)
		log_read_nics(host, list + strlen(": Using "));
	if (strncmp(info, "NET/IB", 6) == 0 && strstr(info, "No device found"))
		host->no_device = true;
	if (strncmp(info, "NET/Socket", 10) == 0 && strstr(info, "Using"))
		host->sockets = true;
	if (strncmp(info, "Using network ", 14) == 0)
		snprintf(host->network, sizeof(host->network), "%s", info + 14);
	log_read_distance(host, info);
	const char *via = strstr(info, "via NET/");
	if (via)
		log_read_channel(host, via);
}

static void log_read_text(struct log_hosts *hosts, const struct import_text *text)
{
	struct host_text at;
	host_text_begin(&at, text->text, text->n);
	while (host_text_next(&at)) {
		char name[HOST_NAME_LEN];
		const char *nccl = strstr(at.line, "NCCL ");
		if (!nccl)
			continue;
		const char *info = strncmp(nccl + 5, "INFO ", 5) == 0 ? nccl + 10 : NULL;
		const bool warning = strncmp(nccl + 5, "WARN ", 5) == 0;
		if (!info && !warning)
			continue;
		log_name(name, at.line, nccl);
		const char *who = name;
		if (!*who)
			who = *at.host ? at.host : text->host;
		struct log_host *host = log_host_of(hosts, who);
		if (!host)
			continue;
		host->warnings += warning;
		if (info)
			log_read_info(host, info);
	}
}

/* ---- comparing --------------------------------------------------------------------- */

struct log_nics { /* of all hosts: how many picked each one up */
	struct smap *index;
	char (*names)[LOG_NIC_MAX];
	size_t *hosts;
	size_t n, cap, cap_hosts;
	struct arena *a;
};

enum { LOG_NAMES_MOST = 4096 };

static void log_count(struct log_nics *nics, const char *name)
{
	uint64_t at;
	if (smap_get(nics->index, name, strlen(name), &at)) {
		nics->hosts[at]++;
		return;
	}
	if (nics->n >= LOG_NAMES_MOST)
		return;
	smap_put(nics->index, name, strlen(name), nics->n);
	arena_grow(nics->a, nics->names, nics->n, nics->cap);
	size_t at_hosts = nics->n;
	arena_grow(nics->a, nics->hosts, at_hosts, nics->cap_hosts);
	snprintf(nics->names[nics->n], LOG_NIC_MAX, "%s", name);
	nics->hosts[nics->n++] = 1;
}

static bool log_has(const struct log_host *host, const char *nic)
{
	for (size_t i = 0; i < host->n_nics; i++)
		if (strcmp(host->nics[i], nic) == 0)
			return true;
	return false;
}

static json_t *log_missing(const struct log_host *host, const struct log_nics *nics, size_t with)
{
	json_t *missing = json_array();
	for (size_t i = 0; i < nics->n; i++)
		if (2 * nics->hosts[i] > with && !log_has(host, nics->names[i]))
			json_array_append_new(missing, json_string_or_null(nics->names[i]));
	return missing;
}

static json_t *log_idle(const struct log_host *host)
{
	json_t *idle = json_array();
	for (size_t i = 0; host->used && i < host->n_nics; i++)
		if (!(host->used >> i & 1))
			json_array_append_new(idle, json_string_or_null(host->nics[i]));
	return idle;
}

static const char *log_gdr(const struct log_host *host)
{
	if (!host->channels)
		return "-";
	if (host->direct == host->channels)
		return "yes";
	return host->direct ? "partly" : "no";
}

static const char *log_network(const struct log_host *host)
{
	if (*host->network)
		return host->network;
	if (host->n_nics)
		return "IB";
	return host->sockets ? "Socket" : "?";
}

static void log_join(struct str *out, const json_t *names)
{
	size_t i;
	json_t *name;
	json_array_foreach (names, i, name)
		str_addf(out, "%s%s", i ? ", " : "", json_string_value(name));
}

static void log_flag(json_t *doc, const struct log_host *host, const json_t *missing,
	const json_t *idle, bool direct_elsewhere)
{
	rw_cleanup(str_done) struct str names = {0};
	if (host->no_device || strcmp(log_network(host), "Socket") == 0) {
		import_flag(doc, host->name,
			"NCCL found no RDMA device%s and uses sockets: a small part of the "
			"bandwidth",
			host->no_device ? " (NET/IB : No device found)" : "");
		return;
	}
	if (json_array_size(missing)) {
		log_join(&names, missing);
		import_flag(doc, host->name,
			"NCCL picked up %zu NICs; not %s, which most hosts have: down, or left out "
			"by "
			"NCCL_IB_HCA",
			host->n_nics, names.s);
	}
	if (json_array_size(idle)) {
		str_done(&names);
		names = (struct str){0};
		log_join(&names, idle);
		import_flag(doc, host->name, "no channel goes over %s", names.s);
	}
	if (host->direct == host->channels)
		return;
	if (host->far)
		import_flag(doc, host->name,
			"%zu of %zu channels do without GPU Direct RDMA: GPU and NIC are too far "
			"apart (distance %u, allowed %u: PCIe topology, NUMA, NCCL_NET_GDR_LEVEL)",
			host->channels - host->direct, host->channels, host->far,
			host->far_allowed);
	else if (direct_elsewhere)
		import_flag(doc, host->name,
			"%zu of %zu channels do without GPU Direct RDMA (nvidia-peermem, or GPU "
			"and NIC "
			"far apart)",
			host->channels - host->direct, host->channels);
}

/* ---- the document -------------------------------------------------------------------- */

static int log_by_name(const void *left, const void *right)
{
	return strcmp(
		(*(struct log_host *const *)left)->name, (*(struct log_host *const *)right)->name);
}

static void log_row(json_t *doc, const struct log_host *host, const struct log_nics *nics,
	size_t with, bool direct_elsewhere)
{
	json_t *missing = json_array(), *idle = log_idle(host), *picked = json_array();
	if (host->n_nics || host->no_device || host->sockets) {
		json_decref(missing);
		missing = log_missing(host, nics, with);
	}
	for (size_t i = 0; i < host->n_nics; i++)
		json_array_append_new(picked, json_string_or_null(host->nics[i]));
	log_flag(doc, host, missing, idle, direct_elsewhere);
	json_array_append_new(json_object_get(doc, "rows"),
		json_pack("{s:o, s:o, s:I, s:o, s:o, s:o, s:s, s:I}", "host",
			json_string_or_null(host->name), "network",
			json_string_or_null(log_network(host)), "n_nics", (json_int_t)host->n_nics,
			"nics", picked, "missing", missing, "idle", idle, "gdr", log_gdr(host),
			"warnings", (json_int_t)host->warnings));
}

static json_t *log_document(struct log_hosts *hosts)
{
	struct log_nics nics = {.a = hosts->a, .index = smap_new()};
	json_t *doc = import_document("nccl-log");
	size_t with = 0, silent = 0;
	bool direct = false;
	qsort(hosts->v, hosts->n, sizeof(*hosts->v), log_by_name);
	for (size_t i = 0; i < hosts->n; i++) {
		with += hosts->v[i]->n_nics > 0;
		direct |= hosts->v[i]->direct > 0;
		for (size_t k = 0; k < hosts->v[i]->n_nics; k++)
			log_count(&nics, hosts->v[i]->nics[k]);
	}
	for (size_t i = 0; i < hosts->n; i++) {
		const struct log_host *host = hosts->v[i];
		silent += !host->n_nics && !host->no_device && !host->sockets;
		log_row(doc, host, &nics, with, direct);
	}
	if (with == 1)
		import_note(doc,
			"one host with NICs: that a NIC is missing shows only beside other hosts");
	if (silent)
		import_note(doc,
			"no line NET/IB or NET/Socket of %zu host%s: NCCL_DEBUG=INFO with "
			"NCCL_DEBUG_SUBSYS=INIT,NET prints it",
			silent, plural(silent));
	if (hosts->too_many)
		import_note(doc, "only the first %d hosts were read", LOG_HOSTS_MOST);
	smap_free(nics.index);
	return doc;
}

json_t *import_nccl_log(const struct import_text *texts, size_t n, double below, struct err *e)
{
	(void)below;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct log_hosts hosts = {.a = a, .index = smap_new()};
	json_t *doc = NULL;
	for (size_t i = 0; i < n; i++)
		log_read_text(&hosts, &texts[i]);
	if (hosts.n)
		doc = log_document(&hosts);
	else
		err_set(e, -EINVAL,
			"no log of NCCL in it: expected lines such as 'node-001:123:145 [0] NCCL "
			"INFO "
			"NET/IB : Using [0]mlx5_0:1/RoCE ...' (NCCL_DEBUG=INFO)");
	smap_free(hosts.index);
	return doc;
}

/*
 * import_nccl_tests - the tables of nccl-tests (NVIDIA/nccl-tests, src/common.cu and its forks):
 * one run is its list of ranks ("Rank 0 Group 0 Pid 1 on HOST device 0") and rows of sizes. Bus
 * bandwidths are in units of 1e9 bytes per second.
 *
 * Runs are alike when operation, number of ranks and number of hosts agree; they are compared at
 * the largest size that all of them have. A host counts by the best of its runs: in a bad run of
 * two hosts the other one may be at fault. Fewer than three runs have no median that says
 * something.
 */

enum {
	RUNS_MOST = 8192,
	SIZES_MOST = 128,
	RUN_HOSTS_MOST = 4096,
	ALIKE_MIN = 3,
	OPERATION_MAX = 48,
	ROW_WORDS = 8 /* size count type time algbw busbw wrong, at least */
};

struct nccl_size {
	uint64_t bytes;
	double busbw; /* out of place, else in place */
};

struct nccl_run {
	char tag[HOST_NAME_LEN]; /* of its lines, "" none */
	const char *file;
	unsigned line;
	char operation[OPERATION_MAX];
	const char **hosts; /* each once */
	size_t n_hosts, cap_hosts;
	uint64_t ranks;
	struct nccl_size sizes[SIZES_MOST];
	size_t n_sizes;
	double wrong;
	bool wrong_known, header; /* the head of its table was seen */
	double value; /* at the size compared; NAN */
	uint64_t at_bytes;
	double ratio; /* of the median of those alike; NAN: not compared */
};

struct nccl_runs {
	struct arena *a;
	struct nccl_run **v;
	size_t n, cap;
	bool too_many;
};

/* ---- reading ------------------------------------------------------------------ */

static struct nccl_run *nccl_run_new(
	struct nccl_runs *runs, const struct import_text *text, const struct host_text *at)
{
	if (runs->n >= RUNS_MOST) {
		runs->too_many = true;
		return NULL;
	}
	struct nccl_run *run = arena_new_of(runs->a, struct nccl_run);
	memcpy(run->tag, at->host, sizeof(run->tag));
	run->file = text->name;
	run->line = at->number;
	run->value = run->ratio = NAN;
	arena_grow(runs->a, runs->v, runs->n, runs->cap);
	runs->v[runs->n++] = run;
	return run;
}

/* The run that lines with this tag belong to; @since: runs of this file. */
static struct nccl_run *nccl_run_of(
	const struct nccl_runs *runs, size_t since, const struct host_text *at)
{
	for (size_t i = runs->n; i-- > since;)
		if (strcmp(runs->v[i]->tag, at->host) == 0)
			return runs->v[i];
	return NULL;
}

static void nccl_run_add_host(struct nccl_runs *runs, struct nccl_run *run, const char *host)
{
	for (size_t i = run->n_hosts; i-- > 0;)
		if (strcmp(run->hosts[i], host) == 0)
			return;
	if (!*host || run->n_hosts >= RUN_HOSTS_MOST)
		return;
	arena_grow(runs->a, run->hosts, run->n_hosts, run->cap_hosts);
	run->hosts[run->n_hosts++] = arena_strdup(runs->a, host);
}

/* "#  Rank  0 Group  0 Pid 1234 on    node-001 device  0 [0x07] NVIDIA A100" */
static bool nccl_read_rank(struct nccl_runs *runs, struct nccl_run *run, char **words, size_t n)
{
	if (n < 5 || strcmp(words[0], "Rank") != 0)
		return false;
	for (size_t i = 1; i + 2 < n; i++) {
		char host[HOST_NAME_LEN];
		if (strcmp(words[i], "on") != 0 || strcmp(words[i + 2], "device") != 0)
			continue;
		host_name_copy(host, words[i + 1], strlen(words[i + 1]));
		nccl_run_add_host(runs, run, host);
		run->ranks++;
		return true;
	}
	return false;
}

/* A group of four columns: time algbw busbw wrong. */
static bool nccl_read_group(struct nccl_run *run, char **words, double *ret_busbw)
{
	double time, algbw, wrong;
	if (!host_real(words[0], &time) || !host_real(words[1], &algbw) ||
		!host_real(words[2], ret_busbw) || *ret_busbw < 0)
		return false;
	if (host_real(words[3], &wrong)) {
		run->wrong += wrong;
		run->wrong_known = true;
	}
	return true;
}

/* A row of the table; "redop" and "root" are missing in old versions, one of the two groups in new
 * ones. */
static void nccl_read_row(struct nccl_run *run, char **words, size_t n)
{
	uint64_t bytes, count;
	double busbw, second;
	if (n < ROW_WORDS - 1 || run->n_sizes >= SIZES_MOST || !host_number(words[0], &bytes) ||
		!host_number(words[1], &count))
		return;
	const size_t head = n >= 11 ? n - 8 : n - 4;
	if (head < 3 || !nccl_read_group(run, words + head, &busbw))
		return;
	if (n - head == 8 && !nccl_read_group(run, words + head + 4, &second))
		return;
	if (run->n_sizes && run->sizes[run->n_sizes - 1].bytes == bytes)
		run->n_sizes--; /* measured again: the later one counts */
	run->sizes[run->n_sizes++] = (struct nccl_size){bytes, busbw};
}

static void nccl_read_comment(struct nccl_runs *runs, const struct import_text *text, size_t since,
	const struct host_text *at, char **words, size_t n)
{
	struct nccl_run *run = nccl_run_of(runs, since, at);
	const bool begins =
		n > 1 && (strcmp(words[1], "nThread") == 0 || strcmp(words[1], "nThreads") == 0);
	const bool names =
		n > 4 && strcmp(words[1], "Collective") == 0 && strcmp(words[3], "starting:") == 0;
	if (!run || (run->n_sizes && (begins || names)))
		run = nccl_run_new(runs, text, at);
	if (!run)
		return;
	if (names)
		snprintf(run->operation, sizeof(run->operation), "%s", words[3]);
	nccl_read_rank(runs, run, words, n);
}

static void nccl_read_text(struct nccl_runs *runs, const struct import_text *text)
{
	const size_t since = runs->n;
	struct host_text at;
	host_text_begin(&at, text->text, text->n);
	while (host_text_next(&at)) {
		char *words[HOST_WORDS_MAX];
		char *line = at.line;
		while (*line == ' ' || *line == '\t')
			line++;
		const bool comment = *line == '#';
		if (comment) {
			const size_t n = host_words(line + 1, words);
			nccl_read_comment(runs, text, since, &at, words, n);
			continue;
		}
		const size_t n = host_words(line, words);
		struct nccl_run *run = nccl_run_of(runs, since, &at);
		if (run)
			nccl_read_row(run, words, n);
	}
	for (size_t i = since; i < runs->n; i++) {
		struct nccl_run *run = runs->v[i];
		if (run->n_hosts == 0)
			nccl_run_add_host(runs, run, *run->tag ? run->tag : text->host);
	}
}

/* ---- comparing ------------------------------------------------------------------ */

static bool nccl_alike(const struct nccl_run *left, const struct nccl_run *right)
{
	return left->n_hosts == right->n_hosts && left->ranks == right->ranks &&
		strcmp(left->operation, right->operation) == 0;
}

static const struct nccl_size *nccl_at(const struct nccl_run *run, uint64_t bytes)
{
	for (size_t i = 0; i < run->n_sizes; i++)
		if (run->sizes[i].bytes == bytes)
			return &run->sizes[i];
	return NULL;
}

/* The largest size that all of @v have; 0: none. */
static uint64_t nccl_common(struct nccl_run *const *v, size_t n)
{
	uint64_t best = 0;
	for (size_t i = 0; i < v[0]->n_sizes; i++) {
		const uint64_t bytes = v[0]->sizes[i].bytes;
		bool all = bytes > best;
		for (size_t k = 1; k < n && all; k++)
			all = nccl_at(v[k], bytes) != NULL;
		if (all)
			best = bytes;
	}
	return best;
}

static void nccl_compare(struct nccl_run **v, size_t n, struct arena *a)
{
	const uint64_t bytes = nccl_common(v, n);
	double *values = arena_array(a, double, n + 1);
	for (size_t i = 0; i < n; i++) {
		const struct nccl_size *at = nccl_at(v[i], bytes);
		if (!at) /* no size that all have: its own largest, not compared */
			at = &v[i]->sizes[v[i]->n_sizes - 1];
		v[i]->value = values[i] = at->busbw;
		v[i]->at_bytes = at->bytes;
	}
	const double median = stats_median(values, n);
	for (size_t i = 0; i < n && bytes && n >= ALIKE_MIN && median > 0; i++)
		v[i]->ratio = v[i]->value / median;
}

/* Runs that are alike, together; false for one that was done. */
static void nccl_compare_all(struct nccl_runs *runs)
{
	bool *done = arena_array(runs->a, bool, runs->n + 1);
	struct nccl_run **v = arena_array(runs->a, struct nccl_run *, runs->n + 1);
	for (size_t i = 0; i < runs->n; i++) {
		size_t n = 0;
		for (size_t k = i; k < runs->n && !done[i]; k++) {
			if (done[k] || !runs->v[k]->n_sizes || !nccl_alike(runs->v[i], runs->v[k]))
				continue;
			v[n++] = runs->v[k];
			if (k != i)
				done[k] = true;
		}
		done[i] = true;
		if (n && runs->v[i]->n_sizes)
			nccl_compare(v, n, runs->a);
	}
}

/* ---- the document ---------------------------------------------------------------- */

struct nccl_node {
	const char *host;
	const struct nccl_run *best;
	uint64_t runs;
};

static int nccl_by_host(const void *left, const void *right)
{
	return strcmp(
		((const struct nccl_node *)left)->host, ((const struct nccl_node *)right)->host);
}

static bool nccl_better(const struct nccl_run *left, const struct nccl_run *right)
{
	if (isnan(left->ratio) != isnan(right->ratio))
		return !isnan(left->ratio);
	if (!isnan(left->ratio))
		return left->ratio > right->ratio;
	return left->value > right->value;
}

static size_t nccl_nodes(const struct nccl_runs *runs, struct nccl_node **ret)
{
	size_t n = 0, most = 0;
	for (size_t i = 0; i < runs->n; i++)
		most += runs->v[i]->n_hosts;
	struct nccl_node *v = arena_array(runs->a, struct nccl_node, most + 1);
	for (size_t i = 0; i < runs->n; i++)
		for (size_t k = 0; runs->v[i]->n_sizes && k < runs->v[i]->n_hosts; k++)
			v[n++] = (struct nccl_node){runs->v[i]->hosts[k], runs->v[i], 1};
	if (n)
		qsort(v, n, sizeof(*v), nccl_by_host);
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept && strcmp(v[kept - 1].host, v[i].host) == 0) {
			v[kept - 1].runs++;
			if (nccl_better(v[i].best, v[kept - 1].best))
				v[kept - 1].best = v[i].best;
			continue;
		}
		v[kept++] = v[i];
	}
	*ret = v;
	return kept;
}

static void nccl_node_row(json_t *doc, const struct nccl_node *node, double below)
{
	const struct nccl_run *run = node->best;
	const char *verdict = "not compared";
	if (run->ratio < below)
		verdict = "below";
	else if (!isnan(run->ratio))
		verdict = "ok";
	json_array_append_new(json_object_get(doc, "rows"),
		json_pack("{s:o, s:I, s:o, s:I, s:I, s:o, s:o, s:s}", "host",
			json_string_or_null(node->host), "runs", (json_int_t)node->runs,
			"operation", json_string_or_null(*run->operation ? run->operation : NULL),
			"ranks", (json_int_t)run->ranks, "size_bytes", (json_int_t)run->at_bytes,
			"busbw_gb_s", json_number_or_null(run->value), "of_median_ratio",
			json_number_or_null(run->ratio), "verdict", verdict));
	if (run->ratio < below)
		import_flag(doc, node->host,
			"bus bandwidth %.2f GB/s, %.0f %% of the median of runs like it%s",
			run->value, 100 * run->ratio,
			node->runs > 1 ? ", in the best of its runs" : "");
}

static void nccl_notes(json_t *doc, const struct nccl_runs *runs)
{
	size_t together = 0, compared = 0, unnamed = 0, empty = 0;
	for (size_t i = 0; i < runs->n; i++) {
		const struct nccl_run *run = runs->v[i];
		compared += !isnan(run->ratio);
		empty += run->n_sizes == 0;
		unnamed += run->n_sizes && run->n_hosts == 0;
		together += run->n_sizes && run->n_hosts > 1 && isnan(run->ratio);
		if (run->wrong > 0)
			import_flag(doc, run->n_hosts == 1 ? run->hosts[0] : "all hosts of a run",
				"%.0f wrong values in the run at %s:%u: data was damaged",
				run->wrong, run->file, run->line);
	}
	if (together)
		import_note(doc,
			"%zu run%s over several hosts at once: such a run tells one bandwidth for "
			"all "
			"of them, not which host holds it down; run it on each host, or on pairs",
			together, together == 1 ? " is" : "s are");
	if (!compared)
		import_note(doc,
			"nothing is compared: it takes three runs of the same operation and number "
			"of ranks, with a size that all have");
	if (unnamed)
		import_note(doc, "%zu runs do not say on which host they ran: give --host NAME",
			unnamed);
	if (empty)
		import_note(doc, "%zu runs have no row of results: they did not end", empty);
	if (runs->too_many)
		import_note(doc, "only the first %d runs were read", RUNS_MOST);
}

json_t *import_nccl_tests(const struct import_text *texts, size_t n, double below, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct nccl_runs runs = {.a = a};
	size_t with_rows = 0;
	for (size_t i = 0; i < n; i++)
		nccl_read_text(&runs, &texts[i]);
	for (size_t i = 0; i < runs.n; i++)
		with_rows += runs.v[i]->n_sizes > 0;
	if (!with_rows) {
		err_set(e, -EINVAL,
			"no results of nccl-tests in it: expected its table, with lines such as "
			"'# nThread 1 ...' and '  134217728 33554432 float sum -1 1542.0 87.04 "
			"163.20 "
			"0 ...'");
		return NULL;
	}
	json_t *doc = import_document("nccl-tests");
	struct nccl_node *nodes;
	nccl_compare_all(&runs);
	const size_t n_nodes = nccl_nodes(&runs, &nodes);
	for (size_t i = 0; i < n_nodes; i++)
		nccl_node_row(doc, &nodes[i], below);
	nccl_notes(doc, &runs);
	return doc;
}
