/* doctor_push - the doctor's view of receivers of what devices push. */

#include "agent/answers/doctor/doctor_internal.h"
#include "config/config.h"

enum { NAMES_SHOWN = 4 };

struct push_trouble {
	const char *key, *what, *remedy;
	const char *named; /* beginning of the keys that say which; NULL */
};

static const struct push_trouble push_troubles[] = {
	{"unknown_points", "pushed points have names that no profile knows",
		"nothing, if you do not need them; else write a profile with 'push:' "
		"(docs/push.md), or "
		"export less on the device",
		"unknown:"},
	{"unsupported_points", "pushed points are histograms or summaries, which are not stored",
		"nothing, if you do not need them; else export less on the device", "unsupported:"},
	{"no_device_points", "pushed points come from senders that are no device",
		"give the device 'push: { names: [NAME] }' with the name that it gives itself, or "
		"'push: "
		"{ address: ADDRESS }'",
		"refused:no_device:"},
	{"misnamed",
		"pushed messages name a host that is no device, and were taken for the device of "
		"their address",
		"give that device 'push: { names: [NAME] }' if it is this host; a Collector has to "
		"set host.name to the device's name (docs/push.md)",
		"misnamed:"},
	{"pinned_points",
		"pushed points name a device with push.pin and come from another address: they "
		"were refused",
		"find out who sends in its name; if it is right, set push.address or take push.pin "
		"away",
		"refused:pinned:"},
	{"strangers", "connections came from addresses that are not allowed, and were refused",
		"add the senders to push.allow, or their address to the device (push.address)",
		"refused:not_allowed:"},
	{"delta_points", "pushed points are delta sums, which are not taken",
		"export running totals (cumulative temporality)", NULL},
	{"no_place_points", "pushed points do not say which port they are of",
		"see whether the device's software differs from what its profile was written for",
		NULL},
	{"no_value_points", "pushed values cannot be: negative, not finite or too large",
		"see whether the device's software differs from what its profile was written for",
		NULL},
	{"off_clock_points", "pushed points are of a time that cannot be", "set the device's clock",
		NULL},
	{"beyond_points", "pushed points belong to more series or names than a sender may bring",
		"export less there: fewer ports, or fewer labels; or do not allow the sender "
		"(push.allow)",
		"refused:share:"},
	{"refused_rate", "messages came faster than push.max_points_s and were told to come again",
		"raise push.max_points_s, or export less often on the devices", "refused:rate:"},
	{"refused_size", "messages were larger than push.max_message",
		"raise push.max_message, or let the devices send smaller ones", "refused:size:"},
	{"refused_full",
		"messages came faster than they can be stored, and were told to come again",
		"export less often on the devices", "refused:full:"},
	{"bad_messages", "messages were no OTLP metrics",
		"look what else sends to this port, and at the version of the sender's software",
		"refused:malformed:"},
	{"failed_handshakes", "TLS handshakes failed",
		"see whether the device trusts push.tls.cert, and shows a certificate when "
		"push.tls.client_ca is set",
		NULL},
	{"crowded", "connections were refused because there were too many",
		"raise push.max_connections", "refused:crowded:"},
};

/* Of a receiver of IPFIX. */
static const struct push_trouble ipfix_troubles[] = {
	{"templates_refused",
		"IPFIX templates or observation domains are more than one sender may have",
		"send fewer from there, or do not allow the sender (push.allow)", "refused:share:"},
	{"strangers", "IPFIX datagrams came from addresses that are not allowed, and were not read",
		"add the senders to push.allow, or their address to the device (push.address)",
		"refused:not_allowed:"},
	{"unknown_values", "IPFIX values are of elements that nothing here reads",
		"nothing, if you do not need them; else export SAI counters that it reads "
		"(docs/push-ipfix.md)",
		"unknown:"},
	{"no_device", "IPFIX records come from addresses of no device, or of several",
		"set push.address of the device", NULL},
	{"kernel_drops",
		"IPFIX datagrams were dropped by the kernel, because nobody read them in time",
		"raise net.core.rmem_max and push.buffer", NULL},
};

void doctor_names(const struct doctor *doctor, const char *family, const char *name,
	const char *begin, struct str *out)
{
	rw_cleanup(str_done) struct str start = {0};
	const char *key;
	json_t *value;
	size_t n = 0;
	str_addf(&start, "%s/%s/%s", family, name, begin);
	json_object_foreach (doctor->health, key, value) {
		if (strncmp(key, start.s, start.n) != 0 || !(json_number_value(value) > 0))
			continue;
		if (++n <= NAMES_SHOWN)
			str_addf(out, "%s%s %.0f", str_if(out->n, ", "), key + start.n,
				json_number_value(value));
	}
	if (n > NAMES_SHOWN)
		str_add(out, ", ...");
}

static void push_trouble(
	struct doctor *doctor, const char *receiver, const struct push_trouble *trouble)
{
	rw_cleanup(str_done) struct str names = {0};
	const double n = doctor_health(doctor, "push/%s/%s", receiver, trouble->key);
	if (!(n > 0))
		return;
	if (trouble->named)
		doctor_names(doctor, "push", receiver, trouble->named, &names);
	doctor_todo(doctor, false, receiver, trouble->remedy, "%.0f %s%s%s%s", n, trouble->what,
		str_if(names.n, " ("), str_or(names.s, ""), str_if(names.n, ")"));
}

static json_t *push_row(struct doctor *doctor, const struct config_capture *place)
{
	static const char *const shown[] = {"messages", "points", "samples", "series",
		"connections", "unknown_points", "unknown_names", "no_device_points"};
	json_t *row = json_pack("{s:s}", "name", place->name);
	for (size_t i = 0; i < rw_countof(shown); i++)
		doctor_put_count(
			row, shown[i], doctor_health(doctor, "push/%s/%s", place->name, shown[i]));
	return row;
}

void doctor_push(struct doctor *doctor)
{
	const struct config *config = doctor->client->config;
	json_t *list = json_array();
	for (size_t i = 0; config && i < config->n_pushes; i++) {
		const struct config_capture *place = &config->pushes[i];
		const bool ipfix = place->push && place->push->ipfix;
		if (ipfix && doctor_health(doctor, "push/%s/values", place->name) == 0)
			doctor_todo(doctor, false, place->name,
				"set this machine as the collector of IPFIX on the switches "
				"(docs/push-ipfix.md), and see whether a firewall lets the port "
				"through",
				"nothing has been pushed to it yet");
		for (size_t k = 0; ipfix && k < rw_countof(ipfix_troubles); k++)
			push_trouble(doctor, place->name, &ipfix_troubles[k]);
		if (!place->push || (!place->push->grpc && !place->push->http))
			continue;
		json_array_append_new(list, push_row(doctor, place));
		if (doctor_health(doctor, "push/%s/messages", place->name) == 0)
			doctor_todo(doctor, false, place->name,
				"set this machine as the receiver on the devices (docs/push.md), "
				"and see "
				"whether a firewall lets the port through",
				"nothing has been pushed to it yet");
		for (size_t k = 0; k < rw_countof(push_troubles); k++)
			push_trouble(doctor, place->name, &push_troubles[k]);
	}
	if (json_array_size(list) > 0)
		json_object_set_new(doctor->doc, "push", list);
	else
		json_decref(list);
}
