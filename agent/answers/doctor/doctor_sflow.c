/* doctor_sflow - the doctor's view of a capture that receives sFlow. */
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/answers/doctor/doctor_internal.h"
#include "config/config.h"

static const struct {
	const char *key, *what, *remedy;
} sflow_troubles[] = {
	{"strangers", "sFlow datagrams came from addresses that are not allowed and were not read",
		"add the senders to capture.allow, or their address as sflow.agent of the device"},
	{"kernel_drops", "sFlow datagrams were dropped because nobody read them in time",
		"sample less, or raise capture.buffer"},
	{"bad_datagrams", "datagrams were no sFlow, or damaged",
		"look what else sends to this port, and at the version of the sender's software"},
	{"other_versions", "datagrams were of another version of sFlow than 5",
		"set the devices to sFlow version 5"},
	{"lost_datagrams", "sFlow datagrams are missing by their sequence numbers",
		"look at the way from the devices to this machine: estimates stay valid, counts of "
		"flows are too low"},
	{"unmapped_agents",
		"sampled ports belong to agents that are no device of the configuration",
		"set sflow.agent of the device to the agent address in its datagrams; their rows "
		"stand under that address"},
	{"unmapped_ports", "sampled ports have an ifIndex without a name",
		"let SNMP read the device, or give sflow.ports; their rows stand under 'ifindex "
		"N'"},
	{"portless", "flow samples name no port: ifIndex 0 on both sides",
		"let the sender fill in the input and output of its samples (its own ifIndex); "
		"their rows stand under the device, without a port"},
	{"beyond", "samples were left out because there were too many ports or too many samples",
		"sample less: 1 in 10,000 or coarser on ports of 400G"},
};

/* "192.0.2.9 17, 192.0.2.10 3": whose datagrams were not read. */
static void sflow_strangers(
	const struct doctor *doctor, const struct config_capture *capture, struct str *out)
{
	rw_cleanup(str_done) struct str start = {0};
	const char *key;
	json_t *value;
	str_addf(&start, "capture/%s/stranger_", capture->name);
	json_object_foreach (doctor->health, key, value) {
		if (strncmp(key, start.s, start.n) != 0)
			continue;
		str_addf(out, "%s%s %.0f", str_if(out->n, ", "), key + start.n,
			json_number_value(value));
	}
}

void doctor_sflow(struct doctor *doctor, const struct config_capture *capture, struct str *notes)
{
	rw_cleanup(str_done) struct str strangers = {0};
	const double datagrams = doctor_health(doctor, "capture/%s/datagrams", capture->name);
	sflow_strangers(doctor, capture, &strangers);
	if (datagrams == 0) {
		str_add(notes, "no sFlow has come: this capture says nothing about the fabric; ");
		doctor_todo(doctor, false, capture->name,
			"set this machine as the sFlow collector of the devices, and see whether a "
			"firewall lets the port through",
			"no sFlow datagram has come from an allowed address");
	} else {
		str_addf(notes, "%.0f datagrams of %.0f agents; ", datagrams,
			doctor_health(doctor, "capture/%s/agents", capture->name));
	}
	for (size_t i = 0; i < rw_countof(sflow_troubles); i++) {
		const double n = doctor_health(
			doctor, "capture/%s/%s", capture->name, sflow_troubles[i].key);
		const bool named = strangers.n && str_eq(sflow_troubles[i].key, "strangers");
		if (!(n > 0))
			continue;
		doctor_todo(doctor, false, capture->name, sflow_troubles[i].remedy, "%.0f %s%s%s%s",
			n, sflow_troubles[i].what, str_if(named, " ("),
			str_if(named, str_or(strangers.s, "")), str_if(named, ")"));
	}
}
