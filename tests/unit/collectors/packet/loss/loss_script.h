/*
 * loss_script - a queue pair as a line of text, for tests of loss.c.
 *
 *   w12      RC write of one packet, PSN 12; W12 the same that begins a message; m12 the middle of
 * one w12..20  as many as that r12:8192 READ request of 8,192 octets, r12 of
 * a length that was cut off; f12 i13 l14 o12   READ
 * response first, middle, last, only; i13..20 as many as that a12 a12/7  ACK, with message number
 * 7; n12 NAK (PSN sequence error); x12 RNR NAK c12      an answer whose AETH was cut off u12 UC
 * write; d12 UD send +30      30 us pass; without it 1 us does, and 0.2 us within a range #40 the
 * next packets have the IP identification 40 and up; #- (at first) they have 0
 */
#ifndef RW_TESTS_LOSS_SCRIPT_H
#define RW_TESTS_LOSS_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "collectors/packet/loss/loss.h"

struct loss_script {
	struct loss *loss;
	struct stream_psn request, response;
	int64_t t_ns;
	bool ids;
	uint16_t id;
	bool one_sided; /* answers and responses are not known to belong to the requests */
};

static inline void script_packet(
	struct loss_script *script, uint8_t opcode, uint32_t psn, uint32_t octets)
{
	struct roce_packet packet = {.kind = PACKET_ROCE,
		.family = 4,
		.opcode = opcode,
		.psn = psn & PSN_MASK,
		.payload_bytes = 4096,
		.ack_req = true};
	if (opcode == 0x0c) {
		packet.has_reth = octets != 0;
		packet.reth_bytes = octets;
	}
	if (script->ids)
		packet.ip_id = script->id++;
	const enum roce_role role = roce_opcode_role(opcode);
	if (role == ROLE_REQUEST)
		loss_data(script->loss, &script->request, NULL, &packet, script->t_ns);
	else if (script->one_sided)
		loss_data(script->loss, &script->response, NULL, &packet, script->t_ns);
	else
		loss_data(script->loss, &script->response, &script->request, &packet, script->t_ns);
}

static inline void script_answer(struct loss_script *script, char kind, uint32_t psn, uint32_t msn)
{
	struct roce_packet packet = {.kind = PACKET_ROCE,
		.family = 4,
		.opcode = 0x11,
		.psn = psn & PSN_MASK,
		.msn = msn,
		.has_aeth = kind != 'c',
		.aeth_cut = kind == 'c',
		.syndrome = 0x1f};
	if (kind == 'n')
		packet.syndrome = 0x60;
	else if (kind == 'x')
		packet.syndrome = 0x2e;
	if (!script->one_sided)
		loss_answer(script->loss, &script->request, &packet, script->t_ns);
}

static inline void script_token(struct loss_script *script, const char *token)
{
	static const struct {
		char letter;
		uint8_t opcode;
	} opcodes[] = {{'w', 0x0a}, {'W', 0x06}, {'m', 0x07}, {'r', 0x0c}, {'f', 0x0d}, {'i', 0x0e},
		{'l', 0x0f}, {'o', 0x10}, {'u', 0x2a}, {'d', 0x64}};
	char *end;
	uint32_t first = (uint32_t)strtoul(token + 1, &end, 10), last = first, more = 0;
	if (*end == '.')
		last = (uint32_t)strtoul(end + 2, &end, 10);
	if (*end == ':' || *end == '/')
		more = (uint32_t)strtoul(end + 1, &end, 10);
	if (*token == '+') {
		script->t_ns += (int64_t)first * 1000 - 1000;
		return;
	}
	if (*token == '#') {
		script->ids = token[1] != '-';
		script->id = (uint16_t)first;
		return;
	}
	script->t_ns += 1000;
	if (*token == 'a' || *token == 'n' || *token == 'x' || *token == 'c') {
		script_answer(script, *token, first, more);
		return;
	}
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(*opcodes); i++)
		for (uint32_t psn = first; opcodes[i].letter == *token && psn <= last; psn++) {
			script_packet(script, opcodes[i].opcode, psn, more);
			if (psn < last)
				script->t_ns += 200;
		}
}

static inline void script_run(struct loss_script *script, const char *text)
{
	while (*text) {
		script_token(script, text);
		while (*text && *text != ' ')
			text++;
		while (*text == ' ')
			text++;
	}
}

static inline void script_begin(struct loss_script *script)
{
	*script = (struct loss_script){.loss = loss_new(), .t_ns = 1700000000000000000ll};
}

#endif
