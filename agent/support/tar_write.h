/*
 * tar_write - files as an archive in memory: POSIX ustar (IEEE Std 1003.1-2017, pax, "ustar
 * Interchange Format"), regular files only. Pure; any thread.
 */
#ifndef RW_SUPPORT_TAR_WRITE_H
#define RW_SUPPORT_TAR_WRITE_H

#include <stddef.h>
#include <stdint.h>

struct str;

#define TAR_NAME_MAX 99 /* bytes of the field "name" that a name may have */

/* tar_add - one file with mode 0600. 0, or -ENAMETOOLONG. @time_s: of its last change, since 1970.
 */
int tar_add(struct str *tar, const char *name, const void *data, size_t n, int64_t time_s);
/* tar_end - the two blocks of zeros behind the last file. */
void tar_end(struct str *tar);

#endif
