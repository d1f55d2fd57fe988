/* Any bytes as a capture file, through all of "rocewatch pcap": reader, decoder, analysis,
 * document, text. No crash, no leak, an end; and no more counted than there are records. */
#include <stdint.h>
#include <stdlib.h>

#include "base/err.h"
#include "agent/capture/pcap_print.h"
#include "collectors/packet/capture/pcap_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_print(const struct pcap_report *report, enum report_format format)
{
	char *text = NULL;
	size_t n = 0;
	struct pcap_printer printer = {
		.out = open_memstream(&text, &n), .format = format, .header = true, .width = 100};
	pcap_print_report(&printer, report);
	if (pcap_print_end(&printer) < 0 || n == 0)
		abort();
	fclose(printer.out);
	free(text);
}

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
	const struct pcap_ask ask = {.sort = pcap_sorts};
	struct pcap_report report;
	pcap_report_make(&report, reading, &ask);
	if (json_integer_value(json_object_get(report.document, "packets")) > records)
		abort();
	fuzz_print(&report, FORMAT_JSON);
	fuzz_print(&report, FORMAT_TABLE);
	fuzz_print(&report, FORMAT_HTML);
	pcap_report_done(&report);
	pcap_reading_free(reading);
	pcap_reader_free(reader);
	return 0;
}
