/* pcap_stop - Ctrl-C and SIGTERM end the reading of packets, and the report is printed; a second
 * one ends the program. For "rocewatch pcap". */
#ifndef RW_COMMAND_PCAP_STOP_H
#define RW_COMMAND_PCAP_STOP_H

#include <signal.h>

/* pcap_stop_begin - from now on signals set the flag that is returned. */
const volatile sig_atomic_t *pcap_stop_begin(void);
/* pcap_stop_end - signals do again what they did before. */
void pcap_stop_end(void);

#endif
