/*
 * gnmi_backlog - the messages of one call on their way to its stream: at once while they are small
 * and few, else piece by piece, with the loop's other work in between. One device may keep the loop
 * busy for BACKLOG_SHARE of the time, and never for longer than a slice at once; meanwhile HTTP/2's
 * flow control holds it back, and what waits here is bounded by one message and GRPC_IO_HELD_MAX.
 *
 * Loop thread. Callbacks may call gnmi_backlog_clear(), not gnmi_backlog_free().
 */
#ifndef RW_COLLECTORS_GNMI_BACKLOG_H
#define RW_COLLECTORS_GNMI_BACKLOG_H

#include <stdbool.h>
#include <stddef.h>

struct gnmi_backlog;
struct grpc_io_status;
struct loop;

struct gnmi_backlog_hooks {
	void (*message)(void *arg, const void *data, size_t n); /* one piece */
	void (*idle)(void *arg); /* after the pieces of one turn */
	void (*done)(void *arg, const struct grpc_io_status *status); /* the last piece was given */
	void (*hold)(void *arg, bool hold); /* read no more from the device, or go on */
};

struct gnmi_backlog *gnmi_backlog_new(
	struct loop *loop, const struct gnmi_backlog_hooks *hooks, void *arg);
void gnmi_backlog_free(struct gnmi_backlog *backlog); /* NULL is fine */
void gnmi_backlog_message(struct gnmi_backlog *backlog, const void *data, size_t n); /* copied */
void gnmi_backlog_done(struct gnmi_backlog *backlog, const struct grpc_io_status *status);
/* gnmi_backlog_clear - forget what waits: the call is over, or not wanted. */
void gnmi_backlog_clear(struct gnmi_backlog *backlog);

#endif
