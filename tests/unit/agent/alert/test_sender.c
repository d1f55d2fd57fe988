/* test_sender - what the senders write, byte by byte: signatures, structured data, mails; and what
 * a program of the site gets. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include <jansson.h>

#include "agent/alert/receiver.h"
#include "agent/alert/sender.h"
#include "agent/document/json_value.h"
#include "agent/incident/incident_record.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/bytes.h"
#include "config/config.h"
#include "db/model/entity.h"

#include "http_sink.h"
#include "tests/patience.h"

extern const struct sender sender_webhook, sender_syslog, sender_command, sender_mail;
extern const struct sender sender_alertmanager;

static struct alert_message *sender_message(const char *summary)
{
	static const struct next_step steps[] = {{"drain the host", "none: read only"}};
	const struct incident incident = {.id = "abcdefgh",
		.state = INCIDENT_OPEN,
		.cause = CAUSE_PFC_STORM,
		.device = "leaf1",
		.port = "Ethernet4/1",
		.priority = 3,
		.severity = SEV_CRITICAL,
		.summary = summary,
		.opened_ns = 1700000000 * NS_PER_S,
		.usd_per_hour = 120,
		.usd_total = 35,
		.next_steps = steps,
		.n_next_steps = 1};
	const struct alert_context context = {.event = ALERT_OPENED,
		.fabric = "pod-a",
		.receiver = "r",
		.time_ns = 1700000010 * NS_PER_S,
		.resend_ns = 60 * NS_PER_S};
	/* the codec reads the record around an incident */
	struct incident_record *record = incident_record_blank();
	record->i = incident;
	struct alert_message *message = alert_message_new(&record->i, &context);
	record->i = (struct incident){0};
	incident_record_free(record);
	return message;
}

static int sender_send(
	const struct config_receiver *to, const struct alert_message *message, struct err *e)
{
	const struct sender_ask ask = {to, &message, 1, -1};
	return sender_find(to->kind)->send(&ask, e);
}

static void test_hmac(void **state)
{
	/* RFC 4231, test case 2 */
	char hex[HMAC_HEX_MAX];
	hmac_sha256("Jefe", 4, "what do ya want for nothing?", 28, hex);
	assert_string_equal(
		hex, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void test_webhook_signature(void **state)
{
	struct http_sink sink;
	struct err e = {0};
	rw_cleanup(str_done) struct str url = {0}, text = {0};
	char hex[HMAC_HEX_MAX];
	sink_init(&sink);
	sink_begin(&sink);
	str_addf(&url, "http://127.0.0.1:%d/hook", sink.port);
	setenv("RW_TEST_SECRET", "geheim", 1);
	const struct config_receiver to = {.kind = &sender_webhook.options,
		.name = "r",
		.url = url.s,
		.timeout_ns = 10 * NS_PER_S,
		.secret = {SECRET_ENV, "RW_TEST_SECRET", 0, 0}};
	struct alert_message *message = sender_message("paused");
	if (sender_send(&to, message, &e) != 0)
		fail_msg("%s", e.text);
	const char *t = strstr(sink.heads[0], "X-Rocewatch-Signature: t=");
	assert_non_null(t);
	str_addf(&text, "%ld.%s", strtol(t + 25, NULL, 10), sink.bodies[0]);
	hmac_sha256("geheim", 6, text.s, text.n, hex);
	assert_memory_equal(strstr(t, "v1=") + 3, hex, 64);
	assert_non_null(strstr(sink.heads[0], "X-Rocewatch-Delivery: abcdefgh-1-"));
	assert_null(strstr(sink.heads[0], "geheim"));
	assert_null(strstr(sink.bodies[0], "geheim"));
	assert_true(llabs(strtoll(t + 25, NULL, 10) - wall_now().ns / NS_PER_S) < 3600);
	assert_non_null(strstr(sink.heads[0], "X-Rocewatch-Event: opened"));
	assert_non_null(strstr(sink.heads[0], "Content-Type: application/json"));
	json_t *o = json_loads(sink.bodies[0], 0, NULL);
	assert_int_equal(json_integer_value(json_object_get(o, "version")), 1);
	assert_string_equal(doc_word(o, "event"), "opened");
	assert_string_equal(doc_word(o, "fabric"), "pod-a");
	assert_string_equal(doc_word(o, "time"), "2023-11-14T22:13:30.000Z");
	assert_string_equal(doc_word(json_object_get(o, "incident"), "id"), "abcdefgh");
	assert_true(*doc_word(o, "headline") != '\0');
	assert_int_equal(strncmp(doc_word(o, "delivery"), "abcdefgh-1-", 11), 0);
	json_decref(o);
	/* beside the incident and in it, as 'incident show' has it */
	const char *runbook = strstr(sink.bodies[0], "\"runbook\":\"rocewatch runbook pfc_storm\"");
	assert_non_null(runbook);
	assert_non_null(strstr(runbook + 1, "\"runbook\":\"rocewatch runbook pfc_storm\""));

	/* the URL itself may be the secret: no answer repeats it */
	char path[] = "/tmp/rw-url-XXXXXX";
	const int fd = mkstemp(path);
	assert_int_equal(write(fd, url.s, url.n), (ssize_t)url.n);
	close(fd);
	const struct config_receiver hidden = {.kind = &sender_webhook.options,
		.name = "r",
		.timeout_ns = 10 * NS_PER_S,
		.url_secret = {SECRET_FILE, path, 0, 0}};
	if (sender_send(&hidden, message, &e) != 0)
		fail_msg("%s", e.text);
	assert_int_equal(sink_count(&sink), 2);
	unlink(path);

	/* a secret that cannot be read is said by its name */
	unsetenv("RW_TEST_SECRET");
	assert_int_equal(sender_send(&to, message, &e), -ENOENT);
	assert_non_null(strstr(e.text, "RW_TEST_SECRET"));
	/* a redirect is not followed, an answer of the wrong kind is an error */
	sink_set(&sink, 302, 0);
	setenv("RW_TEST_SECRET", "geheim", 1);
	assert_int_equal(sender_send(&to, message, &e), -EIO);
	assert_non_null(strstr(e.text, "302"));
	alert_message_free(message);
	sink_done(&sink);
}

/* What one message looks like that arrives at the socket @fd, which the receiver knows by @where.
 */
static void syslog_take(
	int fd, const char *where, const char *summary, int facility, char *line, size_t size)
{
	struct err e = {0};
	const struct config_receiver to = {.kind = &sender_syslog.options,
		.name = "r",
		.address = where,
		.facility = facility,
		.timeout_ns = 5 * NS_PER_S};
	struct alert_message *message = sender_message(summary);
	if (sender_send(&to, message, &e) != 0)
		fail_msg("%s", e.text);
	const ssize_t n = recv(fd, line, size - 1, 0);
	assert_true(n > 0);
	line[n] = '\0';
	alert_message_free(message);
}

/* One datagram over UDP. */
static void syslog_line(const char *summary, int facility, char *line, size_t size)
{
	rw_cleanup(str_done) struct str address = {0};
	rw_cleanup(closep) int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_in name = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof(name);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &n), 0);
	str_addf(&address, "udp://127.0.0.1:%u", ntohs(name.sin_port));
	syslog_take(fd, address.s, summary, facility, line, size);
}

/* One datagram on a local socket. */
static void syslog_line_local(const char *summary, int facility, char *line, size_t size)
{
	char dir[] = "/tmp/rw-syslog-XXXXXX";
	rw_cleanup(str_done) struct str address = {0};
	struct sockaddr_un name = {.sun_family = AF_UNIX};
	assert_non_null(mkdtemp(dir));
	snprintf(name.sun_path, sizeof(name.sun_path), "%s/log", dir);
	str_addf(&address, "unix:%s", name.sun_path);
	rw_cleanup(closep) int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	syslog_take(fd, address.s, summary, facility, line, size);
	unlink(name.sun_path);
	rmdir(dir);
}

/* As syslog(3): the journal finds a name and a process in it. */
static void test_syslog_local(void **state)
{
	char line[8192], before[64];
	setenv("TZ", "UTC", 1);
	syslog_line_local("paused\n<0>forged", 3, line, sizeof(line));
	snprintf(before, sizeof(before), "<26>Nov 14 22:13:30 rocewatch[%d]: ", (int)getpid());
	assert_memory_equal(line, before, strlen(before));
	assert_non_null(strstr(line, "paused <0>forged [rocewatch@32473 event=\"opened\" "));
	assert_null(strchr(line, '\n'));
}

static void test_syslog_format(void **state)
{
	char line[8192];
	syslog_line("port \"4\\1\" is ] paused\n<0>forged", 16, line, sizeof(line));
	/* local0, critical */
	assert_memory_equal(line, "<130>1 2023-11-14T22:13:30.000Z ", 32);
	assert_non_null(strstr(line, " rocewatch "));
	assert_non_null(strstr(line,
		" opened [rocewatch@32473 event=\"opened\" "
		"incident=\"abcdefgh\""));
	assert_non_null(strstr(line, " port=\"Ethernet4/1\" priority=\"3\""));
	assert_non_null(strstr(line, "cost=\"120 USD/h, 35 USD so far\" "));
	assert_non_null(strstr(line, " runbook=\"rocewatch runbook pfc_storm\"] \xef\xbb\xbf"));
	assert_null(strchr(line, '\n'));
	/* a datagram ends at a whole character, at 2048 bytes at most */
	rw_cleanup(str_done) struct str longer = {0};
	for (int i = 0; i < 3000; i++)
		str_add(&longer, "\xc3\xa4");
	syslog_line(longer.s, 3, line, sizeof(line));
	assert_true(strlen(line) <= 2048 && strlen(line) > 2040);
	assert_int_equal((unsigned char)line[strlen(line) - 1], 0xa4);
}

/* A program gets the mail or the incident on its standard input, and nothing else of ours. */
static void run_program_with(const char *script, struct config_receiver *to,
	const struct alert_message *message, int expected, struct err *e)
{
	char dir[] = "/tmp/rw-run-XXXXXX";
	rw_cleanup(str_done) struct str path = {0}, out = {0}, rm = {0};
	assert_non_null(mkdtemp(dir));
	str_addf(&path, "%s/run", dir);
	str_addf(&out, "%s/out", dir);
	FILE *f = fopen(path.s, "w");
	fprintf(f, "#!/bin/sh\n%s\n", script);
	fclose(f);
	char mode[] = "0755";
	assert_int_equal(chmod(path.s, (mode_t)strtol(mode, NULL, 8)), 0);
	const char *const argv[] = {path.s, out.s};
	to->run = (struct config_texts){argv, 2};
	assert_int_equal(sender_send(to, message, e), expected);
	char *text = NULL;
	size_t n;
	if (expected == 0) {
		assert_int_equal(str_read_file(out.s, 1 << 20, &text, &n, e), 0);
		snprintf(e->text, sizeof(e->text), "%s", text);
	}
	free(text);
	str_addf(&rm, "rm -r %s", dir);
	assert_int_equal(system(rm.s), 0);
}

static void run_program(const char *script, struct config_receiver *to, const char *summary,
	int expected, struct err *e)
{
	struct alert_message *message = sender_message(summary);
	run_program_with(script, to, message, expected, e);
	alert_message_free(message);
}

static void test_command(void **state)
{
	struct config_receiver to = {
		.kind = &sender_command.options, .name = "r", .timeout_ns = 20 * NS_PER_S};
	struct err e = {0};
	const int ours = open("/dev/zero", O_RDONLY); /* not closed by exec(): it must be done */
	setenv("RW_TEST_SECRET", "geheim", 1);
	run_program("grep -c '\"id\":\"abcdefgh\"' >$1; env | grep -c geheim >>$1; "
		    "ls -l /proc/$$/fd | grep -c /dev/zero >>$1; env | grep HEADLINE >>$1",
		&to, "paused", 0, &e);
	close(ours);
	if (!strstr(e.text, "1\n0\n0\nROCEWATCH_HEADLINE="))
		fail_msg("%s", e.text);
	run_program("env | grep RUNBOOK >$1", &to, "paused", 0, &e);
	assert_string_equal(e.text, "ROCEWATCH_RUNBOOK=rocewatch runbook pfc_storm\n");
	/* it does not read, says something and fails */
	run_program("echo broken pager >&2; exit 3", &to, "paused", -EIO, &e);
	assert_non_null(strstr(e.text, "ended with 3: broken pager"));
	/* it never ends: it is killed, with what it started */
	to.timeout_ns = 200 * NS_PER_MS;
	run_program("sleep 1000 & sleep 1000", &to, "paused", -ETIMEDOUT, &e);
	const char *const nowhere[] = {"/nonexistent/program"};
	to.run = (struct config_texts){nowhere, 1};
	struct alert_message *message = sender_message("paused");
	assert_int_equal(sender_send(&to, message, &e), -ENOENT);
	alert_message_free(message);
}

static void test_mail_text(void **state)
{
	static const char *const to_list[] = {"noc@example.org", "b@example.org"};
	struct config_receiver to = {.kind = &sender_mail.options,
		.name = "r",
		.from = "rw@example.org",
		.to = {to_list, 2},
		.timeout_ns = 20 * NS_PER_S};
	struct err e = {0};
	run_program("cat >$1", &to, "paused", 0, &e);
	assert_non_null(
		strstr(e.text, "From: rw@example.org\nTo: noc@example.org, b@example.org\n"));
	assert_non_null(strstr(e.text, "\nSubject: [critical] pod-a: "));
	assert_non_null(strstr(e.text, "\nDate: Tue, 14 Nov 2023 22:13:30 +0000\n"));
	assert_non_null(strstr(e.text, "\nMessage-ID: <abcdefgh@"));
	assert_null(strstr(e.text, "References"));
	assert_non_null(strstr(e.text, "Content-Transfer-Encoding: 7bit\n\n"));
	assert_null(strchr(e.text, '\r'));
	run_program("grep ^Runbook >$1", &to, "paused", 0, &e);
	assert_string_equal(e.text, "Runbook:  rocewatch runbook pfc_storm\n");
	/* other than ASCII: encoded words, and a body in base64 */
	run_program("cat >$1.all; grep -A9 ^Subject $1.all >$1", &to, "p\xc3\xa4used", 0, &e);
	assert_non_null(strstr(e.text, "Content-Transfer-Encoding: base64\n\n"));
	for (const char *p = e.text; *p; p++)
		assert_true((unsigned char)*p < 0x7f);
}

/* What a mail program makes of a mail that is not plain. */
static void test_mail_decoded(void **state)
{
	static const char *const to_list[] = {"noc@example.org"};
	static const char decode[] =
		"python3 -c 'import sys, email, email.policy as p\n"
		"m = email.message_from_binary_file(sys.stdin.buffer, policy=p.default)\n"
		"print(m[\"MIME-Version\"], m[\"Subject\"], m.get_content(), sep=\"|\")' >$1";
	struct config_receiver to = {.kind = &sender_mail.options,
		.name = "r",
		.from = "rw@example.org",
		.to = {to_list, 1},
		.timeout_ns = 20 * NS_PER_S};
	struct err e = {0};
	run_program(decode, &to, "p\xc3\xa4used by \xe2\x82\xac 5 of bandwidth", 0, &e);
	if (strncmp(e.text, "1.0|[critical] pod-a: ", 22) != 0 ||
		!strstr(e.text, "p\xc3\xa4used by \xe2\x82\xac 5 of bandwidth"))
		fail_msg("%s", e.text);
	/* a subject of many encoded words, none of which ends within a character */
	rw_cleanup(str_done) struct str fabric = {0}, expected = {0};
	for (int i = 0; i < 40; i++)
		str_add(&fabric, i % 3 ? "\xe2\x82\xac" : "a");
	str_addf(&expected, " %s: test of the receiver: nothing is wrong|", fabric.s);
	const struct alert_context context = {.event = ALERT_TEST,
		.fabric = fabric.s,
		.receiver = "r",
		.time_ns = 1700000010 * NS_PER_S};
	struct alert_message *message = alert_message_test(&context);
	run_program_with(decode, &to, message, 0, &e);
	alert_message_free(message);
	if (!strstr(e.text, expected.s))
		fail_msg("read '%s', expected '%s'", e.text, expected.s);
}

/* ---- messages -------------------------------------------------------------- */

static struct alert_message *message_of(
	const struct incident *incident, enum alert_event event, const char *labels, int sent)
{
	const struct alert_context context = {.event = event,
		.fabric = "pod-a",
		.receiver = "r",
		.web_url = "https://noc//",
		.labels = labels,
		.sent = sent,
		.time_ns = 1700000010 * NS_PER_S};
	struct incident_record *record = incident_record_blank();
	record->i = *incident;
	struct alert_message *message = alert_message_new(&record->i, &context);
	record->i = (struct incident){0};
	incident_record_free(record);
	return message;
}

/* All that identifies an alert, and what it costs. */
static void test_message(void **state)
{
	static const char *const jobs[] = {"train", "serve"};
	static const struct next_step steps[] = {
		{"drain the host", "none: read only"}, {"look", "low"}};
	struct incident incident = {.id = "abcdefgh",
		.state = INCIDENT_OPEN,
		.cause = CAUSE_PFC_STORM,
		.device = "leaf1",
		.port = "e1",
		.host = "gpu7",
		.group = "up",
		.priority = 3,
		.severity = SEV_WARNING,
		.summary = "paused",
		.acked_by = "ann",
		.jobs = jobs,
		.n_jobs = 2,
		.usd_per_hour = 120,
		.usd_total = 35,
		.next_steps = steps,
		.n_next_steps = 2};
	struct alert_message *m = message_of(&incident, ALERT_OPENED, NULL, 0);
	static const char first[] =
		"{\"alertname\":\"PfcStorm\",\"device\":\"leaf1\",\"fabric\":\"pod-a\",\"group\":"
		"\"up\",\"host\":\"gpu7\",\"incident\":\"abcdefgh\",\"port\":\"e1\",\"priority\":"
		"\"3\",\"severity\":\"warning\",\"training_job\":\"train, serve\"}";
	assert_string_equal(m->labels, first);
	assert_string_equal(m->cost, "120 USD/h, 35 USD so far");
	assert_string_equal(m->jobs, "train, serve");
	assert_string_equal(m->acked_by, "ann");
	assert_int_equal(m->n_steps, 2);
	assert_string_equal(m->steps[1].text, "look");
	assert_string_equal(m->steps[1].risk, "low");
	assert_string_equal(m->url, "https://noc/#/incident/abcdefgh");
	assert_true(m->first && !m->resolved);
	alert_message_free(m);

	/* worse: the same alert, which ends under the labels with which it began */
	incident.severity = SEV_CRITICAL;
	m = message_of(&incident, ALERT_ESCALATED, first, 1);
	assert_string_equal(m->labels, first);
	assert_int_equal(m->severity, SEV_CRITICAL);
	assert_false(m->first);
	alert_message_free(m);
	m = message_of(&incident, ALERT_OPENED, first, 1); /* told anew: the old one was ended */
	assert_non_null(strstr(m->labels, "critical"));
	alert_message_free(m);

	/* the same alert goes on under the labels it was sent with */
	m = message_of(&incident, ALERT_REMINDER, first, 2);
	assert_string_equal(m->labels, first);
	alert_message_free(m);

	/* the end: it costs nothing any more */
	incident.state = INCIDENT_CLOSED;
	incident.priority = PRIO_NONE;
	m = message_of(&incident, ALERT_RESOLVED, NULL, 3);
	assert_true(m->resolved);
	assert_string_equal(m->cost, "35 USD");
	assert_null(strstr(m->labels, "priority"));
	alert_message_free(m);
	incident.usd_total = NAN;
	m = message_of(&incident, ALERT_RESOLVED, NULL, 3);
	assert_null(m->cost); /* not known */
	alert_message_free(m);
}

/* ---- a reload ---------------------------------------------------------------- */

static void whole_receiver(const struct sender *sender, struct config_receiver *ret)
{
	static const char *const one[] = {"a"}, *const two[] = {"a", "b"};
	*ret = (struct config_receiver){.kind = &sender->options,
		.name = "name",
		.min_severity = SEV_WARNING,
		.resend_ns = 1,
		.retry_ns = 2,
		.timeout_ns = 3,
		.spool = 4,
		.causes = {one, 1},
		.devices = {one, 1},
		.jobs = {one, 1},
		.url = "url",
		.address = "address",
		.facility = 5,
		.username = "username",
		.password = {.from = SECRET_FILE, .name = "password", .file = "password"},
		.token = {.from = SECRET_FILE, .name = "token", .file = "token"},
		.secret = {.from = SECRET_FILE, .name = "secret", .file = "secret"},
		.tls_ca = "ca",
		.tls_cert = "cert",
		.tls_key = "key",
		.from = "from",
		.to = {two, 2},
		.run = {two, 2}};
}

/* A receiver of which anything changed is another one: what goes on with its thread would go on
 * with the old address, the old filter or the old trust. */
static void test_receiver_same(void **state)
{
	static const char *const other[] = {"c"};
	/* each member where its kind has a key for it */
#define CHANGED(word, assignment)                                                                  \
	do {                                                                                       \
		struct config_receiver was, is;                                                    \
		whole_receiver(&sender_##word, &was);                                              \
		whole_receiver(&sender_##word, &is);                                               \
		struct receiver *receiver = receiver_new(&was, NULL);                              \
		assert_true(receiver_same(receiver, &was));                                        \
		is.assignment;                                                                     \
		if (receiver_same(receiver, &is))                                                  \
			fail_msg("%s: goes on as it was", #assignment);                            \
		receiver_free(receiver);                                                           \
	} while (0)
	CHANGED(webhook, kind = &sender_mail.options);
	CHANGED(webhook, name = "x");
	CHANGED(webhook, min_severity = SEV_CRITICAL);
	CHANGED(webhook, resend_ns = 9);
	CHANGED(webhook, retry_ns = 9);
	CHANGED(webhook, timeout_ns = 9);
	CHANGED(webhook, spool = 9);
	CHANGED(webhook, causes.v = other);
	CHANGED(webhook, devices.v = other);
	CHANGED(webhook, jobs.n = 0);
	CHANGED(webhook, url = NULL);
	CHANGED(syslog, address = "x");
	CHANGED(syslog, facility = 9);
	CHANGED(webhook, username = "x");
	CHANGED(webhook, password.file = "x");
	CHANGED(webhook, password.file = NULL);
	CHANGED(webhook, token.file = "x");
	CHANGED(webhook, token.file = NULL);
	CHANGED(webhook, secret.file = "x");
	CHANGED(webhook, secret.file = NULL);
	CHANGED(webhook, tls_ca = "x");
	CHANGED(webhook, tls_cert = "x");
	CHANGED(webhook, tls_key = "x");
	CHANGED(webhook, tls_skip_verify = true);
	CHANGED(mail, from = "x");
	CHANGED(mail, to.n = 1);
	CHANGED(mail, run.n = 1);
#undef CHANGED
}

/* A mail server with one answer to RCPT. */
static void *smtp_main(void *arg)
{
	const int *fds = arg;
	const int fd = accept(fds[0], NULL, NULL);
	FILE *f = fdopen(fd, "r+");
	char line[1024];
	setvbuf(f, NULL, _IONBF, 0);
	fprintf(f, "220 sink\r\n");
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "RCPT", 4) == 0)
			fprintf(f, "550 no relaying\r\n");
		else
			fprintf(f, "250 ok\r\n");
	}
	fclose(f);
	return NULL;
}

/* A server that refuses us may be mended: it is tried again, not given up. */
static void test_mail_refused(void **state)
{
	static const char *const to_list[] = {"noc@example.org"};
	struct http_sink sink;
	pthread_t thread;
	struct err e = {0};
	rw_cleanup(str_done) struct str url = {0};
	sink_init(&sink);
	assert_int_equal(listen(sink.fd, 4), 0);
	assert_int_equal(pthread_create(&thread, NULL, smtp_main, &sink.fd), 0);
	str_addf(&url, "smtp://127.0.0.1:%d", sink.port);
	const struct config_receiver to = {.kind = &sender_mail.options,
		.name = "r",
		.url = url.s,
		.to = {to_list, 1},
		.timeout_ns = 20 * NS_PER_S};
	struct alert_message *message = sender_message("paused");
	assert_int_equal(sender_send(&to, message, &e), -EIO);
	assert_non_null(strstr(e.text, "reply 550"));
	alert_message_free(message);
	pthread_join(thread, NULL);
	sink_done(&sink);
}

/* What blames the message is not sent again; what may be better later is. */
static void test_statuses(void **state)
{
	static const struct {
		int status, rc;
	} rows[] = {{200, 0}, {204, 0}, {301, -EIO}, {400, -EBADMSG}, {401, -EIO}, {404, -EIO},
		{413, -EBADMSG}, {415, -EBADMSG}, {422, -EBADMSG}, {429, -EIO}, {500, -EIO}};
	struct http_sink sink;
	rw_cleanup(str_done) struct str url = {0};
	sink_init(&sink);
	sink_begin(&sink);
	str_addf(&url, "http://127.0.0.1:%d", sink.port);
	const struct config_receiver to = {.kind = &sender_webhook.options,
		.name = "r",
		.url = url.s,
		.timeout_ns = patience_ns(60 * NS_PER_S)};
	struct alert_message *message = sender_message("paused");
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct err e = {0};
		sink_set(&sink, rows[i].status, 0);
		const int rc = sender_send(&to, message, &e);
		if (rc != rows[i].rc)
			fail_msg("status %d: %d (%s)", rows[i].status, rc, e.text);
	}
	alert_message_free(message);
	sink_done(&sink);
}

/* While the first message waits for its answer the next three gather; the batch of them is refused,
 * and each is sent again by itself: what is wrong with one keeps no other back. */
static void test_batch_refused(void **state)
{
	struct http_sink sink;
	rw_cleanup(str_done) struct str url = {0};
	sink_init(&sink);
	sink_set(&sink, 200, 2);
	str_addf(&url, "http://127.0.0.1:%d", sink.port);
	const struct config_receiver to = {.kind = &sender_alertmanager.options,
		.name = "r",
		.url = url.s,
		.timeout_ns = patience_ns(60 * NS_PER_S)};
	struct receiver *receiver = receiver_new(&to, NULL);
	assert_int_equal(listen(sink.fd, 128), 0);
	assert_true(receiver_give(receiver, receiver_job_new(sender_message("first"), "r")));
	struct pollfd connected = {sink.fd, POLLIN, 0};
	assert_int_equal(poll(&connected, 1, (int)(patience_ns(60 * NS_PER_S) / NS_PER_MS)), 1);
	for (size_t i = 0; i < 3; i++)
		assert_true(receiver_give(receiver, receiver_job_new(sender_message("next"), "r")));
	sink_begin(&sink);
	const int64_t late_ns = mono_now().ns + patience_ns(60 * NS_PER_S);
	while (sink_asked(&sink) < 2 && mono_now().ns < late_ns)
		poll(NULL, 0, 1);
	receiver_stop(receiver, patience_ns(60 * NS_PER_S)); /* the batch under way is ended */
	assert_int_equal(sink_asked(&sink), 5);
	assert_int_equal(sink_count(&sink), 3);
	receiver_free(receiver);
	sink_done(&sink);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hmac),
		cmocka_unit_test(test_webhook_signature),
		cmocka_unit_test(test_syslog_format),
		cmocka_unit_test(test_syslog_local),
		cmocka_unit_test(test_command),
		cmocka_unit_test(test_mail_text),
		cmocka_unit_test(test_mail_decoded),
		cmocka_unit_test(test_message),
		cmocka_unit_test(test_receiver_same),
		cmocka_unit_test(test_statuses),
		cmocka_unit_test(test_batch_refused),
		cmocka_unit_test(test_mail_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
