/* Answers of any bytes: our reader reads none that the library refuses, and no byte past the end.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "collectors/snmp/snmp_io.h"
#include "collectors/snmp/snmp_library.h"
#include "collectors/snmp/snmp_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct snmp_scratch ours, theirs;
	struct snmp_message a, b;
	struct snmp_pdu *pdu = NULL;
	snmp_io_init();
	if (snmp_message_read(data, size, "public", &ours, &a) != 0)
		return 0;
	if (snmp_library_read(data, size, &theirs, &b, &pdu) != 0 || a.n != b.n)
		abort();
	for (size_t i = 0; i < a.n; i++)
		if (snmp_oid_order(a.v[i].oid, b.v[i].oid) != 0 || a.v[i].type != b.v[i].type ||
			a.v[i].number != b.v[i].number || a.v[i].n_bytes != b.v[i].n_bytes)
			abort();
	snmp_library_free(pdu);
	return 0;
}
