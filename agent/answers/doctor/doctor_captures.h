/*
 * capture_sight - why a capture sees less than it should, each reason with its next step
 * (reason.def). Pure: numbers in, reasons out.
 */
#pragma once

#include "base/base.h"

#include "collectors/target/reason.h"

/* What a capture has counted since it was opened, in frames. NAN = not known. */
struct capture_sight {
	double interface_frames; /* of the interface, RoCE or not, both ways */
	double frames; /* that the filter let through */
	double roce, bad, kernel_drops;
	double encapsulated; /* recognised and not opened ... */
	const char *encapsulated_as; /* ... as what: "arista_time 7, macsec 2"; "" */
	double requests, answers; /* of reliable connections */
	double aeth_cut; /* answers cut off by the snap length */
	double copies; /* packets that came twice */
	/* frames looked at while there was no RoCE, and how many of them belong to protocols of the
	 * switch itself (ARP, LLDP, BGP ...) */
	double instead, instead_control;
	const char *instead_as; /* "lldp 12, arp 3"; "" */
	bool one_direction; /* the configuration asks for one direction only */
};

enum { CAPTURE_SIGHT_MAX = 8 };

/* capture_sight_reasons - what is wrong, most important first. Returns how many. */
size_t capture_sight_reasons(
	const struct capture_sight *sight, const char *name, struct reason ret[CAPTURE_SIGHT_MAX]);
