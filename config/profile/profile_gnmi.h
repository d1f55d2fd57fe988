/*
 * profile_gnmi - the gNMI half of a profile: what to subscribe to, and what the answers mean.
 *
 *   gnmi:
 *     models: [nvidia-*]                 # globs of model names in Capabilities by which
 *                                        # "profile: auto" knows this kind of switch
 *     encodings: [proto, json_ietf]      # in order of preference; default: proto json_ietf
 *                                        # json ascii
 *     extends: openconfig                # the streams of that profile come first; one of the
 *                                        # same name here replaces it
 *     without: [qos]                     # streams of it that are not used
 *     unserved: [/lldp/state/chassis-id] # what this kind does not serve of them: paths without
 *                                        # keys, with all below; "without", leaf by leaf
 *     ways: { lldp: [stream, once] }     # "how" and "fallback" of its streams here
 *     evidence: document                 # how its streams are known, and how those of the
 *     inherited: { counters: recorded }  # extended profile are: profile_evidence.h; also of a
 *                                        # stream and of a leaf
 *     port_prefix: { eth: Ethernet }     # how a port's name begins there, before a digit, and how
 *                                        # it begins in the fabric; with * the known port that
 *                                        # fits with the rest behind it
 *     prefer_snmp: [pfcwd.storms]        # where SNMP answers too, it is the better source of
 *                                        # these metrics
 *     streams:
 *       - name: counters                 # one Subscribe call, on a connection of its own
 *         target: COUNTERS_DB            # prefix.target and .origin
 *         origin: openconfig
 *         plain_names: true              # names are table keys: "a:b" is one name, not module
 *                                        # a's b
 *         cadence: fast                  # slow: names and configuration, before the fast ones
 *                                        # and every slow_interval
 *         how: stream                    # stream once poll get; a slow stream in the way "stream"
 *                                        # is one first round, every slow_interval
 *         fallback: [once]               # what else, in this order, when that is not served or
 *                                        # goes stale; default none
 *         subscribe:
 *           - { path: /interfaces/interface[name=*]/state/counters, mode: sample, min_interval:
 *               1s, optional: true }
 *         values:
 *           - at: /interfaces/interface[name={port}]/state/counters
 *             leaves:
 *               - { path: in-octets, metric: port.in_octets, doc: "..." }
 *
 * A path in "values" is a pattern of what comes back. In names and in values of keys, * stands for
 * anything and {word} for a part of the place: {port}, {alias} (of a port), {priority}, {queue},
 * {group} (numbers, or ranges such as 3-4), {pool}, {name} (of an object, see "of"), {lane} (of a
 * transceiver), {dscp} (a row of a map: its leaves "of" one object become one text, as
 * config/class_policy.h has maps). Leaves with the same path are all read: drops by RED are also
 * drops.
 *
 * A leaf has one of: "metric", "attribute" (port_alias, port_management, port_lanes, queue_number
 * (of the {queue} or {group} in the path, where its name has none), boot_time, sysname; LLDP:
 * chassis of the device, and neighbor_sysname, neighbor_chassis, neighbor_port, neighbor_descr, and
 * the kinds of ids neighbor_chassis_kind, neighbor_port_kind, by "words" or as numbers;
 * neighbor_sysdesc, its system description; neighbor_capabilities, the enabled ones as "28 00" or
 * in words; neighbor_bridge, neighbor_router, neighbor_station, one capability each, true where it
 * is enabled; all of the neighbour {name} on {port}), or "refers: KIND" (its value is the name of
 * an object of that kind, which holds for this place). Leaves "of: KIND" are about the object
 * {name}, and hold for all places that refer to it, with {queue} or {group} for those of that
 * number; where several ports share it, a leaf with {lane} counts for the ports whose port_lanes
 * have that lane, and one with "alone: true" for none of them. A reference of no place holds for
 * all ports that have none of this kind. Further: unit and divide (as in SNMP), words { UP: 1,
 * DOWN: 0 } with otherwise (for all other words), suffix (text behind the number), list: priorities
 * ("3,4": 1 for these, 0 for the others) or bits ("18" in hex, bit n for priority n), ignore
 * [numbers that mean "not there"], fallback (only where no other leaf gave the metric of this
 * thing), window (of a watermark), priority (constant), unread [words that mean that there is no
 * value: "N/A"], estimated (the device computed it from something else: the sample is flagged).
 * Leaves that name one metric of one thing are added up, or the least or the most of them counts
 * (fold: min, max). One with "subtract" is taken away from the sum; one with "restores" is given
 * back, at most as much as was taken away.
 *
 * The words of a metric that is a text give texts: { per_packet_quality: packet }; a word that is
 * not among them stays as the device sends it, or is the text of "otherwise". A setting of the
 * whole device that several places refer to is "mixed" when they differ.
 *
 * "effective: true" at a stream: its values are those in force. What it gave is not taken from the
 * other streams, which tell how the same thing is configured.
 */
#pragma once

#include "base/base.h"
#include "config/profile/profile_evidence.h"
#include "config/profile/profile_fold.h"

#define PROFILE_GNMI_WORDS_MAX 16
#define PROFILE_GNMI_SUBSCRIPTIONS_MAX 32
#define PROFILE_GNMI_VALUES_MAX 256
#define PROFILE_GNMI_HOWS_MAX 4
#define PROFILE_GNMI_IGNORE_MAX 4

enum profile_gnmi_how { HOW_STREAM, HOW_ONCE, HOW_POLL, HOW_GET };
const char *profile_gnmi_how_name(enum profile_gnmi_how how); /* "stream" */

enum profile_gnmi_attribute {
	GNMI_ATTRIBUTE_NONE,
	GNMI_ATTRIBUTE_PORT_ALIAS,
	GNMI_ATTRIBUTE_PORT_MANAGEMENT, /* true: a port of management */
	GNMI_ATTRIBUTE_PORT_LANES,
	GNMI_ATTRIBUTE_QUEUE_NUMBER,
	GNMI_ATTRIBUTE_BOOT_TIME,
	GNMI_ATTRIBUTE_SYSNAME,
	GNMI_ATTRIBUTE_CHASSIS,
	/* of LLDP; in this order: from here on of a neighbour */
	GNMI_ATTRIBUTE_NEIGHBOR_SYSNAME,
	GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS,
	GNMI_ATTRIBUTE_NEIGHBOR_CHASSIS_KIND,
	GNMI_ATTRIBUTE_NEIGHBOR_PORT,
	GNMI_ATTRIBUTE_NEIGHBOR_PORT_KIND,
	GNMI_ATTRIBUTE_NEIGHBOR_DESCR,
	GNMI_ATTRIBUTE_NEIGHBOR_SYSDESC,
	GNMI_ATTRIBUTE_NEIGHBOR_CAPABILITIES, /* all enabled ones, as bits or words */
	/* whether one is enabled */
	GNMI_ATTRIBUTE_NEIGHBOR_BRIDGE,
	GNMI_ATTRIBUTE_NEIGHBOR_ROUTER,
	GNMI_ATTRIBUTE_NEIGHBOR_STATION
};
/* "port_alias"; "" for none */
const char *profile_gnmi_attribute_name(enum profile_gnmi_attribute attribute);

struct profile_gnmi_subscription {
	const char *path;
	bool on_change, optional;
	int64_t min_interval_ns; /* asking faster brings nothing new; 0 = not said */
};

struct profile_gnmi_value {
	const char *path, *doc; /* whole pattern */
	int metric; /* -1: .attribute or .refers */
	enum profile_gnmi_attribute attribute;
	const char *refers, *of; /* kinds of objects, or NULL */
	uint64_t mul, div;
	bool cells; /* and times the size of a cell */
	struct {
		const char *word;
		uint64_t value;
		const char *text; /* of a metric that is a text; else NULL */
	} words[PROFILE_GNMI_WORDS_MAX];
	size_t n_words;
	bool has_otherwise;
	uint64_t otherwise;
	const char *otherwise_text; /* of a metric that is a text; NULL = none */
	const char *suffix; /* NULL */
	bool priorities; /* a list of priorities */
	bool bits; /* which is a number in hex */
	bool map; /* a row of a map: its path has {dscp} */
	bool fallback;
	bool estimated; /* not measured, but computed by the device */
	bool subtract, restores; /* taken away from the sum; given back of what was taken away */
	bool alone; /* only of an object that one port alone refers to */
	enum profile_fold fold;
	uint64_t ignore[PROFILE_GNMI_IGNORE_MAX];
	size_t n_ignore;
	const char **unread;
	size_t n_unread;
	uint32_t window_ms;
	int priority; /* PRIO_NONE: from the path */
	struct profile_evidence evidence;
	int line;
};

struct profile_gnmi_stream {
	const char *name, *doc, *target, *origin; /* "" */
	bool plain_names, slow;
	bool effective; /* its values win over those of the other streams */
	/* the first is "how", then the fallbacks */
	enum profile_gnmi_how hows[PROFILE_GNMI_HOWS_MAX];
	size_t n_hows;
	struct profile_gnmi_subscription *subscriptions;
	size_t n_subscriptions;
	struct profile_gnmi_value *values;
	size_t n_values;
	struct profile_evidence evidence; /* default of its values */
	int line;
};

struct profile_gnmi {
	const char **models;
	size_t n_models;
	/* numbers of the protocol; none = all, in the usual order */
	unsigned encodings[4];
	size_t n_encodings;
	struct {
		const char *there, *here;
	} port_prefix[4];
	size_t n_port_prefix;
	uint16_t *prefer_snmp;
	size_t n_prefer_snmp; /* metrics */
	struct profile_gnmi_stream **streams;
	size_t n_streams; /* own and inherited; the inherited ones come first */
	size_t n_streams_inherited;
	struct profile_inherited inherited;
	const char *extends;
	int extends_line; /* NULL */
	const char **without, **unserved;
	size_t n_without, n_unserved;
	/* of inherited streams: .name, .hows, .n_hows and .line alone */
	struct profile_gnmi_stream *ways;
	size_t n_ways;
};

#define PROFILE_GNMI_PLAIN_MAX 512

/* profile_gnmi_plain - @path as models write it, without keys: "/interfaces/interface/state/mtu";
 * cut at @size. Returns @buf. */
char *profile_gnmi_plain(const char *path, char *buf, size_t size);
/* profile_gnmi_is_under - is @path, whose keys do not count, the plain path @plain or below it? */
bool profile_gnmi_is_under(const char *path, const char *plain);
