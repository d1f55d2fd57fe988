/* thresholds - see thresholds.h. */
#include "tests/fabric/thresholds.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/fabric/recorder.h"

enum unit { UNIT_SIZE, UNIT_RATIO };
struct threshold {
	const char *name;
	enum unit unit;
	size_t offset;
	double least, most;
	int repairs; /* a fault that is a wrong setting of this; -1: none */
	enum knob knob;
};
static const struct threshold keys[] = {
	{"kmin", UNIT_SIZE, offsetof(struct scenario, kmin_bytes), 0, 1e9, FAULT_ECN_LATE,
		KNOB_KMIN},
	{"kmax", UNIT_SIZE, offsetof(struct scenario, kmax_bytes), 1, 1e9, FAULT_ECN_LATE,
		KNOB_KMAX},
	{"pmax", UNIT_RATIO, offsetof(struct scenario, pmax), 0.0001, 1, -1, KNOB_PMAX},
	{"alpha", UNIT_RATIO, offsetof(struct scenario, alpha), 1.0 / 128, 128, -1, KNOB_ALPHA},
	{"headroom", UNIT_SIZE, offsetof(struct scenario, headroom_bytes), 1, 1e9, FAULT_HEADROOM,
		KNOB_HEADROOM},
	{"xon_offset", UNIT_SIZE, offsetof(struct scenario, xon_offset_bytes), 0, 1e9,
		FAULT_XON_CLOSE, KNOB_XON_OFFSET},
};

const struct threshold *threshold_find(const char *key)
{
	for (size_t i = 0; i < rw_countof(keys); i++)
		if (str_eq(keys[i].name, key))
			return &keys[i];
	return NULL;
}
size_t threshold_count(void)
{
	return rw_countof(keys);
}
const struct threshold *threshold_at(size_t i)
{
	return &keys[i];
}
const char *threshold_name(const struct threshold *k)
{
	return k->name;
}
bool threshold_is_size(const struct threshold *k)
{
	return k->unit == UNIT_SIZE;
}
enum knob threshold_knob(const struct threshold *k)
{
	return k->knob;
}
double threshold_value(const struct scenario *s, const struct threshold *k)
{
	return *(const double *)((const char *)s + k->offset);
}

void switch_name(const struct scenario *s, size_t device, char *buf, size_t size)
{
	const size_t leaves = (size_t)s->leaves;
	const struct sim_node n = {.kind = device < leaves ? NODE_LEAF : NODE_SPINE,
		.index = (unsigned)(device < leaves ? device : device - leaves)};
	device_name(s, &n, 0, buf, size);
}

static int read_value(const struct threshold *k, const char *text, double *ret, struct err *e)
{
	uint64_t bytes = 0;
	int rc = k->unit == UNIT_RATIO ? unit_ratio(text, ret, e) : unit_size(text, &bytes, e);
	if (k->unit == UNIT_SIZE)
		*ret = (double)bytes;
	if (rc == 0 && (*ret < k->least || *ret > k->most))
		rc = err_set(e, -ERANGE, "%s: '%.40s' is not valid; expected %g to %g", k->name,
			text, k->least, k->most);
	return rc;
}

static void drop(struct scenario *s, enum knob knob, enum port_side ports, size_t device)
{
	size_t kept = 0;
	for (size_t i = 0; i < s->n_settings; i++) {
		const struct override *o = &s->settings[i];
		if (o->knob != knob || (device != SIZE_MAX && o->device != device) ||
			(ports != OF_ALL_PORTS && o->ports != ports))
			s->settings[kept++] = *o;
	}
	/* the bytes of a scenario are its key in a cache */
	memset(s->settings + kept, 0, (SETTINGS_MAX - kept) * sizeof(*s->settings));
	s->n_settings = kept;
}

static void add(
	struct scenario *s, enum knob knob, enum port_side ports, size_t device, double value)
{
	struct override *o = &s->settings[s->n_settings++]; /* its padding stays zero, see drop() */
	o->knob = knob;
	o->ports = ports;
	o->device = device;
	o->value = value;
}

static int set_devices(struct scenario *s, const struct threshold *k, double value,
	const char *devices, struct err *e)
{
	static const char *const sides[] = {[OF_HOST_PORTS] = "/hosts", [OF_UPLINKS] = "/uplinks"};
	const size_t n = strlen(devices);
	enum port_side ports = OF_ALL_PORTS;
	char glob[128], name[48];
	size_t found = 0;
	snprintf(glob, sizeof(glob), "%s", devices);
	for (unsigned i = 1; i < rw_countof(sides); i++)
		if (n > strlen(sides[i]) && n < sizeof(glob) &&
			str_eq(devices + n - strlen(sides[i]), sides[i])) {
			glob[n - strlen(sides[i])] = '\0';
			ports = (enum port_side)i;
		}
	if (s->planes > 1)
		return err_set(e, -ENOTSUP,
			"the rails of %s share one simulation: only the whole fabric can be set",
			s->name);
	for (size_t i = 0; i < (size_t)(s->leaves + s->spines); i++) {
		switch_name(s, i, name, sizeof(name));
		if (!str_glob(glob, name))
			continue;
		found++;
		drop(s, k->knob, ports, i);
		if (s->n_settings == SETTINGS_MAX)
			return err_set(e, -E2BIG, "more than %d settings of single switches",
				SETTINGS_MAX);
		add(s, k->knob, ports, i, value);
	}
	return found ? 0 : err_set(e, -ENOENT, "no switch is called '%.40s'", glob);
}

/* The faults of marking are a factor on both thresholds, of all or of one leaf: who sets one of
 * them leaves the other as it is. */
static void repair(struct scenario *s, const struct threshold *k)
{
	for (size_t i = 0; i < s->n_faults; i++) {
		struct fault *f = &s->faults[i];
		const bool one_leaf =
			f->kind == FAULT_CONFIG_CHANGE && k->repairs == FAULT_ECN_LATE;
		if ((int)f->kind != k->repairs && !one_leaf)
			continue;
		if (f->kind == FAULT_ECN_LATE) {
			s->kmin_bytes *= f->factor;
			s->kmax_bytes *= f->factor;
		} else if (one_leaf && f->factor != 1 && s->n_settings + 2 <= SETTINGS_MAX) {
			add(s, KNOB_KMIN, OF_ALL_PORTS, (size_t)f->leaf - 1,
				s->kmin_bytes * f->factor);
			add(s, KNOB_KMAX, OF_ALL_PORTS, (size_t)f->leaf - 1,
				s->kmax_bytes * f->factor);
		}
		f->factor = 1;
	}
}

static int set(struct scenario *s, const struct threshold *k, const char *text, const char *devices,
	struct err *e)
{
	double value;
	int rc = read_value(k, text, &value, e);
	if (rc != 0 || *devices)
		return rc != 0 ? rc : set_devices(s, k, value, devices, e);
	repair(s, k);
	*(double *)((char *)s + k->offset) = value;
	drop(s, k->knob, OF_ALL_PORTS, SIZE_MAX);
	return 0;
}

static int fits(const struct scenario *s, struct err *e)
{
	return s->kmin_bytes > s->kmax_bytes
		? err_set(e, -ERANGE,
			  "kmin %.0f B would be above kmax %.0f B: set the other one first",
			  s->kmin_bytes, s->kmax_bytes)
		: 0;
}

int threshold_set(struct scenario *s, const struct threshold *k, const char *value,
	const char *devices, struct err *e)
{
	int rc = set(s, k, value, devices, e);
	return rc != 0 ? rc : fits(s, e);
}

int threshold_assign(struct scenario *s, const char *const *what, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++) {
		char buf[256];
		if (snprintf(buf, sizeof(buf), "%s", what[i]) >= (int)sizeof(buf))
			return err_set(e, -EINVAL, "'%.40s...' is too long", what[i]);
		char *value = strchr(buf, '='), *key = buf;
		if (value)
			*value++ = '\0';
		char *colon = strchr(buf, ':');
		if (colon) {
			*colon = '\0';
			key = colon + 1;
		}
		const struct threshold *k = value ? threshold_find(key) : NULL;
		if (!k)
			return err_set(e, -EINVAL,
				"'%.60s' is not valid; expected [DEVICES:]KEY=VALUE with kmin, "
				"kmax, pmax, "
				"alpha, headroom or xon_offset",
				what[i]);
		int rc = set(s, k, value, colon ? buf : "", e);
		if (rc != 0)
			return rc;
	}
	return fits(s, e);
}
