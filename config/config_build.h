/*
 * config_build - the files that turn the tree_* structs into struct config and struct fabric, in
 * this order: build_fabric(), then build_config(). Inside of the config room only.
 */
#ifndef RW_CONFIG_BUILD_H
#define RW_CONFIG_BUILD_H

#include <stdbool.h>
#include "config/schema.h"

/* build_fabric - the graph: devices, links, groups, what the site means to do. config_fabric.c. */
void build_fabric(struct build *build);
/* build_links - links, LAGs and ECMP groups into the fabric whose devices are known.
 * config_links.c. */
void build_links(struct build *build);
/* build_scalars - what config_set() may change later: policy, cost, lossless, tuning.
 * config_fabric.c. */
void build_scalars(struct config *config);
static inline void build_tuning_scalars(struct config *config, const struct tree_tuning *tree)
{
	config->tuning.min_evidence_ns = tree->min_evidence_ns;
	config->tuning.min_coverage = tree->min_coverage;
	config->tuning.base_rtt_ns = tree->base_rtt_ns;
	config->tuning.max_pmax = tree->max_pmax;
}

/* build_config - devices, captures and the rest of struct config. config_build.c. */
void build_config(struct build *build);
/* build_credentials - the log-ins, before the devices that name them. config_credentials.c. */
void build_credentials(struct build *build);

/* build_secret - the one of KEY_file, KEY_env, KEY_credential that is given; an error for more. */
struct config_secret build_secret(struct build *build, const struct yaml_node *section,
	const char *key, const struct tree_secret *secret);
/* build_ship - where the store's content goes as well. config_ship.c. */
void build_ship(struct build *build);
/* build_file - a file that the configuration names; config_check_files() looks at it. @path NULL:
 * none. */
void build_file(struct build *build, const struct yaml_node *section, const char *key,
	const char *path, bool secret);
/* build_device_push, build_pushes - what devices push, and who receives it. config_push.c. */
struct config_device_push *build_device_push(struct build *build, struct tree_device_push *tree);
void build_pushes(struct build *build);
/* build_agents - who asks which device, and who judges; after the devices. config_agents.c. */
void build_agents(struct build *build);
/* build_matches - after all others: limits the wrong way round are mistakes, patterns that match
 * nothing are warnings. config_matches.c. */
void build_matches(struct build *build);
/* build_alerts - the receivers of alerts. config_alerts.c. */
void build_alerts(struct build *build);

/*
 * build_credential - the credential that the key 'credentials' of @section names: @name, NULL when
 * the key is not given. It must have a section for the protocol. NULL, and an error unless a
 * recorded case may do without.
 */
const struct config_credential *build_credential(
	struct build *build, const struct yaml_node *section, const char *name, bool for_snmp);

#endif
