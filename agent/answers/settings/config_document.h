/* config_document - the configuration in force as a document: `config show`, which names secrets
 * (files, variables) and never holds one; and the profiles. */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct profile;
struct profiles;
struct config;
struct fabric;

/* config_document - the keys of the file with all defaults, and derived_groups. 0 with a new
 * reference, or negative errno with @e. */
int config_document(const struct config *config, json_t **ret, struct err *e);

/* config_derived_groups - the ECMP groups that follow from the links: [{device, group, members}].
 */
json_t *config_derived_groups(const struct fabric *fabric);

/* The profiles that this version and the site have. */

/* profile_coverage_json - one row for each metric and protocol that the profile reads, with its
 * evidence. */
json_t *profile_coverage_json(const struct profile *profile);

/* profile_list_json - {profiles: [profile_json()]}. The caller owns it. */
json_t *profile_list_json(const struct profiles *profiles);

/* profile_json - {name, protocols, doc, tables, metrics, match: [{object_id, descr}]}. */
json_t *profile_json(const struct profile *profile);
