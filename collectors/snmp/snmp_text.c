/* snmp_text - cleans the octets that agents send as text. */
#include "collectors/snmp/snmp_text.h"

#include <string.h>

#include "agent/base/text_clean.h"

char *snmp_text_clean(char *buf, size_t size, const uint8_t *data, size_t n)
{
	while (n > 0 && data[n - 1] == 0)
		n--;
	size_t at = text_clean(buf, size, data, n);
	while (at > 0 && buf[at - 1] == ' ')
		at--;
	buf[at] = '\0';
	size_t lead = strspn(buf, " ");
	if (lead)
		memmove(buf, buf + lead, at - lead + 1);
	return buf;
}
