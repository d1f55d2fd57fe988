/* ecmp_words - what the views of ECMP groups have in common: cells, members, flows. */
#ifndef RW_REPORTS_ECMP_WORDS_H
#define RW_REPORTS_ECMP_WORDS_H

#include <jansson.h>
#include <stdio.h>

/* A text field; "-" for null. It lives with @object. */
const char *doc_text(const json_t *object, const char *key);
/* "19.8 %"; "-" for NAN. */
char *doc_pct(char *buf, size_t size, double ratio);
/* "Ethernet49 -> spine1", or the port alone. */
char *doc_member(char *buf, size_t size, const json_t *group, const char *port);
void doc_flow_line(FILE *out, const json_t *flow, const char *indent);
/* What the packets behind a group's flows are worth: "n = 1204 packets, every one" or "..., 1 in
 * 4000". */
void doc_packets_line(FILE *out, const json_t *group, const char *indent);

#endif
