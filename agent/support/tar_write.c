/* tar_write - headers of 512 bytes, contents filled up to whole blocks. */
#include "agent/support/tar_write.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/str.h"

enum { BLOCK = 512 };

struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], checksum[8], type, link[100];
	char magic[6], version[2], user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct tar_header) == BLOCK, "a header is one block");

static void tar_octal(char *field, size_t size, uint64_t value)
{
	char digits[32];
	snprintf(digits, sizeof(digits), "%0*" PRIo64, (int)size - 1, value);
	memcpy(field, digits, size);
}

/* The sum of all bytes of the header, its own field counted as blanks. */
static void tar_sum(struct tar_header *header)
{
	unsigned sum = 0;
	memset(header->checksum, ' ', sizeof(header->checksum));
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += ((const unsigned char *)header)[i];
	tar_octal(header->checksum, sizeof(header->checksum) - 1, sum);
	header->checksum[7] = ' ';
}

static void tar_zeros(struct str *tar, size_t n)
{
	static const char zeros[2 * BLOCK];
	str_addn(tar, zeros, n);
}

int tar_add(struct str *tar, const char *name, const void *data, size_t n, int64_t time_s)
{
	struct tar_header header;
	const size_t length = strlen(name);
	if (length > TAR_NAME_MAX)
		return -ENAMETOOLONG;
	memset(&header, 0, sizeof(header));
	memcpy(header.name, name, length);
	tar_octal(header.mode, sizeof(header.mode), 0600);
	tar_octal(header.uid, sizeof(header.uid), 0);
	tar_octal(header.gid, sizeof(header.gid), 0);
	tar_octal(header.size, sizeof(header.size), n);
	tar_octal(header.mtime, sizeof(header.mtime), time_s < 0 ? 0 : (uint64_t)time_s);
	header.type = '0';
	memcpy(header.magic, "ustar", 6);
	memcpy(header.version, "00", 2);
	memcpy(header.user, "root", 4);
	memcpy(header.group, "root", 4);
	tar_sum(&header);
	str_addn(tar, (const char *)&header, sizeof(header));
	str_addn(tar, data, n);
	tar_zeros(tar, (BLOCK - n % BLOCK) % BLOCK);
	return 0;
}

void tar_end(struct str *tar)
{
	tar_zeros(tar, 2 * BLOCK);
}
