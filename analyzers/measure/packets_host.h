/*
 * packets_host - which address is the host behind a captured port, and what the packets say of its
 * part in congestion control. Pure.
 */
#ifndef RW_MEASURE_PACKETS_HOST_H
#define RW_MEASURE_PACKETS_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/model/reaction.h"
#include "db/series/series.h"

/* packets_first_row - the first flow row of @entity in the window, or where it would be: rows of an
 * entity follow one another. */
size_t packets_first_row(const struct window *window, uint32_t entity);

/*
 * packets_host_address - the address of the one host behind the port @entity: the source of most
 * that enters the port, or the destination of most that leaves it. Where a capture cannot tell
 * directions apart, it is the address that takes part in nearly everything; with a single peer that
 * is true of both, and nothing is known. 16 bytes, lent by the window; NULL not known.
 */
const uint8_t *packets_host_address(const struct window *window, uint32_t entity);

struct host_part {
	bool known; /* a capture of the port has rows of this host */
	struct reaction_sum reaction; /* as sender */
	struct answer_sum answer; /* as receiver */
	double ce_sent; /* its data that carried CE where it was captured */
	double peak_bps; /* highest rate of one queue pair of the capture, whoever sent it */
	uint32_t sampling; /* the coarsest of the captures */
};

/* host_part - the sums over all captures of @entity in the window. @address: 16 bytes. */
void host_part(const struct window *window, uint32_t entity, const uint8_t *address,
	struct host_part *ret);

#endif
