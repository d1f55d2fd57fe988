/*
 * profile_push - what a kind of device pushes by itself (OpenTelemetry metrics, SAI statistics),
 * and what the pushed names mean. A name is looked up among all profiles: it tells the vendor.
 *
 *   push:
 *     - name: priorities
 *       doc: one line
 *       evidence: "document: where this was read"  # config/profile/profile_evidence.h
 *       device: [host.name]        # labels of the resource or the point that name the device;
 *                                  # absent: what the receiver tries for every device
 *       port: interface            # label that holds the port; or several, the first that is there
 *       split: "|"                 # the label holds the port and, behind this, the number
 *       priority: [sp]             # label of the number; or "queue", "group" for a number that
 *                                  # the profile's tc_map turns into a priority; no label with
 *                                  # split, or where the name holds it: priority: []
 *       sai: true                  # names are numbers of SAI: sai_counter_type_1_stat_2
 *       values:
 *         - { name: "rx_prio{priority}_pause", metric: pfc.rx_frames }
 *
 * A value has "name" and "metric". {priority}, {queue}, {group} and {lane} in the name stand for a
 * number. Optional:
 *
 *   unit, divide   as in SNMP tables; mw: milliwatts, which become dBm
 *   where          { LABEL: text }: only points whose label says so
 *   equals         the value is 1 when the pushed one equals this, else 0
 *   ignore         [numbers that mean "not there"]
 *   fold           min or max of the points of one message that speak of one thing (lanes)
 *   window         of a watermark
 *   width          32 when it counts in 32 bits
 *   fallback       true: only where no other row of the metric is there (of history that is
 *                  imported; who pushes, pushes one of them)
 *   doc            one line
 */
#pragma once

#include "base/base.h"
#include "config/profile/profile_evidence.h"
#include "config/profile/profile_fold.h"

#define PROFILE_PUSH_GROUPS_MAX 16
#define PROFILE_PUSH_VALUES_MAX 256
#define PROFILE_PUSH_LABELS_MAX 8
#define PROFILE_PUSH_IGNORE_MAX 4

enum profile_push_number { PUSH_NO_NUMBER, PUSH_PRIORITY, PUSH_QUEUE, PUSH_GROUP };

struct profile_push_value {
	const char *name, *doc;
	int metric;
	uint64_t mul, div; /* value = raw * mul / div */
	bool milliwatts; /* becomes dBm */
	const char *where_label, *where_text; /* NULL = always */
	bool has_equals;
	uint64_t equals;
	uint64_t ignore[PROFILE_PUSH_IGNORE_MAX];
	size_t n_ignore;
	enum profile_fold fold;
	uint32_t window_ms;
	unsigned width; /* 0 = not said, else 32 or 64 */
	bool fallback;
	int line;
};

struct profile_push_labels {
	const char **v;
	size_t n;
};

struct profile_push_group {
	const char *name, *doc;
	struct profile_evidence evidence;
	struct profile_push_labels device, port, number;
	enum profile_push_number kind; /* what the number is */
	const char *split; /* NULL */
	bool sai;
	struct profile_push_value *values;
	size_t n_values;
	int line;
};
