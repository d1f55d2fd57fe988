/*
 * control - the agent's socket: JSON lines, one request, one reply; mode 0660, group rocewatch
 * where it exists. Who asks is what the kernel says (SO_PEERCRED), never what the request says.
 *
 *      {"cmd": "ack", "id": "k3v7q2ab", "note": "is being fixed"}
 *                            -> {"ok": true, "incident": {...}}
 *      {"cmd": "status"}     -> {"ok": true, ...}
 *      anything else         -> {"ok": false, "error": "..."}
 *
 * A request may say in whose name it is made, {"for": "ann"}: a word. What was done is then told as
 * done by "ann (via rocewatch)"; the user that the kernel names never goes away.
 *
 * Bounded: CONTROL_CLIENTS_MAX clients, lines of CONTROL_LINE_MAX bytes, CONTROL_IDLE_NS without a
 * whole request. Loop thread.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#define CONTROL_CLIENTS_MAX 16
/* Room for a review sheet with its texts for every vendor; memory is taken as a line grows. */
#define CONTROL_LINE_MAX (512 * 1024)
#define CONTROL_IDLE_NS (30 * NS_PER_S)

struct loop;
struct control;

/* @request is a JSON object, lent; @who is the user's name or "uid N". Returns the reply, a new
 * reference. */
typedef json_t *control_fn(void *arg, const char *who, const json_t *request);
json_t *control_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* control_new - listen. A socket file that nobody listens on is removed first. 0, -EADDRINUSE
 * (someone does), or negative errno; @e. */
int control_new(struct loop *loop, const char *path, control_fn *fn, void *arg,
	struct control **ret, struct err *e);
/*
 * control_hold - a reply says what was done; whoever gets it reads the database and expects to see
 * it. After each request @hold returns 0, or the number of what the reply has to wait for; @ready
 * is then asked until it is there, at most 3 s. A reply that waited carries "committed": true, or
 * false when the disk is so slow that it could not be stored in time. Both get control_new()'s arg.
 */
typedef uint64_t control_hold_fn(void *arg);
typedef bool control_ready_fn(void *arg, uint64_t ticket);
void control_hold(struct control *control, control_hold_fn *hold, control_ready_fn *ready);
/* control_idle - other than CONTROL_IDLE_NS, for tests. */
void control_idle(struct control *control, int64_t idle_ns);
void control_tick(struct control *control); /* each second: drop idle clients */
void control_free(struct control *control); /* removes the socket file; NULL is fine */

/*
 * control_call - the other side, for commands: send one request and wait at most 5 s for the reply
 * (a new reference). 0, -ENOENT or -ECONNREFUSED (no agent), -EACCES, -ETIMEDOUT, -EPROTO; @e
 * filled.
 */
int control_call(const char *path, const json_t *request, json_t **ret, struct err *e);
