/* tune_verified - the windows before and after a change of thresholds, found and compared. */
#ifndef RW_AGENT_TUNE_VERIFIED_H
#define RW_AGENT_TUNE_VERIFIED_H

#include "agent/tuning/tune_record.h"
#include "analyzers/tune/tune_verify.h"

struct arena;
struct client;
struct err;

struct tune_verify_ask {
	enum verify_match match;
	int64_t before_ns, after_ns; /* 0: as much as there is, at most a day */
	int64_t applied_ns; /* set: when the change came into force */
};
/* tune_verify_record - before and after the change; @ret lives in @a and with @record. -ENODATA: no
 * read-back and no record says that it is in force. */
int tune_verify_record(struct client *client, const struct tune_record *record,
	struct tune_verify_ask *ask, struct arena *a, struct tune_verified *ret, struct err *e);

#endif
