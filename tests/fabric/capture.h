/*
 * capture - what mirrors of switch ports would have seen of a recorded scenario, as capture files.
 *
 * Mirrored are the uplinks of the leaf where the fault is (of the first leaf without one), what
 * leaves by them; what comes in by the uplink that the fault is at; and the port of the host that
 * it is at, both ways. Of each: capture-NAME.pcap, one packet in N over the whole recording, with
 * capture.yaml, and burst-NAME.pcap, every packet of three simulated slices of an exchange (the
 * first under the fault), for `rocewatch pcap`. The packets are those of the fine grain: its marks,
 * CNPs, NAKs and packets sent again; N follows from the bytes that may be written.
 */
#ifndef FABRIC_CAPTURE_H
#define FABRIC_CAPTURE_H

#include "tests/fabric/recorder.h"

struct capture;
struct err;

/* capture_new - simulates the exchanges once more and looks; from then on it follows the exchanges
 * of r->c. Files are made in r->o->dir. */
int capture_new(struct recorder *r, struct capture **ret, struct err *e);
/* capture_finish - what is under way at the end of the recording, and capture.yaml. */
int capture_finish(struct capture *c, struct err *e);
void capture_free(struct capture *c); /* NULL is fine */

#endif
