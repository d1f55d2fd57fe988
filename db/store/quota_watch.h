/*
 * quota_watch - what people are told of a store's quota: when it will be reached, what it costs
 * already, and what it cannot take. Thread of the store.
 */
#ifndef RW_DB_QUOTA_WATCH_H
#define RW_DB_QUOTA_WATCH_H

#include "agent/base/log.h"
#include "db/store/store_backend.h"
#include "db/store/store_growth.h"

struct quota_watch { /* zeroed to start */
	struct store_growth growth;
	bool known; /* .growth was read from the store */
	struct complaint stuck;
	int64_t cut_said_ns, soon_said_ns; /* monotonic; 0: not said */
};

/* quota_watch - after each look at what is used: fills in the growth of @usage, keeps it in the
 * store, and says in the log what changed. @now_ns: the time that retention counts from. */
void quota_watch(struct quota_watch *watch, const struct store_backend *backend, void *state,
	const struct store_options *options, int64_t now_ns, struct store_usage *usage);

#endif
