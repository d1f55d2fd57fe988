/* Any bytes as a frame of any link type, through all tunnels: no crash, and nothing claimed beyond
 * the input. What is kept of packets is fuzzed by story and capture. */
#include <stdint.h>
#include <stdlib.h>

#include "collectors/packet/frame/frame_count.h"
#include "collectors/packet/frame/roce_parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct encapsulation_count count;

/* What no frame may lead to. @n captured bytes at @exact, @wire on the wire. */
static void check(const struct roce_packet *p, const uint8_t *exact, size_t n, size_t wire)
{
	if ((p->kind == PACKET_BAD) != (p->error != ROCE_OK) || p->error >= ROCE_ERROR_COUNT)
		abort();
	if (p->kind == PACKET_ROCE && p->family != 4 && p->family != 6)
		abort();
	/* only a frame that a mirror cut is longer than what carries it */
	if (p->kind == PACKET_ROCE && !p->inner_cut && p->payload_bytes > wire)
		abort();
	if (p->payload_bytes > 65535 || p->n_tunnels > DECAP_DEPTH_MAX || p->layers >> LAYER_COUNT)
		abort();
	if ((p->kind == PACKET_ENCAPSULATED) != (p->refusal != REFUSED_NOTHING) ||
		p->refusal >= REFUSED_COUNT)
		abort();
	if (p->inner_cut && p->n_tunnels == 0)
		abort();
	if (p->kind == PACKET_SFLOW &&
		(p->sflow_data < exact || p->sflow_data + p->sflow_bytes > exact + n))
		abort();
	if (encapsulation_counts(p))
		encapsulation_count_add(&count, p);
	if (count.n_mirrors > MIRRORS_MAX)
		abort();
}

/* Input: one byte link type, one byte how much longer the frame was on the wire, the frame; frames
 * are cut at 0xff 0x00 0xff. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	while (size > 2) {
		enum roce_link link = (enum roce_link)(data[0] % 7);
		size_t more = data[1], n = 0;
		data += 2;
		size -= 2;
		while (n < size &&
			!(n + 2 < size && data[n] == 0xff && data[n + 1] == 0 &&
				data[n + 2] == 0xff))
			n++;
		uint8_t *exact = malloc(n ? n : 1);
		for (size_t i = 0; i < n; i++)
			exact[i] = data[i];
		struct roce_packet p;
		roce_parse(link, exact, n, n + more, ROCE_CHECK_ICRC, &p);
		check(&p, exact, n, n + more);
		free(exact);
		size_t skip = n + 3 < size ? n + 3 : size;
		data += skip;
		size -= skip;
	}
	return 0;
}
