/*
 * gnmi_split - one large SubscribeResponse as several smaller ones with the same meaning: each has
 * the timestamp and the prefix of the notification and some of its updates; its deletes are in the
 * first one. So a reader may do other work between two of them. A message of another shape (field
 * numbers as in gnmi.proto: an extension, a field out of order, one huge value) is one piece.
 */
#ifndef RW_PROTO_GNMI_SPLIT_H
#define RW_PROTO_GNMI_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct str;

#define GNMI_SPLIT_UPDATES 512u /* of one piece */
#define GNMI_SPLIT_BYTES (64u << 10) /* about so many */

struct gnmi_split {
	const uint8_t *p;
	size_t n;
	/* set by gnmi_split_begin(): offsets into .p */
	bool whole; /* cannot be cut */
	size_t head, head_end; /* timestamp and prefix */
	size_t deletes, end;
	size_t at; /* of the next update */
	bool began;
};

/* gnmi_split_begin - @data is lent until the last gnmi_split_next(). Looks at every update once. */
void gnmi_split_begin(struct gnmi_split *split, const void *data, size_t n);
/* gnmi_split_next - the next piece, in @ret (emptied first) or, for a message that is one piece,
 * lent in *@ret_p. False: there is no more. */
bool gnmi_split_next(
	struct gnmi_split *split, struct str *ret, const uint8_t **ret_p, size_t *ret_n);

#endif
