/*
 * sender - one way to tell somebody: a row of the table of senders. One file per row
 * (agent/alert/send_<name>.c), its word in RW_SENDERS in CMakeLists.txt; the rows of
 * its section of the configuration, and what is checked of them, stand in the same file
 * (config/receiver_rows.h).
 */
#pragma once

#include "base/base.h"

#include "agent/alert/alert_message.h"
#include "config/config.h"

struct curl_ask;

/* What shall be sent to whom. Borrowed for the call. */
struct sender_ask {
	const struct config_receiver *to;
	const struct alert_message *const *messages; /* at most .batch of the sender */
	size_t n;
	int stop_fd; /* when it can be read, give up; -1: none */
};

struct sender {
	/* its section under 'alerts:'; .name is the word there, and the kind of its receivers */
	struct option_table options;
	size_t batch; /* messages that one call takes */
	/* The receiver forgets alerts that are not repeated: open ones are repeated whether or not
	 * they are acknowledged, and it gets acknowledgements and other causes. */
	bool heartbeat;
	/*
	 * On a thread of its own; may wait .to->timeout_ns, no longer. 0: the receiver has all of
	 * them. -EBADMSG: it will never take them; -ECANCELED: stopped; any other negative errno:
	 * try again later. @e says what happened, never a secret.
	 */
	int (*send)(const struct sender_ask *ask, struct err *e);
};

extern const struct sender *const senders[]; /* NULL-terminated */

/* sender_find - the row of a kind. receiver.c. */
const struct sender *sender_find(const struct option_table *kind);

/* ---- for senders --------------------------------------------------------- */

/* Secrets of a receiver, read when they are needed; sender_login_done() wipes them. */
struct sender_login {
	char *password, *token, *secret, *url;
};
int sender_login_read(const struct config_receiver *to, struct sender_login *ret, struct err *e);
void sender_login_done(struct sender_login *login); /* for rw_cleanup() */

/* sender_curl - what every request of @ask has. */
void sender_curl(
	const struct sender_ask *ask, const struct sender_login *login, struct curl_ask *ret);

/* sender_post - JSON to @url. 0 on a 2xx status; -EBADMSG on one that says the request itself is
 * wrong (400, 413, 415, 422); -EIO on others. The answer's first words are in @e. */
int sender_post(const struct sender_ask *ask, const struct sender_login *login, const char *url,
	const char *body, const char *const *headers, size_t n_headers, struct err *e);

/* sender_hostname - of this machine, never empty. Returns @buf. */
char *sender_hostname(char *buf, size_t size);
void sender_text(struct str *out, const struct alert_message *message, const char *end);

/*
 * sender_run - starts @argv[0] without a shell and writes @input to its standard input. Its
 * environment is PATH, LANG and @env ("NAME=value"); it has no other descriptors of ours. It is
 * killed, with all it started, when it takes longer than the receiver's timeout. 0 when it ended
 * with 0, else -EIO or -ETIMEDOUT; @e has its last words on standard error.
 */
int sender_run(const struct sender_ask *ask, const struct config_texts *argv, const char *input,
	const char *const *env, size_t n_env, struct err *e);
