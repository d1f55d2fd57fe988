/*
 * refused - who was refused, and how often: figures of a receiver, "refused:REASON:SENDER".
 *
 * Senders choose their addresses, so only REFUSED_SENDERS are kept. A new one takes the place of
 * the one that was refused least (Metwally, Agrawal, El Abbadi: Efficient computation of frequent
 * and top-k elements, 2005): who is refused more often than one in REFUSED_SENDERS times is always
 * among them, however many others there are. Each count is "at least".
 */
#pragma once

#include "base/base.h"

#include "collectors/target/collector.h"
#include "config/address.h"

enum { REFUSED_SENDERS = 8 };

struct refused { /* embed one, zeroed, for each reason */
	struct {
		char sender[ADDRESS_TEXT_MAX];
		uint64_t times, before; /* .before: of those whose place it took */
	} v[REFUSED_SENDERS];
	size_t n;
};
void refused_add(struct refused *refused, const char *sender);
void refused_figures(
	const struct refused *refused, const char *reason, collector_figure_fn *fn, void *arg);
