/* nic_finding - counters of a NIC beside those of its switch port. */
#include "analyzers/detect/nic_finding.h"

#include "analyzers/measure/input.h"

#define PAUSE_TOLD 0.001 /* share of time, below which two counters need not agree */
#define PAUSE_APART 2.0 /* factor: polls of switch and NIC do not fall together */
#define PAUSE_UNSURE 0.8 /* factor of confidence when the two contradict each other */

void nic_prove(struct draft *draft, const struct nic_seen *nic, const char *metric,
	const struct amount *amount, const char *unit)
{
	if (amount->known)
		finding_evidence_at(draft, metric, nic->host, nic->name, PRIO_NONE, amount->value,
			unit, amount->quality);
}

/* Share of time; NAN unknown. */
static double nic_paused(const struct amount *amount)
{
	return amount_rate(amount) / 1e9;
}

/* One direction: the switch's share and the NIC's. */
static bool nic_pause_differs(double at_switch, double at_nic)
{
	if (isnan(at_switch) || isnan(at_nic) || fmax(at_switch, at_nic) < PAUSE_TOLD)
		return false;
	return fmax(at_switch, at_nic) > PAUSE_APART * fmin(at_switch, at_nic);
}

double nic_check_pause(
	struct draft *draft, const struct analyzer_in *in, const struct port_prio *prio)
{
	const struct nic_seen *nic = nic_at(nics_seen(in), prio->port);
	if (!nic)
		return 1;
	const struct nic_prio *own = &nic->prios[prio->priority];
	const struct {
		const char *metric, *what;
		const struct amount *nic;
		const struct pause_share *port;
	} ways[] = {
		{"nic.rx_pause_ns", "the switch paused the NIC", &own->rx_pause_ns,
			&prio->tx_pause},
		{"nic.tx_pause_ns", "the NIC paused the switch", &own->tx_pause_ns,
			&prio->rx_pause},
	};
	double sure = 1;
	for (size_t i = 0; i < rw_countof(ways); i++) {
		const double told = nic_paused(ways[i].nic);
		if (isnan(told))
			continue;
		finding_evidence_at(draft, ways[i].metric, nic->host, nic->name, prio->priority,
			ways[i].nic->value, "ns", ways[i].nic->quality);
		if (!ways[i].port->measured)
			continue;
		const double seen = ways[i].port->lo;
		if (nic_pause_differs(seen, told)) {
			sure = PAUSE_UNSURE;
			finding_against(draft,
				"%s for %.2f %% of the time by the switch's counter, %.2f %% by "
				"that of %s %s: one of the two is wrong",
				ways[i].what, 100 * seen, 100 * told, nic->host, nic->name);
		} else if (fmax(seen, told) >= PAUSE_TOLD) {
			finding_rests_on(draft,
				"switch and NIC count the same pause: %.2f %% and %.2f %% of the "
				"time",
				100 * seen, 100 * told);
		}
	}
	return sure;
}

bool nic_is_stalled(const struct analyzer_in *in, const struct port_seen *port)
{
	const struct nic_seen *nic = nic_at(nics_seen(in), port);
	if (!nic)
		return false;
	return nic_pci_stall(nic) >= NIC_PCI_STALLED ||
		nic_pci_stalled_seconds(nic) >= NIC_PCI_SECONDS;
}

/* What the NIC tells of its PCIe, in words; NULL: nothing. */
static const char *nic_stall_text(const struct nic_seen *nic, struct arena *a)
{
	const double stall = nic_pci_stall(nic), seconds = nic_pci_stalled_seconds(nic);
	if (!isnan(stall))
		return arena_printf(a, "PCIe holds its NIC %s back for %.0f %% of the time",
			nic->name, 100 * stall);
	if (!isnan(seconds))
		return arena_printf(a,
			"PCIe held its NIC %s back in %.0f %% of the seconds, for 30 %% of each or "
			"more",
			nic->name, 100 * seconds);
	return NULL;
}

void nic_prove_stall(
	struct draft *draft, const struct analyzer_in *in, const struct port_seen *port)
{
	const struct nic_seen *nic = nic_at(nics_seen(in), port);
	const char *text = NULL;
	if (nic)
		text = nic_stall_text(nic, draft->a);
	if (!text)
		return;
	const struct {
		const char *metric;
		double value;
	} told[] = {{"nic.pci_stall_rd_ratio", nic->pci_stall_rd},
		{"nic.pci_stall_wr_ratio", nic->pci_stall_wr}};
	for (size_t i = 0; i < rw_countof(told); i++)
		finding_evidence_at(draft, told[i].metric, nic->host, nic->name, PRIO_NONE,
			told[i].value, "ratio", QUALITY_EXACT);
	nic_prove(draft, nic, "nic.pci_stall_rd_s", &nic->pci_stall_rd_s, "s");
	nic_prove(draft, nic, "nic.pci_stall_wr_s", &nic->pci_stall_wr_s, "s");
	if (nic_is_stalled(in, port))
		finding_rests_on(draft, "%s: the host is slow, not the fabric", text);
	else
		finding_ruled_out(draft, "slow PCIe: %s", text);
}
