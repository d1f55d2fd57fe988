/* doctor_agents - the doctor's view of a fabric that several agents share: who asks which devices,
 * how far the data of each goes, and how far the judge is. */

#include "agent/document/json_value.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "config/config.h"

/* The judge waits an interval for late samples, and the agents ship every few seconds. */
#define BEHIND_INTERVALS 4
#define BEHIND_LEAST_S 60.0

static size_t agents_devices(const struct config *config, const char *name)
{
	size_t n = 0;
	for (size_t i = 0; i < config->fabric->n_devices; i++)
		n += str_eq(config->fabric->devices[i]->agent, name);
	return n;
}

static double agents_age(const struct doctor *doctor, double at_s)
{
	return (double)doctor->client->now_ns / NS_PER_S - at_s;
}

#define SHAPE struct doctor_judge
static const struct field doctor_judge_fields[] = {
	TIME(until, "Up to when it has judged."),
	NUMBER(behind_s, UNIT_SECONDS, "How far it is behind."),
	FLAG(reads, "Can it read what the agents write?"),
};
static SHAPE_OF(doctor_judge, "Judge", "The judge of several agents.");
#undef SHAPE

static wall_t agents_wall(double at_s)
{
	if (isfinite(at_s))
		return (wall_t){llround(at_s * 1e3) * NS_PER_MS};
	return TIME_UNKNOWN;
}

static json_t *agents_time(double at_s)
{
	if (isfinite(at_s))
		return json_time(agents_wall(at_s).ns);
	return json_null();
}

static void agents_row(struct doctor *doctor, const char *name, json_t *rows)
{
	const struct config *config = doctor->client->config;
	const double newest_s = doctor_health(doctor, "share/%s/newest_s", name);
	const double late = doctor_health(doctor, "share/%s/late", name);
	const size_t devices = agents_devices(config, name);
	json_t *row = json_object();
	json_object_set_new(row, "name", json_string(name));
	json_object_set_new(row, "devices", json_integer((json_int_t)devices));
	json_object_set_new(row, "self", json_boolean(str_eq(config->self, name)));
	json_object_set_new(row, "newest", agents_time(newest_s));
	doctor_put_number(row, "behind_s", agents_age(doctor, newest_s));
	json_object_set_new(row, "late", isfinite(late) ? json_boolean(late > 0) : json_null());
	json_array_append_new(rows, row);
	if (!(late > 0) || !doctor->client->agent_alive)
		return;
	rw_cleanup(str_done) struct str subject = {0};
	str_addf(&subject, "agent %s", name);
	if (isfinite(newest_s))
		doctor_todo(doctor, true, subject.s,
			"look at its machine: systemctl status rocewatch, and doctor there; can it "
			"reach what the judge reads?",
			"nothing new from it for %.0f s: its %zu device%s unknown",
			agents_age(doctor, newest_s), devices, devices == 1 ? " is" : "s are");
	else
		doctor_todo(doctor, true, subject.s,
			"start it: rocewatch agent --name NAME, on its machine",
			"nothing ever came from it: its %zu device%s unknown", devices,
			devices == 1 ? " is" : "s are");
}

static void agents_orphans(struct doctor *doctor)
{
	const struct config *config = doctor->client->config;
	rw_cleanup(str_done) struct str names = {0};
	size_t n = 0;
	for (size_t i = 0; i < config->fabric->n_devices; i++) {
		const struct fabric_device *device = config->fabric->devices[i];
		if (device->agent)
			continue;
		if (n++ < 8)
			str_addf(&names, "%s%s", str_if(names.n, ", "), device->name);
	}
	if (n > 0)
		doctor_todo(doctor, false, "agents", "give them to an agent under 'agents:'",
			"no agent asks %zu device%s (%s%s): unknown", n, plural(n), names.s,
			str_if(n > 8, ", ..."));
}

static void agents_judge(struct doctor *doctor)
{
	const struct config *config = doctor->client->config;
	const double unreadable = doctor_health(doctor, "judge/judge/unreadable");
	const double until_s = doctor_health(doctor, "judge/judge/until_s");
	const double behind_s = agents_age(doctor, until_s);
	const double usual_s = BEHIND_INTERVALS * (double)config_interval(config) / NS_PER_S +
		(double)config->judge->wait_ns / NS_PER_S;
	if (!isfinite(unreadable)) /* not the judge's database */
		return;
	struct doctor_judge *judge = arena_new_of(doctor->arena, struct doctor_judge);
	*judge = (struct doctor_judge){
		.until = agents_wall(until_s), .behind_s = behind_s, .reads = unreadable == 0};
	doctor->answer->judge = judge;
	json_object_set_new(doctor->doc, "judge", shape_json(&doctor_judge_shape, judge));
	if (!doctor->client->agent_alive)
		return;
	if (unreadable > 0)
		doctor_todo(doctor, true, "judge",
			"start what 'judge.from' names, or mend the way to it: the judge goes on "
			"where it stands, and misses nothing",
			"what the agents collect cannot be read: nothing is judged");
	else if (behind_s > fmax(usual_s, BEHIND_LEAST_S))
		doctor_todo(doctor, false, "judge",
			"wait while it catches up; if it falls behind further, give its machine "
			"more CPU or raise the intervals",
			"it has judged up to %.0f s ago", behind_s);
}

void doctor_agents(struct doctor *doctor)
{
	const struct config *config = doctor->client->config;
	if (config->n_agents == 0)
		return;
	json_t *rows = json_array();
	for (size_t i = 0; i < config->n_agents; i++)
		agents_row(doctor, config->agents[i], rows);
	json_object_set_new(doctor->doc, "agents", rows);
	agents_orphans(doctor);
	if (config->judge)
		agents_judge(doctor);
}
