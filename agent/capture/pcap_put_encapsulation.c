/* pcap_put_encapsulation - tunnels, mirrors, what could not be opened, and transports other than
 * RoCEv2. */
#include "agent/capture/pcap_parts.h"
#include "agent/capture/pcap_verdict.h"
#include "collectors/packet/frame/roce_parse.h"
#include "db/model/flow.h"

static json_t *json_layers(const struct encapsulation_count *count)
{
	json_t *o = json_object();
	for (int i = 0; i < LAYER_COUNT; i++)
		if (count->by_layer[i])
			pcap_count_put(
				o, decap_layer_name((enum decap_layer)i), count->by_layer[i]);
	return o;
}

static json_t *json_direction(uint8_t direction)
{
	if (direction == FLOW_DIR_IN)
		return json_string("in");
	if (direction == FLOW_DIR_OUT)
		return json_string("out");
	return json_null();
}

static json_t *json_known(bool known, uint32_t value)
{
	if (known)
		return json_integer(value);
	return json_null();
}

static json_t *json_mirror(const struct mirror_count *row)
{
	json_t *o = json_object();
	const struct decap_mirror *m = &row->mirror;
	json_object_set_new(o, "kind", json_string(decap_layer_name((enum decap_layer)m->layer)));
	json_object_set_new(o, "session", json_known(m->has_session, m->session));
	json_object_set_new(o, "direction", json_direction(m->direction));
	json_object_set_new(o, "port", json_known(m->has_port, m->port));
	if (row->family)
		pcap_address_put(o, "src", row->family, row->src);
	else
		json_object_set_new(o, "src", json_null());
	pcap_count_put(o, "packets", row->packets);
	pcap_count_put(o, "cut", row->cut);
	return o;
}

static json_t *json_mirrors(const struct encapsulation_count *count)
{
	json_t *rows = json_array();
	for (uint32_t i = 0; i < count->n_mirrors; i++)
		json_array_append_new(rows, json_mirror(&count->mirrors[i]));
	return rows;
}

static json_t *json_uet(const struct encapsulation_count *count)
{
	uint64_t packets = 0;
	json_t *o = json_object();
	for (int i = 0; i < UET_CLASS_COUNT; i++)
		packets += count->uet[i];
	pcap_count_put(o, "packets", packets);
	for (int i = 0; i < UET_CLASS_COUNT; i++)
		pcap_count_put(o, uet_class_name((enum uet_class)i), count->uet[i]);
	pcap_count_put(o, "retransmitted", count->uet_retransmitted);
	pcap_count_put(o, "nack_trimmed", count->uet_nack_trimmed);
	return o;
}

static void put_uet(json_t *document, json_t *transports, const struct encapsulation_count *count)
{
	json_t *uet = json_uet(count);
	const json_int_t packets = json_integer_value(json_object_get(uet, "packets"));
	if (packets == 0) {
		json_decref(uet);
		return;
	}
	json_object_set_new(transports, "uet", uet);
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_UET,
		"%s packet%s of the Ultra Ethernet transport (UDP port 4793), counted and not "
		"judged",
		number_count((uint64_t)packets).s, plural((uint64_t)packets));
	json_object_set_new(row, "n", json_integer(packets));
}

static void put_rocev1(json_t *document, json_t *transports, uint64_t n)
{
	if (n == 0)
		return;
	pcap_count_put(transports, "rocev1", n);
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_ROCEV1,
		"%s frame%s of RoCE version 1, which cannot be routed and knows no ECN",
		number_count(n).s, plural(n));
	json_object_set_new(row, "n", json_integer((json_int_t)n));
}

static void put_trimmed(json_t *document, json_t *transports, uint64_t n)
{
	if (n == 0)
		return;
	pcap_count_put(transports, "trimmed", n);
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_TRIMMED,
		"%s packet%s without payload: switches trimmed them instead of dropping them",
		number_count(n).s, plural(n));
	json_object_set_new(row, "n", json_integer((json_int_t)n));
}

static void put_refused(json_t *document, const struct encapsulation_count *count)
{
	json_t *o = json_object();
	for (int i = 1; i < REFUSED_COUNT; i++) {
		const enum decap_refusal refusal = (enum decap_refusal)i;
		const uint64_t n = count->refused[i];
		if (n == 0)
			continue;
		pcap_count_put(o, decap_refusal_name(refusal), n);
		json_t *row = pcap_verdict_add(document, PCAP_VERDICT_NOT_OPENED,
			"%s packet%s could not be opened: %s", number_count(n).s, plural(n),
			decap_refusal_text(refusal));
		json_object_set_new(row, "n", json_integer((json_int_t)n));
		json_object_set_new(row, "encapsulation", json_string(decap_refusal_name(refusal)));
	}
	if (json_object_size(o) > 0)
		json_object_set(json_object_get(document, "errors"), "encapsulated", o);
	json_decref(o);
}

static void put_link_type(json_t *document, const struct pcap_reading *reading)
{
	char name[LINK_NAME_MAX];
	const uint64_t n = reading->analysis.count.errors[ROCE_UNSUPPORTED_LINK];
	if (n == 0)
		return;
	json_t *row = pcap_verdict_add(document, PCAP_VERDICT_LINK_TYPE,
		"%s frame%s of a link type that is not read, %s; %s", number_count(n).s, plural(n),
		link_name(name, reading->unread_dlt), link_hint(reading->unread_dlt));
	json_object_set_new(row, "n", json_integer((json_int_t)n));
	json_object_set_new(row, "link_type", json_integer(reading->unread_dlt));
}

void pcap_put_encapsulation(json_t *document, struct pcap_reading *reading)
{
	const struct encapsulation_count *count = &reading->analysis.encapsulation;
	json_object_set_new(document, "by_encapsulation", json_layers(count));
	json_object_set_new(document, "mirrors", json_mirrors(count));
	if (count->more_mirrors)
		pcap_count_put(document, "more_mirrors_packets", count->more_mirrors);
	if (count->inner_cut)
		pcap_count_put(document, "inner_cut_packets", count->inner_cut);
	json_t *transports = json_object();
	put_uet(document, transports, count);
	put_rocev1(document, transports, reading->analysis.count.rocev1_packets);
	put_trimmed(document, transports, count->trimmed);
	json_object_set_new(document, "transports", transports);
	put_refused(document, count);
	put_link_type(document, reading);
}
