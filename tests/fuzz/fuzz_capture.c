/* Any bytes as a capture file, through all of "rocewatch pcap": reader, decoder, analysis,
 * document, text. No crash, no leak, an end; and no more counted than there are records. */
#include <stdint.h>
#include <stdlib.h>

#include "agent/base/err.h"
#include "agent/capture/pcap_document.h"
#include "collectors/packet/pcap_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pcap_reader *reader;
	struct pcap_record record;
	struct err e = {0};
	const struct pcap_options options = {0};
	if (pcap_reader_memory(data, size, &reader, &e) < 0)
		return 0;
	struct pcap_reading *reading = pcap_reading_new(&options);
	json_int_t records = 0;
	while (pcap_reader_next(reader, &record, &e) > 0) {
		struct roce_packet packet;
		roce_parse(record.link, record.p, record.n, record.wire, ROCE_CHECK_ICRC, &packet);
		pcap_reading_packet(reading, &packet, &record.origin, record.t_ns);
		records++;
	}
	json_t *document = pcap_document(reading, "fuzz");
	if (json_integer_value(json_object_get(document, "packets")) > records)
		abort();
	char *text = json_dumps(document, JSON_COMPACT);
	if (!text)
		abort();
	free(text);
	json_decref(document);
	pcap_reading_free(reading);
	pcap_reader_free(reader);
	return 0;
}
