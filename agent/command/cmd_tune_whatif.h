/* cmd_tune_whatif - the what-if part of the command "tune". */
#ifndef RW_COMMAND_TUNE_WHATIF_H
#define RW_COMMAND_TUNE_WHATIF_H

#include <jansson.h>

struct client;
struct err;

struct tune_whatif_ask { /* as given on the command line; NULL: not given */
	const char *device, *port, *priority;
	const char *const *set; /* "kmin=400KB" ..., NULL-terminated */
};
/* tune_whatif_document - the answer, a new reference. 0 or negative errno, @e: -EINVAL for usage.
 */
int tune_whatif_document(
	struct client *client, const struct tune_whatif_ask *ask, json_t **ret, struct err *e);

#endif
