/* test_commands - commands to copy are data: each check of a cause leads to a command, each command
 * has only placeholders that can be filled, and says where it was read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "config/profile/nic.h"
#include "config/profile/profile.h"
#include "db/model/cause.h"

/* Are all {names} of @text among @known (names between blanks)? */
static bool has_only(const char *text, const char *known)
{
	for (const char *open = text; (open = strchr(open, '{')); open++) {
		const size_t n = strcspn(open + 1, "}");
		rw_cleanup(str_done) struct str name = {0};
		str_addf(&name, " %.*s ", (int)n, open + 1);
		if (!strstr(known, name.s))
			return false;
	}
	return true;
}

static struct profiles *built_in(void)
{
	struct profiles *profiles = NULL;
	struct err_list errors = {0};
	if (profiles_load(NULL, &profiles, &errors) != 0)
		fail_msg("%s", errors.n ? errors.v[0].text : "profiles");
	err_list_done(&errors);
	return profiles;
}

static bool any_profile_knows(const struct profiles *profiles, const char *topic)
{
	for (size_t i = 0; i < profiles_count(profiles); i++)
		if (profile_command_of(profiles_at(profiles, i), topic))
			return true;
	return false;
}

static void check_one(
	const struct profiles *profiles, enum cause cause, const char *check, size_t n)
{
	rw_cleanup(freep) char *text = strndup(check, n);
	const char *topic = strchr(text, ':');
	assert_non_null(topic++);
	if (strncmp(text, "nic:", 4) == 0 && nic_command(NULL, topic))
		return;
	if (strncmp(text, "switch:", 7) == 0 && any_profile_knows(profiles, topic))
		return;
	if (strncmp(text, "here:", 5) == 0 && has_only(topic, " device id "))
		return;
	fail_msg("%s: nothing is known for '%s'", cause_name(cause), text);
}

static void checks_of_causes(void **state)
{
	struct profiles *profiles = built_in();
	for (int k = CAUSE_NONE + 1; k < CAUSE_COUNT; k++) {
		const struct cause_info *info = cause_info((enum cause)k);
		if (!info->not_proved || !*info->not_proved || strlen(info->not_proved) > 66)
			fail_msg("%s: not proved: '%s'", info->name, str_or(info->not_proved, ""));
		for (const char *s = info->checks; *s; s += strspn(s, "; ")) {
			const size_t n = strcspn(s, ";");
			check_one(profiles, (enum cause)k, s, n);
			s += n;
		}
	}
	profiles_free(profiles);
}

static void commands_of_profiles(void **state)
{
	struct profiles *profiles = built_in();
	size_t n = 0;
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *p = profiles_at(profiles, i);
		for (size_t k = 0; k < p->n_commands; k++, n++)
			if (!has_only(p->commands[k].run, " port priority ") ||
				!*p->commands[k].evidence)
				fail_msg("%s: %s", p->name, p->commands[k].run);
	}
	assert_true(n >= 20);
	const struct profile *eos = profiles_get(profiles, "eos");
	assert_string_equal(
		profile_command_of(eos, "pause"), "show priority-flow-control counters");
	assert_null(profile_command_of(profiles_get(profiles, "generic"), "pause"));
	profiles_free(profiles);
}

static void nic_of_device(void **state)
{
	const struct {
		const char *device, *topic, *holds;
	} rows[] = {
		{"mlx5_0", "receive", "discards_phy"},
		{"bnxt_re0", "receive", "pri{priority}"},
		{NULL, "receive", "prio{priority}_pause"},
		{"rail0", "reaction", "roce_rp/enable/{priority}"},
	};
	for (size_t k = 0; k < rw_countof(rows); k++) {
		const struct nic_command *c = nic_command(rows[k].device, rows[k].topic);
		if (!c || !strstr(c->run, rows[k].holds) || !has_only(c->run, " rdma priority "))
			fail_msg("%s %s: %s", str_or(rows[k].device, "-"), rows[k].topic,
				c ? c->run : "none");
	}
	assert_null(nic_command("mlx5_0", "nonsense"));
}

/* A mistake in a site's file is named with its place. */
static void commands_wrong(void **state)
{
	static const char *const texts[] = {
		"commands:\n  - { topic: beep, run: \"x\", evidence: \"y\" }\n",
		"commands:\n  - { topic: pause, run: \"x\" }\n",
		("commands:\n  - { topic: pause, run: \"x\", evidence: \"y\" }\n"
		 "  - { topic: pause, run: \"z\", evidence: \"y\" }\n"),
		"commands: x\n",
	};
	for (size_t k = 0; k < rw_countof(texts); k++) {
		char dir[] = "/tmp/rw-commands-XXXXXX";
		rw_cleanup(str_done) struct str path = {0};
		struct profiles *profiles = NULL;
		struct err_list errors = {0};
		assert_non_null(mkdtemp(dir));
		str_addf(&path, "%s/site.yaml", dir);
		FILE *out = fopen(path.s, "w");
		fprintf(out, "name: site\ndoc: \"x\"\n%s", texts[k]);
		fclose(out);
		const int r = profiles_load(dir, &profiles, &errors);
		if (r == 0 || !errors.n || errors.v[0].line < 3)
			fail_msg("accepted: %s", texts[k]);
		err_list_done(&errors);
		profiles_free(profiles);
		unlink(path.s);
		rmdir(dir);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(checks_of_causes),
		cmocka_unit_test(commands_of_profiles),
		cmocka_unit_test(nic_of_device),
		cmocka_unit_test(commands_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
