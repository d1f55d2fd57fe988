/* sender - what several senders share: secrets, requests, the text for people. */
#include "agent/alert/sender.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/curl_io.h"
#include "base/locked.h"
#include "base/process.h"

#define ANSWER_SHOWN 160

char *sender_hostname(char *buf, size_t size)
{
	if (gethostname(buf, size) != 0 || !*buf)
		snprintf(buf, size, "localhost");
	buf[size - 1] = '\0';
	return buf;
}

/* ---- secrets ------------------------------------------------------------- */

static int login_take(const struct config_secret *secret, char **ret, struct err *e)
{
	if (secret->from == SECRET_NONE)
		return 0;
	return secret_read(secret, ret, e);
}

int sender_login_read(const struct config_receiver *to, struct sender_login *ret, struct err *e)
{
	int rc = login_take(&to->password, &ret->password, e);
	if (rc == 0)
		rc = login_take(&to->token, &ret->token, e);
	if (rc == 0)
		rc = login_take(&to->secret, &ret->secret, e);
	if (rc == 0)
		rc = login_take(&to->url_secret, &ret->url, e);
	return rc;
}

void sender_login_done(struct sender_login *login)
{
	locked_free(login->password);
	locked_free(login->token);
	locked_free(login->secret);
	locked_free(login->url);
	*login = (struct sender_login){0};
}

/* ---- requests ------------------------------------------------------------ */

void sender_curl(
	const struct sender_ask *ask, const struct sender_login *login, struct curl_ask *ret)
{
	const struct config_receiver *to = ask->to;
	*ret = (struct curl_ask){
		.url = to->url,
		.username = to->username,
		.password = login->password,
		.token = login->token,
		.tls = {to->tls_ca, to->tls_cert, to->tls_key, to->tls_skip_verify},
		.timeout_ns = to->timeout_ns,
		.stop_fd = ask->stop_fd,
	};
}

/* What the receiver answered, on one line. It may send back what it was sent, log-in included. */
static void answer_line(struct str *answer, const struct sender_login *login)
{
	if (answer->s) {
		text_hide(answer->s, login->password);
		text_hide(answer->s, login->token);
		text_hide(answer->s, login->secret);
		text_hide(answer->s, login->url);
	}
	if (answer->n > ANSWER_SHOWN)
		answer->s[answer->n = ANSWER_SHOWN] = '\0';
	if (answer->s)
		answer->n = text_clean(answer->s, answer->n + 1, answer->s, answer->n);
}

static bool status_blames_request(long status)
{
	return status == 400 || status == 413 || status == 415 || status == 422;
}

int sender_post(const struct sender_ask *ask, const struct sender_login *login, const char *url,
	const char *body, const char *const *headers, size_t n_headers, struct err *e)
{
	rw_cleanup(str_done) struct str answer = {0};
	struct curl_post post = {
		.body = body, .n_body = strlen(body), .headers = headers, .n_headers = n_headers};
	long status = 0;
	sender_curl(ask, login, &post.ask);
	post.ask.url = url;
	const int rc = curl_io_post(&post, &status, &answer, e);
	if (rc < 0)
		return rc;
	if (status >= 200 && status < 300)
		return 0;
	answer_line(&answer, login);
	int error = -EIO;
	if (status_blames_request(status))
		error = -EBADMSG;
	return err_set(e, error, "it answered with status %ld%s%s", status, str_if(answer.n, ": "),
		str_or(answer.s, ""));
}

/* ---- the text for people ------------------------------------------------- */

static void text_time(struct str *out, const char *name, int64_t t_ns, const char *end)
{
	char t[WALL_TEXT_MAX];
	if (t_ns)
		str_addf(out, "%-10s%s%s", name, wall_text(t, (wall_t){t_ns}, 0), end);
}

static void text_line(struct str *out, const char *name, const char *value, const char *end)
{
	if (value && *value)
		str_addf(out, "%-10s%s%s", name, value, end);
}

void sender_text(struct str *out, const struct alert_message *message, const char *end)
{
	str_addf(out, "%s%s%s%s%s%s", message->headline, end, end, message->summary, end, end);
	text_line(out, "state", alert_message_word(message), end);
	text_line(out, "cause", message->cause, end);
	text_line(out, "fabric", message->fabric, end);
	text_line(out, "device", message->device, end);
	text_line(out, "port", message->port, end);
	text_line(out, "group", message->group, end);
	text_line(out, "host", message->host, end);
	text_line(out, "jobs", message->jobs, end);
	text_line(out, "cost", message->cost, end);
	text_time(out, "opened", message->opened_ns, end);
	text_time(out, "closed", message->closed_ns, end);
	text_line(out, "note", message->why, end);
	text_line(out, "acked by", message->acked_by, end);
	if (message->n_steps && !message->resolved)
		str_addf(out, "%sNext:%s", end, end);
	for (size_t i = 0; i < message->n_steps && !message->resolved; i++) {
		str_addf(out, "  %zu. %s", i + 1, str_or(message->steps[i].text, "?"));
		if (message->steps[i].risk)
			str_addf(out, " (risk: %s)", message->steps[i].risk);
		str_add(out, end);
	}
	if (message->event == ALERT_TEST)
		return;
	str_addf(out, "%sRunbook:  %s%s", end, message->runbook, end);
	str_addf(out, "rocewatch incident show %s%s", message->id, end);
	if (message->url)
		str_addf(out, "%s%s", message->url, end);
}

/* sender_run - a program of the site as a child: fed, bounded in time, and with nothing of ours but
 * its standard input. */

#define WORDS_MAX 300 /* bytes kept of what it says */
#define STEP_MS 50 /* how often an ended child is looked for */

/* A child under way. */
struct child {
	pid_t pid;
	int in, out; /* our ends: its standard input; its output and errors */
	const char *input;
	size_t left;
	struct str words;
};

static int child_spawn(struct child *child, int in, int out, char *const *argv, char *const *env)
{
	struct spawn spawn;
	spawn_begin(&spawn);
	spawn_own_group(&spawn); /* so that all it starts can be killed */
	posix_spawn_file_actions_adddup2(&spawn.files, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&spawn.files, out, STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&spawn.files, out, STDERR_FILENO);
	return spawn_run(&spawn, &child->pid, argv[0], argv, env);
}

static int child_start(struct child *child, char *const *argv, char *const *env, struct err *e)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1};
	if (pipe2(in, O_CLOEXEC | O_NONBLOCK) != 0)
		return err_set(e, -errno, "no pipe for it: %s", strerror(errno));
	if (pipe2(out, O_CLOEXEC | O_NONBLOCK) != 0) {
		const int error = errno;
		close(in[0]);
		close(in[1]);
		return err_set(e, -error, "no pipe for it: %s", strerror(error));
	}
	fcntl(in[0], F_SETFL, 0); /* the child expects ordinary descriptors */
	fcntl(out[1], F_SETFL, 0);
	const int rc = child_spawn(child, in[0], out[1], argv, env);
	close(in[0]);
	close(out[1]);
	child->in = in[1];
	child->out = out[0];
	if (rc == 0)
		return 0;
	return err_set(e, rc, "%.200s cannot be started: %s", argv[0], strerror(-rc));
}

/* A child need not read its input. The caller may not ignore SIGPIPE, so it is held back in
 * this thread meanwhile. */
struct pipe_signal {
	sigset_t before;
	bool mine; /* it was not blocked before */
};

static void pipe_signal_hold(struct pipe_signal *held)
{
	sigset_t only;
	sigemptyset(&only);
	sigaddset(&only, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &only, &held->before);
	held->mine = !sigismember(&held->before, SIGPIPE);
}

static void pipe_signal_back(const struct pipe_signal *held)
{
	static const struct timespec now;
	sigset_t only;
	if (!held->mine)
		return;
	sigemptyset(&only);
	sigaddset(&only, SIGPIPE);
	while (sigtimedwait(&only, NULL, &now) == SIGPIPE)
		continue;
	pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

static void child_feed(struct child *child)
{
	while (child->in >= 0) {
		ssize_t n = 0;
		if (child->left)
			n = write(child->in, child->input, child->left);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n > 0) {
			child->input += n;
			child->left -= (size_t)n;
			continue;
		}
		close(child->in); /* all is written, or it does not read */
		child->in = -1;
	}
}

static void child_hear(struct child *child)
{
	char text[512];
	ssize_t n = 1;
	while (child->out >= 0 && n > 0) {
		n = read(child->out, text, sizeof(text));
		if (n > 0 && child->words.n < WORDS_MAX)
			str_addn(&child->words, text, (size_t)n);
		if (n == 0 || (n < 0 && errno != EAGAIN)) {
			close(child->out);
			child->out = -1;
		}
	}
}

static bool child_stopped(int stop_fd)
{
	struct pollfd stop = {.fd = stop_fd, .events = POLLIN};
	return stop_fd >= 0 && poll(&stop, 1, 0) > 0;
}

/* Until it ends. 0 with its status, -ETIMEDOUT or -ECANCELED. */
static int child_wait(struct child *child, int64_t timeout_ns, int stop_fd, int *ret_status)
{
	const mono_t begin = mono_now();
	for (;;) {
		child_feed(child);
		child_hear(child);
		if (waitpid(child->pid, ret_status, WNOHANG) == child->pid)
			return 0;
		if (mono_now().ns - begin.ns >= timeout_ns)
			return -ETIMEDOUT;
		if (child_stopped(stop_fd))
			return -ECANCELED;
		struct pollfd fds[] = {{.fd = child->in, .events = POLLOUT},
			{.fd = child->out, .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
		poll(fds, rw_countof(fds), STEP_MS);
	}
}

/* Its last words on one line, without the end of the line. */
static const char *child_words(struct child *child)
{
	struct str *w = &child->words;
	if (w->n > WORDS_MAX)
		w->s[w->n = WORDS_MAX] = '\0';
	while (w->n && (unsigned char)w->s[w->n - 1] <= ' ')
		w->s[--w->n] = '\0';
	if (w->s)
		w->n = text_clean(w->s, w->n + 1, w->s, w->n);
	return str_or(w->s, "");
}

static int child_verdict(struct child *child, int status, const char *program, struct err *e)
{
	const char *words = child_words(child);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status))
		return err_set(e, -EIO, "%.200s ended with %d%s%s", program, WEXITSTATUS(status),
			str_if(*words, ": "), words);
	return err_set(e, -EIO, "%.200s was ended by signal %d", program, WTERMSIG(status));
}

static void child_done(struct child *child)
{
	closep(&child->in);
	closep(&child->out);
	str_done(&child->words);
}

int sender_run(const struct sender_ask *ask, const struct config_texts *argv, const char *input,
	const char *const *env, size_t n_env, struct err *e)
{
	rw_cleanup(child_done) struct child child = {
		.in = -1, .out = -1, .input = input, .left = strlen(input)};
	rw_cleanup(freep) const char **words = rw_calloc(argv->n + 1, sizeof(*words));
	rw_cleanup(freep) const char **variables = rw_calloc(n_env + 3, sizeof(*variables));
	for (size_t i = 0; i < argv->n; i++)
		words[i] = argv->v[i];
	for (size_t i = 0; i < n_env; i++)
		variables[i] = env[i];
	variables[n_env] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	variables[n_env + 1] = "LANG=C.UTF-8";
	rw_cleanup(pipe_signal_back) struct pipe_signal held = {.mine = false};
	pipe_signal_hold(&held);
	int status = 0;
	int rc = child_start(&child, (char *const *)words, (char *const *)variables, e);
	if (rc < 0)
		return rc;
	rc = child_wait(&child, ask->to->timeout_ns, ask->stop_fd, &status);
	if (rc == 0) {
		child_hear(&child);
		return child_verdict(&child, status, words[0], e);
	}
	kill(-child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	if (rc == -ECANCELED)
		return err_set(e, rc, "stopped");
	return err_set(e, rc, "%.200s did not end in time and was killed", words[0]);
}
