/*
 * sai_stat - statistics of the switch abstraction interface by number and by name: the table
 * sai.def. Pure; any thread.
 */
#ifndef RW_COLLECTORS_SAI_STAT_H
#define RW_COLLECTORS_SAI_STAT_H

#include <stddef.h>
#include <stdint.h>

enum sai_type {
	SAI_PORT = 1,
	SAI_QUEUE = 21,
	SAI_BUFFER_POOL = 24,
	SAI_INGRESS_PRIORITY_GROUP = 26,
};

enum { SAI_NAME_MAX = 96 }; /* bytes of a name, the end included */

enum sai_kind { SAI_COUNTER, SAI_LEVEL, SAI_PEAK }; /* sai.def says what they are */

struct sai_stat {
	uint32_t type, number;
	enum sai_kind kind;
	const char *name; /* without the prefix of its type: "PFC_3_RX_PKTS" */
};

/* sai_stat_of - NULL: the table does not have it. */
const struct sai_stat *sai_stat_of(uint32_t type, uint32_t number);

/* sai_stat_text - "SAI_PORT_STAT_PFC_3_RX_PKTS" of any number; what the table does not have is
 * "sai_type_T_stat_S". Returns @buf. */
const char *sai_stat_text(char buf[SAI_NAME_MAX], uint32_t type, uint32_t number);

/* sai_type_name - "PORT"; NULL: it is none of the table. */
const char *sai_type_name(uint32_t type);

#endif
