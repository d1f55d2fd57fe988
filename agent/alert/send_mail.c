/*
 * send_mail - one mail per message, to the mail server of this machine, another one, or a program
 * such as sendmail. The first mail of an incident has an id made from the incident's; the others
 * refer to it, so that a mail reader shows them as one thread (RFC 5322 section 3.6.4).
 */
#include <time.h>

#include "agent/alert/sender.h"
#include "base/bytes.h"
#include "base/curl_io.h"
#include "config/receiver_rows.h"

#define LOCAL_MTA "smtp://127.0.0.1:25"
#define ENCODED_WORD_BYTES 45 /* of text in one: it may have 75 characters (RFC 2047 section 2) */
#define LINE_BYTES_MAX 900 /* 998 at most (RFC 5322 section 2.1.1) */
#define BASE64_LINE_BYTES 57 /* 76 characters (RFC 2045 section 6.8) */

/* May it be sent as it is: ASCII, and no line longer than a mail may have? */
static bool mail_plain(const char *text)
{
	size_t line = 0;
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p >= 0x7f || (*p < 0x20 && *p != '\r' && *p != '\n'))
			return false;
		if (*p == '\n')
			line = 0;
		if (++line > LINE_BYTES_MAX)
			return false;
	}
	return true;
}

static void mail_base64(struct str *out, const char *text, size_t n)
{
	rw_cleanup(freep) char *coded = base64_text(text, n);
	str_add(out, coded);
}

/* How many of the @n bytes at @text, at most @max, end at a whole UTF-8 character. */
static size_t mail_whole(const char *text, size_t n, size_t max)
{
	if (n <= max)
		return n;
	n = max;
	while (n > 1 && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

/* A header value: as it is, or as encoded words (RFC 2047). Control characters, which would end the
 * header, become blanks. */
static void mail_header(struct str *out, const char *name, const char *text, const char *end)
{
	rw_cleanup(str_done) struct str line = {0};
	str_add(&line, text);
	line.n = text_clean(line.s, line.n + 1, line.s, line.n);
	str_addf(out, "%s: ", name);
	if (mail_plain(line.s)) {
		str_addf(out, "%s%s", line.s, end);
		return;
	}
	for (size_t at = 0; at < line.n;) {
		const size_t n = mail_whole(line.s + at, line.n - at, ENCODED_WORD_BYTES);
		if (at)
			str_addf(out, "%s ", end);
		str_add(out, "=?UTF-8?B?");
		mail_base64(out, line.s + at, n);
		str_add(out, "?=");
		at += n;
	}
	str_add(out, end);
}

static void mail_body(struct str *out, const struct alert_message *message, const char *end)
{
	rw_cleanup(str_done) struct str text = {0};
	sender_text(&text, message, end);
	const bool plain = mail_plain(text.s);
	mail_header(out, "MIME-Version", "1.0", end);
	mail_header(out, "Content-Type", "text/plain; charset=utf-8", end);
	if (plain) {
		mail_header(out, "Content-Transfer-Encoding", "7bit", end);
		str_addf(out, "%s%s", end, text.s);
		return;
	}
	mail_header(out, "Content-Transfer-Encoding", "base64", end);
	str_add(out, end);
	for (size_t at = 0; at < text.n; at += BASE64_LINE_BYTES) {
		size_t n = text.n - at;
		if (n > BASE64_LINE_BYTES)
			n = BASE64_LINE_BYTES;
		mail_base64(out, text.s + at, n);
		str_add(out, end);
	}
}

/* Date of RFC 5322 section 3.3; not strftime(), which follows the locale. */
static void mail_date(struct str *out, int64_t t_ns, const char *end)
{
	static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
	static const char *const months[] = {
		"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
	const time_t t = (time_t)(t_ns / NS_PER_S);
	struct tm tm;
	gmtime_r(&t, &tm);
	str_addf(out, "Date: %s, %d %s %d %02d:%02d:%02d +0000%s", days[tm.tm_wday], tm.tm_mday,
		months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec, end);
}

static void mail_ids(
	struct str *out, const struct alert_message *message, const char *host, const char *end)
{
	/* the first message about an incident begins the thread */
	if (message->first && message->event != ALERT_TEST) {
		str_addf(out, "Message-ID: <%s@%s>%s", message->id, host, end);
		return;
	}
	str_addf(out, "Message-ID: <%s@%s>%s", message->delivery, host, end);
	if (message->event == ALERT_TEST)
		return;
	str_addf(out, "In-Reply-To: <%s@%s>%s", message->id, host, end);
	str_addf(out, "References: <%s@%s>%s", message->id, host, end);
}

static void mail_write(struct str *out, const struct sender_ask *ask, const char *from,
	const char *host, const char *end)
{
	const struct alert_message *message = ask->messages[0];
	rw_cleanup(str_done) struct str subject = {0}, to = {0};
	for (size_t i = 0; i < ask->to->to.n; i++)
		str_addf(&to, "%s%s", str_if(i, ", "), ask->to->to.v[i]);
	str_addf(&subject, "[%s] %s: %s", alert_message_word(message),
		str_or(message->fabric, "fabric"), message->headline);
	mail_header(out, "From", from, end);
	mail_header(out, "To", to.s, end);
	mail_header(out, "Subject", subject.s, end);
	mail_date(out, message->time_ns, end);
	mail_ids(out, message, host, end);
	mail_header(out, "Auto-Submitted", "auto-generated", end);
	mail_header(out, "X-Rocewatch-Incident", message->id, end);
	mail_header(out, "X-Rocewatch-Event", alert_event_name(message->event), end);
	mail_body(out, message, end);
}

static int mail_send(const struct sender_ask *ask, struct err *e)
{
	rw_cleanup(sender_login_done) struct sender_login login = {0};
	rw_cleanup(str_done) struct str from = {0}, text = {0};
	char host[256];
	sender_hostname(host, sizeof(host));
	if (ask->to->from)
		str_add(&from, ask->to->from);
	else
		str_addf(&from, "rocewatch@%s", host);
	if (ask->to->run.n) {
		mail_write(&text, ask, from.s, host, "\n");
		return sender_run(ask, &ask->to->run, text.s, NULL, 0, e);
	}
	const int rc = sender_login_read(ask->to, &login, e);
	if (rc < 0)
		return rc;
	mail_write(&text, ask, from.s, host, "\r\n");
	struct curl_mail mail = {
		.from = from.s, .to = ask->to->to.v, .n_to = ask->to->to.n, .text = text.s};
	sender_curl(ask, &login, &mail.ask);
	/* a password does not cross the network readable */
	mail.starttls = ask->to->username || ask->to->tls_ca || ask->to->tls_cert ||
		ask->to->tls_skip_verify;
	return curl_io_mail(&mail, e);
}

/* ---- its section of the configuration ---- */

static const struct field mail_rows[] = {
	LIST(config_receiver, to.v, to.n, "to", NULL, schema_check_mail_address,
		"Who gets the mail.", .flags = FIELD_REQUIRED),
	TEXT(config_receiver, from, "from", "Sender; rocewatch@HOSTNAME when not given.",
		.check = schema_check_mail_address),
	TEXT(config_receiver, url, "server",
		"Mail server: smtp://HOST:PORT or smtps://HOST:PORT; the one of this machine, "
		"smtp://127.0.0.1:25, when not given.",
		.check = schema_check_smtp_url),
	LIST(config_receiver, run.v, run.n, "command", NULL, schema_check_text,
		"Instead of a server: a program that takes the mail on its standard input, such "
		"as [/usr/sbin/sendmail, -t, -i]."),
	PASSWORD_ROWS,
	INSIDE(config_receiver, tls_node, "tls", receiver_tls_section),
	RECEIVER_ROWS,
};
TABLE(mail_section, config_receiver, mail_rows,
	"Mail. The messages of one incident are one thread.");

static void mail_complete(struct build *build, struct config_receiver *receiver)
{
	config_check_program(build, receiver->node, "command", &receiver->run);
	if (receiver->run.n && receiver->url)
		build_error(build, build_at(receiver->node, "command"),
			"command: a server is given as well; keep one of them");
	if (receiver->run.n == 0 && !receiver->url)
		receiver->url = LOCAL_MTA;
}

const struct sender sender_mail = {
	.options = {.section = "alerts",
		.name = "mail",
		.receiver = &mail_section,
		.complete = mail_complete},
	.batch = 1,
	.send = mail_send,
};
