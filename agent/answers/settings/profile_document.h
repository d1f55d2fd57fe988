/* profile_document - the profiles that this version and the site have, as a document. */
#ifndef RW_REPORTS_PROFILE_DOCUMENT_H
#define RW_REPORTS_PROFILE_DOCUMENT_H

#include <jansson.h>

struct profile;
struct profiles;

/* profile_list_json - {profiles: [profile_json()]}. The caller owns it. */
/* profile_coverage_json - one row for each metric and protocol that the profile reads, with its
 * evidence. */
json_t *profile_coverage_json(const struct profile *profile);
json_t *profile_list_json(const struct profiles *profiles);
/* profile_json - {name, protocols, doc, tables, metrics, match: [{object_id, descr}]}. */
json_t *profile_json(const struct profile *profile);

#endif
