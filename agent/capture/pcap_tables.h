/*
 * pcap_tables - the tables of a capture for people: senders that were told to slow down, receivers
 * of CE, pause frames by device, queue pairs. The forms table, html and md print the same ones.
 */
#ifndef RW_CAPTURE_PCAP_TABLES_H
#define RW_CAPTURE_PCAP_TABLES_H

#include "agent/document/writer.h"

struct pcap_table {
	const char *title; /* one sentence: what the rows are */
	struct view view; /* .rows: the key in the document */
};
extern const struct pcap_table pcap_tables[]; /* ends with title NULL */
enum { PCAP_TABLE_ROWS = 10 }; /* printed of each, the first ones */

/* pcap_table_part - the first rows of @table as a document of their own; NULL: there is none.
 * *ret_n is how many there are in all. The caller owns it. */
json_t *pcap_table_part(const struct pcap_table *table, const json_t *document, size_t *ret_n);

#endif
