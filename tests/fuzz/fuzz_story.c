/*
 * Any sequence of understood packets of a few queue pairs, through the analysis and its document:
 * PSNs that jump, times that stand still or leap, NAKs about nothing, pauses without end. No crash,
 * no leak, and only numbers that JSON can say.
 *
 * Input: [sampling] and then six bytes for each packet: [queue pair and way] [opcode] [PSN step]
 * [time step] [syndrome, quanta] [flags].
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/capture/pcap_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEP = 6, PAIRS = 4 };

struct story {
	uint32_t psn[2 * PAIRS];
	int64_t t_ns;
};

/* A few opcodes that mean something, then all. */
static uint8_t story_opcode(unsigned choice)
{
	static const uint8_t usual[] = {0x06, 0x07, 0x08, 0x0a, 0x11, 0x11, 0x81, 0x0c, 0x0d, 0x0e,
		0x0f, 0x10, 0x00, 0x01, 0x02, 0x04};
	if (choice < 192)
		return usual[choice % sizeof(usual)];
	return (uint8_t)((choice - 192) * 5);
}

/* -3 .. 60 mostly, then leaps. */
static uint32_t story_psn(unsigned step)
{
	if (step < 192)
		return step % 64 - 3;
	return 1u << step % 24;
}

static int64_t story_time(unsigned step)
{
	static const int64_t units[] = {0, 300, 5000, 80000, 2000000, 50000000, 1000000000, -40000};
	return units[step % 8] * (step / 8);
}

static void story_pause(const uint8_t *step, struct roce_packet *packet)
{
	packet->kind = PACKET_PFC;
	packet->src_mac[5] = step[0] & 3;
	packet->classes = step[1];
	for (unsigned i = 0; i < 8; i++)
		packet->time[i] = (uint16_t)(step[4] * 257u * (step[1] >> i & 1u));
}

static void story_roce(struct story *story, const uint8_t *step, struct roce_packet *packet)
{
	const unsigned lane = step[0] % (2 * PAIRS);
	const unsigned way = lane & 1;
	packet->kind = PACKET_ROCE;
	packet->family = 4;
	if (step[0] & 0x80)
		packet->family = 6;
	packet->src[0] = packet->dst[0] = 10;
	packet->src[3] = (uint8_t)(1 + way);
	packet->dst[3] = (uint8_t)(2 - way);
	packet->dst_qp = 0x100 + lane;
	packet->opcode = story_opcode(step[1]);
	story->psn[lane] = (story->psn[lane] + story_psn(step[2])) & 0xffffff;
	packet->psn = story->psn[lane];
	packet->ecn = step[5] & 3;
	packet->ttl = 64;
	packet->ack_req = step[5] >> 2 & 1;
	packet->aeth_cut = step[5] >> 3 & 1;
	packet->icrc_seen = step[5] >> 4 & 1;
	packet->icrc_wire = step[4];
	packet->ip_id = step[4];
	packet->src_port = (uint16_t)(50000 + (step[5] >> 5));
	packet->syndrome = step[4];
	packet->has_aeth = packet->opcode == 0x11 && !packet->aeth_cut;
	packet->octets = 100;
	if ((packet->opcode & 31) < 12)
		packet->payload_bytes = 1024;
	packet->octets += packet->payload_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pcap_options options = {0};
	struct story story = {.t_ns = 1000000000};
	if (size == 0)
		return 0;
	if (data[0] > 200)
		options.sampling = data[0];
	struct pcap_reading *reading = pcap_reading_new(&options);
	for (size_t i = 1; i + STEP <= size; i += STEP) {
		const uint8_t *step = data + i;
		struct roce_packet packet = {0};
		struct packet_origin origin = {.interface = step[5] >> 6};
		if ((step[0] & 0x70) == 0x70)
			story_pause(step, &packet);
		else
			story_roce(&story, step, &packet);
		packet.frame_octets = packet.octets;
		story.t_ns += story_time(step[3]);
		pcap_reading_packet(reading, &packet, &origin, story.t_ns);
	}
	const struct pcap_ask ask = {.sort = pcap_sorts};
	struct pcap_report report;
	pcap_report_make(&report, reading, &ask);
	char *text = json_dumps(report.document, JSON_COMPACT);
	if (!text)
		abort();
	for (size_t i = 0; i < report.rows.n; i++)
		json_decref(pcap_report_row(&report, i));
	free(text);
	pcap_report_done(&report);
	pcap_reading_free(reading);
	return 0;
}
