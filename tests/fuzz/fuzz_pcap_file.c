/* Any bytes as a capture file, each record decoded: no crash, no record beyond the file, and an
 * end. */
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "collectors/packet/capture/pcap_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pcap_reader *r;
	struct pcap_record record;
	struct err e = {0};
	if (pcap_reader_memory(data, size, &r, &e) < 0)
		return 0;
	size_t records = 0;
	int rc;
	while ((rc = pcap_reader_next(r, &record, &e)) > 0) {
		struct roce_packet p;
		if (record.n && (record.p < data || record.p + record.n > data + size))
			abort();
		if (record.wire < record.n || ++records > size)
			abort();
		if (record.origin.interface >= PCAP_INTERFACES_MAX || record.origin.direction > 2)
			abort();
		roce_parse(record.link, record.p, record.n, record.wire, ROCE_CHECK_ICRC, &p);
	}
	if (rc < 0 && !e.text[0])
		abort();
	bool known;
	if (pcap_reader_drops(r, &known) && !known)
		abort();
	pcap_reader_free(r);
	return 0;
}
