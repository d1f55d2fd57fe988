/* config_document - the configuration in force as a document: `config show`. It names secrets
 * (files, variables) and never holds one. */
#ifndef RW_REPORTS_CONFIG_DOCUMENT_H
#define RW_REPORTS_CONFIG_DOCUMENT_H

#include <jansson.h>

struct config;
struct err;
struct fabric;

/* config_document - the keys of the file with all defaults, and derived_groups. 0 with a new
 * reference, or negative errno with @e. */
int config_document(const struct config *config, json_t **ret, struct err *e);

/* config_derived_groups - the ECMP groups that follow from the links: [{device, group, members}].
 */
json_t *config_derived_groups(const struct fabric *fabric);

#endif
