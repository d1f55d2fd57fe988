/*
 * profile against the models of the makers: models.tsv says what each model has and what it has
 * not; a path of a profile that it denies, or that nobody looked up, is a mistake.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "base/cleanup.h"
#include "base/str.h"
#include "config/profile/profile.h"
#include "config/profile/profile_gnmi.h"
#include "db/model/metric.h"

#define INDEX "tests/unit/config/profile/models.tsv"
#define FACTS_MAX 600

struct fact {
	char *profile, *verdict, *since, *unit, *path, *source;
};

static struct {
	char *text;
	struct fact v[FACTS_MAX];
	size_t n;
} facts;

static bool is_of(const struct fact *fact, const char *profile)
{
	return profile && strcmp(fact->profile, profile) == 0;
}

static bool is_absent(const struct fact *fact)
{
	return strcmp(fact->verdict, "absent") == 0;
}

/* "/a/(b|c)" is "/a/b" and "/a/c". */
static int facts_add(struct fact *fact)
{
	char *open = strchr(fact->path, '(');
	if (!open) {
		facts.v[facts.n] = *fact;
		facts.v[facts.n].path = rw_strdup(fact->path);
		return ++facts.n == FACTS_MAX ? -1 : 0;
	}
	*open = '\0';
	char *list = open + 1, *tail = strchr(list, ')');
	if (!tail)
		return -1;
	*tail++ = '\0';
	for (char *leaf; (leaf = strsep(&list, "|"));) {
		rw_cleanup(str_done) struct str path = {0};
		struct fact one = *fact;
		str_addf(&path, "%s%s%s", fact->path, leaf, tail);
		one.path = path.s;
		if (facts_add(&one) < 0)
			return -1;
	}
	return 0;
}

static int facts_open(void **state)
{
	size_t n = 0;
	char *save = NULL;
	if (str_read_file(INDEX, 1 << 20, &facts.text, &n, NULL) < 0)
		return -1;
	for (char *line = strtok_r(facts.text, "\n", &save); line;
		line = strtok_r(NULL, "\n", &save)) {
		struct fact f = {0};
		char *words = line;
		if (*line == '#')
			continue;
		char **const parts[] = {
			&f.profile, &f.verdict, &f.since, &f.unit, &f.path, &f.source};
		for (size_t i = 0; i < rw_countof(parts); i++)
			*parts[i] = strsep(&words, "\t");
		if (!f.source || words || facts_add(&f) < 0)
			return -1;
	}
	return 0;
}

static int facts_close(void **state)
{
	for (size_t i = 0; i < facts.n; i++)
		free(facts.v[i].path);
	free(facts.text);
	return 0;
}

static const struct fact *fact_absent(const char *profile, const char *path)
{
	for (size_t i = 0; i < facts.n; i++)
		if (is_of(&facts.v[i], profile) && is_absent(&facts.v[i]) &&
			profile_gnmi_is_under(path, facts.v[i].path))
			return &facts.v[i];
	return NULL;
}

static const struct fact *fact_served(const char *profile, const char *path)
{
	char plain[PROFILE_GNMI_PLAIN_MAX];
	profile_gnmi_plain(path, plain, sizeof(plain));
	for (size_t i = 0; i < facts.n; i++)
		if (is_of(&facts.v[i], profile) && !is_absent(&facts.v[i]) &&
			strcmp(facts.v[i].path, plain) == 0)
			return &facts.v[i];
	return NULL;
}

/* The model's unit of a time is the profile's. */
static bool unit_holds(const struct fact *fact, const struct profile_gnmi_value *value)
{
	static const struct {
		const char *name;
		uint64_t ns;
	} units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}};
	for (size_t i = 0; i < rw_countof(units); i++)
		if (strcmp(fact->unit, units[i].name) == 0)
			return value->mul == units[i].ns && value->div == 1;
	return strcmp(metric_info((unsigned)value->metric)->unit, "ns") != 0;
}

static void leaf_judge(
	const struct profile *profile, const struct profile_gnmi_value *value, struct str *out)
{
	const struct fact *absent = fact_absent(profile->name, value->path);
	const struct fact *served = fact_served(profile->name, value->path);
	if (!served)
		served = fact_served(profile->gnmi->extends, value->path);
	if (absent)
		str_addf(out, "%s: %s: %s is not served (source %s)\n", profile->name,
			metric_info((unsigned)value->metric)->name, absent->path, absent->source);
	else if (!served)
		str_addf(out, "%s: %s: nobody looked up %s\n", profile->name,
			metric_info((unsigned)value->metric)->name, value->path);
	else if (!unit_holds(served, value))
		str_addf(out, "%s: %s: the model's unit is %s\n", profile->name,
			metric_info((unsigned)value->metric)->name, served->unit);
}

/* profile_judge - adds a line to @out for each mistake. */
static void profile_judge(const struct profile *profile, struct str *out)
{
	for (size_t i = 0; i < profile->gnmi->n_streams; i++) {
		const struct profile_gnmi_stream *stream = profile->gnmi->streams[i];
		for (size_t k = 0; k < stream->n_values; k++)
			if (stream->values[k].metric >= 0)
				leaf_judge(profile, &stream->values[k], out);
		for (size_t k = 0; k < stream->n_subscriptions; k++)
			if (fact_absent(profile->name, stream->subscriptions[k].path))
				str_addf(out, "%s: subscribes to %s, which is not served\n",
					profile->name, stream->subscriptions[k].path);
	}
}

static bool is_judged(const struct profile *profile)
{
	for (size_t i = 0; profile->gnmi && i < facts.n; i++)
		if (is_of(&facts.v[i], profile->name))
			return true;
	return false;
}

static void test_builtin_profiles(void **state)
{
	rw_cleanup(str_done) struct str out = {0};
	struct err_list errors = {0};
	struct profiles *profiles = NULL;
	size_t judged = 0;
	assert_int_equal(profiles_load(NULL, &profiles, &errors), 0);
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		if (!is_judged(profile))
			continue;
		profile_judge(profile, &out);
		judged++;
	}
	if (out.n)
		fail_msg("%s", out.s);
	assert_int_equal(judged, 6);
	profiles_free(profiles);
	err_list_done(&errors);
}

/* Mistakes put in by hand: the judge names each. */
static const struct {
	const char *what, *text, *said;
} planted[] = {
	{"a leaf that the maker calls not supported",
		"name: eos\ndoc: d\nmatch: [{ descr: x }]\ngnmi:\n  extends: openconfig\n",
		"max-queue-len"},
	{"a path that nobody looked up",
		"name: nxos\ndoc: d\nmatch: [{ descr: x }]\ngnmi:\n  streams:\n    - name: s\n     "
		" "
		"subscribe: "
		"[{ path: /System/tulips }]\n      values: [{ at: \"/System/tulips[id={port}]\", "
		"leaves: [{ path: red, metric: port.in_octets }] }]\n",
		"nobody looked up /System/tulips[id={port}]/red"},
	{"a unit that is not the model's",
		"name: eos\ndoc: d\nmatch: [{ descr: x }]\ngnmi:\n  streams:\n    - name: s\n      "
		"subscribe: "
		"[{ path: /interfaces }]\n      values: [{ at: "
		"\"/interfaces/interface[name={port}]/ethernet/pfc/priorities/"
		"priority[index={priority}]/state\", leaves: [{ path: pfc-on-total-rx-time, "
		"metric: "
		"pfc.rx_pause_ns, unit: us }] }]\n",
		"the model's unit is ns"},
	{"a subscription to what is not there",
		"name: nxos\ndoc: d\nmatch: [{ descr: x }]\ngnmi:\n  extends: openconfig\n",
		"subscribes to /interfaces/interface[name=*]/state/transceiver"},
	{"a pause time in another unit than Cumulus serves",
		"name: cumulus\ndoc: d\nmatch: [{ descr: x }]\ngnmi:\n  streams:\n    - name: s\n  "
		"    "
		"subscribe: [{ path: /qos }]\n      values: [{ at: "
		"\"/qos/interfaces/interface[interface-id={port}]/switch-priority"
		"[priority={priority}]/state\", leaves: [{ path: in-pause-duration, metric: "
		"pfc.rx_pause_ns, unit: ms }] }]\n",
		"the model's unit is us"},
	{"a pause time where Cumulus has none",
		"name: cumulus\ndoc: d\nmatch: [{ descr: x }]\ngnmi:\n  streams:\n    - name: s\n  "
		"    "
		"subscribe: [{ path: /qos }]\n      values: [{ at: "
		"\"/qos/interfaces/interface[interface-id={port}]/state/switch-priority"
		"[priority={priority}]\", leaves: [{ path: in-pause-duration, metric: "
		"pfc.rx_pause_ns, unit: us }] }]\n",
		"in-pause-duration is not served (source L)"},
	{"a field that no SONiC table has",
		"name: sonic\ndoc: d\nmatch: [{ descr: x }]\ngnmi:\n  streams:\n    - name: s\n    "
		"  "
		"subscribe: [{ path: /WRED_PROFILE }]\n      values: [{ at: "
		"\"/WRED_PROFILE/{name}\", leaves: [{ path: blue_min_threshold, of: wred, metric: "
		"cfg.ecn_kmin_bytes }] }]\n",
		"nobody looked up /WRED_PROFILE/{name}/blue_min_threshold"},
};

static void test_planted_mistakes(void **state)
{
	struct err_list errors = {0};
	for (size_t i = 0; i < rw_countof(planted); i++) {
		rw_cleanup(str_done) struct str out = {0};
		struct profiles *profiles = NULL;
		const int rc = profiles_parse(
			planted[i].text, strlen(planted[i].text), "planted", &profiles, &errors);
		if (rc < 0) {
			err_print(stderr, &errors.v[0]);
			fail_msg("%s: does not parse", planted[i].what);
		}
		for (size_t k = 0; k < profiles_count(profiles); k++)
			if (strcmp(profiles_at(profiles, k)->file, "planted") == 0)
				profile_judge(profiles_at(profiles, k), &out);
		if (!out.s || !strstr(out.s, planted[i].said))
			fail_msg("%s: the judge says '%s'", planted[i].what, str_or(out.s, ""));
		profiles_free(profiles);
	}
	err_list_done(&errors);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin_profiles), cmocka_unit_test(test_planted_mistakes)};
	return cmocka_run_group_tests(tests, facts_open, facts_close);
}
