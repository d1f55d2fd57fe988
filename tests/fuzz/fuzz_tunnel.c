/*
 * Right RoCEv2 frames in right tunnels, with bytes of them changed, through the decoder and the
 * analysis: no crash, and nothing claimed beyond the input. Frames that nothing was changed in must
 * be read as what they are.
 *
 * Input, again and again: [ip versions] [number of layers] [layer ...] [number of changes] [what,
 * offset high, offset low, value ...].
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/capture/pcap_document.h"
#include "tests/fuzz/tunnel_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LAYERS_MAX = 6, CHANGES_MAX = 8, QP = 0x1234 };
enum change { CHANGE_SET, CHANGE_FLIP, CHANGE_CUT, CHANGE_MISS, CHANGE_KINDS };

struct script {
	const uint8_t *data;
	size_t n;
};

static unsigned script_byte(struct script *script)
{
	if (script->n == 0)
		return 0;
	script->n--;
	return *script->data++;
}

/* Some fields matter more than others: offsets count from the front. */
static size_t change_frame(struct script *script, uint8_t *bytes, size_t n)
{
	const unsigned what = script_byte(script);
	const unsigned high = script_byte(script);
	const size_t offset = high << 8 | script_byte(script);
	const uint8_t value = (uint8_t)script_byte(script);
	if (n == 0)
		return n;
	const size_t at = offset % n;
	switch (what % CHANGE_KINDS) {
	case CHANGE_SET: bytes[at] = value; return n;
	case CHANGE_FLIP: bytes[at] ^= (uint8_t)(1u << value % 8); return n;
	case CHANGE_CUT: return at;
	default: memmove(bytes + at, bytes + at + 1, n - at - 1); return n - 1;
	}
}

static void must_be_roce(
	const struct roce_packet *packet, const struct tunnel_frame *frame, uint32_t psn)
{
	if (frame->tunnels > DECAP_DEPTH_MAX)
		return;
	if (packet->kind != PACKET_ROCE || packet->psn != psn || packet->dst_qp != QP)
		abort();
}

static void one_frame(struct script *script, struct pcap_reading *reading, int64_t *t_ns)
{
	struct tunnel_frame frame;
	const unsigned versions = script_byte(script);
	const unsigned layers = script_byte(script) % (LAYERS_MAX + 1);
	const uint32_t psn = (uint32_t)(*t_ns / 1000 & 0xffff);
	unsigned tags = 0;
	tunnel_frame_roce(&frame, versions & 1, psn, QP, versions & 0xf0);
	for (unsigned i = 0; i < layers; i++) {
		const enum tunnel_kind kind = script_byte(script) % WRAP_KINDS;
		tags += kind == WRAP_VLAN;
		tunnel_frame_wrap(&frame, kind, versions >> 1 & 1);
	}
	tunnel_frame_ethernet(&frame);
	const size_t whole = sizeof(frame.data) - frame.first;
	const unsigned changes = script_byte(script) % (CHANGES_MAX + 1);
	size_t n = whole;
	for (unsigned i = 0; i < changes; i++)
		n = change_frame(script, frame.data + frame.first, n);
	uint8_t *exact = malloc(n ? n : 1);
	if (!exact)
		abort();
	memcpy(exact, frame.data + frame.first, n);
	struct roce_packet packet;
	roce_parse(LINK_ETHERNET, exact, n, whole, ROCE_CHECK_ICRC, &packet);
	free(exact);
	/* a frame that a mirror cut is as long as its own headers say */
	if (packet.kind == PACKET_ROCE && packet.payload_bytes > whole && !packet.inner_cut)
		abort();
	if ((packet.kind == PACKET_BAD) != (packet.error != ROCE_OK))
		abort();
	if (changes == 0 && tags == 0)
		must_be_roce(&packet, &frame, psn);
	*t_ns += 1000;
	pcap_reading_packet(reading, &packet, NULL, *t_ns);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct script script = {data, size};
	const struct pcap_options options = {0};
	struct pcap_reading *reading = pcap_reading_new(&options);
	int64_t t_ns = 1000000000;
	while (script.n > 2)
		one_frame(&script, reading, &t_ns);
	json_decref(pcap_document(reading));
	pcap_reading_free(reading);
	return 0;
}
