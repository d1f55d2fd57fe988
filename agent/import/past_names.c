/* past_names - the names of one profile (section push:, config/profile/profile_push.h) as series of
 * a time series database, and the devices of one fabric as the labels there name them. */
#include "agent/import/past_internal.h"

#include "config/config.h"
#include "config/fabric.h"
#include "config/profile/profile.h"
#include "config/profile/profile_push.h"
#include "config/profile/profile_read.h"

#define PROFILE_FILE_MAX ((size_t)1 << 20)
#define OWN_PROFILE "rocewatch" /* made of the metrics themselves */
#define VALUES_BITS 8 /* PROFILE_PUSH_VALUES_MAX values of a group */

extern const struct profile_text past_texts[]; /* agent/import/past/, generated */

struct past_names {
	struct arena *a;
	struct profiles *profiles;
	const struct profile *profile;
	struct push_map *map;
	const char *prefix;
	enum past_api api;
	const char *match;
	const char **patterns; /* of names, each a regular expression, with the prefix */
	size_t n_patterns, cap_patterns;
	struct smap *devices; /* what a label may say -> the name, 0: of several devices */
};

/* ---- the profile ------------------------------------------------------------ */

static void own_group(struct str *out, enum metric_scope scope, const char *head)
{
	str_add(out, head);
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		rw_cleanup(freep) char *name = rw_strdup(info->name);
		for (char *p = name; *p; p++)
			if (*p == '.')
				*p = '_';
		if (info->scope == scope && info->type != TYPE_TEXT)
			str_addf(out, "      - { name: rocewatch_%s, metric: %s }\n", name,
				info->name);
	}
}

/* What rocewatch itself writes by remote write (db/ship): every metric, by its name. */
static void own_profile(struct str *out)
{
	str_add(out, "name: " OWN_PROFILE "\ndoc: what agents ship by remote write\npush:\n");
	own_group(out, SCOPE_PORT,
		"  - name: ports\n    device: device\n    port: port\n    values:\n");
	own_group(out, SCOPE_PRIO,
		"  - name: priorities\n    device: device\n    port: port\n    priority: priority\n"
		"    values:\n");
	own_group(out, SCOPE_DEVICE,
		"  - name: devices\n    device: device\n    port: port\n"
		"    values:\n");
}

/* "builtin:snmp_exporter.yaml" */
static bool past_text_is(const struct profile_text *text, const char *name)
{
	const char *file = strchr(text->file, ':') + 1;
	const size_t n = strlen(name);
	return strncmp(file, name, n) == 0 && strcmp(file + n, ".yaml") == 0;
}

/* Adds the names of the profiles made for this, with commas between them. */
static void past_profiles(struct str *out)
{
	for (const struct profile_text *text = past_texts; text->file; text++) {
		const char *file = strchr(text->file, ':') + 1;
		str_addf(out, "%.*s, ", (int)strcspn(file, "."), file);
	}
	str_add(out, OWN_PROFILE);
}

/* The profile has the name of its file, as site profiles have. */
static int names_parse(
	struct past_names *names, const char *text, size_t n, const char *file, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	const char *stem = file + strlen(file);
	while (stem > file && stem[-1] != '/' && stem[-1] != ':')
		stem--;
	const char *name = arena_strndup(names->a, stem, strcspn(stem, "."));
	const int rc = profiles_parse(text, n, file, &names->profiles, &errors);
	if (rc < 0 && errors.n)
		*e = errors.v[0];
	if (rc < 0)
		return rc;
	names->profile = profiles_get(names->profiles, name);
	if (names->profile && names->profile->n_push)
		return 0;
	return err_at(e, -EINVAL, file, 0, 0,
		"has no profile '%.64s' with a section push:, which says what series mean: a "
		"profile has the name of its file",
		name);
}

static int names_load_file(struct past_names *names, const char *path, struct err *e)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n;
	const int rc = str_read_file(path, PROFILE_FILE_MAX, &text, &n, e);
	if (rc < 0)
		return rc;
	return names_parse(names, text, n, path, e);
}

static int names_load_built_in(struct past_names *names, const char *name, struct err *e)
{
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(str_done) struct str known = {0};
	int rc = profiles_load(NULL, &names->profiles, &errors);
	if (rc < 0)
		return err_set(e, rc, "the built-in profiles cannot be read");
	names->profile = profiles_get(names->profiles, name);
	if (names->profile && names->profile->n_push)
		return 0;
	past_profiles(&known);
	return err_set(e, -EINVAL,
		"--profile: '%.64s' says nothing of series; there are %s, the built-in profiles "
		"that have a section push:, and FILE.yaml with one",
		name, known.s);
}

static int names_load(struct past_names *names, const char *name, struct err *e)
{
	rw_cleanup(str_done) struct str own = {0};
	for (const struct profile_text *text = past_texts; text->file; text++)
		if (past_text_is(text, name))
			return names_parse(names, text->text, text->n, text->file, e);
	if (str_eq(name, OWN_PROFILE)) {
		own_profile(&own);
		return names_parse(names, own.s, own.n, "builtin:" OWN_PROFILE, e);
	}
	if (strchr(name, '/') || str_glob("*.yaml", name))
		return names_load_file(names, name, e);
	return names_load_built_in(names, name, e);
}

/* ---- the selector ------------------------------------------------------------ */

static bool name_can_be(const char *text)
{
	return !text[strspn(
		text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:")];
}

/* "rx_prio{priority}_pause" -> "rx_prio[0-9]+_pause"; other names than Prometheus has are none. */
static bool selector_add(struct str *out, const char *name)
{
	rw_cleanup(str_done) struct str pattern = {0};
	const char *open = strchr(name, '{'), *close = strchr(name, '}');
	if (open && close)
		str_addf(&pattern, "%.*s0%s", (int)(open - name), name, close + 1);
	if (!name_can_be(str_or(pattern.s, name)))
		return false;
	if (open)
		str_addf(out, "%.*s[0-9]+%s", (int)(open - name), name, close + 1);
	else
		str_add(out, name);
	return true;
}

static int names_patterns(struct past_names *names, const struct past_ask *ask, struct err *e)
{
	if (!name_can_be(ask->prefix))
		return err_set(e, -EINVAL, "--prefix: '%.64s' cannot begin a name", ask->prefix);
	for (size_t g = 0; g < names->profile->n_push; g++)
		for (size_t v = 0; v < names->profile->push[g]->n_values; v++) {
			rw_cleanup(str_done) struct str one = {0};
			str_add(&one, ask->prefix);
			if (!selector_add(&one, names->profile->push[g]->values[v].name))
				continue;
			arena_grow(
				names->a, names->patterns, names->n_patterns, names->cap_patterns);
			names->patterns[names->n_patterns++] = arena_strdup(names->a, one.s);
		}
	if (names->n_patterns == 0)
		return err_set(e, -EINVAL, "--profile: '%.64s' has no name that a series can have",
			ask->profile);
	return 0;
}

/* One more of the alternatives of a regular expression, once. */
static void alternative_add(struct smap *known, struct str *to, const char *text, size_t n)
{
	uint64_t before;
	if (smap_get(known, text, n, &before))
		return;
	smap_put(known, text, n, 0);
	str_add(to, str_if(to->n, "|"));
	str_addn(to, text, n);
}

/* InfluxDB has measurement and field apart, and either may hold a '_': every way to part a name. */
static void select_influx(
	const struct past_names *names, size_t part, size_t parts, struct str *out)
{
	rw_cleanup(str_done) struct str measurements = {0}, fields = {0};
	struct smap *known_measurements = smap_new(), *known_fields = smap_new();
	for (size_t i = part; i < names->n_patterns; i += parts) {
		const char *name = names->patterns[i];
		for (const char *at = strchr(name, '_'); at; at = strchr(at + 1, '_')) {
			alternative_add(
				known_measurements, &measurements, name, (size_t)(at - name));
			alternative_add(known_fields, &fields, at + 1, strlen(at + 1));
		}
	}
	str_addf(out, "SELECT /^(?:%s)$/ FROM /^(?:%s)$/ WHERE %s%s%s", str_or(fields.s, ""),
		str_or(measurements.s, ""), str_if(*names->match, "("), names->match,
		str_if(*names->match, ") AND "));
	smap_free(known_measurements);
	smap_free(known_fields);
}

size_t past_names_count(const struct past_names *names)
{
	return names->n_patterns;
}

void past_names_select(const struct past_names *names, size_t part, size_t parts, struct str *out)
{
	if (names->api == PAST_INFLUX) {
		select_influx(names, part, parts, out);
		return;
	}
	str_add(out, "{__name__=~\"");
	for (size_t i = part; i < names->n_patterns; i += parts)
		str_addf(out, "%s%s", str_if(i > part, "|"), names->patterns[i]);
	str_addf(out, "\"%s%s}", str_if(*names->match, ","), names->match);
}

/* ---- devices ------------------------------------------------------------------ */

/* What two devices share names neither. */
static void device_called(struct past_names *names, const char *text, const char *name)
{
	uint64_t before;
	if (!text || !*text)
		return;
	if (!smap_get(names->devices, text, strlen(text), &before))
		smap_put(names->devices, text, strlen(text), (uint64_t)(uintptr_t)name);
	else if (before && strcmp((const char *)(uintptr_t)before, name) != 0)
		smap_put(names->devices, text, strlen(text), 0);
}

static void names_devices(struct past_names *names, const struct config *config)
{
	const struct fabric *fabric = config->fabric;
	for (size_t i = 0; i < fabric->n_devices; i++) {
		const struct fabric_device *device = fabric->devices[i];
		device_called(names, device->name, device->name);
		for (size_t p = 0; p < device->n_ports; p++)
			device_called(names, device->ports[p]->host, device->ports[p]->host);
	}
	for (size_t i = 0; i < config->n_devices; i++) {
		const struct config_device *device = &config->devices[i];
		if (device->snmp) {
			device_called(names, device->snmp->address_read, device->name);
			device_called(names, device->snmp->address, device->name);
		}
		if (device->gnmi) {
			device_called(names, device->gnmi->address_read, device->name);
			device_called(names, device->gnmi->address, device->name);
		}
	}
}

static const char *device_find(const struct past_names *names, const char *text, size_t n)
{
	uint64_t found;
	if (!smap_get(names->devices, text, n, &found))
		return NULL;
	return (const char *)(uintptr_t)found;
}

/* "leaf1", "leaf1.example.net:9116", "192.0.2.11:161": as it stands, without the port, without the
 * domain. */
static const char *device_called_so(const struct past_names *names, const struct push_label *told)
{
	const char *found = device_find(names, told->value, told->n_value);
	size_t end = told->n_value;
	while (end > 0 && told->value[end - 1] >= '0' && told->value[end - 1] <= '9')
		end--;
	if (!found && end > 1 && told->value[end - 1] == ':')
		found = device_find(names, told->value, end - 1);
	const char *dot = memchr(told->value, '.', told->n_value);
	if (!found && dot)
		found = device_find(names, told->value, (size_t)(dot - told->value));
	return found;
}

/* By the first label that the fabric knows; "instance" where the profile's are not there. */
const char *past_names_device(const struct past_names *names, const struct push_rule *rule,
	const struct push_label *labels, size_t n, const struct push_label **ret_told)
{
	const struct profile_push_labels *keys = &rule->group->device;
	const char *found = NULL;
	*ret_told = NULL;
	for (size_t i = 0; i <= keys->n && !found; i++) {
		const char *key = i < keys->n ? keys->v[i] : "instance";
		const struct push_label *told = push_label_of(labels, n, key);
		if (told && (i < keys->n || !*ret_told))
			found = device_called_so(names, told);
		if (told && (found || !*ret_told))
			*ret_told = told;
	}
	return found;
}

/* ---- meanings ------------------------------------------------------------------- */

const struct push_rule *past_names_rule(const struct past_names *names,
	const struct push_label *labels, size_t n, const struct push_rule *after)
{
	const struct push_label *name = push_label_of(labels, n, "__name__");
	const size_t cut = strlen(names->prefix);
	const struct push_rule *rule = NULL;
	if (after)
		rule = after->next;
	else if (name && name->n_value > cut && memcmp(name->value, names->prefix, cut) == 0)
		rule = push_map_find(names->map, name->value + cut, name->n_value - cut);
	while (rule && (rule->profile != names->profile || !push_rule_fits(rule, labels, n)))
		rule = rule->next;
	return rule;
}

uint16_t past_rule_number(const struct past_names *names, const struct push_rule *rule)
{
	size_t g = 0;
	while (names->profile->push[g] != rule->group)
		g++;
	return (uint16_t)(g << VALUES_BITS | (size_t)(rule->value - rule->group->values));
}

const struct profile_push_value *past_names_value(const struct past_names *names, uint16_t number)
{
	const struct profile_push_group *group = names->profile->push[number >> VALUES_BITS];
	return &group->values[number & ((1u << VALUES_BITS) - 1)];
}

struct past_names *past_names_new(const struct past_ask *ask, struct err *e)
{
	struct past_names *names = rw_calloc(1, sizeof(*names));
	names->a = arena_new();
	names->devices = smap_new();
	names->prefix = arena_strdup(names->a, ask->prefix);
	names->match = arena_strdup(names->a, ask->match);
	names->api = ask->api;
	if (names_load(names, ask->profile, e) < 0 || names_patterns(names, ask, e) < 0) {
		past_names_free(names);
		return NULL;
	}
	names->map = push_map_new(names->profiles);
	names_devices(names, ask->config);
	return names;
}

void past_names_free(struct past_names *names)
{
	if (!names)
		return;
	push_map_free(names->map);
	profiles_free(names->profiles);
	smap_free(names->devices);
	arena_free(names->a);
	free(names);
}
