/* print_packets - the chapter of docs/packets.md that is printed from
 * agent/capture/pcap_verdict.def and collectors/packet/loss/loss_cause.def: what each kind of
 * sentence means and what to do, and what proves each cause of a loss. */
#include <stdio.h>

#include "base/cleanup.h"
#include "agent/capture/pcap_verdict.h"

enum printed_cause {
#define LOSS_CAUSE(symbol, word, weight) PRINTED_##symbol,
#define LOSS_PROOF(symbol, cause, text)
#include "collectors/packet/loss/loss_cause.def"
#undef LOSS_CAUSE
#undef LOSS_PROOF
};

static const struct {
	enum printed_cause cause;
	const char *word;
} causes[] = {
#define LOSS_CAUSE(symbol, word, weight) {PRINTED_##symbol, word},
#define LOSS_PROOF(symbol, cause, text)
#include "collectors/packet/loss/loss_cause.def"
#undef LOSS_CAUSE
#undef LOSS_PROOF
};

static const struct {
	enum printed_cause cause;
	const char *text;
} proofs[] = {
#define LOSS_CAUSE(symbol, word, weight)
#define LOSS_PROOF(symbol, cause, text) {PRINTED_##cause, text},
#include "collectors/packet/loss/loss_cause.def"
#undef LOSS_CAUSE
#undef LOSS_PROOF
};

int main(void)
{
	printf("| kind | usually | what it says | what to do |\n|---|---|---|---|\n");
	for (int i = 0; i < PCAP_VERDICT_COUNT; i++) {
		const struct pcap_verdict_info *info = pcap_verdict_info((enum pcap_verdict)i);
		printf("| `%s` | %s | %s | %s |\n", info->word, pcap_severity_name(info->severity),
			info->says, info->help);
	}
	printf("\nCauses of events and the proofs that they can have; words in braces are numbers "
	       "of "
	       "the event:\n\n| cause | proof |\n|---|---|\n");
	for (size_t i = 0; i < rw_countof(causes); i++)
		for (size_t k = 0; k < rw_countof(proofs); k++)
			if (proofs[k].cause == causes[i].cause)
				printf("| `%s` | %s |\n", causes[i].word, proofs[k].text);
	printf("\n");
	return 0;
}
