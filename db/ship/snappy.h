/*
 * snappy - packs bytes in the block format of Snappy, as Prometheus' remote write asks for.
 * https://github.com/google/snappy/blob/main/format_description.txt. Pure.
 */
#ifndef RW_DB_SNAPPY_H
#define RW_DB_SNAPPY_H

#include <stddef.h>

struct str;

/* snappy_pack - adds the packed bytes of @data to @out. @n below 4 GiB. */
void snappy_pack(const void *data, size_t n, struct str *out);

#endif
