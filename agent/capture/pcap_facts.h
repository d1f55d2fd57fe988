/*
 * pcap_facts - the summary of a capture in labelled lines, as the forms for people print it: table,
 * html and md.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

/* pcap_facts - a call of @line for each that the capture has something for, in the order of
 * printing; its texts are lent for the call. */
typedef void pcap_fact_fn(void *arg, const char *label, const char *text);
void pcap_facts(const json_t *document, pcap_fact_fn *line, void *arg);
