/*
 * pcap_facts - the summary of a capture in labelled lines, as the forms for people print it: table,
 * html and md.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct pcap_fact {
	const char *label;
	/* adds the line's text; nothing when the capture says nothing about it */
	void (*say)(struct str *out, const json_t *document);
};
extern const struct pcap_fact pcap_facts[]; /* in the order of printing; ends with label NULL */
