/* parser_monitor - starts, watches and ends the process of one capture, and takes in what it says.
 */
#include "agent/jail/parser_monitor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "agent/jail/parser_intake.h"
#include "agent/jail/parser_wire.h"
#include "agent/jail/privilege.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/process.h"
#include "config/config.h"

struct parser_process_options {
	const char *program; /* NULL = this program */
	bool lend_raw, lend_netns; /* rights that it needs while it opens */
	void (*ended)(void *arg); /* on the loop; parser_process_reap() says how */
	void *arg;
};

/* parser_process - posix_spawn with one end of a socket pair, and a pidfd that says when it ended.
 */

#define OOM_SCORE 500 /* of 1000 */
#define STEP_MS 5 /* between two looks, where the kernel has no pidfd */

extern char **environ;

struct parser_process {
	pid_t pid;
	int pidfd; /* -1 = the kernel has none: the owner looks from time to time */
	struct loop_fd *watch;
	bool reaped;
	int status;
	struct parser_process_options options;
};

static void parser_process_on_end(void *arg, int events)
{
	struct parser_process *process = arg;
	loop_fd_events(process->watch, 0);
	process->options.ended(process->options.arg);
}

/* parser_process_reap - has it ended? Then @ret_status is as of wait(2), once and for all. */
static bool parser_process_reap(struct parser_process *process, int *ret_status)
{
	pid_t got;
	if (!process->reaped) {
		do
			got = waitpid(process->pid, &process->status, WNOHANG);
		while (got < 0 && errno == EINTR);
		process->reaped = got != 0;
	}
	*ret_status = process->status;
	return process->reaped;
}

/* parser_process_wait - the same, but waits up to @ms milliseconds. Blocks. */
static bool parser_process_wait(struct parser_process *process, int ms, int *ret_status)
{
	const int64_t until_ns = mono_now().ns + ms * NS_PER_MS;
	while (!parser_process_reap(process, ret_status)) {
		struct pollfd p = {.fd = process->pidfd, .events = POLLIN};
		const int64_t left_ns = until_ns - mono_now().ns;
		int wait_ms = STEP_MS;
		if (left_ns <= 0)
			return false;
		if (process->pidfd >= 0)
			wait_ms = (int)(left_ns / NS_PER_MS) + 1;
		poll(&p, 1, wait_ms);
	}
	return true;
}

static void parser_process_kill(struct parser_process *process)
{
	if (!process->reaped)
		kill(process->pid, SIGKILL);
}

/* A child has the score of its parent at its birth. proc(5): who raised it may go back to what it
 * was. */
static int oom_score = -1; /* /proc/self/oom_score_adj of the agent */

void parser_process_prepare(void)
{
	if (oom_score < 0)
		oom_score = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
}

static void parser_process_score(int score)
{
	char text[16];
	const int n = snprintf(text, sizeof(text), "%d", score);
	if (oom_score >= 0 && pwrite(oom_score, text, (size_t)n, 0) < 0)
		log_debug("parser", "oom_score_adj %d: %s", score, strerror(errno));
}

static int parser_process_own_score(void)
{
	char text[16] = "";
	if (oom_score < 0 || pread(oom_score, text, sizeof(text) - 1, 0) < 0)
		return 0;
	return atoi(text);
}

/* A secret may stand in a variable: the parser gets none of them. Who preloads a library to look
 * into a process, or to set its clock, wants it there too, with its settings. */
static char **parser_process_environment(char *only[2])
{
	static char zone[128];
	if (getenv("LD_PRELOAD") || getenv("ASAN_OPTIONS"))
		return environ;
	only[0] = only[1] = NULL;
	if (getenv("TZ")) {
		snprintf(zone, sizeof(zone), "TZ=%s", getenv("TZ"));
		only[0] = zone;
	}
	return only;
}

static int parser_process_spawn(struct parser_process *process, int channel)
{
	const char *program = str_or(process->options.program, "/proc/self/exe");
	char name[] = "rocewatch", word[] = "parser";
	char *const argv[] = {name, word, NULL};
	char *only[2];
	char **environment = parser_process_environment(only);
	struct spawn spawn;
	spawn_begin(&spawn);
	posix_spawn_file_actions_adddup2(&spawn.files, channel, STDIN_FILENO);
	posix_spawn_file_actions_addopen(&spawn.files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	const int own_score = parser_process_own_score();
	parser_process_score(OOM_SCORE);
	privilege_lend(process->options.lend_raw, process->options.lend_netns);
	const int rc = spawn_run(&spawn, &process->pid, program, argv, environment);
	privilege_lend(false, false);
	parser_process_score(own_score);
	return rc;
}

/* parser_process_start - *@ret_fd: the agent's end of the socket, the caller's. 0 or negative
 * errno. */
static int parser_process_start(struct loop *loop, const struct parser_process_options *options,
	struct parser_process **ret, int *ret_fd)
{
	int ends[2];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	struct parser_process *p = rw_calloc(1, sizeof(*p));
	p->options = *options;
	p->pidfd = -1;
	const int rc = parser_process_spawn(p, ends[1]);
	close(ends[1]);
	if (rc < 0) {
		close(ends[0]);
		free(p);
		return rc;
	}
	p->pidfd = pidfd_open(p->pid, 0);
	if (p->pidfd >= 0)
		p->watch = loop_fd_new(loop, p->pidfd, LOOP_READ, parser_process_on_end, p);
	*ret = p;
	*ret_fd = ends[0];
	return 0;
}

/* parser_process_free - ends it with SIGKILL where it still runs. NULL is fine. */
static void parser_process_free(struct parser_process *process)
{
	int status;
	if (!process)
		return;
	parser_process_kill(process);
	while (!parser_process_wait(process, 1000, &status))
		continue;
	loop_fd_free(process->watch);
	if (process->pidfd >= 0)
		close(process->pidfd);
	free(process);
}

#define TICK_NS NS_PER_S
#define RETRY_MIN (1 * NS_PER_S) /* as of a capture in the process itself */
#define RETRY_MAX (15 * NS_PER_S)
#define RETRY_CANNOT (30 * NS_PER_S) /* what does not heal by itself */
#define SETTLED_NS (60 * NS_PER_S) /* a run that long begins the pauses anew */
#define CRASHES_TOLD 3 /* in a row: the traffic itself is suspected */
#define QUEUE_MAX ((size_t)8 << 20)
#define BYTES_PER_SECOND ((uint64_t)16 << 20)
#define BYTES_PER_SAMPLE 32 /* and what names cost */
#define REAP_MS 200
enum { STOP_SILENT_S = 3 }; /* who was silent that long is not asked for its interval */

enum monitor_end { END_BY_ITSELF, END_SILENT, END_REFUSED };

struct parser_monitor {
	struct loop *loop;
	struct entities *entities;
	struct sink sink;
	const struct collector *row;
	struct push_hub *hub;
	struct arena *texts;
	const char *user;
	struct config_capture capture; /* texts in .texts; without .allow */
	struct parser_map *map;
	struct target target;
	struct loop_timer *tick;
	/* while there is a process; else NULL */
	struct parser_process *process;
	struct parser_channel *channel;
	struct parser_intake *intake;
	enum monitor_end end;
	bool bye, was_up, held;
	unsigned silent; /* ticks without a message */
	uint64_t received; /* bytes, at the last tick */
	mono_t began;
	mono_t next_try; /* while there is none */
	int64_t retry_ns;
	unsigned crashes; /* in a row */
	uint64_t ends; /* against our wish, ever */
	/* sums of the processes before this one */
	uint64_t errors, values, polls, refused;
	struct intake_figure before[PARSER_FIGURES_MAX];
	size_t n_before;
};

static unsigned patience = PARSER_SILENT_S;

void parser_monitor_patience(unsigned seconds)
{
	patience = seconds;
}

int parser_monitor_pid(const void *instance)
{
	const struct parser_monitor *m = instance;
	if (!m->process)
		return 0;
	return (int)m->process->pid;
}

/* ---- figures ----------------------------------------------------------------- */

/* These say how it is now; all others count up, also over the end of a process. */
static const char *const gauges[] = {
	"interface_frames", "agents", "unmapped_agents", "unmapped_ports", "connections", "series"};

static bool figure_counts(const char *key)
{
	for (size_t i = 0; i < rw_countof(gauges); i++)
		if (str_eq(key, gauges[i]))
			return false;
	return true;
}

static struct intake_figure *figure_before(struct parser_monitor *monitor, const char *key)
{
	for (size_t i = 0; i < monitor->n_before; i++)
		if (str_eq(monitor->before[i].key, key))
			return &monitor->before[i];
	return NULL;
}

/* Keys beyond the bound are not followed over the end of a process. */
static void figures_keep(struct parser_monitor *monitor)
{
	const struct intake_said *said = parser_intake_said(monitor->intake);
	for (size_t i = 0; i < said->n_figures; i++) {
		const struct intake_figure *figure = &said->figures[i];
		struct intake_figure *before = figure_before(monitor, figure->key);
		if (!figure_counts(figure->key))
			continue;
		if (!before && monitor->n_before < PARSER_FIGURES_MAX) {
			before = &monitor->before[monitor->n_before++];
			*before = (struct intake_figure){0};
			snprintf(before->key, sizeof(before->key), "%s", figure->key);
		}
		if (before)
			before->value += figure->value;
	}
}

static double figure_now(const struct intake_said *said, const char *key)
{
	if (str_eq(key, "unmapped_ports")) /* the names of ports are known here alone */
		return said->unmapped_ports;
	for (size_t i = 0; i < said->n_figures; i++)
		if (str_eq(said->figures[i].key, key))
			return said->figures[i].value;
	return 0;
}

static void monitor_figures(const void *instance, collector_figure_fn *fn, void *arg)
{
	static const struct intake_said nothing;
	struct parser_monitor *m = (struct parser_monitor *)instance;
	const struct intake_said *said = &nothing;
	if (m->intake)
		said = parser_intake_said(m->intake);
	/* what this process says, and what only those before it said */
	for (size_t i = 0; i < said->n_figures; i++) {
		const char *key = said->figures[i].key;
		const struct intake_figure *before = figure_before(m, key);
		double value = figure_now(said, key);
		if (before)
			value += before->value;
		if (str_eq(key, "counters_stored"))
			value -= (double)said->unmapped_samples;
		fn(arg, key, "", value);
	}
	for (size_t i = 0; i < m->n_before; i++) {
		bool again = false;
		for (size_t k = 0; k < said->n_figures; k++)
			again |= str_eq(said->figures[k].key, m->before[i].key);
		if (!again)
			fn(arg, m->before[i].key, "", m->before[i].value);
	}
	fn(arg, "parser_ends", "", (double)m->ends);
	fn(arg, "parser_refused", "", (double)(m->refused + said->refused));
}

/* ---- the end of a process ------------------------------------------------------ */

static void monitor_forget(struct parser_monitor *monitor)
{
	const struct intake_said *said = parser_intake_said(monitor->intake);
	figures_keep(monitor);
	monitor->errors += said->errors;
	monitor->values += said->values;
	monitor->polls += said->polls;
	monitor->refused += said->refused;
	parser_channel_free(monitor->channel);
	parser_process_free(monitor->process);
	parser_intake_free(monitor->intake);
	monitor->channel = NULL;
	monitor->process = NULL;
	monitor->intake = NULL;
}

static void monitor_down(
	struct parser_monitor *monitor, int64_t pause_ns, const struct reason *reason)
{
	monitor->next_try.ns = mono_now().ns + pause_ns;
	target_change(&monitor->target, TARGET_BACKOFF, mono_now(), wall_now(), reason);
	if (monitor->sink.target)
		monitor->sink.target(monitor->sink.arg, &monitor->target);
}

/* "SIGSEGV" */
static const char *monitor_signal(int status, char buf[64])
{
	const int signum = WTERMSIG(status);
	if (signum == SIGSYS)
		snprintf(buf, 64, "SIGSYS (a system call that it may not make)");
	else
		snprintf(buf, 64, "SIG%s", str_or(sigabbrev_np(signum), "?"));
	return buf;
}

static void monitor_end_reason(
	const struct parser_monitor *monitor, int status, struct reason *reason)
{
	char by[64];
	const char *name = monitor->capture.name;
	if (monitor->end == END_SILENT)
		reason_set(reason, PARSER_SILENT, name, (int)patience);
	else if (monitor->end == END_REFUSED)
		reason_set(reason, PARSER_REFUSED, name,
			str_or(parser_intake_said(monitor->intake)->wrong, "?"));
	else if (!WIFSIGNALED(status))
		reason_set(reason, PARSER_EXITED, name, WEXITSTATUS(status));
	else if (monitor->crashes >= CRASHES_TOLD)
		reason_set(
			reason, PARSER_CRASHES, name, monitor->crashes, monitor_signal(status, by));
	else
		reason_set(reason, PARSER_ENDED, name, monitor_signal(status, by));
}

static int64_t monitor_gap_ns(const struct parser_monitor *monitor)
{
	int64_t gap_s = PARSER_GAP_MAX_S;
	if (monitor->crashes <= 6)
		gap_s = 1 << (monitor->crashes - 1);
	if (gap_s > PARSER_GAP_MAX_S)
		gap_s = PARSER_GAP_MAX_S;
	return gap_s * NS_PER_S;
}

/* Against our wish: it crashed, was ended by us or by somebody else. */
static void monitor_died(struct parser_monitor *monitor, int status)
{
	struct reason reason;
	if (mono_now().ns - monitor->began.ns >= SETTLED_NS)
		monitor->crashes = 0;
	monitor->crashes++;
	monitor->ends++;
	monitor->errors++;
	monitor_end_reason(monitor, status, &reason);
	if (monitor->sink.event)
		monitor->sink.event(monitor->sink.arg, wall_now().ns, "parser_down",
			monitor->capture.device, monitor->capture.port, reason.text);
	monitor_forget(monitor);
	monitor->target.errors = monitor->errors;
	monitor_down(monitor, monitor_gap_ns(monitor), &reason);
}

/* It said that there is nothing to capture now. */
static void monitor_lost(struct parser_monitor *monitor)
{
	const struct intake_said *said = parser_intake_said(monitor->intake);
	const bool cannot = said->failed < 0;
	struct reason reason = said->reason;
	if (cannot)
		reason = said->failure;
	int64_t pause_ns = monitor->retry_ns;
	if (cannot)
		pause_ns = RETRY_CANNOT;
	else if (!monitor->was_up)
		monitor->retry_ns *= 2;
	if (monitor->retry_ns > RETRY_MAX)
		monitor->retry_ns = RETRY_MAX;
	monitor_forget(monitor);
	monitor_down(monitor, pause_ns, &reason);
}

static bool monitor_never(void *arg)
{
	return false;
}

static void monitor_look(void *arg)
{
	struct parser_monitor *monitor = arg;
	int status = 0;
	if (!monitor->process || !parser_process_reap(monitor->process, &status))
		return;
	/* what it said before it ended */
	if (monitor->end != END_REFUSED)
		parser_channel_drain(monitor->channel,
			(mono_t){mono_now().ns + REAP_MS * NS_PER_MS}, monitor_never);
	const struct intake_said *said = parser_intake_said(monitor->intake);
	if (monitor->end == END_BY_ITSELF && monitor->bye &&
		(said->failed < 0 || said->state == TARGET_BACKOFF))
		monitor_lost(monitor);
	else
		monitor_died(monitor, status);
}

static void monitor_kill(struct parser_monitor *monitor, enum monitor_end why)
{
	monitor->end = why;
	parser_channel_hold(monitor->channel, true);
	parser_process_kill(monitor->process);
}

/* Without its end of the socket it is of no use. What is ending already stays as it is. */
static void monitor_on_closed(void *arg)
{
	struct parser_monitor *m = arg;
	if (!m->bye)
		parser_process_kill(m->process);
}

/* ---- what it says -------------------------------------------------------------- */

static void monitor_on_target(struct parser_monitor *monitor)
{
	const struct intake_said *said = parser_intake_said(monitor->intake);
	struct target *target = &monitor->target;
	if (monitor->polls + said->polls > target->polls)
		target_polled(target, said->poll_s, mono_now(), said->polled);
	target->polls = monitor->polls + said->polls;
	target->errors = monitor->errors + said->errors;
	target->values = monitor->values + said->values;
	if (said->state == TARGET_UP && target->state != TARGET_UP) {
		monitor->was_up = true;
		monitor->retry_ns = RETRY_MIN;
		target_change(target, TARGET_UP, mono_now(), wall_now(), NULL);
	}
	if (monitor->sink.target)
		monitor->sink.target(monitor->sink.arg, target);
}

/* Then it has to wait for the next second. */
static uint64_t monitor_bytes_s(const struct parser_monitor *monitor)
{
	const struct config_push *push = monitor->capture.push;
	if (!push)
		return BYTES_PER_SECOND;
	return BYTES_PER_SECOND + push->max_points_s * BYTES_PER_SAMPLE;
}

static void monitor_on_message(void *arg, const uint8_t *data, size_t n)
{
	struct parser_monitor *m = arg;
	if (m->end == END_REFUSED)
		return;
	const int kind = parser_intake_message(m->intake, data, n, wall_now());
	if (kind < 0) {
		monitor_kill(m, END_REFUSED);
		return;
	}
	m->silent = 0;
	m->bye |= kind == PARSER_BYE;
	if (kind == PARSER_TARGET)
		monitor_on_target(m);
	if (parser_channel_received(m->channel) - m->received > monitor_bytes_s(m)) {
		m->held = true;
		parser_channel_hold(m->channel, true);
	}
}

/* ---- its start ------------------------------------------------------------------- */

/* A file that was replaced is read by a new process. */
static void monitor_put_file(struct parser_out *out, const char *path)
{
	struct stat st = {0};
	if (path && stat(path, &st) < 0)
		st = (struct stat){0};
	parser_put_text(out, path);
	parser_put_u64(out, (uint64_t)st.st_mtim.tv_sec);
	parser_put_u64(out, (uint64_t)st.st_mtim.tv_nsec);
}

static void monitor_settings(const struct parser_monitor *monitor,
	const struct config_capture *capture, struct parser_out *out)
{
	parser_out_begin(out, PARSER_SETTINGS);
	parser_put_text(out, monitor->row->name);
	parser_put_text(out, str_or(capture->name, capture->interface));
	parser_put_text(out, capture->interface);
	parser_put_text(out, capture->listen);
	parser_put_text(out, capture->netns);
	parser_put_text(out, capture->direction);
	parser_put_text(out, capture->mirrored);
	parser_put_u32(out, capture->sampling);
	parser_put_u32(out, capture->snaplen);
	parser_put_u64(out, capture->buffer_bytes);
	parser_put_u64(out, (uint64_t)capture->interval_ns);
	parser_put_text(out, monitor->user);
	const struct config_push none = {0}, *push = capture->push;
	if (!push)
		push = &none;
	parser_put_text(out, push->ipfix);
	parser_put_u64(out, push->ring_bytes);
	monitor_put_file(out, push->profile_dir);
	parser_put_text(out, push->grpc);
	parser_put_text(out, push->http);
	monitor_put_file(out, push->cert);
	monitor_put_file(out, push->key);
	monitor_put_file(out, push->client_ca);
	parser_put_u32(out, push->max_connections);
	parser_put_u64(out, push->max_message);
	parser_put_u64(out, push->max_points_s);
}

static bool monitor_send(void *arg, const struct parser_out *out)
{
	struct parser_monitor *m = arg;
	return parser_channel_send(m->channel, out);
}

/* IPFIX has a bound of its own: datagrams that nobody reads are lost. */
static uint32_t monitor_samples_s(const struct parser_monitor *monitor)
{
	const struct config_push *push = monitor->capture.push;
	if (!push || push->max_points_s > UINT32_MAX)
		return 0;
	return (uint32_t)push->max_points_s;
}

static struct parser_intake *monitor_intake(struct parser_monitor *monitor)
{
	const struct config_capture *capture = &monitor->capture;
	const struct intake_options options = {.name = capture->name,
		.protocol = monitor->row->name,
		.entities = monitor->entities,
		.sink = &monitor->sink,
		.one_port = capture->interface != NULL,
		.pushed = capture->push != NULL,
		.device = str_or(capture->device, capture->name),
		.port = str_or(capture->port, capture->interface),
		.event_device = capture->device,
		.event_port = capture->port,
		.lookup = parser_map_lookup(monitor->map),
		.interval_ns = capture->interval_ns,
		.hub = monitor->hub,
		.samples_s = monitor_samples_s(monitor)};
	return parser_intake_new(&options);
}

static int monitor_spawn(struct parser_monitor *monitor)
{
	int fd = -1;
	const struct parser_process_options options = {
		.lend_raw = monitor->capture.interface != NULL,
		.lend_netns = monitor->capture.netns != NULL,
		.ended = monitor_look,
		.arg = monitor};
	const int rc = parser_process_start(monitor->loop, &options, &monitor->process, &fd);
	if (rc < 0)
		return rc;
	const struct parser_channel_options channel = {.queue_max = QUEUE_MAX,
		.message = monitor_on_message,
		.closed = monitor_on_closed,
		.arg = monitor};
	monitor->channel = parser_channel_new(monitor->loop, fd, &channel);
	if (monitor->channel)
		return 0;
	close(fd);
	parser_process_free(monitor->process);
	monitor->process = NULL;
	return -ENOMEM;
}

static void monitor_start(struct parser_monitor *monitor)
{
	struct reason reason;
	rw_cleanup(freep) struct parser_out *out = rw_calloc(1, sizeof(*out));
	monitor->end = END_BY_ITSELF;
	monitor->bye = monitor->was_up = monitor->held = false;
	monitor->silent = 0;
	monitor->received = 0;
	monitor->began = mono_now();
	const int rc = monitor_spawn(monitor);
	if (rc < 0) {
		reason_set(&reason, PARSER_START, monitor->capture.name, strerror(-rc));
		monitor_down(monitor, RETRY_MAX, &reason);
		return;
	}
	monitor->intake = monitor_intake(monitor);
	monitor_settings(monitor, &monitor->capture, out);
	parser_channel_send(monitor->channel, out);
	parser_map_changed(monitor->map);
	parser_map_send(monitor->map, monitor_send, monitor);
}

static void monitor_tick_running(struct parser_monitor *monitor)
{
	if (!monitor->held)
		monitor->silent++;
	parser_intake_second(monitor->intake);
	monitor->received = parser_channel_received(monitor->channel);
	if (monitor->held && monitor->end == END_BY_ITSELF) {
		monitor->held = false;
		parser_channel_hold(monitor->channel, false);
	}
	if (monitor->silent >= patience && monitor->end == END_BY_ITSELF)
		monitor_kill(monitor, END_SILENT);
	parser_map_send(monitor->map, monitor_send, monitor);
	monitor_look(monitor);
}

static void monitor_on_tick(void *arg)
{
	struct parser_monitor *m = arg;
	if (m->process)
		monitor_tick_running(m);
	else if (mono_now().ns >= m->next_try.ns)
		monitor_start(m);
}

/* ---- the collector ----------------------------------------------------------------- */

static void monitor_take_push(struct parser_monitor *monitor, const struct config_push *push)
{
	struct config_push *own = arena_new_of(monitor->texts, struct config_push);
	*own = *push;
	own->ipfix = arena_strdup(monitor->texts, push->ipfix);
	own->profile_dir = arena_strdup(monitor->texts, push->profile_dir);
	own->grpc = arena_strdup(monitor->texts, push->grpc);
	own->http = arena_strdup(monitor->texts, push->http);
	own->cert = arena_strdup(monitor->texts, push->cert);
	own->key = arena_strdup(monitor->texts, push->key);
	own->client_ca = arena_strdup(monitor->texts, push->client_ca);
	monitor->capture.push = own;
}

static void monitor_take_capture(
	struct parser_monitor *monitor, const struct config_capture *capture)
{
	struct arena *a = monitor->texts;
	struct config_capture *own = &monitor->capture;
	*own = *capture;
	own->name = arena_strdup(a, str_or(capture->name, str_or(capture->interface, "")));
	own->interface = arena_strdup(a, capture->interface);
	own->listen = arena_strdup(a, capture->listen);
	own->netns = arena_strdup(a, capture->netns);
	own->device = arena_strdup(a, capture->device);
	own->port = arena_strdup(a, capture->port);
	own->direction = arena_strdup(a, capture->direction);
	own->mirrored = arena_strdup(a, capture->mirrored);
	if (capture->push)
		monitor_take_push(monitor, capture->push);
	own->allow = NULL;
	own->n_allow = 0;
}

static void monitor_take_address(struct parser_monitor *monitor)
{
	const struct config_capture *capture = &monitor->capture;
	struct target *target = &monitor->target;
	target->device = capture->name;
	target->protocol = monitor->row->name;
	target->address = str_or(capture->interface, capture->listen);
	if (!capture->interface)
		target->interval_ns = capture->interval_ns;
	else if (capture->netns)
		target->address =
			arena_printf(monitor->texts, "%s@%s", capture->interface, capture->netns);
}

static int monitor_open(
	const struct collector_env *env, const void *place, void **ret, struct err *e)
{
	struct parser_monitor *m = rw_calloc(1, sizeof(*m));
	m->loop = env->loop;
	m->entities = env->entities;
	m->sink = *env->sink;
	m->row = env->row;
	m->hub = env->hub;
	m->texts = arena_new();
	m->user = arena_strdup(m->texts, env->config->user);
	m->retry_ns = RETRY_MIN;
	monitor_take_capture(m, place);
	monitor_take_address(m);
	m->map = parser_map_new(&env->lookup);
	parser_map_update(m->map, env->config, place);
	m->tick = loop_timer_new(m->loop, monitor_on_tick, m);
	loop_timer_start(m->tick, TICK_NS, TICK_NS);
	target_change(&m->target, TARGET_STARTING, mono_now(), wall_now(), NULL);
	monitor_start(m);
	*ret = m;
	return 0;
}

static bool monitor_same(const void *instance, const void *place, const struct config *config)
{
	const struct parser_monitor *m = instance;
	const struct config_capture *is = place;
	rw_cleanup(freep) struct parser_out *left = rw_calloc(1, sizeof(*left));
	rw_cleanup(freep) struct parser_out *right = rw_calloc(1, sizeof(*right));
	monitor_settings(m, &m->capture, left);
	monitor_settings(m, is, right);
	return left->n == right->n && memcmp(left->b, right->b, left->n) == 0 &&
		str_eq(m->capture.device, is->device) && str_eq(m->capture.port, is->port);
}

static void monitor_update(void *instance, const void *place, const struct config *config)
{
	struct parser_monitor *m = instance;
	parser_map_update(m->map, config, place);
	if (m->process)
		parser_map_send(m->map, monitor_send, m);
}

static bool monitor_has_bye(void *arg)
{
	const struct parser_monitor *m = arg;
	return m->bye || m->end != END_BY_ITSELF;
}

/* Ask for the interval under way, where there is hope for it. */
static void monitor_finish(struct parser_monitor *monitor)
{
	int status;
	rw_cleanup(freep) struct parser_out *out = rw_calloc(1, sizeof(*out));
	if (monitor->end != END_BY_ITSELF || monitor->silent >= STOP_SILENT_S)
		return;
	parser_out_begin(out, PARSER_STOP);
	if (!parser_channel_send(monitor->channel, out))
		return;
	parser_intake_second(monitor->intake);
	parser_channel_drain(monitor->channel, (mono_t){mono_now().ns + PARSER_STOP_MS * NS_PER_MS},
		monitor_has_bye);
	if (!monitor->bye)
		log_warn(monitor->capture.name,
			"the process that reads its packets did not end within %d ms: killed; the "
			"interval under way is lost",
			PARSER_STOP_MS);
	else
		parser_process_wait(monitor->process, REAP_MS, &status);
}

static void monitor_close(void *instance)
{
	struct parser_monitor *m = instance;
	if (m->process) {
		monitor_finish(m);
		monitor_forget(m);
	}
	loop_timer_free(m->tick);
	parser_map_free(m->map);
	arena_free(m->texts);
	free(m);
}

static void monitor_pin(void *instance, const char *id, int64_t from_ns, int64_t to_ns,
	const char *const *devices, size_t n)
{
	struct parser_monitor *m = instance;
	if (!m->process || !m->row->pin)
		return;
	rw_cleanup(freep) struct parser_out *out = rw_calloc(1, sizeof(*out));
	parser_out_begin(out, PARSER_PIN);
	parser_put_text(out, id);
	parser_put_u64(out, (uint64_t)from_ns);
	parser_put_u64(out, (uint64_t)to_ns);
	for (size_t i = 0; i < n; i++)
		parser_put_u32(out, parser_map_number(m->map, devices[i]));
	if (parser_channel_send(m->channel, out))
		parser_intake_pinned(m->intake, id);
}

static const struct target *monitor_state(const void *instance)
{
	return &((const struct parser_monitor *)instance)->target;
}

const struct collector parser_monitor_collector = {.name = "parser",
	.role = COLLECTS_PACKETS,
	.family = "capture",
	.open = monitor_open,
	.same = monitor_same,
	.update = monitor_update,
	.close = monitor_close,
	.state = monitor_state,
	.figures = monitor_figures,
	.pin = monitor_pin};
