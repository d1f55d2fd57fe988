/* print_packets - the chapter of docs/packets.md that is printed from
 * agent/capture/pcap_verdict.def: what each kind of sentence means, and what to do. */
#include <stdio.h>

#include "agent/capture/pcap_verdict.h"

int main(void)
{
	printf("| kind | usually | what it says | what to do |\n|---|---|---|---|\n");
	for (int i = 0; i < PCAP_VERDICT_COUNT; i++) {
		const struct pcap_verdict_info *info = pcap_verdict_info((enum pcap_verdict)i);
		printf("| `%s` | %s | %s | %s |\n", info->word, pcap_severity_name(info->severity),
			info->says, info->help);
	}
	printf("\n");
	return 0;
}
