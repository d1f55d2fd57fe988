/* Any datagram as the answer to an engine discovery: no crash, and an engine id is never longer
 * than RFC 3411 allows. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "collectors/snmp/snmp_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snmp_engine e;
	if (snmp_engine_answer(data, size, 0x01020304, &e) == 0 &&
		(e.n_id < 5 || e.n_id > SNMP_ENGINE_ID_MAX))
		abort();
	return 0;
}
