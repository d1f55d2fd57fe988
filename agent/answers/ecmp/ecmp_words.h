/* ecmp_words - what the views of ECMP groups have in common: cells, members, flows. */
#ifndef RW_REPORTS_ECMP_WORDS_H
#define RW_REPORTS_ECMP_WORDS_H

#include <jansson.h>
#include <stdio.h>

struct spine_group;

/* "19.8 %"; "-" for NAN. */
char *doc_pct(char *buf, size_t size, double ratio);
/* "Ethernet49 -> spine1", or the port alone. */
char *ecmp_member_text(char *buf, size_t size, const struct spine_group *group, const char *port);

#endif
