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
#ifndef RW_AGENT_LIFE_H
#define RW_AGENT_LIFE_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct err_list;
struct source_changes;
struct store;

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

#endif
