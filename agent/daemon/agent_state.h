/*
 * agent_state - what the files of the running agent share: agent.c (start, tick, stop), reload.c,
 * links.c, traps.c and agent.c. Nothing outside agent/daemon includes it. Loop thread.
 */
#pragma once

#include "base/base.h"
#include "agent/daemon/life.h"
#include "agent/judge/health.h"
#include "agent/sources/sources.h"
#include "base/log.h"

struct agent {
	const struct agent_options *options;
	struct config *config; /* owned; replaced by a reload */
	struct loop *loop;
	struct entities *entities;
	struct store *store;
	struct ledger *ledger;
	struct pipeline *pipeline;
	struct tune_agent *tuning;
	struct alert *alert;
	struct ship_agent *shipping; /* see ship_agent.h */
	struct discovery *discovery;
	struct job_watch *jobs;
	struct sources *sources;
	struct judge *judge; /* NULL: what is judged is what we collect */
	struct pins pins;
	struct control *control; /* NULL = no socket */
	struct web_child *web; /* NULL = nothing was ever served */
	struct trap_receiver *traps; /* NULL = off, or could not be opened */
	uint64_t reply_waits; /* what the newest reply of the socket waits for (store_handed()) */
	mono_t traps_retry;
	uint64_t names_refused; /* of entities, when they were looked at last */
	struct complaint names_complaint;
	struct complaint traps_down;
	struct loop_timer *tick, *end, *watchdog;
	struct loop_signal *hup, *term, *interrupt;
	struct notify notify;
	struct health *health;
	mono_t health_next;
	struct complaint dropped;
	uint64_t dropped_before; /* samples the store could not write, at the last tick */
	uint32_t reloads;
	struct clock_watch clock;
	mono_t doubt_until; /* the clock was set: it may be wrong now */
	struct pulse pulse;
	struct life_past past; /* as the start found it */
	struct life_boot boot; /* of this run of the machine */
	struct memory_watch *memory;
	/* see agent.h: the database was not open at the start; when that was; it could not be
	 * read either */
	bool late;
	mono_t late_since;
	bool past_unread;
	int store_stage; /* as the service manager knows it */
	mono_t socket_retry;
	struct complaint socket_complaint;
	struct complaint busy_complaint;
	int64_t away_ns; /* of the loop, at the last tick */
	bool started; /* agent_start was written, so agent_stop will be too */
	char stopping[96]; /* why it stops */
	wall_t config_refused; /* when a reload was refused; 0 = the file is in force */
};
