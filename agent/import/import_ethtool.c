/*
 * import_ethtool - counters of NICs as their drivers print them: ethtool -S, ethtool -m, "grep .
 * /sys/class/infiniband/DEV/ports/N/hw_counters/..." and "rdma statistic". Two readings of one NIC,
 * in one file or two, give what grew between them; one gives counts since the driver was loaded,
 * which say what happened but not when.
 *
 * ethtool names no NIC. It is the word alone on the line before ("ens1f0np0:", "== ens1f0np0 =="),
 * else the one given with --nic.
 */
#include "agent/import/import_host.h"

#include "agent/document/json_value.h"
#include "db/model/metric.h"

enum { READINGS_MOST = 65536, MODULE_MAX = 64 };
enum counter_what { COUNTER_PLAIN, COUNTER_SIGN, COUNTER_BAD };

static const struct counter_row {
	const char *name;
	uint16_t metric;
	unsigned factor;
	enum counter_what what;
} counter_rows[] = {
#define NIC_COUNTER(name, metric, factor, what) {name, M_##metric, factor, COUNTER_##what},
#include "agent/import/nic_counter.def"
};
enum { COUNTERS = (int)rw_countof(counter_rows), PRIORITIES = 8 };

struct reading { /* one reading of one NIC */
	uint64_t value[COUNTERS][PRIORITIES]; /* [][0] of those without a priority */
	bool known[COUNTERS][PRIORITIES];
	size_t n_known, n_other;
	/* of ethtool -m */
	double cable_m;
	bool attached, module;
	char type[MODULE_MAX];
	double rx_dbm, tx_dbm; /* weakest lane */
	bool rx_known, tx_known;
};

struct nic_readings {
	char host[HOST_NAME_LEN], nic[HOST_NAME_LEN];
	struct reading *first, *last, *module;
	size_t n;
};

struct readings {
	struct arena *a;
	struct nic_readings **v;
	size_t n, cap, n_readings;
	struct smap *index;
	bool too_many;
};

struct cursor { /* where the text is */
	const struct import_text *text;
	char host[HOST_NAME_LEN], nic[HOST_NAME_LEN]; /* of the next reading */
	struct reading *now; /* that counters of ethtool -S go to; NULL: none */
	struct nic_readings *of;
};

/* ---- readings ---------------------------------------------------------------- */

static struct nic_readings *readings_of(struct readings *all, const char *host, const char *nic)
{
	char key[2 * HOST_NAME_LEN + 1];
	uint64_t at;
	snprintf(key, sizeof(key), "%s\n%s", host, nic);
	if (smap_get(all->index, key, strlen(key), &at))
		return all->v[at];
	if (all->n >= READINGS_MOST)
		return NULL;
	struct nic_readings *of = arena_new_of(all->a, struct nic_readings);
	snprintf(of->host, sizeof(of->host), "%s", host);
	snprintf(of->nic, sizeof(of->nic), "%s", nic);
	smap_put(all->index, key, strlen(key), all->n);
	arena_grow(all->a, all->v, all->n, all->cap);
	all->v[all->n++] = of;
	return of;
}

/* Only the first and the last reading are kept. */
static struct reading *reading_begin(struct readings *all, struct nic_readings *of)
{
	if (!of || all->n_readings >= READINGS_MOST) {
		all->too_many = true;
		return NULL;
	}
	of->n++;
	if (!of->first) {
		all->n_readings++;
		return of->first = arena_new_of(all->a, struct reading);
	}
	if (!of->last) {
		all->n_readings++;
		return of->last = arena_new_of(all->a, struct reading);
	}
	memset(of->last, 0, sizeof(*of->last));
	return of->last;
}

/* ---- counters ------------------------------------------------------------------ */

/* The row of a name, and the priority in it; -1 for one that is not known. */
static int counter_find(const char *name, size_t n, unsigned *ret_priority)
{
	for (int i = 0; i < COUNTERS; i++) {
		const char *row = counter_rows[i].name, *hole = strstr(row, "{p}");
		*ret_priority = 0;
		if (!hole) {
			if (strlen(row) == n && memcmp(row, name, n) == 0)
				return i;
			continue;
		}
		const size_t head = (size_t)(hole - row), tail = strlen(hole + 3);
		if (n != head + 1 + tail || memcmp(row, name, head) != 0 ||
			memcmp(hole + 3, name + head + 1, tail) != 0 || name[head] < '0' ||
			name[head] > '7')
			continue;
		*ret_priority = (unsigned)(name[head] - '0');
		return i;
	}
	return -1;
}

static void counter_take(struct reading *reading, const char *name, size_t n, uint64_t value)
{
	unsigned priority;
	const int i = counter_find(name, n, &priority);
	if (!reading)
		return;
	if (i < 0) {
		reading->n_other++;
		return;
	}
	reading->n_known += !reading->known[i][priority];
	reading->known[i][priority] = true;
	reading->value[i][priority] = value;
}

/* "     rx_prio3_pause: 18" */
static bool counter_read_ethtool(struct cursor *cursor, char *line)
{
	char *words[HOST_WORDS_MAX];
	uint64_t value;
	if (*line != ' ' && *line != '\t')
		return false;
	const size_t n = host_words(line, words);
	if (n != 2 || !cursor->now || !host_number(words[1], &value))
		return false;
	const size_t length = strlen(words[0]);
	if (length < 2 || words[0][length - 1] != ':')
		return false;
	counter_take(cursor->now, words[0], length - 1, value);
	return true;
}

/* One file of hw_counters begins a new reading when its counter is there already. */
static void counter_take_rdma(struct readings *all, const char *host, const char *device,
	const char *name, size_t n, uint64_t value)
{
	unsigned priority;
	struct nic_readings *of = readings_of(all, host, device);
	const int i = counter_find(name, n, &priority);
	struct reading *reading = NULL;
	if (of)
		reading = of->last ? of->last : of->first;
	if (of && (!reading || (i >= 0 && reading->known[i][priority])))
		reading = reading_begin(all, of);
	counter_take(reading, name, n, value);
}

/* "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_cnp_sent:15" */
static bool counter_read_sys(struct readings *all, const char *host, const char *line)
{
	static const char root[] = "/sys/class/infiniband/", counters[] = "/hw_counters/";
	char device[HOST_NAME_LEN];
	uint64_t value;
	if (strncmp(line, root, sizeof(root) - 1) != 0)
		return false;
	const char *from = line + sizeof(root) - 1, *slash = strchr(from, '/');
	const char *name = strstr(line, counters);
	if (!slash || !name)
		return false;
	name += sizeof(counters) - 1;
	const char *colon = strchr(name, ':');
	host_name_copy(device, from, (size_t)(slash - from));
	if (!colon || !*device || !host_number(colon + 1, &value))
		return false;
	counter_take_rdma(all, host, device, name, (size_t)(colon - name), value);
	return true;
}

/* "link mlx5_0/1 rx_write_requests 5 np_cnp_sent 15 ..." */
static bool counter_read_statistic(struct readings *all, const char *host, char *line)
{
	char *words[HOST_WORDS_MAX];
	char device[HOST_NAME_LEN];
	if (strncmp(line, "link ", 5) != 0)
		return false;
	const size_t n = host_words(line, words);
	if (n < 4)
		return false;
	const char *slash = strchr(words[1], '/');
	host_name_copy(device, words[1], slash ? (size_t)(slash - words[1]) : strlen(words[1]));
	if (!*device)
		return false;
	for (size_t i = 2; i + 1 < n; i += 2) {
		uint64_t value;
		if (host_number(words[i + 1], &value))
			counter_take_rdma(all, host, device, words[i], strlen(words[i]), value);
	}
	return true;
}

/* ---- ethtool -m ------------------------------------------------------------------ */

static void module_power(double *power, bool *known, const char *value)
{
	const char *slash = strchr(value, '/');
	char *end;
	if (!slash)
		return;
	const double dbm = strtod(slash + 1, &end);
	if (end == slash + 1 || strncmp(end, " dBm", 4) != 0 || !(dbm > -60 && dbm < 30))
		return;
	if (!*known || dbm < *power)
		*power = dbm;
	*known = true;
}

/* "Length (Copper or Active cable) : 3m": of a cable that cannot be taken off its ends, its length;
 * of an optic, what it may reach. */
static bool module_read(struct readings *all, struct cursor *cursor, const char *line)
{
	const char *colon = strstr(line, " : ");
	const char *name = line + strspn(line, " \t");
	if (!colon)
		return false;
	const char *value = colon + 3;
	if (strncmp(name, "Identifier ", 11) == 0) {
		cursor->of = readings_of(all, cursor->host, cursor->nic);
		if (!cursor->of)
			return true;
		cursor->of->module = arena_new_of(all->a, struct reading);
		cursor->of->module->module = true;
	}
	struct reading *module = cursor->of ? cursor->of->module : NULL;
	if (!module)
		return false;
	if (strncmp(name, "Connector ", 10) == 0)
		module->attached = strstr(value, "No separable") != NULL;
	if (strncmp(name, "Transmitter technology", 22) == 0 ||
		strncmp(name, "Identifier ", 11) == 0)
		snprintf(module->type, sizeof(module->type), "%s", value);
	if (strncmp(name, "Length (Copper or Active cable)", 31) == 0 ||
		strncmp(name, "Cable assembly length", 21) == 0)
		module->cable_m = strtod(value, NULL);
	if (strncmp(name, "Rcvr signal avg optical power", 29) == 0)
		module_power(&module->rx_dbm, &module->rx_known, value);
	if (strncmp(name, "Transmit avg optical power", 26) == 0)
		module_power(&module->tx_dbm, &module->tx_known, value);
	return true;
}

/* ---- text -------------------------------------------------------------------------- */

/* A line that is one word, perhaps between '=', '#' or with a colon: it names the NIC. */
static void cursor_read_name(struct cursor *cursor, char *line)
{
	char *words[HOST_WORDS_MAX];
	char *name = NULL;
	const size_t n = host_words(line, words);
	for (size_t i = 0; i < n; i++) {
		size_t length = strlen(words[i]);
		while (length && strchr("=#:-", words[i][length - 1]))
			words[i][--length] = '\0';
		char *from = words[i] + strspn(words[i], "=#:-");
		if (!*from)
			continue;
		if (name)
			return;
		name = from;
	}
	if (name && isalpha((unsigned char)*name))
		host_name_copy(cursor->nic, name, strlen(name));
}

static void ethtool_read_line(struct readings *all, struct cursor *cursor, struct host_text *at)
{
	const char *host = *at->host ? at->host : cursor->text->host;
	if (strcmp(host, cursor->host) != 0) { /* tags of several hosts */
		snprintf(cursor->host, sizeof(cursor->host), "%s", host);
		snprintf(cursor->nic, sizeof(cursor->nic), "%s", cursor->text->nic);
		cursor->now = NULL;
		cursor->of = NULL;
	}
	if (strncmp(at->line, "NIC statistics", 14) == 0) {
		cursor->of = readings_of(all, cursor->host, cursor->nic);
		cursor->now = reading_begin(all, cursor->of);
		return;
	}
	if (counter_read_sys(all, cursor->host, at->line) ||
		counter_read_statistic(all, cursor->host, at->line) ||
		module_read(all, cursor, at->line) || counter_read_ethtool(cursor, at->line))
		return;
	cursor_read_name(cursor, at->line);
}

static void ethtool_read_text(struct readings *all, const struct import_text *text)
{
	struct cursor cursor = {.text = text};
	struct host_text at;
	snprintf(cursor.host, sizeof(cursor.host), "%s", text->host);
	snprintf(cursor.nic, sizeof(cursor.nic), "%s", text->nic);
	host_text_begin(&at, text->text, text->n);
	while (host_text_next(&at))
		ethtool_read_line(all, &cursor, &at);
}

/* ---- the document ------------------------------------------------------------------- */

static void counter_label(char *ret, size_t size, const struct counter_row *row, unsigned priority)
{
	const char *hole = strstr(row->name, "{p}");
	if (hole)
		snprintf(ret, size, "%.*s%u%s", (int)(hole - row->name), row->name, priority,
			hole + 3);
	else
		snprintf(ret, size, "%s", row->name);
}

static const char *ethtool_place(const struct nic_readings *of)
{
	if (*of->host)
		return of->host;
	return "this host";
}

static void counter_flag(json_t *doc, const struct nic_readings *of, const char *label,
	const struct counter_row *row, double grew)
{
	const struct metric_info *info = metric_info(row->metric);
	if (row->what == COUNTER_BAD && grew > 0)
		import_flag(doc, ethtool_place(of), "%s%s%s grew by %.0f: %s", str_or(of->nic, ""),
			*of->nic ? ": " : "", label, grew, info->help);
}

/* A count, exact where JSON can hold it. */
static json_t *counter_json(uint64_t value, unsigned factor)
{
	uint64_t scaled;
	if (__builtin_mul_overflow(value, (uint64_t)factor, &scaled) || scaled > INT64_MAX)
		return json_number_or_null((double)value * factor);
	return json_integer((json_int_t)scaled);
}

static void counter_put(
	json_t *doc, const struct nic_readings *of, int i, unsigned priority, size_t *resets)
{
	const struct counter_row *row = &counter_rows[i];
	const struct metric_info *info = metric_info(row->metric);
	const struct reading *newest = of->last ? of->last : of->first;
	char label[64];
	if (!newest->known[i][priority])
		return;
	const uint64_t value = newest->value[i][priority];
	json_t *grew = json_null();
	counter_label(label, sizeof(label), row, priority);
	if (of->last && of->first->known[i][priority]) {
		const uint64_t before = of->first->value[i][priority];
		if (value < before) {
			(*resets)++;
		} else {
			grew = counter_json(value - before, row->factor);
			counter_flag(doc, of, label, row, (double)(value - before));
		}
	}
	if (value == 0 && json_is_null(grew)) {
		json_decref(grew);
		return;
	}
	json_array_append_new(json_object_get(doc, "rows"),
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:s, s:o}", "host",
			json_string_or_null(*of->host ? of->host : NULL), "nic",
			json_string_or_null(*of->nic ? of->nic : NULL), "counter",
			json_string_or_null(label), "value", counter_json(value, row->factor),
			"grew", grew, "unit", info->unit, "metric", info->name, "priority",
			info->scope == SCOPE_PRIO ? json_integer(priority) : json_null()));
}

static void module_row(json_t *doc, const struct nic_readings *of, const char *counter,
	unsigned metric, json_t *value)
{
	const struct metric_info *info = metric_info(metric);
	json_array_append_new(json_object_get(doc, "rows"),
		json_pack("{s:o, s:o, s:s, s:o, s:n, s:s, s:s, s:n}", "host",
			json_string_or_null(*of->host ? of->host : NULL), "nic",
			json_string_or_null(*of->nic ? of->nic : NULL), "counter", counter, "value",
			value, "grew", "unit", info->unit, "metric", info->name, "priority"));
}

static void module_put(json_t *doc, const struct nic_readings *of)
{
	const struct reading *module = of->module;
	if (!module)
		return;
	module_row(doc, of, "cable type", M_NIC_CABLE_TYPE, json_string_or_null(module->type));
	if (module->attached && module->cable_m > 0)
		module_row(
			doc, of, "cable length", M_NIC_CABLE, json_number_or_null(module->cable_m));
	else if (module->cable_m > 0)
		import_note(doc,
			"%s%s%s: the module is no cable of its own; the %.4g m that it states are "
			"its "
			"reach, not the length of the fibre",
			ethtool_place(of), *of->nic ? " " : "", of->nic, module->cable_m);
	if (module->rx_known)
		module_row(doc, of, "rx power, weakest lane", M_NIC_RX_POWER,
			json_number_or_null(module->rx_dbm));
	if (module->tx_known)
		module_row(doc, of, "tx power, weakest lane", M_NIC_TX_POWER,
			json_number_or_null(module->tx_dbm));
}

static int ethtool_by_name(const void *left, const void *right)
{
	const struct nic_readings *x = *(struct nic_readings *const *)left,
				  *y = *(struct nic_readings *const *)right;
	const int hosts = strcmp(x->host, y->host);
	return hosts ? hosts : strcmp(x->nic, y->nic);
}

static json_t *ethtool_document(struct readings *all)
{
	json_t *doc = import_document("ethtool");
	size_t single = 0, resets = 0, other = 0, unnamed = 0;
	qsort(all->v, all->n, sizeof(*all->v), ethtool_by_name);
	for (size_t k = 0; k < all->n; k++) {
		const struct nic_readings *of = all->v[k];
		for (int i = 0; of->first && i < COUNTERS; i++)
			for (unsigned p = 0; p < PRIORITIES; p++)
				counter_put(doc, of, i, p, &resets);
		module_put(doc, of);
		single += of->first && !of->last;
		unnamed += !*of->nic;
		if (of->first)
			other += of->first->n_other;
	}
	if (single)
		import_note(doc,
			"one reading of %zu NIC%s: these are counts since the driver was loaded; a "
			"second "
			"reading some seconds later shows what grows (import ethtool FIRST SECOND)",
			single, single == 1 ? "" : "s");
	if (resets)
		import_note(doc,
			"%zu counters are lower in the later reading: the NIC was reset in "
			"between, "
			"and what they grew is not known",
			resets);
	if (unnamed)
		import_note(doc, "ethtool does not say which NIC this is: give --nic NAME");
	if (other)
		import_note(doc, "%zu other counters are not used here", other);
	if (all->too_many)
		import_note(doc, "only the first %d readings were read", READINGS_MOST);
	return doc;
}

json_t *import_ethtool(const struct import_text *texts, size_t n, double below, struct err *e)
{
	(void)below;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct readings all = {.a = a, .index = smap_new()};
	json_t *doc = NULL;
	size_t found = 0;
	for (size_t i = 0; i < n; i++)
		ethtool_read_text(&all, &texts[i]);
	for (size_t k = 0; k < all.n; k++)
		found += all.v[k]->module != NULL ||
			(all.v[k]->first &&
				all.v[k]->first->n_known + all.v[k]->first->n_other > 0);
	if (found)
		doc = ethtool_document(&all);
	else
		err_set(e, -EINVAL,
			"no counters of a NIC in it: expected ethtool -S ('NIC statistics:', then "
			"'     rx_prio3_pause: 18'), ethtool -m, lines of "
			"/sys/class/infiniband/*/ports/1/hw_counters/*, or rdma statistic");
	smap_free(all.index);
	return doc;
}
