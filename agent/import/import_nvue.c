/* import_nvue - reads one NVUE document of Cumulus Linux into a device and its thresholds. */
#include <jansson.h>

#include "agent/import/import_internal.h"
#include "config/class_policy.h"

/* every port that has no profile of its own; as import_print writes it */
#define EVERY_PORT "*"
#define EVERY_PROFILE "default-global"

struct nvue_file {
	struct import_set *set;
	struct import_device *device;
	const json_t *tree;
	const char *name;
	struct err_list *errors, *warnings;
};

__attribute__((format(printf, 3, 4))) static void nvue_said(
	const struct nvue_file *file, struct err_list *to, const char *fmt, ...)
{
	struct err e = {0};
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_at(&e, -EINVAL, file->name, 0, 0, "%s", text);
	err_list_add(to, &e);
}

/* ---- lists ----------------------------------------------------------------- */

/* nvue_mask - "4,5,7" or "3-4" as bits; 0: it is neither. */
static unsigned nvue_mask(const char *text)
{
	uint8_t mask;
	if (class_priorities_read(text, &mask, NULL) < 0)
		return 0;
	return mask;
}

/* nvue_row - of an object whose keys are lists of numbers, the first that has @number. */
static const json_t *nvue_row(const json_t *rows, unsigned number)
{
	const char *key;
	json_t *row;
	json_object_foreach ((json_t *)rows, key, row)
		if (nvue_mask(key) & 1u << number)
			return row;
	return NULL;
}

/* ---- thresholds ------------------------------------------------------------ */

/* What stands in a traffic class; its defaults, and the most that is taken (CumulusNetworks/docs
 * 6d60f632, cumulus-linux-518 Quality-of-Service, Congestion Control and Dynamic ECN). */
struct nvue_class {
	double kmin, kmax, kmin_percent, kmax_percent, probability;
};
static const struct {
	const char *key;
	size_t offset;
	double absent, most;
} nvue_numbers[] = {
	{"min-threshold", offsetof(struct nvue_class, kmin), 0, 1ull << 40},
	{"max-threshold", offsetof(struct nvue_class, kmax), 0, 1ull << 40},
	{"min-threshold-percent", offsetof(struct nvue_class, kmin_percent), 0, 100},
	{"max-threshold-percent", offsetof(struct nvue_class, kmax_percent), 100, 100},
	{"probability", offsetof(struct nvue_class, probability), 100, 100},
};

/* nvue_class_read - what is there and no number is reported. */
static void nvue_class_read(
	const struct nvue_file *file, const json_t *row, const char *place, struct nvue_class *ret)
{
	for (size_t i = 0; i < rw_countof(nvue_numbers); i++) {
		const json_t *value = IMPORT_AT(row, nvue_numbers[i].key);
		double *to = (double *)((char *)ret + nvue_numbers[i].offset);
		*to = nvue_numbers[i].absent;
		if (!value)
			continue;
		const double number = json_number_value(value);
		if (json_is_number(value) && number >= 0 && number <= nvue_numbers[i].most)
			*to = number;
		else
			nvue_said(file, file->errors, "%s: %s: expected a number from 0 to %.0f",
				place, nvue_numbers[i].key, nvue_numbers[i].most);
	}
}

/* ECN of a traffic class. In "mode relative" the hardware ignores bytes. */
static void nvue_ecn(const struct nvue_file *file, const char *profile, unsigned queue,
	const json_t *row, struct import_row *to)
{
	char place[160];
	struct nvue_class class;
	snprintf(place, sizeof(place), "qos congestion-control %.80s traffic-class %u", profile,
		queue);
	if (!row || str_eq(json_string_value(IMPORT_AT(row, "ecn")), "disable")) {
		if (!str_eq(profile, EVERY_PROFILE))
			to->pmax = 0; /* what holds for every port does not hold here */
		return;
	}
	nvue_class_read(file, row, place, &class);
	to->pmax = class.probability / 100;
	if (str_eq(json_string_value(IMPORT_AT(row, "mode")), "relative")) {
		to->kmin_share = class.kmin_percent / 100;
		to->kmax_share = class.kmax_percent / 100;
		return;
	}
	to->kmin = (uint64_t) class.kmin;
	to->kmax = (uint64_t) class.kmax;
	if (to->kmax && to->kmin > to->kmax)
		nvue_said(file, file->errors, "%s: min-threshold is above max-threshold", place);
}

/* nvue_profile - the profile of @kind ("pfc") that the interface names; else that of every port. */
static const char *nvue_profile(const json_t *interface, const char *kind)
{
	const json_t *named = IMPORT_AT(interface, "qos", kind, "profile");
	return str_or(json_string_value(named), EVERY_PROFILE);
}

static unsigned nvue_lossless(const json_t *pfc)
{
	const char *key;
	json_t *row;
	unsigned mask = 0;
	json_object_foreach ((json_t *)IMPORT_AT(pfc, "switch-priority"), key, row)
		mask |= nvue_mask(key);
	return mask;
}

/* ---- classes of packets ---------------------------------------------------- */

/* nvue_dscp - the rows that are written over the switch's own, which are eight DSCPs for each
 * priority (CumulusNetworks/docs, Quality-of-Service, Trust DSCP); a row may be of several DSCPs,
 * "10,21". */
static const uint8_t *nvue_dscp(
	const struct nvue_file *file, const char *profile, const json_t *written)
{
	const char *key;
	json_t *row;
	uint8_t *map = arena_array(file->set->arena, uint8_t, CLASS_DSCPS);
	for (unsigned i = 0; i < CLASS_DSCPS; i++)
		map[i] = (uint8_t)(i / (CLASS_DSCPS / IMPORT_PRIORITIES));
	json_object_foreach ((json_t *)written, key, row) {
		const json_int_t priority = json_integer_value(IMPORT_AT(row, "switch-priority"));
		rw_cleanup(freep) char *list = rw_strdup(key);
		char *rest = list, *one;
		while ((one = strsep(&rest, ","))) {
			uint8_t rows[CLASS_DSCPS];
			char text[64];
			snprintf(text, sizeof(text), "%.30s:%lld", one, (long long)priority);
			if (class_map_read(text, CLASS_DSCPS, rows, NULL) < 0) {
				nvue_said(file, file->errors,
					"qos mapping %.80s dscp %.80s: expected DSCPs from 0 to 63 "
					"and a switch-priority from 0 to 7",
					profile, key);
				return NULL;
			}
			for (unsigned i = 0; i < CLASS_DSCPS; i++)
				if (rows[i] != CLASS_NO_ROW)
					map[i] = rows[i];
		}
	}
	return map;
}

/* Where DSCPs are trusted, or both; tagged or not, a routed packet has one. */
static void nvue_classes(
	const struct nvue_file *file, const json_t *interface, struct import_port *port)
{
	const char *profile = nvue_profile(interface, "mapping");
	const json_t *mapping = IMPORT_AT(file->tree, "qos", "mapping", profile);
	const char *trust = json_string_value(IMPORT_AT(mapping, "trust"));
	if (str_eq(trust, "l2"))
		port->trust = "pcp";
	if (!str_eq(trust, "l3") && !str_eq(trust, "both"))
		return;
	port->trust = "dscp";
	port->dscp = nvue_dscp(file, profile, IMPORT_AT(mapping, "dscp"));
}

/* nvue_port - @interface NULL: every port without a profile of its own. */
static void nvue_port(struct nvue_file *file, const char *name, const json_t *interface)
{
	const json_t *qos = IMPORT_AT(file->tree, "qos");
	const char *pfc = nvue_profile(interface, "pfc");
	const char *ecn = nvue_profile(interface, "congestion-control");
	const unsigned mask = nvue_lossless(IMPORT_AT(qos, "pfc", pfc));
	struct import_port *port = import_port(file->set, file->device, name, true);
	if (!port) {
		nvue_said(file, file->errors, "more than %d ports", IMPORT_PORTS_MAX);
		return;
	}
	for (unsigned i = 0; i < IMPORT_PRIORITIES; i++) {
		if (!(mask & 1u << i))
			continue;
		const json_t *map = nvue_row(
			IMPORT_AT(qos, "egress-queue-mapping", EVERY_PROFILE, "switch-priority"),
			i);
		const json_t *class = IMPORT_AT(map, "traffic-class");
		unsigned queue = i;
		if (json_is_integer(class) && json_integer_value(class) >= 0 &&
			json_integer_value(class) < IMPORT_PRIORITIES)
			queue = (unsigned)json_integer_value(class);
		port->rows[i].lossless = true;
		nvue_ecn(file, ecn, queue,
			nvue_row(IMPORT_AT(qos, "congestion-control", ecn, "traffic-class"), queue),
			&port->rows[i]);
	}
	nvue_classes(file, interface, port);
	file->set->lossless |= mask;
	file->device->lossless |= mask;
}

/* ---- interfaces ------------------------------------------------------------ */

/* nvue_ports - the ports that @key names: "swp1", "swp1-4,6" or "swp1s0-3". */
static void nvue_ports(struct nvue_file *file, const char *key, const json_t *interface)
{
	rw_cleanup(freep) char *list = rw_strdup(key);
	char *rest = list, *one, prefix[64] = "";
	while ((one = strsep(&rest, ","))) {
		const char *dash = strrchr(one, '-');
		const char *digits = dash ? dash : one + strlen(one);
		while (digits > one && isdigit((unsigned char)digits[-1]))
			digits--;
		if (digits > one)
			snprintf(prefix, sizeof(prefix), "%.*s", (int)(digits - one), one);
		const unsigned long first = strtoul(digits, NULL, 10);
		const unsigned long last = dash ? strtoul(dash + 1, NULL, 10) : first;
		if (!isdigit((unsigned char)*digits) || !import_is_device_name(prefix) ||
			last < first || last - first >= IMPORT_PORTS_MAX) {
			nvue_said(file, file->errors, "interface '%.80s' is no list of ports", key);
			return;
		}
		for (unsigned long i = first; i <= last; i++) {
			char name[96];
			snprintf(name, sizeof(name), "%s%lu", prefix, i);
			nvue_port(file, name, interface);
		}
	}
}

static void nvue_interfaces(struct nvue_file *file)
{
	const char *key;
	json_t *interface;
	json_object_foreach ((json_t *)IMPORT_AT(file->tree, "interface"), key, interface)
		if (IMPORT_AT(interface, "qos", "pfc", "profile") ||
			IMPORT_AT(interface, "qos", "congestion-control", "profile") ||
			IMPORT_AT(interface, "qos", "mapping", "profile"))
			nvue_ports(file, key, interface);
	nvue_port(file, EVERY_PORT, NULL);
}

/* ---- the file -------------------------------------------------------------- */

/* nvue_device - false when it is not known whose file it is. */
static bool nvue_device(struct nvue_file *file)
{
	const char *name = json_string_value(IMPORT_AT(file->tree, "system", "hostname"));
	struct import_set *set = file->set;
	if (!name || !import_is_device_name(name)) {
		nvue_said(file, file->errors,
			"system hostname is missing, or no name; it names the device");
		return false;
	}
	struct import_device *device = import_device(set, name);
	if (device->own) {
		nvue_said(file, file->errors, "'%s' was in another file already", name);
		return false;
	}
	file->device = device;
	device->own = true;
	device->no_links = true;
	device->profile = "cumulus";
	device->file = arena_strdup(set->arena, file->name);
	set->discover = true;
	return true;
}

/* nvue_tree - of "nv config show -o json", a list with "set" in it, or of a GET of the root. */
static const json_t *nvue_tree(const json_t *root)
{
	size_t i;
	json_t *item;
	json_array_foreach (root, i, item)
		if (json_is_object(IMPORT_AT(item, "set")))
			return IMPORT_AT(item, "set");
	return IMPORT_AT(root, "qos") || IMPORT_AT(root, "system") ? root : NULL;
}

int import_nvue(struct import_set *set, const char *text, size_t n, const char *name,
	struct err_list *errors, struct err_list *warnings)
{
	struct nvue_file file = {.set = set, .name = name, .errors = errors, .warnings = warnings};
	const size_t before = errors->n;
	json_error_t at;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
	struct err e = {0};
	file.tree = nvue_tree(root);
	if (!root) {
		err_at(&e, -EINVAL, name, at.line, at.column, "%s", at.text);
		err_list_add(errors, &e);
	} else if (!file.tree) {
		nvue_said(&file, errors,
			"this is another kind of JSON; expected 'nv config show -o json', or what "
			"a GET of /nvue_v1/ answers");
	} else if (nvue_device(&file)) {
		nvue_interfaces(&file);
		if (!file.device->lossless)
			nvue_said(&file, warnings,
				"%s: no priority is lossless (qos pfc): no thresholds taken%s",
				file.device->name,
				str_if(IMPORT_AT(file.tree, "qos", "roce") != NULL,
					"; what 'qos roce' sets is in the operational tree only: "
					"give what a GET of /nvue_v1/?rev=operational answers"));
	}
	json_decref(root);
	return errors->n > before ? -EINVAL : 0;
}
