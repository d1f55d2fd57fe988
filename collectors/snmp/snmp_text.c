/* snmp_text - cleans the octets that agents send as text. */
#include "collectors/snmp/snmp_text.h"

#include <string.h>

/* snmp_text_utf8_length - bytes of the valid sequence at @data, 0 when there is none (RFC 3629: no
 * overlong forms, no surrogates). */
static size_t snmp_text_utf8_length(const uint8_t *data, size_t n)
{
	size_t len = 0;
	if (data[0] < 0x80)
		len = 1;
	else if (data[0] >= 0xc2 && data[0] < 0xe0)
		len = 2;
	else if (data[0] >= 0xe0 && data[0] < 0xf0)
		len = 3;
	else if (data[0] >= 0xf0 && data[0] < 0xf5)
		len = 4;
	if (len == 0 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((data[i] & 0xc0) != 0x80)
			return 0;
	if ((data[0] == 0xe0 && data[1] < 0xa0) || (data[0] == 0xed && data[1] > 0x9f) ||
		(data[0] == 0xf0 && data[1] < 0x90) || (data[0] == 0xf4 && data[1] > 0x8f))
		return 0;
	return len;
}

char *snmp_text_clean(char *buf, size_t size, const uint8_t *data, size_t n)
{
	size_t at = 0;
	while (n > 0 && data[n - 1] == 0)
		n--;
	for (size_t i = 0; i < n;) {
		const size_t valid = snmp_text_utf8_length(data + i, n - i);
		size_t step = 1;
		if (valid > 1)
			step = valid;
		if (at + step >= size)
			break;
		if (valid > 1)
			memcpy(buf + at, data + i, valid);
		else if (valid == 0)
			buf[at] = '?';
		else if (data[i] < 0x20 || data[i] == 0x7f)
			buf[at] = ' ';
		else
			buf[at] = (char)data[i];
		at += step;
		i += step;
	}
	while (at > 0 && buf[at - 1] == ' ')
		at--;
	buf[at] = '\0';
	size_t lead = strspn(buf, " ");
	if (lead)
		memmove(buf, buf + lead, at - lead + 1);
	return buf;
}
