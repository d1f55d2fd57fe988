/*
 * pcap_row - a row of a report while it is made, key by key: as JSON text at the end of a buffer,
 * or as an object for the forms that make columns of it. A report of 400,000 rows is written
 * without one allocation a row. Both have the same keys in the same order; a key is put once.
 * Single-threaded.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include <arpa/inet.h>

enum { PCAP_ROW_DEPTH = 4 }; /* objects and lists within each other */

struct pcap_row {
	struct str *text; /* lent; NULL: an object is made */
	json_t *part[PCAP_ROW_DEPTH]; /* [0] is the row, owned by who asked for it */
	char closes[PCAP_ROW_DEPTH];
	unsigned depth;
	bool compact; /* text without blanks */
	bool more; /* text: something stands before in this part */
};

/* pcap_row_begin - @text NULL: an object, for pcap_row_end(). */
void pcap_row_begin(struct pcap_row *row, struct str *text, bool compact);
/* pcap_row_end - the object, which the caller owns; NULL for text. */
json_t *pcap_row_end(struct pcap_row *row);

/* The length of a key is known where the key is written. */
static inline size_t pcap_row_key_n(const char *key)
{
	if (!key)
		return 0;
	return __builtin_strlen(key);
}

/* @key NULL: an item of a list. */
void pcap_row_count_n(struct pcap_row *row, const char *key, size_t key_n, uint64_t value);
static inline void pcap_row_count(struct pcap_row *row, const char *key, uint64_t value)
{
	pcap_row_count_n(row, key, pcap_row_key_n(key), value);
}
void pcap_row_null_n(struct pcap_row *row, const char *key, size_t key_n);
static inline void pcap_row_null(struct pcap_row *row, const char *key)
{
	pcap_row_null_n(row, key, pcap_row_key_n(key));
}
void pcap_row_real(struct pcap_row *row, const char *key, double value); /* NAN: null */
void pcap_row_time_n(struct pcap_row *row, const char *key, size_t key_n, int64_t t_ns);
static inline void pcap_row_time(struct pcap_row *row, const char *key, int64_t t_ns)
{
	pcap_row_time_n(row, key, pcap_row_key_n(key), t_ns);
}
/* pcap_row_word - a text of our own: nothing in it needs an escape. NULL: null. */
void pcap_row_word_n(struct pcap_row *row, const char *key, size_t key_n, const char *text);
static inline void pcap_row_word(struct pcap_row *row, const char *key, const char *text)
{
	pcap_row_word_n(row, key, pcap_row_key_n(key), text);
}
/* pcap_row_value - any other value; takes it over. */
void pcap_row_value(struct pcap_row *row, const char *key, json_t *value);
void pcap_row_open(struct pcap_row *row, const char *key); /* an object, until pcap_row_close() */
void pcap_row_open_list(struct pcap_row *row, const char *key);
void pcap_row_close(struct pcap_row *row);

/* pcap_value - single values in the document of a capture. */

/* pcap_count_put - a counter into @object. */
void pcap_count_put(json_t *object, const char *key, uint64_t value);

/* pcap_address_text - @family 4 or 6, @address as in struct roce_packet. Returns @buf. */
const char *pcap_address_text(
	char buf[INET6_ADDRSTRLEN], uint8_t family, const uint8_t address[16]);
/* pcap_address_put - the same into @object. */
void pcap_address_put(json_t *object, const char *key, uint8_t family, const uint8_t address[16]);
