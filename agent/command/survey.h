/*
 * survey - asks switches once who they are and who their LLDP neighbors are, all at the same time;
 * and writes a first configuration from what they answer. For commands that begin without one, and
 * for discovery. One thread; the arena owns every text.
 */
#pragma once

#include "base/base.h"

#include "agent/command/command.h"
#include "config/topology.h"

struct config;
struct config_device;
struct entities;
struct gnmi_target;
struct loop;
struct sample;
struct snmp_target;
struct survey;

/* What a device is asked by: SNMP, gNMI, or both. */
struct survey_way {
	struct survey_device *of;
	bool snmp, done;
};
struct survey_device { /* one configured device that is polled */
	struct survey *all;
	const struct config_device *device;
	struct survey_way by_snmp, by_gnmi;
	struct snmp_target *snmp;
	struct gnmi_target *gnmi;
	struct topology_device self;
	struct topology_neighbor *neighbors;
	size_t n;
	const char *profile; /* NULL: not known */
	bool answered, over;
	char reason[sizeof(((struct err *)0)->text)]; /* why it did not answer */
};

struct survey {
	const struct config *config; /* lent, unless survey_hosts() made it */
	struct config *made;
	struct arena *arena;
	struct entities *entities;
	struct loop *loop;
	struct survey_device *v;
	size_t n, n_over, n_answered;
	struct topology_link *links;
	size_t n_links;
	/* a bit each: priorities of which pause frames were counted, and for which PFC is on */
	unsigned paused, enabled;
};

/* survey_config - asks every polled device of @config. Whoever is silent at the deadline has a
 * reason. 0 or negative errno with @e; survey_done() it in any case. */
int survey_config(
	struct survey *survey, const struct config *config, int64_t deadline_ns, struct err *e);

/* Switches that no configuration names, and how to log in to them. */
struct survey_hosts {
	char *const *hosts; /* ADDRESS[:PORT] by SNMP, gnmi:ADDRESS[:PORT] by gNMI; lent */
	size_t n;
	char *community_file; /* NULL where nobody is asked by SNMP */
	char *password_file, *ca; /* of gNMI, absolute as the one above; NULL not given */
	const char *user; /* lent */
	bool no_tls;
};

/* clang-format off */
/* The options of a command that takes such switches. */
#define SURVEY_OPTIONS \
	{"community-file", 0, "FILE", "the file with the SNMP v2c community of all these switches"}, \
	{"gnmi-user", 0, "NAME", "user name for switches named gnmi:ADDRESS[:PORT]"}, \
	{"gnmi-password-file", 0, "FILE", "the file with the password of that user, mode 0600"}, \
	{"gnmi-ca", 0, "FILE", "authorities that sign these switches' certificates"}, \
	{"gnmi-no-tls", 0, NULL, "gNMI without TLS: the password crosses the network readable"}
/* clang-format on */
#define SURVEY_OPTION_NAMES "community-file gnmi-user gnmi-password-file gnmi-ca gnmi-no-tls"

/* survey_hosts_read - the switches args->argv[first] and on, with those options. EXIT_OK, or
 * the exit code of a usage error, which it has printed. Call survey_hosts_done() in any case. */
int survey_hosts_read(const struct command *command, const struct command_args *args, size_t first,
	struct survey_hosts *ret);
void survey_hosts_done(struct survey_hosts *hosts);

/* survey_hosts - the same of these. -EINVAL with @e for an address that is none, or a file that
 * cannot be read. */
int survey_hosts(struct survey *survey, const struct survey_hosts *hosts, int64_t deadline_ns,
	struct err *e);
/*
 * survey_named - a survey of @n switches that are not asked, by their names (letters, digits, '-'
 * and '_'). The caller adds what it knows of each with survey_known() and survey_counted(); then
 * survey_link() finds the links. 0, or -EINVAL with @e where a name stands twice.
 */
int survey_named(struct survey *survey, const char *const *names, size_t n, struct err *e);
/* survey_known - of the switch @i; copied. @profile: the kind of it. */
void survey_known(struct survey *survey, size_t i, const char *profile,
	const struct topology_device *self, const struct topology_neighbor *neighbors, size_t n);
/* survey_counted - the priorities in @samples that were paused, or that PFC is on for. */
void survey_counted(struct survey *survey, const struct entities *entities,
	const struct sample *samples, size_t n);
void survey_link(struct survey *survey);
void survey_done(struct survey *survey);

/* survey_add_job - where most hosts, but not all, are named alike ("node-017", "node-018"), a job
 * of them as a line of a configuration: what the others do, such as storage, is not training. A GPU
 * for each of their ports, as is usual. */
void survey_add_job(struct str *out, const struct survey *survey);

/* survey_print - a configuration of the devices of survey_hosts(): names by their system names,
 * roles by their links. Without @hosts it says nothing of how they are asked. @extra are lines of
 * it (""); with @links the links are written out, else they are left to discovery. */
void survey_print(FILE *out, const struct survey *survey, const struct survey_hosts *hosts,
	const char *extra, bool links);
