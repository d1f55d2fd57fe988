/* schema_push - the keys of 'push:', and of 'push:' of a device: what devices send by themselves.
 */
#include "config/schema_rows.h"

static const struct field push_tls_rows[] = {
	TEXT(tree_push_tls, cert, "cert",
		"File with the receiver's certificate and the ones that sign it, PEM.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
	TEXT(tree_push_tls, key, "key", "File with the private key of cert, PEM, mode 0600.",
		.flags = FIELD_REQUIRED, .check = schema_check_text),
	TEXT(tree_push_tls, client_ca, "client_ca",
		"File with the authorities whose certificates a sender has to show. When not "
		"given, "
		"no certificate is asked for.",
		.check = schema_check_text),
};
TABLE(push_tls_section, tree_push_tls, push_tls_rows,
	"Encryption of what is received, TLS 1.2 or newer. The files are read at the start and at "
	"SIGHUP.");

static const struct field push_rows[] = {
	TEXT(tree_push, name, "name", "Name of the receiver.", .flags = FIELD_REQUIRED,
		.check = schema_check_name),
	TEXT(tree_push, grpc, "grpc",
		"ADDRESS:PORT where OpenTelemetry metrics are received by gRPC (OTLP/gRPC): an "
		"address of this machine, such as \"127.0.0.1:4317\".",
		.check = schema_check_trap_listen),
	TEXT(tree_push, http, "http",
		"ADDRESS:PORT where they are received by HTTP (OTLP/HTTP with protobuf, path "
		"/v1/metrics), such as \"127.0.0.1:4318\".",
		.check = schema_check_trap_listen),
	TEXT(tree_push, ipfix, "ipfix",
		"ADDRESS:PORT where IPFIX is received over UDP, instead of grpc and http: "
		"high-frequency telemetry, such as \"127.0.0.1:4739\".",
		.check = schema_check_trap_listen),
	VALUE(tree_push, buffer, "buffer", OPT_SIZE, "8MiB", "64KiB", "1GiB",
		"With 'ipfix': the socket's buffer. The kernel gives net.core.rmem_max of it at "
		"most; raise both when the doctor reports lost datagrams."),
	VALUE(tree_push, interval_ns, "interval", OPT_DURATION, "1s", "100ms", "1h",
		"At most one value of each counter is stored in this time, however often it is "
		"sent: the last, of a watermark the greatest."),
	VALUE(tree_push, ring, "ring", OPT_SIZE, "8MiB", "2MiB", "256MiB",
		"With 'ipfix': memory for each device that sends, where the last seconds of all "
		"its values are kept; an incident writes them to the database."),
	LIST(tree_push, allow, "allow", schema_check_network,
		"Networks or addresses that may send; others are counted and refused before a byte "
		"is read. When not given: the addresses of the devices (push.address, snmp, gnmi), "
		"and this machine."),
	SECTION(tree_push, tls, "tls", push_tls_section),
	VALUE(tree_push, insecure, "insecure", OPT_BOOL, "false", NULL, NULL,
		"Receive without TLS on an address outside this machine: anybody in between can "
		"read along and change values."),
	VALUE(tree_push, max_connections, "max_connections", OPT_INT, "256", "1", "4096",
		"At most this many connections at once, and a quarter of them from one address."),
	VALUE(tree_push, max_message, "max_message", OPT_SIZE, "16MiB", "64KiB", "64MiB",
		"The largest message that is accepted, unpacked."),
	VALUE(tree_push, max_points_s, "max_points_s", OPT_INT, "500000", "100", "10000000",
		"At most this many points a second; a sender above it is told to wait and to send "
		"again."),
};
const struct section push_section = {
	.size = sizeof(struct tree_push),
	.fields = push_rows,
	.n_fields = rw_countof(push_rows),
	.doc = "Receivers of what devices push by themselves: OpenTelemetry metrics (OTLP), or "
	       "IPFIX.",
};

static const struct field device_push_rows[] = {
	TEXT(tree_device_push, address, "address",
		"Address that the device sends from, when it is another than that of snmp or gnmi.",
		.check = schema_check_ip),
	LIST(tree_device_push, names, "names", schema_check_text,
		"How the device calls itself in what it sends (host.name and the like), beside its "
		"name here."),
	LIST(tree_device_push, objects, "objects", schema_check_objects,
		"With IPFIX: what the object numbers mean, \"PORT 1,2=Ethernet0,Ethernet4\" or "
		"\"QUEUE 1=Ethernet0|3\": object_ids and object_names of STATE_DB, "
		"HIGH_FREQUENCY_TELEMETRY_SESSION_TABLE."),
	VALUE(tree_device_push, interval_ns, "interval", OPT_DURATION, NULL, "100ms", "1h",
		"How often it sends; three times that without a value and it is silent. "
		"defaults.interval when not given."),
};
const struct section device_push_section = {
	.size = sizeof(struct tree_device_push),
	.fields = device_push_rows,
	.n_fields = rw_countof(device_push_rows),
	.doc = "The device pushes its values to a receiver of 'push:'. Beside snmp or gnmi, what "
	       "is pushed wins, and what is polled fills the gaps.",
};
