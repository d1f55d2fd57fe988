/*
 * config_build - the files that make struct config and struct fabric of the sections as read, in
 * this order: build_fabric(), then build_config(). Inside of the config room only.
 */
#pragma once

#include "base/base.h"
#include "config/schema.h"

/* build_fabric - the graph: devices, links, groups, what the site means to do. config_fabric.c. */
void build_fabric(struct build *build);
/* build_scalars - what config_set() may change later: policy, cost, lossless, tuning.
 * config_fabric.c. */
void build_scalars(struct config *config);
/* build_config - devices, captures and the rest of struct config. config_build.c. */
void build_config(struct build *build);
/* build_credentials - the log-ins, before the devices that name them. config_credentials.c. */
void build_credentials(struct build *build);

/* build_secret - which of KEY_file, KEY_env, KEY_credential is given; an error for more than one.
 */
void build_secret(struct build *build, const struct yaml_node *section, const char *key,
	struct config_secret *secret);
/* build_file - a file that the configuration names; config_check_files() looks at it. @path NULL:
 * none. */
void build_file(struct build *build, const struct yaml_node *section, const char *key,
	const char *path, bool secret);
/* build_tls - the files of TLS towards a server: 'ca', 'cert' and 'key' of @section (NULL: none).
 */
void build_tls(struct build *build, const struct yaml_node *section, const char *ca,
	const char *cert, const char *key);
/* config_scraped_keep - the others are let go: hosts that no switch of @agent is linked to. Of a
 * host without a link the first agent takes care. */
void config_scraped_keep(struct config *config, const char *agent);

/*
 * build_credential - the credential that the key 'credentials' of @section names: @name, NULL when
 * the key is not given. It must have a section for @protocol ("snmp"). NULL, and an error unless a
 * recorded case may do without.
 */
const struct config_credential *build_credential(struct build *build,
	const struct yaml_node *section, const char *name, const char *protocol);
