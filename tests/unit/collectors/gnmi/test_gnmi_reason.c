/* What a person is told when a gNMI target does not come up: distinct, with the remedy, and never
 * with a secret. */
#include "tests/unit/collectors/gnmi/gnmi_world.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/loop.h"
#include "base/str.h"
#include "tests/unit/collectors/gnmi/endless_tls.h"

#define TABLE                                                                                      \
	"-\t/interfaces/interface[name=Ethernet1]/state/counters/in-octets\tuint\t$(1000,10)\n"
#define SECRET "Tr0ub4dor&3"

enum listen { LISTEN_SERVER, LISTEN_NOBODY, LISTEN_MUTE, LISTEN_ENDLESS };

static const struct {
	const char *what;
	enum { CERT_NONE, CERT_GOOD, CERT_NAMED, CERT_EXPIRED } server;
	bool mutual, password; /* the server asks for a certificate; a password */
	enum listen listen;
	const char *credentials; /* CA, OTHER, CERT, KEY, PASS stand for files */
	const char *device, *gnmi;
	enum gnmi_fault fault;
	int status;
	const char *text;
	bool strict;
	uint64_t bytes;
	const char *says; /* NULL: comes up */
} rows[] = {
	{"plain", .credentials = "tls: { off: true }"},
	{"TLS", CERT_GOOD, .credentials = "tls: { ca: CA }"},
	{"TLS, another name", CERT_NAMED,
		.credentials = "tls: { ca: CA, server_name: leaf1.example }"},
	{"TLS, no verification", CERT_EXPIRED, .credentials = "tls: { skip_verify: true }"},
	{"TLS both ways", CERT_GOOD, .mutual = true,
		.credentials = "tls: { ca: CA, cert: CERT, key: KEY }"},
	{"TLS both ways, no verification", CERT_NAMED, .mutual = true,
		.credentials = "tls: { skip_verify: true, cert: CERT, key: KEY }"},
	{"password", .password = true,
		.credentials = "username: noc, password_file: PASS, tls: { off: true }"},

	{"wrong CA", CERT_GOOD, .credentials = "tls: { ca: OTHER }",
		.says = "'test-ca', which is not among the CAs trusted here: wrong CA"},
	{"system CAs", CERT_GOOD, .credentials = "username: noc",
		.says = "'test-ca', which is not among the CAs"},
	{"expired", CERT_EXPIRED, .credentials = "tls: { ca: CA }",
		.says = "expired: it was valid until"},
	{"wrong name", CERT_NAMED, .credentials = "tls: { ca: CA }",
		.says = "made out to leaf1.example, not to 127.0.0.1: wrong name: set "
			"tls.server_name"},
	{"wrong server_name", CERT_GOOD, .credentials = "tls: { ca: CA, server_name: spine1 }",
		.says = "made out to leaf1.example, 127.0.0.1, not to spine1"},
	{"no client certificate", CERT_GOOD, .mutual = true, .credentials = "tls: { ca: CA }",
		.says = "asks for a client certificate: give tls.cert"},
	{"client certificate of another CA", CERT_GOOD, .mutual = true,
		.credentials = "tls: { ca: CA, cert: OTHER, key: OTHERKEY }",
		.says = "does not accept our client certificate"},
	{"key of another certificate", CERT_GOOD, .mutual = true,
		.credentials = "tls: { ca: CA, cert: CERT, key: OTHERKEY }",
		.says = "do not belong together"},
	{"TLS to a server without", .credentials = "tls: { ca: CA }",
		.says = "speaks no TLS: correct the port"},
	{"no TLS to a server with", CERT_GOOD, .credentials = "tls: { off: true }",
		.says = "it wants TLS. Remove tls.off"},
	{"wrong password", .password = true,
		.credentials = "username: noc, password_file: WRONG, tls: { off: true }",
		.says = "wrong password, or no user noc there"},
	{"a password of many lines", .password = true,
		.credentials = "username: noc, password_file: CA, tls: { off: true }",
		.says = "printable ASCII only"},
	{"wrong user", .password = true,
		.credentials = "username: who, password_file: PASS, tls: { off: true }",
		.says = "wrong password, or no user who there"},
	{"no log-in", .password = true, .credentials = "tls: { off: true }",
		.says = "asks for a log-in"},
	{"secret in the server's words",
		.credentials = "username: noc, password_file: PASS, tls: { off: true }",
		.fault = FAULT_STATUS, .status = 7, .text = "user noc with " SECRET " may not",
		.says = "not allowed to read"},
	{"no such file",
		.credentials = "username: noc, password_file: /nowhere/pass, tls: { off: true }",
		.says = "/nowhere/pass"},
	{"nobody listens", .listen = LISTEN_NOBODY, .credentials = "tls: { off: true }",
		.says = "connection refused: the host is there"},
	{"silence", .listen = LISTEN_MUTE, .credentials = "tls: { off: true }",
		.says = "no answer"},
	{"silence where TLS should be", .listen = LISTEN_MUTE, .credentials = "tls: { ca: CA }",
		.says = "no answer"},
	{"a handshake without an end", .listen = LISTEN_ENDLESS, .credentials = "tls: { ca: CA }",
		.gnmi = "timeout: 1s", .says = "its TLS handshake did not end"},
	{"unknown path", .credentials = "tls: { off: true }", .device = "profile: srlinux",
		.says = "asks for a path that is unknown there"},
	{"wrong encoding", .credentials = "tls: { off: true }",
		.gnmi = "timeout: 1s, encoding: ascii", .strict = true,
		.says = "wrong encoding for stream"},
	{"too large", .credentials = "tls: { off: true }",
		.gnmi = "timeout: 1s, max_message: 64KiB", .fault = FAULT_HUGE, .bytes = 100000,
		.says = "larger than gnmi.max_message"},
	{"at capacity", .credentials = "tls: { off: true }", .fault = FAULT_STATUS, .status = 14,
		.text = "Server connections are at capacity.",
		.says = "Server connections are at capacity"},
	{"takes any call and says nothing, and has no Get", .credentials = "tls: { off: true }",
		.gnmi = "timeout: 300ms", .fault = FAULT_SILENT, .says = "Get is not supported"},
};

struct files {
	char *ca, *other, *otherkey, *cert, *key, *pass, *wrong;
};

static void replace(struct str *out, const char *text, const struct files *f)
{
	const struct {
		const char *word, *file;
	} words[] = {{"OTHERKEY", f->otherkey}, {"OTHER", f->other}, {"CERT", f->cert},
		{"KEY", f->key}, {"CA", f->ca}, {"PASS", f->pass}, {"WRONG", f->wrong}};
	for (; *text; text++) {
		size_t i = 0;
		while (i < rw_countof(words) &&
			strncmp(text, words[i].word, strlen(words[i].word)) != 0)
			i++;
		if (i == rw_countof(words)) {
			str_addn(out, text, 1);
			continue;
		}
		str_add(out, words[i].file);
		text += strlen(words[i].word) - 1;
	}
}

/* listener - a port where somebody takes connections and says nothing, or (@mute false) where
 * nobody is any more. */
static int listener(uint16_t *ret_port, bool mute)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	getsockname(fd, (struct sockaddr *)&a, &n);
	*ret_port = ntohs(a.sin_port);
	if (mute)
		listen(fd, 16);
	return fd;
}

static bool decided(struct world *w)
{
	return w->ups > 0 || w->downs > 0;
}

static void run_row(size_t i, const struct files *f, const struct certificate *ca,
	const struct certificate *certs[4])
{
	rw_cleanup(str_done) struct str credentials = {0};
	const struct certificate *own = certs[rows[i].server];
	struct gnmi_server_options o = {.cert = own ? own->cert : NULL,
		.key = own ? own->key : NULL,
		.ca = rows[i].mutual ? ca->cert : NULL,
		.username = rows[i].password ? "noc" : NULL,
		.password = SECRET,
		.fault = rows[i].fault,
		.fault_status = rows[i].status,
		.fault_text = rows[i].text,
		.fault_bytes = rows[i].bytes,
		.strict_encodings = rows[i].strict,
		.no_get = rows[i].fault == FAULT_SILENT};
	struct world w;
	struct endless_tls endless;
	int fd = -1;
	world_open(&w, &o, TABLE);
	if (rows[i].listen == LISTEN_ENDLESS) {
		endless_begin(&endless, 0, 1);
		w.port = endless.port;
	} else if (rows[i].listen != LISTEN_SERVER)
		fd = listener(&w.port, rows[i].listen == LISTEN_MUTE);
	replace(&credentials, rows[i].credentials, f);
	rw_cleanup(str_done) struct str gnmi = {0};
	str_addf(&gnmi, "interval: 100ms, %s", rows[i].gnmi ? rows[i].gnmi : "timeout: 1s");
	world_target(
		&w, rows[i].device ? rows[i].device : "profile: openconfig", credentials.s, gnmi.s);
	bool met = world_until(&w, decided, 20);
	if (!met || (rows[i].says ? !strstr(w.reasons, rows[i].says) : w.ups == 0))
		fail_msg("%s: reads '%s', expected '%s'", rows[i].what, w.reasons,
			rows[i].says ? rows[i].says : "to come up");
	if (strstr(w.reasons, SECRET))
		fail_msg("%s: a secret is told: %s", rows[i].what, w.reasons);
	world_end(&w);
	if (rows[i].listen == LISTEN_ENDLESS)
		endless_end(&endless);
	if (fd >= 0)
		close(fd);
}

static void test_reasons(void **state)
{
	struct certificate ca = certificate_new("test-ca", NULL, NULL, 30),
			   other = certificate_new("other-ca", NULL, NULL, 30);
	struct certificate good = certificate_new(
				   "leaf1", &ca, "DNS:leaf1.example,IP:127.0.0.1", 30),
			   named = certificate_new("leaf1", &ca, "DNS:leaf1.example", 30);
	struct certificate expired = certificate_new("leaf1", &ca, "IP:127.0.0.1", -1),
			   client = certificate_new("client", &ca, NULL, 30);
	const struct certificate *certs[4] = {NULL, &good, &named, &expired};
	struct files f = {file_with(ca.cert), file_with(other.cert), file_with(other.key),
		file_with(client.cert), file_with(client.key), file_with(SECRET "\n"),
		file_with("letmein\n")};
	for (size_t i = 0; i < rw_countof(rows); i++)
		run_row(i, &f, &ca, certs);
	char *files[] = {f.ca, f.other, f.otherkey, f.cert, f.key, f.pass, f.wrong};
	for (size_t i = 0; i < rw_countof(files); i++)
		file_gone(files[i]);
	struct certificate *all[] = {&ca, &other, &good, &named, &expired, &client};
	for (size_t i = 0; i < rw_countof(all); i++)
		certificate_free(all[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_reasons)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
