/*
 * rank_place - where a rank hangs in the fabric, and what the fabric did there in a time range.
 */
#pragma once

#include "base/base.h"

struct client;
struct fabric_port;
struct rank_row;

/* rank_place - fills .host, .nic, .port and .port_by of @row: @host is as the sources call it,
 * @gpu its GPU there (COLLECTIVE_GPU_UNKNOWN), @here how many ranks are on the host, @at which of
 * them it is, @n how many of them @row is about. Returns the host's ports in the order of its NICs,
 * in @a; none where the fabric does not know it. */
const struct fabric_port **rank_place(struct client *client, struct arena *a, struct rank_row *row,
	const char *host, uint64_t gpu, size_t here, size_t at, size_t *ret_n);

/* rank_network - fills .network, .incidents, .looked of @row by what the database holds of the @n
 * ports, their switches and the host from .from to .to. @headline: of the first incident, NULL. */
void rank_network(struct client *client, struct arena *a, struct rank_row *row,
	const struct fabric_port *const *ports, size_t n, const char **headline);
