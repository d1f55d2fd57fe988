/* web - decides what a configuration means for the web server's process. */
#include "agent/daemon/web.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/daemon/agent.h"
#include "agent/daemon/agent_state.h"
#include "agent/daemon/life.h"
#include "agent/judge/health.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/process.h"
#include "config/config.h"

/* web_child - posix_spawn, a pidfd on the loop that says when the process ended, and growing gaps
 * between attempts. */

#define ARGS_MAX 16
#define GAP_FIRST_NS NS_PER_S
#define GAP_MAX_NS (30 * NS_PER_S)
#define SETTLED_NS (60 * NS_PER_S) /* a run that long begins the gaps anew */
#define STOP_MS 3000 /* from SIGTERM to SIGKILL */
#define STOP_STEP_MS 20

extern char **environ;

struct web_child {
	struct loop *loop;
	char *program, *argv[ARGS_MAX + 1];
	void (*down)(void *arg, const char *why);
	void *arg;
	bool wanted;
	pid_t pid; /* 0 = it does not run */
	int pidfd; /* -1 = the kernel has none: ends are noticed by the tick */
	struct loop_fd *ended;
	mono_t began, next; /* next: of an attempt, while it is wanted and does not run */
	int64_t gap_ns;
	uint64_t starts;
	struct complaint complaint;
};

struct web_child *web_child_new(struct loop *loop, const struct web_child_options *options)
{
	struct web_child *c = rw_calloc(1, sizeof(*c));
	c->loop = loop;
	c->program = rw_strdup("/proc/self/exe");
	if (options->program) {
		free(c->program);
		c->program = rw_strdup(options->program);
	}
	for (size_t i = 0; i < ARGS_MAX && options->argv[i]; i++)
		c->argv[i] = rw_strdup(options->argv[i]);
	c->down = options->down;
	c->arg = options->arg;
	c->pidfd = -1;
	c->gap_ns = GAP_FIRST_NS;
	return c;
}

void web_child_free(struct web_child *child)
{
	if (!child)
		return;
	web_child_stop(child);
	for (size_t i = 0; i < ARGS_MAX; i++)
		free(child->argv[i]);
	free(child->program);
	free(child);
}

pid_t web_child_pid(const struct web_child *child)
{
	return child->pid;
}

uint64_t web_child_starts(const struct web_child *child)
{
	return child->starts;
}

/* ---- ends ---------------------------------------------------------------- */

static void web_child_forget(struct web_child *child)
{
	loop_fd_free(child->ended);
	child->ended = NULL;
	if (child->pidfd >= 0)
		close(child->pidfd);
	child->pidfd = -1;
	child->pid = 0;
}

/* It does not run, against our wish: when again? */
static void web_child_failed(struct web_child *child, mono_t now, const char *why)
{
	if (child->began.ns && now.ns - child->began.ns >= SETTLED_NS)
		child->gap_ns = GAP_FIRST_NS;
	child->next.ns = now.ns + child->gap_ns;
	const bool told = complain(&child->complaint, now, LOG_ERROR_, "web",
		"%s; starting it again in %lld s", why, (long long)(child->gap_ns / NS_PER_S));
	child->gap_ns *= 2;
	if (child->gap_ns > GAP_MAX_NS)
		child->gap_ns = GAP_MAX_NS;
	if (told && child->down)
		child->down(child->arg, why);
}

static void web_child_end_text(int status, char *buf, size_t size)
{
	if (WIFSIGNALED(status))
		snprintf(buf, size, "the web server's process was ended by signal %d (%s)",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		snprintf(buf, size,
			"the web server's process ended with exit code %d; its reason is in the "
			"log before this line",
			WEXITSTATUS(status));
}

/* Has it ended? Then it is reaped. */
static bool web_child_reap(struct web_child *child, int *ret_status)
{
	pid_t got;
	do
		got = waitpid(child->pid, ret_status, WNOHANG);
	while (got < 0 && errno == EINTR);
	return got != 0;
}

static void web_child_look(struct web_child *child, mono_t now)
{
	int status = 0;
	char why[160];
	if (!child->pid || !web_child_reap(child, &status))
		return;
	web_child_forget(child);
	web_child_end_text(status, why, sizeof(why));
	web_child_failed(child, now, why);
}

static void web_child_on_end(void *arg, int events)
{
	web_child_look(arg, mono_now());
}

/* ---- starts -------------------------------------------------------------- */

/* The child inherits nothing but standard output and error: no socket, no database, no ignored or
 * blocked signal. */
static int web_child_spawn(struct web_child *child)
{
	struct spawn spawn;
	spawn_begin(&spawn);
	posix_spawn_file_actions_addopen(&spawn.files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	return spawn_run(&spawn, &child->pid, child->program, child->argv, environ);
}

static void web_child_try(struct web_child *child, mono_t now)
{
	char why[160];
	const int rc = web_child_spawn(child);
	child->began = now;
	child->starts++;
	if (rc != 0) {
		child->pid = 0;
		snprintf(why, sizeof(why), "the web server's process could not be started: %s",
			strerror(-rc));
		web_child_failed(child, now, why);
		return;
	}
	child->pidfd = pidfd_open(child->pid, 0);
	if (child->pidfd >= 0)
		child->ended =
			loop_fd_new(child->loop, child->pidfd, LOOP_READ, web_child_on_end, child);
}

void web_child_start(struct web_child *child)
{
	if (child->wanted)
		return;
	child->wanted = true;
	child->gap_ns = GAP_FIRST_NS;
	web_child_try(child, mono_now());
}

void web_child_stop(struct web_child *child)
{
	int status;
	child->wanted = false;
	if (!child->pid)
		return;
	kill(child->pid, SIGTERM);
	for (int ms = 0; ms < STOP_MS; ms += STOP_STEP_MS) {
		if (web_child_reap(child, &status)) {
			web_child_forget(child);
			return;
		}
		poll(NULL, 0, STOP_STEP_MS);
	}
	log_warn("web", "pid %d did not end within %d s after SIGTERM: killed", (int)child->pid,
		STOP_MS / 1000);
	kill(child->pid, SIGKILL);
	while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
		continue;
	web_child_forget(child);
}

void web_child_reload(struct web_child *child)
{
	if (!child->wanted)
		return;
	if (child->pid)
		kill(child->pid, SIGHUP);
	else
		child->next.ns = 0;
}

void web_child_tick(struct web_child *child, mono_t now)
{
	web_child_look(child, now);
	if (child->pid && now.ns - child->began.ns >= SETTLED_NS)
		complaint_over(&child->complaint, now, "web", "serving again");
	if (child->wanted && !child->pid && now.ns >= child->next.ns)
		web_child_try(child, now);
}

static void web_on_down(void *arg, const char *why)
{
	const struct agent *agent = arg;
	life_web_down(agent->store, wall_now().ns, why);
}

/* The same file, and the same database where a command line named another one. */
static struct web_child *web_new(struct agent *agent)
{
	const char *argv[] = {
		"rocewatch", "-c", agent->options->config_path, "web", "--child", NULL, NULL, NULL};
	if (agent->options->db) {
		argv[5] = "--db";
		argv[6] = agent->options->db;
	}
	return web_child_new(agent->loop,
		&(struct web_child_options){.program = agent->options->web_program,
			.argv = argv,
			.down = web_on_down,
			.arg = agent});
}

/* Do both files lie in one directory, or is there none now? */
static bool web_same_directory(const char *was, const char *is)
{
	if (!is || str_eq(was, is))
		return true;
	if (!was)
		return false;
	const char *was_end = strrchr(was, '/'), *is_end = strrchr(is, '/');
	if (!was_end || !is_end || was_end - was != is_end - is)
		return false;
	return strncmp(was, is, (size_t)(is_end - is)) == 0;
}

/* Is there something new that an open socket cannot take over, or a file in a directory that the
 * server closed to itself when it started? */
static bool web_needs_restart(const struct config_http *was, const struct config_http *is)
{
	return !str_eq(was->address, is->address) || was->port != is->port ||
		was->max_connections != is->max_connections ||
		was->request_timeout_ns != is->request_timeout_ns ||
		!web_same_directory(was->tokens_file, is->tokens_file) ||
		!web_same_directory(was->cert, is->cert) || !web_same_directory(was->key, is->key);
}

void web_apply(struct agent *agent, const struct config *old)
{
	const struct config_http *is = agent->config->http, *was = NULL;
	if (old)
		was = old->http;
	if (!is) {
		if (agent->web)
			web_child_stop(agent->web);
		return;
	}
	if (!agent->web)
		agent->web = web_new(agent);
	if (was && web_needs_restart(was, is))
		web_child_stop(agent->web);
	else if (was)
		web_child_reload(agent->web);
	web_child_start(agent->web);
}

void web_figures(const struct agent *agent, struct health *health)
{
	if (!agent->config->http || !agent->web)
		return;
	health_figure(health, "process", "web", "running", "", web_child_pid(agent->web) > 0);
	health_figure(health, "process", "web", "starts", "", (double)web_child_starts(agent->web));
}
