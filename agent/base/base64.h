/* base64 - bytes as text, RFC 4648 section 4, with padding. Pure. */
#ifndef RW_BASE_BASE64_H
#define RW_BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

/* base64_text - malloc'd, ended by a zero byte. */
char *base64_text(const void *data, size_t n);
/* base64_bytes - malloc'd, *@ret_n bytes. NULL: this is no such text. */
uint8_t *base64_bytes(const char *text, size_t *ret_n);

#endif
