/*
 * capture_facts - what a capture has counted since it was opened, as the agent's health keeps it:
 * the same keys in doctor and status.
 */
#ifndef RW_REPORTS_CAPTURE_FACTS_H
#define RW_REPORTS_CAPTURE_FACTS_H

#include <jansson.h>

#include "agent/document/shape.h"

/* X(member, key in the agent's health, sentence of the schema). */
#define CAPTURE_FACTS(X)                                                                           \
	X(frames, "frames", "frames that were read.")                                              \
	X(interface_frames, "interface_frames", "frames that the interface counted.")              \
	X(roce_packets, "roce", "RoCEv2 packets.")                                                 \
	X(rocev1_packets, "rocev1", "RoCEv1 frames.")                                              \
	X(uet_packets, "uet", "packets of the Ultra Ethernet transport.")                          \
	X(tunneled_packets, "tunneled", "packets out of a tunnel.")                                \
	X(encapsulated_frames, "encapsulated",                                                     \
		"frames in a wrapping that was recognized and not opened.")                        \
	X(copies, "copies", "packets that came more than once.")                                   \
	X(unreadable_frames, "bad", "frames that could not be read.")                              \
	X(kernel_drops, "kernel_drops", "frames that the kernel dropped before they were read.")

/* Members of a struct; COUNT_UNKNOWN where it is not known. */
#define CAPTURE_FACT_MEMBER(m, k, about) uint64_t m;
/* For a macro that fills them: struct *row, from @health and the name of the capture. */
#define CAPTURE_FACT_READ(m, k, about) row->m = capture_count(health, name, k);

/* capture_fact - one of them by its key in the agent's health; NAN when it is not there. @health:
 * object of numbers by key, "capture/NAME/frames". */
double capture_fact(const json_t *health, const char *capture, const char *key);
/* capture_count - the same as a count. */
uint64_t capture_count(const json_t *health, const char *capture, const char *key);

#endif
