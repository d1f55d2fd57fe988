/* block_layout - what the two sides of block_codec.h agree on; for files of db/block only. The
 * layout is described in block_encode.c. */
#ifndef RW_DB_BLOCK_LAYOUT_H
#define RW_DB_BLOCK_LAYOUT_H

enum { BLOCK_VERSION_FAST = 1, BLOCK_VERSION_SMALL = 2 };

/* First byte of a series with exceptions; no column of numbers begins with it. */
enum { BLOCK_MARKED = 0xfe };

#endif
