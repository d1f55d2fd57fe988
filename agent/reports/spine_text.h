/* spine_text - the spine-imbalance document as text for people. */
#ifndef RW_REPORTS_SPINE_TEXT_H
#define RW_REPORTS_SPINE_TEXT_H

#include "agent/document/writer.h"

void spine_text(FILE *out, const json_t *doc, const struct view *view, bool color, bool header);

/* Cells shared with the ecmp views. "-" for null. */
const char *doc_text(const json_t *object, const char *key);
char *doc_pct(char *buf, size_t size, double ratio);
/* "spine1 (Ethernet49)", or the port alone. */
char *doc_member(char *buf, size_t size, const json_t *group, const char *port);
void doc_flow_line(FILE *out, const json_t *flow, const char *indent);
/* What the packets behind a group's flows are worth: "n = 1204 packets, every one" or "..., 1 in
 * 4000". */
void doc_packets_line(FILE *out, const json_t *group, const char *indent);

#endif
