/* pcap_put_input - what was read, and what it holds beside RoCE. */
#include "agent/capture/pcap_parts.h"
#include "agent/document/json_value.h"

void pcap_put_input(json_t *document, struct pcap_reading *reading)
{
	const struct pcap_input *input = &reading->input;
	json_t *other = pcap_other_json(&reading->other);
	json_object_set_new(document, "file", json_string_or_null(input->name));
	if (other)
		json_object_set_new(document, "other", other);
	if (input->live) {
		pcap_count_put(document, "kernel_drops", input->kernel_drops);
		return;
	}
	json_t *files = json_array();
	for (size_t i = 0; i < input->n_files; i++)
		json_array_append_new(files, json_string_or_null(input->files[i]));
	json_object_set_new(document, "files", files);
}
