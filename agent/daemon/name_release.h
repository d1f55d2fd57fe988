/* name_release - names that are not used any more leave memory; the database keeps them as long as
 * its retention says. Loop thread. */
#ifndef RW_AGENT_NAME_RELEASE_H
#define RW_AGENT_NAME_RELEASE_H

#include <stdint.h>

struct pipeline;

/* pipeline_tend_names - live, about once a second. @mono_ns: monotonic. */
void pipeline_tend_names(struct pipeline *pipeline, int64_t mono_ns);
/* pipeline_names_released - how many names were let go of since the start */
uint64_t pipeline_names_released(const struct pipeline *pipeline);

#endif
