/* pcap_select - hosts, queue pairs, a priority and times. */
#include "agent/capture/pcap_select.h"

#include "agent/capture/pcap_row.h"
#include "agent/document/json_value.h"

#define QP_MAX 0xffffffu

/* ---- reading ------------------------------------------------------------------ */

static int pcap_select_bits(const char *text, unsigned most, unsigned *ret, struct err *e)
{
	int64_t bits = 0;
	if (unit_int(text, &bits, NULL) < 0 || bits < 0 || bits > most)
		return err_set(
			e, -EINVAL, "'/%.16s' is not a prefix length from 0 to %u", text, most);
	*ret = (unsigned)bits;
	return 0;
}

int pcap_select_add_host(struct pcap_select *select, const char *text, struct err *e)
{
	char address[INET6_ADDRSTRLEN + 1];
	struct pcap_host host = {.family = 4, .bits = 32};
	const size_t n = strcspn(text, "/");
	if (select->n_hosts == PCAP_SELECT_MAX)
		return err_set(e, -EINVAL, "more than %d of them", PCAP_SELECT_MAX);
	snprintf(address, sizeof(address), "%.*s", (int)n, text);
	if (inet_pton(AF_INET, address, host.address) != 1) {
		host.family = 6;
		host.bits = 128;
	}
	if (host.family == 6 && inet_pton(AF_INET6, address, host.address) != 1)
		return err_set(e, -EINVAL,
			"'%.64s' is not an address such as 10.0.0.3, fd00::3 or 10.0.3.0/24", text);
	if (text[n] == '/' && pcap_select_bits(text + n + 1, host.bits, &host.bits, e) < 0)
		return -EINVAL;
	select->hosts[select->n_hosts++] = host;
	return 0;
}

int pcap_select_add_qp(struct pcap_select *select, const char *text, struct err *e)
{
	char *end = NULL;
	const int base = strncmp(text, "0x", 2) == 0 ? 16 : 10;
	errno = 0;
	const unsigned long long qp = strtoull(text, &end, base);
	const bool number = *text >= '0' && *text <= '9' && *end == '\0' && errno == 0;
	if (!number || qp > QP_MAX)
		return err_set(e, -EINVAL,
			"'%.32s' is not a queue pair from 0 to 0xffffff, such as 69 or 0x45", text);
	if (select->n_qps == PCAP_SELECT_MAX)
		return err_set(e, -EINVAL, "more than %d of them", PCAP_SELECT_MAX);
	select->qps[select->n_qps++] = (uint32_t)qp;
	return 0;
}

/* ---- choosing ------------------------------------------------------------------ */

bool pcap_select_time(const struct pcap_select *select, int64_t t_ns)
{
	if (select->since_given && t_ns < select->since_ns)
		return false;
	return !select->until_given || t_ns <= select->until_ns;
}

static bool pcap_host_is(const struct pcap_host *host, uint8_t family, const uint8_t address[16])
{
	if (host->family != family)
		return false;
	const unsigned bytes = host->bits / 8, rest = host->bits % 8;
	if (memcmp(host->address, address, bytes) != 0)
		return false;
	if (rest == 0)
		return true;
	const uint8_t mask = (uint8_t)(0xff00u >> rest);
	return ((host->address[bytes] ^ address[bytes]) & mask) == 0;
}

static bool pcap_select_host(const struct pcap_select *select, const struct roce_packet *packet)
{
	for (size_t i = 0; i < select->n_hosts; i++)
		if (pcap_host_is(&select->hosts[i], packet->family, packet->src) ||
			pcap_host_is(&select->hosts[i], packet->family, packet->dst))
			return true;
	return false;
}

static bool pcap_select_priority(const struct pcap_select *select, const struct roce_packet *packet)
{
	if (packet->kind == PACKET_PAUSE || roce_is_cnp(packet))
		return true;
	if (packet->kind == PACKET_PFC)
		return packet->classes >> select->priority & 1;
	if (packet->n_vlan)
		return packet->pcp == select->priority;
	return packet->family && packet->dscp / 8 == select->priority;
}

bool pcap_select_chosen(const struct pcap_select *select, const struct roce_packet *packet)
{
	if (select->n_hosts && !pcap_select_host(select, packet))
		return false;
	return !select->priority_given || pcap_select_priority(select, packet);
}

bool pcap_select_qp(const struct pcap_select *select, uint32_t dst_qp)
{
	for (size_t i = 0; i < select->n_qps; i++)
		if (select->qps[i] == dst_qp)
			return true;
	return select->n_qps == 0;
}

/* ---- the document ----------------------------------------------------------------- */

void pcap_select_verdicts(const struct pcap_select *select, json_t *document)
{
	json_t *list = json_object_get(document, "verdicts");
	if (!select->n_qps)
		return;
	for (size_t i = json_array_size(list); i-- > 0;) {
		const json_t *qp = json_object_get(json_array_get(list, i), "dst_qp");
		if (qp && !pcap_select_qp(select, (uint32_t)json_integer_value(qp)))
			json_array_remove(list, i);
	}
}

static void pcap_select_put_hosts(const struct pcap_select *select, json_t *o)
{
	char text[INET6_ADDRSTRLEN];
	json_t *hosts = json_array();
	for (size_t i = 0; i < select->n_hosts; i++) {
		const struct pcap_host *host = &select->hosts[i];
		json_array_append_new(hosts,
			json_sprintf("%s/%u", pcap_address_text(text, host->family, host->address),
				host->bits));
	}
	json_object_set_new(o, "hosts", hosts);
}

void pcap_select_put(const struct pcap_select *select, json_t *document)
{
	json_t *o = json_object();
	if (select->since_given)
		json_object_set_new(o, "since", json_time(select->since_ns));
	if (select->until_given)
		json_object_set_new(o, "until", json_time(select->until_ns));
	if (select->n_hosts)
		pcap_select_put_hosts(select, o);
	if (select->priority_given)
		pcap_count_put(o, "priority", select->priority);
	if (select->n_qps) {
		json_t *qps = json_array();
		for (size_t i = 0; i < select->n_qps; i++)
			json_array_append_new(qps, json_integer(select->qps[i]));
		json_object_set_new(o, "dst_qps", qps);
	}
	if (json_object_size(o))
		json_object_set(document, "selected", o);
	json_decref(o);
}
