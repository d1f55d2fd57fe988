/* encapsulation_count - see encapsulation_count.h. */
#include "collectors/packet/encapsulation_count.h"

#include <string.h>

static bool same_mirror(const struct mirror_count *row, const struct roce_packet *packet)
{
	const struct decap_mirror *is = &row->mirror, *now = &packet->mirror;
	if (is->layer != now->layer || is->direction != now->direction ||
		is->has_session != now->has_session || is->session != now->session)
		return false;
	if (is->has_port != now->has_port || is->port != now->port)
		return false;
	return row->family == packet->outer_family &&
		memcmp(row->src, packet->outer_src, sizeof(row->src)) == 0;
}

/* The row of @packet's mirror, made if need be; NULL when there are too many. */
static struct mirror_count *find_mirror(
	struct encapsulation_count *count, const struct roce_packet *packet)
{
	uint32_t i = count->last_mirror;
	if (i < count->n_mirrors && same_mirror(&count->mirrors[i], packet))
		return &count->mirrors[i];
	for (i = 0; i < count->n_mirrors; i++)
		if (same_mirror(&count->mirrors[i], packet))
			break;
	if (i == MIRRORS_MAX)
		return NULL;
	struct mirror_count *row = &count->mirrors[i];
	if (i == count->n_mirrors) {
		row->mirror = packet->mirror;
		row->family = packet->outer_family;
		memcpy(row->src, packet->outer_src, sizeof(row->src));
		count->n_mirrors++;
	}
	count->last_mirror = i;
	return row;
}

void encapsulation_count_mirror(struct encapsulation_count *count, const struct roce_packet *packet)
{
	if (!packet->mirror.layer)
		return;
	struct mirror_count *row = find_mirror(count, packet);
	if (!row) {
		count->more_mirrors++;
		return;
	}
	row->packets++;
	row->cut += packet->inner_cut;
}

static void count_uet(struct encapsulation_count *count, const struct uet_packet *packet)
{
	count->uet[uet_class_of(packet->type)]++;
	count->uet_retransmitted += uet_retransmitted(packet);
	count->uet_nack_trimmed += uet_nack_trimmed(packet);
}

/* SRv6 with compressed segments needs no routing header: it looks like IPv6 in IPv6. */
static bool count_is_srv6(const struct roce_packet *packet)
{
	if (packet->kind != PACKET_ROCE)
		return false;
	const bool in_ipv6 = packet->layers >> LAYER_IPIP & 1 && packet->outer_family == 6 &&
		packet->family == 6;
	return in_ipv6 || packet->layers >> LAYER_SRV6 & 1;
}

void encapsulation_count_add(struct encapsulation_count *count, const struct roce_packet *packet)
{
	for (unsigned i = 0; i < LAYER_COUNT; i++)
		count->by_layer[i] += packet->layers >> i & 1;
	count->inner_cut += packet->inner_cut;
	count->roce_srv6 += count_is_srv6(packet);
	count->trimmed += packet->trimmed;
	encapsulation_count_mirror(count, packet);
	if (packet->kind == PACKET_UET)
		count_uet(count, &packet->uet);
	if (packet->kind == PACKET_ENCAPSULATED)
		count->refused[packet->refusal]++;
}
