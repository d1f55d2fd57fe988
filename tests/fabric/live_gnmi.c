/* live_gnmi - see live_gnmi.h: OpenConfig's paths and those of Cumulus; profiles of thresholds. */
#include "tests/fabric/live_gnmi.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
#include "proto/gnmi_path.h"
#include "tests/fabric/live_tables.h"

/* ---- profiles: the first port and priority with these values names them ---- */

static bool same_settings(const struct live_port *a, unsigned qa, const struct live_port *b,
	unsigned qb, const enum live_setting *which, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (a->s[which[i]][qa] != b->s[which[i]][qb])
			return false;
	return true;
}

enum { SETS_MAX = 64 };
struct places {
	size_t port[SETS_MAX];
	unsigned at[SETS_MAX], n;
};

/* The distinct sets of @which in order of appearance, up to that of @port and @q. */
static int set_of(const struct live_switch *s, size_t port, unsigned q,
	const enum live_setting *which, size_t n)
{
	struct places seen = {0};
	if (!(s->ports[port].has[which[0]] >> q & 1))
		return -1;
	for (size_t i = 0; i < s->n_ports; i++)
		for (unsigned k = 0; k < LIVE_PRIORITIES; k++) {
			if (!(s->ports[i].has[which[0]] >> k & 1))
				continue;
			unsigned at = 0;
			while (at < seen.n &&
				!same_settings(&s->ports[i], k, &s->ports[seen.port[at]],
					seen.at[at], which, n))
				at++;
			if (at == seen.n && seen.n < SETS_MAX) {
				seen.port[at] = i;
				seen.at[at] = k;
				seen.n++;
			}
			if (i == port && k == q)
				return (int)at;
		}
	return -1;
}

int live_wred_of(const struct live_switch *s, size_t port, unsigned queue)
{
	static const enum live_setting which[] = {S_KMIN, S_KMAX, S_PMAX, S_ECN_ENABLED, S_WEIGHT};
	return set_of(s, port, queue, which, rw_countof(which));
}

int live_buffer_of(const struct live_switch *s, size_t port, unsigned group)
{
	static const enum live_setting which[] = {S_ALPHA_EXP, S_XON_OFFSET, S_HEADROOM};
	return set_of(s, port, group, which, rw_countof(which));
}

/* ---- leaves: one rule each ----------------------------------------------- */

enum { OC = 1, CL = 2, BOTH = OC | CL };
enum scope { OF_SWITCH, OF_PORT, OF_PRIORITY, OF_SETTING, OF_PROFILE };
enum what {
	METRIC,
	MICROSECONDS, /* of a metric in nanoseconds */
	SETTING,
	OPER,
	SPEED,
	HOSTNAME,
	BOOT,
	SYSTEM_ID,
	WRED_NAME,
	NEIGHBOR,
	NEIGHBOR_PORT,
	NEIGHBOR_ID,
	TYPE_MAC,
	TYPE_NAME
};
struct rule {
	unsigned faces;
	enum scope scope;
	const char *path; /* {port} and {q} stand for the place */
	enum speak_kind kind;
	enum what what;
	unsigned from; /* metric or setting; it is there where the switch has it */
	double multiply; /* 0 is 1 */
};

#define COUNTERS "/interfaces/interface[name={port}]/state/counters/"
#define ETHERNET "/interfaces/interface[name={port}]/ethernet/state/"
#define QUEUE "/qos/interfaces/interface[interface-id={port}]/output/queues/queue[name={q}]/"
#define INPUT "/qos/interfaces/interface[interface-id={port}]/input/"
#define WRED "/qos/queue-management-profiles/queue-management-profile[name={q}]/wred/uniform/"
#define NEIGHBORS "/lldp/interfaces/interface[name={port}]/neighbors/neighbor[id=1]/state/"
#define OF_WRED(dir)                                                                               \
	{OC, OF_PROFILE, WRED dir "/min-threshold", SPEAK_UINT, SETTING, S_KMIN},                  \
		{OC, OF_PROFILE, WRED dir "/max-threshold", SPEAK_UINT, SETTING, S_KMAX},          \
		{OC, OF_PROFILE, WRED dir "/enable-ecn", SPEAK_BOOL, SETTING, S_ECN_ENABLED},      \
		{OC, OF_PROFILE, WRED dir "/weight", SPEAK_UINT, SETTING, S_WEIGHT},               \
	{                                                                                          \
		OC, OF_PROFILE, WRED dir "/max-drop-probability-percent", SPEAK_UINT, SETTING,     \
			S_PMAX, 100                                                                \
	}

static const struct rule rules[] = {
	/* 2.1 openconfig-interfaces, -if-ethernet, -system */
	{BOTH, OF_PORT, COUNTERS "in-octets", SPEAK_UINT, METRIC, V_IN_OCTETS},
	{BOTH, OF_PORT, COUNTERS "out-octets", SPEAK_UINT, METRIC, V_OUT_OCTETS},
	{BOTH, OF_PORT, COUNTERS "in-pkts", SPEAK_UINT, METRIC, V_IN_PACKETS},
	{BOTH, OF_PORT, COUNTERS "out-pkts", SPEAK_UINT, METRIC, V_OUT_PACKETS},
	{BOTH, OF_PORT, COUNTERS "in-errors", SPEAK_UINT, METRIC, V_IN_ERRORS},
	{BOTH, OF_PORT, COUNTERS "out-errors", SPEAK_UINT, METRIC, V_OUT_ERRORS},
	{BOTH, OF_PORT, COUNTERS "in-discards", SPEAK_UINT, METRIC, V_IN_DISCARDS},
	{BOTH, OF_PORT, COUNTERS "out-discards", SPEAK_UINT, METRIC, V_OUT_DISCARDS},
	{BOTH, OF_PORT, COUNTERS "in-fcs-errors", SPEAK_UINT, METRIC, V_FCS},
	{BOTH, OF_PORT, COUNTERS "carrier-transitions", SPEAK_UINT, METRIC, V_FLAPS},
	{BOTH, OF_PORT, "/interfaces/interface[name={port}]/state/oper-status", SPEAK_STRING, OPER},
	{BOTH, OF_PORT, "/interfaces/interface[name={port}]/state/mtu", SPEAK_UINT, METRIC, V_MTU},
	{BOTH, OF_PORT, ETHERNET "port-speed", SPEAK_STRING, SPEED},
	{BOTH, OF_PORT, ETHERNET "counters/in-mac-pause-frames", SPEAK_UINT, METRIC, V_IN_PAUSE},
	{BOTH, OF_PORT, ETHERNET "counters/out-mac-pause-frames", SPEAK_UINT, METRIC, V_OUT_PAUSE},
	{OC, OF_PORT, ETHERNET "counters/in-symbol-error", SPEAK_UINT, METRIC, V_SYMBOLS},
	{BOTH, OF_SWITCH, "/system/state/boot-time", SPEAK_UINT, BOOT},
	{BOTH, OF_SWITCH, "/system/state/hostname", SPEAK_STRING, HOSTNAME},
	/* 2.1 openconfig-qos; 2.3 */
	{BOTH, OF_PRIORITY, QUEUE "state/transmit-octets", SPEAK_UINT, METRIC, V_QUEUE_OCTETS},
	{BOTH, OF_PRIORITY, QUEUE "state/transmit-pkts", SPEAK_UINT, METRIC, V_QUEUE_PACKETS},
	{OC, OF_PRIORITY, QUEUE "state/dropped-pkts", SPEAK_UINT, METRIC, V_QUEUE_DROPS},
	{CL, OF_PRIORITY, QUEUE "state/no-buffer-uc-dropped-pkts", SPEAK_UINT, METRIC,
		V_QUEUE_DROPS},
	{CL, OF_PRIORITY, QUEUE "state/wred-dropped-pkts", SPEAK_UINT, METRIC, V_WRED_DROPS},
	{BOTH, OF_PRIORITY, QUEUE "state/ecn-marked-pkts", SPEAK_UINT, METRIC, V_MARKED},
	{OC, OF_PRIORITY, QUEUE "state/max-queue-len", SPEAK_UINT, METRIC, V_QUEUE_PEAK},
	{CL, OF_PRIORITY, QUEUE "state/shared-buffer/data/max-occupancy", SPEAK_UINT, METRIC,
		V_QUEUE_PEAK},
	{CL, OF_PRIORITY, QUEUE "state/shared-buffer/data/instant-occupancy", SPEAK_UINT, METRIC,
		V_DEPTH},
	/* 2.3 Cumulus's own */
	{CL, OF_PRIORITY,
		"/qos/interfaces/interface[interface-id={port}]/switch-priority[priority={q}]/"
		"state/counters/in-pause-pkts",
		SPEAK_UINT, METRIC, V_RX_FRAMES},
	{CL, OF_PRIORITY,
		"/qos/interfaces/interface[interface-id={port}]/switch-priority[priority={q}]/"
		"state/counters/out-pause-pkts",
		SPEAK_UINT, METRIC, V_TX_FRAMES},
	{CL, OF_PRIORITY,
		"/qos/interfaces/interface[interface-id={port}]/switch-priority[priority={q}]/"
		"state/counters/in-discards",
		SPEAK_UINT, METRIC, V_PG_DROPS},
	{CL, OF_PRIORITY,
		"/qos/interfaces/interface[interface-id={port}]/switch-priority[priority={q}]/"
		"state/in-pause-duration",
		SPEAK_UINT, MICROSECONDS, V_RX_PAUSE_NS},
	{CL, OF_PRIORITY,
		"/qos/interfaces/interface[interface-id={port}]/switch-priority[priority={q}]/"
		"state/out-pause-duration",
		SPEAK_UINT, MICROSECONDS, V_TX_PAUSE_NS},
	{CL, OF_PRIORITY, INPUT "priority-group[pg-id={q}]/state/shared-buffer/data/max-occupancy",
		SPEAK_UINT, METRIC, V_SHARED_PEAK},
	{CL, OF_PRIORITY,
		INPUT "headroom-buffer[buffer-type=primary]/priority-group[pg-id={q}]/state/"
		      "max-occupancy",
		SPEAK_UINT, METRIC, V_HEADROOM_PEAK},
	/* 2.1 openconfig-qos-elements */
	{OC, OF_SETTING, QUEUE "config/queue-management-profile", SPEAK_STRING, WRED_NAME, S_KMIN},
	OF_WRED("config"),
	OF_WRED("state"),
	/* 2.1 openconfig-lldp */
	{BOTH, OF_SWITCH, "/lldp/state/chassis-id", SPEAK_STRING, SYSTEM_ID},
	{BOTH, OF_SWITCH, "/lldp/state/chassis-id-type", SPEAK_STRING, TYPE_MAC},
	{BOTH, OF_SWITCH, "/lldp/state/system-name", SPEAK_STRING, HOSTNAME},
	{BOTH, OF_PORT, NEIGHBORS "system-name", SPEAK_STRING, NEIGHBOR},
	{BOTH, OF_PORT, NEIGHBORS "chassis-id", SPEAK_STRING, NEIGHBOR_ID},
	{BOTH, OF_PORT, NEIGHBORS "chassis-id-type", SPEAK_STRING, TYPE_MAC},
	{BOTH, OF_PORT, NEIGHBORS "port-id", SPEAK_STRING, NEIGHBOR_PORT},
	{BOTH, OF_PORT, NEIGHBORS "port-id-type", SPEAK_STRING, TYPE_NAME},
	{BOTH, OF_PORT, NEIGHBORS "port-description", SPEAK_STRING, NEIGHBOR_PORT},
};

/* ---- values -------------------------------------------------------------- */

struct asked {
	const struct live_switch *s;
	unsigned face;
	struct gnmi_elem *elems;
	size_t n_elems;
	struct arena *arena;
	gnmi_server_emit_fn *emit;
	void *ctx;
	int n;
};

static void mac_text(char *buf, size_t size, const uint8_t m[6])
{
	snprintf(buf, size, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
}

static void number_text(char *buf, size_t size, enum speak_kind kind, double v)
{
	if (kind == SPEAK_BOOL)
		snprintf(buf, size, "%s", v ? "true" : "false");
	else
		snprintf(buf, size, "%.0f", v);
}

static void value_text(const struct asked *a, const struct rule *r, const struct live_port *p,
	unsigned q, char *buf, size_t size)
{
	const double multiply = r->multiply > 0 ? r->multiply : 1;
	switch (r->what) {
	case MICROSECONDS: snprintf(buf, size, "%" PRIu64, p->v[r->from][q] / 1000); break;
	case METRIC: snprintf(buf, size, "%" PRIu64, p->v[r->from][q]); break;
	case SETTING: number_text(buf, size, r->kind, p->s[r->from][q] * multiply); break;
	case OPER: snprintf(buf, size, "%s", p->v[V_UP][0] ? "UP" : "DOWN"); break;
	case SPEED:
		snprintf(buf, size, "SPEED_%" PRIu64 "GB", p->v[V_SPEED][0] / 1000000000);
		break;
	case HOSTNAME: snprintf(buf, size, "%s", a->s->name); break;
	case BOOT: snprintf(buf, size, "%" PRId64, a->s->boot_ns); break;
	case SYSTEM_ID: mac_text(buf, size, a->s->ports[0].mac); break;
	case WRED_NAME:
		snprintf(
			buf, size, "lossless-%d", live_wred_of(a->s, (size_t)(p - a->s->ports), q));
		break;
	case NEIGHBOR: snprintf(buf, size, "%s", p->peer); break;
	case NEIGHBOR_PORT: snprintf(buf, size, "%s", p->peer_port); break;
	case NEIGHBOR_ID: mac_text(buf, size, p->peer_mac); break;
	case TYPE_MAC: snprintf(buf, size, "MAC_ADDRESS"); break;
	case TYPE_NAME: snprintf(buf, size, "INTERFACE_NAME"); break;
	}
}

/* @pattern with {port} and {q} replaced. */
static const char *filled(struct arena *a, const char *pattern, const char *port, const char *q)
{
	rw_cleanup(str_done) struct str b = {0};
	for (const char *at = pattern; *at;) {
		const bool is_port = strncmp(at, "{port}", 6) == 0,
			   is_q = strncmp(at, "{q}", 3) == 0;
		if (is_port || is_q)
			str_add(&b, is_port ? port : q);
		else
			str_addn(&b, at, 1);
		at += is_port ? 6 : is_q ? 3 : 1;
	}
	return arena_strdup(a, b.s);
}

static bool text_fits(
	const struct asked *a, const char *want, size_t want_n, const char *have, size_t have_n)
{
	if (want_n == have_n && memcmp(want, have, want_n) == 0)
		return true;
	return memchr(want, '*', want_n) &&
		str_glob(arena_strndup(a->arena, want, want_n),
			arena_strndup(a->arena, have, have_n));
}

/* Is what is asked for this path, or above it? */
static bool fits(const struct asked *a, const char *path)
{
	struct gnmi_elem *have;
	size_t n;
	if (gnmi_path_parse(path, strlen(path), a->arena, &have, &n, NULL) < 0 || a->n_elems > n)
		return false;
	for (size_t i = 0; i < a->n_elems; i++) {
		const struct gnmi_elem *w = &a->elems[i], *h = &have[i];
		if (!text_fits(a, w->name, w->name_n, h->name, h->name_n))
			return false;
		for (size_t k = 0; k < w->n_keys; k++) {
			size_t m = 0;
			while (m < h->n_keys &&
				!(h->keys[m].name_n == w->keys[k].name_n &&
					memcmp(h->keys[m].name, w->keys[k].name,
						w->keys[k].name_n) == 0))
				m++;
			if (m == h->n_keys ||
				!text_fits(a, w->keys[k].value, w->keys[k].value_n,
					h->keys[m].value, h->keys[m].value_n))
				return false;
		}
	}
	return true;
}

static void say(struct asked *a, const struct rule *r, const struct live_port *p, unsigned q,
	const char *name)
{
	char text[LIVE_TEXT + 16], number[16];
	snprintf(number, sizeof(number), "%u", q);
	const char *path = filled(a->arena, r->path, p ? p->name : "", name ? name : number);
	if (!fits(a, path))
		return;
	value_text(a, r, p, q, text, sizeof(text));
	a->emit(a->ctx, &(struct speak_value){path, r->kind, text});
	a->n++;
}

static void say_port(struct asked *a, const struct rule *r, size_t port)
{
	const struct live_port *p = &a->s->ports[port];
	if (r->scope == OF_PORT && (r->what != METRIC || a->s->known[r->from]))
		say(a, r, p, 0, NULL);
	for (unsigned q = 0; q < LIVE_PRIORITIES; q++) {
		if (r->scope == OF_PRIORITY && a->s->known[r->from] >> q & 1)
			say(a, r, p, q, NULL);
		if (r->scope == OF_SETTING && p->has[r->from] >> q & 1)
			say(a, r, p, q, NULL);
	}
}

/* Each profile once: told by the first place that has it. */
static void say_profiles(struct asked *a, const struct rule *r)
{
	char name[32];
	int told = 0;
	for (size_t i = 0; i < a->s->n_ports; i++)
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++)
			if (live_wred_of(a->s, i, q) == told) {
				snprintf(name, sizeof(name), "lossless-%d", told++);
				say(a, r, &a->s->ports[i], q, name);
			}
}

/* Could anything of @r be below what is asked? By the names of elements alone, which spares making
 * every path. */
static bool may_fit(const struct asked *a, const struct rule *r)
{
	struct gnmi_elem *have;
	size_t n;
	if (gnmi_path_parse(r->path, strlen(r->path), a->arena, &have, &n, NULL) < 0 ||
		a->n_elems > n)
		return false;
	for (size_t i = 0; i < a->n_elems; i++)
		if (!text_fits(
			    a, a->elems[i].name, a->elems[i].name_n, have[i].name, have[i].name_n))
			return false;
	return true;
}

static int values(const struct live_switch *s, unsigned face, const char *path,
	gnmi_server_emit_fn *emit, void *ctx)
{
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	struct asked a = {.s = s, .face = face, .arena = arena, .emit = emit, .ctx = ctx};
	bool known = false;
	if (gnmi_path_parse(path, strlen(path), arena, &a.elems, &a.n_elems, NULL) < 0)
		return -ENOENT;
	for (size_t i = 0; i < rw_countof(rules); i++) {
		const struct rule *r = &rules[i];
		if (!(r->faces & face) || !may_fit(&a, r))
			continue;
		known = true;
		if (r->scope == OF_SWITCH)
			say(&a, r, NULL, 0, NULL);
		else if (r->scope == OF_PROFILE)
			say_profiles(&a, r);
		else
			for (size_t k = 0; k < s->n_ports; k++)
				say_port(&a, r, k);
	}
	return known ? a.n : -ENOENT;
}

static int openconfig_values(const struct live_switch *s, const char *target, const char *path,
	gnmi_server_emit_fn *emit, void *ctx)
{
	return values(s, OC, path, emit, ctx);
}
static int cumulus_values(const struct live_switch *s, const char *target, const char *path,
	gnmi_server_emit_fn *emit, void *ctx)
{
	return values(s, CL, path, emit, ctx);
}

/* Ports of both are IANA's 9339, which NVUE has too (2.3). NVUE: Capabilities and Subscribe in the
 * mode STREAM only.
 */
static const unsigned proto_only[] = {2};
static const char *const openconfig_models[] = {"openconfig-interfaces", "openconfig-if-ethernet",
	"openconfig-qos", "openconfig-lldp", "openconfig-system"};
const struct live_gnmi_face live_gnmi_openconfig = {.port = 9339,
	.models = openconfig_models,
	.n_models = rw_countof(openconfig_models),
	.encodings = proto_only,
	.n_encodings = 1,
	.values = openconfig_values};
const struct live_gnmi_face live_gnmi_cumulus = {.profile = "cumulus",
	.port = 9339,
	.no_get = true,
	.stream_only = true,
	.models = openconfig_models,
	.n_models = rw_countof(openconfig_models),
	.encodings = proto_only,
	.n_encodings = 1,
	.values = cumulus_values};
