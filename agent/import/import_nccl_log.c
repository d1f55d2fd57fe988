/*
 * import_nccl_log - NCCL_DEBUG=INFO: "HOST:PID:TID [GPU] NCCL INFO ...", of any number of ranks and
 * hosts. What counts (NVIDIA/nccl, src/transport/net_ib and src/graph):
 *
 *     NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
 *     NET/IB : No device found.
 *     NET/Socket : Using [0]eth0:10.0.0.1<0>
 *     Using network IB
 *     Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/3/GDRDMA
 *
 * A NIC that most hosts picked up and one did not is missing there; one that no channel goes over
 * is idle, where the log shows channels at all.
 */
#include "agent/import/import_host.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/import/host_text.h"

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
	if (direct_elsewhere && host->channels && host->direct < host->channels)
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
			"%zu hosts have no line NET/IB or NET/Socket: NCCL_DEBUG=INFO with "
			"NCCL_DEBUG_SUBSYS=INIT,NET prints it",
			silent);
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
