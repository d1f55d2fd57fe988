/*
 * life - what happened to the agent itself, as events in the store, so that every surface can say
 * it: table event, no device, no incident.
 *
 *      agent_start      version, pid, and how long nothing was collected before
 *      agent_stop       why
 *      agent_away       nothing was collected from one time to another, and why if that is known;
 *                       written when the agent is back, also after a crash
 *      config_reloaded  which sections changed, and what that did to the sources
 *      config_refused   the first mistake with its place, and how many there are
 *      clock_step       the wall clock was set, by how much and in which direction
 *      memory_pressure  the machine, or the limit of the service, is short of memory
 *      web_down         the web server's process ended
 *
 * Loop thread.
 */
#pragma once

#include "base/base.h"

struct source_changes;
struct store;
struct entities;
struct sink;

/* What the database says of the agents that wrote it before. */
struct life_past {
	/* the newest sample or sign of life that is not in the future, by the present clock; 0 =
	 * none
	 */
	int64_t seen_ns;
	/* by how much the clock was set while no agent ran; 0 = it was not, or the machine was
	 * restarted too, and it is not known */
	int64_t step_ns;
	bool other_boot; /* the machine was restarted since */
	int64_t ahead_ns; /* how far the newest sample is ahead of the clock; 0 = it is not */
	bool stopped; /* the last agent was stopped in order, and .why says how */
	char why[160];
};

/* What tells a set clock from a machine that was off, as far as the last agent left it in its
 * health (process/boot/ID and process/booted_s). */
#define LIFE_BOOT_MAX 64
struct life_boot {
	/* of this run of the machine, as the kernel writes it; "" = not known */
	char id[LIFE_BOOT_MAX];
	int64_t booted_ns; /* wall clock minus boot clock: constant until the clock is set */
};
struct life_boot life_boot_now(int64_t now_ns);

/* life_read - before this agent writes. @now_ns: wall clock. 0 or negative errno; then *@ret says
 * that nothing is known. */
int life_read(const char *path, int64_t now_ns, const struct life_boot *boot, struct life_past *ret,
	struct err *e);

/* life_started - agent_start; before it agent_away when the gap is longer than @gap_ns, and
 * clock_step when samples lie ahead of the clock. */
void life_started(
	struct store *store, const struct life_past *past, int64_t now_ns, int64_t gap_ns);
void life_stopped(struct store *store, int64_t now_ns, const char *why);
/* life_away - the process was there and did nothing for @away_ns, up to @now_ns. */
void life_away(struct store *store, int64_t now_ns, int64_t away_ns);
/* life_reloaded - @was, @is: the configurations as config_text() writes them. */
void life_reloaded(struct store *store, int64_t now_ns, const char *was, const char *is,
	const struct source_changes *changes);
void life_refused(struct store *store, int64_t now_ns, const struct err_list *errors);
/* life_clock_step - @step_ns below 0: set back. */
void life_clock_step(struct store *store, int64_t now_ns, int64_t step_ns);
void life_memory(struct store *store, int64_t now_ns, const char *what);
void life_web_down(struct store *store, int64_t now_ns, const char *why);

/*
 * clock_watch - was the wall clock set, and did this process run all the time? Pure: three clocks
 * are compared with what they showed at the last look.
 *
 *      CLOCK_REALTIME   labels data; people and NTP set it
 *      CLOCK_BOOTTIME   only moves forward, also while the machine sleeps
 *
 * Where the wall clock moved more or less than the boot clock by CLOCK_STEP_NS or more, it was set;
 * smaller steps add up until they are as large. Slewing (adjtime, 500 ppm) does not. Where the boot
 * clock itself moved by more than @away_ns, nothing was done in between: the process was stopped,
 * the machine slept or had no time for it.
 */

struct clock_watch { /* zeroed at first */
	bool known;
	int64_t wall_ns, boot_ns; /* at the last look */
	int64_t offset_ns; /* wall minus boot clock, as far as steps were told and slewing explains
			    */
};

struct clock_change {
	int64_t step_ns; /* by how much the wall clock was set; 0 = it was not, below 0 = back */
	int64_t since_ns; /* no time read after the step is earlier (new wall clock) */
	int64_t away_ns; /* how long nothing was done; 0 = no longer than @away_ns */
};

/* clock_look - compare with the last look, and remember. The first look finds no change. */
struct clock_change clock_look(
	struct clock_watch *watch, int64_t wall_ns, int64_t boot_ns, int64_t away_ns);

/* clock_read - both clocks at one moment: a process that is stopped between two readings would see
 * a step that nobody made. */
void clock_read(int64_t *ret_wall_ns, int64_t *ret_boot_ns);

/*
 * pulse - the agent's side of the canary (agent/client/peek.h): one sample of its own each
 * interval, into the sink like those of a collector. Loop thread.
 */

struct pulse { /* zeroed at first */
	int64_t next_ns; /* of the boot clock */
};

/* pulse_beat - send the samples of the agent @name (ENTITY_AGENT_PORT: the only one) when they are
 * due. @now_ns: wall clock; @boot_ns: clock_boot_ns();
 * @moved: counters of ports that changed so far. */
void pulse_beat(struct pulse *pulse, struct entities *entities, const struct sink *sink,
	const char *name, int64_t now_ns, int64_t boot_ns, int64_t interval_ns, uint64_t moved);

/* sd_notify - systemd's service notifications (sd_notify(3)) without its library: one datagram to
 * $NOTIFY_SOCKET. Loop thread. */

/* notify_take - remember $NOTIFY_SOCKET and the watchdog's variables, and remove them from the
 * environment. */
struct notify {
	char path[108]; /* "" = nobody listens */
	int64_t watchdog_ns; /* how often to say that we live; 0 = not wanted */
};
void notify_take(struct notify *notify);
/* notify_send - @text is lines such as "READY=1". A failure is not reported: systemd notices the
 * silence itself. */
void notify_send(const struct notify *notify, const char *text);
